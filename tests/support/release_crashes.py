"""Kills, under load, of processes that answer from a kept release: is anything lost, or counted twice?

    make crash

Workers open the release, ask batches of queries, near the border and far from it, old and new, and write down what they
were told. They are killed at random instants and at every named point of the order of writes. Then every reply must be
in the ledger with the same answer, no count may have gone back, and no more than T answers may be unstable.

Others are killed around a publication: while a release that published at `fit` is saved, and while UnvPrivCl publishes
after its last vote. After such a kill either one classifier gives every reply for ever, or there is no classifier and
none has replied.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import pcqr.release
from pcqr import BudgetExhausted
from pcqr.durable.ledger.store import CREATION, TURN, watched
from pcqr.errors import LedgerError, ReleaseError, UnfinishedSave
from support import postgres
from support.kept import HARD, QUERIES, fitted
from support.ledgers import new_folder

BATCH = 8
RANDOM = "a random instant"
ROWS = np.concatenate([QUERIES, HARD])


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
        is_exhausted = release.unstable_remaining_ == 0
        release.close()
        self.asked, self.unstable = asked, unstable
        if is_exhausted:
            self.begin()


AT_FIT, AFTER_VOTES = "published at fit", "universal"
PUBLICATIONS = {AT_FIT: (*CREATION, "facts written", *TURN, "release recorded"), AFTER_VOTES: (*TURN, "published")}
"""The points at which a process that publishes is killed."""


@dataclass
class Publication:
    """One release that is about to publish, and all replies, each with its kind and label."""

    name: str
    base: Path
    ledger: str | None

    def __post_init__(self) -> None:
        if self.name == AFTER_VOTES:
            release = fitted(self.name).save(self.place, **self.where)
            release.predict(ROWS[: release.plan_.publish.after_queries - 1])
            release.close()

    @property
    def place(self) -> Path:
        return self.base / "release"

    @property
    def where(self) -> dict[str, Any]:
        return {"ledger": self.ledger, "anchor": self.base / "anchor"}

    def publish(self, number: int, ready: int, kill: Callable[[str], None]) -> None:
        """Publish, reply, and write down each reply, in a process of its own."""
        release = fitted(self.name) if self.name == AT_FIT else pcqr.release.open(self.place, **self.where)
        os.write(ready, b"!")
        with watched(kill), (self.base / f"told {number}").open("a") as told:
            if self.name == AT_FIT:
                release.save(self.place, **self.where)
            for x in np.random.default_rng(number).permutation(ROWS)[:, 0].tolist():
                answer = release.answer([x])
                told.write(f"{x!r} {answer.kind} {answer.label}\n")
                told.flush()

    def check(self) -> None:
        """Raise AssertionError unless one classifier gave all replies, or there is none and none replied."""
        lines = [line for path in self.base.glob("told *") for line in path.read_text().split("\n")[:-1]]
        replies = [(float(x), kind, label) for x, kind, label in map(str.split, lines)]
        try:
            release = pcqr.release.open(self.place, **self.where)
        except (ReleaseError, LedgerError):
            must(self.name == AT_FIT and not replies, "a release that has replied is gone")
            with warnings.catch_warnings(action="ignore", category=UnfinishedSave):
                release = fitted(self.name).save(self.place, **self.where)
        is_out, secret = release.is_published_, self.place / "secret.pcqr"
        must(secret.exists() == (not is_out), "a secret without use, or a use without its secret")
        must(is_out or all(kind != "published" for _, kind, _ in replies), "the classifier that replied is gone")
        found = [release.hypothesis_] if is_out else []
        for x, kind, label in replies:
            entry = release._votes.logged(np.array([[x]]))
            if kind != "published":
                must(entry is not None and str(entry.label) == label, "a vote that was replied is not in the ledger")
        by_classifier = {answer.kind for answer in release.answers(ROWS)} - {"stable", "unstable", "repeated"}
        must(by_classifier == {"published"} and not secret.exists(), "it does not publish")
        for x, kind, label in replies:
            must(kind != "published" or str(release.answer([x]).label) == label, "a query has two answers")
        found.append(release.hypothesis_)
        release.close()
        with closing(pcqr.release.open(self.place, **self.where)) as again:
            must(all(each == again.hypothesis_ for each in found), "two classifiers were published")


def killed(publication: Publication, point: str, workers: int) -> bool:
    """Kill one of the `workers` that publish at `point`, and check. Return False if it did not come to that point."""
    occurrence = random.randint(1, 2) if publication.name == AFTER_VOTES and point in TURN else 1  # noqa: S311
    ready, steady = os.pipe()
    pids = []
    for number in range(workers):
        if (pid := os.fork()) == 0:
            code = 1
            try:
                publication.publish(number, steady, killer(point, 0 if number else occurrence))
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    os.close(steady)
    os.read(ready, 1)
    os.close(ready)
    if point == RANDOM:
        time.sleep(random.uniform(0.0, 0.05))  # noqa: S311
        os.kill(pids[0], signal.SIGKILL)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    must(codes[0] in (0, -signal.SIGKILL) and not any(codes[1:]), "a worker failed")
    publication.check()
    return codes[0] != 0


def publications(count: int, ledger: Callable[[int], str | None]) -> dict[str, int]:
    """Kill so many processes around publications, half of each kind. `ledger` returns the place of a ledger."""
    kills, number, first = dict.fromkeys(PUBLICATIONS, 0), 0, random.randrange(100)  # noqa: S311
    while sum(kills.values()) < count:
        name = min(kills, key=lambda name: kills[name])
        points = (*PUBLICATIONS[name], RANDOM, RANDOM)
        with place() as base:
            found = Publication(name, base, ledger(number))
            workers = 3 if found.ledger is not None and name == AFTER_VOTES else 1
            kills[name] += killed(found, points[(first + number // 2) % len(points)], workers)
        number += 1
    return kills


def must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def killer(point: str, occurrence: int) -> Callable[[str], None]:
    """What kills this process when it comes to a point for the n-th time. Never for 0."""
    seen = 0

    def kill(name: str) -> None:
        nonlocal seen
        seen += name == point
        if name == point and seen == occurrence:
            os.kill(os.getpid(), signal.SIGKILL)

    return kill


def work(run: Run, number: int, point: str, occurrence: int) -> None:
    """Ask until killed, or until there is nothing left to ask."""
    rng = np.random.default_rng()
    with watched(killer(point, occurrence)), (run.base / f"told {number}").open("a") as told:
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
    parser.add_argument("--publications", type=int, default=50, help="kills around publications, in each store")
    chosen = parser.parse_args()
    table = Table("store", "processes", "kills", "at", "replies checked", "releases used up", title="Kept releases")
    found = [("SQLite", 1, *crashes(chosen.sqlite, 1, None))]
    published = {"SQLite": publications(chosen.publications, lambda _: None)}
    with postgres.server() as server:
        if server is None:
            Console().print(postgres.MISSING)
        elif chosen.postgres:
            server.run("CREATE SCHEMA crashes")
            address = server.address("crashes")
            found.append(("PostgreSQL", 4, *crashes(chosen.postgres, 4, address)))
            published["PostgreSQL"] = publications(chosen.publications, lambda number: f"{address}&ledger=p{number}")
    for store, processes, run, points in found:
        at = ", ".join(f"{point}: {number}" for point, number in points.items() if number)
        kills = sum(points.values())
        table.add_row(store, str(processes), str(kills), at, f"{run.replies:,}", str(run.releases - 1))
    Console().print(table)
    for store, of_each in published.items():
        told = ", ".join(f"{number} of a release {name!r}" for name, number in of_each.items())
        Console().print(f"{store}, kills around a publication: {told}. One classifier for ever, or none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
