"""A private table that is read part by part: a folder of Parquet files, or a file of many cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pcqr.cli.jobs import OnPrivateFiles
from pcqr.errors import ParameterError
from pcqr.records.parted import Engine, ParquetParts, Parted, Reading, Spool
from pcqr.schema import Schema
from pcqr.schema.label_column import LabelColumn

MANY_CELLS = 20_000_000
"""Rows times columns from which on a Parquet file is read part by part. Both are public, and the model is the same."""


def in_parts(job: OnPrivateFiles) -> ParquetParts | None:
    """The private table where it is read part by part, by its footers; None where it is read in one piece."""
    if job.private.suffix.lower() != ".parquet" and not job.private.is_dir():
        if job.scratch is not None:
            raise ParameterError(
                "--scratch", "left out but for Parquet files, which are read in parts", str(job.scratch)
            )
        return None
    if job.person is not None:
        if job.private.is_dir():
            raise ParameterError(
                "--person",
                "left out for a folder; put its rows into one .parquet file, which is read into memory",
                job.person,
            )
        return None
    with naming_options():
        found = ParquetParts.of(job.private)
    if not job.private.is_dir() and job.scratch is None and found.rows * len(found.columns) < MANY_CELLS:
        return None
    if job.public is not None and any(_is_same(file, job.public) for file in found.files):
        raise ParameterError("--public", "rows that are public, not the private records", str(job.public))
    return found


def read_parts(job: OnPrivateFiles, parts: ParquetParts, schema: Schema, label: LabelColumn) -> Parted:
    """The records, every cell of them judged."""
    with naming_options():
        engine: Engine = Spool(job.scratch)
        drop = [name for name in job.not_features if name in parts.columns]
        return Parted.read(engine, parts, Reading(str(job.private), schema.columns, label), drop)


@contextmanager
def naming_options() -> Iterator[None]:
    """Errors speak of the options by which things were given."""
    try:
        yield
    except ParameterError as error:
        option = {"path": "--private", "scratch": "--scratch"}.get(error.name)
        if option is None:
            raise
        raise ParameterError(option, error.allowed, error.received) from None


def _is_same(file: Path, other: Path) -> bool:
    return other.exists() and file.exists() and file.samefile(other)
