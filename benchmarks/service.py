"""What does a request cost a server? Requests a second, their times and processor time, on disk and in memory.

    python -m benchmarks.service [--rounds N] [--seconds S] [--answers 1000000]
    python -m benchmarks.service --cost     # processor time alone, beside a bare FastAPI endpoint; writes nothing
    python -m benchmarks.service --rounds 0 --answers 1000000       # memory alone: the last speeds stay

One worker, 64 connections, one new query a request, by /v1 ask and by /v2 infer. The servers take turns, round by
round, so that other work on the machine slows all of them; shares are medians over rounds. `--answers` measures the
memory of the durable server, too, while it gives so many answers. Numbers of this machine: run it on an idle one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.accuracy import markdown, show, wide_console
from benchmarks.pages import put_between
from benchmarks.service_load import Load

RESULTS = Path("benchmarks/results/service.json")
PAGE = Path("docs/service.md")
CONNECTIONS = 64
BATCH = 100
BATCH_CONNECTIONS = 8
STEPS = 5
WARM_UP = 1.0
LONG = 3_600.0
TARGET = 0.6
AGAIN = (("durable", "v1-again"), ("durable", "v2-again"))
COST = (("durable", "v1"), ("durable", "v2"), *AGAIN, ("starlette", "bare"), ("bare", "bare"))
CASES = (*COST, ("memory", "v1"), ("memory", "v2"), ("echo", "echo"))
WORDS = {
    "durable": "`pcqr serve`, on disk",
    "memory": "the same without a ledger",
    "bare": "a bare FastAPI POST",
    "starlette": "a bare Starlette POST",
    "echo": "a server that does nothing: the load's ceiling",
}
_V1, _V2 = "`/v1/releases/…/ask`", "`/v2/models/…/infer`"
ENDPOINTS = {"v1": _V1, "v2": _V2, "v1-again": f"{_V1}, repeated", "v2-again": f"{_V2}, repeated"}
HEADER = (
    *("server", "endpoint", "requests a second", "p50, ms", "p99, ms", "of the one without a ledger"),
    *("processor, µs", "times the bare FastAPI POST"),
)
TICK = 1e6 / os.sysconf("SC_CLK_TCK")
"""Microseconds in which the system counts the time of a process."""


@dataclass(frozen=True)
class Case:
    """One server and endpoint: medians over rounds. `share`: of the same endpoint without a ledger, round by round."""

    server: str
    ask: str
    speed: float
    p50: float
    p99: float
    load: float
    """Share of one processor that the load itself took."""
    share: float | None
    cost: float | None = None
    """Microseconds of processor time that the server took for one request, in the round in which that was least."""
    times_bare: float | None = None
    """How many times that of the bare FastAPI endpoint."""

    def row(self) -> list[str]:
        share = "" if self.share is None else f"{self.share:.0%}"
        times = "" if self.times_bare is None else f"{self.times_bare:.2f}"
        cost = "" if self.cost is None else f"{self.cost:.0f}"
        figures = (f"{self.speed:,.0f}", f"{self.p50:.1f}", f"{self.p99:.1f}", share, cost, times)
        return [WORDS[self.server], ENDPOINTS.get(self.ask, ""), *figures]


@dataclass(frozen=True)
class Running:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    port: int

    @property
    def memory(self) -> float:
        """MiB that it has in memory now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    @property
    def processor(self) -> float:
        """Microseconds of processor time that it has taken so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
        return TICK * (int(fields[11]) + int(fields[12]))

    def cost(self, *options: object) -> tuple[Load, float]:
        """A load, and the microseconds of processor time that each of its requests took here."""
        before = self.processor
        load = self.load(*options)
        return load, (self.processor - before) / load.sent

    def load(self, *options: object) -> Load:
        command = [sys.executable, "-m", "benchmarks.service_load", "--port", self.port, *options]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)  # noqa: S603
        found = Load(**json.loads(done.stdout))
        assert not found.failed, "a request was refused"
        return found


@contextmanager
def running(name: str) -> Iterator[Running]:
    """A server of `benchmarks.service_servers`, with a folder on disk."""
    folder = Path(tempfile.mkdtemp())
    command = [sys.executable, "-m", "benchmarks.service_servers", name, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
    try:
        yield Running(process, _port(process))
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _port(process: subprocess.Popen[str]) -> int:
    """Of the address that the server says, in JSON."""
    said = ""
    assert process.stdout is not None
    while True:
        line = process.stdout.readline()
        assert line, f"the server ended: {said}"
        said += line
        try:
            return int(json.loads(said)["url"].rstrip("/").rpartition(":")[2])
        except json.JSONDecodeError:
            continue


def speeds(cases: Sequence[tuple[str, str]], rounds: int, seconds: float, connections: int) -> list[Case]:
    """All servers wait; one at a time has the load. Every other round goes the other way round."""
    found: dict[tuple[str, str], list[tuple[Load, float]]] = {case: [] for case in cases}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(running(name)) for name in {server for server, _ in cases}}
        for number in range(rounds):
            for server, ask in cases if number % 2 == 0 else reversed(cases):
                options = ("--ask", ask, "--connections", connections, "--warm-up", WARM_UP, "--seconds", seconds)
                found[server, ask].append(servers[server].cost(*options))
    return [_case(*case, found) for case in cases]


def _case(server: str, ask: str, found: Mapping[tuple[str, str], Sequence[tuple[Load, float]]]) -> Case:
    loads, costs = zip(*found[server, ask], strict=True)
    share = None
    if server == "durable" and ("memory", ask) in found:
        share = median(one.speed / other.speed for one, (other, _) in zip(loads, found["memory", ask], strict=True))
    least, bare = min(costs), min(cost for _, cost in found["bare", "bare"])  # other work on the machine only adds
    times = None if server == "echo" else least / bare
    of = {name: median(getattr(load, name) for load in loads) for name in ("speed", "p50", "p99", "processor")}
    return Case(server, ask, of["speed"], of["p50"], of["p99"], of["processor"], share, least, times)


def memory(answers: int) -> dict[str, Any]:
    """MiB of the durable server before, and after each part of so many answers, in requests of 100 rows.

    One more part comes first: SQLite's cache has a fixed size, and is full after that.
    """
    requests = answers // BATCH // STEPS
    options = ("--connections", BATCH_CONNECTIONS, "--rows", BATCH, "--seconds", LONG)
    with running("durable") as server:
        server.load(*options, "--most", requests)
        resident = [server.memory]
        for _ in range(STEPS):
            server.load(*options, "--most", requests)
            resident.append(server.memory)
    return {"answers": requests * BATCH * STEPS, "resident": resident}


def in_words(found: dict[str, Any]) -> str:
    figures = ", ".join(f"{each:.0f}" for each in found["resident"])
    return (
        f"Memory of the server, after {found['answers'] // STEPS:,} answers that fill SQLite's cache and after each "
        f"fifth of {found['answers']:,} more, in requests of {BATCH} rows: {figures} MiB."
    )


def page(results: dict[str, Any]) -> str:
    """What docs/service.md shows."""
    table = markdown(HEADER, [Case(**case).row() for case in results["cases"]])
    return f"{table}\n\n{in_words(results['memory'])}" if results["memory"] else table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="0: the last speeds stay")
    parser.add_argument("--seconds", type=float, default=5.0, help="of one server in one round")
    parser.add_argument("--answers", type=int, default=0, help="for memory; 0: the last figures stay")
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--cost", action="store_true", help="processor time alone; writes nothing")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    given = parser.parse_args()
    if given.cost:
        cases = speeds(COST, given.rounds, given.seconds, given.connections)
        show("What a request costs a server", HEADER, [case.row() for case in cases], wide_console())
        return
    before = json.loads(RESULTS.read_text(encoding="utf-8"))
    settings = {"rounds": given.rounds, "seconds": given.seconds, "processors": os.cpu_count()}
    if given.rounds:
        cases = speeds(CASES, given.rounds, given.seconds, given.connections)
    else:
        cases, settings = [Case(**case) for case in before["cases"]], before["settings"]
    found = memory(given.answers) if given.answers else before["memory"]
    console = wide_console()
    show("What durability costs a server", HEADER, [case.row() for case in cases], console)
    console.print(
        f"the load took {max(case.load for case in cases if case.server != 'echo'):.0%} of a processor at most"
    )
    if found:
        console.print(in_words(found))
    short = [case for case in cases if case.share is not None and case.share < TARGET]
    console.print(f"below {TARGET:.0%}: {', '.join(case.ask for case in short) or 'none'}")
    if given.dry:
        return
    results = {"settings": settings, "memory": found, "cases": [asdict(case) for case in cases]}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    put_between(PAGE, "speed", page(results))


if __name__ == "__main__":
    main()
