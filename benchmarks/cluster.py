"""Counting on a Dask cluster of one worker of one thread, and of two such workers: how much faster are two?

    python -m benchmarks.cluster [--rows N] [--rounds N]      # on an idle machine of two cores or more
    python -m benchmarks.cluster --page                       # docs/scaling.md anew, from the results

A table of uniform numbers in Parquet files, made in a temporary folder. Both clusters are up during the whole run, each
with the parts in the memory of its workers, and take turns; who begins changes from round to round. A turn counts, for
every set of at most `DEPTH` of the predicates, the records of each label in which all of them hold: what a tree asks of
the records. Both must find the same integers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import distributed
import numpy as np

from benchmarks.accuracy import markdown
from benchmarks.pages import put_between
from pcqr.data.records.parted.cluster import Cluster
from pcqr.data.records.parted.parquet import ParquetParts, Reading
from pcqr.data.records.parted.source import Parted
from pcqr.data.records.predicates import Predicate
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.labels import LabelColumn
from pcqr.datasets import write_table

RESULTS = Path("benchmarks/results/cluster.json")
PAGE = Path("docs/scaling.md")
COLUMNS, CUTS, DEPTH, FILES = 20, 4, 3, 12
WORKERS = (1, 2)


def write_files(folder: Path, rows: int) -> None:
    generator = np.random.default_rng(0)
    for number in range(FILES):
        count = rows * (number + 1) // FILES - rows * number // FILES
        columns: dict[str, Any] = {f"c{j}": generator.random(count) for j in range(COLUMNS)}
        write_table(
            folder / f"{number:02}.parquet", columns | {"y": (columns["c0"] > generator.random(count)).astype(int)}
        )


def measure(rows: int, rounds: int) -> dict[str, Any]:
    schema = Schema(tuple(Column(f"c{j}", bounds=(0, 1)) for j in range(COLUMNS)))
    asked = [Predicate(j, (cut + 1) / (CUTS + 1)) for j in range(COLUMNS) for cut in range(CUTS)]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as started:
        write_files(Path(folder), rows)
        parts, sources = ParquetParts.of(folder), {}
        for workers in WORKERS:
            engine = started.enter_context(Cluster("local", workers))
            sources[workers] = Parted.read(engine, parts, Reading("table", schema.columns, LabelColumn("y", None)))
        expected = sources[1].conjunctions(asked, DEPTH).table
        assert sources[2].conjunctions(asked, DEPTH).table.tobytes() == expected.tobytes()  # and code is compiled
        seconds: dict[int, list[float]] = {workers: [] for workers in WORKERS}
        for transaction in range(rounds):
            for workers in WORKERS if transaction % 2 == 0 else reversed(WORKERS):
                begun = time.perf_counter()
                found = sources[workers].conjunctions(asked, DEPTH).table
                seconds[workers].append(time.perf_counter() - begun)
                assert found.tobytes() == expected.tobytes()
    return {
        "rows": rows,
        "predicates": len(asked),
        "parts": len(parts.parts),
        "seconds": {str(workers): found for workers, found in seconds.items()},
        "load": [load, os.getloadavg()[0]],
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, distributed {distributed.__version__}",
    }


def page(found: dict[str, Any]) -> None:
    one, two = (found["seconds"][str(workers)] for workers in WORKERS)
    ratios = [alone / both for alone, both in zip(one, two, strict=True)]
    rows = [
        [str(workers), f"{statistics.median(times):.2f}", f"{min(times):.2f} to {max(times):.2f}"]
        for workers, times in zip(WORKERS, (one, two), strict=True)
    ]
    told = (
        f"{found['rows']:,} rows × {COLUMNS} columns in {found['parts']} parts, {found['predicates']} predicates,",
        f"sets of at most {DEPTH}, {len(one)} rounds in which both take turns:",
        f"two workers are **{statistics.median(ratios):.2f} times** as fast as one (median over the rounds;",
        f"{min(ratios):.2f} to {max(ratios):.2f}), and all counts are the same integers. {found['machine']};",
        f"load average {found['load'][0]:.1f} before and {found['load'][1]:.1f} after.",
        f"Made by `python -m benchmarks.cluster`; the figures are in `{RESULTS.as_posix()}`.",
    )
    words = "\n".join(told)
    header = ("workers of one thread", "seconds, median", "from, to")
    put_between(PAGE, "cluster", f"{markdown(header, rows)}\n\n{words}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page from the results")
    given = parser.parse_args()
    if not given.page:
        found = measure(given.rows, given.rounds)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        sys.stdout.write(json.dumps(found["seconds"]) + "\n")
    page(json.loads(RESULTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
