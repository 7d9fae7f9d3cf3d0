"""A schema: the declared columns of x, their encoding, their files, and a schema from public rows."""

from __future__ import annotations

import hashlib
import json
import struct
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer
from pcqr.data.schema.cells import (
    TRUTH_TEXTS,
    Cells,
    Instant,
    Reading,
    categories,
    cells,
    days,
    is_unicode,
    iso_date,
    listed,
    mapped,
    numbers,
    read,
    text_of,
)
from pcqr.data.schema.column import TRUTH_VALUES, Column, Feature, Question, column_from, described, toml
from pcqr.data.schema.labels import mixed
from pcqr.data.schema.table import CompactTable, Table, check_length, column_names, declared_columns, repeated
from pcqr.errors import DataError, ParameterError
from pcqr.privacy.guarantee import Guarantee, rounded_text
from pcqr.privacy.unit import RECORD
from pcqr.registry import resolve
from pcqr.serialization.reading import read_text

if TYPE_CHECKING:
    from pcqr.data.schema.raw import RawKind
    from pcqr.durable.account import AccountLike
    from pcqr.privacy.entropy import Entropy

# ---------------------------------------------------------------------------------------------------------------------
# The rows that a schema was made of, as one digest of all of them, and their nearly unique columns.
#
# Whoever makes a schema of private rows by mistake is told so when it is used on them. A digest of the whole table says
# less of a row than digests of single rows would: a guess can be tested only by somebody who knows all other rows.
# Hence it recognises the very rows, in any order and in any kind of file, and no others, not even most of them.


_GAP = 0x7FF8_0000_0000_0000
"""A missing cell: the bits of NaN."""


@dataclass(frozen=True)
class Origin:
    """The rows that a schema was made of: how many, their columns, one digest of all, and columns nearly unique there.

    It is in schema files, and in nothing that is published.
    """

    rows: int
    columns: tuple[str, ...]
    digest: str
    near_unique: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table, columns: Sequence[str], near_unique: Sequence[str] = ()) -> Origin:
        """Return the origin of a schema that was made of `columns` of `table`, whose cells can be read."""
        names, hashes = tuple(sorted(columns)), row_hashes(table, sorted(columns))
        return cls(hashes.size, names, _digest(names, hashes), tuple(near_unique))

    @classmethod
    def from_dict(cls, described: object) -> Origin:
        """Return the origin that `to_dict` wrote."""
        fields = {"rows": int, "columns": list, "digest": str, "near_unique": list}
        if not isinstance(described, Mapping) or not all(
            isinstance(described.get(name), kind) for name, kind in fields.items()
        ):
            raise ParameterError(
                "origin of a schema", f"a table with {', '.join(fields)}, or left out", "something else"
            )
        return cls(
            described["rows"],
            tuple(map(str, described["columns"])),
            described["digest"],
            tuple(map(str, described["near_unique"])),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for a schema file."""
        return {
            "rows": self.rows,
            "columns": list(self.columns),
            "digest": self.digest,
            "near_unique": list(self.near_unique),
        }

    def is_of(self, rows: int, pieces: Iterable[Table]) -> bool:
        """Are these the rows? `pieces` of the table are read only if it has as many `rows`."""
        if rows != self.rows:
            return False
        try:
            hashes = [row_hashes(piece, self.columns) for piece in pieces]
        except (DataError, TypeError, KeyError):  # a column is missing, or a cell cannot be read: other rows
            return False
        return self.digest == _digest(self.columns, np.concatenate(hashes))


def row_hashes(table: Table, columns: Sequence[str]) -> NDArray[np.uint64]:
    """Return one number for each row, by what its cells mean. Raise TypeError for a cell of another type."""
    present = column_names(table, "the table")
    if any(name not in present for name in columns):
        raise KeyError
    return mixed([_hashes(table[name]) for name in columns])


def _hashes(values: Any) -> NDArray[np.uint64]:
    found = cells(values)
    if isinstance(found, np.ndarray) and found.ndim == 1 and found.dtype.kind in "biuf":
        bits = (numbers(found) + 0.0).view(np.uint64)
        return np.where(np.isnan(numbers(found)), np.uint64(_GAP), bits)
    return np.array(mapped(found, _hash), dtype=np.uint64)


def _hash(reading: Reading) -> int:
    if reading is None:
        return _GAP
    if isinstance(reading, float):
        return int(struct.unpack("=Q", struct.pack("=d", reading + 0.0))[0])
    text = (text_of(reading) or "").encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def _digest(columns: Sequence[str], hashes: NDArray[np.uint64]) -> str:
    """Return one digest of all rows, whatever their order."""
    found = hashlib.sha256("\0".join(columns).encode("utf-8", "surrogatepass"))
    found.update(np.sort(hashes).astype("<u8").tobytes())
    return found.hexdigest()


# ---------------------------------------------------------------------------------------------------------------------
# A column declared from public rows. The only place where pcqr reads categories or bounds off data.


_FEW = 20
"""So many different values are never nearly unique, however few rows there are."""

Look = Literal["numbers", "dates", "booleans", "names"]


def column_from_public(name: str, values: Any, most_categories: int) -> tuple[Column, bool]:
    """Return the column `name` made of the public `values`, and whether it is nearly unique, like ids and free text.

    See `Schema.from_public` for what is decided.
    """
    what = f"column {name!r} of the public rows"
    found = cells(values, what)
    if len(found) == 0:
        raise DataError("public rows", "at least one row", "none")
    look = _look(values, found, what)
    if look in ("numbers", "dates"):
        present = numbers(found) if look == "numbers" else days(found)
        present = present[~np.isnan(present)]
        if np.isinf(present).any():
            raise DataError(what, "finite numbers or missing values", "an infinity")
        constant = present.size == 0 or present.min() == present.max()
        bounds = None if constant else (float(present.min()), float(present.max()))
        if look == "dates":
            dates = None if bounds is None else (iso_date(int(bounds[0])), iso_date(int(bounds[1])))
            return Column(name, "date", bounds=dates, missing=True), False
        return Column(name, "numeric", bounds=bounds, missing=True), _are_numbered(present)
    if look == "booleans":
        return Column(name, "categorical", TRUTH_VALUES, other=True), False
    counted = Counter(filter(None, _shown(found)))
    if not all(map(is_unicode, counted)):  # said here: what a declaration says of a name quotes it
        raise DataError(what, "Unicode text", "half of a surrogate pair")
    is_near_unique = len(counted) > max(_FEW, counted.total() / 2)
    if is_near_unique and len(counted) > most_categories:
        return Column(name, "categorical", (), other=True), True  # whichever were kept would be arbitrary ones
    common = sorted(counted, key=lambda text: (-counted[text], text))[:most_categories]
    return Column(name, "categorical", sorted(common), other=True), is_near_unique


def _are_numbered(present: NDArray[np.float64]) -> bool:
    """Are these different whole numbers, close together: numbers of rows, or of customers?"""
    distinct = np.unique(present)
    if distinct.size != present.size or distinct.size <= _FEW or (distinct != np.floor(distinct)).any():
        return False
    return bool(distinct[-1] - distinct[0] < 2 * distinct.size)


def _shown(found: Cells) -> list[str | None]:
    """Each cell as it is spelt where it was first seen in the same meaning: "3.0" and "3" are one category."""
    spelling: dict[str | None, str | None] = {}
    shown = []
    for value, text in zip(found, categories(found), strict=True):
        spelt = str.__str__(value) if isinstance(value, str) and text is not None else text
        shown.append(spelling.setdefault(text, spelt))
    return shown


def _look(values: Any, found: Cells, what: str) -> Look:
    """By the column's type; where it has none (a list, `object`), by its values.

    In a list, text may be a number; ISO dates are dates in any column.
    """
    try:
        readings = [(value, reading) for value in found if (reading := read(value)) is not None]
    except TypeError:
        raise DataError(what, "numbers, truth values, dates or names", "a value of another type") from None
    if _is_dictionary(values):
        return "names"
    kind = found.dtype.kind if isinstance(found, np.ndarray) else "O"
    if kind == "b" or (readings and all(_is_truth_value(value) for value, _ in readings)):
        return "booleans"
    if kind in "iuf":
        return "numbers"
    if kind == "M" or (readings and all(isinstance(reading, Instant) for _, reading in readings)):
        return "dates"
    of_numbers = readings and all(isinstance(reading, float) for _, reading in readings)
    has_text = any(isinstance(value, str) for value, _ in readings)
    return "numbers" if of_numbers and (isinstance(values, list | tuple) or not has_text) else "names"


def _is_truth_value(value: object) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, str) and value in TRUTH_TEXTS)


def _is_dictionary(values: Any) -> bool:
    """pandas', Polars' and Arrow's types for names from a list, which may be numbers all the same."""
    kind = str(values.type if hasattr(values, "to_pylist") else getattr(values, "dtype", ""))
    return kind.startswith(("dictionary", "category", "Categorical", "Enum"))


_CHARGE = "charge"
"""The key of the charge id, beside the figures of the guarantee."""


@dataclass(frozen=True)
class Schema:
    """The columns of x, in the order in which their features stand in the encoded matrix.

    It is declared here or in a file (`from_toml`, `from_json`), made of rows that are public (`from_public`), or
    released from private records with a guarantee (`private`). Nothing else in it may come from private records.

    Parameters
    ----------
    columns : tuple of Column
        The columns, each with a name of its own.
    origin : Origin or None, default None
        Of which rows `from_public` made it: one digest of all of them. None where it was declared. It takes no part in
        comparisons, and is written to schema files alone.
    guarantee : Guarantee or None, default None
        The guarantee of the release that made it (`private`), which schema files keep. None: it was no release. It
        takes no part in comparisons.
    charge : str or None, default None
        The id of that release's charge: the account's id and the number of the charge. None: no account was charged.

    Attributes
    ----------
    cost : tuple of str
        What the release that made it has cost, in words. Empty where it was no release.
    is_private : bool
        Is nothing in it drawn from private records by a seed?

    Raises
    ------
    ParameterError
        When there is no column, or two columns or features have one name.

    Examples
    --------
    >>> from pcqr import Schema
    >>> from pcqr.data.schema import Column
    >>> schema = Schema((Column("age", bounds=(18, 90)), Column("sex", "categorical", ["female", "male"])))
    >>> schema.feature_names
    ('age', 'sex=female', 'sex=male', 'sex is missing')
    >>> schema.encode({"age": [25, 61], "sex": ["male", None]})
    array([[25.,  0.,  1.,  0.],
           [61.,  0.,  0.,  1.]])
    >>> schema.question(1, 0.5).holds
    'sex = female'
    """

    columns: tuple[Column, ...]
    origin: Origin | None = field(default=None, compare=False, repr=False)
    guarantee: Guarantee | None = field(default=None, compare=False, repr=False)
    charge: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns:
            raise ParameterError("columns", "at least one column", self.columns)
        if twice := repeated(self.names):
            raise ParameterError("columns", "columns with different names", f"{listed(twice)} twice")
        if both := set(repeated(self.feature_names)):  # not said: made of rows by mistake, a category may be private
            owners = [column.name for column in self.columns if both & set(column.feature_names)]
            raise ParameterError(
                "columns", "columns whose features have different names", f"one name twice, of {listed(owners)}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The columns of the encoded matrix: what each is called, what it asks, its bounds."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the `features`."""
        return tuple(feature.name for feature in self.features)

    @property
    def filled_with(self) -> dict[str, float]:
        """For each numeric or date column that may have gaps, the public constant that a missing number becomes."""
        return {column.name: column.filled_with for column in self.columns if column.filled_with is not None}

    def question(self, feature: int, cut: float) -> Question:
        """The predicate x[`feature`] > `cut` on the encoded matrix, and its negation, in words.

        A missing number counts as what `filled_with` says, here as everywhere.

        Parameters
        ----------
        feature : int
            The column of the encoded matrix, from 0.
        cut : float
            What it is compared with.

        Returns
        -------
        Question
            How to say that it holds and that it fails.
        """
        return self.features[feature].question(cut)

    def encode(self, table: Table, *, drop: Collection[str] = (), name: str = "the table") -> NDArray[np.float64]:
        """A table as a float64 matrix, one row for each record and one column for each of `feature_names`.

        Columns are found by name, so their order in the table does not matter. Equal rows are encoded bit by bit the
        same, whatever table they come in.

        Parameters
        ----------
        table : Table
            The table: a dict of sequences, a data frame or an Arrow table.
        drop : collection of str, default ()
            Columns to leave out, such as the label. Others that the schema does not know are an error.
        name : str, default "the table"
            What errors call the table.

        Returns
        -------
        ndarray of float64, shape (rows, p)
            p is the number of features.

        Raises
        ------
        DataError
            When a column is missing, unknown or of another length, or a cell is not as declared. The message never has
            a cell in it.
        """
        encoded = np.empty((0, 0))
        start = 0
        for column, values in declared_columns(table, self.columns, drop, name):
            block = column.encode(values, table=name)  # one at a time: two copies of a large table may not fit
            if start == 0:
                encoded = np.empty((block.shape[0], sum(column.width for column in self.columns)))
            check_length(block, encoded, name)
            encoded[:, start : start + block.shape[1]] = block
            start += block.shape[1]
        return encoded

    def compact(self, table: Table, *, drop: Collection[str] = (), name: str = "the table") -> CompactTable:
        """A table in few bytes, read once: what `encode` makes of it can then be had in pieces. Errors are the same."""
        return CompactTable.read(table, self.columns, drop, name)

    def without(self, *names: str) -> Schema:
        """This schema less some columns.

        Parameters
        ----------
        *names : str
            The columns to leave out.

        Returns
        -------
        Schema

        Raises
        ------
        ParameterError
            When there is no such column, or none would be left.
        """
        if unknown := [name for name in names if name not in self.names]:
            raise ParameterError("names", f"among {listed(self.names)}", unknown)
        return replace(self, columns=tuple(column for column in self.columns if column.name not in names))

    def without_cuts(self) -> Schema:
        """Return this schema as cells are read by it: its columns without `cuts` and `shares`.

        Returns
        -------
        Schema
        """
        return replace(self, columns=tuple(replace(column, cuts=(), shares=()) for column in self.columns))

    @property
    def near_unique(self) -> tuple[str, ...]:
        """Columns in which hardly any value occurs twice in the public rows: identifiers or free text."""
        return () if self.origin is None else tuple(name for name in self.origin.near_unique if name in self.names)

    @property
    def is_private(self) -> bool:
        """Is nothing in it drawn from private records by a seed?"""
        return self.guarantee is None or self.guarantee.is_private

    @property
    def cost(self) -> tuple[str, ...]:
        """What the release that made it has cost, and what that assumes, in words. Empty where it was no release."""
        if self.guarantee is None:
            return ()
        columns = self.columns
        found = {
            "cuts": any(column.cuts for column in columns),
            "shares": any(column.shares for column in columns),
            "categories": any(column.categories not in ((), TRUTH_VALUES) for column in columns),
        }
        bought = ", ".join(name for name, is_there in found.items() if is_there) or "nothing"
        figures = f"ε = {rounded_text(self.guarantee.epsilon, 6)}, δ = {rounded_text(self.guarantee.delta, 3)}"
        account = "charged to no account" if self.charge is None else f"charge {self.charge}"
        account = account if self.guarantee.is_private else "NOT PRIVATE: its randomness was seeded"
        whom = "single records" if self.guarantee.unit == RECORD else "persons, all rows of one together"
        words = f"the schema ({bought}), which cost {figures} of its own ({account}), for {whom}"
        return (words, *self.guarantee.assumptions)

    @classmethod
    def private(
        cls,
        X: Any,
        epsilon: float,
        delta: float = 1e-6,
        *,
        types: Mapping[str, RawKind] | None = None,
        drop: Collection[str] = (),
        groups: Any = None,
        account: AccountLike | None = None,
        entropy: Entropy | int | None = None,
    ) -> Schema:
        """Release a schema of private records: cuts of numbers and dates, categories of texts, and their shares.

        The release is (ε, δ)-differentially private (proofs/predicates.md). The schema states its `guarantee`, also in
        its file, and may be read, mended and used in any number of later releases at no further cost. What these
        releases cost is added to it.

        Parameters
        ----------
        X : table or ParquetTable
            The private records, without labels: a dict of sequences, a data frame, an Arrow table, or
            `pcqr.data.records.ParquetTable`, whose label is left out. n, the names and the kinds of columns are public.
        epsilon : float
            ε of the release.
        delta : float, default 1e-6
            δ of the release; far below 1/n.
        types : mapping of str to {"numeric", "date", "categorical", "boolean"} or None, default None
            The kinds of columns. One that is left out has the kind of its type, which is then public. A list has no
            type: kinds are never read off the records.
        drop : collection of str, default ()
            Columns to leave out, such as labels. Each column takes a share of ε.
        groups : array-like of shape (rows,) or None, default None
            The id of a person for each row. The guarantee is then about persons, n counts them, and cuts and
            categories come from one row of each person, chosen by a secret coin (docs/user-level.md). Not for tables in
            parts.
        account : Account, str, path or None, default None
            The account that is charged before anything is drawn. None: nothing is remembered.
        entropy : Entropy, int or None, default None
            Where the randomness comes from. An integer seeds a test, which is **not private**.

        Returns
        -------
        Schema
            A column has `missing` or `other`, whatever its records are. There are no bounds: add public ones, if any
            are known.

        Raises
        ------
        ParameterError
            When a parameter is not allowed.
        DataError
            When a column has no declared kind and its type does not say it, or a cell is not of its column's kind.
        InfeasiblePlan
            When n·ε is below 480: cuts would be noise.
        AccountExhausted
            When the account has no room for it. Nothing was drawn or charged then.

        Warns
        -----
        WeakGuarantee
            When ε or δ is so large that the guarantee says little.

        Examples
        --------
        >>> import numpy as np
        >>> from pcqr import Schema
        >>> rng = np.random.default_rng(0)
        >>> table = {"age": rng.integers(18, 90, 5_000), "job": rng.choice(["cook", "nurse"], 5_000)}
        >>> schema = Schema.private(table, epsilon=1.0, entropy=0)  # seeded: NOT PRIVATE
        >>> len(schema.columns[0].cuts), schema.columns[1].categories
        (7, ('cook', 'nurse'))
        >>> schema.guarantee.within(1.0, 1e-6)
        True
        """
        released: Schema = resolve("pcqr.releases.classifier.schema_release:private_schema")(
            X, epsilon, delta, types=types, drop=drop, groups=groups, account=account, entropy=entropy
        )
        return released

    @classmethod
    def from_public(cls, rows: Table, *, drop: Collection[str] = (), most_categories: int = 100) -> Schema:
        """A schema made of public rows. **Calling this declares that `rows` are public**: never pass private records.

        A column of numbers becomes numeric, with the smallest and the largest public number as its bounds (none where
        they are equal), and may have gaps whether or not the public rows have any: private records can be incomplete
        where public ones were not, and a refusal then would say so. A column of dates becomes a date in the same way;
        ISO texts are dates. Any other column becomes categorical, with the categories that occur, and `other` for all
        that do not: private records may have them too. Truth values have both categories. A column goes by its type;
        one without (a list, as CSV files give, or pandas' `object`) goes by its values. Only values that occur are
        read: the categories of a pandas, Polars or Arrow dictionary type may stem from a larger table.

        Parameters
        ----------
        rows : Table
            Public rows.
        drop : collection of str, default ()
            Columns to leave out, such as labels.
        most_categories : int, default 100
            The most categories of a column; the most common ones stay. At 100 that is every one that at least 1 % of
            the rows have. Of a text column in which more than half of the values are different, and which has more
            than so many, none stays: it is an identifier or free text (`near_unique`).

        Returns
        -------
        Schema

        Raises
        ------
        DataError
            When there is no row, or a column has values that cannot be read.

        Examples
        --------
        >>> from pcqr import Schema
        >>> from pcqr.data.schema import Column
        >>> schema = Schema.from_public({"age": [30, 71, 55], "job": ["cook", "nurse", "cook"]})
        >>> schema.columns[0] == Column("age", bounds=(30.0, 71.0), missing=True)
        True
        >>> schema.feature_names
        ('age', 'age is missing', 'job=cook', 'job=nurse', 'job is other', 'job is missing')
        """
        check_integer("most_categories", most_categories, least=1)
        names = [name for name in column_names(rows, "public rows") if name not in drop]
        found = [column_from_public(name, rows[name], most_categories) for name in names]
        near_unique = [column.name for column, is_near_unique in found if is_near_unique]
        schema = cls(tuple(column for column, _ in found))
        return replace(schema, origin=Origin.of(rows, names, near_unique))

    @classmethod
    def from_toml(cls, path: str | Path) -> Schema:
        """Read a declaration in TOML.

        Parameters
        ----------
        path : str or Path
            A file of `[[columns]]` tables, each with `name`, `kind` and, where they apply, the other fields of
            `Column`.

        Returns
        -------
        Schema

        Raises
        ------
        ParameterError
            When the file cannot be read or declares no schema.
        """
        return cls._from_file(path, tomllib.loads, "TOML")

    @classmethod
    def from_json(cls, path: str | Path) -> Schema:
        """Read what `to_json` wrote.

        Parameters
        ----------
        path : str or Path
            A JSON file.

        Returns
        -------
        Schema

        Raises
        ------
        ParameterError
            When the file cannot be read or declares no schema.
        """
        return cls._from_file(path, json.loads, "JSON")

    def to_json(self, path: str | Path) -> None:
        """Write the declaration as JSON, which `from_json` reads.

        Parameters
        ----------
        path : str or Path
            Where to; a file there is replaced.
        """
        told = self.to_dict() | self.history()
        Path(path).write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def to_toml(self, path: str | Path) -> None:
        """Write the declaration as TOML, which `from_toml` reads.

        Parameters
        ----------
        path : str or Path
            Where to; a file there is replaced.
        """
        tables = [("[[columns]]", column) for column in self.to_dict()["columns"]]
        heads = {
            "origin": "[origin]  # the rows that it was made of, which must not be private",
            "guarantee": "[guarantee]  # of the release that made it",
        }
        tables += [(heads[name], told) for name, told in self.history().items()]
        written = (
            f"{head}\n" + "".join(f"{key} = {toml(value)}\n" for key, value in table.items()) for head, table in tables
        )
        Path(path).write_text("\n".join(written), encoding="utf-8")

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> Schema:
        """The schema that `to_dict` describes.

        Parameters
        ----------
        description : mapping
            {"columns": [{"name": …, "kind": …, …}, …]}, and what files have beside it, origin and guarantee.

        Returns
        -------
        Schema

        Raises
        ------
        ParameterError
            When it describes no schema.
        """
        columns = description.get("columns")
        allowed = {"columns", "origin", "guarantee"}
        if not {"columns"} <= set(description) <= allowed or not isinstance(columns, list):
            raise ParameterError("schema", "one list named 'columns'", sorted(map(str, description)))
        origin = Origin.from_dict(description["origin"]) if "origin" in description else None
        guarantee, charge = _released(description["guarantee"]) if "guarantee" in description else (None, None)
        return cls(tuple(column_from(entry) for entry in columns), origin, guarantee, charge)

    def to_dict(self) -> dict[str, Any]:
        """A description made of dicts, lists, strings and numbers. What does not apply to a column is left out.

        Returns
        -------
        dict
            What `from_dict` takes.

        Examples
        --------
        >>> from pcqr import Schema
        >>> from pcqr.data.schema import Column
        >>> Schema((Column("age", bounds=(18, 90)),)).to_dict()
        {'columns': [{'name': 'age', 'kind': 'numeric', 'bounds': [18.0, 90.0]}]}
        """
        return {"columns": [described(column) for column in self.columns]}

    def history(self) -> dict[str, dict[str, Any]]:
        """Describe how it came about, as schema files have it beside the columns.

        Returns
        -------
        dict
            "origin" and "guarantee", as far as there are any. `from_dict` takes them.
        """
        told = {} if self.origin is None else {"origin": self.origin.to_dict()}
        if self.guarantee is not None:
            told["guarantee"] = self.guarantee.facts() | ({} if self.charge is None else {_CHARGE: self.charge})
        return told

    @classmethod
    def _from_file(cls, path: str | Path, parse: Callable[[str], Any], language: str) -> Schema:
        try:
            description = parse(Path(path).read_text(encoding="utf-8"))
            if not isinstance(description, dict):
                raise ParameterError("schema", "one list named 'columns'", type(description).__name__)
            return cls.from_dict(description)
        except OSError as error:
            raise ParameterError("schema", "a file that can be read", f"{path} ({error.strerror})") from None
        except ParameterError:
            raise
        except RecursionError:
            raise ParameterError("schema", f"a {language} file", f"{path} (nested too deeply)") from None
        except ValueError as error:  # both parsers' errors, text that is not UTF-8, integers too long to be shown
            raise ParameterError("schema", f"a {language} file", f"{path} ({error})") from None


def _released(history: object) -> tuple[Guarantee, str | None]:
    """Return the guarantee and the charge id that `Schema.history` wrote."""
    where = "guarantee of a schema"
    if not isinstance(history, Mapping) or _CHARGE not in history:
        return Guarantee.from_facts(history, where), None
    figures = {name: value for name, value in history.items() if name != _CHARGE}
    return Guarantee.from_facts(figures, where), read_text(history[_CHARGE], f"{where}.{_CHARGE}")


# ---------------------------------------------------------------------------------------------------------------------
# Encoded rows as they were asked, up to what the schema reads as the same.


def decoded(schema: Schema | None, point: Any) -> dict[str, Any] | list[float]:
    """A row as it was asked, up to what the schema reads as the same: clipped to bounds, texts as declared."""
    row: list[float] = np.asarray(point).ravel().tolist()
    if schema is None:
        return row
    found: dict[str, Any] = {}
    start = 0
    for column in schema.columns:
        found[column.name] = _cell(column, row[start : start + column.width])
        start += column.width
    return found


def _cell(column: Column, entries: list[float]) -> float | str | None:
    if column.kind == "categorical":
        place = entries.index(1.0)
        if place < len(column.categories):
            return column.categories[place]
        return "(other)" if column.other and place == len(column.categories) else None
    if column.missing and entries[1]:
        return None
    return iso_date(int(entries[0])) if column.kind == "date" else entries[0]
