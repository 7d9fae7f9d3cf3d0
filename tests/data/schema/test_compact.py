"""A table in few bytes is the encoded matrix in pieces: the same bits, the same refusals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tables import BIG, COLUMNS, NAME, TABLES, built

from pcqr.data.schema import Column, Schema
from pcqr.errors import DataError

NAMES = ("0", "1", "3", "0.1", "x", str(BIG), "2014-05-03")
SCHEMAS = [
    Schema((Column(NAME),)),
    Schema((Column(NAME, bounds=(-0.0, 2.5), missing=True),)),
    Schema((Column(NAME, missing=True),)),
    Schema((Column(NAME, "date", missing=True),)),
    Schema((Column(NAME, "date", bounds=("2014-05-01", "2014-05-02")),)),
    Schema((Column(NAME, "categorical", NAMES),)),
    Schema((Column(NAME, "categorical", NAMES, other=True),)),
]


def outcome(ask: Callable[[], Any]) -> tuple[Any, str]:
    try:
        return ask(), ""
    except DataError as refused:
        return None, str(refused)


@pytest.mark.parametrize("kind", TABLES)
@settings(max_examples=30)
@given(st.data())
def test_every_table_is_encoded_as_it_is_read_in_few_bytes(kind: str, data: st.DataObject) -> None:
    table: Any = built(kind, data.draw(COLUMNS))
    for schema in SCHEMAS if table is not None else ():
        matrix, refusal = outcome(partial(schema.encode, table, drop=("row",), name="it"))
        compact, other = outcome(partial(schema.compact, table, drop=("row",), name="it"))
        assert refusal == other
        if matrix is None:
            continue
        assert compact.shape == matrix.shape
        assert compact.encoded().tobytes() == matrix.tobytes()
        for place in range(matrix.shape[1]):
            assert compact.feature(place).tobytes() == matrix[:, place].tobytes()
        positions = np.array(data.draw(st.lists(st.integers(0, len(matrix) - 1), max_size=6)), dtype=np.int64)
        assert compact.rows(positions).encoded().tobytes() == matrix[positions].tobytes()
        assert compact.rows(slice(1, 3)).encoded().tobytes() == matrix[1:3].tobytes()


MIXED = Schema((Column("a", bounds=(0, 9)), Column("b", "categorical", ("u", "v"), other=True), Column("c", "date")))


@pytest.mark.parametrize(
    "table",
    [
        {"a": [1], "b": ["u"]},
        {"a": [1], "b": ["u"], "c": ["2014-05-03"], "d": [1]},
        {"a": [1, 2], "b": ["u"], "c": ["2014-05-03"]},
        {"a": [1, 2], "b": ["u", "v"], "c": ["2014-05-03"]},
        {"a": [None], "b": ["u"], "c": ["2014-05-03"]},
        {"a": [1], "b": ["u"], "c": ["never"]},
        {"a": "1", "b": ["u"], "c": ["2014-05-03"]},
        [[1, 2, 3]],
    ],
)
def test_what_cannot_be_encoded_is_refused_in_the_same_words(table: Any) -> None:
    assert outcome(lambda: MIXED.compact(table))[1] == outcome(lambda: MIXED.encode(table))[1] != ""


def test_it_is_read_once_and_a_copy() -> None:
    table = {"a": np.array([1.0, 2.0]), "b": np.array([1, 0]), "c": np.array(["2014-05-03", "2014-05-04"], "M8[D]")}
    compact, before = MIXED.compact(table), MIXED.encode(table)
    for column in table.values():
        column[:] = column[::-1].copy()
    assert compact.encoded().tobytes() == before.tobytes() != MIXED.encode(table).tobytes()


def test_it_shows_no_cell() -> None:
    compact = MIXED.compact({"a": [7], "b": ["u"], "c": ["2014-05-03"]})
    assert repr(compact) == "CompactTable(1 rows, 6 features)"
    assert len(compact) == 1
    with pytest.raises(IndexError):
        compact.feature(6)
