"""UCI Adult with decision stumps: how many answers are unstable, and how accurate are they?

    python -m benchmarks.adult [--runs 20] [--fast] [--json PATH] [--redraw]

The 32,561 training records are private; m = 300 distinct queries come from the test part, fresh for every run and the
same for every algorithm. An unstable query, and one that comes after the release has halted, counts as a fair coin.
UnvPrivCl answers its queries by votes, then publishes a stump, which is scored on all test records not asked before.
Beside them: the stump that the class learns from all training records without privacy, and the majority label.

Two classes of stumps. On **raw features** every gap between private values may be cut, so relabelling pays
R = 2·ln(1 + e^η). On **public cuts**, declared below from what the columns mean, the class is fixed and R = 2η: the
same stumps at a much lower price.

Accuracy is mean ± standard deviation over the runs; the draw of 300 queries alone makes ±.023 of it. "Against the
stump" is the difference to the stump without privacy on the same queries, where that draw cancels.

Randomness is seeded so that a run can be repeated; neither accuracy nor time depends on it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.accuracy import ask, mean_and_spread, read_cases, run_all, show, wide_console, write_json
from pcqr import AgnosticRelease, SubsampleAggregate, UniversalRelease
from pcqr.datasets import Dataset, load_adult
from pcqr.hypotheses import Stumps
from pcqr.releases.base.answering import Release

EPSILONS = (2.0, 4.0)
DELTA = 1e-6
QUERIES = 300
RUNS = 20
FAST_RUNS = 2

RESULTS = Path("benchmarks/results/adult.json")

PUBLIC_CUTS: Mapping[str, Sequence[float]] = {
    "age": [20.5 + 5 * step for step in range(12)],
    "education-num": [1.5 + step for step in range(15)],
    "capital-gain": [500, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 10_000, 15_000, 20_000, 50_000],
    "capital-loss": [500, 1_000, 1_250, 1_500, 1_750, 2_000, 2_250, 2_500, 3_000],
    "hours-per-week": [5.5 + 5 * step for step in range(18)],
}
"""Round numbers within the bounds of the schema. Indicators of categories are cut at ½."""

ALGORITHMS: Mapping[str, Callable[..., Release[Any]]] = {
    "SubSamp": partial(SubsampleAggregate, vote="stability"),
    "AgPrivCl": partial(AgnosticRelease, vote="stability"),
    "UnvPrivCl": UniversalRelease,
}
CLASSES = ("public cuts", "raw features")


@cache
def adult() -> Dataset:
    return load_adult()


def stumps(name: str) -> Stumps:
    if name == "raw features":
        return Stumps()
    return Stumps(cuts=[PUBLIC_CUTS.get(feature, [0.5]) for feature in adult().feature_names])


@cache
def without_privacy(name: str) -> NDArray[np.bool_]:
    """For each test record, whether the class's stump learned from all training records is right."""
    data = adult()
    right: NDArray[np.bool_] = stumps(name).learn(data.X_train, data.y_train).predict(data.X_test) == data.y_test
    return right


def distinct_rows(X: NDArray[np.float64], count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """`count` rows in random order, no two with the same bits: a repeated query would be free."""
    order = generator.permutation(X.shape[0])
    _, first = np.unique(X[order[: 2 * count]], axis=0, return_index=True)
    return order[np.sort(first)[:count]]


@dataclass(frozen=True)
class Trial:
    stumps: str
    epsilon: float
    algorithm: str
    run: int


@dataclass(frozen=True)
class Score:
    """One run. `against_stump` compares with the stump without privacy on the same queries."""

    unstable: float
    unanswered: float
    accuracy: float
    against_stump: float
    published: float | None
    plan: Mapping[str, Any]


def perform(trial: Trial) -> Score:
    data = adult()
    generator = np.random.default_rng(trial.run)
    rows = distinct_rows(data.X_test, QUERIES, generator)
    release = ALGORITHMS[trial.algorithm](
        stumps(trial.stumps),
        epsilon=trial.epsilon,
        delta=DELTA,
        queries=QUERIES,
        on_unstable="random",
        entropy=trial.run,
    ).fit(data.X_train, data.y_train)
    outcome = ask(release, data.X_test[rows], data.y_test[rows], generator)

    published = None
    if isinstance(release, UniversalRelease) and release.is_published_:
        rest = np.setdiff1d(np.arange(data.y_test.size), rows)
        published = float(np.mean(release.hypothesis_.predict(data.X_test[rest]) == data.y_test[rest]))
    vote = release.plan_.vote
    return Score(
        unstable=outcome.unstable,
        unanswered=outcome.unanswered,
        accuracy=1.0 - outcome.error,
        against_stump=1.0 - outcome.error - float(without_privacy(trial.stumps)[rows].mean()),
        published=published,
        plan={
            "teachers": vote.teachers,
            "unstable": vote.sparse_vector.unstable,
            "subsample": vote.subsample,
            "inverse_temperature": vote.inverse_temperature,
            "predicted_unanswered_share": release.plan_.prediction.unanswered_share,
        },
    )


@dataclass(frozen=True)
class Case:
    """One algorithm with one class at one ε: what every run gave."""

    stumps: str
    epsilon: float
    algorithm: str
    plan: Mapping[str, Any]
    unstable: Sequence[float]
    unanswered: Sequence[float]
    accuracy: Sequence[float]
    against_stump: Sequence[float]
    published: Sequence[float | None]

    @classmethod
    def of(cls, trial: Trial, scores: Sequence[Score]) -> Case:
        def rounded(name: str) -> list[Any]:
            values = [getattr(score, name) for score in scores]
            return [None if value is None else round(value, 6) for value in values]

        columns = {name: rounded(name) for name in ("unstable", "unanswered", "accuracy", "against_stump", "published")}
        return cls(trial.stumps, trial.epsilon, trial.algorithm, scores[0].plan, **columns)

    def row(self) -> list[str]:
        published = [value for value in self.published if value is not None]
        return [
            f"{self.stumps}, ε = {self.epsilon:g}",
            self.algorithm,
            percent(self.unstable),
            percent(self.unanswered),
            percent(self.accuracy),
            percent(self.against_stump, sign="+"),
            percent(published) if published else "–",
        ]


HEADER = ("stumps on", "algorithm", "unstable %", "unanswered %", "accuracy %", "against the stump", "published %")


def percent(shares: Sequence[float], sign: str = "") -> str:
    mean, spread = mean_and_spread([100.0 * share for share in shares])
    return f"{mean:{sign}.1f} ± {spread:.1f}".replace("-", "−")


def baselines() -> dict[str, float]:
    data = adult()
    majority = int(2 * data.y_train.sum() > data.y_train.size)
    found = {f"stump without privacy, {name}": float(without_privacy(name).mean()) for name in CLASSES}
    return {"majority label": float(np.mean(data.y_test == majority)), **found}


def run(runs: int, console: Console) -> list[Case]:
    settings = [(name, epsilon, algorithm) for name in CLASSES for epsilon in EPSILONS for algorithm in ALGORITHMS]
    trials = [Trial(*setting, number) for setting in settings for number in range(runs)]
    scores = run_all(perform, trials, lambda t: f"{t.stumps}, ε = {t.epsilon:g}: {t.algorithm}", console)
    return [Case.of(trials[start], scores[start : start + runs]) for start in range(0, len(trials), runs)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adult", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each algorithm with each class at each ε")
    parser.add_argument("--fast", action="store_true", help=f"{FAST_RUNS} runs; writes nothing unless told to")
    parser.add_argument("--json", type=Path, help=f"where the results go ({RESULTS})")
    parser.add_argument("--redraw", action="store_true", help="print the results of an earlier run again")
    options = parser.parse_args()
    console = wide_console()
    results = options.json or (None if options.fast else RESULTS)

    beside = baselines()
    if options.redraw:
        cases = read_cases(options.json or RESULTS, Case)
    else:
        runs = FAST_RUNS if options.fast else options.runs
        cases = run(runs, console)
        if results:
            settings = {"delta": DELTA, "queries": QUERIES, "runs": runs, "baselines": beside}
            write_json(results, settings, [asdict(case) for case in cases])
    title = (
        f"UCI Adult, stumps, m = {QUERIES}, δ = {DELTA:g}; mean ± standard deviation of {len(cases[0].accuracy)} runs"
    )
    show(title, HEADER, [case.row() for case in cases], console)
    for name, accuracy in beside.items():
        console.print(f"{name}: {100 * accuracy:.1f} % of the test part", highlight=False)


if __name__ == "__main__":
    main()
