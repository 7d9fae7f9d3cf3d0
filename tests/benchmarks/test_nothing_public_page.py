"""Accuracy with nothing public: what is run, stored and said of the runs, and what they must show."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from benchmarks import classifiers, r_tables
from benchmarks.leads import EPSILONS
from benchmarks.nothing_public import (
    BLOCKS,
    HELD_OUT,
    IN_VIEW,
    PAGE,
    SHIFT,
    STRONG,
    TABLES,
    Case,
    Frames,
    Gap,
    Job,
    Run,
    cases_of,
    error_over_tables,
    frames,
    gap_of,
    lines,
    measure,
    pack,
    run,
    shifted,
    standing,
    store,
    stored,
    table,
    unpack,
    wanted,
)
from benchmarks.tables import Source

ROOT = Path(__file__).parents[2]
ROWS = 400


def test_the_page_says_what_is_on_file() -> None:
    assert table(ROOT) in (ROOT / PAGE).read_text(encoding="utf-8")


def test_nothing_public_is_not_far_behind_2000_public_rows() -> None:
    references, gaps = classifiers.stored(ROOT), []
    for (name, epsilon, setting), case in stored(ROOT).items():
        if name in IN_VIEW:
            assert len(case.accuracy) == 5
        if name in IN_VIEW and setting == "nothing":
            gaps.append(gap_of(case, references[name, epsilon].accuracy))
            assert gaps[-1].points > -2.5
    assert np.mean([gap.points for gap in gaps if gap.strength >= STRONG]) > -0.8
    assert np.mean([gap.points for gap in gaps if gap.strength < STRONG]) > -1.5


def test_what_is_stored_is_read_again(tmp_path: Path) -> None:
    cases = {
        case.key: case
        for case in (
            Case("smoker", 10, 0.1, "public", [0.5], [1.0]),
            Case("bank", 10, 0.1, "shifted", [0.5, 0.75], [1.0, 2.0]),
            Case("bank", 10, 0.1, "nothing", [0.5, 0.75], [1.0, 2.0]),
        )
    }
    store(cases, tmp_path)
    assert stored(tmp_path) == cases
    assert [key[2] for key in stored(tmp_path)] == ["nothing", "shifted", "public"]


def test_adult_is_the_table_that_others_are_measured_on() -> None:
    task = frames("adult", Path())
    assert task.X.shape == (32_561, 12)
    assert task.X_test.shape[0] == task.y_test.size == 16_281 - 2_000
    assert len(task.public) == 2_000
    assert not set(task.public.index) & set(task.X_test.index)
    moved = shifted(task)
    assert np.allclose(moved.X["age"] - task.X["age"], SHIFT * task.X["age"].std())
    assert moved.X["sex"].equals(task.X["sex"])


def test_all_rows_are_moved_by_the_same() -> None:
    rows = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    moved = shifted(Frames(rows, None, rows[1:], rows[:1], None))
    assert moved.X_test["a"].tolist() == [1.0 + SHIFT]
    assert moved.public["a"].tolist() == [2.0 + SHIFT, 3.0 + SHIFT]
    assert moved.X["b"].tolist() == ["x", "y", "z"]


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> Frames:
    """A small table in the place of one that was held out: numbers, whole numbers, texts and gaps."""
    rng = np.random.default_rng(0)
    number = rng.normal(size=ROWS)
    number[::7] = np.nan
    frame = pd.DataFrame(
        {
            "number": number,
            "whole": rng.integers(0, 5, ROWS).astype(np.int16),
            "text": rng.choice(np.array(["ä", "b", None], dtype=object), ROWS),
            "smoker": rng.choice(["yes", "no"], ROWS),
        }
    )
    source = Source("AER/SmokeBan", "smoker", lambda y: y == "yes")
    monkeypatch.setattr(r_tables, "read", lambda *_given: (source, frame))
    return frames("smoker", Path())


def test_a_held_out_table_is_split_as_others_are(task: Frames) -> None:
    assert (len(task.X), len(task.public), len(task.X_test)) == (300, 50, 50)
    assert list(task.X) == ["number", "whole", "text"]
    places = [set(rows.index) for rows in (task.X, task.public, task.X_test)]
    assert len(set.union(*places)) == ROWS


def test_packed_tables_are_the_same(task: Frames, tmp_path: Path) -> None:
    pack(task, tmp_path / "t.npz")
    again = unpack(tmp_path / "t.npz")
    for packed, rows in zip((again.X, again.public, again.X_test), (task.X, task.public, task.X_test), strict=True):
        assert packed["number"].dtype == float
        assert packed["whole"].dtype == np.int16
        assert np.array_equal(packed["number"], rows["number"], equal_nan=True)
        assert packed["whole"].tolist() == rows["whole"].tolist()
        assert packed["text"].isna().tolist() == rows["text"].isna().tolist()
        assert packed["text"].dropna().tolist() == rows["text"].dropna().tolist()
    assert np.array_equal(again.y, task.y)
    assert np.array_equal(again.y_test, task.y_test)
    job = Job("smoker", 4.0, "public", 0)
    assert measure(job, again).accuracy == measure(job, task).accuracy


def test_every_cell_that_was_asked_for_is_run() -> None:
    jobs = list(wanted(TABLES, EPSILONS, ("nothing", "shifted", "public"), 5))
    assert len(set(jobs)) == len(jobs)
    assert sum(job.table in HELD_OUT for job in jobs) == len(HELD_OUT) * len(EPSILONS) * 2 * 5
    assert sum(job.table in IN_VIEW for job in jobs) == len(IN_VIEW) * len(EPSILONS) * 2 * 5
    assert {name for block in BLOCKS for name in block.tables} == set(TABLES)
    assert list(wanted(["smoker"], [0.3], ["public"], 2)) == [Job("smoker", 0.3, "public", run) for run in (0, 1)]


def test_runs_are_gone_on_with_and_stopped(task: Frames, tmp_path: Path) -> None:
    pack(task, tmp_path / "smoker.npz")
    places = {"data": tmp_path, "csv": tmp_path, "packed": tmp_path, "output": tmp_path / "out" / "runs.jsonl"}
    asked = {"tables": ["smoker"], "epsilons": [1.0], "settings": ["public"], "runs": 2, "jobs": 1}
    console = Console(quiet=True)
    assert run(Namespace(**places, **asked, seconds=0.0), console) == 0
    assert lines(places["output"]) == []
    places["output"].write_text(json.dumps(made_up(run=1)) + "\n", encoding="utf-8")
    assert run(Namespace(**places, **asked, seconds=300.0), console) == 0
    first, second = lines(places["output"])
    assert (first.run, first.accuracy) == (1, 0.5)
    assert second.job == Job("smoker", 1.0, "public", 0)
    assert second.accuracy == measure(second.job, task).accuracy


def test_what_fails_is_told_and_the_rest_is_run(tmp_path: Path) -> None:
    asked = {"tables": ["smoker"], "epsilons": [1.0], "settings": ["public"], "runs": 2, "jobs": 1, "seconds": 300.0}
    places = {"data": tmp_path, "csv": tmp_path, "packed": tmp_path, "output": tmp_path / "runs.jsonl"}
    assert run(Namespace(**places, **asked), Console(quiet=True)) == 2


def made_up(run: int, accuracy: float = 0.5) -> dict[str, object]:
    cell = {"table": "smoker", "records": 7_500, "epsilon": 1.0, "setting": "public"}
    return {**cell, "run": run, "accuracy": accuracy, "seconds": 1.0}


def test_runs_are_put_together_in_their_order() -> None:
    runs = [Run("bank", 9, 0.3, "nothing", place, place / 10, float(place)) for place in (2, 0, 1)]
    other = Run("bank", 9, 0.3, "shifted", 0, 0.9, 9.0)
    assert cases_of([*runs, other]) == {
        ("bank", 0.3, "nothing"): Case("bank", 9, 0.3, "nothing", [0.0, 0.1, 0.2], [0.0, 1.0, 2.0]),
        ("bank", 0.3, "shifted"): Case("bank", 9, 0.3, "shifted", [0.9], [9.0]),
    }


def test_the_standard_error_is_over_tables() -> None:
    alone = [Gap(str(place), 1e4, points, 0.0) for place, points in enumerate((-1.0, 0.0, 1.0, 2.0))]
    assert error_over_tables(alone) == pytest.approx(np.std([-1, 0, 1, 2], ddof=1) / 2)
    twice = [*alone, *alone]
    assert error_over_tables(twice) == pytest.approx(error_over_tables(alone)), "no more is known by asking twice"


def test_means_are_told_below_and_above() -> None:
    gaps = [Gap("a", 2_999.0, -1.0, 0.0), Gap("b", 10.0, -3.0, 0.0), Gap("a", 3_000.0, -0.5, 0.0)]
    gaps.append(Gap("b", 1e5, 0.0, 0.0))
    told = "-2.00 ± 1.00 (2 cells) below n·ε = 3,000, -0.25 ± 0.25 (2 cells) from there on."
    assert standing(gaps) == f"Mean difference ± standard error over tables: {told}"
