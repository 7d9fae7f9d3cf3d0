"""dpmm: synthetic records by AIM or MST (McKenna et al.), then gradient boosting on them.

Both account by zCDP for adding or removing a record: a record adds 1 to one cell of every marginal. Replacing one is
removing and adding, and ρ-zCDP becomes 4ρ: they are asked for a quarter of the ρ that (ε, δ) allows. Numbers are cut
into 16 bins at quantiles of the public rows, categories are as they are, and the label is a column. As many records are
made as there are private ones.
"""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.base.mechanisms.cdp2adp import cdp_eps, cdp_rho
from dpmm.models.mst import MSTGM
from sklearn.ensemble import HistGradientBoostingClassifier

from pcqr.bench.outside.task import Labels, Points, Task, carry_out

BINS = 16
AIM_MEGABYTES = 4
"""The size of AIM's model: with the 80 of its authors one run takes hours."""
LABEL = "label"
ROUNDED = 1.0 - 1e-9


def budget(epsilon: float, delta: float) -> float:
    """The ε to ask for: a quarter of ρ."""
    return float(cdp_eps(ROUNDED * cdp_rho(epsilon, delta) / 4.0, delta))


def run(task: Task) -> Labels:
    cuts = [_cuts(column.values(task.public)) if column.kind == "number" else None for column in task.columns]
    sizes = [column.size if cut is None else len(cut) + 1 for column, cut in zip(task.columns, cuts, strict=True)]
    names = [f"c{place}" for place in range(len(sizes))]

    def codes(X: Points) -> Points:
        native = task.native(X)
        found = [native[:, i] if cut is None else np.searchsorted(cut, native[:, i]) for i, cut in enumerate(cuts)]
        return np.stack(found, axis=1).astype(np.int64)

    domain = dict(zip([*names, LABEL], [*sizes, task.classes], strict=True))
    frame = pd.DataFrame(codes(task.X), columns=names)
    frame[LABEL] = task.y
    random = np.random.RandomState(task.seed)
    settings = {"epsilon": budget(task.epsilon, task.delta), "delta": task.delta, "domain": domain, "n_jobs": 1}
    if task.method == "aim":
        model = AIMGM(**settings, max_model_size=AIM_MEGABYTES, random_state=random)
    else:
        model = MSTGM(**settings, random_state=random)
    model.set_domain(domain)
    model.set_random_state(random)
    model.fit(frame)
    made = model.generate(n_records=task.records)
    categorical = [2 < size <= 255 and cut is None for size, cut in zip(sizes, cuts, strict=True)]
    booster = HistGradientBoostingClassifier(random_state=task.seed, categorical_features=categorical)
    if made[LABEL].nunique() < 2:
        task.fitted()
        return np.full(len(task.X_test), int(made[LABEL].iloc[0]), dtype=np.int64)
    booster.fit(made[names].to_numpy().astype(np.float64), made[LABEL].to_numpy().astype(np.int64))
    task.fitted()
    return np.asarray(booster.predict(codes(task.X_test).astype(np.float64)), dtype=np.int64)


def _cuts(shown: Points) -> Points:
    return np.unique(np.quantile(shown, np.arange(1, BINS) / BINS))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sys.exit(carry_out(Path(sys.argv[1]), run))
