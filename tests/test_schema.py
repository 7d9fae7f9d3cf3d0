"""Encoding by a declared schema: exact, order-free, and silent about private values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.errors import DataError, ParameterError
from pcqr.schema import Column, Schema

SCHEMA = Schema(
    (
        Column("age", bounds=(0, 100)),
        Column("sex", "categorical", ("F", "M")),
        Column("income"),
        Column("grade", "categorical", ("1", "2", "3")),
    )
)
UNDECLARED = "private-value"

ROWS = st.lists(
    st.tuples(
        st.floats(-1e6, 1e6),
        st.sampled_from(["F", "M", None]),
        st.integers(-(10**9), 10**9),
        st.sampled_from([1, 2, 3, "1", "2", "3", 2.0, None, float("nan")]),
    ),
    min_size=1,
    max_size=12,
)


def table_of(rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return dict(zip(SCHEMA.names, map(list, zip(*rows, strict=True)), strict=True))


def test_an_encoded_table_is_what_the_feature_names_say() -> None:
    table = {"grade": [3, None], "sex": ["M", "F"], "age": [41, 130.5], "income": ["7", "-2.5"]}
    assert SCHEMA.feature_names == (
        *("age", "sex=F", "sex=M", "sex is missing", "income"),
        *("grade=1", "grade=2", "grade=3", "grade is missing"),
    )
    expected = [[41, 0, 1, 0, 7, 0, 0, 1, 0], [100, 1, 0, 0, -2.5, 0, 0, 0, 1]]
    encoded = SCHEMA.encode(table)
    assert encoded.dtype == np.float64
    assert encoded.tolist() == expected


@given(ROWS, st.permutations(SCHEMA.names))
def test_encoding_acts_on_each_record_alone_and_ignores_the_order_of_columns(
    rows: list[tuple[Any, ...]], order: list[str]
) -> None:
    table = table_of(rows)
    encoded = SCHEMA.encode({name: table[name] for name in order})
    one_by_one = np.vstack([SCHEMA.encode(table_of([row])) for row in rows])
    assert encoded.tobytes() == one_by_one.tobytes()


@given(ROWS)
def test_every_record_has_exactly_one_category_in_each_categorical_column(rows: list[tuple[Any, ...]]) -> None:
    encoded = SCHEMA.encode(table_of(rows))
    assert (encoded[:, 1:4].sum(axis=1) == 1).all()
    assert (encoded[:, 5:9].sum(axis=1) == 1).all()


def test_equal_rows_are_bit_equal_whatever_type_they_come_in() -> None:
    rows = [{"a": zero, "b": three} for zero in (0, 0.0, -0.0, "0", "-0", False) for three in (3, 3.0, "3")]
    schema = Schema((Column("a"), Column("b", "categorical", (3, 4))))  # type: ignore[arg-type]
    encodings = {schema.encode({name: [value] for name, value in row.items()}).tobytes() for row in rows}
    assert len(encodings) == 1


def test_a_pandas_frame_encodes_like_a_dict() -> None:
    table = {"age": [1.5, 2.0], "sex": ["F", None], "income": [3, 4], "grade": [1, None]}
    frame = pd.DataFrame(table)
    frame["sex"] = frame["sex"].astype("category")
    nullable = frame.assign(grade=pd.array([1, pd.NA], dtype="Int64"))
    assert SCHEMA.encode(frame).tobytes() == SCHEMA.encode(table).tobytes()
    assert SCHEMA.encode(nullable).tobytes() == SCHEMA.encode(table).tobytes()


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("sex", ["F", UNDECLARED], "column 'sex' of the table must be one of its 2 declared categories"),
        ("income", ["1", UNDECLARED], "column 'income' of the table must be numbers"),
        ("income", [1.0, float("nan")], "column 'income' of the table must be finite numbers"),
        ("income", [1.0, None], "column 'income' of the table must be finite numbers"),
        ("income", pd.Series([1, pd.NA], dtype="Int64"), "column 'income' of the table must be"),
        ("income", [1.0, float("inf")], "column 'income' of the table must be finite numbers"),
        (
            "income",
            np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
            "column 'income' of the table must be numbers",
        ),
        ("income", [1 + 2j, 0], "column 'income' of the table must be numbers"),
        ("income", [[1, 2], [3]], "column 'income' of the table must be numbers"),
        ("sex", "FM", "column 'sex' of the table must be a sequence"),
        ("income", 5, "column 'income' of the table must be a sequence"),
        ("age", [1], "columns of one length"),
    ],
)
def test_unusable_values_are_refused_without_being_shown(column: str, values: Any, message: str) -> None:
    table: dict[str, Any] = {"age": [1, 2], "sex": ["F", "M"], "income": [3, 4], "grade": [1, 2]}
    with pytest.raises(DataError, match=message) as caught:
        SCHEMA.encode(table | {column: values})
    assert UNDECLARED not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_missing_extra_and_repeated_columns_are_named() -> None:
    table = {"age": [1], "sex": ["F"], "income": [3], "grade": [1]}
    with pytest.raises(DataError, match="without 'grade'"):
        SCHEMA.encode({name: values for name, values in table.items() if name != "grade"})
    with pytest.raises(DataError, match="also 'label', 'split'"):
        SCHEMA.encode(table | {"label": [1], "split": ["train"]})
    assert SCHEMA.encode(table | {"label": [1]}, drop=("label", "elsewhere")).shape == (1, 9)
    frame = pd.DataFrame([[1, "F", 3, 1, 2]], columns=["age", "sex", "income", "grade", "age"])
    with pytest.raises(DataError, match="'age' more than once"):
        SCHEMA.encode(frame)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "name of a column must be"),
        ({"name": "a", "kind": "text"}, "kind of column 'a' must be 'numeric' or 'categorical'"),
        ({"name": "a", "kind": "categorical"}, "categories of column 'a' must be at least one name"),
        ({"name": "a", "kind": "categorical", "categories": "xyz"}, "must be a list of names"),
        ({"name": "a", "kind": "categorical", "categories": ("x", "x")}, "must be different names"),
        ({"name": "a", "kind": "categorical", "categories": ("x", None)}, "none of them missing"),
        ({"name": "a", "categories": ("x",)}, "left out unless its kind is 'categorical'"),
        ({"name": "a", "bounds": (1, 1)}, "low < high"),
        ({"name": "a", "bounds": (0, float("inf"))}, "finite"),
        ({"name": "a", "bounds": (0, 1, 2)}, "a pair"),
        ({"name": "a", "kind": "categorical", "categories": ("x",), "bounds": (0, 1)}, "unless its kind is 'numeric'"),
    ],
)
def test_a_wrong_declaration_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Column(**arguments)


def test_a_schema_needs_columns_with_different_names() -> None:
    with pytest.raises(ParameterError, match="at least one column"):
        Schema(())
    with pytest.raises(ParameterError, match="'a' twice"):
        Schema((Column("a"), Column("a")))
    with pytest.raises(ParameterError, match="'a=x' twice"):
        Schema((Column("a=x"), Column("a", "categorical", ("x",))))


def test_without_leaves_columns_out() -> None:
    assert SCHEMA.without("sex", "age").names == ("income", "grade")
    with pytest.raises(ParameterError, match="'height'"):
        SCHEMA.without("height")


def test_files_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    SCHEMA.to_json(path)
    assert Schema.from_json(path) == SCHEMA
    assert Schema.from_dict(json.loads(json.dumps(SCHEMA.to_dict()))) == SCHEMA
    toml = tmp_path / "schema.toml"
    toml.write_text(
        '[[columns]]\nname = "age"\nbounds = [0, 100]\n'
        '[[columns]]\nname = "grade"\nkind = "categorical"\ncategories = [1, 2, 3]\n'
    )
    assert Schema.from_toml(toml).columns == (SCHEMA.columns[0], SCHEMA.columns[3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[columns]", "TOML file"),
        ("x = 1", "one list named 'columns'"),
        ("columns = 3", "one list named 'columns'"),
        ("[[columns]]\nkind = 'numeric'", "a table with a name"),
        ("[[columns]]\nname = 'a'\nrange = [0, 1]", "keys among"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=message):
        Schema.from_toml(path)


def test_a_file_that_is_absent_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a file that can be read"):
        Schema.from_toml(tmp_path / "absent.toml")
    path = tmp_path / "schema.json"
    path.write_text("[1, 2]")
    with pytest.raises(ParameterError, match="one list named 'columns'"):
        Schema.from_json(path)
