"""What `pcqr publish` and `pcqr fit` share where they publish a classifier at once: reading, and dry runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, replace
from typing import Any

from rich.progress import Progress

from pcqr import AssumePublic, PrivateClassifier, UniversalRelease
from pcqr.cli.console import stages
from pcqr.cli.dry_run import Parts, announcement, described, try_out
from pcqr.cli.inputs import (
    Inputs,
    Shown,
    check_label,
    check_weight_column,
    in_parts,
    kinds_of,
    label_names,
    public_size,
    read_by_kinds,
    read_inputs,
    read_shown,
    shown_by_kinds,
)
from pcqr.cli.jobs import Learning
from pcqr.cli.spending import Outlook, end_dry_run
from pcqr.data.records.parted import ParquetParts
from pcqr.data.records.parted.engine import Layout
from pcqr.data.schema import Schema
from pcqr.durable.account import Account
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import MOST_LABELS
from pcqr.releases.classifier.estimator import DryRun
from pcqr.releases.words import plan_facts

Make = Callable[[Sequence[Any]], PrivateClassifier | UniversalRelease]
"""Return the estimator that a job asks for, for these label names."""


def is_bare(job: Learning) -> bool:
    """Is nothing public but columns and their kinds?"""
    return job.public is None and job.schema is None


def check_kinds(job: Learning) -> None:
    """Raise where --types is given although public rows or a schema give the kinds."""
    if job.types and not is_bare(job):
        raise ParameterError("--types", "left out with --public or --schema, which give the kinds", job.types)


def read_and_plan(job: Learning, make: Make, bar: Progress, *, as_json: bool) -> Inputs:
    """Return all that the job names, with the plan tried out. Announce runs that take long, and tables in parts."""
    parts = in_parts(job)
    if parts is not None:  # n is known before a record is read
        _announce(job, make, parts, bar, as_json=as_json)
    with stages(bar, "reading and encoding"):
        inputs = _read(job)
    if parts is None:
        with stages(bar, "planning"):
            planned = _dry_run(job, make, inputs.names, inputs.records, inputs.shown)
        if not as_json and (long := announcement(planned, inputs.records)):
            bar.console.print(long, highlight=False)
    return inputs


def public_rows(shown: Shown) -> AssumePublic | None:
    """Return the rows that were compared with the private ones already, for `fit`."""
    return None if shown.rows is None else AssumePublic(shown.rows)


def schema_for(job: Learning, shown: Shown) -> Schema | None:
    """Return the schema for `fit`. None where a share of the budget buys it."""
    return None if is_bare(job) else shown.schema


def _dry_run(job: Learning, make: Make, names: Sequence[Any], records: int, shown: Shown) -> DryRun:
    """Return what the run will do, tried out as far as public things go."""
    try:
        learner = make(names)
        if is_bare(job):
            learner.set_params(types={column.name: column.kind for column in kinds_of(job, job.types)[0]})
        weighed = {} if job.weight_column is None else {"weights": True}
        public, schema = public_rows(shown), schema_for(job, shown)
        found = learner.dry_run(records, public, schema, user_level=job.groups is not None, **weighed)
    except ParameterError as error:  # in the words of the command line
        if error.name not in {field.name for field in fields(job)}:  # type: ignore[arg-type]  # jobs are dataclasses
            raise
        raise ParameterError(f"--{error.name.replace('_', '-')}", error.allowed, error.received) from None
    try_out(found, names, shown if found.schema is None else replace(shown, schema=found.schema), job.epsilon)
    return found


def _announce(job: Learning, make: Make, parts: ParquetParts, bar: Progress, *, as_json: bool) -> None:
    """Say what will be done with a table in parts, and what it takes: from footers and public files alone."""
    names = label_names(job.labels, most=MOST_LABELS) or (0, 1)
    check_label(parts.columns, job.label)
    with stages(bar, "planning"):
        shown = _shown(job, parts.columns)
        found = _dry_run(job, make, names, parts.rows, shown)
    if not as_json:
        bar.console.print(announcement(found, parts.rows, _taken(job, parts, shown, names)), highlight=False)


def show_plan(job: Learning, make: Make, account: Account | None, *, as_json: bool) -> None:
    """Print what a run would do. Of the private file: column names and n (rows, or persons)."""
    parts = in_parts(job)
    columns, records = public_size(job) if parts is None else (parts.columns, parts.rows)
    names = label_names(job.labels, most=MOST_LABELS) or (0, 1)
    check_label(columns, job.label)
    if job.weight_column is not None:
        check_weight_column(columns, job, job.weight_column)
    shown = _shown(job, columns)
    if not is_bare(job):
        shown.schema.encode(dict.fromkeys(columns, ()), drop=job.not_features, name=str(job.private))  # no record
    found = _dry_run(job, make, names, records, shown)
    plan = found.plan
    plan = replace(plan, guarantee=plan.guarantee.drawn_with(private_entropy=job.seed is None))
    takes = described(found, records, None if parts is None else _taken(job, parts, shown, names))
    if cost := shown.schema.cost:
        takes["treated as public"] = "; ".join(cost)
    outlook = Outlook.of(job, account, plan.guarantee, records)
    facts = {"plan": plan_facts(plan), "parts": takes}
    end_dry_run(plan.guarantee, records, outlook, takes, facts, as_json=as_json)


def _read(job: Learning) -> Inputs:
    """Read by a schema or public rows, otherwise by the kinds of the columns."""
    if is_bare(job):
        return read_by_kinds(job, job.types, most_labels=MOST_LABELS, weight_column=job.weight_column)
    return read_inputs(job, most_labels=MOST_LABELS, categories=job.categories, weight_column=job.weight_column)


def _shown(job: Learning, columns: Collection[str]) -> Shown:
    """Return what is public about a private file with these columns."""
    if is_bare(job):
        return shown_by_kinds(job, job.types, columns)
    return read_shown(job, columns, categories=job.categories)


def _taken(job: Learning, parts: ParquetParts, shown: Shown, names: Sequence[Any]) -> Parts:
    columns = shown.schema.columns
    texts = tuple(column.name for column in columns if column.kind == "categorical") if is_bare(job) else ()
    layout = Layout(columns, len(names), texts)
    record_bytes = layout.record_bytes + layout.bytes_read_again
    return Parts(parts.rows, max(parts.sizes), record_bytes, not (job.scheduler is None and job.workers is None))
