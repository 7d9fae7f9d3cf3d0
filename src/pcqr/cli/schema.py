"""`pcqr schema`: what public rows say about the columns, or a release of private records, to be mended and used."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pcqr.cli.account import Outlook, account_facts, account_line, account_of, charged_words, end_dry_run, refusing_weak
from pcqr.cli.console import FROM_OUTSIDE, STOPPED, Signals, fail, field_table, naming, print_json, reason
from pcqr.cli.inputs import check_drop, declared_schema, declared_types, unit_ids
from pcqr.cli.jobs import MakeSchema
from pcqr.data.records.parted.parquet import ParquetParts, RawParquet
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.cells import categories, cells
from pcqr.data.schema.raw import RawColumn, RawInMemory, RawTable, raw_columns
from pcqr.datasets.tables import Columns, read_table, table_size
from pcqr.durable.account import Account
from pcqr.errors import ParameterError, PcqrError
from pcqr.files import check_output, replacing
from pcqr.models.vocabulary import allowed_values, apart, printable
from pcqr.releases.base.contributions import BOUNDED
from pcqr.releases.classifier.predicates import check_columns
from pcqr.releases.classifier.schema_release import SchemaRelease, size_of
from pcqr.releases.protocol.answers import counted
from pcqr.releases.words import guarantee_facts, promise

DECLARES = (
    "These rows must be public: the schema shows their smallest and largest numbers and their categories, and no ε "
    "covers that. Never make a schema of private records."
)


MOST_CATEGORIES = 100
DEFAULT_DELTA = 1e-6
SPENT = 1
"""Exit code: the schema was drawn, ε is spent, and its file could not be written."""
_NAMES = {"path": "FILE", "epsilon": "--epsilon", "delta": "--delta", "types": "--types"}
_WITH_PRIVATE = ("epsilon", "delta", "types", "account", "account_anchor", "seed")
"""Options that --private alone has a use for, beside flags."""


def run(job: MakeSchema) -> None:
    """Make a schema of public rows, or release one of private records."""
    if job.private:
        _run_private(job)
    else:
        _run_public(job)


def _run_public(job: MakeSchema) -> None:
    """Read the public rows, say what becomes of each column, and write that where it is asked for."""
    _check_public_options(job)
    if job.out is not None:
        _check_out(job, job.out)
    rows = read_table(job.file)
    schema = _schema(rows, job.drop, job.most_categories or MOST_CATEGORIES)
    if job.out is not None:
        _write(schema, job.out)
    count = len(next(iter(rows.values())))
    cut_short = _cut_short(schema, rows)
    if job.as_json:
        found = {"rows": count, "declares": DECLARES, "schema": schema.to_dict(), "cut_short": cut_short}
        print_json(found | {"near_unique": schema.near_unique, "out": None if job.out is None else str(job.out)})
    else:
        _print(schema, count, cut_short, job.out)


def _run_private(job: MakeSchema) -> None:
    """Check, charge, draw, write, show. Once noise is drawn, no signal comes between it and the disk."""
    release = _release(job)
    account = account_of(job, "pcqr schema")
    if job.dry_run:
        _show_plan(job, release, account)
        return
    schema: Schema | None = None
    is_written = False
    with refusing_weak(job, release.epsilon), Signals() as signals:
        try:
            with ExitStack() as spending:
                with naming(**_NAMES):
                    table, units = _table(job)
                    schema = release.run(
                        table,
                        units,
                        account=account,
                        entropy=job.seed,
                        before_charge=lambda: spending.enter_context(signals.held()),
                    )
                if job.out is not None:
                    _write(schema, job.out)
                is_written = True
                _show(job, schema, size_of(table, units), account)
        except FROM_OUTSIDE as cause:
            price = f"ε = {release.epsilon:.12g} and δ = {release.delta:.12g}"
            if schema is None:
                spent = charged_words(release, account, price)
                fail(f"{reason(cause)}. No schema is shown. {spent}", cause, as_json=job.as_json)
                raise typer.Exit(STOPPED) from None
            to = "" if account is None else f", charged to the account {account.name}"
            message = f"The schema was drawn and {price} is spent{to}"
            if is_written:
                fail(f"{message}; it is in {job.out}. Then: {reason(cause)}.", cause, as_json=job.as_json)
            else:
                message = f"{message}. Then: {reason(cause)}. It is printed instead."
                fail(message, cause, as_json=job.as_json, schema=schema.to_dict() | schema.history())
            raise typer.Exit(SPENT) from None


def _release(job: MakeSchema) -> SchemaRelease:
    if job.groups is not None and job.file.is_dir():
        raise ParameterError("--groups", "left out for a folder; put its rows into one .parquet file", job.groups)
    if job.most_categories is not None:
        raise ParameterError("--most-categories", "left out with --private", job.most_categories)
    if job.epsilon is None:
        raise ParameterError("--epsilon", "the ε that the schema may cost", None)
    if job.out is None and not job.dry_run:
        raise ParameterError("--out", "a file for the schema: what is paid for must be kept", None)
    if job.out is not None:
        _check_out(job, job.out)
    with naming(**_NAMES):
        return SchemaRelease(job.epsilon, DEFAULT_DELTA if job.delta is None else job.delta)


def _table(job: MakeSchema) -> tuple[RawTable, NDArray[np.int64] | None]:
    """Return the private table and, with --groups, the number of the person of each row."""
    types = declared_types(job.types)
    if _is_parquet(job) and job.groups is None:
        parts = ParquetParts.of(job.file)
        check_drop(job.drop, parts.columns)
        return RawParquet(parts, types, job.drop), None
    rows = read_table(job.file)
    check_drop(job.drop, rows)
    if job.groups is None:
        return RawInMemory(rows, types, job.drop, str(job.file)), None
    units = _groups(job, rows)
    columns, assumptions, _ = _columns(job)
    table = RawInMemory(rows, {each.name: each.kind for each in columns}, job.not_features, str(job.file))
    table.assumptions = assumptions
    return table, units


def _groups(job: MakeSchema, rows: Columns) -> NDArray[np.int64]:
    name = job.groups
    if name is None or name not in rows or name in job.drop:
        raise ParameterError("--groups", "the name of a column of the file besides those of --drop", name)
    return unit_ids(rows, name)


def _columns(job: MakeSchema) -> tuple[tuple[RawColumn, ...], tuple[str, ...], int]:
    """Return the columns, what is assumed public of them, and the number of rows.

    Looks at no cell of a CSV file, and only at the footers of Parquet files.
    """
    types = declared_types(job.types)
    if _is_parquet(job):
        parts = ParquetParts.of(job.file)
        check_drop(job.drop, parts.columns)
        table = RawParquet(parts, types, job.not_features)
        return table.columns, table.assumptions, table.size
    names, rows = table_size(job.file)
    check_drop(job.drop, names)
    kept = {name: "none" for name in names if name not in job.not_features}
    return *raw_columns(kept, types, str(job.file)), rows


def _is_parquet(job: MakeSchema) -> bool:
    return job.file.is_dir() or job.file.suffix.lower() == ".parquet"


def _show_plan(job: MakeSchema, release: SchemaRelease, account: Account | None) -> None:
    """Show what the run would do. Of the private file it uses names and types of the columns, and n."""
    with naming(**_NAMES):
        columns, _, records = _columns(job)
        if job.groups is not None:
            records = 1 + int(_groups(job, read_table(job.file)).max())
        stage, guarantee = release.plan(columns, records)
        check_columns(columns)
    if job.groups is not None:
        guarantee = guarantee.at_user_level(BOUNDED["one row"])
    guarantee = guarantee.drawn_with(private_entropy=job.seed is None)
    outlook = Outlook.of(job, account, guarantee, records)
    lines = {"releases": guarantee.steps[0]}
    if stage.threshold is not None:
        lines["categories"] = f"those of at least about {stage.threshold:,.0f} records are shown, all others not"
    end_dry_run(guarantee, records, outlook, lines, {"plan": asdict(stage)}, as_json=job.as_json)


def _show(job: MakeSchema, schema: Schema, records: int, account: Account | None) -> None:
    guarantee = schema.guarantee
    if guarantee is None:
        raise AssertionError("A schema was released.")
    if job.as_json:
        facts = guarantee_facts(guarantee, records) | {"schema": schema.to_dict() | schema.history()}
        print_json(facts | {"account": account_facts(account), "out": str(job.out)})
        return
    console = Console()
    console.print(_columns_table(schema, f"{counted(len(schema.columns), 'column')}, released"))
    fields = {"guarantee": promise(guarantee, records), "released": guarantee.steps[0]}
    fields |= {"charge": schema.charge or "none", "account": account_line(account)}
    fields["file"] = f"{job.out}: read it, mend it, and give it as --schema to any number of releases, at no further ε"
    console.print(field_table(fields))


def _check_public_options(job: MakeSchema) -> None:
    """Refuse what public rows have no use for: whoever gives it takes the run for a private one."""
    given = {name: getattr(job, name) for name in (*_WITH_PRIVATE, "groups")}
    given |= {name: getattr(job, name) or None for name in ("no_account", "accept_weak_guarantee", "dry_run")}
    for name, value in given.items():
        if value not in (None, []):
            option = f"--{name.replace('_', '-')}"
            raise ParameterError(option, "left out for public rows; private records need --private", value)


def _check_out(job: MakeSchema, out: Path) -> None:
    if out.suffix.lower() not in (".toml", ".json"):
        raise ParameterError("--out", "a name that ends in .toml or .json", str(out))
    check_output(out, inputs=job.inputs, overwrite=job.overwrite)
    _check_replaced(out)


def _write(schema: Schema, out: Path) -> None:
    with replacing(out) as draft:
        (schema.to_json if out.suffix.lower() == ".json" else schema.to_toml)(draft)


def _check_replaced(out: Path) -> None:
    """Raise if `out` exists and is no schema: with --overwrite it would be lost."""
    if not out.exists() or not out.stat().st_size:
        return
    try:
        declared_schema(out)
    except (PcqrError, ValueError):
        allowed = "a new file, or, with --overwrite, an earlier schema"
        raise ParameterError("--out", allowed, f"{out}, which holds something else") from None


def _schema(rows: Columns, drop: Sequence[str], most_categories: int) -> Schema:
    check_drop(drop, rows, of="the file")
    if set(rows) <= set(drop):
        raise ParameterError("--drop", "fewer columns than the file has", f"all {len(rows)}")
    return Schema.from_public(rows, drop=drop, most_categories=most_categories)


def _cut_short(schema: Schema, rows: Columns) -> dict[str, int]:
    """The columns that have more values than the schema keeps, and how many they have in the public rows."""
    found = {
        column.name: len(set(categories(cells(rows[column.name]))) - {None})
        for column in schema.columns
        if column.other and column.categories and column.name not in schema.near_unique
    }
    kept = {column.name: len(column.categories) for column in schema.columns}
    return {name: count for name, count in found.items() if count > kept[name]}


def _columns_table(schema: Schema, title: str) -> Table:
    table = Table(title=title)
    table.title_justify = "left"
    for heading in ("column", "kind", "takes"):
        table.add_column(heading, overflow="fold")
    for column in schema.columns:
        table.add_row(Text(printable(column.name)), column.kind, Text(allowed_values(column) + _cuts(column)))
    return table


def _cuts(column: Column) -> str:
    shown, feature = apart(column.cuts), column.features[0]
    return ", cut at " * bool(column.cuts) + ", ".join(feature.date(cut) or shown[cut] for cut in column.cuts)


def _print(schema: Schema, rows: int, cut_short: Mapping[str, int], out: Path | None) -> None:
    console = Console()
    title = f"{counted(len(schema.columns), 'column')} from {counted(rows, 'public row')}"
    console.print(_columns_table(schema, title))
    console.print(f"{DECLARES}\n", style="bold", highlight=False, soft_wrap=True)
    for name in schema.near_unique:
        console.print(
            f"Hardly any value of {printable(name)} occurs twice: an identifier or free text, which says nothing of "
            f"other records. Leave it out: --drop {shlex.quote(name)}\n",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    for name, found in cut_short.items():
        console.print(
            f"{printable(name)} has {found:,} different values, of which the most common are kept (--most-categories). "
            f"Should it be an identifier or a date, leave it out: --drop {shlex.quote(name)}\n",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    if out is None:
        said = "Nothing was written. With --out schema.toml it is, to be read and mended."
    else:
        said = (
            f"Written to {out}. Read it, mend it (wider bounds, more categories), then give it as --schema of pcqr fit."
        )
    console.print(said, highlight=False, markup=False, soft_wrap=True)
