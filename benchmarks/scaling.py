"""What tables of 10⁵ to 10⁷ rows take out of core: counts, sums, and whole runs of `pcqr publish`.

    python -m benchmarks.scaling make --to FOLDER [--rows 100000 …]       tables of 20 columns, by a public seed
    python -m benchmarks.scaling measure --of FOLDER [--rows 100000 …]    counts and sums, each in a process of its own
    python -m benchmarks.scaling publish --of FOLDER [--rows 10000000]    `pcqr publish`, one tree and `auto`
    python -m benchmarks.scaling page                                     the tables and the picture of docs/scaling.md

Ten columns are numbers, ten are texts of 2 to 16 categories. *Counts*: of all sets of at most three of the predicates
that trees have here. *Sums*: of the vectors of a linear classifier, the same for all sizes, at twenty weights. Seconds
are those of the processor, all threads together, so that other work on the machine is not in them; memory is the
largest that the whole process had. `measure` and `publish` add to benchmarks/results/scaling.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.pages import put_between
from pcqr.data.records import ParquetTable
from pcqr.data.records.parted.engine import Spool
from pcqr.data.schema import Schema
from pcqr.datasets import read_table
from pcqr.hypotheses import DecisionTrees
from pcqr.plotting.axes import BOLD, MUTED, NAME, SUBSAMP, VOTES, entitle, picture, tidy
from pcqr.releases.classifier.feature_maps import linear_predicates, make_feature_map
from pcqr.releases.classifier.rule import rarest_for, recipe_for

RESULTS = Path("benchmarks/results/scaling.json")
PAGE, PICTURE = Path("docs/scaling.md"), Path("docs/images/scaling.png")
ROWS = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
GROUP, GROUPS_A_FILE = 1 << 18, 4
CATEGORIES = (2, 2, 3, 4, 5, 6, 8, 10, 12, 16)
PUBLIC_ROWS, PUBLIC, LABEL, NAMES = 5_000, "public.parquet", "label", ("no", "yes")
DEPTH, WEIGHTS, PLANNED_RECORDS = 3, 20, 10_000_000
METHODS = {"tree": ("--method", "tree"), "auto": ("--delta", "1e-6")}


def rows_of(seed: Sequence[int], count: int) -> pa.Table:
    """Rows by a public seed: three hidden numbers, of which all columns and the label depend."""
    generator = np.random.default_rng(seed)
    hidden = generator.normal(size=(count, 3))
    columns: dict[str, Any] = {}
    for j in range(6):
        columns[f"number{j}"] = np.round(hidden[:, j % 3] * (1 + j) + generator.normal(size=count), 3)
    for j in range(4):
        columns[f"count{j}"] = np.minimum(generator.poisson(np.exp(0.4 * hidden[:, j % 3] + j / 2)), 200)
    for j, kinds in enumerate(CATEGORIES):
        score = hidden[:, [j % 3]] * np.linspace(-1, 1, kinds) + generator.gumbel(size=(count, kinds))
        names = pa.array([f"k{kind}" for kind in range(kinds)])
        chosen = pa.DictionaryArray.from_arrays(pa.array(score.argmax(axis=1).astype(np.int32)), names)
        columns[f"kind{j}"] = chosen.cast(pa.string())
    margin = 1.2 * hidden[:, 0] - 0.8 * (hidden[:, 1] > 0.5) + 0.6 * hidden[:, 2] * (hidden[:, 0] > 0) - 0.5
    columns[LABEL] = pa.array(np.where(margin + generator.logistic(size=count) > 0, *reversed(NAMES)))
    return pa.table(columns)


def make(folder: Path, sizes: Sequence[int]) -> None:
    """One row group after the other, a million rows a file."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows_of([8], PUBLIC_ROWS).drop_columns(LABEL), folder / PUBLIC)
    for size in sizes:
        (folder / str(size)).mkdir(exist_ok=True)
        starts = range(0, size, GROUP)
        for first in range(0, len(starts), GROUPS_A_FILE):
            path = folder / str(size) / f"part-{first // GROUPS_A_FILE:04}.parquet"
            with pq.ParquetWriter(path, rows_of([7, 0], 1).schema) as writer:
                for place, start in enumerate(starts[first : first + GROUPS_A_FILE], start=first):
                    writer.write_table(rows_of([7, place], min(GROUP, size - start)), row_group_size=GROUP)


def measured(folder: Path, size: int, what: str) -> dict[str, float]:
    """In this process: processor seconds of reading and of the `counts` or `sums`, and the largest memory."""
    shown = read_table(folder / PUBLIC)
    schema = Schema.from_public(shown)
    public = schema.encode(shown)
    begin = time.process_time()
    records = ParquetTable(folder / str(size), LABEL, engine=Spool()).read(schema, NAMES)
    read = time.process_time() - begin
    few = records.rows(np.arange(min(size, 1 << 16)))  # what is compiled or begun once is begun with these
    if what == "counts":
        predicates = DecisionTrees().prepared(public, schema).predicates or ()
        few.conjunctions(predicates, DEPTH)
        begin = time.process_time()
        records.conjunctions(predicates, DEPTH)
    else:
        recipe = recipe_for("mostly ferns", PLANNED_RECORDS, 1.0)
        predicates = linear_predicates(rarest_for(PLANNED_RECORDS, 1.0), PLANNED_RECORDS, public, schema)
        features = make_feature_map(recipe, predicates, public.shape[1], public, schema)
        shape = (1, features.size), (1, features.count, 1 << features.depth)
        dense, cells = (np.zeros(each, dtype=np.int32) for each in shape)
        few.gradient_sums(features, 1 << 20).total(dense, cells)
        begin = time.process_time()
        sums = records.gradient_sums(features, 1 << 20)
        for _ in range(WEIGHTS):
            dense += 1 << 10
            sums.total(dense, cells)
    worked = time.process_time() - begin
    return {"read": read, what: worked, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0}


def measure(folder: Path, sizes: Sequence[int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for size in sizes:
        for what in ("counts", "sums"):
            command = [
                sys.executable,
                "-m",
                "benchmarks.scaling",
                "one",
                what,
                "--of",
                str(folder),
                "--rows",
                str(size),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
            found.setdefault(str(size), {})[what] = json.loads(done.stdout)
            print(size, what, found[str(size)][what], flush=True)
    return found


def published(folder: Path, size: int, method: str) -> dict[str, Any]:
    """A run of `pcqr publish` in a process of its own. Seeded: the model is NOT PRIVATE."""
    with TemporaryDirectory() as place:
        command = [
            *(sys.executable, "-m", "pcqr", "publish", "--private", str(folder / str(size)), "--label", LABEL),
            *("--labels", ",".join(NAMES), "--public", str(folder / PUBLIC), "--epsilon", "1", "--seed", "1"),
            *("--no-account", "--out", f"{place}/model", *METHODS[method]),
        ]
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # noqa: S603
        said = process.stdout.read() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(said)
        return {
            "seconds": time.perf_counter() - begin,
            "processor": used.ru_utime + used.ru_stime,
            "memory": used.ru_maxrss * 1024.0,
            "load": os.getloadavg()[0],
            "announced": announced(said),
        }


def announced(said: str) -> str:
    """What the run said that it would take, before it read a record."""
    found = re.search(r"To publish: .*?until the end of the run\.", " ".join(said.split()))
    if found is None:
        raise ValueError("Nothing was announced.")
    return found[0]


def slope(found: Mapping[str, Any], what: str) -> float:
    """Of the least-squares line through the logarithms of rows and seconds."""
    rows = np.log([float(size) for size in found])
    return float(np.polyfit(rows, np.log([each[what][what] for each in found.values()]), 1)[0])


def page(results: Mapping[str, Any]) -> None:
    found = dict(sorted(results["measured"].items(), key=lambda item: int(item[0])))
    lines = ["| rows | read, s | counts, s | memory | sums, s | memory |", "| --- | --- | --- | --- | --- | --- |"]
    for size, each in found.items():
        counts, sums = each["counts"], each["sums"]
        lines.append(
            f"| {int(size):,} | {counts['read']:.2f} | {counts['counts']:.2f} | {counts['memory'] / 1e6:,.0f} MB "
            f"| {sums['sums']:.2f} | {sums['memory'] / 1e6:,.0f} MB |"
        )
    lines.append(f"| *slope* | | {slope(found, 'counts'):.2f} | | {slope(found, 'sums'):.2f} | |")
    lines += [
        "",
        "| 10⁷ × 20 rows, ε = 1 | minutes | processor, minutes | memory | load |",
        "| --- | --- | --- | --- | --- |",
    ]
    for method, run in results["published"].items():
        lines.append(
            f"| `pcqr publish {' '.join(METHODS[method])}` | {run['seconds'] / 60:.1f} | {run['processor'] / 60:.1f} "
            f"| {run['memory'] / 1e6:,.0f} MB | {run['load']:.1f} |"
        )
    lines += ["", f"Machine: {results['machine']}."]
    put_between(PAGE, "scaling", "\n".join(lines))
    draw(found, PICTURE)


def draw(found: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [int(size) for size in found]
    with picture(path, 9.0, 3.6) as figure:
        time_axes, memory_axes = figure.subplots(1, 2)
        for what, colour, marker in (("counts", VOTES, "o"), ("sums", SUBSAMP, "s")):
            style = {"color": colour, "marker": marker, "linewidth": BOLD, "label": what}
            time_axes.plot(rows, [each[what][what] for each in found.values()], **style)
            memory_axes.plot(rows, [each[what]["memory"] / 1e6 for each in found.values()], **style)
        entitle(time_axes, "processor seconds", "in proportion to the rows")
        entitle(memory_axes, "largest memory, MB", "of the whole process")
        memory_axes.axhline(1000.0, color=MUTED, linestyle=":")
        memory_axes.set_ylim(0, 1100)
        time_axes.set_yscale("log")
        for axes in (time_axes, memory_axes):
            axes.set_xscale("log")
            axes.set_xlabel("rows", fontsize=NAME)
            tidy(axes)
        time_axes.legend(frameon=False)


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"


def keep(**found: Any) -> None:
    """Add to the results on disk."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name, each in found.items():
        kept[name] = kept.get(name, {}) | each
    RESULTS.write_text(json.dumps(kept | {"machine": machine()}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("make", "measure", "one", "publish", "page"))
    parser.add_argument("what", nargs="?", choices=("counts", "sums", *METHODS))
    parser.add_argument("--to", "--of", dest="folder", type=Path)
    parser.add_argument("--rows", type=int, nargs="+")
    given = parser.parse_args()
    sizes = given.rows or ROWS
    if given.command == "make":
        make(given.folder, sizes)
    elif given.command == "one":
        print(json.dumps(measured(given.folder, sizes[0], given.what)))
    elif given.command == "measure":
        keep(measured=measure(given.folder, sizes))
    elif given.command == "publish":
        for method in METHODS if given.what is None else (given.what,):
            keep(published={method: published(given.folder, sizes[-1], method)})
    else:
        page(json.loads(RESULTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
