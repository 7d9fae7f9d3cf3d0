"""Score methods on queries that come one at a time, where only the categories of texts are public.

    python -m benchmarks.online --data FOLDER [--tables adult,bank] [--epsilons .3,1,4] [--jobs 2] [--redraw]

m = 100, 300 and 1,000 queries are drawn from the test rows, anew in each of five runs. The score is the share of right
answers, where a query without an answer counts half. δ = 10⁻⁶, replace-one, every method with its own defaults. Every
run is stored when it ends, and a later call goes on where this one stopped. Then the script writes the table of
docs/comparison.md from all stored runs (`--redraw`: does only this).
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from benchmarks.accuracy import markdown, parser_of, seed_of
from benchmarks.leads import DELTA
from benchmarks.nothing_public import Frames, frames
from benchmarks.pages import put_between
from pcqr import (
    AgnosticRelease,
    AssumePublic,
    BudgetExhausted,
    IndividualKNN,
    NoisyMaxAggregate,
    PrivateClassifier,
    Schema,
    SubsampleAggregate,
    UniversalRelease,
)
from pcqr.data.schema import Column
from pcqr.data.schema.cells import categories, cells
from pcqr.errors import InfeasiblePlan, PcqrWarning

TABLES = ("adult", "bank", "diabetes", "flights", "covertype")
EPSILONS = (0.3, 1.0, 4.0)
QUERIES = (100, 300, 1_000)
RUNS = 5
RESULTS, PAGE = Path("benchmarks/results/online.jsonl"), Path("docs/comparison.md")

Labels = NDArray[np.int64]
Answered = tuple[Labels, dict[str, Any]]
UNANSWERED = -1


class Encoded(NamedTuple):
    """Rows by a schema of declared categories, whose numbers have neither bounds nor cuts."""

    X: NDArray[np.float64]
    X_test: NDArray[np.float64]


@cache
def typed(name: str, folder: str) -> Frames:
    return frames(name, Path(folder))


@cache
def encoded(name: str, folder: str) -> Encoded:
    """Categories are declared: all that occur in the table, which is public here."""
    task = typed(name, folder)
    columns = []
    for column in task.X:
        both = pd.concat([task.X[column], task.X_test[column]])
        if pd.api.types.is_numeric_dtype(both) and not pd.api.types.is_bool_dtype(both):
            columns.append(Column(column, missing=bool(both.isna().any())))
        else:
            names = filter(None, categories(cells(both, column)))  # "None" is read as a gap
            columns.append(Column(column, "categorical", sorted(set(names))))
    schema = Schema(tuple(columns))
    return Encoded(schema.encode(task.X), schema.encode(task.X_test))


def queries_of(name: str, folder: str, run: int) -> NDArray[np.int64]:
    rows = len(typed(name, folder).y_test)
    return np.random.default_rng(seed_of(name, run)).permutation(rows)[: max(QUERIES)]


class Job(NamedTuple):
    """One run of a method. Methods whose answers do not depend on m have `queries` 0, and answer the longest list."""

    method: str
    table: str
    epsilon: float
    queries: int
    run: int

    @property
    def key(self) -> str:
        return json.dumps(self)


def answered(release: Any, X: Any) -> Labels:
    """Ask for the rows in order, and return a label for each, or `UNANSWERED`."""
    labels = np.full(len(X), UNANSWERED, dtype=np.int64)
    try:
        for row, answer in enumerate(release.answers(X)):
            if answer.label is not None:
                labels[row] = answer.label
    except BudgetExhausted:
        pass
    return labels


def by_votes(kind: Callable[..., Any], job: Job, folder: str, *, public: int = 0) -> Answered:
    rows, task = encoded(job.table, folder), typed(job.table, folder)
    asked = queries_of(job.table, folder, job.run)[: job.queries]
    release = kind(epsilon=job.epsilon, delta=DELTA, queries=job.queries, classes=(0, 1), entropy=seed_of(*job))
    if public:
        rest = np.setdiff1d(np.arange(len(rows.X_test)), asked)[:public]
        release.fit(rows.X, task.y, public=rows.X_test[rest])
    else:
        release.fit(rows.X, task.y)
    return answered(release, rows.X_test[asked]), expected(release.plan_)


def expected(plan: Any) -> dict[str, Any]:
    """Return the plan's prediction, and its numbers of teachers and unstable answers."""
    vector = getattr(plan.vote, "sparse_vector", None)
    found = {"teachers": getattr(plan.vote, "teachers", None), "unstable": None if vector is None else vector.unstable}
    return found | ({} if plan.prediction is None else asdict(plan.prediction))


def universal(job: Job, folder: str) -> Labels:
    task = typed(job.table, folder)
    release = UniversalRelease(epsilon=job.epsilon, delta=DELTA, classes=(0, 1), entropy=seed_of(*job))
    release.fit(task.X, task.y)
    return answered(release, task.X_test.iloc[queries_of(job.table, folder, job.run)])


def votes_first(job: Job, folder: str) -> Labels:
    """Answer 30 queries by noisy majorities for .3 of the Gaussian-DP parameter μ, the others by a classifier.

    The public rows of the classifier are these 30 queries. Each part has an ε of its own. The squares of their μ add up
    to that of the whole.
    """
    task, rows, asked = typed(job.table, folder), encoded(job.table, folder), queries_of(job.table, folder, job.run)
    mu = brentq(lambda mu: gaussian_delta(mu, job.epsilon) - DELTA, 1e-4, 10.0)
    share = VOTED_SHARE * mu
    votes, rest = (
        brentq(lambda epsilon, part=part: gaussian_delta(part, epsilon) - DELTA, 1e-4, job.epsilon)
        for part in (share, (mu**2 - share**2) ** 0.5)
    )
    release = NoisyMaxAggregate(epsilon=votes, delta=DELTA, queries=VOTED, classes=(0, 1), entropy=seed_of(*job))
    first = answered(release.fit(rows.X, task.y), rows.X_test[asked[:VOTED]])
    classifier = PrivateClassifier(rest, DELTA, classes=(0, 1), entropy=seed_of(*job))
    classifier.fit(task.X, task.y, public=AssumePublic(task.X_test.iloc[asked[:VOTED]]))
    later = np.asarray(classifier.predict(task.X_test.iloc[asked[VOTED:]]), dtype=np.int64)
    return np.concatenate([first, later])


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The δ of a Gaussian mechanism at ε: Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) (Balle and Wang 2018)."""
    return float(ndtr(0.5 * mu - epsilon / mu) - np.exp(epsilon + log_ndtr(-0.5 * mu - epsilon / mu)))


METHODS: Mapping[str, Callable[[Job, str], Labels | Answered]] = {
    "universal": universal,
    "votes-first": votes_first,
    "agnostic": lambda job, folder: by_votes(AgnosticRelease, job, folder),
    "subsamp": lambda job, folder: by_votes(SubsampleAggregate, job, folder),
    "subsamp-stability": lambda job, folder: by_votes(partial(SubsampleAggregate, vote="stability"), job, folder),
    "gnmax": lambda job, folder: by_votes(NoisyMaxAggregate, job, folder),
    "individual-knn": lambda job, folder: by_votes(IndividualKNN, job, folder, public=2_000),
}
WITHOUT_END = ("universal", "votes-first")
VOTED, VOTED_SHARE = 30, 0.3


def run(job: Job, folder: str) -> dict[str, Any]:
    warnings.simplefilter("ignore", PcqrWarning)
    start = time.perf_counter()
    try:
        told = METHODS[job.method](job, folder)
        labels, plan = told if isinstance(told, tuple) else (told, {})
    except InfeasiblePlan:
        plan, labels = {}, np.full(job.queries or max(QUERIES), UNANSWERED)
    seconds = round(time.perf_counter() - start, 3)
    truth = np.asarray(typed(job.table, folder).y_test)[queries_of(job.table, folder, job.run)]
    found = {}
    for m in QUERIES if job.queries == 0 else (job.queries,):
        first, missing = labels[:m], labels[:m] == UNANSWERED
        found[m] = {
            "score": float((np.where(missing, 0.5, first == truth[:m])).mean()),
            "unanswered": float(missing.mean()),
            "halted": int(m - 1 - np.flatnonzero(~missing).max(initial=-1)),
        }
    return {"job": list(job), "seconds": seconds, "found": found, "plan": plan}


def jobs(tables: Any = TABLES, epsilons: Any = EPSILONS, methods: Any = tuple(METHODS)) -> Iterator[Job]:
    """The runs, those that take longest first."""
    for run_ in range(RUNS):
        for method in methods:
            for table in sorted(tables, key=TABLES.index, reverse=True):
                for epsilon in epsilons:
                    for m in (0,) if method in WITHOUT_END else QUERIES:
                        yield Job(method, table, epsilon, m, run_)


def stored(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    return {json.dumps(each["job"]): each for each in map(json.loads, path.read_text("utf-8").splitlines())}


def measure(todo: list[Job], folder: str, path: Path, workers: int, seconds: float) -> None:
    """Make the runs that are not stored, and store each when it ends. Begin none after so many seconds."""
    start, context = time.monotonic(), get_context("spawn")
    before = stored(path)
    todo = [job for job in todo if json.dumps(list(job)) not in before]
    with path.open("a", encoding="utf-8") as file, ProcessPoolExecutor(workers, mp_context=context) as pool:
        waiting = {pool.submit(run_until, job, folder, time.time() + seconds) for job in todo}
        for number, each in enumerate(as_completed(waiting)):
            if each.exception() is not None:
                pool.shutdown(wait=False, cancel_futures=True)
            if (found := each.result()) is not None:
                print(json.dumps(found), file=file, flush=True)
                print(f"{time.monotonic() - start:6.0f} s {number + 1}/{len(todo)} {found['job']}", flush=True)


def run_until(job: Job, folder: str, end: float) -> dict[str, Any] | None:
    return run(job, folder) if time.time() < end else None


TITLES = {
    "universal": "`UniversalRelease`",
    "votes-first": "30 votes, then a classifier",
    "agnostic": "`AgnosticRelease`",
    "subsamp": "`SubsampleAggregate`",
    "subsamp-stability": "the same, stability",
    "gnmax": "GNMax",
    "individual-knn": "Ind-kNN, 2,000 public rows",
}
"""The columns of the page."""


def page(found: Collection[Mapping[str, Any]]) -> str:
    """Return the scores of each table and ε, averaged over m and the runs, and their mean."""
    scores: dict[tuple[str, str, float], list[float]] = {}
    for each in found:
        method, table, epsilon, *_ = each["job"]
        scores.setdefault((method, table, epsilon), []).extend(at["score"] for at in each["found"].values())
    methods = [method for method in TITLES if any(method == key[0] for key in scores)]
    rows = [
        (table, f"{epsilon:g}", *(f"{100 * np.mean(scores[method, table, epsilon]):.1f}" for method in methods))
        for table in TABLES
        for epsilon in EPSILONS
    ]
    means = (np.mean([np.mean(scores[method, row[0], float(row[1])]) for row in rows]) for method in methods)
    rows.append(("**mean**", "", *(f"**{100 * mean:.1f}**" for mean in means)))
    return markdown(("table", "ε", *(TITLES[method] for method in methods)), rows)


def main() -> None:
    parser = parser_of("benchmarks.online", __doc__, TABLES, EPSILONS)
    parser.add_argument("--methods", type=lambda text: tuple(text.split(",")), default=tuple(METHODS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after so many seconds")
    parser.add_argument("--redraw", action="store_true", help="run nothing, write the page again")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    if not given.redraw:
        todo = list(jobs(given.tables, given.epsilons, given.methods))
        measure(todo, str(given.data), given.output, given.jobs, given.seconds)
    put_between(PAGE, "online", page(stored(given.output).values()))


if __name__ == "__main__":
    main()
