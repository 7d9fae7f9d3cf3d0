"""`pcqr serve` in a process of its own that kills itself at a named point of the order of writes, when it is told to.

The order is a file: a point, and at which time it is reached. Whoever carries it out takes the file away, so one
process of several dies. Faults can be planted, to see that they are found.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from pcqr.cli.main import app
from pcqr.durable.ledger.ledger import Ledger
from pcqr.durable.ledger.store import watched
from pcqr.durable.quotas import QuotaRows
from pcqr.server import run

ORDER = "PCQR_TEST_ORDER"
FAULT = "PCQR_TEST_FAULT"
HASTY = "a reply before the commit"
FORGETFUL = "tokens are forgotten"
GENEROUS = "quotas are not looked at"
START_SECONDS = 90.0


class Killer:
    """Called at every point."""

    def __init__(self, order: Path) -> None:
        self._order = order
        self._seen = 0

    def __call__(self, reached: str) -> None:
        if not self._order.exists():
            self._seen = 0
            return
        point, nth = self._order.read_text().split(":")
        self._seen += reached == point
        if self._seen == int(nth) and taken(self._order):
            os.kill(os.getpid(), signal.SIGKILL)


def ordered(order: Path, point: str, nth: int) -> None:
    """Order a kill, in one step."""
    draft = order.with_suffix(".draft")
    draft.write_text(f"{point}:{nth}")
    draft.rename(order)


def taken(order: Path) -> bool:
    """Is it for this process to carry out?"""
    try:
        order.unlink()
    except FileNotFoundError:
        return False
    return True


def plant(fault: str, order: Path) -> None:
    """Make this process do wrong."""
    if fault == FORGETFUL:
        _replace(QuotaRows, "end", lambda *_: None)
    if fault == GENEROUS:
        _replace(QuotaRows, "allows", lambda *_: True)
    if fault == HASTY:
        record: Callable[..., None] = Ledger._record
        dying = threading.Event()

        def hasty(*given: Any) -> None:
            if not dying.is_set() and taken(order):
                dying.set()
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
            if not dying.is_set():
                record(*given)

        _replace(Ledger, "_record", hasty)


def _replace(owner: type, name: str, by: Callable[..., Any]) -> None:
    setattr(owner, name, by)


@contextmanager
def under_orders() -> Iterator[None]:
    """What the environment says holds for this process."""
    order = Path(os.environ[ORDER])
    plant(os.environ[FAULT], order)
    if os.environ[FAULT] == HASTY:
        yield
        return
    with watched(Killer(order)):
        yield


class Worker(run._Worker):
    """One of several processes: a new one, which has to be told anew."""

    def __call__(self, *given: Any) -> None:
        with under_orders():
            super().__call__(*given)


def serve(words: Sequence[str], said: Path, log: Path, order: Path, fault: str) -> None:
    """The command line, in a process group of its own."""
    os.setsid()
    for descriptor, path in ((1, said), (2, log)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), descriptor)
    os.environ |= {ORDER: str(order), FAULT: fault}
    run._Worker = Worker  # type: ignore[misc]
    with under_orders():
        app(["serve", *words])


class KilledServer:
    """A running `pcqr serve`. Its process comes from one that has imported everything, so it starts at once."""

    def __init__(self, folder: Path, words: Sequence[str], fault: str = "") -> None:
        self.order = folder / "order"
        self._said = folder / "said"
        for path in (self.order, self._said):
            path.unlink(missing_ok=True)
        given = words, self._said, folder / "log", self.order, fault
        self.process: BaseProcess = _nursery().Process(target=serve, args=given)
        self.process.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._spoken and not self.has_ended and time.monotonic() < deadline:
            time.sleep(0.005)
        if not self._spoken:
            raise AssertionError(f"the server did not start: {(folder / 'log').read_text()[-2000:]}")
        self.port = int(self._spoken.strip().rstrip("/").rpartition(":")[2])

    @property
    def has_ended(self) -> bool:
        return not self.process.is_alive()

    @property
    def workers(self) -> list[int]:
        """The numbers of its workers; its own, where it has none."""
        own = self.process.pid
        children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        found = [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
        return found or [own or 0]

    def kill(self) -> None:
        """All its processes, at once."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.join()

    @property
    def _spoken(self) -> str:
        said = self._said.read_text() if self._said.exists() else ""
        return said if said.endswith("\n") else ""


def _nursery() -> Any:
    found = get_context("forkserver")
    found.set_forkserver_preload(["pcqr.cli.server", "pcqr.durable.log", "pcqr.estimators"])
    return found
