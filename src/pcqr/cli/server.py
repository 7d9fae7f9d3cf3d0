"""`pcqr serve` and `pcqr keys`: releases and published models over HTTP, and who may ask."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from pcqr.cli.console import open_table, print_json
from pcqr.cli.jobs import CreateKey, LimitKey, ListKeys, RenewKey, RevokeKey, Serve
from pcqr.errors import MissingExtra, ParameterError
from pcqr.releases.protocol.answers import Usage
from pcqr.server.keys import Key, KeyFile, Role, default_path, read

if TYPE_CHECKING:
    from pcqr.server.service import Place
    from pcqr.server.state import Settings

# ---------------------------------------------------------------------------------------------------------------------
# `pcqr serve`: releases and published models over HTTP.


def run(job: Serve) -> None:
    """Open everything, then serve it until a signal comes."""
    try:
        from pcqr.server.run import serve  # noqa: PLC0415 - of an extra, which `pcqr keys` does without
    except ImportError as error:
        raise MissingExtra("pcqr serve", "server") from error
    if job.demo:
        from pcqr.cli.demo import with_demo  # noqa: PLC0415 - the estimators take their time

        job = with_demo(job)
    if not job.places:
        raise ParameterError("RELEASE", "a release or a model, or --demo", "nothing")
    to_serve = places(job)
    names = [each.name for each in to_serve]

    def say(address: str) -> None:
        if job.as_json:
            print_json({"url": address, "names": names})
        else:
            typer.echo(f"{', '.join(names)} served at {address}/")

    serve(to_serve, settings(job), say)


def settings(job: Serve) -> Settings:
    """The options of the server itself. The usual file of keys is used where it is there."""
    from pcqr.server.state import Settings  # noqa: PLC0415

    usual = default_path()
    return Settings(
        host=job.host,
        port=job.port,
        workers=job.workers,
        host_names=tuple(job.host_name),
        keys=job.keys or (usual if usual.exists() else None),
        certificate=job.certificate,
        certificate_key=job.key_file,
        reply_every=job.reply_every,
        reply_rows=job.reply_rows,
        most_bytes=job.most_bytes,
        most_rows=job.most_rows,
        most_requests=job.most_requests,
        most_connections=job.most_connections,
        read_seconds=job.read_seconds,
        close_seconds=job.close_seconds,
    )


def places(job: Serve) -> list[Place]:
    """What to serve, each with the options that name it."""
    from pcqr.server.service import Place  # noqa: PLC0415

    found = dict(_named(place) for place in job.places)
    if len(found) < len(job.places):
        raise ParameterError("RELEASE", "places with names of their own (NAME=PATH)", job.places)
    ledgers, anchors, keys = (
        _by_name(option, given, found)
        for option, given in (("--ledger", job.ledger), ("--anchor", job.anchor), ("--key", job.key))
    )
    for option, named in (("--adopt", job.adopt), ("--shared", job.shared)):
        if len(set(named)) < len(named) or not set(named) <= set(found):
            raise ParameterError(option, f"a NAME among {', '.join(found)}, once", ", ".join(named))
    if len(set(job.write_off)) < len(job.write_off) or not set(job.write_off) <= set(job.adopt):
        raise ParameterError("--write-off", "a NAME that --adopt names, too, once", ", ".join(job.write_off))
    return [
        Place(
            name,
            path,
            ledger=ledgers.get(name),
            anchor=Path(anchors[name]) if name in anchors else None,
            key=keys.get(name),
            adopt=name in job.adopt,
            write_off=name in job.write_off,
            is_shared=name in job.shared,
        )
        for name, path in found.items()
    ]


def _named(place: str) -> tuple[str, Path]:
    """NAME=PATH, or a path whose last part is the name. A path that exists is a path."""
    name, equals, path = place.partition("=")
    if equals and not Path(place).exists():
        return name, Path(path)
    return Path(place).absolute().name, Path(place)


def _by_name(option: str, entries: Sequence[str], names: dict[str, Path]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in entries:
        name, equals, value = each.partition("=")
        if not equals or name not in names or name in found:
            raise ParameterError(option, f"NAME=…, once for a name among {', '.join(names)}", name if equals else each)
        found[name] = value
    return found


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr keys`: who may ask a server, as what, and how much.


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr keys`: who may ask a server, as what, and how much.


def run_create(job: CreateKey) -> None:
    file = _file(job.keys)
    key = file.create(job.name, job.role, Usage(job.queries, job.unstable))
    _tell(file, key, job.name, job.role, as_json=job.as_json)


def run_renew(job: RenewKey) -> None:
    file = _file(job.keys)
    key = file.renew(job.name)
    role = read(file.path)[job.name].role
    more = "Servers let the old one in no more; limits, and what was used of them, stay. "
    _tell(file, key, job.name, role, more, as_json=job.as_json)


def run_limit(job: LimitKey) -> None:
    changes: dict[str, int | None] = {}
    if job.queries is not None:
        changes["queries"] = _limit_of("--queries", job.queries)
    if job.unstable is not None:
        changes["unstable"] = _limit_of("--unstable", job.unstable)
    if not changes:
        raise ParameterError("--queries or --unstable", "given: what the key may have from now on", None)
    file = _file(job.keys)
    key = file.limit(job.name, changes)
    if job.as_json:
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


def run_list(job: ListKeys) -> None:
    file = _file(job.keys)
    keys = file.keys()
    if job.as_json:
        print_json({"file": str(file.path), "keys": [_facts(key) for key in keys]})
        return
    if not keys:
        Console().print(f"No key in {file.path}. To make one: pcqr keys create NAME --role asker", soft_wrap=True)
        return
    table = open_table(("key", "role", "queries", "unstable answers", "made", "revoked"))
    for key in keys:
        revoked = "" if key.revoked is None else _day(key.revoked)
        limits = map(_limit, (key.allowance.queries, key.allowance.unstable))
        table.add_row(key.name, key.role, *limits, _day(key.created), revoked)
    Console().print(table)


def run_revoke(job: RevokeKey) -> None:
    file = _file(job.keys)
    key = file.revoke(job.name)
    if job.as_json:
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


def _file(path: Path | None) -> KeyFile:
    return KeyFile(default_path() if path is None else path)


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
