"""What `answer` and `publish` read alike: records, labels, schemas, and rows that are called public but are private."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from pcqr.cli.console import at_the_end, naming, warn
from pcqr.cli.options import OnPrivateFiles, Spending
from pcqr.data.records import Encoded, Records
from pcqr.data.records.parted.cluster import LOCAL, Cluster
from pcqr.data.records.parted.engine import Engine, Spool
from pcqr.data.records.parted.parquet import ParquetParts, RawParquet, Reading
from pcqr.data.records.parted.source import ParquetTable, Parted
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.cells import category
from pcqr.data.schema.labels import LabelColumn, is_mostly_private
from pcqr.data.schema.raw import RawColumn, RawInMemory, RawKind, raw_columns
from pcqr.data.schema.schema import Origin
from pcqr.data.schema.table import CompactTable
from pcqr.datasets.tables import Columns, read_table, table_size
from pcqr.errors import DataError, ParameterError
from pcqr.releases.base.contributions import row_shares, unit_numbers
from pcqr.releases.base.inputs import warn_of_near_unique
from pcqr.releases.classifier.predicates import schema_of_kinds

Labels = NDArray[np.int8]
Points = NDArray[np.float64]


@dataclass(frozen=True)
class Shown:
    """What is public about a run: the columns, the rows that are called public and, encoded, the queries, if any."""

    schema: Schema
    rows: CompactTable | None
    queries: Points
    origin: Origin | None = None
    """Which rows a schema file was made of."""

    @cached_property
    def public(self) -> Points | None:
        """The public rows, encoded."""
        return None if self.rows is None else self.rows.encoded()


@dataclass(frozen=True)
class Inputs:
    """What the files hold, read by the schema.

    `places` are those of the labels among `names`, which are the declared ones, or 0 and 1; None for a table in parts,
    which has them itself. `groups` says whose each row is and `weights` what it counts, where that was asked for.
    """

    table: CompactTable | Parted | RawInMemory | ParquetTable
    places: Labels | None
    names: tuple[Any, ...]
    shown: Shown
    groups: NDArray[np.int64] | None = None
    weights: Any = None

    @property
    def records(self) -> int:
        """n, which is public: the number of rows or, where they are persons', of persons."""
        if self.groups is not None:
            return 1 + int(self.groups.max())
        if isinstance(self.table, ParquetTable):
            return self.table.parts.rows
        return self.table.size if isinstance(self.table, RawInMemory) else self.source.size

    @property
    def source(self) -> Records:
        """The private records as algorithms ask them."""
        if isinstance(self.table, RawInMemory | ParquetTable):
            raise AssertionError("Nothing is asked of records before predicates are bought.")
        return self.table if isinstance(self.table, Parted) else Encoded(self.table, self.places, len(self.names))

    @property
    def y(self) -> NDArray[Any] | None:
        """The labels by their names."""
        return None if self.places is None else np.array(self.names)[self.places]


def read_inputs(job: OnPrivateFiles, *, most_labels: int) -> Inputs:
    """All that the job names, or a refusal. Nothing about a column is read off the private records."""
    names = label_names(job.labels, most=most_labels)
    parts = in_parts(job)
    if parts is None:
        private = _private(job)
        shown = read_shown(job, private)
        check_origin(job, shown.origin, len(next(iter(private.values()))), [private])
        places = labels_of(private, job.label, names)
        table = shown.schema.compact(private, drop=job.not_features, name=str(job.private))
        inputs = Inputs(table, places, names or (0, 1), shown, units_of(private, job), weights_of(private, job))
    else:
        shown = read_shown(job, parts.columns)
        if shown.origin is not None:
            check_origin(job, shown.origin, parts.rows, parts.tables(shown.origin.columns))
        inputs = Inputs(_in_parts(job, parts, shown.schema, names), None, names or (0, 1), shown)
    if job.public is not None and shown.public is not None:
        check_public(shown.public, inputs.source, option="--public", path=job.public, assume_public=job.assume_public)
    return inputs


def _private(job: OnPrivateFiles) -> Columns:
    private = read(job.private, "--private")
    check_weight_column(private, job)
    return private


def kinds_of(job: OnPrivateFiles) -> tuple[tuple[RawColumn, ...], tuple[str, ...], int]:
    """Return the columns of the private file by their kinds, what is assumed public of these, and n.

    Of a CSV file the names are looked at, of Parquet files the footers.
    """
    declared = declared_types(job.types)
    if job.private.suffix.lower() == ".parquet" or job.private.is_dir():
        raw = RawParquet(ParquetParts.of(job.private), declared, job.not_features)
        return raw.columns, raw.assumptions, raw.size
    with naming(path="--private"):
        names, records = table_size(job.private)
    kept = {name: "none" for name in names if name not in job.not_features}
    return *raw_columns(kept, declared, str(job.private)), records


def read_by_kinds(job: OnPrivateFiles, *, most_labels: int) -> Inputs:
    """Return all that the job names, where nothing is public but columns and kinds."""
    names = label_names(job.labels, most=most_labels)
    if (parts := in_parts(job)) is not None:
        return Inputs(table_in_parts(job, parts), None, names or (0, 1), shown_by_kinds(job, parts.columns))
    private = _private(job)
    shown = shown_by_kinds(job, private)
    places = labels_of(private, job.label, names)
    columns, assumptions, _ = kinds_of(job)
    table = RawInMemory(private, {each.name: each.kind for each in columns}, job.not_features, str(job.private))
    table.assumptions = assumptions
    return Inputs(table, places, names or (0, 1), shown, units_of(private, job), weights_of(private, job))


def shown_by_kinds(job: OnPrivateFiles, private: Collection[str]) -> Shown:
    """Return what is public where only the names of the columns, `private`, and their kinds are."""
    check_drop(job.drop, private)
    return Shown(schema_of_kinds(kinds_of(job)[0]), None, np.empty((0, 0)))


def read_shown(job: OnPrivateFiles, private: Collection[str]) -> Shown:
    """The public files of the job; of the private one only the names of its columns, `private`, are looked at."""
    asked = None if job.queries is None else read(job.queries, "--queries")
    public = None if job.public is None else read(job.public, "--public")
    if job.public is not None and job.private.samefile(job.public):
        raise ParameterError("--public", "rows that are public, not the private records", str(job.public))
    if job.schema is not None:
        schema = declared_schema(job.schema)
    elif public is not None:
        schema = Schema.from_public(public, drop=job.not_features)
    else:
        told: Columns = dict.fromkeys(private, ()) if asked is None else asked  # of the private file, the names alone
        schema = _numbers(told, job.not_features, str(job.private if asked is None else job.queries))
    schema = _with_categories(schema, job.categories)
    check_drop(job.drop, private, asked or (), public or (), schema.names)
    schema = schema.without(*(name for name in schema.names if name in job.not_features))
    warn_of_near_unique(schema)
    origin, schema = None if job.schema is None else schema.origin, replace(schema, origin=None)  # said once

    def compact(table: Columns, path: Path | None) -> CompactTable:
        return schema.compact(table, drop=job.not_features, name=str(path))

    points = np.empty((0, len(schema.features))) if asked is None else compact(asked, job.queries).encoded()
    return Shown(schema, None if public is None else compact(public, job.public), points, origin)


def _numbers(table: Columns, not_features: Collection[str], name: str) -> Schema:
    """The columns of a public table, as numbers: what is left where nothing is declared."""
    features = [column for column in table if column not in not_features]
    if not features:
        raise DataError(name, "a table with a column besides those that are left out", "none")
    return Schema(tuple(map(Column, features)))


def _with_categories(schema: Schema, declarations: Sequence[str]) -> Schema:
    columns = {column.name: column for column in schema.columns}
    for declaration in declarations:
        name, given, values = declaration.partition("=")
        if not given or name not in columns:
            raise ParameterError("--categories", "'column=first,second,…' for a column of the queries", declaration)
        columns[name] = Column(name, "categorical", [value.strip() for value in values.split(",")])
    return replace(schema, columns=tuple(columns.values()))


def read(path: Path, option: str) -> Columns:
    """The table in the file that `option` names."""
    with naming(path=option):
        return read_table(path)


def declared_types(declarations: Sequence[str]) -> dict[str, RawKind]:
    """Return the kinds of columns that --types declares. A name may have = and , in it."""
    found: dict[str, RawKind] = {}
    for declaration in declarations:
        pairs = list(_TYPE.finditer(declaration))
        if "".join(pair.group() for pair in pairs) != declaration or not pairs:
            kinds = ", ".join(_KINDS)
            raise ParameterError("--types", f"'column=kind,column=kind,…', each kind one of {kinds}", declaration)
        for pair in pairs:
            name = pair["name"].strip()
            if found.setdefault(name, _KINDS[pair["kind"]]) != _KINDS[pair["kind"]]:
                raise ParameterError("--types", "one kind for each column", f"two for {name!r}")
    return found


_KINDS: Mapping[str, RawKind] = {
    "number": "numeric",
    "text": "categorical",
    "date": "date",
    "boolean": "boolean",
    "numeric": "numeric",
    "categorical": "categorical",
}
"""What --types calls the kinds."""
_TYPE = re.compile(rf"(?P<name>.+?)=(?P<kind>{'|'.join(_KINDS)})\s*(?:,\s*|$)", flags=re.DOTALL)


def label_names(declared: str | None, *, most: int) -> tuple[str, ...] | None:
    """The names that --labels declares, 2 to `most` of them; None where it is not given."""
    if declared is None:
        return None
    names = tuple(name.strip() for name in declared.split(","))
    allowed = (
        "two different names, 'negative,positive'" if most == 2 else f"2 to {most} different names, 'first,second,…'"
    )
    if not 2 <= len(names) <= most or len({category(name) for name in names} - {None}) < len(names):
        raise ParameterError("--labels", allowed, declared)
    if not all(map(str.isprintable, names)):
        raise ParameterError("--labels", f"{allowed}, on one line", declared)
    return names


def labels_of(private: Columns, name: str, declared: tuple[str, ...] | None) -> Labels:
    """0, 1, … for each private record: its place among the declared names, or its value where that is 0 or 1.

    Names that were not declared are never read off the records: they would be published without being paid for.
    """
    check_label(private, name)
    places = LabelColumn(name, declared).places(lambda column: column.compact(private[name]))
    if places is None:
        raise no_label(name, declared)
    return places


def _in_parts(job: OnPrivateFiles, parts: ParquetParts, schema: Schema, declared: tuple[str, ...] | None) -> Parted:
    check_label(parts.columns, job.label)
    with naming_labels(job.label, declared):
        return read_parts(job, parts, schema, LabelColumn(job.label, declared))


@contextmanager
def naming_labels(name: str, declared: tuple[str, ...] | None) -> Iterator[None]:
    """Errors about labels speak of the option that declares them."""
    try:
        yield
    except DataError as error:
        refusal = no_label(name, declared)
        raise refusal if error.name == refusal.name else error from None


def no_label(name: str, declared: tuple[str, ...] | None) -> DataError:
    """What is said of labels that are none of the declared ones."""
    allowed = "0 or 1 in every row; declare other names, which are then public, with --labels 'first,second'"
    if declared is not None:
        allowed = f"one of {', '.join(declared)} in every row, as --labels says"
    return DataError(f"label column {name!r}", allowed, "other values, or missing ones")


def units_of(private: Columns, job: Spending) -> NDArray[np.int64] | None:
    """For each row the number of its person; None where nobody asked."""
    if job.groups is None:
        return None
    if job.groups not in private:
        raise ParameterError("--groups", f"the name of one of the {len(private)} columns in the first line", job.groups)
    if job.groups == job.label or job.groups in job.drop:
        raise ParameterError("--groups", "another column than those of --label and --drop", job.groups)
    return unit_ids(private, job.groups)


def unit_ids(private: Columns, name: str) -> NDArray[np.int64]:
    """Return the number of the person of each row, by the ids in this column."""
    try:
        return unit_numbers(private[name])
    except DataError as error:
        raise DataError(f"person column {name!r}", "the id of a person in every row", error.received) from None


def weights_of(private: Columns, job: OnPrivateFiles) -> Any:
    """The cells of the column that says what each row counts, judged; None where nobody asked."""
    name = job.weight_column
    if name is None:
        return None
    try:
        row_shares(private[name], 1.0)
    except DataError as error:
        allowed = "a number of at least zero in every row, and not zero in all"
        raise DataError(f"weight column {name!r}", allowed, error.received) from None
    return private[name]


def check_weight_column(columns: Collection[str], job: OnPrivateFiles) -> None:
    name = job.weight_column
    if name is None:
        return
    if name not in columns:
        raise ParameterError("--weight-column", f"one of the {len(columns)} columns in the first line", name)
    if name in (job.label, job.groups, *job.drop):
        raise ParameterError("--weight-column", "another column than those of --label, --groups and --drop", name)


def public_size(job: OnPrivateFiles) -> tuple[tuple[str, ...], int]:
    """The columns of the private file and n: its rows or, of the column of --groups, how many different ids it has."""
    if job.private.is_dir() and (parts := in_parts(job)) is not None:
        return parts.columns, parts.rows
    if job.groups is None:
        with naming(path="--private"):
            return table_size(job.private)
    private = read(job.private, "--private")
    units = units_of(private, job)
    return tuple(private), 0 if units is None else 1 + int(units.max())


def check_label(columns: Collection[str], name: str) -> None:
    if name not in columns:
        # The columns are not listed: in a file without a header they are a private record.
        raise ParameterError("--label", f"the name of one of the {len(columns)} columns in the first line", name)


def check_drop(drop: Sequence[str], *tables: Collection[str], of: str = "one of the files") -> None:
    for name in drop:
        if not any(name in table for table in tables):
            raise ParameterError("--drop", f"the name of a column of {of}", name)


def declared_schema(path: Path) -> Schema:
    return Schema.from_json(path) if path.suffix.lower() == ".json" else Schema.from_toml(path)


def check_origin(job: OnPrivateFiles, origin: Origin | None, rows: int, pieces: Iterable[Any]) -> None:
    """Refuse a schema file that was made of the private rows: its categories and bounds are theirs."""
    if origin is not None and not job.assume_public and origin.is_of(rows, pieces):
        raise DataError(
            "--schema",
            "made of public rows, or declared without a look at the records (should these rows be public: "
            "--assume-public)",
            f"{job.schema}, which was made of the very rows of the private file",
        )


def check_public(shown: Points, private: Records, *, option: str, path: Path, assume_public: bool) -> None:
    """Refuse rows of which more than half are private ones; warn the data holder of fewer.

    That rows coincide is a fact about the private records that nobody pays for. How many do is not said, and the
    refusal is for the data holder, as every other one is (V10, V29). `assume_public` rows are not compared at all.
    """
    if assume_public:
        return
    found = private.coinciding(shown)
    if is_mostly_private(found, shown):
        raise DataError(
            option,
            "rows that are free to be shown, not private ones (should they be public and coincide because few "
            "different rows are possible: --assume-public)",
            f"{path}, more than half of whose rows are rows of the private file",
        )
    if found:
        share = next(word for limit, word in _SHARES if found <= limit * len(shown))
        warn(
            f"{share} of the rows of {path} are rows of the private file as well. That may be chance; but what is "
            "released can show them, so they must be public. This says something about your private records: keep it "
            "to yourself."
        )


_SHARES = ((0.01, "A few"), (0.1, "Some"), (0.5, "Many"))


# ---------------------------------------------------------------------------------------------------------------------
# A private table that is read part by part: a folder of Parquet files, or a file of many cells.


_OPTIONS = ("scratch", "scheduler", "workers")
_NAMES = {"path": "--private"} | {name: f"--{name}" for name in _OPTIONS}
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
MANY_CELLS = 20_000_000
"""Rows times columns from which on a Parquet file is read part by part. Both are public, and the model is the same."""


def in_parts(job: OnPrivateFiles) -> ParquetParts | None:
    """The private table where it is read part by part, by its footers; None where it is read in one piece."""
    if job.private.suffix.lower() != ".parquet" and not job.private.is_dir():
        for option, given in _asked(job).items():
            raise ParameterError(option, "left out but for Parquet files, which are read in parts", str(given))
        return None
    for weighing, told in job.weighing.items():
        if job.private.is_dir():
            allowed = "left out for a folder; put its rows into one .parquet file, which is read into memory"
            raise ParameterError(weighing, allowed, told)
        for option, given in _asked(job).items():
            raise ParameterError(option, f"left out with {weighing}: the table is then read into memory", str(given))
        return None
    with naming(**_NAMES):
        found = ParquetParts.of(job.private)
    if not job.private.is_dir() and not _asked(job) and found.rows * len(found.columns) < MANY_CELLS:
        return None
    if job.public is not None and any(_is_same(file, job.public) for file in found.files):
        raise ParameterError("--public", "rows that are public, not the private records", str(job.public))
    return found


def read_parts(job: OnPrivateFiles, parts: ParquetParts, schema: Schema, label: LabelColumn) -> Parted:
    """The records, every cell of them judged."""
    with naming(**_NAMES):
        engine = _engine(job)
        drop = [name for name in job.not_features if name in parts.columns]
        return Parted.read(engine, parts, Reading(str(job.private), schema.columns, label), drop)


def table_in_parts(job: OnPrivateFiles, parts: ParquetParts) -> ParquetTable:
    """The table, of which nothing is public but columns and kinds: it is read by `fit`."""
    with naming(**_NAMES):
        drop = [name for name in job.not_features if name in parts.columns]
        return ParquetTable(job.private, job.label, drop=drop, engine=_engine(job))


def _asked(job: OnPrivateFiles) -> dict[str, object]:
    """The options that are about parts, as far as they were given."""
    given = {f"--{name}": getattr(job, name) for name in _OPTIONS}
    return {option: value for option, value in given.items() if value is not None}


def _engine(job: OnPrivateFiles) -> Engine:
    """Who keeps the parts, until the command ends."""
    if job.scheduler is None and job.workers is None:
        return Spool(job.scratch)
    if job.scratch is not None:
        raise ParameterError(
            "--scratch", "left out for a cluster, whose workers have places of their own", str(job.scratch)
        )
    address = job.scheduler or LOCAL
    if address.startswith("tcp://") and urlsplit(address).hostname not in _THIS_MACHINE:
        warn(f"{address} is not encrypted: whoever sees the network sees private records. Use tls:// there.")
    cluster = Cluster(address, job.workers)
    at_the_end(cluster.close)
    return cluster


def _is_same(file: Path, other: Path) -> bool:
    return other.exists() and file.exists() and file.samefile(other)
