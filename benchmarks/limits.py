"""How far could one get without privacy? Gradient boosting with many rounds, on the same columns and test rows.

    python -m benchmarks.limits --data FOLDER [--tables adult,bank,…]

scikit-learn's histogram boosting with each of `LEAVES`, up to `ROUNDS` rounds and fewer where a tenth of the training
rows, set apart, says so; the better one by accuracy on the test rows, in its favour. Its defaults, which
`benchmarks.trees` shows, stop after 100 rounds: on covertype that is far from all there is. One line a table; a later
run replaces the lines that it makes anew.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.accuracy import parser_of, read_cases, show, wide_console, write_json
from benchmarks.tables import TABLES, Task, load

LEAVES = (31, 255)
ROUNDS, PATIENCE = 1_000, 20
RESULTS = Path("benchmarks/results/limits.json")


@dataclass(frozen=True)
class Case:
    """One table: the accuracy of the better setting, its leaves a tree and the rounds it went."""

    table: str
    accuracy: float
    leaves: int
    rounds: int


def measure(task: Task) -> Case:
    return max((boosted(task, leaves) for leaves in LEAVES), key=lambda case: case.accuracy)


def boosted(task: Task, leaves: int) -> Case:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

    model = HistGradientBoostingClassifier(
        max_leaf_nodes=leaves, max_iter=ROUNDS, early_stopping=True, n_iter_no_change=PATIENCE, random_state=0
    ).fit(task.X, task.y)
    return Case(task.name, float(np.mean(model.predict(task.X_test) == task.y_test)), leaves, int(model.n_iter_))


def stored(root: Path) -> dict[str, Case]:
    return {case.table: case for case in read_cases(root / RESULTS, Case)}


def main() -> None:
    given = parser_of("benchmarks.limits", __doc__, TABLES).parse_args()
    for name in given.tables:
        cases = stored(Path()) | {name: measure(load(name, given.data))}
        ordered = [asdict(cases[table]) for table in TABLES if table in cases]
        write_json(RESULTS, {"leaves": LEAVES, "rounds": ROUNDS, "patience": PATIENCE}, ordered)
    rows = [[case.table, f"{100 * case.accuracy:.2f}", f"{case.leaves}", f"{case.rounds}"] for case in cases.values()]
    show("Gradient boosting without privacy, per cent", ("table", "accuracy", "leaves", "rounds"), rows, wide_console())


if __name__ == "__main__":
    main()
