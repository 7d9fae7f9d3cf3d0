"""Several processes that serve one address, for releases whose log is in PostgreSQL.

Each worker is a new process (spawned: a forked release answers nothing). The first one only watches: it starts a worker
anew that died, passes a signal on, and ends when all have ended. Workers whose watcher is gone end, too.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead

from pcqr.errors import PcqrError
from pcqr.server.metrics import SHARED

Work = Callable[[socket.socket, Connection], None]
"""Serve at the socket; send a word through the connection when that has begun, and end when its other end is closed."""

_STEP = 0.2
"""Seconds between two looks at workers and signals."""


class WorkersFailed(PcqrError, RuntimeError):
    """A worker ended before it could serve; its own message says why."""


@dataclass
class _Worker:
    process: SpawnProcess
    line: Connection
    is_ready: bool = False


def watch(work: Work, bound: socket.socket, number: int, on_start: Callable[[], None]) -> None:
    """Run `work`, which a new process can import, in so many processes until a signal comes."""
    shared = Path(tempfile.mkdtemp(prefix="pcqr-metrics-"))
    os.environ[SHARED] = str(shared)
    try:
        _Watch(work, bound, number, on_start).run()
    finally:
        del os.environ[SHARED]
        shutil.rmtree(shared, ignore_errors=True)


class _Watch:
    def __init__(self, work: Work, bound: socket.socket, number: int, on_start: Callable[[], None]) -> None:
        self._work = work
        self._bound = bound
        self._number = number
        self._on_start = on_start
        self._is_ending = False

    def run(self) -> None:
        before = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        workers: list[_Worker] = []
        try:
            workers = [self._started() for _ in range(self._number)]
            self._watch(workers)
        finally:
            _end_all(workers)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, *_: object) -> None:
        self._is_ending = True

    def _started(self) -> _Worker:
        here, there = get_context("spawn").Pipe()
        process = get_context("spawn").Process(target=self._work, args=(self._bound, there))
        process.start()
        there.close()
        return _Worker(process, here)

    def _watch(self, workers: list[_Worker]) -> None:
        is_told = False
        while not self._is_ending:
            silent = [worker.line for worker in workers if not worker.is_ready]
            wait([*silent, *(worker.process.sentinel for worker in workers)], _STEP)
            for place, worker in enumerate(workers):
                if not worker.is_ready and worker.line.poll():
                    with suppress(EOFError):
                        worker.line.recv()
                        worker.is_ready = True
                if not worker.process.is_alive() and not self._is_ending:
                    if not worker.is_ready:
                        raise WorkersFailed("A worker could not begin to serve: all of them are ended.")
                    worker.line.close()
                    mark_process_dead(worker.process.pid)  # type: ignore[no-untyped-call]
                    workers[place] = self._started()
            if not is_told and all(worker.is_ready for worker in workers):
                is_told = True
                self._on_start()


def _end_all(workers: Sequence[_Worker]) -> None:
    """Ask all to end, and wait: each has a limit of its own."""
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join()
        worker.line.close()
