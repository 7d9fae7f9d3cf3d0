"""A worker of `pcqr.server.run` that says who it is to whoever connects: what the tests of the watcher run."""

from __future__ import annotations

import os
import signal
import socket
import threading
from contextlib import suppress
from multiprocessing.connection import Connection


def says_its_number(bound: socket.socket, line: Connection) -> None:
    """Serves until SIGTERM, or until its watcher is gone."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    threading.Thread(target=_until_alone, args=(line,), daemon=True).start()
    bound.listen()
    line.send(True)
    while True:
        connection, _ = bound.accept()
        with connection:
            connection.sendall(str(os.getpid()).encode())


def _until_alone(line: Connection) -> None:
    with suppress(EOFError, OSError):
        line.recv()
    os._exit(0)


def fails_at_once(_: socket.socket, __: Connection) -> None:
    os._exit(1)
