"""The tables of the benchmarks: those that figures on file are of, split alike, and asked no question twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

from benchmarks import classes, classifiers, dp_sgd, r_tables, tables
from benchmarks.leads import read_counts
from benchmarks.nothing_public import SHIFT, frames, shifted
from benchmarks.rule import NAMES
from benchmarks.tables import IN_VIEW, TABLES, Source, Task, load, set_apart
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


ALL = {**tables.IN_VIEW, **r_tables.IN_VIEW, **r_tables.HELD_OUT}


def answer_of(source: Source) -> tuple[object, ...]:
    """What the label is, as far as it can be told without the file."""
    assert isinstance(source.is_one, FunctionType)
    code = source.is_one.__code__
    return source.file, source.label, code.co_code, code.co_consts, code.co_names


def test_no_question_is_asked_twice() -> None:
    assert len({*NAMES, *TABLES}) == len(NAMES) + len(TABLES), "seeds and results go by the name"
    assert set(NAMES) == ALL.keys()
    assert len({answer_of(source) for source in ALL.values()}) == len(ALL)


def test_questions_are_well_formed() -> None:
    for name, source in ALL.items():
        assert name == name.strip() != ""
        assert not set(",|") & set(name), "which are between names of --tables, and between cells on the page"
        assert source.label not in (*source.drop, *(source.keep or ())), f"{name}: no classifier is shown its label"
        assert not source.drop or source.keep is None


FILM_ROWS = 800


FILMS = 4 * (FILM_ROWS // 5)
"""Every fifth row has no label."""


def test_a_table_that_was_held_out_has_one_question_and_none_in_view() -> None:
    seen = {source.file for source in r_tables.IN_VIEW.values()}
    assert max(Counter(source.file for source in r_tables.HELD_OUT.values()).values()) == 1
    assert seen.isdisjoint(source.file for source in r_tables.HELD_OUT.values())
    assert not r_tables.IN_VIEW.keys() & r_tables.HELD_OUT.keys()


def test_row_numbers_names_votes_and_rows_without_a_label_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / r_tables.IN_VIEW["good film"].file
    path.parent.mkdir()
    votes = [f"r{stars}" for stars in range(1, 11)]
    lines = [",".join(['""', "title", "year", "budget", "rating", *votes, "mpaa"])]
    for row in range(FILM_ROWS):
        rating = "NA" if row % 5 == 0 else "7.1" if row % 5 == 1 else "6.2"
        numbers = [str(1900 + row % 100), "NA" if row % 2 else "1000", rating, *["4.5"] * 10]
        lines.append(",".join([f'"{row}"', f'"Film, {row}"', *numbers, '"R"' if row % 3 else '""']))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = r_tables.load("good film", tmp_path)
    assert task.name == "good film"
    assert task.schema.names == ("year", "budget", "mpaa")
    assert task.y.size == 3 * FILMS // 4
    assert len(task.public) == task.y_test.size == FILMS // 8
    assert 0.15 < np.mean(task.y) < 0.35, "a quarter is above 6.2"


def test_adult_is_the_table_that_others_are_measured_on() -> None:
    task = frames("adult", Path())
    assert task.X.shape == (32_561, 12)
    assert task.X_test.shape[0] == task.y_test.size == 16_281 - 2_000
    assert len(task.public) == 2_000
    assert not set(task.public.index) & set(task.X_test.index)
    moved = shifted(task)
    assert np.allclose(moved.X["age"] - task.X["age"], SHIFT * task.X["age"].std())
    assert moved.X["sex"].equals(task.X["sex"])


def test_public_rows_are_not_scored() -> None:
    public, scored = set_apart(np.arange(5_000))
    assert public.size == tables.PUBLIC
    assert sorted([*public, *scored]) == list(range(5_000))
