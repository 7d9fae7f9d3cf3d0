"""All systems on Adult and bank: the results of `pcqr bench`, kept here and written into docs/comparison.md.

    pcqr bench --tables adult,bank --data ../shared/data --out out/bench
    python -m benchmarks.bench out/bench …

Runs of several folders are put together, and a later one of the same cell replaces what is on file. Without a folder
the page and the picture are made again from what is there. Every run has the command line that makes it again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.pages import put_between
from pcqr.bench.methods import REPLACE
from pcqr.bench.picture import draw
from pcqr.bench.report import Summary, methods, reading, section, summaries
from pcqr.bench.runs import FORMAT, Run, Runs, read_results
from pcqr.bench.tables import TABLES

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
    parts += ["Who is ahead, by the means of the runs:", "", *standing(found), ""]
    for table in dict.fromkeys(each.table for each in found):
        parts += [line.replace("## ", "### ", 1) for line in section(table, [s for s in found if s.table == table])]
        parts += [""]
    return "\n".join([*parts, "### The methods", "", *methods([each.method for each in found])])


def standing(found: Sequence[Summary]) -> list[str]:
    """For each table the best of ours and the best of the others at every ε: published, and by votes."""
    lines = []
    for table in dict.fromkeys(each.table for each in found):
        here = [each for each in found if each.table == table and each.done and each.method.unit == REPLACE]
        all_rows = [each for each in here if each.method.kind != "votes"]
        by_votes = [each for each in here if each.method.kind == "votes"]
        lines += _leads(table, "on all test rows", all_rows, lambda each: each.mean() or 0.0)
        lines += _leads(table, "by votes, on the queries", by_votes, lambda each: each.mean("accuracy_queries") or 0.0)
    return lines


def _leads(table: str, where: str, those: Sequence[Summary], figure: Callable[[Summary], float]) -> list[str]:
    told: Mapping[bool, list[str]] = {True: [], False: []}
    for epsilon in sorted({each.epsilon for each in those}):
        at = [each for each in those if each.epsilon == epsilon]
        ours = max((each for each in at if each.method.family == "ours"), key=figure, default=None)
        others = max((each for each in at if each.method.family != "ours"), key=figure, default=None)
        if ours is None or others is None:
            continue
        names = f"{ours.method.name} {100 * figure(ours):.1f}, {others.method.name} {100 * figure(others):.1f}"
        told[figure(ours) >= figure(others)].append(f"ε = {epsilon:g} ({names})")
    parts = [f"ours is ahead at {', '.join(told[True])}"] if told[True] else []
    parts += [f"**another is ahead** at {', '.join(told[False])}"] if told[False] else []
    return [f"- *{table}*, {where}: {'; '.join(parts)}."] if parts else []


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
