"""What is `auto` worth where records are few? Beside a private draw of the commoner label, which looks at nothing else.

    python -m benchmarks.few_records --data FOLDER [--tables adult,bank,…] [--runs N] [--jobs N] [--redraw]

ε = .1, and n so that n·ε is 10, 30, 100 and 300, and `least_n_epsilon`, below which `fit` warns that nothing can
be learned: each run has records of its own, drawn from the private ones. The draw of a label by the exponential
mechanism at the same ε, which is a tree of depth 0, is not run: its expected accuracy, given the records, is computed
exactly. Gradient boosting without privacy learns from the records of the first runs: `pcqr plan` quotes what is lost
beside it (`python -m benchmarks.advice --summary`). Results are stored table by table; a later call makes the tables
that it names anew. The table of the pages is made from all that is on file (`--redraw`: nothing else).
"""

from __future__ import annotations

import math
import multiprocessing
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import markdown, parser_of, read_cases, seed_of, wide_console, write_json
from benchmarks.pages import put_between
from benchmarks.rule import PAGES
from benchmarks.tables import Task, load
from pcqr import AssumePublic, PrivateClassifier
from pcqr.errors import NothingLearned
from pcqr.hypotheses import DecisionTrees
from pcqr.releases.classifier.rule import least_n_epsilon

TABLES = ("adult", "bank", "covertype", "diabetes", "flights", "married")
N_EPSILONS = (10, 30, 100, 300)
EPSILON, BOOSTED, SCORED = 0.1, 20, 10_000
RESULTS = Path("benchmarks/results/few_records.json")


@dataclass(frozen=True)
class Case:
    """One table and n·ε: the mean accuracy of `auto` over its runs, and that expected of drawn labels.

    `is_least`: at this n·ε the warning ends. `boosting` is the mean over the first `BOOSTED` runs, on at
    most `SCORED` test rows.
    """

    table: str
    n_epsilon: int
    runs: int
    auto: float
    error: float
    """The standard error of the mean lead."""
    drawn_label: float
    majority: float
    boosting: float
    is_least: bool = False


def expected_of_a_drawn_label(ones: int, records: int, epsilon: float, share: float) -> float:
    """Return the expected accuracy of a label with P ∝ e^{−ε/2·mistakes}, where `share` of the test rows are 1."""
    lead = min(700.0, max(-700.0, epsilon / 2.0 * (2 * ones - records)))
    one = 1.0 / (1.0 + math.exp(-lead))
    return one * share + (1.0 - one) * (1.0 - share)


def run_once(task: Task, n_epsilon: int, run: int) -> tuple[float, float]:
    """Return the accuracy of `auto` and that expected of a drawn label, on the same records."""
    rows = rows_of(task, n_epsilon, run)
    classifier = PrivateClassifier(EPSILON, 1e-6, entropy=_seed(task, n_epsilon, run), classes=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingLearned)
        classifier.fit(task.X[rows], task.y[rows], public=AssumePublic(task.public))
    right = float(np.mean(classifier.predict(task.X_test) == task.y_test))
    ones = int(task.y[rows].sum())
    return right, expected_of_a_drawn_label(ones, rows.size, EPSILON, float(task.y_test.mean()))


def _seed(task: Task, n_epsilon: int, run: int) -> int:
    return seed_of(task.name, n_epsilon, "few records", run)


def rows_of(task: Task, n_epsilon: int, run: int) -> NDArray[np.int64]:
    """Return the places of the records of a run."""
    source = np.random.default_rng(_seed(task, n_epsilon, run))
    return source.choice(task.y.size, round(n_epsilon / EPSILON), replace=False)


def boosted(task: Task, n_epsilon: int, run: int) -> float:
    """Return the accuracy of gradient boosting without privacy on the records of a run."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

    rows = rows_of(task, n_epsilon, run)
    fitted = HistGradientBoostingClassifier(random_state=0).fit(task.X[rows], task.y[rows])
    scored = np.random.default_rng(0).permutation(task.y_test.size)[:SCORED]
    return float(np.mean(fitted.predict(task.X_test[scored]) == task.y_test[scored]))


def least_of(task: Task) -> int:
    """Return n·ε from which on `fit` does not warn on this table, as a whole number."""
    dry_run = PrivateClassifier(EPSILON, 1e-6).dry_run(round(100 / EPSILON), AssumePublic(task.public))
    assert isinstance(dry_run.hypotheses, DecisionTrees)
    return math.ceil(least_n_epsilon(len(dry_run.hypotheses.predicates or ()), 2))


def measure(name: str, data: Path, runs: int) -> list[Case]:
    task = load(name, data)
    found, least = [], least_of(task)
    for n_epsilon in sorted({*N_EPSILONS, least}):
        auto, drawn = np.array([run_once(task, n_epsilon, run) for run in range(runs)]).T
        error = float(np.std(auto - drawn, ddof=1) / math.sqrt(runs))
        boosting = float(np.mean([boosted(task, n_epsilon, run) for run in range(min(BOOSTED, runs))]))
        means = float(auto.mean()), error, float(drawn.mean()), task.majority, boosting
        found.append(Case(name, n_epsilon, runs, *means, is_least=n_epsilon == least))
    return found


def stored(root: Path) -> list[Case]:
    return read_cases(root / RESULTS, Case)


def store(cases: Sequence[Case]) -> None:
    ordered = sorted(cases, key=lambda case: (TABLES.index(case.table), case.n_epsilon))
    write_json(RESULTS, {"epsilon": EPSILON, "delta": 1e-6}, [asdict(case) for case in ordered])


HEADER = ("table", *(f"n·ε = {n_epsilon}" for n_epsilon in N_EPSILONS), "where the warning ends")


def rows(cases: Sequence[Case]) -> list[list[str]]:
    """By table and n·ε: the accuracy of `auto` and, in brackets, its lead on the drawn label; at the end means."""
    found = [
        [
            name,
            *(_shown(case) for case in cases if case.table == name and not case.is_least),
            *(f"{_shown(case)}, n·ε = {case.n_epsilon}" for case in cases if case.table == name and case.is_least),
        ]
        for name in TABLES
        if any(case.table == name for case in cases)
    ]
    columns = [[case for case in cases if case.n_epsilon == n_epsilon] for n_epsilon in N_EPSILONS]
    columns.append([case for case in cases if case.is_least])
    return [
        *found,
        ["mean lead", *(f"{100 * float(np.mean([_lead(case) for case in each])):+.2f}" for each in columns)],
    ]


def _lead(case: Case) -> float:
    return case.auto - case.drawn_label


def _shown(case: Case) -> str:
    return f"{100 * case.auto:.1f} ({100 * _lead(case):+.1f})"


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
