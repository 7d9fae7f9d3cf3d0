"""Private tables whose columns have a kind and nothing else: what private cuts and categories are made of.

A kind is public: it is declared, or that of the column's own type. It is never inferred from cells, each of which is
read by itself (proofs/table.md).
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema.cells import cells, distinct, is_unicode, listed, read, text_of
from pcqr.data.schema.column import TRUTH_VALUES, Column, Entries
from pcqr.data.schema.schema import Schema
from pcqr.data.schema.table import CompactTable, column_names
from pcqr.errors import DataError, ParameterError
from pcqr.privacy.entropy import SeededEntropy

Floats = NDArray[np.float64]

RawKind = Literal["numeric", "date", "categorical", "boolean"]
"""What the cells of a column are. Those of a truth value are known: it needs neither cuts nor categories."""

MOST_CHARACTERS = 200
"""A longer text is no category."""

TYPES_ARE_PUBLIC = "which types the columns have is public"

_TYPES: Mapping[RawKind, str] = {
    "numeric": r"u?int\d*|float\d*|halffloat|double|decimal.*",
    "date": r"date.*|timestamp.*",
    "boolean": r"bool(?:ean)?",
    "categorical": r"str|(?:large_)?string.*|utf8|object|categor.*|enum.*|dictionary.*|[<>=|]?u\d+",
}
"""What numpy, pandas, Polars and Arrow call the types of such columns: regular expressions."""


class RawColumn(NamedTuple):
    """The name and the kind of a column. Public."""

    name: str
    kind: RawKind

    @property
    def is_number(self) -> bool:
        """Are the cells numbers, or dates as days since 1970-01-01?"""
        return self.kind in ("numeric", "date")

    def floats(self, values: Any, table: str) -> Floats:
        """Return the cells of a numeric or date column, NaN for a gap. Raise DataError where one is neither."""
        found: Floats = self.unbounded.compact(values, table=table)
        return found

    @property
    def unbounded(self) -> Column:
        """The declaration of a numeric or date column of which nothing is known yet."""
        return Column(self.name, "date" if self.kind == "date" else "numeric", missing=True)

    @property
    def public_column(self) -> Column:
        """What is known of the column without a look at a record. Every cell of its kind can be read by it."""
        if self.is_number:
            return self.unbounded
        names = TRUTH_VALUES if self.kind == "boolean" else ()
        return Column(self.name, "categorical", names, other=True)


class Texts(NamedTuple):
    """Cells of a categorical column: the text that each is compared by is `texts[places[row]]`. **Private.**

    Texts may stand there twice, and without a row. None is no category: a gap, of which `gaps` is true, a text of more
    than `MOST_CHARACTERS`, or one that is not Unicode.
    """

    texts: Sequence[str | None]
    places: NDArray[np.integer[Any]]
    gaps: Sequence[bool]

    def read_by(self, column: Column) -> Entries:
        """Return the cells as read by `column`, which has `other`: a text that is no category is `other`, or a gap."""
        codes = column.compact(self.texts)
        is_other = [text is None and not is_gap for text, is_gap in zip(self.texts, self.gaps, strict=True)]
        codes[is_other] = len(column.categories)
        found: Entries = codes[self.places]
        return found

    @classmethod
    def joined(cls, pieces: Sequence[Texts]) -> Texts:
        """Return the cells of all pieces, one after the other, with each text once."""
        known: dict[tuple[str | None, bool], int] = {}
        places = []
        for piece in pieces:
            pairs = zip(piece.texts, piece.gaps, strict=True)
            own = np.array([known.setdefault(pair, len(known)) for pair in pairs], dtype=np.intp)
            places.append(own[piece.places])
        return cls([text for text, _ in known], np.concatenate(places), [is_gap for _, is_gap in known])


class RawTable(ABC):
    """n records of columns of known kinds. The names, the kinds and n are public, the cells are **private**.

    Cells come in blocks of rows, in an order that is the same each time: counts are added up over the blocks.

    Attributes
    ----------
    columns : tuple of RawColumn
        What is known of the columns.
    size : int
        n.
    assumptions : tuple of str
        What had to be taken as public, for a guarantee.
    """

    columns: tuple[RawColumn, ...]
    size: int
    assumptions: tuple[str, ...]

    @abstractmethod
    def numbers(self, names: Sequence[str]) -> Iterator[Mapping[str, Floats]]:
        """Yield the cells of numeric and date columns: finite, NaN for a gap, dates as days since 1970-01-01."""

    @abstractmethod
    def texts(self, names: Sequence[str]) -> Iterator[Mapping[str, Texts]]:
        """Yield the cells of categorical columns."""

    @abstractmethod
    def check(self) -> None:
        """Raise DataError, which has no cell in it, where a cell is not of its column's kind."""

    def named(self, *kinds: RawKind) -> tuple[str, ...]:
        """Return the names of the columns of these kinds, in their order."""
        return tuple(column.name for column in self.columns if column.kind in kinds)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} records, {len(self.columns)} columns)"


class RawInMemory(RawTable):
    """A table in memory, each cell read once.

    Parameters
    ----------
    table : Table
        A dict of sequences, a data frame or an Arrow table.
    kinds : mapping of str to RawKind
        The declared kinds. A column that is not among them has that of its type.
    drop : collection of str, default ()
        Columns to leave out, such as the label.
    name : str, default "X"
        What errors call the table.

    Raises
    ------
    ParameterError
        When a kind is none, or declared for no column.
    DataError
        When the type of a column does not say its kind, columns have different lengths, or a cell is not of its
        column's kind. No message has a cell in it.
    """

    def __init__(self, table: Any, kinds: Mapping[str, RawKind], drop: Collection[str] = (), name: str = "X") -> None:
        names = [each for each in column_names(table, name) if each not in drop]
        types = {each: type_of(table[each]) for each in names}
        self.columns, self.assumptions = raw_columns(types, kinds, name)
        self._numbers: dict[str, Floats] = {}
        self._texts: dict[str, Texts] = {}
        self._truths: dict[str, Entries] = {}
        lengths = set()
        for column in self.columns:
            found = table[column.name]
            lengths.add(len(found))
            if column.is_number:
                self._numbers[column.name] = column.floats(found, name)
            elif column.kind == "categorical":
                what = f"column {column.name!r} of {name}"
                self._texts[column.name] = texts_of(*distinct(cells(found, what)), what)
            else:
                self._truths[column.name] = column.public_column.compact(found, table=name)
        if len(lengths) > 1:
            raise DataError(name, "a table with columns of one length", "columns of different lengths")
        self.size = lengths.pop()

    def numbers(self, names: Sequence[str]) -> Iterator[Mapping[str, Floats]]:
        yield {name: self._numbers[name] for name in names}

    def texts(self, names: Sequence[str]) -> Iterator[Mapping[str, Texts]]:
        yield {name: self._texts[name] for name in names}

    def check(self) -> None:
        """Do nothing: every cell was read when the table was made."""

    def rows(self, positions: NDArray[np.signedinteger[Any]]) -> RawInMemory:
        """Return the records at these positions, in this order."""
        made = RawInMemory.__new__(RawInMemory)
        made.columns, made.assumptions, made.size = self.columns, self.assumptions, positions.size
        made._numbers = {name: held[positions] for name, held in self._numbers.items()}
        made._texts = {name: Texts(held.texts, held.places[positions], held.gaps) for name, held in self._texts.items()}
        made._truths = {name: held[positions] for name, held in self._truths.items()}
        return made

    def compact(self, schema: Schema) -> CompactTable:
        """Return the table as `schema` reads it: cell by cell what `Schema.compact` makes of it.

        The schema has columns of these names and kinds, without bounds, and all of its categorical ones have `other`.
        """
        return CompactTable(schema.columns, tuple(map(self._entries, schema.columns)))

    def _entries(self, column: Column) -> Entries:
        name = column.name
        if name in self._numbers:
            return self._numbers[name]
        if name in self._truths:
            return self._truths[name]
        return self._texts[name].read_by(column)


def raw_columns(
    types: Mapping[str, str], kinds: Mapping[str, RawKind], name: str
) -> tuple[tuple[RawColumn, ...], tuple[str, ...]]:
    """Return the columns of a table whose columns have these `types`, and what is assumed to be public of them.

    A kind that is declared in `kinds` counts, else that of the type. Errors call the table `name`.
    """
    allowed = get_args(RawKind)
    for column, kind in kinds.items():
        if column not in types:
            raise ParameterError("types", f"for columns of {name} that are not left out", column)
        if kind not in allowed:
            raise ParameterError(f"type of column {column!r}", f"one of {', '.join(allowed)}", kind)
    found = {column: kinds.get(column) or kind_of(type) for column, type in types.items()}
    if untold := [column for column, kind in found.items() if kind is None]:
        raise DataError(
            name,
            "a table whose columns have types: declare them (--types age=number,job=text, in Python "
            "types={'age': 'numeric', 'job': 'categorical'}), or give a Parquet file or a typed frame",
            f"columns without a type: {listed(untold)}",
        )
    if not found:
        raise DataError(name, "a table with a column besides those that are left out", "none")
    columns = tuple(RawColumn(column, kind) for column, kind in found.items() if kind is not None)
    return columns, () if set(found) <= set(kinds) else (TYPES_ARE_PUBLIC,)


def type_of(values: Any) -> str:
    """Return what the library of a column calls its type; a list has none."""
    return str(values.type if hasattr(values, "to_pylist") else getattr(values, "dtype", None))


def kind_of(type: str) -> RawKind | None:
    """Return the kind of a column of this type; None where the type does not say it."""
    plain = type.removesuffix("[pyarrow]")
    return next((kind for kind, types in _TYPES.items() if re.fullmatch(types, plain, flags=re.IGNORECASE)), None)


def texts_of(values: Sequence[Any], places: NDArray[np.intp], what: str) -> Texts:
    """Return the texts of cells of which row i is `values[places[i]]`. Raise DataError where one cannot be read."""
    try:
        read_texts = [text_of(read(value)) for value in values]
    except TypeError:
        raise DataError(what, "numbers, texts, truth values or dates", "a value of another type") from None
    gaps = [text is None for text in read_texts]
    return Texts([text if _is_category(text) else None for text in read_texts], places, gaps)


def _is_category(text: str | None) -> bool:
    return text is not None and len(text) <= MOST_CHARACTERS and is_unicode(text)


# ---------------------------------------------------------------------------------------------------------------------
# Public rows that stand in for those of a table of which nothing is public but a schema with cuts and shares.
#
# They say how often a predicate holds and where numbers lie. Their columns are independent, which those of no table
# are, so nothing is to be learned from what columns do together (`stand_in_rows` makes few of them). No randomness but
# public coins.


_END = 1.5
"""The width of the cells beyond the cuts, in widths of the cell next to them: those of Gaussian quartiles."""
_NEARLY_ALL = 0.97
"""A share up to this may be noise: cells without a record have such shares, too."""
_LARGEST = np.finfo(np.float64).max
_COIN_BITS = 53


def has_cuts(schema: Schema) -> bool:
    """Say whether some column has declared cuts or shares, so that rows can stand in."""
    return any(column.cuts or column.shares for column in schema.columns)


def stand_in_rows(schema: Schema, count: int) -> Floats:
    """Return `count` encoded rows: in each column the quantiles of what its cuts and shares say, in a random order.

    Numbers are spread evenly between cuts. Where nearly all records are in two cells, there are two values. Where
    shares are unknown, they are equal, and nothing is missing. A number without cuts is spread evenly between its
    bounds, and is 0 without bounds.
    """
    at = (np.arange(count) + 0.5) / count
    blocks = []
    for place, column in enumerate(schema.columns):
        order = np.argsort(SeededEntropy(place).below(1 << _COIN_BITS, size=count), kind="stable")
        blocks.append(column.expanded(_quantiles(column, at)[order]))
    return np.concatenate(blocks, axis=1)


def cut_further(schema: Schema, parts: int) -> Schema:
    """Return the schema with `parts` − 1 more cuts in each cell between cuts and beyond them, at equal distances.

    A new cut divides the share of its cell evenly. Without shares all cells count as equal. Where two cells have nearly
    all records, no cut is added.
    """
    return replace(schema, columns=tuple(_cut_further(column, parts) for column in schema.columns))


def _quantiles(column: Column, at: Floats) -> Entries:
    """Return the entries of a column (`Column.expanded`) at these quantiles."""
    shares = _shares(column) / np.sum(_shares(column))
    ends = np.cumsum(shares)
    cell = np.minimum(np.searchsorted(ends, at, side="right"), np.flatnonzero(shares)[-1])
    if column.kind == "categorical":
        places: Entries = cell
        return places
    edges = np.array([*_edges(column), np.nan])  # beyond the last edge: missing
    if (two := _two_cells(column)) is not None:
        return _two_values(column, two, cell)
    low, high = edges[cell], edges[cell + 1]
    with np.errstate(all="ignore"):  # the next float may be a tiny one
        inside = np.clip((at - ends[cell]) / shares[cell] + 1.0, 0.0, 1.0)
        found: Entries = np.clip((1.0 - inside) * low + inside * high, np.nextafter(low, np.inf), high)
    return found


def _two_cells(column: Column) -> tuple[int, int] | None:
    """Return the two cells of a number that have nearly all records, as in a column of zeros and ones, if there are.

    Halving would divide a cell of different numbers further, so each of the two cells counts as one value.
    """
    if not column.cuts or not column.shares or column.limits is not None or column.cuts[-1] >= _LARGEST:
        return None
    low, high = sorted(np.argsort(column.shares)[-2:].tolist())
    is_nearly_all = column.shares[low] + column.shares[high] >= _NEARLY_ALL * math.fsum(column.shares)
    return (low, high) if is_nearly_all else None


def _two_values(column: Column, cells: tuple[int, int], cell: NDArray[np.intp]) -> Floats:
    """Return one value for rows up to the first of the two `cells`, and one for rows in later ones.

    Both values occur, however rare one is: if all rows were equal, no cut would tell rows apart.
    """
    low, high = column.cuts[cells[0]], np.nextafter(column.cuts[cells[1] - 1], np.inf)
    found = np.where(cell > cells[0], high, low)
    known = np.flatnonzero(cell <= len(column.cuts))
    found[known[:1]], found[known[-1:]] = low, high
    found[cell > len(column.cuts)] = np.nan
    return found


def _shares(column: Column) -> Floats:
    """Return what each cell, or category, weighs, and last what is missing, or of another category."""
    cells = len(column.categories) if column.kind == "categorical" else len(column.cuts) + 1
    if column.shares:
        rest = max(1.0 - float(np.sum(column.shares)), 0.0)
        known = np.array([*column.shares, rest if column.kind == "categorical" or column.missing else 0.0])
    else:
        known = np.array([*np.ones(cells), float(column.other)])
    return known if known.any() else np.array([*np.ones(cells), 0.0])


def _edges(column: Column) -> list[float]:
    """Return the ends of all cells: bounds, where there are any, the cuts, and guesses beyond them."""
    cuts = list(column.cuts)
    if column.limits is not None:
        return [column.limits[0], *cuts, column.limits[1]]
    if not cuts:
        return [0.0, 0.0]
    if len(cuts) == 1:
        lowest = highest = max(abs(cuts[0]), 1.0)
    else:
        lowest, highest = _END * (cuts[1] - cuts[0]), _END * (cuts[-1] - cuts[-2])
    return [max(cuts[0] - lowest, -_LARGEST), *cuts, min(cuts[-1] + highest, _LARGEST)]


def _cut_further(column: Column, parts: int) -> Column:
    if not column.cuts or _two_cells(column) is not None:
        return column
    cuts: list[float] = []
    shares: list[float] = []
    known = column.shares or [1.0 / (len(column.cuts) + 1)] * (len(column.cuts) + 1)
    for (low, high), share in zip(pairwise(_edges(column)), known, strict=True):
        inner = [(1.0 - part / parts) * low + part / parts * high for part in range(1, parts)]
        if any(one >= following for one, following in pairwise([low, *inner, high])):
            inner = []  # floats that are next to each other
        cuts += [*inner, high]
        shares += [share / (len(inner) + 1)] * (len(inner) + 1)
    return replace(column, cuts=cuts[:-1], shares=shares)
