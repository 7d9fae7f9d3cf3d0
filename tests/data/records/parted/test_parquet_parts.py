"""A table in Parquet files is the same list of records as that table in one piece, however it is cut."""

from __future__ import annotations

import datetime
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pcqr.data.records import Encoded
from pcqr.data.records.parted import parquet
from pcqr.data.records.parted.engine import Spool
from pcqr.data.records.parted.parquet import ParquetParts, RawParquet, Reading, read_part
from pcqr.data.records.parted.source import Parted
from pcqr.data.records.predicates import Predicate
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.labels import LabelColumn
from pcqr.errors import DataError, ParameterError

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")
pq = pytest.importorskip("pyarrow.parquet")

SCHEMA = Schema(
    (
        Column("age", bounds=(0, 100), missing=True),
        Column("job", "categorical", ["nurse", "cook", "3"], other=True),
        Column("seen", "date", missing=True),
        Column("code", "categorical", ["1", "2"], other=True),
    )
)
LABEL = LabelColumn("ill", ("no", "yes"))
PREDICATES = (Predicate(0, 40.0), Predicate(2, 0.5), Predicate(3, 0.5), Predicate(7, 9000.0))


def rows(seed: int, count: int) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    days = [None if day > 19_900 else datetime.date(1970, 1, 1) + datetime.timedelta(int(day)) for day in
            generator.integers(0, 20_000, count)]  # fmt: skip
    return {
        "age": pa.array([None if age > 90 else float(age) for age in generator.normal(50, 30, count)]),
        "job": pa.array(
            [["nurse", "cook", "3.0", "pilot", None][k] for k in generator.integers(0, 5, count)], pa.string()
        ),
        "seen": pa.array(days),
        "code": pa.array([None if k == 3 else int(k) for k in generator.integers(0, 4, count)], type=pa.int64()),
        "ill": pa.array([["no", "yes"][k] for k in generator.integers(0, 2, count)]),
    }


def read(path: Path, scratch: Path | None = None) -> Parted:
    return Parted.read(Spool(scratch), ParquetParts.of(path), Reading(str(path), SCHEMA.columns, LABEL))


def in_one_piece(columns: dict[str, Any]) -> Encoded:
    table = {name: cells.to_pandas() for name, cells in columns.items()}
    places = np.array([["no", "yes"].index(label) for label in table["ill"]])
    return Encoded(SCHEMA.compact(table, drop=["ill"]), places)


def check_same(found: Parted, columns: dict[str, Any]) -> None:
    expected = in_one_piece(columns)
    assert (found.size, found.width, found.labels) == (expected.size, expected.width, expected.labels)
    assert found.gathered().X.tobytes() == expected.gathered().X.tobytes()
    assert found.gathered().y.tobytes() == expected.gathered().y.tobytes()
    assert found.conjunctions(PREDICATES, 3).table.tobytes() == expected.conjunctions(PREDICATES, 3).table.tobytes()
    assert found.label_counts().tolist() == expected.label_counts().tolist()


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    group=st.integers(1, 30),
    most=st.sampled_from([1, 16, 1 << 18]),
    dictionary=st.booleans(),
)
def test_files_row_groups_and_parts_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[int], group: int, most: int, dictionary: bool
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    whole, start = pa.table(rows(seed, sum(cuts))), 0
    for number, count in enumerate(cuts):
        piece = whole.slice(start, count)
        if dictionary:  # the whole table's dictionary: it lists more than occurs
            piece = piece.set_column(1, "job", whole["job"].combine_chunks().dictionary_encode().slice(start, count))
        piece = piece.select(list(reversed(piece.column_names)) if number % 2 else piece.column_names)
        pq.write_table(piece, folder / f"{number}.parquet", row_group_size=group)
        start += count
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "PART_ROWS", most)
        check_same(read(folder), {name: whole[name] for name in whole.column_names})


def test_the_order_is_that_of_paths_and_stray_files_are_no_part_of_the_table(tmp_path: Path) -> None:
    columns = rows(2, 30)
    for start, name in ((20, "b/z.parquet"), (0, "a.parquet"), (10, "b/a.PARQUET")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns).slice(start, 10), tmp_path / name)
    for stray in ("_SUCCESS", ".a.parquet.crc", ".hidden.parquet", "_metadata.parquet", "notes.txt"):
        (tmp_path / stray).write_text("no table")
    (tmp_path / "_delta_log").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "_delta_log" / "old.parquet")
    check_same(read(tmp_path), columns)


def test_names_of_folders_may_be_a_column(tmp_path: Path) -> None:
    columns = rows(3, 20)
    codes = pa.array(["1"] * 8 + ["2"] * 7 + [None] * 5)
    for folder, start, count in (
        ("code=1", 0, 8),
        ("code=2", 8, 7),
        ("code=__HIVE_DEFAULT_PARTITION__", 15, 5),
    ):
        (tmp_path / folder).mkdir()
        pq.write_table(pa.table(columns).drop_columns("code").slice(start, count), tmp_path / folder / "p.parquet")
    check_same(read(tmp_path), columns | {"code": codes})


def test_row_numbers_of_pandas_are_no_column(tmp_path: Path) -> None:
    table = pa.table(rows(5, 6)).append_column("__index_level_0__", pa.array(range(6)))
    pq.write_table(table, tmp_path / "t.parquet")
    assert ParquetParts.of(tmp_path).columns == ("age", "job", "seen", "code", "ill")


@pytest.mark.parametrize("name", ["none", "t.csv", "empty"])
def test_what_is_no_table_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParameterError, match=r"^path must be a \.parquet file, or a folder of them, that exists"):
        ParquetParts.of(tmp_path / name)


def test_files_with_different_columns_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table(rows(6, 5)), tmp_path / "a.parquet")
    pq.write_table(pa.table(rows(6, 5)).drop_columns("age"), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="files with the same columns; received files with different ones"):
        ParquetParts.of(tmp_path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and so on")
    with pytest.raises(DataError, match="a Parquet file"):
        ParquetParts.of(tmp_path)


@pytest.mark.parametrize(
    ("column", "cells", "told"),
    [
        ("age", ["SECRET"] * 5, "column 'age'"),
        ("ill", ["no", "yes", "SECRET", "no", "no"], "label column 'ill'"),
        ("ill", ["no", None, "yes", "no", "no"], "label column 'ill'"),
        ("job", [b"SECRET"] * 5, "column 'job'"),
    ],
)
def test_refusals_have_no_cell_and_name_no_file(tmp_path: Path, column: str, cells: list[Any], told: str) -> None:
    (tmp_path / "of=SECRETS").mkdir()
    pq.write_table(pa.table(rows(7, 5)), tmp_path / "of=SECRETS" / "SECRET0.parquet")
    pq.write_table(pa.table(rows(7, 5) | {column: pa.array(cells)}), tmp_path / "of=SECRETS" / "SECRET1.parquet")
    table = ParquetParts.of(tmp_path)
    with pytest.raises(DataError, match=told) as caught:
        Parted.read(Spool(), table, Reading("the table", SCHEMA.columns, LABEL), drop=["of"])
    assert "SECRET" not in str(caught.value)


def test_columns_that_nobody_declared_are_refused_before_a_cell_is_read(tmp_path: Path) -> None:
    pq.write_table(pa.table(rows(8, 5) | {"extra": pa.array([1] * 5)}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="also 'extra'"):
        read(tmp_path)
    table, reading = ParquetParts.of(tmp_path), Reading("t", SCHEMA.columns, LABEL)
    assert Parted.read(Spool(), table, reading, drop=["extra"]).size == 5


@pytest.mark.parametrize("change", ["longer", "touched", "removed"])
def test_a_file_that_changes_is_refused(tmp_path: Path, change: str) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(rows(9, 5)), file)
    table, before = ParquetParts.of(tmp_path), file.stat()
    if change == "longer":
        pq.write_table(pa.table(rows(9, 6)), file)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif change == "touched":
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    else:
        file.unlink()
    with pytest.raises(DataError, match="files that stay as they are while they are read"):
        Parted.read(Spool(), table, Reading(str(tmp_path), SCHEMA.columns, LABEL))


def test_labels_without_names_are_0_and_1(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1.0, 2.0, 3.0], "ill": [0, 1, 1]}), tmp_path / "t.parquet")
    reading = Reading("t", (Column("age"),), LabelColumn("ill"))
    assert Parted.read(Spool(), ParquetParts.of(tmp_path), reading).label_counts().tolist() == [1, 2]
    pq.write_table(pa.table({"age": [1.0, 2.0], "ill": [0, 2]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="0 or 1 in every row"):
        Parted.read(Spool(), ParquetParts.of(tmp_path), reading)


def test_what_an_engine_sends_can_be_pickled(tmp_path: Path) -> None:
    pq.write_table(pa.table(rows(10, 5)), tmp_path / "t.parquet")
    table, reading = ParquetParts.of(tmp_path), Reading("t", SCHEMA.columns, LABEL)
    made = pickle.loads(pickle.dumps(read_part))(*pickle.loads(pickle.dumps((table.parts[0], reading))))  # noqa: S301
    assert {name: entries.tolist() for name, entries in made.items()} == {
        name: entries.tolist() for name, entries in read_part(table.parts[0], reading).items()
    }


def test_a_part_has_a_bounded_number_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "PART_ROWS", 10)
    pq.write_table(pa.table(rows(11, 50)), tmp_path / "a.parquet", row_group_size=4)
    pq.write_table(pa.table(rows(11, 15)), tmp_path / "b.parquet")
    assert ParquetParts.of(tmp_path).sizes == (8, 8, 8, 8, 8, 10, 15)


def test_text_that_is_not_unicode_is_refused_and_not_quoted(tmp_path: Path) -> None:
    secret = pa.py_buffer(b"SECRET\xff")
    text = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(np.array([0, 7], dtype=np.int32)), secret])
    pq.write_table(pa.table({"job": text, "ill": ["no"]}), tmp_path / "t.parquet")
    reading = Reading("the table", (Column("job", "categorical", ["cook"], other=True),), LABEL)
    with pytest.raises(DataError, match="a file that cannot be parsed as such") as caught:
        Parted.read(Spool(), ParquetParts.of(tmp_path), reading)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32()])
def test_dictionaries_with_short_places_may_be_full(kind: Any) -> None:
    names = [f"n{place}" for place in range(128)]
    cells = pa.DictionaryArray.from_arrays(pa.array([127, None, 0], type=kind), pa.array(names))
    column = Column("name", "categorical", names)
    assert parquet.entries_of(column, cells, "t").tolist() == [127, 128, 0]


@pytest.mark.parametrize("kind", ["soft", "hard", "two links to a file elsewhere"])
def test_a_file_under_two_names_is_refused_since_its_records_would_count_twice(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "table"
    (folder / "within").mkdir(parents=True)
    file = (tmp_path if kind.startswith("two") else folder) / "SECRET.parquet"
    pq.write_table(pa.table(rows(12, 5)), file)
    for name in ("SECRET2.parquet", "within/SECRET3.parquet")[: 2 if kind.startswith("two") else 1]:
        (folder / name).hardlink_to(file) if kind == "hard" else (folder / name).symlink_to(file)
    with pytest.raises(DataError, match="files that are there once; received a file under two names") as caught:
        ParquetParts.of(folder)
    assert "SECRET" not in str(caught.value)


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table(rows(12, 5)), tmp_path / "a.parquet")
    (tmp_path / "SECRET.parquet").symlink_to(tmp_path / "SECRET")
    with pytest.raises(DataError, match="files that exist; received a link to none") as caught:
        ParquetParts.of(tmp_path)
    assert "SECRET" not in str(caught.value)


def test_links_to_files_are_followed_and_to_folders_not(tmp_path: Path) -> None:
    columns = rows(13, 8)
    for name, start in (("elsewhere/a.parquet", 0), ("elsewhere/b.parquet", 4)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns).slice(start, 4), tmp_path / name)
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "a.parquet").symlink_to(tmp_path / "elsewhere" / "a.parquet")
    (tmp_path / "table" / "_a.parquet").symlink_to(tmp_path / "elsewhere" / "a.parquet")
    (tmp_path / "table" / "within").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "table" / "b.parquet").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "linked").symlink_to(tmp_path / "table", target_is_directory=True)
    check_same(read(tmp_path / "linked"), {name: cells.slice(0, 4) for name, cells in columns.items()})


def test_a_file_that_goes_while_the_folder_is_listed_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"x": [1.0], "y": [0]}), tmp_path / "SECRET.parquet")
    stat, is_file = Path.stat, Path.is_file

    def gone(self: Path, **options: Any) -> os.stat_result:
        if self.suffix == ".parquet":
            raise FileNotFoundError(2, "gone", str(self))
        return stat(self, **options)

    monkeypatch.setattr(Path, "is_file", lambda self: self.suffix == ".parquet" or is_file(self))
    monkeypatch.setattr(Path, "exists", lambda _: True)
    monkeypatch.setattr(Path, "stat", gone)
    with pytest.raises(DataError) as caught:
        ParquetParts.of(tmp_path)
    assert "SECRET" not in str(caught.value)


def test_every_folder_between_the_table_and_a_file_tells_a_column() -> None:
    place = Path("table")
    assert parquet._described(place / "year=2024" / "plain" / "month=%C3%BC" / "part=0.parquet", place) == (
        *(("year", "2024"), ("month", "ü")),
    )
    assert parquet._described(place / "year=2024.parquet", place) == ()
    assert parquet._described(place, place) == ()


def test_columns_of_known_kinds_are_all_but_those_that_are_left_out(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1.5], "job": ["cook"], "ill": [1]}), tmp_path / "a.parquet")
    table = RawParquet(ParquetParts.of(tmp_path), {}, drop=["ill"])
    assert [(column.name, column.kind) for column in table.columns] == [("age", "numeric"), ("job", "categorical")]
