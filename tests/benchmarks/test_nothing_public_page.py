"""Accuracy with nothing public: what is stored and said of the runs, and what they must show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import classifiers
from benchmarks.nothing_public import PAGE, RUNS, SHIFT, Case, Frames, frames, shifted, store, stored, table

ROOT = Path(__file__).parents[2]


def test_the_page_says_what_is_on_file() -> None:
    assert table(ROOT) in (ROOT / PAGE).read_text(encoding="utf-8")


def test_nothing_public_is_not_far_behind_2000_public_rows() -> None:
    references, gaps = classifiers.stored(ROOT), []
    for (name, epsilon, is_shifted), case in stored(ROOT).items():
        assert len(case.accuracy) == RUNS
        if not is_shifted:
            gap = 100.0 * (np.mean(references[name, epsilon].accuracy) - np.mean(case.accuracy))
            gaps.append((case.records * epsilon, gap))
            assert gap < 2.5
    assert np.mean([gap for size, gap in gaps if size >= 3_000]) < 0.8
    assert np.mean([gap for size, gap in gaps if size < 3_000]) < 1.5


def test_what_is_stored_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "benchmarks/results").mkdir(parents=True)
    cases = {
        case.key: case for case in (Case("bank", 10, 0.1, moved, [0.5, 0.75], [1.0, 2.0]) for moved in (False, True))
    }
    store(cases, tmp_path)
    assert stored(tmp_path) == cases


def test_adult_is_the_table_that_others_are_measured_on() -> None:
    task = frames("adult", Path())
    assert task.X.shape == (32_561, 12)
    assert task.X_test.shape[0] == task.y_test.size == 16_281 - 2_000
    moved = shifted(task)
    assert np.allclose(moved.X["age"] - task.X["age"], SHIFT * task.X["age"].std())
    assert moved.X["sex"].equals(task.X["sex"])


def test_all_rows_are_moved_by_the_same() -> None:
    rows = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    moved = shifted(Frames(rows, None, rows[:1], None))
    assert moved.X_test["a"].tolist() == [1.0 + SHIFT]
    assert moved.X["b"].tolist() == ["x", "y", "z"]
