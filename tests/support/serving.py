"""A server of pcqr in this process, at a port of its own, for the tests that speak to it."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcqr.server.app import make_app
from pcqr.server.door import SECURITY_HEADERS
from pcqr.server.gate import Gate
from pcqr.server.metrics import Metrics
from pcqr.server.process import Server
from pcqr.server.service import Place, Service
from pcqr.server.settings import Settings
from pcqr.server.watching import counts


@contextmanager
def serving(*places: Place, **settings: Any) -> Iterator[str]:
    """The address of a server of these places, which is closed in the end: the whole of it, down to its connections."""
    service = Service.open(places)
    gate = Gate(Settings(**settings), Metrics(lambda: counts(service)))
    with running(make_app(service, gate.settings, gate), gate) as server:
        yield server.address


@dataclass(frozen=True)
class Running:
    """A server that runs in a thread."""

    port: int
    gate: Gate
    server: Server

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running(app: Any, gate: Gate, context: ssl.SSLContext | None = None) -> Iterator[Running]:
    """A server of any application, behind the limits of `gate` on connections."""
    server = Server(app, gate, SECURITY_HEADERS, context)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.005)
            yield Running(bound.getsockname()[1], gate, server)
        finally:
            server.stop()
            thread.join()


@contextmanager
def serving_app(app: Any) -> Iterator[str]:
    """The address of a server of any application, with its own door or none."""
    with running(app, Gate(Settings(), Metrics())) as server:
        yield server.address


def release_place(folder: Path, name: str = "ages") -> Place:
    """The release that `support.kept.kept(folder)` has made, under a name of its own."""
    return Place(name, folder / "release", head=folder / "head")
