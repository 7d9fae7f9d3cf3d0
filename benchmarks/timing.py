"""Can the time of a reply tell an unstable answer from a stable one, and does --reply-every prevent it?

    python -m benchmarks.timing [--replies N] [--period MS] [--only CLASS] [--out FILE]

A real server (`pcqr serve`) on loopback, asked by a client of its own that does nothing but keep the time. Each request
asks one new point: by the toss of a coin from where the votes are near a tie, or from where they agree. So a classifier
that was trained on the times of one half of the replies can do better than a coin on the other half only if times tell
something. Half-planes are the hard case: their unstable points lie *on* the line of a third of the teachers, where a
longer computation decides. Thresholds are the usual case: all points take the same steps.

Two scores are tried: a classifier on all times, and the duration of the reply alone. The area under the curve (AUC) of
a useless score has a known law, whatever it is and whatever the times are, since coins made the classes: its standard
error follows from the two numbers of replies. "Answered apart" is an AUC of either further from a half than chance
allows but once in 1,000 runs; the smallest AUC of the classifier that is found nearly always (99 in 100) is stated.

Without the option few connections ask, so that each reply's own time is seen as well as can be; with it many do, since
each waits for its ticks. Times of late replies may tell something: their number is stated, and should be next to none.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy.stats import norm, rankdata
from sklearn.ensemble import HistGradientBoostingClassifier

import pcqr
from benchmarks.accuracy import markdown, read_cases, show, wide_console, write_json
from benchmarks.pages import put_between
from pcqr.errors import WeakGuarantee
from pcqr.hypotheses import Halfspaces, Thresholds

RESULTS = Path("benchmarks/results/timing.json")
PAGE = Path("docs/service.md")
REPLIES = 100_000
FALSE_ALARM, POWER = 1e-3, 0.99
WARM_UP = 300
"""Replies that are thrown away: code is compiled, caches fill."""
NEAR = 2.0**-50
MEMORY_DISK = Path("/dev/shm")  # noqa: S108
"""Where the release is, if it is there: a disk's own whims would hide differences that this is to find."""
FloatArray = NDArray[np.float64]
HEADER = (
    *("class", "--reply-every", "replies", "unstable", "late", "median, stable", "median, unstable"),
    *("AUC of a classifier", "found from", "AUC of the duration", "told apart"),
)


@dataclass(frozen=True)
class Case:
    """A release, and where its hard and its easy points are."""

    name: str
    release: Callable[[int], pcqr.SubsampleAggregate]
    hard: Callable[[FloatArray], FloatArray]
    easy: Callable[[FloatArray], FloatArray]


def half_planes(replies: int) -> pcqr.SubsampleAggregate:
    """Records at four places, two of which, on the diagonal, have labels by coin: a third of all lines join these."""
    rng = np.random.default_rng(0)
    places = np.array([[NEAR, NEAR], [1.0, 1.0], [0.5, 5.0], [0.5, -5.0]])
    at = rng.integers(0, 4, 100_000)
    y = np.where(at < 2, rng.integers(0, 2, at.size), (at == 2).astype(np.int64))
    return _fitted(Halfspaces(), 5_001, replies, places[at], y)


def thresholds(replies: int) -> pcqr.SubsampleAggregate:
    X = np.random.default_rng(0).random((100_000, 1))
    return _fitted(Thresholds(), 5_001, replies, X, (X[:, 0] > 0.4).astype(np.int64))


def _fitted(
    hypotheses: Halfspaces | Thresholds, teachers: int, replies: int, X: FloatArray, y: NDArray[np.int64]
) -> pcqr.SubsampleAggregate:
    """Every reply may be unstable: only a large ε allows that. It is the time that is looked at here."""
    release = pcqr.SubsampleAggregate(
        hypotheses,
        epsilon=math.sqrt(replies) / 15,
        delta=1e-6,
        queries=replies,
        unstable=replies + WARM_UP,
        teachers=teachers,
    )
    return release.fit(X, y)


CASES = (
    Case(
        "half-planes",
        half_planes,
        lambda u: np.column_stack((0.6 + 0.3 * u, 0.6 + 0.3 * u)),
        lambda u: np.column_stack((0.6 + 0.3 * u, 5.6 + 0.3 * u)),
    ),
    Case("thresholds", thresholds, lambda u: (0.39995 + 0.0001 * u)[:, None], lambda u: (0.1 + 0.0001 * u)[:, None]),
)


@dataclass(frozen=True)
class Times:
    """When each request was sent and when its reply came, in nanoseconds; its connection; was it hard, and unstable?"""

    sent: NDArray[np.int64]
    came: NDArray[np.int64]
    connection: NDArray[np.int64]
    is_hard: NDArray[np.bool_]
    is_unstable: NDArray[np.bool_]

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Unstable replies, and stable ones to easy points. Hard points that were answered are neither."""
        return self.is_unstable | ~self.is_hard


@dataclass(frozen=True)
class Found:
    """What a classifier makes of the times of one server."""

    case: str
    reply_every_ms: float | None
    connections: int
    replies: int
    unstable: int
    seconds: float
    median_stable_us: float
    median_unstable_us: float
    auc: float
    error: float
    auc_of_duration: float
    error_of_duration: float
    smallest_found: float
    late: int
    is_told_apart: bool

    def row(self) -> list[str]:
        every = "no" if self.reply_every_ms is None else f"{self.reply_every_ms:g} ms"
        return [
            *(self.case, every, f"{self.replies:,}", f"{self.unstable:,}", f"{self.late:,}"),
            *(f"{self.median_stable_us:,.0f} µs", f"{self.median_unstable_us:,.0f} µs"),
            *(f"{self.auc:.4f} ± {self.error:.4f}", f"{self.smallest_found:.4f}"),
            f"{self.auc_of_duration:.4f} ± {self.error_of_duration:.4f}",
            "yes" if self.is_told_apart else "no",
        ]


def auc(score: FloatArray, is_one: NDArray[np.bool_]) -> float:
    """The chance that a reply of the one class has a larger score than one of the other; a tie counts as half."""
    ones = int(is_one.sum())
    return float((rankdata(score)[is_one].sum() - ones * (ones + 1) / 2) / (ones * (is_one.size - ones)))


def null_error(ones: int, others: int) -> float:
    """The standard error of the AUC of a score that has nothing to do with the classes (Mann and Whitney)."""
    return math.sqrt((ones + others + 1) / (12 * ones * others))


def features(times: Times, period: float | None) -> FloatArray:
    """What somebody who sees all times can look at: the reply's own, its neighbours', where on the grid they lie."""
    taken = (times.came - times.sent) / 1e3
    order = np.argsort(times.came, kind="stable")
    gap = np.empty(taken.size)
    gap[order] = np.diff(times.came[order], prepend=times.came[order[0]]) / 1e3
    after = np.empty(taken.size)
    after[order] = np.append(gap[order][1:], 0.0)
    before = np.zeros(taken.size)
    for number in np.unique(times.connection):
        own = np.flatnonzero(times.connection == number)
        before[own[1:]] = taken[own[:-1]]
    columns = [taken, gap, after, before]
    if period is not None:
        columns += [(times.came / 1e3) % (period * 1e6), (times.sent / 1e3) % (period * 1e6)]
    return np.column_stack(columns)


def judged(case: str, times: Times, period: float | None, connections: int, seconds: float, late: int) -> Found:
    """Train on every other reply, look at the rest."""
    kept = times.compared
    table, is_one = features(times, period)[kept], times.is_unstable[kept]
    train = np.random.default_rng(0).permutation(is_one.size) % 2 == 0
    model = HistGradientBoostingClassifier(random_state=0).fit(table[train], is_one[train])
    test, truth = table[~train], is_one[~train]
    found, ones = auc(model.predict_proba(test)[:, 1], truth), int(truth.sum())
    error = null_error(ones, truth.size - ones)
    taken = table[:, 0]
    of_duration, its_error = auc(taken, is_one), null_error(int(is_one.sum()), int((~is_one).sum()))
    surprise = norm.isf(
        FALSE_ALARM / 2
    )  # of the classifier to one side, and of the duration to both, half of that each
    is_surprising = found - 0.5 > surprise * error or abs(of_duration - 0.5) > norm.isf(FALSE_ALARM / 4) * its_error
    return Found(
        case=case,
        reply_every_ms=None if period is None else period * 1e3,
        connections=connections,
        replies=times.sent.size,
        unstable=int(times.is_unstable.sum()),
        seconds=seconds,
        median_stable_us=float(np.median(taken[~is_one])),
        median_unstable_us=float(np.median(taken[is_one])),
        auc=found,
        error=error,
        auc_of_duration=of_duration,
        error_of_duration=its_error,
        smallest_found=0.5 + (surprise + norm.ppf(POWER)) * error,
        late=late,
        is_told_apart=bool(is_surprising),
    )


@contextmanager
def served(folder: Path, period: float | None) -> Iterator[str]:
    """`pcqr serve` in a process of its own: its address."""
    words = [
        sys.executable,
        "-m",
        "pcqr",
        "serve",
        f"timed={folder / 'release'}",
        "--anchor",
        f"timed={folder / 'anchor'}",
    ]
    words += ["--port", "0", "--json", *([] if period is None else ["--reply-every", f"{period * 1e3:g}ms"])]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
    try:
        if process.stdout is None:
            raise AssertionError
        told = "".join(iter(process.stdout.readline, "}\n")) + "}"
        yield json.loads(told)["url"]
    finally:
        process.terminate()
        process.wait()


def requests(case: Case, replies: int) -> tuple[list[bytes], NDArray[np.bool_]]:
    """All requests, of one length each: hard or easy by the toss of a coin."""
    rng = np.random.default_rng(1)
    is_hard, u = rng.integers(0, 2, replies) == 1, rng.random(replies)
    points = np.where(is_hard[:, None], case.hard(u), case.easy(u))
    made = []
    for point in points:
        data = ",".join(f"{value:.17f}" for value in point)
        tensor = f'{{"name":"x","datatype":"FP64","shape":[1,{point.size}],"data":[{data}]}}'
        body = f'{{"inputs":[{tensor}]}}'
        linear = f"POST /v2/models/timed/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        made.append((linear + body).encode())
    return made, is_hard


async def asked(
    port: int, made: list[bytes], is_hard: NDArray[np.bool_], connections: int, tell: Callable[[int], None]
) -> Times:
    """Send all requests, each connection one after the other, and note the times."""
    count = len(made)
    sent, came, where = (np.zeros(count, np.int64) for _ in range(3))
    is_unstable = np.zeros(count, bool)
    waiting = iter(range(count))

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for place in waiting:
            sent[place], where[place] = time.monotonic_ns(), number
            writer.write(made[place])
            linear = await reader.readuntil(b"\r\n\r\n")
            came[place] = time.monotonic_ns()
            length = int(linear.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            if b" 200 " not in linear[:20]:
                raise RuntimeError(body.decode())
            is_unstable[place] = b'"unstable"' in body
            if place % 1_000 == 0:
                tell(place)
        writer.close()

    await asyncio.gather(*map(one, range(connections)))
    return Times(sent, came, where, is_hard, is_unstable)


def measured(case: Case, folder: Path, replies: int, period: float | None, connections: int, console: Console) -> Found:
    """One server, all replies."""
    made, is_hard = requests(case, replies + WARM_UP)

    def tell(done: int) -> None:
        console.print(f"{case.name}, reply-every {period}: {done:,} of {len(made):,}", end="\r")

    gc.disable()
    try:
        with served(folder, period) as address:
            began = time.monotonic()
            times = asyncio.run(asked(int(address.rpartition(":")[2]), made, is_hard, connections, tell))
            seconds = time.monotonic() - began
            with urllib.request.urlopen(f"{address}/metrics") as reply:  # noqa: S310
                lines = reply.read().decode().splitlines()
    finally:
        gc.enable()
    late = next(int(float(line.split()[1])) for line in lines if line.startswith("pcqr_late_replies_total"))
    after = Times(*(getattr(times, name)[WARM_UP:] for name in times.__dataclass_fields__))
    return judged(case.name, after, period, connections, seconds, late)


def earlier(path: Path) -> list[Found]:
    """What an earlier run has found, if there was one."""
    return read_cases(path, Found)


def in_order(found: Sequence[Found], before: Sequence[Found]) -> list[Found]:
    """The new results, and those of `before` for classes that have no new ones, in the order of `CASES`."""
    is_new = {each.case for each in found}
    kept = [*found, *(each for each in before if each.case not in is_new)]
    return sorted(kept, key=lambda each: [case.name for case in CASES].index(each.case))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=REPLIES)
    parser.add_argument("--connections", type=int, default=2, help="without the option")
    parser.add_argument("--more-connections", type=int, default=40, help="with it")
    parser.add_argument("--period", type=float, default=50.0, help="milliseconds of --reply-every")
    parser.add_argument("--only", choices=[case.name for case in CASES], help="one class; results of others are kept")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    console = Console(stderr=True)
    found: list[Found] = []
    disk = MEMORY_DISK if MEMORY_DISK.is_dir() else None
    for case in (case for case in CASES if chosen.only in (None, case.name)):
        with tempfile.TemporaryDirectory(dir=disk) as name:
            fresh = Path(name) / "fresh"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WeakGuarantee)
                case.release(chosen.replies).save(fresh / "release", anchor=fresh / "anchor").close()
            for period, connections in (
                (None, chosen.connections),
                (chosen.period / 1e3, chosen.more_connections),
            ):
                folder = shutil.copytree(fresh, Path(name) / str(period))
                found.append(measured(case, folder, chosen.replies, period, connections, console))
                console.print(" ".join(found[-1].row()))
    found = in_order(found, [] if chosen.only is None else earlier(chosen.out))
    if chosen.out == RESULTS:
        put_between(PAGE, "timing", markdown(HEADER, [each.row() for each in found]))
    show("Can times tell stable and unstable replies apart?", HEADER, [each.row() for each in found], wide_console())
    settings = {"false_alarm": FALSE_ALARM, "power": POWER}
    write_json(chosen.out, settings, [asdict(each) for each in found])


if __name__ == "__main__":
    main()
