"""How long the planner thinks: CPU seconds of one answer of `pcqr plan`, once everything is imported.

    OMP_NUM_THREADS=1 python -m benchmarks.planner_speed [--json]

Each question is asked in a process whose caches know nothing of it. Columns:

    solves for   what the question left open
    seconds      CPU seconds of `look`, all of the answer but its printing
    answer       what was found, so that a faster search that finds less is noticed
    proved       is (α, β) proved at the n that was given or found?

The design allows two seconds. Read the seconds on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import Console
from rich.table import Table

from pcqr.hypotheses import Intervals, Rectangles, Stumps, Thresholds
from pcqr.planning.proved.capacity import VcClass
from pcqr.planning.questions.outlook import look
from pcqr.planning.questions.question import Question

TARGET = 2.0

_LINE = Question(hypotheses=Thresholds(), epsilon=1.0, queries=1_000, alpha=0.1)
QUESTIONS: dict[str, Question] = {
    "thresholds: n": _LINE,
    "thresholds: n, ε = 0.1, m = 10⁵": replace(_LINE, epsilon=0.1, queries=100_000),
    "thresholds: n, ε = 10, m = 10": replace(_LINE, epsilon=10.0, queries=10, alpha=0.45),
    "thresholds: α, n = 10⁷": replace(_LINE, records=10**7, alpha=None),
    "thresholds: α, n = 10³": replace(_LINE, records=1_000, alpha=None),
    "thresholds: m, n = 10⁷": replace(_LINE, records=10**7, queries=None),
    "thresholds: m, n = 10⁹": replace(_LINE, records=10**9, queries=None),
    "thresholds: ε, n = 10⁷": replace(_LINE, records=10**7, epsilon=None),
    "thresholds: δ, n = 10⁷": replace(_LINE, records=10**7, solve="delta"),
    "thresholds: β, n = 10⁷": replace(_LINE, records=10**7, solve="beta"),
    "thresholds: n = 32,561 is too few": replace(_LINE, records=32_561),
    "intervals: n and m": Question(hypotheses=Intervals(), epsilon=1.0, alpha=0.1),
    "intervals: α and m, n = 10⁸": Question(hypotheses=Intervals(), epsilon=1.0, records=10**8),
    "intervals: α and ε, n = 10⁷": Question(hypotheses=Intervals(), queries=300, records=10**7),
    "stumps on 14: n": Question(hypotheses=Stumps(), features=14, epsilon=1.0, queries=1_000, alpha=0.1),
    "stumps on 14: n = 10⁶ is too few": Question(
        hypotheses=Stumps(), features=14, epsilon=0.3, queries=300, alpha=0.1, records=10**6
    ),
    "stumps on 100: α, n = 10⁸": Question(hypotheses=Stumps(), features=100, epsilon=1.0, queries=1_000, records=10**8),
    "rectangles on 2: n": Question(hypotheses=Rectangles(), features=2, epsilon=3.0, queries=1_000, alpha=0.1),
    "VC 10: n, α = 0.05": Question(hypotheses=VcClass(10), epsilon=1.0, queries=1_000, alpha=0.05),
    "VC 50: n and ε, m = 10⁴": Question(hypotheses=VcClass(50), queries=10_000, alpha=0.1),
}


@dataclass(frozen=True)
class Timing:
    question: str
    solves_for: str
    seconds: float
    answer: str
    proved: bool


def timed(name: str) -> Timing:
    question = QUESTIONS[name]
    started = time.process_time()
    outlook = look(question)
    seconds = time.process_time() - started
    found: dict[str, Any] = (
        {} if outlook.solved is None else {key: getattr(outlook.request, key) for key in outlook.question.unknown}
    )
    answer = ", ".join(f"{key} {value:.4g}" for key, value in (found or outlook.changes).items())
    return Timing(name, ", ".join(question.unknown), seconds, answer or "–", outlook.is_proved)


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU seconds of the planner's answers.")
    parser.add_argument("--json", action="store_true", help="one JSON array instead of a table")
    as_json = parser.parse_args().json
    # One process for each question, forked before anything was remembered.
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        timings = pool.map(timed, QUESTIONS, chunksize=1)
    if as_json:
        print(json.dumps([asdict(timing) for timing in timings], ensure_ascii=False, indent=2))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("question")
    table.add_column("solves for")
    table.add_column("seconds", justify="right")
    table.add_column("answer")
    table.add_column("proved")
    for timing in timings:
        style = "bold red" if timing.seconds > TARGET else ""
        table.add_row(
            timing.question,
            timing.solves_for or "–",
            f"{timing.seconds:.2f}",
            timing.answer,
            "yes" if timing.proved else "no",
            style=style,
        )
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()
