"""The options of `pcqr keys`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from pcqr.cli.console import print_json
from pcqr.errors import ParameterError
from pcqr.releases.protocol.answers import Usage
from pcqr.server.keys import Key, KeyFile, Role, default_path, read

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


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr keys`: who may ask a server, as what, and how much.


def run_create(job: CreateKey, *, as_json: bool) -> None:
    file = _file(job.keys)
    key = file.create(job.name, job.role, Usage(job.queries, job.unstable))
    _tell(file, key, job.name, job.role, as_json=as_json)


def run_renew(job: RenewKey, *, as_json: bool) -> None:
    file = _file(job.keys)
    key = file.renew(job.name)
    role = read(file.path)[job.name].role
    more = "Servers let the old one in no more; limits, and what was used of them, stay. "
    _tell(file, key, job.name, role, more, as_json=as_json)


def run_limit(job: LimitKey, *, as_json: bool) -> None:
    changes: dict[str, int | None] = {}
    if job.queries is not None:
        changes["queries"] = _limit_of("--queries", job.queries)
    if job.unstable is not None:
        changes["unstable"] = _limit_of("--unstable", job.unstable)
    if not changes:
        raise ParameterError("--queries or --unstable", "given: what the key may have from now on", None)
    file = _file(job.keys)
    key = file.limit(job.name, changes)
    if as_json:
        print_json({"file": str(file.path), "key": _facts(key)})
        return
    typer.echo(
        f"The key of {key.name} may now have of each release, over its whole life: queries: "
        f"{_limit(key.allowance.queries)}, unstable answers: {_limit(key.allowance.unstable)}. What it has used stays "
        f"used. Servers that use {file.path} notice."
    )


def _limit_of(option: str, text: str) -> int | None:
    """Return the number that was typed, None for `any`."""
    if text == "any":
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 19:
        raise ParameterError(option, "a number of at least 0, or any", text)
    return int(text)


def run_list(job: ListKeys, *, as_json: bool) -> None:
    file = _file(job.keys)
    keys = file.keys()
    if as_json:
        print_json({"file": str(file.path), "keys": [_facts(key) for key in keys]})
        return
    if not keys:
        Console().print(f"No key in {file.path}. To make one: pcqr keys create NAME --role asker", soft_wrap=True)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("key", "role", "queries", "unstable answers", "made", "revoked"):
        table.add_column(title)
    for key in keys:
        revoked = "" if key.revoked is None else _day(key.revoked)
        limits = map(_limit, (key.allowance.queries, key.allowance.unstable))
        table.add_row(key.name, key.role, *limits, _day(key.created), revoked)
    Console().print(table)


def run_revoke(job: RevokeKey, *, as_json: bool) -> None:
    file = _file(job.keys)
    key = file.revoke(job.name)
    if as_json:
        print_json({"file": str(file.path), "revoked": _facts(key)})
        return
    typer.echo(f"The key of {key.name} is revoked: servers that use {file.path} let it in no more.")


def _tell(file: KeyFile, key: str, name: str, role: Role, more: str = "", *, as_json: bool) -> None:
    """Say a new key, this once."""
    if as_json:
        print_json({"key": key, "name": name, "role": role, "file": str(file.path)})
        return
    typer.echo(key)  # alone on standard output, so that it can be piped to where it is kept
    Console(stderr=True).print(
        f"The key of {name}, a{'n' if role == 'asker' else ''} {role}. {more}It is shown this once; "
        f"{file.path} has its hash alone. Set it as PCQR_KEY for pcqr ask and pcqr.connect, or type it into the page.",
        soft_wrap=True,
        markup=False,
        highlight=False,
    )


def _file(given: Path | None) -> KeyFile:
    return KeyFile(default_path() if given is None else given)


def _facts(key: Key) -> dict[str, Any]:
    """All but the hash, which is of no use to a reader."""
    limits = {"queries": key.allowance.queries, "unstable": key.allowance.unstable}
    times = {"created": _moment(key.created), "revoked": None if key.revoked is None else _moment(key.revoked)}
    return {"name": key.name, "role": key.role} | limits | times


def _limit(number: int | None) -> str:
    return "any number" if number is None else f"{number:,}"


def _day(seconds: int) -> str:
    return _moment(seconds)[:10]


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
