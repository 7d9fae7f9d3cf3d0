"""What the planner proves beside what the paper's formulas ask for, and what its model expects beside what runs show.

    python -m benchmarks.planner [--redraw] [--json PATH]

**Records.** The fewest n for which (α, β) is certified for m queries, and n = 56·n'/ε of the paper, by class.
**Margins.** How far from flipping m queries must be so that all of them are answered but for a chance of .01, for
sparse vectors of the same (ε, δ). "Printed" has the paper's λ and w; "tuned" has the paper's form with the smallest
noise that its corrected proof allows. Both are judged by one draw of ρ, as if no other query had failed: in their
favour.
**Expected and seen.** x is uniform on [0, 1], labels are flipped with probability .1. A run draws fresh records and m
fresh queries. The excess error is (1 − 2·.1) times the share of answers that differ from the best hypothesis, with a
coin for every query without an answer: the noise of the labels does not blur it. Randomness is seeded so that a run
can be repeated.

The results go to a file and into the tables of docs/theory.md; `--redraw` writes the tables and the picture again.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from scipy.optimize import brentq

from benchmarks.accuracy import markdown
from benchmarks.pages import put_between
from benchmarks.theorem import Task
from pcqr import AgnosticRelease, BudgetExhausted, NoisyMaxAggregate, SubsampleAggregate
from pcqr.advice.question import Question
from pcqr.advice.solving import solve
from pcqr.hypotheses import Intervals, Stumps, Thresholds
from pcqr.hypotheses.base import Combinatorics
from pcqr.mechanisms.sparse_vector import (
    Floats,
    Integers,
    PaperSparseVector,
    RenyiSparseVector,
    best_one_sided,
    cover,
    smallest_excess,
)
from pcqr.planner import paper
from pcqr.planner.certificate import VcClass
from pcqr.planner.certified import fewest_records, rounded_up
from pcqr.planner.request import Demand
from pcqr.plotting.pictures import draw_plan
from pcqr.releases.base.answering import Release
from pcqr.releases.protocol.plan import Aim, Budget

EPSILON, DELTA, BETA = 1.0, 1e-6, 0.05
CLASSES: dict[str, tuple[Combinatorics, int]] = {
    "thresholds": (Thresholds(), 1),
    "intervals": (Intervals(), 1),
    "stumps, 14 features": (Stumps(), 14),
    "VC dimension 10": (VcClass(10), 1),
}
ALPHAS = (0.05, 0.1, 0.2)
QUERIES = (100, 1_000, 10_000)

BUDGETS = (1, 5, 20, 100, 1_000)
MARGIN_QUERIES, MARGIN_FAILURE = 1_000, 0.01
SLACK_SHARES = (0.3, 0.5, 0.7, 0.9, 0.97)

NOISE = 0.1
TASKS = {
    "threshold": Task("threshold", Thresholds(), ((0.5, 1.0),), NOISE),
    "interval": Task("interval", Intervals(), ((0.3, 0.7),), NOISE),
}
ALGORITHMS: dict[str, Callable[..., Release[Any]]] = {
    "AgPrivCl": partial(AgnosticRelease, vote="stability"),
    "SubSamp": partial(SubsampleAggregate, vote="stability"),
    "noisy max": NoisyMaxAggregate,
}
RUN_RECORDS, RUN_EPSILONS, RUN_QUERIES, RUN_ALPHA = (20_000, 100_000), (1.0, 2.0), 200, 0.1
RUNS = 10

RESULTS = Path("benchmarks/results/planner.json")
PICTURE = Path("docs/images/planner.png")
PAGE = Path("docs/theory.md")


@dataclass(frozen=True)
class RecordsCase:
    """n by the paper's formula and the fewest with a proof; None where the labels of m queries vary by more than α."""

    name: str
    alpha: float
    queries: int
    printed: int
    proved: int | None
    teachers: int | None = None
    unstable: int | None = None

    def row(self) -> list[str]:
        if self.proved is None:
            ours = ["none", "—", "—", "—"]
        else:
            ratio = float(f"{self.printed / self.proved:.2g}")
            ours = [scientific(rounded_up(self.proved)), f"{ratio:,.0f}", f"{self.teachers:,}", f"{self.unstable:,}"]
        return [self.name, f"{self.alpha:g}", f"{self.queries:,}", scientific(self.printed), *ours]


@dataclass(frozen=True)
class MarginCase:
    unstable: int
    printed: int
    tuned: int
    one_sided: int
    renyi: int

    def row(self) -> list[str]:
        return [f"{value:,}" for value in (self.unstable, self.printed, self.tuned, self.one_sided, self.renyi)]


@dataclass(frozen=True)
class RunsCase:
    """One algorithm on one task: the model's expectation, and what every run showed."""

    task: str
    records: int
    epsilon: float
    algorithm: str
    expected_unstable: float
    expected_excess: float
    unstable: Sequence[float]
    excess: Sequence[float]
    unanswered: Sequence[float]

    def row(self) -> list[str]:
        is_voting = self.algorithm != "noisy max"
        return [
            self.task,
            f"{self.records:,}",
            f"{self.epsilon:g}",
            self.algorithm,
            percent(self.expected_unstable) if is_voting else "—",
            percent(float(np.mean(self.unstable))) if is_voting else "—",
            f"{self.expected_excess:.4f}",
            f"{np.mean(self.excess):.4f} ± {np.std(self.excess, ddof=1) / math.sqrt(len(self.excess)):.4f}",
            f"{sum(share > 0 for share in self.unanswered)} of {len(self.unanswered)}",
        ]


HEADERS: dict[str, tuple[str, ...]] = {
    "records": ("class", "α", "m", "paper's n", "proved n", "ratio", "k", "T"),
    "margins": ("T", "paper, printed", "paper, tuned", "one-sided", "Rényi"),
    "runs": (
        *("task", "n", "ε", "algorithm", "unstable, expected", "seen"),
        *("excess error, expected", "seen (± standard error)", "halted runs"),
    ),
}


def scientific(number: int) -> str:
    digits, exponent = f"{number:.1e}".split("e+")
    return f"{digits}·10" + str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def records_cases() -> list[RecordsCase]:
    cases = []
    for name, (hypotheses, features) in CLASSES.items():
        for alpha in ALPHAS:
            for queries in QUERIES:
                budget, aim = Budget(EPSILON, DELTA), Aim(queries, alpha, BETA)
                demand = Demand(features=features, hypotheses=hypotheses, budget=budget, aim=aim)
                printed = paper.records_needed(hypotheses.vc_bound(features), queries, EPSILON, DELTA, alpha, BETA)
                best = fewest_records(demand)  # the search of `pcqr plan` and `fit`
                if best is None:
                    cases.append(RecordsCase(name, alpha, queries, printed, None))
                    continue
                plan = best.plan
                unstable = plan.sparse_vector.unstable
                cases.append(RecordsCase(name, alpha, queries, printed, plan.records, plan.teachers, unstable))
    return cases


@dataclass(frozen=True)
class PaperNoises:
    """The laws of ρ and ν in the paper's form, for `smallest_excess`."""

    vector: PaperSparseVector

    def threshold_cover(self, left_out: float) -> tuple[Integers, Floats]:
        scale = self.vector.scale
        peak = math.tanh(0.5 / scale)
        return cover(scale, math.ceil(-scale * math.log(left_out)), lambda z: peak * np.exp(-np.abs(z) / scale))

    def query_failures(self, excess: Integers) -> Floats:
        """P(ν ≤ −`excess`); from 0 downwards 1, which m queries make true but for 2⁻ᵐ."""
        rate = 0.5 / self.vector.scale
        fails: Floats = np.where(excess > 0, np.exp(-rate * excess) / (1.0 + math.exp(-rate)), 1.0)
        return fails


def paper_margin(vector: PaperSparseVector) -> int:
    return vector.threshold + smallest_excess(PaperNoises(vector), MARGIN_QUERIES, MARGIN_FAILURE)


def tuned(unstable: int) -> PaperSparseVector:
    """The paper's form within (ε, δ) with the least margin, by its corrected proof: pure or advanced composition."""

    def form(scale: float, slack: float, flips: float) -> PaperSparseVector:
        most = min(unstable, MARGIN_QUERIES)
        threshold = math.ceil(2.0 * scale * math.log(2.0 * most / (3.0 * flips)))  # P(ν − ρ > w) ≤ ⅔·e^{−w/(2λ)}
        return PaperSparseVector(threshold, scale, unstable, MARGIN_QUERIES, slack)

    def surplus(scale: float, slack: float) -> float:
        epoch = 2.0 / scale
        mean = unstable * epoch * math.tanh(epoch / 2.0)
        return mean + epoch * math.sqrt(-2.0 * unstable * math.log(slack)) - EPSILON

    reserve = 1.0 + 1e-9
    forms = [form(2.0 * unstable / EPSILON * reserve, DELTA / 2.0, DELTA / reserve)]
    for share in SLACK_SHARES:
        scale = float(brentq(surplus, 1.0, 1e6, args=(share * DELTA,))) * reserve
        forms.append(form(scale, share * DELTA, (1.0 - share) * DELTA / reserve))
    return min((each for each in forms if each.guarantee.within(EPSILON, DELTA)), key=paper_margin)


def margin_cases() -> list[MarginCase]:
    what = (MARGIN_QUERIES, MARGIN_FAILURE)
    return [
        MarginCase(
            unstable=unstable,
            printed=paper_margin(PaperSparseVector.from_paper(EPSILON, DELTA, unstable, MARGIN_QUERIES)),
            tuned=paper_margin(tuned(unstable)),
            one_sided=best_one_sided(EPSILON, DELTA, unstable, *what).margin_needed(*what),
            renyi=RenyiSparseVector.calibrate(EPSILON, DELTA, unstable, *what).margin_needed(*what),
        )
        for unstable in BUDGETS
    ]


def runs_case(task_name: str, records: int, epsilon: float, algorithm: str, runs: int = RUNS) -> RunsCase:
    task = TASKS[task_name]
    seen: list[tuple[float, float, float]] = []
    for run in range(runs):
        generator = np.random.default_rng([run, list(TASKS).index(task_name)])
        release = ALGORITHMS[algorithm](
            task.hypotheses,
            epsilon=epsilon,
            delta=DELTA,
            queries=RUN_QUERIES,
            alpha=RUN_ALPHA,
            beta=BETA,
            entropy=run,
        ).fit(*task.draw(records, generator))
        seen.append(outcome(release, generator.random(RUN_QUERIES), task, generator))
    expected = release.plan_.prediction
    assert expected is not None
    unstable, excess, unanswered = zip(*seen, strict=True)
    return RunsCase(
        task=task_name,
        records=records,
        epsilon=epsilon,
        algorithm=algorithm,
        expected_unstable=expected.unstable_share,
        expected_excess=expected.excess_error,
        unstable=unstable,
        excess=excess,
        unanswered=unanswered,
    )


def outcome(release: Release[Any], x: Any, task: Task, coins: np.random.Generator) -> tuple[float, float, float]:
    """The share of ⊥ among the queries that were asked, the excess error, and the share that came after a halt."""
    labels = coins.integers(0, 2, x.size)
    before, asked = release.unstable_answers_, x.size
    try:
        labels[:] = release.predict(x[:, None])
    except BudgetExhausted as halted:
        asked = len(halted.answers)
        known = [(place, answer.label) for place, answer in enumerate(halted.answers) if answer.label is not None]
        labels[[place for place, _ in known]] = [label for _, label in known]
    wrong = float(np.mean(labels != task.is_positive(x)))
    unstable = (release.unstable_answers_ - before) / asked
    return round(unstable, 6), round((1.0 - 2.0 * task.noise) * wrong, 6), round(1.0 - asked / x.size, 6)


def runs_cases() -> list[RunsCase]:
    settings = [
        (task, records, epsilon, algorithm)
        for task in TASKS
        for records in RUN_RECORDS
        for epsilon in RUN_EPSILONS
        for algorithm in ALGORITHMS
    ]
    return [runs_case(*setting) for setting in track(settings, "runs")]


Results = dict[str, list[Any]]


def read(path: Path) -> Results:
    stored = json.loads(path.read_text(encoding="utf-8"))
    kinds = {"records": RecordsCase, "margins": MarginCase, "runs": RunsCase}
    return {name: [kind(**case) for case in stored[name]] for name, kind in kinds.items()}


def write(path: Path, results: Results) -> None:
    """One line a case, so that a change shows up where it belongs."""
    parts = []
    for name, cases in results.items():
        lines = ",\n".join(json.dumps(asdict(case), ensure_ascii=False) for case in cases)
        parts.append(f'"{name}": [\n{lines}\n]')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def tables(results: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """The table of each kind of results, by the name of its place on the page."""
    return {name: markdown(HEADERS[name], [case.row() for case in cases]) for name, cases in results.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planner", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--redraw", action="store_true", help="page and picture from the results of an earlier run")
    parser.add_argument("--json", type=Path, default=RESULTS, help=f"where the results are ({RESULTS})")
    options = parser.parse_args()
    if not options.redraw:
        write(options.json, {"records": records_cases(), "margins": margin_cases(), "runs": runs_cases()})
    for name, table in tables(read(options.json)).items():
        put_between(PAGE, name, table)
    question = Question(hypotheses=Thresholds(), epsilon=EPSILON, delta=DELTA, queries=1_000, alpha=0.1, beta=BETA)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    draw_plan(PICTURE, question, solve(question))


if __name__ == "__main__":
    main()
