"""What is `auto` worth where records are few? Beside a private draw of the commoner label, which looks at nothing else.

    python -m benchmarks.few_records --data FOLDER [--tables adult,bank,…] [--runs N] [--jobs N] [--redraw]

ε = .1, and n so that n·ε is 10, 30, 100 and 300: each run has records of its own, drawn from the private ones. The draw
of a label by the exponential mechanism at the same ε, which is a tree of depth 0, is not run: its expected accuracy,
given the records, is computed exactly. Results are stored table by table; a later call makes the tables that it names
anew. The table of the pages is made from all that is on file (`--redraw`: nothing else).
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.accuracy import markdown, parser_of, read_cases, seed_of, wide_console, write_json
from benchmarks.pages import put_between
from benchmarks.rule import PAGES
from benchmarks.tables import Task, load
from pcqr import AssumePublic, PrivateClassifier

TABLES = ("adult", "bank", "covertype", "diabetes", "flights", "married")
STRENGTHS = (10, 30, 100, 300)
EPSILON = 0.1
RESULTS = Path("benchmarks/results/few_records.json")


@dataclass(frozen=True)
class Case:
    """One table and n·ε: the mean accuracy of `auto` over its runs, and that expected of drawn labels."""

    table: str
    strength: int
    runs: int
    auto: float
    error: float
    """The standard error of the mean lead."""
    drawn_label: float


def expected_of_a_drawn_label(ones: int, records: int, epsilon: float, share: float) -> float:
    """Return the expected accuracy of a label with P ∝ e^{−ε/2·mistakes}, where `share` of the test rows are 1."""
    lead = min(700.0, max(-700.0, epsilon / 2.0 * (2 * ones - records)))
    one = 1.0 / (1.0 + math.exp(-lead))
    return one * share + (1.0 - one) * (1.0 - share)


def run_once(task: Task, strength: int, run: int) -> tuple[float, float]:
    """Return the accuracy of `auto` and that expected of a drawn label, on the same records."""
    seed = seed_of(task.name, strength, "few records", run)
    rows = np.random.default_rng(seed).choice(task.y.size, round(strength / EPSILON), replace=False)
    classifier = PrivateClassifier(EPSILON, 1e-6, entropy=seed, classes=(0, 1))
    classifier.fit(task.X[rows], task.y[rows], public=AssumePublic(task.public))
    right = float(np.mean(classifier.predict(task.X_test) == task.y_test))
    ones = int(task.y[rows].sum())
    return right, expected_of_a_drawn_label(ones, rows.size, EPSILON, float(task.y_test.mean()))


def measure(name: str, data: Path, runs: int) -> list[Case]:
    task = load(name, data)
    found = []
    for strength in STRENGTHS:
        auto, drawn = np.array([run_once(task, strength, run) for run in range(runs)]).T
        error = float(np.std(auto - drawn, ddof=1) / math.sqrt(runs))
        found.append(Case(name, strength, runs, float(auto.mean()), error, float(drawn.mean())))
    return found


def stored(root: Path) -> list[Case]:
    return read_cases(root / RESULTS, Case)


def store(cases: Sequence[Case]) -> None:
    ordered = sorted(cases, key=lambda case: (TABLES.index(case.table), case.strength))
    write_json(RESULTS, {"epsilon": EPSILON, "delta": 1e-6}, [asdict(case) for case in ordered])


HEADER = ("table", *(f"n·ε = {strength}" for strength in STRENGTHS))


def rows(cases: Sequence[Case]) -> list[list[str]]:
    """By table and n·ε: the accuracy of `auto` and, in brackets, its lead on the drawn label; at the end means."""
    found = [
        [
            name,
            *(
                f"{100 * case.auto:.1f} ({100 * (case.auto - case.drawn_label):+.1f})"
                for case in cases
                if case.table == name
            ),
        ]
        for name in TABLES
        if any(case.table == name for case in cases)
    ]
    leads = [[case.auto - case.drawn_label for case in cases if case.strength == strength] for strength in STRENGTHS]
    return [*found, ["mean lead", *(f"{100 * float(np.mean(lead)):+.2f}" for lead in leads if lead)]]


def main() -> None:
    parser = parser_of("benchmarks.few_records", __doc__, TABLES)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--redraw", action="store_true", help="run nothing, write the page again")
    given = parser.parse_args()
    if not given.redraw:
        with ProcessPoolExecutor(given.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            for cases in pool.map(partial(measure, data=given.data, runs=given.runs), given.tables):
                store([*(case for case in stored(Path()) if case.table != cases[0].table), *cases])
                wide_console().print(f"{cases[0].table}: {', '.join(f'{100 * case.auto:.1f}' for case in cases)}")
    for page in PAGES:
        put_between(page, "few-records", markdown(HEADER, rows(stored(Path()))))


if __name__ == "__main__":
    main()
