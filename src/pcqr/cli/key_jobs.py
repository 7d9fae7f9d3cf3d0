"""The options of `pcqr keys`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

KeysPath = Annotated[
    Path | None,
    typer.Option(
        "--keys", help="The file of keys. Default: keys.json in the user's data directory, or in PCQR_DATA_DIR."
    ),
]
KeyName = Annotated[str, typer.Argument(help="Whose key it is: letters, digits, - . _. It is in logs.", metavar="NAME")]


@dataclass(frozen=True, kw_only=True)
class CreateKey:
    """Of `pcqr keys create`."""

    name: KeyName
    role: Annotated[
        Literal["asker", "holder"],
        typer.Option(help="asker: asks, and sees its own answers. holder: sees everybody's, and the metrics."),
    ]
    queries: Annotated[
        int | None, typer.Option(min=0, help="New queries that the key may ask of each release. Default: no limit.")
    ] = None
    unstable: Annotated[
        int | None,
        typer.Option(min=0, help="Unstable answers that the key may have of each release. Default: no limit."),
    ] = None
    keys: KeysPath = None


@dataclass(frozen=True, kw_only=True)
class LimitKey:
    """The options of `pcqr keys limit`."""

    name: KeyName
    queries: Annotated[
        str | None,
        typer.Option(metavar="NUMBER|any", help="New queries that the key may ask of each release. Default: as it is."),
    ] = None
    unstable: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|any", help="Unstable answers that the key may have of each release. Default: as it is."
        ),
    ] = None
    keys: KeysPath = None


@dataclass(frozen=True, kw_only=True)
class ListKeys:
    """Of `pcqr keys list`."""

    keys: KeysPath = None


@dataclass(frozen=True, kw_only=True)
class RenewKey:
    """Of `pcqr keys renew`."""

    name: KeyName
    keys: KeysPath = None


@dataclass(frozen=True, kw_only=True)
class RevokeKey:
    """Of `pcqr keys revoke`."""

    name: KeyName
    keys: KeysPath = None
