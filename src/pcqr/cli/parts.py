"""A private table that is read part by part: a folder of Parquet files, or a file of many cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pcqr.cli.console import warn
from pcqr.cli.ending import at_the_end
from pcqr.cli.jobs import OnPrivateFiles
from pcqr.errors import ParameterError
from pcqr.records.parted import Cluster, Engine, ParquetParts, ParquetTable, Parted, Reading, Spool
from pcqr.records.parted.connecting import LOCAL
from pcqr.schema import Schema
from pcqr.schema.label_column import LabelColumn

_OPTIONS = ("scratch", "scheduler", "workers")
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
    with naming_options():
        found = ParquetParts.of(job.private)
    if not job.private.is_dir() and not _asked(job) and found.rows * len(found.columns) < MANY_CELLS:
        return None
    if job.public is not None and any(_is_same(file, job.public) for file in found.files):
        raise ParameterError("--public", "rows that are public, not the private records", str(job.public))
    return found


def read_parts(job: OnPrivateFiles, parts: ParquetParts, schema: Schema, label: LabelColumn) -> Parted:
    """The records, every cell of them judged."""
    with naming_options():
        engine = _engine(job)
        drop = [name for name in job.not_features if name in parts.columns]
        return Parted.read(engine, parts, Reading(str(job.private), schema.columns, label), drop)


def table_in_parts(job: OnPrivateFiles, parts: ParquetParts) -> ParquetTable:
    """The table, of which nothing is public but columns and kinds: it is read by `fit`."""
    with naming_options():
        drop = [name for name in job.not_features if name in parts.columns]
        return ParquetTable(job.private, job.label, drop=drop, engine=_engine(job))


@contextmanager
def naming_options() -> Iterator[None]:
    """Errors speak of the options by which things were given."""
    try:
        yield
    except ParameterError as error:
        option = {"path": "--private"}.get(error.name, f"--{error.name}" if error.name in _OPTIONS else None)
        if option is None:
            raise
        raise ParameterError(option, error.allowed, error.received) from None


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
