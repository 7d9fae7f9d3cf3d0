"""Columns of known kinds in parts: the cells of the table in memory, and what another schema makes of them."""

from __future__ import annotations

import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr.data.records import Encoded
from pcqr.data.records.parted import engine as spool
from pcqr.data.records.parted import parquet
from pcqr.data.records.parted.engine import Spool
from pcqr.data.records.parted.parquet import ParquetParts, RawParquet, Reading
from pcqr.data.records.parted.source import Parted, RawParted
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.labels import LabelColumn
from pcqr.data.schema.raw import RawColumn, RawInMemory, RawKind, RawTable, Texts
from pcqr.datasets import write_table
from pcqr.releases.classifier.predicates import schema_of_kinds

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")

KINDS: dict[str, RawKind] = {"age": "numeric", "job": "categorical", "town": "categorical", "smokes": "boolean"}
TEXTS = st.sampled_from(["cook", "nurse", "3", "3.0", "a\0", "a", "ü", "\U0001f600", "x" * 300, "NA", None])
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1e300, 5e-324]), st.floats(-1e6, 1e6)),
        TEXTS,
        TEXTS,
        st.one_of(st.none(), st.booleans()),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=12,
)


def read(folder: Path, parts: list[list[tuple[Any, ...]]]) -> tuple[Parted, RawParted]:
    for number, rows in enumerate(parts):
        columns = dict(zip((*KINDS, "ill"), map(list, zip(*rows, strict=True)), strict=True))
        write_table(folder / f"{number}.parquet", columns)
    found = ParquetParts.of(folder)
    columns_of = tuple(RawColumn(name, kind) for name, kind in KINDS.items())
    reading = Reading("t", schema_of_kinds(columns_of).columns, LabelColumn("ill"), ("job", "town"))
    records = Parted.read(Spool(), found, reading)
    return records, RawParted(records, RawParquet(found, KINDS, ["ill"]))


def numbers(table: RawTable, name: str) -> bytes:
    return np.concatenate([block[name] for block in table.numbers([name])]).tobytes()


def counted(table: RawTable, name: str) -> Counter[str | None]:
    return Counter(block[name].texts[place] for block in table.texts([name]) for place in block[name].places.tolist())


SCHEMA = Schema(
    (
        Column("age", missing=True, cuts=[0.5]),
        Column("job", "categorical", ["3", "a", "cook", "ü"], other=True),
        Column("town", "categorical", (), other=True),
        Column("smokes", "categorical", ["False", "True"], other=True),
    )
)


@settings(max_examples=40, deadline=None)
@given(ROWS, st.lists(st.integers(0, 12), max_size=4))
def test_parts_have_the_cells_of_the_whole_table(rows: list[tuple[Any, ...]], cuts: list[int]) -> None:
    borders = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    parts = [rows[low:high] for low, high in pairwise(borders) if high > low]
    whole = dict(zip((*KINDS, "ill"), map(list, zip(*rows, strict=True)), strict=True))
    expected = RawInMemory({name: whole[name] for name in KINDS}, KINDS)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(parquet, "PART_ROWS", 2)
        records, raw = read(Path(folder), parts)
        assert raw.columns == expected.columns
        assert raw.size == expected.size == records.size
        assert numbers(raw, "age") == numbers(expected, "age")
        for name in ("job", "town"):
            assert counted(raw, name) == counted(expected, name)
        chosen = np.arange(len(rows))[::-2]
        assert np.array_equal(
            records.rows(chosen).gathered().X,
            Encoded(expected.compact(schema_of_kinds(raw.columns)), whole["ill"]).rows(chosen).gathered().X,
        )
        again, oracle = records.read_by(SCHEMA), SCHEMA.encode({name: whole[name] for name in KINDS})
        assert again.gathered().X.tobytes() == oracle.tobytes()
        assert again.gathered().y.tolist() == whole["ill"]
        assert again.columns == SCHEMA.columns


def test_pieces_of_texts_are_joined() -> None:
    pieces = [
        Texts(["a", None, "b"], np.array([0, 1, 0]), [False, True, False]),
        Texts([None, "b", None], np.array([1, 0, 2, 2]), [False, False, True]),
    ]
    joined = Texts.joined(pieces)
    assert [joined.texts[place] for place in joined.places] == ["a", None, "a", "b", None, None, None]
    assert [joined.gaps[place] for place in joined.places] == [False, True, False, False, False, True, True]
    assert len(joined.texts) == 4


def test_a_question_reads_no_other_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, raw = read(tmp_path, [[(1.0, "a", "b", True, 0)] * 3])
    seen: list[str] = []
    shipped = spool._Scratch.read

    def watched(file: Any, entry: Any) -> Any:
        seen.append(entry.name)
        return shipped(file, entry)

    monkeypatch.setattr(spool._Scratch, "read", watched)
    next(iter(raw.numbers(["age"])))
    assert seen == ["column 0"]
    seen.clear()
    next(iter(raw.texts(["town"])))
    assert set(seen) == {f"{what} of town" for what in ("rows", "texts", "ends", "kinds")}
