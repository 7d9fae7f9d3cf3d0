"""A thousand small teachers at once: how fast, beside a loop over scikit-learn's fits, and are they as good?

    python -m benchmarks.teachers --data FOLDER [--teachers 1000] [--records 100] [--rounds 3] [--fast]

Two tables, Adult (two labels) and covertype (all seven), and two kinds of teachers:

    logistic   LogisticTeachers()       beside   make_pipeline(StandardScaler(), LogisticRegression())
    tree       TreeTeachers(depth=4)    beside   DecisionTreeClassifier(max_depth=4)

The records are drawn from the table in random order, again and again where it has too few for a thousand teachers, as
Adult has (in a release no two teachers share a record), and cut into parts. Seconds are the best of some rounds, the
two ways in turn: ours in a thread a core; scikit-learn's in a loop of joblib over two processes, which were started
before (on more than two cores, `taskset` makes it fair). *CPU* is the time that processors worked, which a busy machine
does not change: all of ours, and of the loop what its fits took, without what joblib adds. *single* is the mean
accuracy of one teacher, *committee* that of the label with the most votes, on the same test rows. *same votes*: all at
once and one by one, ours give the same votes, bit for bit. Writes a table of docs/comparison.md.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks.accuracy import WORKERS, markdown, show, wide_console, write_json
from benchmarks.pages import put_between
from benchmarks.tables import Source, Task, load
from pcqr.data.records import InMemory
from pcqr.hypotheses import LogisticTeachers, TreeTeachers
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.committees import Committee, trained
from pcqr.privacy.entropy import SeededEntropy

RESULTS, PAGE = Path("benchmarks/results/teachers.json"), Path("docs/comparison.md")
COVERTYPE = Source("covertype.parquet", "Cover_Type", lambda kind: kind - 1)
SCORED = 5_000
FAST_TEACHERS, FAST_SCORED = 100, 1_000
HEADER = ("table", "labels", "teacher", "k", "ours, s", "loop, s", "ratio", "CPU ratio", "single", "loop's",
          "committee", "loop's", "same votes")  # fmt: skip

Votes = NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """One table and one kind of teacher: seconds, and accuracies of ours and of scikit-learn's."""

    table: str
    labels: int
    teacher: str
    teachers: int
    records: int
    seconds: float
    loop_seconds: float
    cpu: float
    loop_cpu: float
    single: float
    loop_single: float
    committee: float
    loop_committee: float
    same_votes: bool
    load: float
    """The machine's load average before: much above 0, and seconds mean little."""

    @property
    def ratio(self) -> float:
        return self.loop_seconds / self.seconds

    @property
    def cpu_ratio(self) -> float:
        return self.loop_cpu / self.cpu


def kinds(labels: int) -> dict[str, tuple[HypothesisClass, Any]]:
    """By name: ours, and scikit-learn's."""
    return {
        "logistic": (
            LogisticTeachers(labels=labels),
            make_pipeline(StandardScaler(), LogisticRegression()),
        ),
        "tree": (TreeTeachers(labels=labels), DecisionTreeClassifier(max_depth=4, random_state=0)),
    }


def measured(task: Task, name: str, teachers: int, records: int, rounds: int, scored: int) -> Row:
    """Train both ways in turn, `rounds` times, and score them."""
    labels = int(task.y.max()) + 1
    ours, theirs = kinds(labels)[name]
    entropy = SeededEntropy(0)
    times = -(-teachers * records // task.y.size)
    drawn = np.concatenate([entropy.permutation(task.y.size) for _ in range(times)])[: teachers * records]
    held, parts = InMemory(task.X[drawn], task.y[drawn], labels), np.split(np.arange(drawn.size), teachers)
    X, y = np.ascontiguousarray(task.X_test[:scored]), task.y_test[:scored]
    before = os.getloadavg()[0]
    with joblib.Parallel(n_jobs=WORKERS) as loop:
        committee, fitted = trained(ours, held, parts[:2]), in_a_loop(loop, theirs, held, parts[: 4 * WORKERS])  # warm
        taken, loop_taken, loop_cpu = [], [], []
        for _ in range(rounds):
            took, committee = timed(lambda: trained(ours, held, parts))
            taken.append(took)
            took, fitted = timed(lambda: in_a_loop(loop, theirs, held, parts))
            loop_taken.append(took[0])
            loop_cpu.append(sum(cpu for _, cpu in fitted))
    alone = np.stack([trained(ours, held, [part]).counts(X).argmax(axis=1) for part in parts])
    other = np.stack([teacher.predict(X) for teacher, _ in fitted])
    return Row(
        table=task.name,
        labels=labels,
        teacher=name,
        teachers=teachers,
        records=records,
        seconds=min(wall for wall, _ in taken),
        loop_seconds=min(loop_taken),
        cpu=min(cpu for _, cpu in taken),
        loop_cpu=min(loop_cpu),
        single=float((alone == y).mean()),
        loop_single=float((other == y).mean()),
        committee=float((committee.counts(X).argmax(axis=1) == y).mean()),
        loop_committee=float((counted(other, labels).argmax(axis=1) == y).mean()),
        same_votes=is_same(committee, alone, X),
        load=before,
    )


def in_a_loop(loop: Any, estimator: Any, held: InMemory, parts: Sequence[NDArray[np.int64]]) -> list[tuple[Any, float]]:
    fitted: list[tuple[Any, float]] = loop(joblib.delayed(fit)(estimator, held.X[part], held.y[part]) for part in parts)
    return fitted


def fit(estimator: Any, X: NDArray[np.float64], y: NDArray[np.int8]) -> tuple[Any, float]:
    """One teacher, as anybody would train it, and its CPU seconds."""
    (_, cpu), teacher = timed(lambda: _fitted(estimator, X, y))
    return teacher, cpu


def _fitted(estimator: Any, X: NDArray[np.float64], y: NDArray[np.int8]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(X, y)


def timed(call: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """Seconds that passed, seconds that this process worked; and the result."""
    start, cpu = time.perf_counter(), time.process_time()
    result = call()
    return (time.perf_counter() - start, time.process_time() - cpu), result


def counted(votes: NDArray[Any], labels: int) -> Votes:
    """For each point the votes for each label."""
    return np.stack([(votes == label).sum(axis=0) for label in range(labels)], axis=1)


def is_same(committee: Committee, alone: Votes, X: NDArray[np.float64]) -> bool:
    return bool((committee.counts(X) == counted(alone, committee.labels)).all())


def table_rows(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return [
        (
            *(row.table, str(row.labels), row.teacher, f"{row.teachers:,}"),
            *(f"{row.seconds:.3f}", f"{row.loop_seconds:.2f}", f"{row.ratio:.1f}", f"{row.cpu_ratio:.1f}"),
            *(f"{share:.4f}" for share in (row.single, row.loop_single, row.committee, row.loop_committee)),
            "yes" if row.same_votes else "NO",
        )
        for row in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with covertype.parquet")
    parser.add_argument("--teachers", type=int, default=1_000)
    parser.add_argument("--records", type=int, default=100, help="of each teacher")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fast", action="store_true", help="fewer teachers and test rows; nothing is written")
    given = parser.parse_args()
    console: Console = wide_console()
    teachers, scored = (FAST_TEACHERS, FAST_SCORED) if given.fast else (given.teachers, SCORED)
    rows = []
    for task in (load("adult", given.data), COVERTYPE.task("covertype", given.data)):
        for name in kinds(2):
            rows.append(measured(task, name, teachers, given.records, given.rounds, scored))
            console.print(" ".join(table_rows(rows)[-1]))
            if not given.fast:
                settings = {"records": given.records, "rounds": given.rounds, "scored": scored, "cores": os.cpu_count()}
                write_json(RESULTS, settings, list(map(asdict, rows)))
    show("Teachers at once", HEADER, table_rows(rows), console)
    if not given.fast:
        put_between(PAGE, "teachers", markdown(HEADER, table_rows(rows)))


if __name__ == "__main__":
    main()
