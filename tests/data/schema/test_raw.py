"""Private tables whose columns have a kind and nothing else: kinds by declaration or type, cells each by itself."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pcqr.data.records import InMemory, Narrow
from pcqr.data.records.in_memory import RawRecords
from pcqr.data.records.parted.parquet import ParquetParts, RawParquet
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.raw import MOST_CHARACTERS, TYPES_ARE_PUBLIC, RawColumn, RawInMemory, RawTable, kind_of, type_of
from pcqr.errors import DataError, ParameterError

TABLE = pa.table(
    {
        "age": pa.array([30, None, 50], pa.int16()),
        "job": pa.array(["cook", None, "cook"]),
        "born": pa.array([datetime.date(1990, 1, 2), datetime.date(1970, 1, 1), None]),
        "smokes": pa.array([True, False, None]),
        "floor": pa.array(["3", "3.0", "x"]).dictionary_encode(),
        "ill": pa.array([0, 1, 1]),
    }
)
COLUMNS = (
    RawColumn("age", "numeric"),
    RawColumn("job", "categorical"),
    RawColumn("born", "date"),
    RawColumn("smokes", "boolean"),
    RawColumn("floor", "categorical"),
)


def contents(table: RawTable) -> dict[str, list[Any]]:
    """All cells, column by column, however many blocks they come in."""
    found: dict[str, list[Any]] = {}
    for block in table.numbers(table.named("numeric", "date")):
        for name, cells in block.items():
            found.setdefault(name, []).extend(None if np.isnan(cell) else cell for cell in cells.tolist())
    for texts in table.texts(table.named("categorical")):
        for name, held in texts.items():
            found.setdefault(name, []).extend(held.texts[place] for place in held.places.tolist())
    return found


EXPECTED: dict[str, list[Any]] = {
    "age": [30.0, None, 50.0],
    "born": [7306.0, 0.0, None],
    "job": ["cook", None, "cook"],
    "floor": ["3", "3", "x"],
}


@pytest.mark.parametrize("frame", [TABLE, pl.from_arrow(TABLE), TABLE.to_pandas(types_mapper=pd.ArrowDtype)])
def test_types_of_frames_say_the_kinds(frame: Any) -> None:
    table = RawInMemory(frame, {}, drop=["ill"])
    assert table.columns == COLUMNS
    assert table.size == 3
    assert table.assumptions == (TYPES_ARE_PUBLIC,)
    assert contents(table) == EXPECTED


def test_files_are_read_as_tables_in_memory_are(tmp_path: Path) -> None:
    for place in range(3):
        pq.write_table(TABLE.slice(place, 1), tmp_path / f"{place}.parquet")
    table = RawParquet(ParquetParts.of(tmp_path), {}, drop=["ill"])
    table.check()
    assert table.columns == COLUMNS
    assert table.size == 3
    assert contents(table) == EXPECTED


def test_declared_kinds_count_more_than_types() -> None:
    kinds = {"age": "categorical", "born": "categorical", "smokes": "categorical", "floor": "categorical"}
    table = RawInMemory(TABLE, kinds | {"job": "categorical"}, drop=["ill"])  # type: ignore[arg-type]
    assert table.assumptions == ()
    assert contents(table)["age"] == ["30", None, "50"]
    assert contents(table)["smokes"] == ["1", "0", None]
    assert contents(table)["born"] == ["1990-01-02", "1970-01-01", None]


def test_folders_are_columns_of_texts_and_files_must_have_types_of_one_kind(tmp_path: Path) -> None:
    for name, part in (("a", TABLE), ("b", TABLE)):
        (tmp_path / f"town={name}").mkdir()
        pq.write_table(part.select(["age"]), tmp_path / f"town={name}" / "0.parquet")
    table = RawParquet(ParquetParts.of(tmp_path), {})
    assert contents(table)["town"] == ["a"] * 3 + ["b"] * 3
    pq.write_table(pa.table({"age": ["old"]}), tmp_path / "town=b" / "0.parquet")
    with pytest.raises(DataError, match="column 'age' has types of one kind"):
        RawParquet(ParquetParts.of(tmp_path), {})
    declared = RawParquet(ParquetParts.of(tmp_path), {"age": "categorical"})
    assert contents(declared)["age"] == ["30", None, "50", "old"]
    assert contents(RawParquet(ParquetParts.of(tmp_path), {}, drop=["age"])) == {"town": ["a"] * 3 + ["b"]}


def test_types_of_one_kind_may_differ_from_file_to_file(tmp_path: Path) -> None:
    """One gap, and a library writes integers as floats."""
    born = datetime.date(1990, 1, 2)
    for place, (number, text, date) in enumerate(
        (
            (pa.int64(), pa.string(), pa.date32()),
            (pa.float64(), pa.large_string(), pa.timestamp("us")),
            (pa.int8(), pa.dictionary(pa.int32(), pa.string()), pa.timestamp("ns", tz="UTC")),
        )
    ):
        columns = {"age": pa.array([30]).cast(number), "job": pa.array(["cook"]).cast(text)}
        pq.write_table(pa.table(columns | {"born": pa.array([born]).cast(date)}), tmp_path / f"{place}.parquet")
    table = RawParquet(ParquetParts.of(tmp_path), {})
    assert [column.kind for column in table.columns] == ["numeric", "categorical", "date"]
    assert contents(table) == {"age": [30.0] * 3, "job": ["cook"] * 3, "born": [7306.0] * 3}


def test_a_file_of_gaps_alone_has_no_say_in_the_type(tmp_path: Path) -> None:
    gaps = pa.table({"age": pa.nulls(2), "job": pa.nulls(2)})
    for place, part in enumerate((gaps, TABLE.select(["age", "job"]), gaps)):
        pq.write_table(part, tmp_path / f"{place}.parquet")
    table = RawParquet(ParquetParts.of(tmp_path), {})
    assert table.columns == COLUMNS[:2]
    assert contents(table)["age"] == [None, None, 30.0, None, 50.0, None, None]
    assert contents(table)["job"] == [None, None, "cook", None, "cook", None, None]
    for place in range(3):
        pq.write_table(gaps, tmp_path / f"{place}.parquet")
    with pytest.raises(DataError, match="columns without a type: 'age', 'job'"):
        RawParquet(ParquetParts.of(tmp_path), {})


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.array([1.5]), "numeric"),
        (np.array([True]), "boolean"),
        (np.array(["a"]), "categorical"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "date"),
        (pd.Series([1, None], dtype="Int64"), "numeric"),
        (pd.Series(["a", None]), "categorical"),
        (pd.Series([1, "a"], dtype=object), "categorical"),
        (pd.Series([1, 2], dtype="category"), "categorical"),
        (pd.Series(pd.to_datetime(["2020-01-01"], utc=True)), "date"),
        (pl.Series(["a"], dtype=pl.Enum(["a"])), "categorical"),
        (pl.Series([1], dtype=pl.Decimal(10, 2)), "numeric"),
        (pl.Series([datetime.datetime(2020, 1, 1)]), "date"),
        (pa.array([1.0], pa.float16()), "numeric"),
        (pa.array(["a"], pa.string_view()), "categorical"),
        ([1.0], None),
        (pa.array([None]), None),
        (pa.array([[1]]), None),
        (pa.array([b"a"]), None),
        (np.array([1], dtype="timedelta64[s]"), None),
        (np.array([1j]), None),
    ],
)
def test_kinds_of_types(values: Any, kind: str | None) -> None:
    assert kind_of(type_of(values)) == kind


def test_a_list_has_no_kind_until_it_is_declared() -> None:
    with pytest.raises(DataError, match="columns without a type: 'age'"):
        RawInMemory({"age": [1, 2]}, {})
    assert contents(RawInMemory({"age": ["1", ""]}, {"age": "numeric"})) == {"age": [1.0, None]}


@pytest.mark.parametrize("cell", ["secret", "1e999"])
def test_refusals_quote_no_cell(cell: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        RawInMemory({"age": [1.0, cell]}, {"age": "numeric"})
    assert str(cell) not in str(refused.value)
    pq.write_table(pa.table({"age": [str(cell)]}), tmp_path / "a.parquet")
    with pytest.raises(DataError) as refused:
        RawParquet(ParquetParts.of(tmp_path), {"age": "numeric"}).check()
    assert str(cell) not in str(refused.value)


def test_other_refusals() -> None:
    with pytest.raises(DataError, match="numbers, texts, truth values or dates"):
        RawInMemory({"job": ["a", b"b"]}, {"job": "categorical"})
    with pytest.raises(DataError, match="different lengths"):
        RawInMemory({"a": np.zeros(2), "b": np.zeros(3)}, {})
    with pytest.raises(DataError, match="besides those that are left out"):
        RawInMemory({"a": np.zeros(2)}, {}, drop=["a"])
    with pytest.raises(ParameterError, match="types"):
        RawInMemory({"a": np.zeros(2)}, {"b": "numeric"})
    with pytest.raises(ParameterError, match="one of numeric, date, categorical, boolean"):
        RawInMemory({"a": np.zeros(2)}, {"a": "text"})  # type: ignore[dict-item]


def test_a_raw_table_read_by_a_schema_is_what_the_schema_reads() -> None:
    long = "x" * (MOST_CHARACTERS + 1)
    table = {
        "age": [1, None, -0.0, 2.5],
        "job": ["cook", None, long, "3.0"],
        "born": ["2001-02-03", None, "1970-01-01", "1969-12-31"],
        "smokes": [True, None, False, "maybe"],
    }
    kinds: dict[str, Any] = {"age": "numeric", "job": "categorical", "born": "date", "smokes": "boolean"}
    schema = Schema(
        (
            Column("age", missing=True, cuts=[0.5]),
            Column("job", "categorical", ["3", "cook"], other=True),
            Column("born", "date", missing=True, cuts=[0.0]),
            Column("smokes", "categorical", ["False", "True"], other=True),
        )
    )
    raw = RawInMemory(table, kinds)
    for places in (np.arange(4), np.array([2, 0, 2])):
        read = raw.rows(places).compact(schema)
        assert read.columns == schema.columns
        assert read.encoded().tobytes() == schema.encode(table)[places].tobytes()
    for column in raw.columns:
        assert column.public_column.compact(table[column.name]).shape == (4,)


def test_records_without_names_are_columns_of_numbers() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.zeros(200, dtype=np.int8)
    for records, expected in ((InMemory(X, y), X), (Narrow(X.astype(np.float32), y, 2), X.astype(np.float32))):
        raw = RawRecords(records)
        raw.check()
        assert [column.name for column in raw.columns] == ["x0", "x1", "x2"]
        found = [np.concatenate([block[name] for block in raw.numbers([name])]) for name in raw.named("numeric")]
        assert np.array_equal(np.stack(found, axis=1), expected)
        assert list(raw.texts([])) == []
