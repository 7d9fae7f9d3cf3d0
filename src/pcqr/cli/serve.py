"""The options of `pcqr serve`, as they are typed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from pcqr.cli.console import print_json
from pcqr.cli.keys import KeysPath
from pcqr.errors import MissingExtra, ParameterError


def _period(text: str) -> float:
    """Seconds of a time like 50ms or 0.1s."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s)", text.strip())
    seconds = float(found[1]) / (1000 if found[2] == "ms" else 1) if found else 0.0
    if not 0.001 <= seconds <= 60:
        raise typer.BadParameter(f"{text!r} is not a time from 1ms to 60s, such as 50ms.")
    return seconds


@dataclass(frozen=True, kw_only=True)
class Serve:
    """Of `pcqr serve`."""

    places: Annotated[
        list[str],
        typer.Argument(
            help="Releases (pcqr fit) and published models (pcqr publish): PATH, or NAME=PATH.", metavar="RELEASE|MODEL"
        ),
    ] = field(default_factory=list)
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Serve a release and a model on UCI Adult, made in out/serve and found again there."
        ),
    ] = False
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at.")] = 8080
    keys: KeysPath = None
    host_name: Annotated[
        list[str],
        typer.Option(help="A name under which the server is asked for, beside loopback's. Repeat for more names."),
    ] = field(default_factory=list)
    certificate: Annotated[Path | None, typer.Option(help="TLS: the certificate, with its chain, in PEM.")] = None
    key_file: Annotated[Path | None, typer.Option(help="TLS: the private key of the certificate, in PEM.")] = None
    reply_every: Annotated[
        float | None,
        typer.Option(
            parser=_period,
            metavar="TIME",
            help="Have replies leave on a grid of moments alone, e.g. 50ms: their time then does not tell how hard an "
            "answer was. Must be longer than --reply-rows answers take.",
        ),
    ] = None
    reply_rows: Annotated[
        int,
        typer.Option(
            min=1,
            help="With --reply-every: how many rows are answered in one period. A longer request takes one period "
            "for each so many rows.",
        ),
    ] = 64
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes; more than one where all releases are in PostgreSQL.")
    ] = 1
    most_bytes: Annotated[int, typer.Option(min=1024, help="Bytes that the body of a request may have.")] = 16 << 20
    most_rows: Annotated[int, typer.Option(min=1, help="Rows that a request may have.")] = 10_000
    most_requests: Annotated[int, typer.Option(min=1, help="Requests in flight at a time.")] = 1_024
    most_connections: Annotated[int, typer.Option(min=1, help="Connections at a time.")] = 4_096
    read_seconds: Annotated[float, typer.Option(min=0.1, help="Seconds in which a request must arrive.")] = 30.0
    close_seconds: Annotated[
        float, typer.Option(min=1, help="Seconds in which requests in flight are answered when the server ends.")
    ] = 30.0
    ledger: Annotated[
        list[str],
        typer.Option(help="NAME=FILE or NAME=ADDRESS: where the log of a release is, if not in its directory."),
    ] = field(default_factory=list)
    anchor: Annotated[
        list[str],
        typer.Option(help="NAME=FILE: where the anchor of a release is, if not in the user's state directory."),
    ] = field(default_factory=list)
    adopt: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="This release was moved or restored and its anchor is missing: take it to be the newest copy. "
            "The release records that you decided so, and shows it for ever.",
        ),
    ] = field(default_factory=list)
    write_off: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="With --adopt NAME: go on with an older copy, and count everything that may have been used since as "
            "used. It repeats its logged answers and decides nothing new.",
        ),
    ] = field(default_factory=list)
    shared: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="The keys of this release share what was asked: a row that one key has asked is repeated, and free, "
            "for all others. So they learn that somebody has asked it. Default: each key counts its own rows.",
        ),
    ] = field(default_factory=list)
    key: Annotated[
        list[str],
        typer.Option(help="NAME=file:PATH or NAME=env:VARIABLE: the key that encrypts the secrets of a release."),
    ] = field(default_factory=list)


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr serve`: releases and published models over HTTP.


try:
    from pcqr.server.keys import default_path
    from pcqr.server.run import serve
    from pcqr.server.service import Place
    from pcqr.server.state import Settings
except ImportError as error:
    raise MissingExtra("pcqr serve", "server") from error


def run(job: Serve, *, as_json: bool) -> None:
    """Open everything, then serve it until a signal comes."""
    if job.demo:
        from pcqr.cli.demo import with_demo  # noqa: PLC0415 - the estimators take their time

        job = with_demo(job, as_json=as_json)
    if not job.places:
        raise ParameterError("RELEASE", "a release or a model, or --demo", "nothing")
    to_serve = places(job)
    names = [each.name for each in to_serve]

    def say(address: str) -> None:
        if as_json:
            print_json({"url": address, "names": names})
        else:
            typer.echo(f"{', '.join(names)} served at {address}/")

    serve(to_serve, settings(job), say)


def settings(job: Serve) -> Settings:
    """The options of the server itself. The usual file of keys is used where it is there."""
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


def _by_name(option: str, given: Sequence[str], names: dict[str, Path]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or name not in names or name in found:
            raise ParameterError(option, f"NAME=…, once for a name among {', '.join(names)}", name if equals else each)
        found[name] = value
    return found
