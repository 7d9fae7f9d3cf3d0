"""A label of 3 of 100 records: AUC, recall and the accuracy that hides it, with and without weights.

    python -m benchmarks.rare_labels [--runs 20] [--page]
    python -m benchmarks.rare_labels --laws --runs 2 [--page]

Ten independent normal columns, a logistic law whose coefficients fall off by .6 a column, 25,000 records, ε = .1 and
δ = 10⁻⁶. Public rows (1,000) have no labels. Everything is measured on 20,000 other rows. Logistic regression without
privacy stands beside it. `--page` writes the table of docs/rare-labels.md.

Recall and false alarms are those of `predict`. The last column is the recall of the rows with the largest 10 % of
scores, which needs no threshold but how many rows somebody can look at.

`--laws`: from which n·ε on `auto` should publish a linear classifier of balanced labels (`BALANCED_FROM` of the rule).
Four laws, 2 and 5 % positives, n·ε from 1,000 to 2,900: AUC and the mean recall of both labels, all laws together.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.accuracy import markdown
from benchmarks.pages import put_between
from pcqr import PrivateClassifier
from pcqr.releases.classifier.rule import Choice

COLUMNS, RECORDS, PUBLIC, TESTED = 10, 25_000, 1_000, 20_000
SHARE, EPSILON, STRENGTH, LOOKED_AT = 0.03, 0.1, 3.0, 0.1
COEFFICIENTS = 0.6 ** np.arange(COLUMNS) * np.where(np.arange(COLUMNS) % 2, -1.0, 1.0)

Floats = NDArray[np.float64]
PAGE = Path("docs/rare-labels.md")
LEARNERS: dict[str, dict[str, Any]] = {
    "tree": {"method": "tree"},
    "tree, balanced": {"method": "tree", "class_weight": "balanced"},
    "auto, balanced: linear and a tree": {"class_weight": "balanced"},
    "linear": {"method": "linear"},
    "linear, balanced": {"method": "linear", "class_weight": "balanced"},
    "linear, dense features": {"method": "linear", "features": "dense"},
    "linear, dense features, balanced": {"method": "linear", "features": "dense", "class_weight": "balanced"},
}


def offset_for(scores: Floats, share: float) -> float:
    """Return b for which σ(score + b) has the mean `share`."""
    found: float = brentq(lambda b: float(expit(scores + b).mean()) - share, -30.0, 30.0)
    return found


class Law(NamedTuple):
    """P(1 | x) = σ(x·w + b)."""

    weights: Floats
    offset: float

    @classmethod
    def of_share(cls, share: float) -> Law:
        """The law whose label 1 has this share of all records."""
        weights = COEFFICIENTS / np.linalg.norm(COEFFICIENTS) * STRENGTH
        normal = STRENGTH * np.random.default_rng(0).normal(size=200_000)
        return cls(weights, offset_for(normal, share))

    def drawn(self, rows: int, generator: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        X = generator.normal(size=(rows, COLUMNS))
        return X, (generator.random(rows) < expit(X @ self.weights + self.offset)).astype(np.int64)


Scores = Callable[[Floats], Floats]
LAWS: dict[str, Scores] = {
    "logistic": lambda X: X @ COEFFICIENTS / np.linalg.norm(COEFFICIENTS) * STRENGTH,
    "all columns alike": lambda X: X @ np.where(np.arange(COLUMNS) % 2, -1.0, 1.0) * STRENGTH / math.sqrt(COLUMNS),
    "interaction": lambda X: 2.0 * (X[:, 0] * X[:, 1]).clip(-1.5, 1.5) + X[:, 2],
    "thresholds": lambda X: (
        2.2 * (X[:, 0] > 1.0)
        + 1.5 * (X[:, 1] < -0.5)
        + 1.5 * (X[:, 2] > 0.0)
        - 1.2 * (X[:, 3] > 0.5)
        + 1.6 * ((X[:, 4] > 0.0) & (X[:, 5] > 0.0))
    ),
}
SHARES, N_EPSILONS = (0.02, 0.05), (1_000, 1_500, 2_000, 2_900)


def by_law(count: int) -> Iterator[list[str]]:
    """Return a row for each n·ε: AUC and mean recall of a tree, of a linear classifier, of `auto`."""
    for n_epsilon in N_EPSILONS:
        found: dict[Choice, list[tuple[float, float]]] = {"tree": [], "linear": [], "auto": []}
        for (place, score), share, run in itertools.product(enumerate(LAWS.values()), SHARES, range(count)):
            generator = np.random.default_rng([n_epsilon, place, int(100 * share), run])
            X, public, fresh = (generator.normal(size=(rows, COLUMNS)) for rows in (RECORDS, PUBLIC, TESTED))
            offset = offset_for(score(X), share)
            y, truth = (generator.random(len(rows)) < expit(score(rows) + offset) for rows in (X, fresh))
            seed = int(generator.integers(2**31))
            for method, figures in found.items():
                given: dict[str, Any] = {"method": method, "class_weight": "balanced", "entropy": seed}
                fitted = PrivateClassifier(n_epsilon / RECORDS, classes=(0, 1), **given).fit(X, y * 1, public=public)
                auc, _, recall, alarms, _ = measured(fitted.decision_function(fresh), fitted.predict(fresh), truth * 1)
                figures.append((auc, (recall + 1.0 - alarms) / 2.0))
        means = [np.mean(figures, axis=0) for figures in found.values()]
        yield [f"{n_epsilon:,}", *(f"{mean[place]:.3f}" for place in (0, 1) for mean in means)]


def measured(scores: Floats, labels: NDArray[np.int64], y: NDArray[np.int64]) -> tuple[float, ...]:
    """AUC; accuracy, recall and the share of false alarms of `labels`; recall among the largest scores."""
    looked_at = np.argsort(-scores, kind="stable")[: int(LOOKED_AT * y.size)]
    return (
        float(roc_auc_score(y, scores)),
        float((labels == y).mean()),
        float(labels[y == 1].mean()),
        float(labels[y == 0].mean()),
        float(y[looked_at].sum() / y.sum()),
    )


def runs(count: int) -> Iterator[tuple[str, tuple[float, ...]]]:
    law = Law.of_share(SHARE)
    for seed in range(count):
        generator = np.random.default_rng(seed)
        X, y = law.drawn(RECORDS, generator)
        public, _ = law.drawn(PUBLIC, generator)
        fresh, truth = law.drawn(TESTED, generator)
        plain = LogisticRegression().fit(X, y)
        yield "logistic regression, no privacy", measured(plain.decision_function(fresh), plain.predict(fresh), truth)
        for name, given in LEARNERS.items():
            classifier = PrivateClassifier(EPSILON, classes=(0, 1), entropy=seed, **given).fit(X, y, public=public)
            yield name, measured(classifier.decision_function(fresh), classifier.predict(fresh), truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--laws", action="store_true")
    given = parser.parse_args()
    if given.laws:
        kinds = [f"{figure}, {kind}" for figure in ("AUC", "mean recall") for kind in ("tree", "linear", "auto")]
        laws = markdown(["n·ε", *kinds], list(by_law(given.runs)))
        print(laws)
        if given.page:
            put_between(PAGE, "balanced-laws", laws)
        return
    found: dict[str, list[tuple[float, ...]]] = {}
    for name, figures in runs(given.runs):
        found.setdefault(name, []).append(figures)
    rows = []
    for name, measures in found.items():
        auc = [each[0] for each in measures]
        rest = [f"{np.mean([each[place] for each in measures]):.3f}" for place in range(1, 5)]
        rows.append([name, f"{np.mean(auc):.3f}", f"{min(auc):.3f}", *rest])
    heads = ["", "AUC", "smallest", "accuracy", "recall", "false alarms", "recall, top 10 %"]
    table = markdown(heads, rows)
    print(table)
    if given.page:
        put_between(PAGE, "rare-labels", table)


if __name__ == "__main__":
    main()
