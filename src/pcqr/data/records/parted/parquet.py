"""A table in Parquet files, as parts: which there are, by footers alone, and how one is read (proofs/parted.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records.parted.engine import Arrays, Layout
from pcqr.data.schema.cells import cells as cells_of
from pcqr.data.schema.cells import distinct
from pcqr.data.schema.column import Column, Entries
from pcqr.data.schema.labels import LabelColumn
from pcqr.data.schema.raw import RawKind, RawTable, Texts, kind_of, raw_columns, texts_of
from pcqr.data.schema.table import CompactTable, arrow, check_header, declared_columns, of_the_table, reading_parquet
from pcqr.errors import DataError, ParameterError

PART_ROWS = 1 << 18
"""Row groups are put together up to so many rows: a part has one row group, or several with no more rows than this."""
_BATCH_ROWS = 1 << 16
_UNKNOWN = "null"
"""Arrow's name for the type of a column that has only gaps."""
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Piece:
    """Row groups of one file: how large it was and when it was last written to, and what its folders' names say."""

    path: Path
    groups: tuple[int, ...]
    stamp: tuple[int, int]
    folder_columns: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Part:
    """Some rows of a table, in order: those of `pieces`, one after the other."""

    pieces: tuple[Piece, ...]
    rows: int


@dataclass(frozen=True)
class Reading:
    """How cells are read: by the declared columns and the label's column. `name` is the table's name in errors. Public.

    The texts of the columns `texts` are kept, too, so that another schema can read them later.
    """

    name: str
    columns: tuple[Column, ...]
    label: LabelColumn
    texts: tuple[str, ...] = ()

    @property
    def layout(self) -> Layout:
        return Layout(self.columns, self.label.count, self.texts)


@dataclass(frozen=True)
class ParquetParts:
    """What the footers of a table's files say: its columns, its parts and their sizes. No cell is read.

    The table is one file, or all `.parquet` files in a folder and in the folders within it, in the order of their
    paths; what begins with a dot or an underscore is no part of it, nor is any other file, nor what is in a folder
    that is a link. Folders may be called `column=value`, as Hive does it: that is a column.
    """

    name: str
    columns: tuple[str, ...]
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, path: str | Path) -> ParquetParts:
        """The table at `path`.

        Raises
        ------
        ParameterError
            When there is no such file or folder, or no Parquet file in the folder.
        DataError
            When a file is none or has two names, a link leads nowhere, the files have different columns, or there is
            no row.
        """
        place = Path(path)
        found = _files(place)
        if not found:
            raise ParameterError("path", "a .parquet file, or a folder of them, that exists", str(path))
        columns: set[str] | None = None
        names: list[str] = []
        groups: list[tuple[Piece, int]] = []
        for file in found:
            told = _described(file, place)
            stamp = _stamp(file, str(path))
            with reading_parquet(str(path)) as parquet:
                footer = parquet.read_metadata(file)
                own = of_the_table(footer.schema.to_arrow_schema().names)
                sizes = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
            check_header(own, str(path))
            told = tuple((name, value) for name, value in told if name not in own)
            names = names or [*own, *(name for name, _ in told)]
            if columns is not None and columns != {*own, *(name for name, _ in told)}:
                raise DataError(str(path), "files with the same columns", "files with different ones")
            columns = set(names)
            groups += [(Piece(file, (group,), stamp, told), size) for group, size in enumerate(sizes) if size]
        if not groups:
            raise DataError(str(path), "a table with at least one row", "an empty table")
        return cls(str(path), tuple(names), tuple(_parts(groups)))

    @property
    def rows(self) -> int:
        """n."""
        return sum(part.rows for part in self.parts)

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that have a row, each once."""
        return tuple(dict.fromkeys(piece.path for part in self.parts for piece in part.pieces))

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Return these columns of all rows, as Arrow tables of a moderate size, None if a file lacks one of them."""
        for file in self.files:
            with reading_parquet(self.name) as parquet:
                opened = parquet.ParquetFile(file)
                has_all = set(columns) <= set(opened.schema_arrow.names)
                for batch in opened.iter_batches(columns=list(columns)) if has_all else ():
                    batch.validate(full=True)
                    yield batch

    def types(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the columns' types in the files. Columns that folder names give are texts.

        A file in which a column has only gaps may not know its type. Other files then decide.
        """
        found: dict[str, dict[str, None]] = {name: {} for name in self.columns}
        for file in self.files:
            with reading_parquet(self.name) as parquet:
                schema = parquet.read_schema(file)
            for name in self.columns:
                found[name][str(schema.field(name).type) if name in schema.names else "string"] = None
        for called in found.values():
            if len(called) > 1:
                called.pop(_UNKNOWN, None)
        return {name: tuple(called) for name, called in found.items()}

    @property
    def sizes(self) -> tuple[int, ...]:
        """The rows of each part."""
        return tuple(part.rows for part in self.parts)

    def check_columns(self, reading: Reading, drop: Sequence[str] = ()) -> None:
        """Refuse a table that lacks a column, or has others that nobody drops."""
        nothing = dict.fromkeys(self.columns, ())
        declared_columns(nothing, reading.columns, (*drop, reading.label.name), self.name)
        if reading.label.name not in self.columns:
            raise DataError(self.name, "a table with a column for the labels", "one without it")


def read_part(part: Part, reading: Reading) -> Arrays:
    """The cells of a part, each read by itself as `Schema.compact` reads it, and its labels.

    Raises `DataError`, without a cell and without saying which part, where a cell is not as declared, a label none of
    the declared ones, or a file is not what it was when its footer was read.
    """
    wanted = [*reading.columns, reading.label.column]
    found: list[list[Entries]] = [[] for _ in wanted]
    texts: dict[str, list[Texts]] = {name: [] for name in reading.texts}
    for piece in part.pieces:
        _check_stamp(piece, reading.name)
        for batch in _batches(piece, [column.name for column in wanted], reading.name):
            for place, column in enumerate(reading.columns):
                found[place].append(entries_of(column, batch[column.name], reading.name))
            for name, kept in texts.items():
                kept.append(_texts(batch[name], name, reading.name))
            found[-1].append(_labels(reading, batch[reading.label.name]))
        _check_stamp(piece, reading.name)
    *entries, labels = map(np.concatenate, found)
    if labels.shape[0] != part.rows:
        raise _changed(reading.name)
    table = CompactTable(reading.columns, tuple(entries))
    return reading.layout.arrays(table, labels, {name: Texts.joined(pieces) for name, pieces in texts.items()})


def entries_of(column: Column, cells: Any, name: str) -> Entries:
    """`column.compact` of an Arrow array. Of texts those that differ are read, once each."""
    values, codes = _distinct_texts(cells, name)
    read = column.compact(values, table=name)
    found: Entries = read if codes is None else read[codes]
    return found


def _distinct_texts(cells: Any, name: str) -> tuple[Any, NDArray[np.int64] | None]:
    """The cells of an Arrow array. Of texts those that differ, once each, and for each row its place among them."""
    if isinstance(cells, list):
        return cells, None
    with reading_parquet(name):
        types = arrow().types
        cells.validate(full=True)
        if types.is_string_view(cells.type):
            cells = cells.cast("large_string")
        if types.is_string(cells.type) or types.is_large_string(cells.type):
            cells = cells.dictionary_encode()
        if not types.is_dictionary(cells.type):
            return cells.to_pandas(), None
        values = [*cells.dictionary.to_pylist(), None]
        codes = cells.indices.cast("int64").fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    used = np.flatnonzero(np.bincount(codes, minlength=len(values)))  # a dictionary may list more than occurs
    place = np.zeros(len(values), dtype=np.int64)
    place[used] = np.arange(used.size)
    return [values[code] for code in used], place[codes]


def _texts(cells: Any, column: str, table: str) -> Texts:
    what = f"column {column!r} of {table}"
    values, places = _distinct_texts(cells, table)
    if places is None:
        values, places = distinct(cells_of(values, what))
    return texts_of(values, places, what)


class RawParquet(RawTable):
    """A table in Parquet files as columns of known kinds, read anew by each question, a batch at a time.

    Parameters
    ----------
    parts : ParquetParts
        What the footers say.
    kinds : mapping of str to RawKind
        The declared kinds. A column that is not among them has that of its type in the files.
    drop : collection of str, default ()
        Columns to leave out, such as the label.

    Raises
    ------
    ParameterError
        When a kind is none, or declared for no column.
    DataError
        When the type of a column does not tell its kind, or its types in different files tell different kinds.
    """

    def __init__(self, parts: ParquetParts, kinds: Mapping[str, RawKind], drop: Collection[str] = ()) -> None:
        types = {name: called for name, called in parts.types().items() if name not in drop}
        for name, called in types.items():
            if name not in kinds and len(set(map(kind_of, called))) > 1:
                allowed = f"files in which column {name!r} has types of one kind; declare its kind or rewrite the files"
                raise DataError(parts.name, allowed, "files with types of different kinds")
        self._parts, self.size = parts, parts.rows
        self.columns, self.assumptions = raw_columns({name: types[name][0] for name in types}, kinds, parts.name)

    def numbers(self, names: Sequence[str]) -> Iterator[Mapping[str, NDArray[np.float64]]]:
        wanted = [column for column in self.columns if column.name in names]
        for batch in self._batches(names):
            yield {column.name: entries_of(column.unbounded, batch[column.name], self._parts.name) for column in wanted}

    def texts(self, names: Sequence[str]) -> Iterator[Mapping[str, Texts]]:
        for batch in self._batches(names):
            yield {name: _texts(batch[name], name, self._parts.name) for name in names}

    def check(self) -> None:
        for _ in self.numbers(self.named("numeric", "date")):
            pass
        for _ in self.texts(self.named("categorical")):
            pass

    def _batches(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        for part in self._parts.parts if names else ():
            for piece in part.pieces:
                _check_stamp(piece, self._parts.name)
                yield from _batches(piece, names, self._parts.name)
                _check_stamp(piece, self._parts.name)


def _labels(reading: Reading, cells: Any) -> Entries:
    label = reading.label
    places = label.places(lambda column: entries_of(column, cells, reading.name))
    if places is None:
        named = "0 or 1" if label.names is None else f"one of {', '.join(map(str, label.names))}"
        raise DataError(f"label column {label.name!r}", f"{named} in every row", "other values, or missing ones")
    return places


def _batches(piece: Piece, names: Sequence[str], name: str) -> Iterator[dict[str, Any]]:
    """The columns of some thousand rows at a time."""
    told = dict(piece.folder_columns)
    with reading_parquet(name) as parquet, parquet.ParquetFile(piece.path) as file:
        stored = [each for each in names if each not in told]
        batches = file.iter_batches(_BATCH_ROWS, row_groups=list(piece.groups), columns=stored)
        while (batch := next(batches, None)) is not None:
            yield {each: [told[each]] * len(batch) if each in told else batch.column(each) for each in names}


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place] if place.suffix.lower() == ".parquet" else []
    named = [(file.relative_to(place), file) for file in place.rglob("*") if file.suffix.lower() == ".parquet"]
    own = [file for inner, file in sorted(named) if not any(each.startswith((".", "_")) for each in inner.parts)]
    if not all(file.exists() for file in own):
        raise DataError(str(place), "files that exist", "a link to none")
    found = [file for file in own if file.is_file()]
    try:
        places = {(told.st_dev, told.st_ino) for told in map(Path.stat, found)}
    except OSError:
        raise _changed(str(place)) from None
    if len(places) < len(found):  # a record would count twice
        raise DataError(str(place), "files that are there once", "a file under two names, by a link")
    return found


def _described(file: Path, place: Path) -> tuple[tuple[str, str | None], ...]:
    """What the folders between `place` and the file say: `column=value`, in the spelling of Hive."""
    folders = file.relative_to(place).parts[:-1] if file != place else ()
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return tuple((unquote(name), None if value == _NO_VALUE else unquote(value)) for name, _, value in pairs)


def _parts(groups: Sequence[tuple[Piece, int]]) -> Iterator[Part]:
    """Neighbours are put together up to `PART_ROWS`."""
    pieces: list[Piece] = []
    rows = 0
    for piece, size in groups:
        if pieces and rows + size > PART_ROWS:
            yield Part(tuple(pieces), rows)
            pieces, rows = [], 0
        if pieces and pieces[-1].path == piece.path:
            last = pieces.pop()
            piece = Piece(last.path, last.groups + piece.groups, last.stamp, last.folder_columns)  # noqa: PLW2901
        pieces.append(piece)
        rows += size
    yield Part(tuple(pieces), rows)


def _stamp(file: Path, name: str) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        wanted = (
            "files that stay as they are while they are read, and that every worker of a cluster sees by the same path"
        )
        raise DataError(name, wanted, "a file that is not there, or not for this user") from None
    return found.st_size, found.st_mtime_ns


def _check_stamp(piece: Piece, name: str) -> None:
    if _stamp(piece.path, name) != piece.stamp:
        raise _changed(name)


def _changed(name: str) -> DataError:
    return DataError(name, "files that stay as they are while they are read", "a file that was changed")
