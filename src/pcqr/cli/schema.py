"""`pcqr schema`: what public rows say about the columns, to be read, mended and used."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pcqr.cli.console import print_json
from pcqr.cli.inputs import declared_schema
from pcqr.cli.jobs import MakeSchema
from pcqr.datasets.tables import Columns, read_table
from pcqr.errors import ParameterError, PcqrError
from pcqr.files import check_output, replacing
from pcqr.models.vocabulary import allowed_values, printable
from pcqr.plan import counted
from pcqr.schema import Schema
from pcqr.schema.cells import categories, cells

DECLARES = (
    "These rows must be public: the schema shows their smallest and largest numbers and their categories, and no ε "
    "covers that. Never make a schema of private records."
)


def run(job: MakeSchema, *, as_json: bool) -> None:
    """Read the public rows, say what becomes of each column, and write that where it is asked for."""
    out = job.out
    if out is not None:
        if out.suffix.lower() not in (".toml", ".json"):
            raise ParameterError("--out", "a name that ends in .toml or .json", str(out))
        check_output(out, inputs=(job.file,), overwrite=job.overwrite)
        _check_replaced(out)
    rows = read_table(job.file)
    schema = _schema(rows, job.drop, job.most_categories)
    if out is not None:
        with replacing(out) as draft:
            (schema.to_json if out.suffix.lower() == ".json" else schema.to_toml)(draft)
    count = len(next(iter(rows.values())))
    cut_short = _cut_short(schema, rows)
    if as_json:
        found = {"rows": count, "declares": DECLARES, "schema": schema.to_dict(), "cut_short": cut_short}
        print_json(found | {"near_unique": schema.near_unique, "out": None if out is None else str(out)})
    else:
        _print(schema, count, cut_short, out)


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
    for name in drop:
        if name not in rows:
            raise ParameterError("--drop", "the name of a column of the file", name)
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


def _print(schema: Schema, rows: int, cut_short: Mapping[str, int], out: Path | None) -> None:
    console = Console()
    table = Table(title=f"{counted(len(schema.columns), 'column')} from {counted(rows, 'public row')}")
    table.title_justify = "left"
    for heading in ("column", "kind", "takes"):
        table.add_column(heading, overflow="fold")
    for column in schema.columns:
        table.add_row(Text(printable(column.name)), column.kind, Text(allowed_values(column)))
    console.print(table)
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
