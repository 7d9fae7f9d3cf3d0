"""`pcqr serve`: releases and published models over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from pcqr.cli.console import print_json
from pcqr.cli.service_jobs import Serve
from pcqr.errors import MissingExtra, ParameterError

try:
    from pcqr.server.keys import default_path
    from pcqr.server.run import serve
    from pcqr.server.service import Place
    from pcqr.server.settings import Settings
except ImportError as error:
    raise MissingExtra("pcqr serve", "server") from error


def run(job: Serve, *, as_json: bool) -> None:
    """Open everything, then serve it until a signal comes."""
    if job.demo:
        from pcqr.cli.serve_demo import with_demo  # noqa: PLC0415 - the estimators take their time

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
