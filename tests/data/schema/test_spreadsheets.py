"""CSV cells: none that a spreadsheet runs, and all of them are read as they were meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.data.schema.table import csv_line, escaped, unescaped
from pcqr.datasets.tables import parse_table

TEXTS = st.text(st.sampled_from("'=+-@\t\r\n＝a1.e "), max_size=6)


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "-", "1-", " =1", "  @x"]
)
def test_a_formula_becomes_text(text: str) -> None:
    assert escaped(text) == (text if text == "1-" else f"'{text}")


@pytest.mark.parametrize(
    "value", ["-1", "+1", "-0.5e-3", "-.5", " -1", "3", " x", "<=50K", "it's", "'quoted'", "", -1, -0.5, None]
)
def test_numbers_and_other_texts_stay(value: object) -> None:
    assert escaped(value) == value


@given(TEXTS)
def test_what_was_escaped_is_read_as_it_was(text: str) -> None:
    assert unescaped(escaped(text)) == text


@given(st.one_of(TEXTS, st.text()))
def test_no_cell_begins_like_a_formula_unless_it_is_a_number(text: str) -> None:
    cell = escaped(text)
    if cell.lstrip(" ")[:1] in "=+-@\t\r\n＝" and cell.strip(" "):
        assert float(cell) == float(text)


@given(st.lists(st.lists(st.one_of(TEXTS, st.text(), st.none()), min_size=2, max_size=2), min_size=1, max_size=4))
def test_lines_are_read_as_they_were_written(rows: list[list[str | None]]) -> None:
    """Single carriage returns, delimiters of other files, spaces and byte-order marks in front."""
    head: list[str | None] = ["a;b;c", "d"]
    text = "".join(f"{csv_line(row)}\n" for row in (head, *rows))
    read = parse_table(text, "the text")
    assert list(read) == ["a;b;c", "d"]
    assert list(zip(*read.values(), strict=True)) == [tuple(cell or None for cell in row) for row in rows]
