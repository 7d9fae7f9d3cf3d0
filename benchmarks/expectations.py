"""What the planner expects of votes beside what real tables show: unstable answers, and whether a release halts.

    python -m benchmarks.expectations [--redraw] [--data PATH] [--json PATH]

Every cell is a release as `fit` plans it, on 30,000 private records of a table (`benchmarks.tables`), asked m distinct
queries out of the test part. Recorded are the share of ⊥ among the queries that were asked, the number that got a
label, and whether the release halted, beside the plan's `Prediction`. `doubt` is the factor on the teachers' error θ
with which the model would have expected the share of ⊥ that was seen: 1 where it is right, below 1 where it is too
pessimistic. The quantiles of these factors are what `pcqr.planning.model.DOUBT` is made from.

Randomness is seeded so that a run can be repeated. The results go to a file and into a table of docs/planning.md.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.accuracy import markdown
from benchmarks.adult import distinct_rows
from benchmarks.tables import TABLES, Task, load
from pcqr import AgnosticRelease, BudgetExhausted, SubsampleAggregate
from pcqr.estimators.releases import Release
from pcqr.hypotheses import DecisionTrees, Stumps
from pcqr.hypotheses.base import HypothesisClass
from pcqr.plan import VotingPlan
from pcqr.planning.expectation import modelled_run

RECORDS, DELTA, SEED = 30_000, 1e-6, 0
EPSILONS, QUERIES = (1.0, 2.0, 4.0), (300, 1_000)
ALGORITHMS: Mapping[str, type[Release[VotingPlan]]] = {"SubSamp": SubsampleAggregate, "AgPrivCl": AgnosticRelease}
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
    plan, left = release.plan_, release.unstable_left_
    try:
        release.predict(rows)
        asked, halted = len(rows), False
    except BudgetExhausted as stopped:
        asked, halted = len(stopped.answers), True
    unstable = left - release.unstable_left_
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
        unstable_budget=plan.vote.sparse_vector.unstable,
        expected_unstable=round(expected.unstable_share, 5),
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
        run = modelled_run(plan.vote, hypotheses, features, plan.queries, doubt=math.exp(middle))
        low, high = (low, middle) if run.unstable_share >= seen else (middle, high)
    return math.exp(high)


def cells(folder: Path) -> list[Cell]:
    tasks = {name: load(name, folder) for name in TABLES}
    settings = [
        (tasks[table], name, algorithm, epsilon, queries)
        for table in TABLES
        for name in CLASSES
        for algorithm in ALGORITHMS
        for epsilon in EPSILONS
        for queries in QUERIES
    ]
    return [measured(*setting) for setting in track(settings, "releases")]
