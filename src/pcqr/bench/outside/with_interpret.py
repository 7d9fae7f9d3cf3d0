"""DP-EBM of interpret (Nori, Caruana, Bu, Shen, Kulkarni 2021): boosted shape functions with Gaussian noise.

It accounts for adding or removing a record, as two Gaussian mechanisms: counts of bins, and sums of residuals.
Replacing a record moves both by at most twice as much, so each is given half the μ that (ε, δ) allows it
(`pcqr.bench.outside.task`). Bounds are those of the schema. It takes the categories and the labels that it finds
in its rows, for which it does not account. So it is given public rows beside the records, which have every category of
the schema with every label: what it finds is then the same whatever the records are. Two labels only.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier

from pcqr.bench.outside.task import Labels, Points, Task, carry_out, largest, largest_mu

BIN_SHARE = 0.1
LITTLE = 10_000
"""Below this n·ε the learning rate is .03, above .1; with the authors' .01 it ends before it has learned the labels'
shares. Found on Adult."""


def budget(epsilon: float, delta: float) -> float:
    """The ε to ask it for."""
    parts = [(share * epsilon, largest_mu(share * epsilon, delta / 2) / 2) for share in (BIN_SHARE, 1.0 - BIN_SHARE)]

    def fits(share: float) -> bool:
        return all(largest_mu(share * part, delta / 2) <= half for part, half in parts)

    return epsilon * largest(fits, 1e-3, 1.0)


def run(task: Task) -> Labels:
    low, high = task.native(task.public).min(axis=0), task.native(task.public).max(axis=0)
    bounds = {
        place: (float(low[place] if column.low is None else column.low), _above(low, high, column.high, place))
        for place, column in enumerate(task.columns)
        if column.kind == "number"
    }
    model = DPExplainableBoostingClassifier(
        feature_names=[column.name for column in task.columns],
        feature_types=["continuous" if column.kind == "number" else "nominal" for column in task.columns],
        epsilon=budget(task.epsilon, task.delta),
        delta=task.delta,
        learning_rate=0.03 if task.records * task.epsilon < LITTLE else 0.1,
        bin_budget_frac=BIN_SHARE,
        privacy_bounds=bounds,
        random_state=task.seed,
        n_jobs=1,
    )
    shown, labels = task.with_every_category()
    model.fit(np.concatenate([task.native(task.X), shown]), np.concatenate([task.y, labels]))
    task.fitted()
    return np.asarray(model.predict(task.native(task.X_test)), dtype=np.int64)


def _above(low: Points, high: Points, declared: float | None, place: int) -> float:
    found = float(high[place] if declared is None else declared)
    return found if found > low[place] else float(low[place]) + 1.0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(carry_out(Path(sys.argv[1]), run))
