"""The benchmark of trees on a small table with a planted tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import trees
from benchmarks.accuracy import read_cases
from benchmarks.tables import Source, set_apart
from benchmarks.trees import EPSILONS, Case, Cost, draw, page, steps
from pcqr.bench import tables

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,200 rows, "yes" for the red ones over 3 and the blue ones under; with gaps, and an id to leave out."""
    generator = np.random.default_rng(5)
    size = generator.uniform(0, 6, 1_200)
    red = generator.random(1_200) < 0.5
    frame = pd.DataFrame({"id": np.arange(1_200), "size": size, "colour": np.where(red, "red", "blue")})
    frame["label"] = np.where((size > 3) == red, "yes", "no")
    frame.loc[::97, "size"] = np.nan
    path = tmp_path_factory.mktemp("data")
    frame.to_parquet(path / "planted.parquet")
    return path


PLANTED = Source("planted.parquet", "label", lambda label: label == "yes", drop=("id",))


def test_a_table_is_split_and_encoded_without_its_label(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "PUBLIC", 100)
    task = PLANTED.task("planted", folder)
    assert task.X.shape[0] == task.y.size == 900
    assert (task.public.shape[0], task.X_test.shape[0], task.y_test.size) == (100, 200, 200)
    assert task.X.shape[1] == 6  # size, size is missing, two colours, other, colour is missing
    only_size = Source("planted.parquet", "label", lambda label: label == "yes", keep=("size",))
    assert only_size.task("planted", folder).X.shape[1] == 2


def test_public_rows_are_not_scored() -> None:
    public, scored = set_apart(np.arange(5_000))
    assert public.size == tables.PUBLIC
    assert sorted([*public, *scored]) == list(range(5_000))


@pytest.fixture(scope="module")
def case(folder: Path) -> Case:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "PUBLIC", 100)
        patch.setattr(trees, "cost_of_fit", lambda task: Cost(0.5, 200.0, task.X.nbytes / 1e6, 0.0))
        found: dict[str, Any] = dict(steps(PLANTED.task("planted", folder), seeds=3))
    return Case(table="adult", **found)


def test_the_planted_tree_is_found_as_epsilon_grows(case: Case) -> None:
    assert list(case.accuracy) == [f"{epsilon:g}" for epsilon in EPSILONS]
    assert {len(draws) for draws in case.accuracy.values()} == {3}
    assert min(case.accuracy["4"]) > 0.9 > np.mean(case.accuracy["0.01"])
    assert case.gradient_boosting > 0.9
    assert case.majority < 0.7


def test_results_are_shown(case: Case, tmp_path: Path) -> None:
    text = page([case])
    assert "not met" in text
    assert "| adult | 900 |" in text
    draw([case], tmp_path / "trees.png")
    assert (tmp_path / "trees.png").stat().st_size > 10_000


def test_the_page_has_the_stored_figures() -> None:
    assert page(read_cases(ROOT / trees.RESULTS, Case.of)) in (ROOT / trees.PAGE).read_text(encoding="utf-8")
