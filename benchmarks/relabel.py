"""What relabelling does to votes: how many queries are unstable with it and without it.

    python -m benchmarks.relabel [--runs 10] [--redraw]

UCI Adult, 32,561 private records, 2,000 public rows without labels, trees of depth 2, δ = 10⁻⁶; m distinct queries from
the test part, fresh for every run and the same for every way. Three ways to answer them at the same ε:

    relabelled      AgPrivCl: the records get the labels of a privately drawn tree, then teachers vote
    as they are     SubSamp: teachers vote on labels as they are, with as many teachers as its planner likes
    same teachers   SubSamp with k and T of AgPrivCl's plan: nothing but the relabelling differs, and what it costs

*Unstable* is the share of ⊥ among the queries that were decided, over all runs together; a release halts once T queries
were unstable, and *no label* counts those that came later as well. Seeds make a run repeatable (NOT PRIVATE). Results
are stored after every run, and a later call goes on where the last one stopped. Draws docs/images/relabel.png and
writes a table of docs/comparison.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import markdown, mean_and_spread, read_cases, write_json
from benchmarks.adult import distinct_rows
from benchmarks.pages import put_between
from benchmarks.tables import Task, load
from pcqr import AgnosticRelease, BudgetExhausted, SubsampleAggregate
from pcqr.hypotheses import DecisionTrees
from pcqr.plotting.axes import (
    BOLD,
    DASH_DOT,
    MUTED,
    NAME,
    ON_QUERIES,
    PLAIN,
    SMALL,
    SUBSAMP,
    VOTES,
    entitle,
    mark_in_percent,
    picture,
    tidy,
)
from pcqr.releases.base.answering import Release

EPSILONS, QUERIES = (1.0, 2.0, 4.0), (100, 300, 1_000, 10_000)
WAYS = ("relabelled", "as they are", "same teachers")
DELTA, DEPTH, RUNS = 1e-6, 2, 10
RESULTS, PAGE = Path("benchmarks/results/relabel.json"), Path("docs/comparison.md")
PICTURE = Path("docs/images/relabel.png")
HEADER = ("ε", "m", "labels", "k", "T", "unstable", "no label", "of the labels right")


@dataclass(frozen=True)
class Run:
    """One release: how many of m queries were decided, got ⊥, got the right label."""

    epsilon: float
    queries: int
    way: str
    seed: int
    teachers: int
    allowed: int
    decided: int
    unstable: int
    right: int

    @property
    def cell(self) -> tuple[float, int, str]:
        return self.epsilon, self.queries, self.way

    @property
    def unlabelled(self) -> float:
        """The share of the m queries without a label: ⊥, or too late."""
        return 1.0 - (self.decided - self.unstable) / self.queries


@dataclass(frozen=True)
class Cell:
    """The runs of one way at one ε and m."""

    runs: Sequence[Run]

    @property
    def plan(self) -> tuple[int, int]:
        """k and T: the same in every run."""
        return self.runs[0].teachers, self.runs[0].allowed

    @property
    def unstable(self) -> tuple[float, float]:
        """⊥ over decided queries of all runs together (a mean of shares would favour those that halted early)."""
        share = sum(run.unstable for run in self.runs) / sum(run.decided for run in self.runs)
        return share, mean_and_spread([run.unstable / run.decided for run in self.runs])[1]

    @property
    def unlabelled(self) -> tuple[float, float]:
        return mean_and_spread([run.unlabelled for run in self.runs])

    @property
    def right(self) -> float:
        """Right labels over labels, of all runs together."""
        return sum(run.right for run in self.runs) / sum(run.decided - run.unstable for run in self.runs)


def release(way: str, epsilon: float, queries: int, seed: int, task: Task) -> Release[Any]:
    """The release of a way, planned and not yet fitted."""
    settings: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "queries": queries, "entropy": seed}
    trees = DecisionTrees(depth=DEPTH)
    if way == "relabelled":
        return AgnosticRelease(trees, vote="stability", **settings)
    if way == "same teachers":
        made = AgnosticRelease(trees, vote="stability", **settings)
        relabelled = made.plan(task.y.size, task.X.shape[1], public=task.public).tested
        settings |= {"teachers": relabelled.teachers, "unstable": relabelled.sparse_vector.unstable}
    return SubsampleAggregate(trees, vote="stability", **settings)


def perform(task: Task, epsilon: float, queries: int, way: str, seed: int) -> Run:
    rows = distinct_rows(task.X_test, queries, np.random.default_rng(seed))
    if rows.size < queries:
        raise AssertionError(f"There are {rows.size} distinct queries, not {queries}.")
    asked = release(way, epsilon, queries, seed, task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that public rows of Adult are equal to records
        asked.fit(task.X, task.y, public=task.public)
    try:
        answers = list(asked.answers(task.X_test[rows]))
    except BudgetExhausted as halted:
        answers = list(halted.answers)
    vote = asked.plan_.vote
    return Run(
        epsilon=epsilon,
        queries=queries,
        way=way,
        seed=seed,
        teachers=vote.teachers,
        allowed=vote.sparse_vector.unstable,
        decided=len(answers),
        unstable=sum(answer.label is None for answer in answers),
        right=sum(int(answer.label == truth) for answer, truth in zip(answers, task.y_test[rows], strict=False)),
    )


def stored(path: Path = RESULTS) -> list[Run]:
    return read_cases(path, Run)


def cells(runs: Sequence[Run]) -> dict[tuple[float, int, str], Cell]:
    """By ε, m and way."""
    found = product(EPSILONS, QUERIES, WAYS)
    return {key: Cell(own) for key in found if (own := [run for run in runs if run.cell == key])}


def rows(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """The table of the page."""
    return [
        (
            *(f"{epsilon:g}", f"{queries:,}", way, *(f"{number:,}" for number in cell.plan)),
            *(percent(*cell.unstable), percent(*cell.unlabelled), f"{100 * cell.right:.1f} %"),
        )
        for (epsilon, queries, way), cell in cells(runs).items()
    ]


def percent(share: float, spread: float) -> str:
    return f"{100 * share:.1f} ± {100 * spread:.1f} %"


# The picture -----------------------------------------------------------------------------------------------------

STYLES: Mapping[str, Mapping[str, Any]] = {
    "relabelled": {"color": VOTES, "linewidth": BOLD, "marker": "o"},
    "as they are": {"color": SUBSAMP, "linewidth": BOLD, "marker": "s"},
    "same teachers": {"color": MUTED, "linewidth": PLAIN, "marker": "^", "linestyle": DASH_DOT},
}
WORDS = {
    "relabelled": "relabelled by a private tree (AgPrivCl)",
    "as they are": "labels as they are, its own number of teachers (SubSamp)",
    "same teachers": "labels as they are, teachers and T of AgPrivCl",
}
SHIFTS = {"relabelled": 0.94, "as they are": 1.0, "same teachers": 1.06}
"""Along m, so that bars can be told apart."""


def draw(cells: Mapping[tuple[float, int, str], Cell], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    epsilons = sorted({epsilon for epsilon, _, _ in cells})
    queries = sorted({m for _, m, _ in cells})
    with picture(path, 11.0, 7.0) as figure:
        figure.get_layout_engine().set(rect=(0, 0.06, 1, 0.94))
        grid = figure.subplots(2, len(epsilons), sharex=True, sharey="row", squeeze=False)
        for column, epsilon in enumerate(epsilons):
            for way, style in STYLES.items():
                own = [cells[epsilon, m, way] for m in queries]
                _line(grid[0, column], way, queries, [cell.unstable for cell in own], style)
                _line(grid[1, column], way, queries, [cell.unlabelled for cell in own], style)
            entitle(grid[0, column], f"ε = {epsilon:g}")
            grid[1, column].set_xlabel(ON_QUERIES)
        for axes in grid.flat:
            axes.set_xscale("log")
            axes.set_xticks(queries, [f"{m:,}" for m in queries])
            axes.minorticks_off()
            axes.set_ylim(bottom=0)
            mark_in_percent(axes.yaxis)
            tidy(axes)
        grid[0, 0].set_ylabel("unstable, of those decided", fontsize=NAME)
        grid[1, 0].set_ylabel("without a label, of all m", fontsize=NAME)
        lines = grid[0, 0].get_lines()
        handles = [line for line in lines if line.get_label() in WORDS]
        figure.legend(
            handles,
            [WORDS[line.get_label()] for line in handles],
            loc="lower center",
            ncols=len(handles),
            frameon=False,
            fontsize=SMALL,
        )


def _line(axes: Any, way: str, queries: list[int], shares: list[tuple[float, float]], style: Mapping[str, Any]) -> None:
    """Means with bars of one standard deviation of the runs."""
    places = [m * SHIFTS[way] for m in queries]
    means, spreads = zip(*shares, strict=True)
    axes.plot(places, means, markersize=5.5, label=way, zorder=3, **style)
    lower = [min(mean, spread) for mean, spread in shares]
    axes.errorbar(places, means, yerr=[lower, spreads], fmt="none", ecolor=style["color"], elinewidth=1.0, capsize=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help="seeds of every cell")
    parser.add_argument("--redraw", action="store_true", help="only draw and write what is stored")
    options = parser.parse_args()
    runs = stored()
    if not options.redraw:
        task = load("adult", Path())
        done = {(*run.cell, run.seed) for run in runs}
        for seed, epsilon, queries, way in product(range(options.runs), EPSILONS, QUERIES, WAYS):
            if (epsilon, queries, way, seed) not in done:
                runs.append(perform(task, epsilon, queries, way, seed))
                print(*asdict(runs[-1]).values(), sep="  ", flush=True)
                runs.sort(key=lambda run: (run.epsilon, run.queries, WAYS.index(run.way), run.seed))
                write_json(RESULTS, {"delta": DELTA, "depth": DEPTH}, list(map(asdict, runs)))

    draw(cells(runs), PICTURE)
    put_between(PAGE, "relabel", markdown(HEADER, rows(runs)))


if __name__ == "__main__":
    main()
