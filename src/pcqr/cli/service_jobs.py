"""The options of `pcqr serve`, as they are typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import typer


@dataclass(frozen=True, kw_only=True)
class Serve:
    """Of `pcqr serve`."""

    places: Annotated[
        list[str],
        typer.Argument(
            help="Releases (pcqr fit) and published models (pcqr publish): PATH, or NAME=PATH.", metavar="RELEASE|MODEL"
        ),
    ]
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at.")] = 8080
    ledger: Annotated[
        list[str],
        typer.Option(help="NAME=FILE or NAME=ADDRESS: where the log of a release is, if not in its directory."),
    ] = field(default_factory=list)
    head: Annotated[
        list[str],
        typer.Option(help="NAME=FILE: where the last reply of a release is remembered, if not in its usual place."),
    ] = field(default_factory=list)
    key: Annotated[
        list[str],
        typer.Option(help="NAME=file:PATH or NAME=env:VARIABLE: the key that encrypts the secrets of a release."),
    ] = field(default_factory=list)
