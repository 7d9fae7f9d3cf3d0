"""Encoding by a declared schema: exact, order-free, and silent about private values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.data.schema import Column, Schema
from pcqr.data.schema.cells import category
from pcqr.errors import DataError, ParameterError

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


@given(ROWS)
def test_every_record_has_exactly_one_category_in_each_categorical_column(rows: list[tuple[Any, ...]]) -> None:
    encoded = SCHEMA.encode(table_of(rows))
    assert (encoded[:, 1:4].sum(axis=1) == 1).all()
    assert (encoded[:, 5:9].sum(axis=1) == 1).all()


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
        ({"name": "a", "kind": "text"}, "kind of column 'a' must be 'numeric', 'categorical' or 'date'"),
        ({"name": "a", "kind": "categorical"}, "categories of column 'a' must be at least one name"),
        ({"name": "a", "kind": "categorical", "categories": "xyz"}, "must be a list of names"),
        (
            {"name": "a", "kind": "categorical", "categories": ("x", "x")},
            "must be names that are read as different ones",
        ),
        ({"name": "a", "kind": "categorical", "categories": ("x", None)}, "and not as a gap"),
        ({"name": "a", "categories": ("x",)}, "left out unless its kind is 'categorical'"),
        ({"name": "a", "bounds": (1, 1)}, "low < high"),
        ({"name": "a", "bounds": (0, float("inf"))}, "finite"),
        ({"name": "a", "bounds": (0, 1, 2)}, "a pair"),
        ({"name": "a", "bounds": ("0", "1")}, "a pair .* of numbers"),
        ({"name": "a", "bounds": "01"}, "a pair .* of numbers"),
        ({"name": "a", "bounds": {0: "low", 1: "high"}}, "a pair .* of numbers"),
        ({"name": "a", "bounds": (False, True)}, "a pair .* of numbers"),
        ({"name": "a", "bounds": (0, 10**400)}, "that float64 can hold"),
        ({"name": "a", "bounds": 3}, "a pair .* of numbers"),
        ({"name": "\ud800"}, "Unicode text"),
        ({"name": "a", "kind": "categorical", "categories": ("\ud800",)}, "Unicode text"),
        ({"name": "a", "kind": "categorical", "categories": ("x", ["y"])}, "a list that holds lists"),
        (
            {"name": "a", "kind": "categorical", "categories": ("x",), "bounds": (0, 1)},
            "unless its kind is 'numeric' or 'date'",
        ),
        ({"name": "a", "kind": "date", "bounds": ("2014-05-03", "2014-05-02")}, "the earlier one first"),
        ({"name": "a", "kind": "date", "bounds": (0, 1)}, "a pair of dates"),
        ({"name": "a", "kind": "date", "bounds": ("2014-05-03", None)}, "a pair of dates"),
        ({"name": "a", "kind": "date", "bounds": "2014-05-03"}, "a pair of dates"),
        ({"name": "a", "kind": "date", "categories": ("x",)}, "left out unless its kind is 'categorical'"),
        ({"name": "a", "kind": "date", "other": True}, "false unless categorical"),
        ({"name": "a", "other": True}, "false unless categorical"),
        ({"name": "a", "kind": "categorical", "categories": ("x",), "missing": True}, "false unless numeric or a date"),
        ({"name": "a", "missing": 1}, "missing of column 'a' must be true or false"),
        ({"name": "a", "cuts": (1, 1)}, "cuts of column 'a' must be a list of different finite numbers in ascending"),
        ({"name": "a", "cuts": (2, 1)}, "in ascending order"),
        ({"name": "a", "cuts": (1, float("nan"))}, "finite numbers"),
        ({"name": "a", "cuts": (0, 10**400)}, "finite numbers"),
        ({"name": "a", "cuts": ("1",)}, "finite numbers"),
        ({"name": "a", "cuts": (False, True)}, "finite numbers"),
        ({"name": "a", "cuts": 3}, "a list of"),
        ({"name": "a", "cuts": None}, "a list of"),
        ({"name": "a", "bounds": (0, 1), "cuts": (0, 1)}, "below the upper one"),
        ({"name": "a", "bounds": (0, 1), "cuts": (-0.1, 0.5)}, "at least the lower bound"),
        ({"name": "a", "kind": "date", "cuts": ("2014-05-03", "x")}, "dates such as '2014-05-03'"),
        ({"name": "a", "kind": "date", "cuts": (None,)}, "dates such as '2014-05-03'"),
        ({"name": "a", "kind": "categorical", "categories": ("x",), "cuts": (1,)}, "unless its kind is 'numeric'"),
        ({"name": "a", "cuts": (1,), "shares": (1,)}, "2 numbers ≥ 0, one for each cell"),
        ({"name": "a", "cuts": (1,), "shares": (0.7, 0.4)}, "of a sum ≤ 1"),
        ({"name": "a", "cuts": (1,), "shares": (-0.1, 0.4)}, "numbers ≥ 0"),
        ({"name": "a", "shares": (0.5, 0.5)}, "1 numbers ≥ 0"),
        ({"name": "a", "kind": "categorical", "categories": ("x",), "shares": (0.1, 0.1)}, "one for each category"),
        ({"name": "a", "kind": "categorical", "categories": ("x",), "shares": "1"}, "one for each category"),
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
    with pytest.raises(ParameterError, match="one name twice, of 'a=x', 'a'"):
        Schema((Column("a=x"), Column("a", "categorical", ("x",))))


TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
COLUMNS = st.one_of(
    st.builds(Column, TEXT, missing=st.booleans()),
    st.builds(Column, TEXT, bounds=st.tuples(st.floats(-1e300, 0), st.floats(1e-300, 1e300)), missing=st.booleans()),
    st.builds(
        lambda name, categories, other: Column(name, "categorical", categories, other=other),
        TEXT,
        st.lists(TEXT.filter(category), min_size=1, max_size=3, unique_by=category),
        st.booleans(),
    ),
    st.builds(
        lambda name, kind, cuts: Column(name, kind, cuts=sorted(cuts), shares=[1 / (len(cuts) + 1)] * (len(cuts) + 1)),
        TEXT,
        st.sampled_from(["numeric", "date"]),
        st.sets(st.floats(-1e300, 1e300), max_size=4),
    ),
)


@given(st.lists(COLUMNS, min_size=1, max_size=3, unique_by=lambda column: column.name))
def test_files_round_trip(tmp_path_factory: pytest.TempPathFactory, columns: list[Column]) -> None:
    schema = Schema(tuple(columns))
    folder = tmp_path_factory.mktemp("schemas")
    schema.to_json(folder / "schema.json")
    schema.to_toml(folder / "schema.toml")
    assert Schema.from_json(folder / "schema.json") == schema
    assert Schema.from_toml(folder / "schema.toml") == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_cuts_are_floats_and_those_of_dates_are_days() -> None:
    cuts = np.array([-1, 3], dtype=np.int32)
    assert Column("a", cuts=cuts, shares=np.array([0.25, 0.5, 0.0])).cuts == (-1.0, 3.0)  # type: ignore[arg-type]
    assert Column("a", "date", cuts=["1970-01-02", 2.5]).cuts == (1.0, 2.5)  # type: ignore[list-item]
    job = Column("job", "categorical", ["cook", "nurse"], other=True, shares=[0.2, 0.5])
    assert Schema((job,)).to_dict()["columns"][0]["shares"] == [0.2, 0.5]
    assert Schema((Column("a", cuts=[1], shares=[0.5, 0.5]), job)).without_cuts() == Schema(
        (Column("a"), Column("job", "categorical", ["cook", "nurse"], other=True))
    )


def test_a_file_by_hand(tmp_path: Path) -> None:
    toml = tmp_path / "schema.toml"
    toml.write_text(
        '[[columns]]\nname = "age"\nbounds = [0, 100]\n'
        '[[columns]]\nname = "grade"\nkind = "categorical"\ncategories = [1, 2, 3]\n'
    )
    assert Schema.from_toml(toml).columns == (SCHEMA.columns[0], SCHEMA.columns[3])


def test_gaps_and_undeclared_values_have_features_of_their_own_where_the_schema_says_so() -> None:
    schema = Schema(
        (
            Column("age", bounds=(17, 90), missing=True),
            Column("debt", missing=True),
            Column("job", "categorical", ("clerk", "other"), other=True),
        )
    )
    assert schema.feature_names == (
        *("age", "age is missing", "debt", "debt is missing"),
        *("job=clerk", "job=other", "job is other", "job is missing"),
    )
    assert schema.filled_with == {"age": 17.0, "debt": 0.0}
    table = {"age": [50, None, 99], "debt": [float("nan"), "3", 0.0], "job": [UNDECLARED, None, "other"]}
    assert schema.encode(table).tolist() == [
        [50, 0, 0, 1, 0, 0, 1, 0],
        [17, 1, 3, 0, 0, 0, 0, 1],
        [90, 0, 0, 0, 0, 1, 0, 0],
    ]
    with pytest.raises(DataError, match="finite numbers; received"):
        schema.encode(table | {"debt": [1, 2, float("inf")]})


MIXED: dict[str, list[Any]] = {
    "age": [17, None, 40, 90],
    "rate": [0.5, 0.25, None, 1.0],
    "job": ["b", "a", None, "b"],
    "member": [True, None, False, True],
    "nothing": [None, None, None, None],
}


def frames() -> dict[str, Any]:
    arrow = pa.table(MIXED)
    job = arrow.column_names.index("job")
    pandas = pd.DataFrame(MIXED)
    return {
        "dict": MIXED,
        "text, as CSV gives it": {n: [None if v is None else str(v) for v in values] for n, values in MIXED.items()},
        "pandas": pandas,
        "pandas, nullable types": pandas.convert_dtypes(),
        "pandas, Arrow types": pandas.convert_dtypes(dtype_backend="pyarrow"),
        "pandas, a categorical type": pandas.astype({"job": pd.CategoricalDtype(["z", "b", "a"])}),
        "Arrow": arrow,
        "Arrow, a dictionary type": arrow.set_column(job, "job", arrow["job"].dictionary_encode()),
        "Arrow, one batch": arrow.to_batches()[0],
    }


FROM_PUBLIC = Schema(
    (
        Column("age", bounds=(17, 90), missing=True),
        Column("rate", bounds=(0.25, 1), missing=True),
        Column("job", "categorical", ("a", "b"), other=True),
        Column("member", "categorical", ("False", "True"), other=True),
        Column("nothing", "categorical", (), other=True),
    )
)


@pytest.mark.parametrize("name", frames())
def test_public_rows_make_the_same_schema_whatever_they_come_in(name: str) -> None:
    frame = frames()[name]
    assert Schema.from_public(frame) == FROM_PUBLIC
    assert FROM_PUBLIC.encode(frame).tobytes() == FROM_PUBLIC.encode(MIXED).tobytes()


def test_types_decide_what_a_public_column_is() -> None:
    frame = pd.DataFrame({"zip": ["02139", "10001"], "level": pd.Categorical([1, 2]), "same": [7, 7], "y": [0, 1]})
    frame["gone"] = np.nan
    schema = Schema.from_public(frame, drop=("y",))
    assert schema.columns == (
        Column("zip", "categorical", ("02139", "10001"), other=True),
        Column("level", "categorical", ("1", "2"), other=True),
        Column("same", missing=True),
        Column("gone", missing=True),
    )


def test_the_most_common_categories_are_kept() -> None:
    schema = Schema.from_public({"job": ["c", "b", "c", "a", "b", "d"]}, most_categories=3)
    assert schema.columns[0].categories == ("a", "b", "c")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"a": []}, "public rows must be at least one row"),
        ({}, "at least one column"),
        (np.eye(2), "public rows must be columns with names"),
        ({"a": [1.0, float("inf")]}, "column 'a' of the public rows must be finite numbers"),
        ({"a": [1, object()]}, "numbers, truth values, dates or names"),
    ],
)
def test_public_rows_that_say_nothing_are_refused(rows: Any, message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        Schema.from_public(rows)


def test_questions_are_put_in_words() -> None:
    names = FROM_PUBLIC.feature_names
    asked = {
        ("age", 37.5): ("age > 37.5", "age ≤ 37.5"),
        ("age", 123456789.0): ("age > 123456789", "age ≤ 123456789"),
        ("age is missing", 0.5): ("age is missing", "age is not missing"),
        ("job=a", 0.5): ("job = a", "job ≠ a"),
        ("job is other", 0.0): ("job is other", "job is not other"),
        ("job is missing", 0.5): ("job is missing", "job is not missing"),
        ("job=a", 1.0): ("never", "always"),
        ("job=a", -0.5): ("always", "never"),
    }
    for (name, cut), words in asked.items():
        assert FROM_PUBLIC.question(names.index(name), cut) == words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[columns]", "TOML file"),
        ("x = 1", "one list named 'columns'"),
        ("columns = 3", "one list named 'columns'"),
        ("[[columns]]\nkind = 'numeric'", "a table with a name"),
        ("[[columns]]\nname = 'a'\nrange = [0, 1]", "keys among"),
        ("[[columns]]\nname = 'a'\nbounds = [0, " + "9" * 5000 + "]", "TOML file"),
        ("[[columns]]\nname = 0x" + "f" * 5000, "TOML file"),
        ("[[columns]]\nname = 'a'\nbounds = [0, 0x" + "f" * 5000 + "]", "that float64 can hold"),
        ("a = " + "[" * 100_000, "nested too deeply"),
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
