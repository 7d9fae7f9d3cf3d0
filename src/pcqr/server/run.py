"""`pcqr serve` as a process: everything is opened and checked, then served until a signal comes."""

from __future__ import annotations

import gc
import json
import logging
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from pcqr.durable.directory import FACTS
from pcqr.errors import ParameterError, PcqrError
from pcqr.releases.protocol.answers import counted
from pcqr.server import logs, workers
from pcqr.server.app import make_app
from pcqr.server.keys import check_keys
from pcqr.server.limits import SECURITY_HEADERS, is_loopback, own_names
from pcqr.server.metrics import Metrics
from pcqr.server.process import Server, address_of, bind, tls
from pcqr.server.service import Place, ServedRelease, Service
from pcqr.server.state import ServerState, Settings
from pcqr.server.watching import counts

logger = logging.getLogger(__name__)


def serve(places: Sequence[Place], settings: Settings, say: Callable[[str], None]) -> None:
    """Serve until a signal ends it. `say` is called once, with the address, when requests are answered there.

    Raises
    ------
    PcqrError
        Nothing was served: an option, a release, a certificate or the file of keys cannot be used.
    """
    if settings.keys is not None:
        check_keys(settings.keys)
    own_names(settings)
    _check_names(settings)
    tls(settings)
    if settings.workers > 1:
        _check_ledgers(places)
    with bind(settings) as bound:
        logs.configure()
        if settings.certificate is None and not is_loopback(bound.getsockname()[0]):
            logger.warning("keys and answers travel in plain text: --certificate, or a proxy before this, must do TLS")
        address = address_of(bound, settings)
        places = [place.adopted() for place in places]
        if settings.workers > 1:
            work = _Worker(tuple(places), settings)
            workers.watch(work, bound, settings.workers, lambda: say(address))
        else:
            service = Service.open(places)
            _warn_if_together(service)
            _serve(service, settings, bound, lambda _: say(address))


def _warn_if_together(service: Service) -> None:
    """Warn of each release whose anchor is on the volume of its ledger, so that both would be restored together."""
    for each in service.all:
        if isinstance(each, ServedRelease) and not each.release.quota_table().ledger.is_apart:
            logger.warning(
                "the anchor of %s is on the volume of its ledger: restored together, both are old, and nothing "
                "notices. Keep it on another volume (--anchor, PCQR_STATE_DIR)",
                each.name,
            )


def _check_names(settings: Settings) -> None:
    """A name for others means that a proxy lets others in: each of them would be the holder where there are no keys."""
    others = [name for name in settings.host_names if not is_loopback(name)]
    if settings.keys is None and others:
        allowed = "left out while there are no keys (make some: pcqr keys create NAME --role asker)"
        raise ParameterError("--host-name", allowed, others[0])


def _check_ledgers(places: Sequence[Place]) -> None:
    """Several processes can write to one log in PostgreSQL alone."""
    for place in places:
        facts = place.path / FACTS
        if facts.exists() and "://" not in (place.ledger or str(json.loads(facts.read_text()).get("ledger"))):
            allowed = f"1 for {place.name}, whose log is a file: several share a log in PostgreSQL (pcqr fit --ledger)"
            raise ParameterError("--workers", allowed, "more")


@dataclass(frozen=True)
class _Worker:
    """One of several processes. A value, so that it can be sent to a new one."""

    places: tuple[Place, ...]
    settings: Settings

    def __call__(self, bound: socket.socket, line: Connection) -> None:
        def started(server: Server) -> None:
            server.stop_with(line.fileno())
            line.send(True)

        logs.configure()
        try:
            _serve(Service.open(self.places), self.settings, bound, started)
        except PcqrError as error:
            logger.error("this worker cannot serve: %s", error)
            sys.exit(1)


def _serve(service: Service, settings: Settings, bound: socket.socket, started: Callable[[Server], None]) -> None:
    gate = ServerState(settings, Metrics(lambda: counts(service)))
    server = Server(make_app(service, settings, gate), gate, SECURITY_HEADERS, tls(settings))
    server.on_start = lambda: started(server)
    try:
        with without_pauses():
            server.run(sockets=[bound])
    finally:
        service.close()  # once more, where an impatient end has not waited for the application
        logger.info("ended: %s and every release is closed", _in_the_end(server))


def _in_the_end(server: Server) -> str:
    remaining = server.requests_in_flight
    return f"{counted(remaining, 'request was', 'requests were')} not answered" if remaining else "all was answered"


@contextmanager
def without_pauses() -> Iterator[None]:
    """Keep Python's search for cycles away from what was there before.

    Every request that waits while younger objects are looked through counts as old, so under load all objects are
    looked through every few thousand requests. Most of them belong to libraries and live as long as the process;
    without them the search takes milliseconds, and with them a tenth of a second in which nobody is answered.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
