"""Columns of Parquet files whose cells Arrow cannot convert: refused by both readers, and nothing of a cell is told."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pcqr.data.records.parted.engine import Spool
from pcqr.data.records.parted.parquet import ParquetParts, Reading
from pcqr.data.records.parted.source import Parted
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.labels import LabelColumn
from pcqr.datasets import read_table
from pcqr.errors import DataError

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")
pq = pytest.importorskip("pyarrow.parquet")

SECRETS = ("SECR", "987654321", "86399", "3000000", "2934", "10183")
"""The text of the cells below, their numbers, and the years and seconds that these are."""


def not_unicode(kind: Any) -> Any:
    """Two cells of text, the first of which is no UTF-8."""
    width = np.int64 if pa.types.is_large_string(kind) else np.int32
    ends = pa.py_buffer(np.array([0, 6, 7], width).tobytes())
    return pa.Array.from_buffers(kind, 2, [None, ends, pa.py_buffer(b"SECR\xffTx")])


def hostile_columns() -> dict[str, Any]:
    text = not_unicode(pa.string())
    return {
        "string": text,
        "large_string": not_unicode(pa.large_string()),
        "string_view": text.view(pa.binary()).cast(pa.binary_view()).view(pa.string_view()),
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), text),
        "list": pa.ListArray.from_arrays([0, 1, 2], text),
        "struct": pa.StructArray.from_arrays([text], ["of"]),
        "time64": pa.array([86_399_987_654_321, 0], pa.time64("ns")),
        "date32": pa.array([3_000_000, 0], pa.date32()),
        "date64": pa.array([3_000_000 * 86_400_000, 0], pa.date64()),
    }


def read_in_memory(path: Path, column: Column) -> Any:
    return Schema((column,)).compact(read_table(path), drop=["y"])


def read_in_parts(path: Path, column: Column) -> Any:
    reading = Reading("the table", (column,), LabelColumn("y"))
    return Parted.read(Spool(), ParquetParts.of(path), reading)


READERS = (read_in_memory, read_in_parts)
COLUMNS = (Column("age", "categorical", ["x"], other=True), Column("age"), Column("age", "date"))


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and all that it remembers."""
    if error is not None:
        yield error
        yield from chain(error.__cause__)
        yield from chain(error.__context__)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.kind)
@pytest.mark.parametrize("hostile", hostile_columns())
def test_what_arrow_cannot_convert_is_refused_and_not_quoted(
    tmp_path: Path, hostile: str, column: Column, read: Callable[[Path, Column], Any]
) -> None:
    pq.write_table(pa.table({"age": hostile_columns()[hostile], "y": [0, 1]}), tmp_path / "t.parquet")
    with pytest.raises(DataError) as caught:
        read(tmp_path / "t.parquet", column)
    told = "".join(traceback.format_exception(caught.value))
    told += "".join(f"{error!r}{error}" for error in chain(caught.value))
    assert not [secret for secret in SECRETS if secret in told]


@pytest.mark.parametrize("read", READERS)
def test_texts_of_every_arrow_type_are_read(tmp_path: Path, read: Callable[[Path, Column], Any]) -> None:
    column = Column("age", "categorical", ["x", "ü"], other=True)
    for number, kind in enumerate((pa.string(), pa.large_string(), pa.string_view())):
        cells = pa.chunked_array([pa.array(["ü", None], kind), pa.array(["x", "z"], kind)])
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"age": cells, "y": [0, 1, 0, 1]}), path)
        found = read(path, column)
        encoded = found.encoded() if read is read_in_memory else found.gathered().X
        assert encoded.tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]]
