"""What the planner expects of votes beside what real tables show: unstable answers, and whether a release halts.

    python -m benchmarks.expectations [--redraw] [--data PATH] [--json PATH]

Every cell is a release as `fit` plans it, on 30,000 private records of a table (`benchmarks.tables`), asked m distinct
queries out of the test part. Recorded are the share of ⊥ among the queries that were asked, the number that got a
label, and whether the release halted, beside the plan's `Prediction`. `doubt` is the factor on the teachers' error θ
with which the model would have expected the share of ⊥ that was seen: 1 where it is right, below 1 where it is too
pessimistic. The quantiles of these factors are what `RELABELLED_DOUBTS`, `PLAIN_DOUBTS`, `RELABELLED_RANGE` and
`PLAIN_RANGE` are made from, in `pcqr.planner.expectation`.

Randomness is seeded so that a run can be repeated. The results go to a file and into a table of docs/planning.md.
`--redraw` refuses results whose ranges have other ends than the model's. A run takes a minute of one core.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.progress import track

from benchmarks.accuracy import markdown, parser_of
from benchmarks.adult import distinct_rows
from benchmarks.pages import put_between
from benchmarks.tables import TABLES, Task, load
from pcqr import AgnosticRelease, BudgetExhausted, SubsampleAggregate, UnansweredWarning
from pcqr.hypotheses import DecisionTrees, Stumps
from pcqr.hypotheses.base import HypothesisClass
from pcqr.planner import expectation as model
from pcqr.planner.expectation import modelled_run
from pcqr.releases.base.answering import Release
from pcqr.releases.subsample.plan import VotingPlan

RECORDS, DELTA, SEED = 30_000, 1e-6, 0
EPSILONS, QUERIES = (1.0, 2.0), (300, 1_000)
ALGORITHMS: Mapping[str, Callable[..., Release[VotingPlan]]] = {
    "SubSamp": partial(SubsampleAggregate, vote="stability"),
    "AgPrivCl": partial(AgnosticRelease, vote="stability"),
}
CLASSES: Mapping[str, HypothesisClass] = {"stumps": Stumps(), "trees of depth 2": DecisionTrees(depth=2)}
RESULTS = Path("benchmarks/results/expectations.json")
PAGE = Path("docs/planning.md")
LEAST_DOUBT, MOST_DOUBT = 0.01, 16.0


@dataclass(frozen=True)
class Cell:
    """One release: what was expected of it, and what it did."""

    table: str
    hypotheses: str
    algorithm: str
    epsilon: float
    queries: int
    teachers: int
    unstable_budget: int
    expected_unstable: float
    range_ends: tuple[float, float]
    expected_range: tuple[float, float]
    expected_answers: float
    unstable: float
    answers: int
    halted: bool
    doubt: float

    @property
    def is_within(self) -> bool:
        low, high = self.expected_range
        spread = 2.0 * math.sqrt(max(low, 1.0 / self.queries) / self.queries)  # of a share that is seen m times
        return low - spread <= self.unstable <= high + spread


def measured(task: Task, name: str, algorithm: str, epsilon: float, queries: int) -> Cell:
    hypotheses = CLASSES[name]
    release = ALGORITHMS[algorithm](hypotheses, epsilon=epsilon, delta=DELTA, queries=queries, entropy=SEED)
    public = task.public if hypotheses.needs_public else None
    release.fit(task.X[:RECORDS], task.y[:RECORDS], public=public)
    rows = task.X_test[distinct_rows(task.X_test, queries, np.random.default_rng(SEED))]
    plan = release.plan_
    try:
        release.predict(rows)
        asked, halted = len(rows), False
    except BudgetExhausted as stopped:
        asked, halted = len(stopped.answers), True
    unstable = release.unstable_answers_
    expected = plan.prediction
    assert expected is not None
    assert expected.unstable_range is not None
    assert plan.expected_answers is not None
    return Cell(
        table=task.name,
        hypotheses=name,
        algorithm=algorithm,
        epsilon=epsilon,
        queries=queries,
        teachers=plan.vote.teachers,
        unstable_budget=plan.tested.sparse_vector.unstable,
        expected_unstable=round(expected.unstable_share, 5),
        range_ends=model.range_ends(plan.tested.inverse_temperature),
        expected_range=(round(expected.unstable_range[0], 5), round(expected.unstable_range[1], 5)),
        expected_answers=round(plan.expected_answers, 1),
        unstable=round(unstable / asked, 5),
        answers=asked - unstable,
        halted=halted,
        doubt=round(doubt_of(plan, release.hypotheses_, release.n_features_in_, unstable / asked), 3),
    )


def doubt_of(plan: VotingPlan, hypotheses: HypothesisClass, features: int, seen: float) -> float:
    """The factor on θ at which the model expects a share `seen` of ⊥, between 0.01 and 16."""
    low, high = math.log(LEAST_DOUBT), math.log(MOST_DOUBT)
    for _ in range(30):
        middle = 0.5 * (low + high)
        run = modelled_run(plan.tested, hypotheses, features, plan.queries, doubt=math.exp(middle))
        low, high = (low, middle) if run.unstable_share >= seen else (middle, high)
    return math.exp(high)


def settings() -> list[tuple[str, str, str, float, int]]:
    """Stumps at two ε and two m; trees, which take longer, at one ε, SubSamp with the fewer queries only."""
    every = [
        (table, "stumps", algorithm, epsilon, queries)
        for table in TABLES
        for algorithm in ALGORITHMS
        for epsilon in EPSILONS
        for queries in QUERIES
    ]
    trees = [("SubSamp", QUERIES[0]), *(("AgPrivCl", queries) for queries in QUERIES)]
    every += [
        (table, "trees of depth 2", algorithm, EPSILONS[-1], queries)
        for table in TABLES
        for algorithm, queries in trees
    ]
    return sorted(every, key=lambda setting: TABLES.index(setting[0]))


def cells(folder: Path) -> list[Cell]:
    tasks = {name: load(name, folder) for name in TABLES}
    return [measured(tasks[table], *rest) for table, *rest in track(settings(), "releases")]  # type: ignore[arg-type]


def read(path: Path) -> list[Cell]:
    stored = json.loads(path.read_text(encoding="utf-8"))
    pairs = ("range_ends", "expected_range")
    found = [Cell(**cell | {name: tuple(cell[name]) for name in pairs}) for cell in stored]
    if {cell.range_ends for cell in found} != {model.PLAIN_RANGE, model.RELABELLED_RANGE}:
        raise SystemExit(f"The ranges in {path} have other ends than the model's. Run it again, without --redraw.")
    return found


def write(path: Path, found: Sequence[Cell]) -> None:
    """One line a cell, so that a change shows up where it belongs."""
    lines = ",\n".join(json.dumps(asdict(cell), ensure_ascii=False) for cell in found)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


HEADER = (
    "table",
    "class",
    "algorithm",
    "ε",
    "m",
    "T",
    "unstable %, expected",
    "range",
    "seen",
    "answers, expected",
    "seen",
)


def row(cell: Cell) -> list[str]:
    low, high = cell.expected_range
    return [
        cell.table,
        cell.hypotheses,
        cell.algorithm,
        f"{cell.epsilon:g}",
        f"{cell.queries:,}",
        f"{cell.unstable_budget:,}",
        f"{100 * cell.expected_unstable:.1f}",
        f"{100 * low:.1f} to {100 * high:.1f}",
        f"{100 * cell.unstable:.1f}",
        f"{cell.expected_answers:,.0f}",
        f"{cell.answers:,}{' (halted)' if cell.halted else ''}",
    ]


def summary(found: Sequence[Cell]) -> str:
    """How often what was seen lies in the range, and how far off the model was, in words."""
    within = sum(cell.is_within for cell in found)
    outside = sorted({f"{cell.algorithm} on {cell.table}" for cell in found if not cell.is_within})
    sentences = [
        f"In {within} of {len(found)} cells the share of unstable answers that was seen lies in the range, up to twice "
        f"its standard error. The cells outside are of {', '.join(outside)}."
    ]
    for name in ALGORITHMS:
        factors = np.quantile([cell.doubt for cell in found if cell.algorithm == name], (0.1, 0.5, 0.9))
        low, middle, high = (f"{factor:.2g}" for factor in factors)
        sentences.append(
            f"{name}: the median of the right factors on θ is {middle}, and four out of five lie between {low} and "
            f"{high}."
        )
    return " ".join(sentences)


def main() -> None:
    parser = parser_of("benchmarks.expectations", __doc__)
    parser.add_argument("--redraw", action="store_true", help="the page from the results of an earlier run")
    parser.add_argument("--json", type=Path, default=RESULTS, help=f"where the results are ({RESULTS})")
    options = parser.parse_args()
    if not options.redraw:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnansweredWarning)
            write(options.json, cells(options.data))
    found = read(options.json)
    put_between(PAGE, "expectations", f"{summary(found)}\n\n{markdown(HEADER, list(map(row, found)))}")


if __name__ == "__main__":
    main()
