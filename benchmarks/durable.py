"""How fast is a kept release beside one in memory, and what does a million answers cost in memory and at opening?

    python -m benchmarks.durable [--answers N]
    python -m benchmarks.durable --bloom-filter [--answers N]    new and repeated answers with and without the filter

A class on the line (thresholds), queries far from the border, in batches of 100, by one thread or by several, which
share turns. The directory and the anchor are in a temporary directory, with full sync; "no disk" puts them into memory,
where the system has such a place, and shows what the processor does. All take turns, nine times: the median counts. A
batch of one thread waits for two syncs: how long one takes is measured beside it, a block in place. Numbers of this
machine: run it on an idle one.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import pcqr.release
from benchmarks.accuracy import show, wide_console, write_json
from pcqr.durable.ledger.reading import Keys
from pcqr.files import sync_content
from pcqr.hypotheses import Thresholds

RESULTS = Path("benchmarks/results/durable.json")
BATCH = 100
MANY = 1_000_000
THREADS = 8
FEW, ROUNDS = 20_000, 9
FILTERS = ("with", "without")
MEMORY_DISK = Path("/dev/shm")  # noqa: S108
HEADER = ("what", "answers", "seconds", "a second", "processor's seconds", "peak memory, MB")


@dataclass(frozen=True)
class Measured:
    """One measurement; `peak` is the most memory that the process has had so far."""

    what: str
    answers: int
    seconds: float
    processor: float
    peak: float

    def row(self) -> list[str]:
        speed = f"{self.answers / self.seconds:,.0f}" if self.answers else ""
        figures = (f"{self.answers:,}", f"{self.seconds:.2f}", speed, f"{self.processor:.2f}", f"{self.peak:.0f}")
        return [self.what, *figures]


def fitted() -> Any:
    X = np.random.default_rng(0).uniform(0.0, 10.0, size=(20_000, 1))
    return pcqr.AgnosticRelease(Thresholds(), epsilon=2.0, queries=30).fit(X, (X[:, 0] > 6.0).astype(int))


def measured(what: str, answers: int, act: Any) -> Measured:
    start, computed = time.perf_counter(), time.process_time()
    act()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(what, answers, time.perf_counter() - start, time.process_time() - computed, peak)


def ask(release: Any, rng: np.random.Generator, answers: int) -> None:
    for _ in range(answers // BATCH):
        release.predict(rng.uniform(0.0, 4.0, size=(BATCH, 1)))


def ask_in_threads(release: Any, rng: np.random.Generator, answers: int) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        parts = [pool.submit(ask, release, own, answers // THREADS) for own in rng.spawn(THREADS)]
        for part in parts:
            part.result()


def sync(folder: Path, times: int) -> None:
    """Write and sync a block, so many times: what a disk gives to anybody who waits for it."""
    descriptor = os.open(folder / "block", os.O_RDWR | os.O_CREAT, 0o600)
    for number in range(times):
        os.pwrite(descriptor, b"%0200d" % number, 0)
        sync_content(descriptor)
    os.close(descriptor)


def side_by_side(ways: dict[str, Any], rng: np.random.Generator, answers: int) -> list[Measured]:
    """Every way in turn, `ROUNDS` times; of each the median by seconds."""
    rounds: dict[str, list[Measured]] = {}
    for _ in range(ROUNDS):
        for what, release in ways.items():
            for name, act in ((what, ask), (f"{what}, {THREADS} threads", ask_in_threads)):
                found = measured(name, answers, lambda act=act, release=release: act(release, rng, answers))
                rounds.setdefault(name, []).append(found)
    return [sorted(found, key=lambda each: each.seconds)[len(found) // 2] for found in rounds.values()]


def bloom_filter(answers: int, rng: np.random.Generator) -> list[list[str]]:
    """Return microseconds of the processor for an answer once so many are logged, with and without the Bloom filter."""
    without = patch.object(Keys, "may_contain", lambda _self, _store, _connection, keys, _end: keys)
    seconds: dict[tuple[str, int, str], list[float]] = {}
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None) as folder:
        releases = {name: fitted().save(f"{folder}/{name}", anchor=f"{folder}/anchor of {name}") for name in FILTERS}
        asked = rng.uniform(0.0, 4.0, size=(answers, 1))
        for name, release in releases.items():
            with without if name == "without" else nullcontext():
                for rows in np.array_split(asked, max(1, answers // 1_000)):
                    release.predict(rows)
        for size, _, (name, release) in product((1, BATCH, 10 * BATCH), range(ROUNDS), releases.items()):
            old = asked[rng.integers(0, answers, size)]
            with without if name == "without" else nullcontext():
                for what, rows in (("new", rng.uniform(0.0, 4.0, size=(size, 1))), ("repeated", old)):
                    start = time.process_time()
                    release.predict(rows)
                    seconds.setdefault((what, size, name), []).append((time.process_time() - start) / size)
        for release in releases.values():
            release.close()
    return [[*map(str, case), f"{1e6 * sorted(found)[ROUNDS // 2]:.1f}"] for case, found in sorted(seconds.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bloom-filter", action="store_true")
    parser.add_argument("--answers", type=int, default=MANY, help="for memory and opening")
    chosen = parser.parse_args()
    rng = np.random.default_rng(1)
    if chosen.bloom_filter:
        header = ("answers", "in a batch", "Bloom filter", "microseconds of the processor")
        show("Bloom filter", header, bloom_filter(chosen.answers, rng), wide_console())
        return
    folders = {"kept": Path(tempfile.mkdtemp())}
    if MEMORY_DISK.is_dir():
        folders["kept, no disk"] = Path(tempfile.mkdtemp(dir=MEMORY_DISK))
    try:
        ways = {"in memory": fitted()}
        for what, folder in folders.items():
            ways[what] = fitted().save(folder / "release", anchor=folder / "anchor")
        for release in ways.values():
            ask(release, rng, BATCH)
        rows = side_by_side(ways, rng, FEW)
        place = folders["kept"]
        rows.append(measured("syncs", FEW // BATCH, lambda: sync(place, FEW // BATCH)))
        rows.append(measured("kept, all", chosen.answers, lambda: ask(ways["kept"], rng, chosen.answers)))
        for what in folders:
            ways[what].close()
        opened = lambda: pcqr.release.open(place / "release", anchor=place / "anchor").close()  # noqa: E731
        rows.append(measured("opening it again", 0, opened))
    finally:
        for folder in folders.values():
            shutil.rmtree(folder)
    show("Kept releases", HEADER, [row.row() for row in rows], wide_console())
    write_json(RESULTS, {"batch": BATCH, "rounds": ROUNDS}, [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
