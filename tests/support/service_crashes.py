"""Kills, under load, of a server that answers over HTTP: is anything lost, told twice over, or spent for nobody?

    make crash

Clients with keys, quotas and tokens ask for rows, near the border and far from it, new and old, by /v1 and /v2, and
send some requests again. The server is killed at random instants and at every named point of the order of writes, and
started anew; then whoever had no reply asks again. Now the ledger, read beside the server, must hold what was told and
nothing else; counts must be those of the replies, and none may have gone back; quotas and T must hold.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from rich.console import Console
from rich.table import Table

import pcqr.release
from pcqr.durable.ledger.store import TURN
from pcqr.releases.protocol.answers import Usage
from pcqr.server.keys import KeyFile
from support import postgres
from support.kept import fitted
from support.killed_server import KilledServer, ordered
from support.ledgers import new_folder

RANDOM = "a random instant"
MOST_UNSTABLE = 30
QUOTA = Usage(600, 8)
CLIENTS = 5
"""The first asks without tokens and without a quota."""
MOST_ROWS = 6
REPLY_SECONDS = 60.0
WAIT_SECONDS = 120.0
STOPPED = {(403, "quota_spent"), (410, "budget_exhausted")}

Said = tuple[int | None, int | None, str]
"""Label, coin and kind of one row."""


@dataclass
class Request:
    """What was asked, and what came back, once it has."""

    path: str
    rows: list[float]
    token: str | None
    status: int = 0
    said: tuple[Said, ...] = ()
    body: Any = None

    @property
    def content(self) -> dict[str, Any]:
        if self.path.startswith("/v1"):
            return {"x": [[x] for x in self.rows]}
        tensor = {"name": "x", "datatype": "FP64", "shape": [len(self.rows), 1], "data": self.rows}
        return {"inputs": [tensor]}

    def took(self, status: int, body: Any) -> None:
        """A reply: the first one, or one that must be the same."""
        said = read_reply(status, body)
        if not self.status:
            must(len(said) == len(self.rows) or status != 200, "a reply has not all rows")
            self.status, self.said, self.body = status, said, body
        elif self.token is not None and any(kind != "repeated" for *_, kind in self.said):
            must((self.status, self.said) == (status, said), "a request that was sent again got another reply")
            must(status != 200 or body == self.body, "a reply to the same request has other counts")
        else:  # nothing is kept of it: the log has its answers, and by now perhaps those of more rows
            labels = [each[:2] for each in said[: len(self.said)]]
            must(labels == [each[:2] for each in self.said], "a row that was asked again got another answer")


def read_reply(status: int, body: Any) -> tuple[Said, ...]:
    """The answers in a reply, or in a refusal of the rest."""
    if status == 200 and "outputs" in body:
        told = {each["name"]: each["data"] for each in body["outputs"]}
        each_row = zip(told["label"], told["kind"], told["is_answer"], strict=True)
        return tuple((label, None, kind) if is_answer else (None, label, kind) for label, kind, is_answer in each_row)
    must(status == 200 or (status, body["code"]) in STOPPED, f"status {status}: {body}")
    answers = body["answers"] if status == 200 else body["details"]["answered"]
    return tuple((each["label"], None if each["label"] is not None else each["coin"], each["kind"]) for each in answers)


class Client:
    """An asker with a key of its own, and all that it was told."""

    def __init__(self, name: str, key: str, allowance: Usage, *, has_tokens: bool) -> None:
        self.name, self.key, self.allowance, self.has_tokens = name, key, allowance, has_tokens
        self.done: list[Request] = []
        self.pending: Request | None = None
        self.sent_again = 0
        self.failure: AssertionError | None = None

    def work(self, port: int, over: threading.Event) -> None:
        """Ask until told to end, or until there is nobody to ask."""
        try:
            while not over.is_set():
                if not self.ask_once(port, over):
                    time.sleep(0.005)
        except AssertionError as error:
            self.failure = error

    def ask_once(self, port: int, over: threading.Event | None = None) -> bool:
        """Ask over one connection until it is lost: False. Without `over`, only what had no reply: True."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REPLY_SECONDS)
        try:
            while self.pending is not None or (over is not None and not over.is_set()):
                if self.pending is None:
                    self.pending = self._next()
                self._send(connection, self.pending)
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            return False
        finally:
            connection.close()
        return True

    def _send(self, connection: http.client.HTTPConnection, request: Request) -> None:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        if request.token is not None:
            headers["Idempotency-Key"] = request.token
        connection.request("POST", request.path, json.dumps(request.content), headers)
        reply = connection.getresponse()
        content = reply.read()
        is_again = request.status != 0
        request.took(reply.status, json.loads(content))
        self.sent_again += is_again
        if not is_again:
            self.done.append(request)
        self.pending = None

    def _next(self) -> Request:
        chance = random.random()  # noqa: S311
        if self.has_tokens and self.done and chance < 0.15:
            return random.choice(self.done[-200:])  # noqa: S311
        path = random.choice(("/v1/releases/ages/ask", "/v2/models/ages/infer"))  # noqa: S311
        if self.done and chance < 0.3:
            rows = list(random.choice(self.done).rows)  # noqa: S311
        else:
            rows = [_row() for _ in range(random.randint(1, MOST_ROWS))]  # noqa: S311
        return Request(path, rows, str(uuid4()) if self.has_tokens else None)


def _row() -> float:
    """Far from the border as a rule; some that others ask, too; some near the border."""
    chance = random.random()  # noqa: S311
    if chance < 0.03:
        return round(random.uniform(0.396, 0.404), 6)  # noqa: S311
    return round(random.uniform(0.0, 0.3), 3 if chance < 0.3 else 7)  # noqa: S311


def must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


@dataclass
class Run:
    """One release after the other, each served, killed and checked until it halts."""

    base: Path
    address: str | None = None
    workers: int = 1
    fault: str = ""
    releases: int = 0
    kills: dict[str, int] = field(default_factory=dict)
    had_no_reply: int = 0
    quotas: int = 0
    place: Path = Path()
    everybody: list[Client] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)
    gone: list[Client] = field(default_factory=list)
    """Clients of this release whose quota is used up: what they were told still counts."""
    spent: Usage = field(default_factory=lambda: Usage(0, 0))
    usages: dict[str | None, Usage] = field(default_factory=dict)

    def begin(self) -> None:
        """A new release, and new clients."""
        self.releases += 1
        self.place = self.base / f"release {self.releases}"
        fitted("agnostic", unstable=MOST_UNSTABLE).save(self.place, ledger=self.ledger, anchor=self.anchor).close()
        self.clients = [self._client(has_tokens=number > 0) for number in range(CLIENTS)]
        self.gone, self.spent, self.usages = [], Usage(0, 0), {}

    @property
    def ledger(self) -> str | None:
        return None if self.address is None else f"{self.address}&ledger=r{self.releases}"

    @property
    def anchor(self) -> Path:
        return self.base / f"anchor {self.releases}"

    def started(self) -> KilledServer:
        words = [
            f"ages={self.place}",
            "--anchor",
            f"ages={self.anchor}",
            "--keys",
            self.base / "keys.json",
            "--port",
            0,
        ]
        if self.ledger is not None:
            words += ["--ledger", f"ages={self.ledger}", "--workers", self.workers]
        return KilledServer(self.base, [str(word) for word in words], self.fault)

    def life(self, point: str) -> bool:
        """Start the server, settle what the last kill left open, and kill it under load; False: not at this point."""
        server = self.started()
        try:
            self._settle(server)
            if self.spent.unstable == MOST_UNSTABLE:
                self.begin()
                server.kill()
                server = self.started()
            else:
                self._replace_clients()
            is_killed = self._load(server, point)
        finally:
            server.kill()
        self.kills[point] = self.kills.get(point, 0) + is_killed
        return is_killed

    def end(self) -> None:
        """Settle what is open, and check the whole chain."""
        server = self.started()
        try:
            self._settle(server)
        finally:
            server.kill()
        with self._read() as release:
            release.quota_table().ledger.verify()

    def _load(self, server: KilledServer, point: str) -> bool:
        """False: the release halted, and then nothing moves its anchor any more."""
        over, before = threading.Event(), self._answered
        threads = [threading.Thread(target=client.work, args=(server.port, over)) for client in self.clients]
        for thread in threads:
            thread.start()
        try:
            if point == RANDOM:
                self._wait(lambda: self._answered > before + CLIENTS)
                time.sleep(random.uniform(0.0, 0.3))  # noqa: S311
                os.kill(random.choice(server.workers), signal.SIGKILL)  # noqa: S311
            else:
                ordered(server.order, point, random.randint(2, 30))  # noqa: S311
                self._wait(lambda: self._has_halted or not server.order.exists())
                if server.order.exists():
                    return False
            if self.workers == 1:
                self._wait(lambda: server.has_ended)
            else:
                time.sleep(random.uniform(0.0, 0.5))  # noqa: S311 - the others go on, and one is started anew
        finally:
            server.kill()
            over.set()
            for thread in threads:
                thread.join()
        self._check_clients()
        return True

    def _wait(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not holds():
            self._check_clients()
            must(time.monotonic() < deadline, "nothing happened for too long")
            time.sleep(0.002)

    def _check_clients(self) -> None:
        for client in self.clients:
            if client.failure is not None:
                raise client.failure

    @property
    def _has_halted(self) -> bool:
        return any(request.status == 410 for client in self.clients for request in client.done[-3:])

    @property
    def _answered(self) -> int:
        return sum(len(client.done) for client in self.clients)

    def _settle(self, server: KilledServer) -> None:
        """Whoever had no reply asks again; then everything is compared."""
        for client in self.clients:
            self.had_no_reply += client.pending is not None
            while not client.ask_once(server.port):
                must(not server.has_ended, "the server ended")
        self._check()

    def _replace_clients(self) -> None:
        """Those without a quota left, by new ones."""
        for place, client in enumerate(self.clients):
            if any(request.status == 403 for request in client.done):
                self.quotas += 1
                self.gone.append(client)
                self.clients[place] = self._client(has_tokens=True)

    def _check(self) -> None:
        with self._read() as release:
            lines = release.quota_table().answers(None, 0, 10**9)
            usages = release.quota_table().usages()
            spent = Usage(release.queries_answered_, release.unstable_answers_)
        kept = {float(line.point[0, 0]): (line.label, line.coin) for line in lines}
        must(len(kept) == len(lines) == spent.queries, "the count of queries is not that of the ledger")
        must(sum(line.label is None for line in lines) == spent.unstable, "nor that of unstable answers")
        must(_within(self.spent, spent), "a count of the release went back")
        must((spent.unstable or 0) <= MOST_UNSTABLE, "more than T answers are unstable")
        told = set[float]()
        for client in (*self.clients, *self.gone):
            for request in client.done:
                for x, (label, coin, _) in zip(request.rows, request.said, strict=False):
                    must(x in kept, "an answer was told that the ledger lacks")
                    must(kept[x] == (label, coin), "an answer was told that is another in the ledger")
                    told.add(x)
            self._check_usage(client, usages.get(client.name, Usage(0, 0)))
        must(told == set(kept), "something was spent that nobody got")
        queries, unstable = (sum(each[place] for each in map(_counts, usages.values())) for place in (0, 1))
        must(_within(spent, Usage(queries, unstable)), "something was spent that no asker has paid for")
        self.spent, self.usages = spent, usages

    def _check_usage(self, client: Client, used: Usage) -> None:
        must(_within(self.usages.get(client.name, Usage(0, 0)), used), "what an asker has used went back")
        must(client.allowance.queries is None or _within(used, client.allowance), "an asker has more than its quota")
        kinds = [kind for request in client.done for *_, kind in request.said]
        paid = len(kinds) - kinds.count("repeated"), kinds.count("unstable")
        if client.has_tokens:
            rows = {x for request in client.done for x, _ in zip(request.rows, request.said, strict=False)}
            must(len(rows) == used.queries, "an asker was not charged once for each of its rows, whoever else asked it")
            must(paid == _counts(used), "an asker was charged for other answers than it got")
        else:  # a lost reply was paid, and its rows are repeated ones when they are asked again
            must(_within(Usage(*paid), used), "an asker was charged for fewer answers than it got")

    def _read(self) -> Any:
        return closing(pcqr.release.open(self.place, ledger=self.ledger, anchor=self.anchor, read_only=True))

    def _client(self, *, has_tokens: bool) -> Client:
        name, allowance = f"asker-{len(self.everybody)}", QUOTA if has_tokens else Usage(None, None)
        key = KeyFile(self.base / "keys.json").create(name, "asker", allowance)
        self.everybody.append(Client(name, key, allowance, has_tokens=has_tokens))
        return self.everybody[-1]


def _counts(usage: Usage) -> tuple[int, int]:
    return usage.queries or 0, usage.unstable or 0


def _within(less: Usage, more: Usage) -> bool:
    return all(one <= other for one, other in zip(_counts(less), _counts(more), strict=True))


def crashes(points: Sequence[str], address: str | None = None, workers: int = 1, fault: str = "") -> Run:
    """A kill at each of `points`. Raises AssertionError with what went wrong."""
    base = new_folder()
    try:
        run = Run(base, address, workers, fault)
        run.begin()
        for point in points:
            while not run.life(point):
                pass  # a new release
        run.end()
        return run
    finally:
        shutil.rmtree(base, ignore_errors=True)


def some_points(count: int) -> list[str]:
    """Half of them random instants, the others every named point in turn."""
    return [RANDOM if number % 2 else TURN[number // 2 % len(TURN)] for number in range(count)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sqlite", type=int, default=50)
    parser.add_argument("--postgres", type=int, default=10)
    chosen = parser.parse_args()
    found = [("SQLite", crashes(some_points(chosen.sqlite)))]
    with postgres.server() as server:
        if server is None:
            Console().print(postgres.MISSING)
        elif chosen.postgres:
            server.run("CREATE SCHEMA crashes")
            found.append(("PostgreSQL", crashes(some_points(chosen.postgres), server.address("crashes"), workers=2)))
    header = ("store", "workers", "kills", "at", "replies", "had none", "sent again", "quotas used up", "halted")
    table = Table(*header, title="Kills of a server", title_justify="left")
    for store, run in found:
        at = ", ".join(f"{point}: {number}" for point, number in run.kills.items())
        replies, again = (sum(of(client) for client in run.everybody) for of in (_replies, _again))
        figures = replies, run.had_no_reply, again, run.quotas, run.releases - 1
        table.add_row(store, str(run.workers), str(sum(run.kills.values())), at, *(f"{each:,}" for each in figures))
    Console(width=140).print(table)
    return 0


def _replies(client: Client) -> int:
    return len(client.done)


def _again(client: Client) -> int:
    return client.sent_again


if __name__ == "__main__":
    sys.exit(main())
