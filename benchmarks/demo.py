"""The picture of the README: one whole run of `pcqr demo`, kept so that it can be drawn again.

    python -m benchmarks.demo [--redraw]

Every answer is kept, 1 for right, 0 for wrong, - for none. Noise comes from the operating system: another run gives
other figures, near those on file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import write_json
from pcqr.cli.console import progress
from pcqr.cli.demo import DELTA, EPSILON, FULL, Comparison, Trace
from pcqr.datasets import load_adult
from pcqr.plotting.pictures import draw_demo as draw

RESULTS = Path("benchmarks/results/demo.json")
PICTURE = Path("docs/images/demo.png")
MARKS = {1.0: "1", 0.0: "0", 0.5: "-"}


def kept(trace: Trace) -> dict[str, Any]:
    voted = trace.kinds.index("published") if trace.kinds else None
    marks = "".join(MARKS[value] for value in trace.correct.tolist())
    return {"name": trace.name, "others": trace.others, "voted": voted, "correct": marks}


def restored(case: dict[str, Any]) -> Trace:
    """The trace, but for which votes were stable; the picture shows only where they end."""
    values = {mark: value for value, mark in MARKS.items()}
    correct = np.array([values[mark] for mark in case["correct"]])
    voted = case["voted"]
    kinds = () if voted is None else ("stable",) * voted + ("published",) * (correct.size - voted)
    return Trace(case["name"], correct, case["others"], kinds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--redraw", action="store_true", help=f"draw the run in {RESULTS} again")
    if not parser.parse_args().redraw:
        with progress(hidden=False) as bar:
            made = Comparison.make(load_adult(), FULL, bar)
        settings = {"epsilon": EPSILON, "delta": DELTA, "others": made.task.others_truth.size}
        write_json(RESULTS, settings, [kept(trace) for trace in made.traces])
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))
    draw(PICTURE, [restored(case) for case in stored["cases"]], **stored["settings"])


if __name__ == "__main__":
    main()
