"""The paper's theorem where it matters: with relabelling the error is γ + α, without it the votes split.

    python -m benchmarks.theorem [--runs 200] [--fast] [--out docs/images/theorem.png] [--json PATH] [--redraw]

**Two intervals.** x is uniform on [0, 1]; the label is 1 on [0, .2] and on [.8, 1], flipped with probability .05. The
best interval covers one of the two sides, γ = .05 + .9 · .2 = .23, and either side is as good as the other. Teachers
without relabelling (SubSamp) split between them, so most queries on the sides are unstable and the unstable answers
run out; AgPrivCl relabels to one side first, and its teachers agree. **Thresholds** with label noise .1, .2, .3 have
one best hypothesis: there both should do well.

A run draws fresh records and m fresh labelled queries, and both algorithms get the same ones. Its error is the share
of the m labels (noisy ones) that the answers miss; an unstable query counts as a fair coin, and so does every query
after the release has halted. AgPrivCl should stay within γ + α in at least a 1 − β share of the runs.

How much SubSamp loses depends on its plan. The plans here are the planner's, made from public numbers alone. "In
hindsight" is SubSamp with the best of about forty pairs (k, T) tried on this very task: teachers with 33 records see
many ties, the learner's fixed order breaks them to the left, and with 6001 teachers that makes a stable majority.
Choosing k or T by looking at private data would not be private.

Randomness is seeded so that a run can be repeated; neither accuracy nor time depends on it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.accuracy import (
    Outcome,
    ask,
    clopper_pearson,
    mean_and_spread,
    read_cases,
    run_all,
    show,
    wide_console,
    write_json,
)
from pcqr import AgnosticRelease, SubsampleAggregate
from pcqr.hypotheses import HypothesisClass, Intervals, Thresholds
from pcqr.plotting import axes as drawing
from pcqr.plotting.axes import (
    DASHED,
    DOTTED,
    GRID,
    INK,
    ON_ERROR,
    SMALL,
    THIN,
    TINY,
    TITLE,
    VOTES,
    entitle,
    picture,
    tidy,
    tint,
)
from pcqr.releases.base.answering import Release
from pcqr.releases.subsample.plan import VotingPlan

RECORDS = 200_000
EPSILON = 2.0
DELTA = 1e-6
QUERIES = 1_000
ALPHA = 0.05
BETA = 0.05
RUNS = 200
FAST_RUNS = 6

PICTURE = Path("docs/images/theorem.png")
RESULTS = Path("benchmarks/results/theorem.json")

SUBSAMP, AGPRIVCL, HINDSIGHT = "SubSamp", "AgPrivCl", "SubSamp, in hindsight"


@dataclass(frozen=True)
class Task:
    """x uniform on [0, 1], label 1 on the `positive` pieces, flipped with probability `noise`."""

    name: str
    hypotheses: HypothesisClass
    positive: tuple[tuple[float, float], ...]
    noise: float

    @property
    def best_error(self) -> float:
        """γ, the error of the best hypothesis.

        Between two ends of pieces the error is linear in where a hypothesis switches, so some best one switches only
        at ends: it labels whole pieces, and the class enumerates its labellings of their midpoints.
        """
        ends = np.unique([0.0, 1.0, *np.ravel(self.positive)])
        midpoints = (ends[:-1] + ends[1:]) / 2.0
        wrong = self.hypotheses.enumerate(midpoints[:, None]) != self.is_positive(midpoints)
        return float(self.noise + (1.0 - 2.0 * self.noise) * (wrong @ np.diff(ends)).min())

    def is_positive(self, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = np.any([(low <= x) & (x <= high) for low, high in self.positive], axis=0)
        return inside

    def draw(self, count: int, generator: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        x = generator.random(count)
        flipped = generator.random(count) < self.noise
        return x[:, None], (self.is_positive(x) ^ flipped).astype(np.int8)


@dataclass(frozen=True)
class Algorithm:
    """An estimator and what of its plan is pinned."""

    release: Callable[..., Release[Any]]
    teachers: int | None = None
    unstable: int | None = None


TWO_INTERVALS = Task("two intervals", Intervals(), ((0.0, 0.2), (0.8, 1.0)), 0.05)
THRESHOLDS = tuple(
    Task(f"threshold, {noise:.0%} noise", Thresholds(), ((0.5, 1.0),), noise) for noise in (0.1, 0.2, 0.3)
)
TASKS = {task.name: task for task in (TWO_INTERVALS, *THRESHOLDS)}
ALGORITHMS = {
    SUBSAMP: Algorithm(partial(SubsampleAggregate, vote="stability")),
    AGPRIVCL: Algorithm(partial(AgnosticRelease, vote="stability")),
    HINDSIGHT: Algorithm(SubsampleAggregate, teachers=6001, unstable=20),
}
PAIRS = (
    *((TWO_INTERVALS.name, algorithm) for algorithm in (SUBSAMP, HINDSIGHT, AGPRIVCL)),
    *((task.name, algorithm) for task in THRESHOLDS for algorithm in (SUBSAMP, AGPRIVCL)),
)


@dataclass(frozen=True)
class Trial:
    task: str
    algorithm: str
    run: int
    records: int = RECORDS


def perform(trial: Trial) -> tuple[Outcome, dict[str, Any]]:
    """Fresh data, fit, m queries: the outcome, and the plan in short."""
    task, algorithm = TASKS[trial.task], ALGORITHMS[trial.algorithm]
    generator = np.random.default_rng([trial.run, list(TASKS).index(trial.task)])
    release = algorithm.release(
        task.hypotheses,
        epsilon=EPSILON,
        delta=DELTA,
        queries=QUERIES,
        alpha=ALPHA,
        beta=BETA,
        on_unstable="random",
        entropy=trial.run,
        teachers=algorithm.teachers,
        unstable=algorithm.unstable,
    ).fit(*task.draw(trial.records, generator))
    return ask(release, *task.draw(QUERIES, generator), generator), in_short(release.plan_)


def in_short(plan: VotingPlan) -> dict[str, Any]:
    vote = plan.tested
    return {
        "teachers": vote.teachers,
        "unstable": vote.sparse_vector.unstable,
        "subsample": vote.subsample,
        "inverse_temperature": vote.inverse_temperature,
        "predicted_unanswered_share": plan.prediction.unanswered_share if plan.prediction else None,
    }


@dataclass(frozen=True)
class Case:
    """One algorithm on one task: every run's error, and what the README says about them."""

    task: str
    algorithm: str
    best_error: float
    plan: Mapping[str, Any]
    errors: Sequence[float]
    unstable: Sequence[float]
    unanswered: Sequence[float]

    @classmethod
    def of(cls, task: str, algorithm: str, results: Sequence[tuple[Outcome, dict[str, Any]]]) -> Case:
        outcomes = [outcome for outcome, _ in results]
        return cls(
            task=task,
            algorithm=algorithm,
            best_error=TASKS[task].best_error,
            plan=results[0][1],
            errors=[round(outcome.error, 6) for outcome in outcomes],
            unstable=[round(outcome.unstable, 6) for outcome in outcomes],
            unanswered=[round(outcome.unanswered, 6) for outcome in outcomes],
        )

    @property
    def within(self) -> int:
        """Runs with an error of at most γ + α (a share of m = 1000 is compared to within rounding)."""
        return sum(error <= self.best_error + ALPHA + 1e-9 for error in self.errors)

    @property
    def halted(self) -> int:
        return sum(share > 0 for share in self.unanswered)

    def row(self) -> list[str]:
        runs = len(self.errors)
        low, high = clopper_pearson(self.within, runs)
        excess, spread = mean_and_spread([error - self.best_error for error in self.errors])
        return [
            self.task,
            self.algorithm,
            f"{self.best_error:.2f}",
            f"{100 * self.within / runs:.1f} % ({100 * low:.1f} – {100 * high:.1f})",
            f"{excess:+.4f} ± {spread:.4f}".replace("-", "−"),
            f"{100 * float(np.mean(self.unstable)):.2f} %",
            f"{100 * self.halted / runs:.1f} %",
            f"{100 * float(np.mean(self.unanswered)):.1f} %",
        ]


HEADER = (
    "task",
    "algorithm",
    "γ",
    "runs within γ + α",
    "excess error",
    "unstable",
    "runs halted",
    "unanswered",
)


def run(runs: int, console: Console) -> list[Case]:
    trials = [Trial(task, algorithm, number) for task, algorithm in PAIRS for number in range(runs)]
    results = run_all(perform, trials, lambda trial: f"{trial.task}: {trial.algorithm}", console)
    return [Case.of(*pair, results[i * runs : (i + 1) * runs]) for i, pair in enumerate(PAIRS)]


def settings(runs: int) -> dict[str, Any]:
    return {
        "records": RECORDS,
        "epsilon": EPSILON,
        "delta": DELTA,
        "queries": QUERIES,
        "alpha": ALPHA,
        "beta": BETA,
        "runs": runs,
    }


COLOURS = {SUBSAMP: drawing.SUBSAMP, AGPRIVCL: VOTES}


def draw(cases: Sequence[Case], path: Path) -> None:
    """Left: every run's error on the two intervals. Right: the thresholds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with picture(path, 11.0, 4.7) as figure:
        remaining, right = figure.subplots(1, 2, width_ratios=(1.75, 1.0), gridspec_kw={"wspace": 0.04})
        _draw_two_intervals(remaining, [case for case in cases if case.task == TWO_INTERVALS.name])
        _draw_thresholds(right, [case for case in cases if case.task != TWO_INTERVALS.name])


def _draw_two_intervals(axes: Any, cases: Sequence[Case]) -> None:
    gamma = cases[0].best_error
    bins = np.arange(0.1745, 0.53, 0.005)  # between the multiples of 1/m that an error can be
    labels = {SUBSAMP: (0.403, 0.36, "right"), AGPRIVCL: (0.287, 0.6, "left")}
    axes.axvspan(bins[0], gamma + ALPHA, color=tint(VOTES, 0.08), linewidth=0)
    tallest = 0.0
    for case in cases:
        if case.algorithm in COLOURS:
            colour, runs = COLOURS[case.algorithm], len(case.errors)
            counts, _, _ = axes.hist(case.errors, bins=list(bins), color=colour, edgecolor="white", linewidth=0.7)
            tallest = max(tallest, float(np.max(counts)))
            x, height, side = labels[case.algorithm]
            words: Any = {"xy": (x, height), "xycoords": axes.get_xaxis_transform(), "color": colour, "ha": side}
            axes.annotate(case.algorithm, **words, fontweight="bold", fontsize=TITLE)
            share = f"{100 * case.within / runs:.3g} % of {runs} runs\nwithin γ + α"
            axes.annotate(share, **words, xytext=(0, -5), textcoords="offset points", va="top")
    ceiling = 1.12 * tallest
    for value, name, style in ((gamma, "γ", DASHED), (gamma + ALPHA, "γ + α", DOTTED), (2.0 * gamma, "2γ", DOTTED)):
        axes.axvline(value, color=INK, linewidth=THIN, linestyle=style)
        axes.text(value, ceiling * 1.01, f"{name} = {value:.2f}", ha="center", va="bottom", fontsize=SMALL)
    axes.set(xlim=(bins[0], bins[-1]), ylim=(0, ceiling), yticks=[], ylabel="runs")
    axes.set_xlabel(f"{ON_ERROR} ({QUERIES:,} queries)")
    entitle(axes, "Two equally good intervals", " ")
    tidy(axes, grid=None)
    _sketch(axes.inset_axes((0.41, 0.78, 0.29, 0.14)), TWO_INTERVALS)


def _sketch(axes: Any, task: Task) -> None:
    """The chance of label 1 at every x."""
    x = np.linspace(0.0, 1.0, 1001)
    chance = np.where(task.is_positive(x), 1.0 - task.noise, task.noise)
    axes.fill_between(x, chance, color=GRID, linewidth=0)
    axes.plot(x, chance, color=INK, linewidth=THIN)
    axes.set(xlim=(0, 1), ylim=(0, 1.05), xticks=[0, 0.2, 0.8, 1], xticklabels=["0", ".2", ".8", "1"], yticks=[0, 1])
    axes.tick_params(labelsize=TINY)
    axes.set_title("P(label 1 | x)", fontsize=SMALL, pad=3)
    tidy(axes, grid=None)


def _draw_thresholds(axes: Any, cases: Sequence[Case]) -> None:
    noises = sorted({case.best_error for case in cases})
    jitter = np.random.default_rng(0)
    for place, gamma in enumerate(noises):
        for height, style in ((gamma, DASHED), (gamma + ALPHA, DOTTED)):
            axes.hlines(height, place - 0.42, place + 0.42, color=INK, linewidth=THIN, linestyle=style, zorder=3)
        for case in cases:
            if case.best_error == gamma:
                side = -0.2 if case.algorithm == SUBSAMP else 0.2
                x = place + side + jitter.uniform(-0.15, 0.15, len(case.errors))
                axes.scatter(x, case.errors, s=7, color=COLOURS[case.algorithm], alpha=0.45, linewidths=0)
    for height, words in ((noises[-1], "γ"), (noises[-1] + ALPHA, "γ + α")):
        axes.text(2.46, height, words, va="center", fontsize=SMALL)
    for remaining, name in ((0.04, SUBSAMP), (0.32, AGPRIVCL)):
        axes.text(remaining, 0.985, name, transform=axes.transAxes, color=COLOURS[name], fontweight="bold", va="top")
    axes.set(xlim=(-0.55, 2.85), ylim=(0, 0.445), xticks=range(len(noises)), xticklabels=[f"{g:g}" for g in noises])
    axes.set(xlabel="label noise = γ, the error without privacy", ylabel=ON_ERROR)
    entitle(axes, "Thresholds: one best cut", " ")
    tidy(axes)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.theorem", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each algorithm on each task")
    parser.add_argument("--fast", action="store_true", help=f"{FAST_RUNS} runs; writes nothing unless told to")
    parser.add_argument("--out", type=Path, help=f"where the picture goes ({PICTURE})")
    parser.add_argument("--json", type=Path, help=f"where the results go ({RESULTS})")
    parser.add_argument("--redraw", action="store_true", help="draw and print the results of an earlier run again")
    options = parser.parse_args()
    console = wide_console()
    where = options.out or (None if options.fast else PICTURE)
    results = options.json or (None if options.fast else RESULTS)

    if options.redraw:
        cases = read_cases(options.json or RESULTS, Case)
    else:
        runs = FAST_RUNS if options.fast else options.runs
        cases = run(runs, console)
        if results:
            write_json(results, settings(runs), [asdict(case) for case in cases])
    title = f"n = {RECORDS:,}, ε = {EPSILON:g}, δ = {DELTA:g}, m = {QUERIES:,}, α = {ALPHA}, β = {BETA}"
    show(title, HEADER, [case.row() for case in cases], console)
    if where:
        draw(cases, where)
        console.print(f"Picture: {where}")


if __name__ == "__main__":
    main()
