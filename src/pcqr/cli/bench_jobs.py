"""The options of `pcqr bench`, as they are typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from pcqr.cli.options import Drop, SchemaFile


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Of `pcqr bench`."""

    tables: Annotated[
        str | None, typer.Option(help="Data sets, e.g. 'adult,bank'; toy and adult need no file. Default: adult.")
    ] = None
    data: Annotated[Path | None, typer.Option(help="The folder of the Parquet files of the other data sets.")] = None
    table: Annotated[Path | None, typer.Option(help="A table of your own: .csv, .csv.gz or .parquet.")] = None
    label: Annotated[str | None, typer.Option(help="The column of --table that holds the label.")] = None
    labels: Annotated[str | None, typer.Option(help="Its labels, in order. Default: all that there are.")] = None
    drop: Drop = field(default_factory=list)
    person: Annotated[
        str | None,
        typer.Option(
            help="The column of --table that says whose a row is: a person's rows stay together in the split."
        ),
    ] = None
    schema: SchemaFile = None
    epsilons: Annotated[str, typer.Option(help="The ε to compare at.")] = "0.01,0.03,0.1,0.3,1,4"
    delta: Annotated[float, typer.Option(help="δ, the same for all.")] = 1e-6
    methods: Annotated[str | None, typer.Option(help="Which methods (--list names them). Default: all.")] = None
    method: Annotated[
        list[str], typer.Option(help="A method of your own, package.module:Class, besides. Repeat for more.")
    ] = field(default_factory=list)
    runs: Annotated[int, typer.Option(min=1, help="Runs of each: seeds 0, 1, …")] = 3
    seeds: Annotated[str | None, typer.Option(help="These seeds instead, e.g. '3,4'.")] = None
    queries: Annotated[int, typer.Option(min=1, help="How many queries methods get that answer one at a time.")] = 500
    public_rows: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How many public rows without labels methods get. 0: only the columns and their kinds are public. "
            "Default: 2,000, at most half of the test part.",
        ),
    ] = None
    time_limit: Annotated[float, typer.Option(min=1.0, help="Seconds that one run may take.")] = 600.0
    out: Annotated[Path, typer.Option(help="Where results go, and are found again.")] = Path("bench")
    again: Annotated[bool, typer.Option("--again", help="Make these runs anew, also where they are on file.")] = False
    retry: Annotated[bool, typer.Option("--retry", help="Make runs anew that have failed.")] = False
    show_errors: Annotated[
        bool, typer.Option("--show-errors", help="Show what methods write to standard error. May show records.")
    ] = False
    install: Annotated[
        str | None, typer.Option(help="Make the environment of a library: opacus, interpret, diffprivlib or dpmm.")
    ] = None
    environments: Annotated[
        Path | None, typer.Option(help="Where these environments are. Default: the user's cache directory.")
    ] = None
    list_methods: Annotated[bool, typer.Option("--list", help="Name the methods, and run nothing.")] = False
