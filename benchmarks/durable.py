"""How fast is a kept release beside one in memory, and what does a million answers cost in memory and at opening?

    python -m benchmarks.durable [--answers N]

A class on the line (thresholds), queries far from the border, in batches of 100, by one thread or by several, which
share turns. The directory and the head are in a temporary directory, with full sync; "no disk" puts them into memory,
where the system has such a place, and shows what the processor does. A batch of one thread waits for two syncs: how
long one takes is measured beside it, a block in place. Numbers of this machine: run it on an idle one.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pcqr.release
from benchmarks.accuracy import show, wide_console, write_json
from pcqr.files import sync_content
from pcqr.hypotheses import Thresholds

RESULTS = Path("benchmarks/results/durable.json")
BATCH = 100
MANY = 1_000_000
THREADS = 8
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=MANY, help="for memory and opening")
    chosen = parser.parse_args()
    rng, few = np.random.default_rng(1), 20_000
    in_memory = fitted()
    ask(in_memory, rng, BATCH)
    rows = [measured("in memory", few, lambda: ask(in_memory, rng, few))]
    threads = f", {THREADS} threads"
    rows.append(measured(f"in memory{threads}", few, lambda: ask_in_threads(in_memory, rng, few)))
    places = [("kept", None)] + ([("kept, no disk", MEMORY_DISK)] if MEMORY_DISK.is_dir() else [])
    for what, disk in places:
        folder = Path(tempfile.mkdtemp(dir=disk))
        try:
            kept = fitted().save(folder / "release", head=folder / "head")
            ask(kept, rng, BATCH)
            rows.append(measured(what, few, lambda kept=kept: ask(kept, rng, few)))
            rows.append(measured(f"{what}{threads}", few, lambda kept=kept: ask_in_threads(kept, rng, few)))
            rows.append(measured("syncs", few // BATCH, lambda folder=folder: sync(folder, few // BATCH)))
            if disk is None:
                rows.append(measured("kept, all", chosen.answers, lambda kept=kept: ask(kept, rng, chosen.answers)))
            kept.close()
            if disk is None:
                opened = lambda: pcqr.release.open(folder / "release", head=folder / "head").close()  # noqa: E731, B023
                rows.append(measured("opening it again", 0, opened))
        finally:
            shutil.rmtree(folder)
    show("Kept releases", HEADER, [row.row() for row in rows], wide_console())
    write_json(RESULTS, {"batch": BATCH}, [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
