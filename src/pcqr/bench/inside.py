"""Settings of a network by DP-SGD, from public numbers, and its noise for replacing one record."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution as pld
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pcqr import (
    AgnosticRelease,
    AssumePublic,
    BudgetExhausted,
    ConfidentMaxAggregate,
    GibbsPrediction,
    IndividualKNN,
    MultipartyClassifier,
    NoisyMaxAggregate,
    PrivateClassifier,
    PrivateKNN,
    SubsampleAggregate,
    UniversalRelease,
    transfer,
)
from pcqr.bench.outside.task import UNANSWERED, Labels, Run, Task, largest_mu
from pcqr.errors import DataError, PcqrWarning
from pcqr.hypotheses import DecisionTrees
from pcqr.releases.base.answering import Release

LITTLE = 10_000
"""Below this n·ε a short descent in long steps, above a long one in short steps."""
_TOLERANCE = 0.005


def settings(records: int, epsilon: float, delta: float) -> dict[str, Any]:
    """What did well on Adult and bank in benchmarks/dp_sgd.py, whose search saw test rows: in its favour.

    Nothing here depends on a record.
    """
    little = records * epsilon < LITTLE
    per_epoch, steps = (20, 150) if little else (50, 1200)
    return {
        "per_epoch": per_epoch,
        "steps": steps,
        "clip": 1.0,
        "rate": 8e-3 if little else 2e-3,
        "noise": noise_multiplier(epsilon, delta, per_epoch, steps),
    }


def settings_for(method: str, records: int, epsilon: float, delta: float) -> dict[str, Any]:
    """What a method is handed besides the task: none has any but a network."""
    return settings(records, epsilon, delta) if method == "dp-sgd-network" else {}


@cache
def noise_multiplier(epsilon: float, delta: float, per_epoch: int, steps: int) -> float:
    """The noise in units of C: each record is in a batch with chance 1/`per_epoch`, and replacing one is (ε, δ)-DP."""

    def suffices(noise: float) -> bool:
        return _epsilon(noise, delta, per_epoch, steps, epsilon) <= epsilon

    guess = 2.0 * math.sqrt(steps) / (per_epoch * largest_mu(epsilon, delta))  # right for much noise and few records
    low, high = guess / 1.1, guess * 1.1
    while not suffices(high):
        low, high = high, 1.2 * high
    while high > (1.0 + _TOLERANCE) * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _epsilon(noise: float, delta: float, per_epoch: int, steps: int, aim: float) -> float:
    one = pld.from_gaussian_mechanism(
        noise,
        sampling_prob=1.0 / per_epoch,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
        value_discretization_interval=min(1e-3, aim / 300.0),
        use_connect_dots=True,
    )
    return float(one.self_compose(steps).get_epsilon_for_delta(delta))


# ---------------------------------------------------------------------------------------------------------------------
# The methods that run in pcqr's own environment, by name: a task in, labels of the test rows out.
#
# Every run is seeded, so that it can be repeated, and **not private** for that reason.


DEPTH = 2
"""Of the trees that vote."""
Make = Callable[[Mapping[str, Any]], Release[Any]]
"""A release, of the parameters that all share: ε, δ, queries, entropy, classes."""

Publish = Callable[[Mapping[str, Any]], Any]
"""A classifier, of ε, δ, entropy and classes."""


def published(task: Task, make: Publish) -> Labels:
    given = {"epsilon": task.epsilon, "delta": task.delta, "entropy": task.seed, "classes": tuple(range(task.classes))}
    if task.raw is not None:
        classifier = make(given | {"types": _kinds(task.raw)}).fit(task.raw, task.y)
        task.fitted()
        return np.asarray(classifier.predict(task.raw_test), dtype=np.int64)
    classifier = make(given)
    classifier.fit(task.X, task.y, public=AssumePublic(task.public))
    task.fitted()
    return np.asarray(classifier.predict(task.X_test), dtype=np.int64)


def one_at_a_time(task: Task, make: Make) -> Labels:
    """Ask the queries alone."""
    release = _fitted(task, make, len(task.asked))
    task.fitted()
    return task.among_asked(_answers(release, task.queries, len(task.asked)))


def student(task: Task, make: Make) -> Labels:
    """Public rows are the queries, as many as other releases get; what was answered is learned from."""
    rows = task.public[: len(task.asked)]
    release = _fitted(task, make, len(rows))
    _answers(release, rows, len(rows))
    learner = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1_000))
    try:
        taught: Any = transfer(release, learner)
    except DataError:  # fewer than two labels among the answers
        _, told = release.answered()
        task.fitted()
        return np.full(len(task.X_test), told[0] if told.size else 0, dtype=np.int64)
    task.fitted()
    return np.asarray(taught.predict(task.X_test), dtype=np.int64)


def majority(task: Task) -> Labels:
    return np.full(len(task.X_test), np.bincount(task.y).argmax(), dtype=np.int64)


def boosting(task: Task) -> Labels:
    model = HistGradientBoostingClassifier(random_state=task.seed).fit(task.X, task.y)
    task.fitted()
    return np.asarray(model.predict(task.X_test), dtype=np.int64)


def _fitted(task: Task, make: Make, queries: int) -> Release[Any]:
    settings: dict[str, Any] = {"epsilon": task.epsilon, "delta": task.delta, "queries": queries}
    settings |= {"entropy": task.seed, "classes": tuple(range(task.classes))}
    if task.raw is not None:
        return make(settings | {"types": _kinds(task.raw)}).fit(task.raw, task.y)
    return make(settings).fit(task.X, task.y, public=AssumePublic(task.public))


def _kinds(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the kinds of columns, which are known where nothing else is public."""
    return {name: "categorical" if values.dtype == object else "numeric" for name, values in raw.items()}


def _answers(release: Release[Any], X: Any, rows: int) -> Labels:
    """Ask for the rows in order, and return a label for each, or none for those after a halt."""
    labels = np.full(rows, UNANSWERED, dtype=np.int64)
    try:
        for row, answer in enumerate(release.answers(X)):
            if answer.label is not None:
                labels[row] = answer.label
    except BudgetExhausted:
        pass
    return labels


def _trees() -> DecisionTrees:
    return DecisionTrees(depth=DEPTH)


_RELEASES: Mapping[str, Make] = {
    "agnostic": lambda given: AgnosticRelease(_trees(), **given),
    "subsamp": lambda given: SubsampleAggregate(_trees(), **given),
    "universal": lambda given: UniversalRelease(**given),
    "gnmax": lambda given: NoisyMaxAggregate(_trees(), noise="gaussian", **given),
    "lnmax": lambda given: NoisyMaxAggregate(_trees(), noise="laplace", **given),
    "exponential-max": lambda given: NoisyMaxAggregate(_trees(), noise="exponential", **given),
    "confident": lambda given: ConfidentMaxAggregate(_trees(), most_labels=given["queries"], **given),
    "gibbs": lambda given: GibbsPrediction(_trees(), **given),
    "individual-knn": lambda given: IndividualKNN(**given),
    "individual-knn-removed": lambda given: IndividualKNN(adjacency="remove", **given),
    "private-knn": lambda given: PrivateKNN(**given),
}
RUNS: Mapping[str, Run] = {
    "auto": partial(published, make=lambda given: PrivateClassifier(**given)),
    "tree": partial(published, make=lambda given: PrivateClassifier(method="tree", **given)),
    "linear": partial(published, make=lambda given: PrivateClassifier(method="linear", **given)),
    "parties": partial(published, make=lambda given: MultipartyClassifier(**given)),
    **{name: partial(one_at_a_time, make=make) for name, make in _RELEASES.items()},
    **{f"{name}-student": partial(student, make=_RELEASES[name]) for name in ("subsamp", "gnmax", "confident")},
    "majority": majority,
    "boosting": boosting,
}


def run(task: Task) -> Labels:
    """The labels of the method that the task names."""
    warnings.simplefilter("ignore", PcqrWarning)  # that a guarantee is weak, or much is unanswered: the rows show it
    return RUNS[task.method](task)
