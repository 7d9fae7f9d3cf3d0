"""Kills, under load, of processes that answer from a kept release: is anything lost, or counted twice?

    make crash

Workers open the release, ask batches of queries, near the border and far from it, old and new, and write down what they
were told. They are killed at random instants and at every named point of the order of writes. Then every reply must be
in the ledger with the same answer, no count may have gone back, and no more than T answers may be unstable.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import pcqr.release
from pcqr import BudgetExhausted
from pcqr.release.ledger.points import TURN, watched
from support import postgres
from support.kept import fitted
from support.ledgers import new_folder

BATCH = 8
RANDOM = "a random instant"


@dataclass
class Run:
    """One release and what is known of it. A release that has halted is replaced by a new one."""

    base: Path
    address: str | None
    told: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    unstable: int = 0
    replies: int = 0
    releases: int = 0
    place: Path = Path()

    def begin(self) -> None:
        self.releases += 1
        self.place = self.base / f"release {self.releases}"
        fitted("agnostic", unstable=30).save(self.place, **self.where).close()
        self.told, self.asked, self.unstable = {}, 0, 0

    @property
    def where(self) -> dict[str, Any]:
        ledger = None if self.address is None else f"{self.address}&ledger=r{self.releases}"
        return {"ledger": ledger, "anchor": self.base / f"anchor {self.releases}"}

    def opened(self, **how: Any) -> Any:
        return pcqr.release.open(self.place, **self.where, **how)

    def check(self) -> None:
        """Everything that was told is in the ledger, and nothing went back. Raises AssertionError."""
        for path in self.base.glob("told *"):
            for line in path.read_text().split("\n")[:-1]:  # a torn line was not told
                x, label = line.split()
                self.replies += 1
                must(self.told.setdefault(x, label) == label, "a query has two answers")
            path.unlink()
        release = self.opened(read_only=self.address is not None)
        asked, unstable = release.queries_answered_, release.unstable_answers_
        must(asked >= max(self.asked, len(self.told)), "the count of queries went back")
        must(self.unstable <= unstable <= 30, "the count of unstable answers went back, or above T")
        rows = np.array([float(x) for x in self.told])[:, None]
        if len(rows):
            must(list(map(str, release.predict(rows))) == list(self.told.values()), "a reply is not in the ledger")
        must(release.queries_answered_ == asked, "what was asked before was paid again")
        has_halted = release.unstable_left_ == 0
        release.close()
        self.asked, self.unstable = asked, unstable
        if has_halted:
            self.begin()


def must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def work(run: Run, number: int, point: str, occurrence: int) -> None:
    """Ask until killed, or until there is nothing left to ask."""
    seen = 0

    def kill(name: str) -> None:
        nonlocal seen
        seen += name == point
        if seen == occurrence:
            os.kill(os.getpid(), signal.SIGKILL)

    rng = np.random.default_rng()
    with watched(kill), (run.base / f"told {number}").open("a") as told:
        release = run.opened()
        while True:
            near = rng.integers(0, 400) < 6
            low, high = (0.398, 0.402) if near else (0.0, 0.3)
            rows = np.round(rng.uniform(low, high, size=(BATCH, 1)), 6)
            try:
                labels = release.predict(rows)
            except BudgetExhausted:
                os._exit(0)
            told.write("".join(f"{x!r} {label}\n" for x, label in zip(rows[:, 0].tolist(), labels, strict=True)))
            told.flush()


def started(run: Run, number: int, point: str, occurrence: int = 0) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work(run, number, point, occurrence)
        finally:
            os._exit(1)
    return pid


def crash(run: Run, point: str, workers: int) -> bool:
    """Kill a worker among others, and check. False: the release halted before it came to that."""
    occurrence = random.randint(2, 12)  # noqa: S311
    pids = [started(run, number, point, occurrence if number == 0 else 0) for number in range(workers)]
    if point == RANDOM:
        time.sleep(random.uniform(0.05, 0.4))  # noqa: S311
        os.kill(pids[0], signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1])
    must(code in (0, -signal.SIGKILL), "a worker failed")
    for pid in pids[1:]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if run.address is not None:
        run.opened().close()  # whoever writes next confirms what was not
    run.check()
    return code != 0


@contextmanager
def place() -> Iterator[Path]:
    base = new_folder()
    try:
        yield base
    finally:
        shutil.rmtree(base, ignore_errors=True)


def crashes(count: int, workers: int, address: str | None) -> tuple[Run, dict[str, int]]:
    """So many kills, half of them at random instants."""
    points = dict.fromkeys((RANDOM, *TURN), 0)
    with place() as base:
        run = Run(base, address)
        run.begin()
        while (number := sum(points.values())) < count:
            point = RANDOM if number % 2 else TURN[number // 2 % len(TURN)]
            points[point] += crash(run, point, workers)
    return run, points


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sqlite", type=int, default=200)
    parser.add_argument("--postgres", type=int, default=50)
    chosen = parser.parse_args()
    table = Table("store", "processes", "kills", "at", "replies checked", "releases used up", title="Kept releases")
    found = [("SQLite", 1, *crashes(chosen.sqlite, 1, None))]
    with postgres.server() as server:
        if server is None:
            Console().print(postgres.MISSING)
        elif chosen.postgres:
            server.run("CREATE SCHEMA crashes")
            found.append(("PostgreSQL", 4, *crashes(chosen.postgres, 4, server.address("crashes"))))
    for store, processes, run, points in found:
        at = ", ".join(f"{point}: {number}" for point, number in points.items() if number)
        kills = sum(points.values())
        table.add_row(store, str(processes), str(kills), at, f"{run.replies:,}", str(run.releases - 1))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
