"""The options of `pcqr account`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from pcqr.cli.options import AcceptWeakGuarantee, OfAccountAnchor, Overwrite, Place


@dataclass(frozen=True, kw_only=True)
class CreateAccount:
    """Of `pcqr account create`."""

    place: Annotated[
        str,
        typer.Argument(
            help="A name, for the user's data directory (or PCQR_DATA_DIR), or a path that ends in .account.",
            metavar="NAME",
        ),
    ]
    epsilon: Annotated[float, typer.Option(help="ε that all releases on the table together may have.")]
    delta: Annotated[float, typer.Option(help="δ that they may have, far below 1/n; 0 is possible with basic.")]
    filter_name: Annotated[
        Literal["basic", "zcdp"],
        typer.Option(
            "--filter",
            help="How releases add up. basic: ε and δ do. zcdp: ρ, about ε²/2 or less, and δ do: better for many small "
            "releases, worse for a few large ones.",
        ),
    ] = "basic"
    unit: Annotated[
        Literal["record", "person"],
        typer.Option(help="Whom it protects: one row, or all rows of a person. Releases about another are refused."),
    ] = "record"
    rows: Annotated[
        int | None,
        typer.Option("--rows", min=1, help="With --unit person: the most rows that one has. Default: any number."),
    ] = None
    anchor: OfAccountAnchor = None
    accept_weak_guarantee: AcceptWeakGuarantee = False


@dataclass(frozen=True, kw_only=True)
class ShowAccount:
    """Of `pcqr account show`."""

    place: Place
    anchor: OfAccountAnchor = None
    plot: Annotated[Path | None, typer.Option(help="Draw what was spent when, and for what: .svg, .png, .pdf.")] = None
    verify: Annotated[bool, typer.Option("--verify", help="Check every entry of the file, not only the last.")] = False
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class AdoptAccount:
    """Of `pcqr account adopt`."""

    place: Place
    anchor: OfAccountAnchor = None
    write_off: Annotated[
        bool,
        typer.Option(
            "--write-off",
            help="Adopt an older copy, too: all that remained of it counts as spent, and nothing more can be charged.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class ListAccounts:
    """Of `pcqr account list`: none."""
