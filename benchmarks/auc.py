"""How well does `PrivateClassifier` rank? AUC on test rows, beside logistic regression by DP-SGD.

    python -m benchmarks.auc prepare FOLDER [--data FOLDER] [--tables adult,bank,…]
    python -m benchmarks.auc measure FOLDER [--tables …] [--epsilons .1,1] [--runs N] [--jobs N]
    python -m benchmarks.auc page

δ = 10⁻⁶, replace-one; splits and public rows as everywhere. `prepare` writes the tables into FOLDER, as arrays that
need neither pandas nor the Parquet files where they are read. `measure` runs what is not on file, a run each process,
and stores every run when it ends. `page` writes the table of docs/classifier-results.md.

The logistic regression has the settings and the noise on file (`benchmarks.dp_sgd`): for each table and ε the best of
a search by *accuracy* on the test rows. Nobody searched for its AUC. Its steps are those of
`benchmarks.dp_sgd_training`, in NumPy: Poisson sampling, gradients clipped one by one, noise, momentum. `page` says how
far its accuracy is from that of the runs on file.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from benchmarks import dp_sgd
from benchmarks.accuracy import DATA, markdown, mean_and_spread, read_cases, seed_of, wide_console, write_json
from benchmarks.classifiers import PAGE, named
from benchmarks.dp_sgd_training import MOMENTUM, Setting
from benchmarks.leads import DELTA, Key
from benchmarks.pages import put_between
from benchmarks.tables import TABLES, Task, load
from pcqr import AssumePublic, PrivateClassifier
from pcqr.data.records.predicates import evaluate
from pcqr.data.records.vectors import LEAST_DEVIATION, UNIT, standard_entries
from pcqr.hypotheses import DecisionTrees
from pcqr.releases.classifier.feature_maps import linear_predicates
from pcqr.releases.classifier.rule import choose

LEARNERS = ("auto", "logistic regression")
EPSILONS = (0.03, 0.1, 0.3, 1.0)
RUNS = {"adult": 10, "bank": 10, "diabetes": 10}
FEWEST_RUNS = 5
RESULTS = Path("benchmarks/results/auc.json")

Floats = NDArray[np.float32]


class Table(NamedTuple):
    """What is read of a table: private records, public rows, test rows."""

    X: NDArray[np.float64]
    y: NDArray[np.int8]
    public: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int8]


@dataclass(frozen=True)
class Job:
    """One run of one learner."""

    learner: str
    table: str
    epsilon: float
    run: int


@dataclass(frozen=True)
class Case:
    """One learner on one table at one ε; `runs` has [AUC, accuracy] by the number of the run."""

    learner: str
    table: str
    records: int
    epsilon: float
    runs: Mapping[str, Sequence[float]]

    @property
    def key(self) -> tuple[str, str, float]:
        return self.learner, self.table, self.epsilon

    def column(self, number: int) -> tuple[float, float, int]:
        """Return mean and standard error of AUC (0) or accuracy (1), and how many runs there are."""
        values = [figures[number] for figures in self.runs.values()]
        mean, spread = mean_and_spread(values)
        return mean, spread / math.sqrt(len(values)), len(values)


def keep(task: Task, folder: Path) -> Path:
    """Write a table of integers."""
    path = folder / f"{task.name}.npz"
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, Any] = {name: dp_sgd.integers(getattr(task, name)) for name in ("X", "public", "X_test")}
    np.savez_compressed(path, y=task.y, y_test=task.y_test, **rows)
    return path


@lru_cache(maxsize=1)
def kept(path: Path) -> Table:
    with np.load(path) as content:
        rows = {name: content[name].T.astype(np.float64, order="C") for name in ("X", "public", "X_test")}
        return Table(y=content["y"], y_test=content["y_test"], **rows)


def inputs(table: Table, kind: str) -> tuple[Floats, Floats]:
    """Return the unit vectors of the records and of the test rows that a logistic regression sees."""
    if kind == "few":
        predicates, least = DecisionTrees().prepared(table.public, None).predicates or (), LEAST_DEVIATION / 2.0
    else:
        predicates, least = linear_predicates(dp_sgd.RAREST, table.y.size, table.public, None), LEAST_DEVIATION
    holding, failing = (np.array(entries, np.float32) for entries in standard_entries(predicates, table.public, least))

    def unit_vectors(X: NDArray[np.float64]) -> Floats:
        vectors = np.full((len(X), len(predicates) + 1), UNIT, dtype=np.float32)
        vectors[:, :-1] = np.where(evaluate(predicates, X), holding, failing)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    return unit_vectors(table.X), unit_vectors(table.X_test)


@lru_cache(maxsize=1)
def _inputs(path: Path, kind: str) -> tuple[Floats, Floats]:
    return inputs(kept(path), kind)


def dp_gradient_descent(rows: Floats, labels: NDArray[np.int8], setting: Setting, noise: float, seed: int) -> Floats:
    """Return the weights of a logistic regression on unit vectors, with noise of `noise`·C in each step.

    The gradient of a record is (p − y)·x, so that its norm is |p − y|, which is cut to C.
    """
    generator = np.random.default_rng(seed)
    count, size = rows.shape
    weights, moving, total = (np.zeros(size, dtype=np.float32) for _ in range(3))
    for step in range(setting.steps):
        batch, wanted = rows, labels
        if setting.per_epoch > 1:
            chosen = np.flatnonzero(generator.random(count) < 1.0 / setting.per_epoch)
            batch, wanted = rows[chosen], labels[chosen]
        gradients = np.clip(expit(batch @ weights) - wanted, -setting.clip, setting.clip)
        noisy = gradients @ batch + generator.normal(scale=noise * setting.clip, size=size)
        moving = MOMENTUM * moving + (noisy * (setting.per_epoch / count)).astype(np.float32)
        weights = weights - np.float32(setting.rate) * moving
        if 2 * (step + 1) > setting.steps:
            total += weights
    return total / np.float32(math.ceil(setting.steps / 2)) if setting.averaged else weights


def measure(job: Job, folder: Path, peer: dp_sgd.Case) -> Case:
    """Fit once and score the test rows; `peer` has the settings of the logistic regression."""
    path = folder / f"{job.table}.npz"
    table = kept(path)
    seed = seed_of(job.table, job.epsilon, job.run)
    if job.learner == "auto":
        classifier = PrivateClassifier(job.epsilon, DELTA, entropy=seed, classes=(0, 1))
        classifier.fit(table.X, table.y, public=AssumePublic(table.public))
        scores: NDArray[Any] = classifier.predict_proba(table.X_test)[:, 1]
        labels = classifier.predict(table.X_test)
    else:
        rows, test_rows = _inputs(path, peer.setting.inputs)
        scores = test_rows @ dp_gradient_descent(rows, table.y, peer.setting, peer.noise, seed)
        labels = scores > 0.0
    figures = [float(roc_auc_score(table.y_test, scores)), float(np.mean(labels == table.y_test))]
    return Case(job.learner, job.table, table.y.size, job.epsilon, {f"{job.run}": figures})


def stored(root: Path) -> dict[tuple[str, str, float], Case]:
    return {case.key: case for case in read_cases(root / RESULTS, Case)}


def store(new: Case, root: Path) -> None:
    """Add the runs of `new` to those on file."""
    cases = stored(root)
    earlier = cases[new.key].runs if new.key in cases else {}
    runs = dict(sorted({**earlier, **new.runs}.items(), key=lambda run: int(run[0])))
    cases[new.key] = replace(new, runs=runs)
    order = sorted(cases.values(), key=lambda each: (TABLES.index(each.table), each.epsilon, each.learner))
    write_json(root / RESULTS, {"delta": DELTA}, [asdict(case) for case in order])


def missing(tables: Sequence[str], epsilons: Sequence[float], most: int | None, root: Path) -> Iterator[Job]:
    """The runs that are not on file, at most `most` a cell, the longest first."""
    cases = stored(root)
    for name in sorted(tables, key=("covertype", "flights", "diabetes", "adult", "bank").index):
        for epsilon in sorted(epsilons, reverse=True):
            for learner in LEARNERS:
                done = cases[learner, name, epsilon].runs if (learner, name, epsilon) in cases else {}
                runs = min(RUNS.get(name, FEWEST_RUNS), FEWEST_RUNS * 10 if most is None else most)
                yield from (Job(learner, name, epsilon, run) for run in range(runs) if f"{run}" not in done)


# The page --------------------------------------------------------------------------------------------------------

HEADER = ("table", "ε", "n·ε", "`auto` publishes", "AUC (runs)", "logistic regression (runs)", "lead on it")


def rows_of(root: Path) -> list[list[str]]:
    """One row a table and ε, for the cells where both learners have runs."""
    cases, rows = stored(root), []
    for (name, epsilon), (ours, theirs) in _pairs(cases):
        (mean, error, runs), (their_mean, their_error, their_runs) = ours.column(0), theirs.column(0)
        rows.append(
            [
                *(name, f"{epsilon:g}", f"{ours.records * epsilon:,.0f}", named(choose(ours.records, epsilon))),
                f"**{mean:.4f}** ±{error:.4f} ({runs})",
                f"{their_mean:.4f} ±{their_error:.4f} ({their_runs})",
                f"{mean - their_mean:+.4f} ±{math.hypot(error, their_error):.4f}",
            ]
        )
    return rows


def _pairs(cases: Mapping[tuple[str, str, float], Case]) -> Iterator[tuple[Key, tuple[Case, Case]]]:
    for name in TABLES:
        for epsilon in EPSILONS:
            both = [cases[learner, name, epsilon] for learner in LEARNERS if (learner, name, epsilon) in cases]
            if len(both) == len(LEARNERS):
                yield (name, epsilon), (both[0], both[1])


def standing(root: Path) -> str:
    """What the table says, and whether the logistic regression is that of the runs on file."""
    pairs, filed = list(_pairs(stored(root))), dp_sgd.stored(root, "logistic regression")
    leads, gaps = [], []
    for key, (ours, theirs) in pairs:
        (mean, error, _), (their_mean, their_error, _) = ours.column(0), theirs.column(0)
        leads.append((key, mean - their_mean, math.hypot(error, their_error)))
        accuracy, of_runs, _ = theirs.column(1)
        on_file, spread = mean_and_spread(filed[key].accuracy)
        gaps.append(abs(accuracy - on_file) / math.hypot(of_runs, spread / math.sqrt(len(filed[key].accuracy))))
    behind = [f"{name} at {epsilon:g} ({-lead:.4f})" for (name, epsilon), lead, error in leads if lead < -error]
    ahead = sum(lead > error for _, lead, error in leads)
    listed = f": {', '.join(behind)}" if behind else ""
    return (
        f"By more than one standard error of the runs, `auto` is ahead in {ahead} of {len(leads)} cells and behind in "
        f"{len(behind)}{listed}. The accuracy of these runs of logistic regression differs from that of the runs on "
        f"file by {math.sqrt(float(np.mean(np.square(gaps)))):.1f} standard errors (root mean square over the cells), "
        f"at most by {max(gaps):.1f}."
    )


def page(root: Path) -> str:
    return f"{markdown(HEADER, rows_of(root))}\n\n{standing(root)}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auc", description=(__doc__ or "").split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    preparing = verbs.add_parser("prepare", help="write the tables that the runs read")
    preparing.add_argument("--data", type=Path, default=DATA, help="the folder of the Parquet files")
    measuring = verbs.add_parser("measure", help="make the runs that are not on file")
    measuring.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in EPSILONS))
    measuring.add_argument("--runs", type=int, help="at most so many a table, ε and learner")
    measuring.add_argument("--jobs", type=int, default=2, help="processes")
    for each in (preparing, measuring):
        each.add_argument("folder", type=Path)
        each.add_argument("--tables", default=",".join(TABLES), help="some of them, with commas")
    verbs.add_parser("page", help="run nothing, write the page")
    given, console, root = parser.parse_args(), wide_console(), Path()
    if given.verb == "prepare":
        for name in given.tables.split(","):
            console.print(f"{keep(load(name, given.data), given.folder)}")
    elif given.verb == "measure":
        _run(given, root)
    else:
        put_between(root / PAGE, "auc", page(root))


def _run(given: Any, root: Path) -> None:
    console, peers = wide_console(), dp_sgd.stored(root, "logistic regression")
    jobs = list(missing(given.tables.split(","), list(map(float, given.epsilons.split(","))), given.runs, root))
    with ProcessPoolExecutor(given.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(measure, job, given.folder, peers[job.table, job.epsilon]) for job in jobs]
        for count, done in enumerate(as_completed(waiting), 1):
            case = done.result()
            store(case, root)
            (figures,) = case.runs.values()
            words = f"{case.learner}  {case.table} {case.epsilon:g}  AUC {figures[0]:.4f}  accuracy {figures[1]:.4f}"
            console.print(f"{count} of {len(jobs)}  {words}", highlight=False)


if __name__ == "__main__":
    main()
