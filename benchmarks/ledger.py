"""How fast is a ledger, and what does it cost to open one with a million entries?

    python -m benchmarks.ledger [--postgres ADDRESS]

Entries of 60 bytes with a random key of 32 bytes, as durable answers have them, or without keys; in each turn the keys
are looked up first. Ledger and head are on the disk of the temporary directory, with full sync: the speed of its `sync`
is measured beside them, and so is the processor's time. Numbers of this machine: run it on an idle one.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.accuracy import show, wide_console, write_json
from pcqr.files import sync_content
from pcqr.release.ledger import Ledger, create_ledger, open_ledger

RESULTS = Path("benchmarks/results/ledger.json")
MANY = 1_000_000
BODY = bytes(60)
HEADER = ("what", "store", "entries", "seconds", "a second", "processor's seconds")


@dataclass(frozen=True)
class Measured:
    """One measurement: `entries` in `seconds`, of which `processor` were computed here."""

    what: str
    store: str
    entries: int
    seconds: float
    processor: float
    load: float

    def row(self) -> list[str]:
        speed = f"{self.entries / self.seconds:,.0f}"
        return [self.what, self.store, f"{self.entries:,}", f"{self.seconds:.2f}", speed, f"{self.processor:.2f}"]


@contextmanager
def measuring(found: list[Measured], what: str, store: str, entries: int) -> Iterator[None]:
    load, start, computed = os.getloadavg()[0], time.perf_counter(), time.process_time()
    yield
    seconds, processor = time.perf_counter() - start, time.process_time() - computed
    found.append(Measured(what, store, entries, seconds, processor, load))


def fill(ledger: Ledger, entries: int, size: int, *, has_keys: bool = True) -> None:
    for start in range(0, entries, size):
        keys = [os.urandom(32) if has_keys else None for _ in range(size)]
        with ledger.turn() as turn:
            if has_keys:
                turn.find([key for key in keys if key is not None])
            for key in keys:
                turn.append("answer", BODY, *(() if key is None else (key,)))
            turn.state = b"%d" % start


def sync_speed(folder: Path, found: list[Measured]) -> None:
    """What the disk gives to anybody who waits for it: a block in place, synced."""
    descriptor = os.open(folder / "block", os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(descriptor, bytes(4096), 0)
    os.fsync(descriptor)
    with measuring(found, "sync of a block", "the disk itself", 200):
        for number in range(200):
            os.pwrite(descriptor, b"%0200d" % number, 0)
            sync_content(descriptor)
    os.close(descriptor)


def speeds(store: str, place: str, head: Path, found: list[Measured]) -> None:
    with create_ledger(place, "release", head) as ledger:
        for size, entries in ((1, 300), (10, 3_000), (100, 30_000), (1_000, 100_000)):
            with measuring(found, f"turns of {size:,}, keys", store, entries):
                fill(ledger, entries, size)
        with measuring(found, "turns of 100, no keys", store, 50_000):
            fill(ledger, 50_000, 100, has_keys=False)


def large(store: str, place: str, head: Path, found: list[Measured]) -> dict[str, float]:
    """A million entries in turns of 1,000: memory and speed while it grows, then opening, looking up, checking all."""
    peaks = {}
    with create_ledger(place, "release", head) as ledger:
        for step in range(4):
            with measuring(found, f"turns of 1,000, keys, part {step + 1} of 4", store, MANY // 4):
                fill(ledger, MANY // 4, 1_000)
            peaks[f"MiB after {(step + 1) * MANY // 4:,}"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with measuring(found, "open (checks its end and its head)", store, MANY):
        ledger = open_ledger(place, "release", head)
    with ledger:
        with measuring(found, "verify (checks all)", store, MANY):
            ledger.verify()
        with measuring(found, "look up, 100 keys at a time", store, 10_000):
            for _ in range(100):
                ledger.find([os.urandom(32) for _ in range(100)])
    with measuring(found, "open for reading", store, MANY):
        open_ledger(place, "release", head, read_only=True).close()
    return peaks


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--postgres", help="the address of a database to measure in, such as postgresql://user@host/name"
    )
    given = parser.parse_args()
    folder, found = Path(tempfile.mkdtemp()), list[Measured]()
    try:
        sync_speed(folder, found)
        speeds("SQLite", str(folder / "ledger"), folder / "anchor", found)
        if given.postgres:
            name = os.urandom(4).hex()
            place = f"{given.postgres}{'&' if '?' in given.postgres else '?'}ledger={name}"
            speeds("PostgreSQL", place, folder / "third head", found)
        peaks = large("SQLite", str(folder / "large"), folder / "other head", found)
    finally:
        shutil.rmtree(folder)
    console = wide_console()
    show("Ledgers", HEADER, [each.row() for each in found], console)
    console.print({name: round(peak) for name, peak in peaks.items()})
    write_json(RESULTS, {"body": len(BODY), "key": 32, **peaks}, [asdict(each) for each in found])


if __name__ == "__main__":
    main()
