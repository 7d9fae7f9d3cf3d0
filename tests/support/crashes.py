"""Kills, under load, at random instants and at every named point of the order of writes: what becomes of a ledger?

    make crash

Workers answer questions from a ledger, as a release does: in a turn, a question that was asked before gets its answer
again; a new one gets a random answer and a random price, if the price still fits under a cap; the number of answers and
what was spent are the state. What a worker has replied is in a file of its own, written after the turn. Workers are
killed; then the ledger must hold every reply, with the same answers, a state that went nowhere back, and a sum below
the cap.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pcqr.durable.ledger import create_ledger, open_ledger
from pcqr.durable.ledger import store as points
from pcqr.errors import LedgerError
from support import postgres

QUESTIONS = 20_000
"""Few enough that many are asked again."""
BATCH = 8
RANDOM = "a random instant"
SERVER = "the server killed"


@dataclass
class Tally:
    """What was seen after the kills at one point. All but the first three must be 0."""

    store: str
    point: str
    kills: int = 0
    replies: int = 0
    unreplied: int = 0
    """Answers that were recorded and not replied: nobody saw them, and they count."""
    lost: int = 0
    changed: int = 0
    went_back: int = 0
    over_cap: int = 0
    refused: int = 0
    """The ledger did not open."""

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.changed or self.went_back or self.over_cap or self.refused)


@dataclass
class Subject:
    """One ledger that is worked on and killed, and what is known of it."""

    store: str
    place: str
    folder: Path
    room: int
    """What may be spent at each point: the cap rises by it, so that there are new answers at all of them."""
    server: postgres.Server | None = None
    is_hasty: bool = False
    """Do workers reply before the turn has ended? Then answers must get lost: a test of this test."""
    answers: dict[str, str] = field(default_factory=dict)
    cap: int = 0
    seen: int = 0
    best: tuple[int, int] = (0, 0)

    @property
    def anchor(self) -> Path:
        return self.folder / "anchor"

    def check(self, tally: Tally, replies: Sequence[Path]) -> None:
        """Compare the ledger with everything that was replied."""
        try:
            ledger = open_ledger(self.place, "release", self.anchor)
        except LedgerError as error:
            tally.refused += 1
            print(error, file=sys.stderr)
            return
        with ledger:
            fresh = 0
            for entry in ledger.entries(after=self.seen):
                assert entry.keys is not None
                self.answers[entry.keys.decode()] = entry.body.decode()
                fresh += 1
            self.seen = ledger.last.seq
            state = read_state(ledger.state)
            prices = sum(int(answer.split()[1]) for answer in self.answers.values())
            if state < self.best or state != (self.seen, prices):
                tally.went_back += 1
            self.best = max(self.best, state)
            tally.over_cap += prices > self.cap
        first_replies: set[str] = set()
        for path in replies:
            lines = path.read_text().split("\n")[:-1] if path.exists() else []
            for line in lines:
                question, answer = line.split(" ", 1)
                tally.replies += 1
                tally.lost += question not in self.answers
                tally.changed += self.answers.get(question, answer) != answer
                first_replies.add(question)
        tally.unreplied += max(0, fresh - len(first_replies))


def read_state(state: bytes) -> tuple[int, int]:
    """(answers, what was spent)"""
    first, second = json.loads(state or b"[0, 0]")
    return first, second


def work(subject: Subject, replies: Path, seed: int, point: str | None, nth: int) -> None:
    """Answer questions until killed; at the `nth` time that `point` is reached, by this process itself."""
    rng, times = random.Random(seed), 0  # noqa: S311

    def watch(reached: str) -> None:
        nonlocal times
        times += reached == point
        if times == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    shown = os.open(replies, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with points.watched(watch), open_ledger(subject.place, "release", subject.anchor) as ledger:
        while True:
            asked = {f"q{rng.randrange(QUESTIONS)}" for _ in range(BATCH)}
            with ledger.transaction() as transaction:
                known = {
                    key.decode(): entry.body.decode()
                    for key, entry in transaction.find([q.encode() for q in asked]).items()
                }
                count, spent = read_state(transaction.state)
                for question in sorted(asked - known.keys()):
                    price = rng.randrange(3)
                    if spent + price <= subject.cap:
                        known[question] = f"{os.urandom(8).hex()} {price}"
                        transaction.append("answer", known[question].encode(), question.encode())
                        count, spent = count + 1, spent + price
                transaction.state = json.dumps([count, spent]).encode()
                told = "".join(f"{question} {answer}\n" for question, answer in known.items()).encode()
                if subject.is_hasty:
                    os.write(shown, told)
            if not subject.is_hasty:
                os.write(shown, told)


def start(subject: Subject, replies: Path, seed: int, point: str | None, nth: int) -> int:
    if pid := os.fork():
        return pid
    try:
        work(subject, replies, seed, point, nth)
    except BaseException as error:
        if not (subject.server and isinstance(error, LedgerError)):  # whose server is killed is told so
            print(f"a worker failed: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(1)


def is_at_work(replies: Path) -> bool:
    return replies.exists() and replies.stat().st_size > 0


def round_of_kills(subject: Subject, tally: Tally, rng: random.Random, workers: int) -> None:
    """Start workers, kill them all, check."""
    is_named = tally.point not in (RANDOM, SERVER)
    replies = [subject.folder / f"replies {number}" for number in range(workers)]
    for path in replies:
        path.unlink(missing_ok=True)
    point = tally.point if is_named else None
    running = [start(subject, path, rng.getrandbits(32), point, rng.randint(1, 4)) for path in replies]
    deadline = time.monotonic() + 10.0
    while not is_named and time.monotonic() < deadline and not all(map(is_at_work, replies)):
        time.sleep(0.001)  # under load: all of them work
    if tally.point == SERVER and subject.server is not None:
        time.sleep(rng.uniform(0.02, 0.2))
        subject.server.stop("immediate")
        subject.server.start()
        tally.kills += 1
    for pid in running:
        if not is_named:
            time.sleep(rng.uniform(0.0, 0.06))
            tally.kills += tally.point == RANDOM
            os.kill(pid, signal.SIGKILL)
        end = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if is_named:
            tally.kills += end == -signal.SIGKILL
    subject.check(tally, replies)


def campaign(subject: Subject, at_random: int, at_points: int, workers: int, servers: int, seed: int) -> list[Tally]:
    """Kills at random instants, so many at every named point of a turn, and kills of the server."""
    rng, tallies = random.Random(seed), []  # noqa: S311
    create_ledger(subject.place, "release", subject.anchor).close()
    for point, kills in ((RANDOM, at_random), *((each, at_points) for each in points.TURN), (SERVER, servers)):
        if kills:
            tallies.append(tally := Tally(subject.store, point))
            subject.cap += subject.room
            while tally.kills < kills and tally.is_good:
                round_of_kills(subject, tally, rng, workers)
    with open_ledger(subject.place, "release", subject.anchor, read_only=True) as ledger:
        ledger.verify()
    return tallies


def show(tallies: Sequence[Tally]) -> None:
    table = Table(title="Kills (SIGKILL) of processes that answer from a ledger", title_justify="left")
    names = (
        "store",
        "killed at",
        "kills",
        "replies",
        "recorded, not replied",
        "lost",
        "changed",
        "back",
        "over cap",
        "refused",
    )
    for number, name in enumerate(names):
        table.add_column(name, justify="left" if number < 2 else "right")
    for tally in tallies:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else value for value in asdict(tally).values()))
    Console(width=130).print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--seed", type=int, default=None, help="of the instants; what an operating system does is its own"
    )
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().getrandbits(32)
    folder = Path(tempfile.mkdtemp(prefix="pcqr"))
    try:
        (folder / "files").mkdir()
        tallies = campaign(Subject("SQLite", f"{folder}/ledger", folder / "files", room=1_500), 200, 20, 1, 0, seed)
        with postgres.server() as server:
            if server is None:
                print(postgres.MISSING)
            else:
                (folder / "tables").mkdir()
                subject = Subject("PostgreSQL", server.address("public"), folder / "tables", room=1_500, server=server)
                tallies += campaign(subject, 52, 12, 4, 5, seed)
    finally:
        shutil.rmtree(folder)
    show(tallies)
    good = all(tally.is_good for tally in tallies)
    print(f"seed {seed}: {'nothing replied was lost or changed' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
