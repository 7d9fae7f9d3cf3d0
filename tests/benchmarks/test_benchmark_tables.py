"""The tables of the benchmarks are those that the figures on file are of: a later run adds to the same figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import classes, classifiers, dp_sgd
from benchmarks.leads import read_counts
from benchmarks.tables import IN_VIEW, TABLES, Task, load
from pcqr.errors import ParameterError

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
RESULTS = ("classifiers", "dp_sgd", "trees", "rule")
ROWS = (classifiers.ROWS, *dp_sgd.ROWS.values())


def cases_of(table: str, *results: str) -> Iterator[dict[str, object]]:
    for name in results:
        content = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))
        yield from (case for case in content["cases"] if case["table"] == table)


def is_of(task: Task, case: dict[str, object]) -> bool:
    found = {"records": task.y.size, "majority": task.majority}
    return all(case[key] == pytest.approx(value, rel=1e-12) for key, value in found.items() if key in case)


def loaded(name: str) -> Task:
    try:
        return load(name, DATA)
    except ParameterError as missing:
        pytest.skip(f"the Parquet file of {name} is not beside the checkout: {missing}")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_the_one_that_its_figures_are_of(name: str) -> None:
    task = loaded(name)
    cases = list(cases_of(name, *RESULTS))
    assert cases
    assert all(is_of(task, case) for case in cases)
    for path in ROWS:
        counts = [rows for (table, _), rows in read_counts(ROOT / path).items() if table == name]
        assert counts
        assert all(rows.size == task.y_test.size for rows in counts), "leads are paired by test rows"


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_VIEW)
def test_so_is_every_other_question(name: str) -> None:
    task = loaded(name)
    assert all(is_of(task, case) for case in cases_of(name, "rule"))


@pytest.mark.slow
@pytest.mark.parametrize("name", classes.TABLES)
def test_so_is_every_table_of_several_classes(name: str) -> None:
    if not (DATA / classes.FILES[name]).is_file():
        pytest.skip(f"{classes.FILES[name]} is not beside the checkout, in {DATA}")
    task, cases = classes.load(name, DATA), list(cases_of(name, "classes"))
    assert cases
    assert all(is_of(task, case) for case in cases)
