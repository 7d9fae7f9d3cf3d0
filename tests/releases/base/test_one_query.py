"""One query: by position, or by name where the columns have names."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pcqr import DataError, Schema, SubsampleAggregate
from pcqr.data.schema import Column

DRAWN = np.random.default_rng(0).uniform(size=(3_000, 2))
Y = DRAWN[:, 0] > 0.5
FRAME = pd.DataFrame(DRAWN, columns=["age", "height"])
SCHEMA = Schema((Column("age"), Column("sex", "categorical", ["f", "m"])))


@pytest.fixture(scope="module")
def of_an_array() -> SubsampleAggregate:
    return SubsampleAggregate(queries=50, entropy=0).fit(DRAWN, Y)


@pytest.fixture(scope="module")
def of_a_frame() -> SubsampleAggregate:
    return SubsampleAggregate(queries=50, entropy=0).fit(FRAME, Y)


@pytest.fixture(scope="module")
def of_a_schema() -> SubsampleAggregate:
    table = {"age": DRAWN[:, 0], "sex": ["f"] * 3_000}
    return SubsampleAggregate(queries=50, entropy=0).fit(table, Y, schema=SCHEMA)


NAMED: list[Any] = [
    {"height": 0.1, "age": 0.9},
    {"age": "0.9", "height": 0.1},
    pd.Series({"height": 0.1, "age": 0.9}),
    pd.DataFrame({"age": [0.9], "height": [0.1]}),
    pd.DataFrame({"age": [0.9], "height": [0.1]}).iloc[0],
    pl.DataFrame({"age": [0.9], "height": [0.1]}),
]


@pytest.mark.parametrize("query", NAMED)
def test_a_release_of_a_numeric_frame_is_asked_by_name(of_a_frame: SubsampleAggregate, query: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = of_a_frame.answer(query)
    expected = of_a_frame.answer(pd.DataFrame({"age": [0.9], "height": [0.1]}))
    assert (answer.label, expected.kind) == (expected.label, "repeated")


def test_a_release_with_a_schema_is_asked_by_name(of_a_schema: SubsampleAggregate) -> None:
    table = pd.DataFrame({"sex": ["m", None], "age": [0.9, 0.2]})
    for query in (table.iloc[0], {"age": 0.9, "sex": "m"}, table[:1]):
        of_a_schema.answer(query)
    assert of_a_schema.queries_answered_ == 1
    of_a_schema.answer(table.iloc[1])
    assert of_a_schema.queries_answered_ == 2


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"age": 0.9}, "x must be a value for each of the columns 'age', 'height'; received none for 'height'"),
        ({"age": 0.9, "height": 0.1, "sex": 1}, "also 'sex': leave that out"),
        (pd.Series({"age": 0.9, "Height": 0.1}), "none for 'height'"),
        ({"age": None, "height": 0.1}, "NaN or infinity"),
        ({"age": "tall", "height": 0.1}, "a table of numbers"),
        ([0.9, 0.1, 0.3], "3 features"),
    ],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_what_is_wrong_with_a_query_is_said(of_a_frame: SubsampleAggregate, query: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        of_a_frame.answer(query)


def test_without_names_a_query_is_a_vector(of_an_array: SubsampleAggregate) -> None:
    with pytest.raises(DataError, match="the columns have no names here: `fit` got neither a schema nor a frame"):
        of_an_array.answer({"age": 0.9, "height": 0.1})
    for query in ([0.9, 0.1], (0.9, 0.1), np.array([0.9, 0.1]), FRAME.iloc[0] * 0 + [0.9, 0.1], [[0.9, 0.1]]):
        of_an_array.answer(query)
    assert of_an_array.queries_answered_ == 1
