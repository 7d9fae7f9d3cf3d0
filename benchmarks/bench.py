"""All systems on Adult and bank: the results of `pcqr bench`, kept here and written into docs/comparison.md.

    pcqr bench --tables adult,bank --data ../shared/data --out out/bench
    python -m benchmarks.bench out/bench …

Runs of several folders are put together, and a later one of the same cell replaces what is on file. Without a folder
the page and the picture are made again from what is there. Every run has the command line that makes it again.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.pages import put_between
from pcqr.bench.methods import REPLACE
from pcqr.bench.report import Summary, draw, methods, reading, section, summaries
from pcqr.bench.running import FORMAT, Run, Runs, read_results
from pcqr.bench.tables import TABLES

OURS = "ours is ahead by more than two standard errors"
NEITHER = "they differ by two standard errors at most"
ANOTHER = "**another is ahead** by more than two standard errors"
AHEAD = (
    "Who is ahead: the best of ours and the best of the others, and by how much ours is better, ± the standard error "
    "of this difference, run by run:"
)
RESULTS = Path("benchmarks/results/bench.json")
PAGE = Path("docs/comparison.md")
PICTURE = Path("docs/images/bench.png")


def collect(folders: Sequence[Path], root: Path) -> list[Run]:
    """What is on file and in the `folders` that `pcqr bench` wrote; of runs of the same cell the last."""
    known = read_results(root / RESULTS) if (root / RESULTS).exists() else []
    found = {run.cell: run for run in (*known, *(run for folder in folders for run in Runs(folder).all()))}
    return sorted(found.values(), key=lambda run: (TABLES.index(run.cell.table), run.cell.file))


def store(runs: Sequence[Run], root: Path) -> None:
    """One line a run."""
    lines = ",\n".join(json.dumps(asdict(run), ensure_ascii=False) for run in runs)
    (root / RESULTS).write_text(f'{{"format": {FORMAT}, "runs": [\n{lines}\n]}}\n', encoding="utf-8")


def page(runs: Sequence[Run]) -> str:
    """What stands between the marks of docs/comparison.md."""
    found = summaries(runs)
    parts = [*reading(runs), "", "![Accuracy against ε of all systems, one panel a table](images/bench.png)", ""]
    parts += [AHEAD, "", *standing(found), ""]
    for table in dict.fromkeys(each.table for each in found):
        parts += [line.replace("## ", "### ", 1) for line in section(table, [s for s in found if s.table == table])]
        parts += [""]
    return "\n".join([*parts, "### The methods", "", *methods([each.method for each in found])])


def standing(found: Sequence[Summary]) -> list[str]:
    """Compare the best of ours and of the others for each table and ε: published, and asked one at a time."""
    lines = []
    for table in dict.fromkeys(each.table for each in found):
        here = [each for each in found if each.table == table and each.method.unit == REPLACE]
        all_rows = [each for each in here if each.method.kind != "one at a time"]
        queries = [each for each in here if each.method.kind == "one at a time"]
        lines += _leads(table, "published, accuracy on all test rows", all_rows, "accuracy")
        lines += _leads(table, "one query at a time, score on the queries", queries, "score")
    return lines


def _leads(table: str, where: str, those: Sequence[Summary], figure: str) -> list[str]:
    told: Mapping[str, list[str]] = {OURS: [], NEITHER: [], ANOTHER: []}

    def mean(each: Summary) -> float:
        return each.mean(figure) or 0.0

    for epsilon in sorted({each.epsilon for each in those}):
        at = [each for each in those if each.epsilon == epsilon and each.mean(figure) is not None]
        ours = max((each for each in at if each.method.family == "ours"), key=mean, default=None)
        others = max((each for each in at if each.method.family != "ours"), key=mean, default=None)
        if ours is None or others is None or (found := difference(ours, others, figure)) is None:
            continue
        by, error = found
        names = ", ".join(f"{each.method.name} {100 * mean(each):.1f}" for each in (ours, others))
        words = f"{100 * by:+.2f} ± {100 * error:.2f}".replace("-", "−")
        verdict = NEITHER if abs(by) <= 2.0 * error else OURS if by > 0.0 else ANOTHER
        told[verdict].append(f"ε = {epsilon:g} ({names}: {words})")
    parts = [f"{verdict} at {', '.join(cells)}" for verdict, cells in told.items() if cells]
    return [f"- *{table}*, {where}: {'; '.join(parts)}."] if parts else []


def difference(one: Summary, other: Summary, figure: str) -> tuple[float, float] | None:
    """Return the mean difference over the seeds that both have, and its standard error, or None for one seed.

    Runs of a seed have the same queries. The error is that over runs, and at least √(d/N) for a difference of d on N
    rows in all: if one method is right on dN rows more, the two differ on at least dN rows.
    """
    first, second = (
        {run.cell.seed: (getattr(run, figure), run.rows) for run in each.done if getattr(run, figure) is not None}
        for each in (one, other)
    )
    seeds = first.keys() & second.keys()
    if len(seeds) < 2:
        return None
    differences = [first[seed][0] - second[seed][0] for seed in seeds]
    mean = statistics.fmean(differences)
    least = math.sqrt(abs(mean) / sum(first[seed][1] or 0 for seed in seeds))
    return mean, max(statistics.stdev(differences) / math.sqrt(len(seeds)), least)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", help="what --out of pcqr bench was")
    root = Path()
    runs = collect(parser.parse_args().folders, root)
    store(runs, root)
    put_between(root / PAGE, "bench", page(runs))
    draw(root / PICTURE, runs)
    print("\n".join(standing(summaries(runs))))


if __name__ == "__main__":
    main()
