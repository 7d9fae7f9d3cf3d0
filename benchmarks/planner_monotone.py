"""Planning for more queries must not mean fewer answers: releases that are run until they halt.

    python -m benchmarks.planner_monotone [--json PATH]

Three chains of requests on UCI Adult, which comes with pcqr: the same records, class, ε and δ, planned for more queries
each time. Each release is then asked the same distinct queries from the test part until it halts or all 10,000 have
been asked. Recorded is how many got a label, whatever m was, beside what the plan expects among its m. A release that
was planned for more queries should answer about as many or more; a run with T = 20 varies by 20 %.

Randomness is seeded so that a run can be repeated.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.adult import adult, distinct_rows
from pcqr import AgnosticRelease, BudgetExhausted, SubsampleAggregate, UnansweredWarning
from pcqr.hypotheses import Stumps
from pcqr.releases.base.answering import Release
from pcqr.releases.subsample.plan import VotingPlan

QUERIES = (500, 2_000, 100_000)
ASKED, DELTA, SEED = 10_000, 1e-6, 0
CHAINS: dict[str, tuple[Callable[..., Release[VotingPlan]], float]] = {
    "AgPrivCl, ε = 2": (partial(AgnosticRelease, vote="stability"), 2.0),
    "AgPrivCl, ε = 3": (partial(AgnosticRelease, vote="stability"), 3.0),
    "SubSamp, ε = 2": (partial(SubsampleAggregate, vote="stability"), 2.0),
}
RESULTS = Path("benchmarks/results/planner_monotone.json")


@dataclass(frozen=True)
class Case:
    """One release: planned for `queries`, expected to answer so many of them, and answered so many before it halted."""

    chain: str
    queries: int
    unstable_budget: int
    teachers: int
    expected_answers: float
    answers: int
    halted: bool


def case(chain: str, queries: int) -> Case:
    kind, epsilon = CHAINS[chain]
    data = adult()
    release = kind(Stumps(), epsilon=epsilon, delta=DELTA, queries=queries, entropy=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnansweredWarning)
        release.fit(data.X_train, data.y_train)
    rows = data.X_test[distinct_rows(data.X_test, ASKED, np.random.default_rng(SEED))]
    try:
        release.predict(rows)
        asked, halted = len(rows), False
    except BudgetExhausted as stopped:
        asked, halted = len(stopped.answers), True
    plan = release.plan_
    assert plan.expected_answers is not None
    return Case(
        chain=chain,
        queries=queries,
        unstable_budget=plan.tested.sparse_vector.unstable,
        teachers=plan.vote.teachers,
        expected_answers=round(plan.expected_answers, 1),
        answers=asked - release.unstable_answers_,
        halted=halted,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Releases planned for more and more queries, run until they halt.")
    parser.add_argument("--json", type=Path, default=RESULTS, help=f"where the results go ({RESULTS})")
    options = parser.parse_args()
    cases = [case(chain, queries) for chain in CHAINS for queries in QUERIES]
    lines = ",\n".join(json.dumps(asdict(found), ensure_ascii=False) for found in cases)
    options.json.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for linear in ("chain", "m", "T", "k", "answers, expected", "seen", "halted"):
        table.add_column(linear)
    for found in cases:
        table.add_row(
            found.chain,
            f"{found.queries:,}",
            f"{found.unstable_budget:,}",
            f"{found.teachers:,}",
            f"{found.expected_answers:,.0f}",
            f"{found.answers:,}",
            "yes" if found.halted else "no",
        )
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()
