"""diffprivlib: logistic regression by a perturbed objective, and a forest whose leaves are private. Pure ε.

**Logistic regression** (Chaudhuri, Monteleoni, Sarwate 2011) is for replacing a record, in the paper as in the code:
noise of scale 2/ε' for gradients of norm 1. Rows: public predicates in standard units by public rows and a constant,
divided by their norm. The weight of the penalty is set by public numbers: the noise, whose norm is about 2d/ε, shall
move the weights by about 10.

**Forest**: on the answers to public predicates. Splits are drawn at random, each leaf says one label by
permute-and-flip, with half of ε: its scores are taken as monotonic, which is for adding or removing a record, and
replacing one does both, in two leaves. On the columns themselves it says the commoner label everywhere.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import LogisticRegression, RandomForestClassifier

from pcqr.bench.outside.task import Labels, Task, carry_out, unit_vectors

MOVED = 10.0
TREES, DEPTH = 10, 12
TOLERANCE, STEPS = 1e-12, 10_000
"""Its proof is for the minimum itself, not for a point on the way there."""


def run(task: Task) -> Labels:
    return forest(task) if task.method == "diffprivlib-forest" else logistic(task)


def logistic(task: Task) -> Labels:
    vectors = unit_vectors(task)
    X = vectors(task.X)
    penalty = max(1.0, 2.0 * X.shape[1] / (MOVED * task.epsilon))
    model = LogisticRegression(
        epsilon=task.epsilon,
        data_norm=1.0,
        C=1.0 / penalty,
        fit_intercept=False,
        tol=TOLERANCE,
        max_iter=STEPS,
        random_state=task.seed,
    )
    model.fit(X, task.y)
    task.fitted()
    return np.asarray(model.predict(vectors(task.X_test)), dtype=np.int64)


def forest(task: Task) -> Labels:
    X = task.held(task.X)
    model = RandomForestClassifier(
        TREES,
        epsilon=task.epsilon / 2.0,
        bounds=(np.zeros(X.shape[1]), np.ones(X.shape[1])),
        classes=np.arange(task.classes),
        max_depth=DEPTH,
        shuffle=True,
        random_state=task.seed,
    )
    model.fit(X, task.y)
    task.fitted()
    return np.asarray(model.predict(task.held(task.X_test)), dtype=np.int64)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(carry_out(Path(sys.argv[1]), run))
