"""A server of pcqr in this process, at a port of its own, for the tests that speak to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from pcqr.server.app import make_app
from pcqr.server.service import Place, Service
from pcqr.server.settings import Settings


@contextmanager
def serving(*places: Place, **settings: Any) -> Iterator[str]:
    """The address of a server of these places, which is closed in the end."""
    with serving_app(make_app(Service.open(places), Settings(**settings))) as address:
        yield address


@contextmanager
def serving_app(app: Any) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def release_place(folder: Path, name: str = "ages") -> Place:
    """The release that `support.kept.kept(folder)` has made, under a name of its own."""
    return Place(name, folder / "release", head=folder / "head")
