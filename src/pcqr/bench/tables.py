"""The tables that methods are compared on, split and encoded in one way.

Adult comes with pcqr and has its own split and a published schema; `toy` is made here. Others are read from a folder of
Parquet files, or are the user's own: split 75/25 with seed 0 and encoded by a schema that 2,000 public rows make
(`Schema.from_public`). The public rows are taken out of the test part with seed 1: their labels are not used and they
are not scored. Of a small table at most half of the test part is public. Methods may get fewer of these rows. With none
they get cells that nobody has encoded, in columns of which the kind alone is known. Where rows are persons', all rows
of a person are private, public or scored; ε is for one record all the same.

NumPy's generator is used here, and nowhere else in pcqr but in `entropy`: it splits tables, and no release sees it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema import Schema
from pcqr.data.schema.cells import categories, category, cells
from pcqr.data.schema.raw import RawColumn
from pcqr.datasets import adult_table, load_adult, read_table
from pcqr.errors import DataError, MissingExtra, ParameterError
from pcqr.releases.base.contributions import unit_numbers

PUBLIC = 2_000
TRAIN_SHARE = 0.75
TOY = 16_000
FEWEST = 100
"""The least rows of a table, and persons: a quarter of them is the test part, and half of that is public."""

MOST_LABELS = 127

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.int8]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Raw:
    """Cells that nobody has encoded, by columns: numbers with NaN for gaps, or texts with None for gaps."""

    X: Mapping[str, NDArray[Any]]
    X_test: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Task:
    """Private records, public rows without labels, and the records to score on, all encoded.

    Where nothing is public, `raw` has the unencoded records and `public` is empty. Then only methods without privacy
    may use the encoded records and their schema.
    """

    name: str
    X: FloatArray
    y: LabelArray
    public: FloatArray
    X_test: FloatArray
    y_test: LabelArray
    schema: Schema
    classes: int = 2
    raw: Raw | None = None

    @property
    def majority(self) -> float:
        """The accuracy of the most common label, which a classifier has to beat."""
        return float(np.bincount(self.y_test).max() / self.y_test.size)

    def fingerprint(self) -> str:
        """Tells tables apart that have one name."""
        digest = hashlib.sha256()
        for array in (self.X, self.y, self.public, self.X_test, self.y_test):
            digest.update(repr((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Source:
    """A Parquet file: its label column, which labels count as 1, which columns are features (None: all others), and
    which says whose a row is (None: nobody's).
    """

    file: str
    label: str
    is_one: Callable[[Any], Any]
    drop: Sequence[str] = ()
    keep: Sequence[str] | None = None
    user: str | None = None

    def task(self, name: str, folder: Path, public_rows: int | None = None) -> Task:
        try:
            import pandas as pd  # noqa: PLC0415
        except ImportError:
            raise MissingExtra("Reading or writing Parquet", "data") from None
        if not (folder / self.file).is_file():
            raise ParameterError("--data", f"a folder that has {self.file}", str(folder))
        frame = pd.read_parquet(folder / self.file)
        y = np.asarray(self.is_one(frame[self.label]), dtype=np.int8)
        users = None if self.user is None else unit_numbers(frame[self.user])
        frame = frame.drop(columns=[self.label, *self.drop, *filter(None, [self.user])])
        if self.keep is not None:
            frame = frame[list(self.keep)]
        table = {column: frame[column] for column in frame.columns}
        return _split(name, table, y, 2, None, users, public_rows)


SOURCES: Mapping[str, Source] = {
    "bank": Source("bank_marketing.parquet", "y", lambda y: y == "yes", drop=("duration",)),
    "covertype": Source("covertype.parquet", "Cover_Type", lambda y: y == 2),
    "diabetes": Source(
        *("diabetes130.parquet", "readmitted", lambda y: y != "NO"), drop=("encounter_id",), user="patient_nbr"
    ),
    "flights": Source(
        "nycflights13.parquet",
        "delayed",
        lambda y: y == 1,
        keep=(
            *("month", "day", "hour", "sched_dep_time", "sched_arr_time"),
            *("carrier", "origin", "dest", "distance"),
        ),
    ),
}
HERE = ("toy", "adult")
"""Tables that need no file."""
TABLES = ("adult", *SOURCES)
QUESTIONS = {
    "toy": "A table that is made here: a rule with noise",
    "adult": "UCI Adult: income over $50,000",
    "bank": "Bank marketing: takes the deposit",
    "covertype": "Covertype: lodgepole pine or not",
    "diabetes": "Diabetes 130: readmitted",
    "flights": "NYC flights 2013: over 15 minutes late",
}


def load(name: str, folder: Path | None, public_rows: int | None = None) -> Task:
    """Return a table by its name. `folder` has the Parquet files of tables that the package does not have.

    Methods get `public_rows` of the public rows. None: all. 0: only the columns and their kinds are public.
    """
    if name == "toy":
        return toy(public_rows)
    if name == "adult":
        data = load_adult()
        public, test = set_apart(np.arange(data.y_test.size))
        raw = None
        if public_rows == 0:
            private, rest = (_cells(name, data.schema, adult_table(part)) for part in ("train", "test"))
            raw = Raw(private, {column: values[test] for column, values in rest.items()})
        shown, X_test, y_test = data.X_test[_first(public, public_rows)], data.X_test[test], data.y_test[test]
        return Task(name, data.X_train, data.y_train, shown, X_test, y_test, data.schema, raw=raw)
    if name not in SOURCES:
        raise ParameterError("--tables", f"of {', '.join((*HERE, *SOURCES))}", name)
    if folder is None:
        raise ParameterError("--data", f"the folder of {SOURCES[name].file}, which {name} needs", None)
    return SOURCES[name].task(name, folder, public_rows)


def toy(public_rows: int | None = None) -> Task:
    """16,000 rows of two numbers and a category; the label is a rule of them, wrong in one row of ten."""
    rng = np.random.default_rng(0)
    age, hours = rng.integers(18, 90, size=TOY), rng.normal(40.0, 10.0, size=TOY).round()
    job = rng.choice(["clerk", "cook", "nurse"], size=TOY)
    y = ((hours > 42) & (age > 30) | (job == "nurse") & (age > 60)) ^ (rng.random(TOY) < 0.1)
    table = {"age": age, "hours": hours, "job": list(job)}
    return _split("toy", table, y.astype(np.int8), 2, None, public_rows=public_rows)


def own(
    path: Path,
    label: str,
    *,
    labels: Sequence[str] | None,
    drop: Sequence[str] = (),
    user: str | None = None,
    schema: Schema | None = None,
    public_rows: int | None = None,
) -> Task:
    """A user's own table. Label names that are not given are read off all its rows: nothing here is private."""
    table = read_table(path)
    for option, names in (("--label", (label,)), ("--drop", drop), ("--groups", () if user is None else (user,))):
        for name in names:
            if name not in table:
                raise ParameterError(option, f"the name of one of the {len(table)} columns in the first line", name)
    if user in (label, *drop):
        raise ParameterError("--groups", "another column than those of --label and --drop", user)
    found = [category(value) for value in table.pop(label)]
    users = None if user is None else unit_numbers(table.pop(user))
    table = {name: values for name, values in table.items() if name not in drop}
    if not table:
        raise DataError(str(path), "a table with a column besides the label and those that are left out", "none")
    declared = sorted({name for name in found if name is not None}) if labels is None else map(category, labels)
    place: dict[str | None, int] = {name: number for number, name in enumerate(declared)}
    if not 2 <= len(place) <= MOST_LABELS or None in place or any(name not in place for name in found):
        raise DataError(f"label column {label!r}", f"one of 2 to {MOST_LABELS} labels in every row", "others")
    y = np.array([place[name] for name in found], dtype=np.int8)
    return _split(path.name.split(".")[0], table, y, len(place), schema, users, public_rows)


def set_apart(rows: Places) -> tuple[Places, Places]:
    """(public rows, rows to score on) of the test part `rows`."""
    order = np.random.default_rng(1).permutation(rows)
    public = min(PUBLIC, order.size // 2)
    return order[:public], order[public:]


def queries_of(rows: int, number: int, seed: int) -> Places:
    """Which of the test rows are the queries of a run: others for every seed, the same for every method."""
    return np.random.default_rng([2, seed]).permutation(rows)[:number]


def _split(
    name: str,
    table: Mapping[str, Any],
    y: LabelArray,
    classes: int,
    schema: Schema | None,
    users: Places | None = None,
    public_rows: int | None = None,
) -> Task:
    if y.size < FEWEST:
        raise DataError(name, f"a table of at least {FEWEST} rows", f"{y.size}")
    order = np.random.default_rng(0).permutation(y.size)
    if users is None:
        train, rest = np.split(order, [int(TRAIN_SHARE * y.size)])
        public, test = set_apart(rest)
    else:
        parts = _parts_of_users(name, users)[users[order]]
        train, public, test = (order[parts == part] for part in (0, 1, 2))
    shown = _first(public, public_rows)
    if schema is None:
        schema = Schema.from_public(_rows(table, shown if shown.size else public))
    else:
        schema = schema.without(*_absent(schema, table))
    X, X_test = (schema.encode(_rows(table, rows)) for rows in (train, test))
    X_public = schema.encode(_rows(table, shown)) if shown.size else X[:0]
    raw = Raw(*(_cells(name, schema, _rows(table, rows)) for rows in (train, test))) if public_rows == 0 else None
    return Task(name, X, y[train], X_public, X_test, y[test], schema, classes, raw)


def _first(public: Places, rows: int | None) -> Places:
    """Return the first `rows` public rows."""
    if rows is not None and rows > public.size:
        raise ParameterError("--public-rows", f"at most {public.size:,}, the public rows of this table", rows)
    return public[:rows]


def _cells(name: str, schema: Schema, table: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the cells of the columns of `schema`, of which only the kinds are used."""
    found: dict[str, NDArray[Any]] = {}
    for column in schema.columns:
        values = table[column.name]
        if column.kind == "categorical":
            found[column.name] = np.array(categories(cells(values, name)), dtype=object)
        else:
            found[column.name] = RawColumn(column.name, column.kind).floats(values, name)
    return found


def _parts_of_users(name: str, users: Places) -> Places:
    """Assign each person, with all rows, to one part: 0 private, 1 public, 2 scored."""
    rows = np.bincount(users)
    if rows.size < FEWEST:
        raise DataError(name, f"a table of at least {FEWEST} persons", f"{rows.size}")
    rest = np.random.default_rng(0).permutation(rows.size)[int(TRAIN_SHARE * rows.size) :]
    rest = np.random.default_rng(1).permutation(rest)
    shown = np.searchsorted(np.cumsum(rows[rest]), min(PUBLIC, rows[rest].sum() // 2), side="right")
    parts = np.zeros(rows.size, dtype=np.int64)
    parts[rest] = 2
    parts[rest[: max(1, shown)]] = 1
    return parts


def _absent(schema: Schema, table: Mapping[str, Any]) -> list[str]:
    return [name for name in schema.names if name not in table]


def _rows(table: Mapping[str, Any], which: Places) -> dict[str, Any]:
    """Rows of columns of any kind: of pandas, of NumPy, lists."""
    return {
        name: values.iloc[which]
        if hasattr(values, "iloc")
        else values[which]
        if isinstance(values, np.ndarray)
        else [values[row] for row in which]
        for name, values in table.items()
    }
