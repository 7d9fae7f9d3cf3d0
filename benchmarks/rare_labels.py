"""A label of 3 of 100 records: AUC, recall and the accuracy that hides it, with and without weights.

    python -m benchmarks.rare_labels [--runs 20] [--page]

Ten independent normal columns, a logistic law whose coefficients fall off by .6 a column, 25,000 records, ε = .1 and
δ = 10⁻⁶. Public rows (1,000) have no labels. Everything is measured on 20,000 other rows. Logistic regression without
privacy stands beside it. `--page` writes the table of docs/rare-labels.md.

Recall and false alarms are those of `predict`. The last column is the recall of the rows with the largest 10 % of
scores, which needs no threshold but how many rows somebody can look at.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
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

COLUMNS, RECORDS, PUBLIC, TESTED = 10, 25_000, 1_000, 20_000
SHARE, EPSILON, STRENGTH, LOOKED_AT = 0.03, 0.1, 3.0, 0.1
COEFFICIENTS = 0.6 ** np.arange(COLUMNS) * np.where(np.arange(COLUMNS) % 2, -1.0, 1.0)

Floats = NDArray[np.float64]
PAGE = Path("docs/rare-labels.md")
LEARNERS: dict[str, dict[str, Any]] = {
    "tree": {"method": "tree"},
    "tree, balanced": {"method": "tree", "class_weight": "balanced"},
    "linear": {"method": "linear"},
    "linear, balanced": {"method": "linear", "class_weight": "balanced"},
    "linear, dense features": {"method": "linear", "features": "dense"},
    "linear, dense features, balanced": {"method": "linear", "features": "dense", "class_weight": "balanced"},
}


class Law(NamedTuple):
    """P(1 | x) = σ(x·w + b)."""

    weights: Floats
    offset: float

    @classmethod
    def of_share(cls, share: float) -> Law:
        """The law whose label 1 has this share of all records."""
        weights = COEFFICIENTS / np.linalg.norm(COEFFICIENTS) * STRENGTH
        normal = STRENGTH * np.random.default_rng(0).normal(size=200_000)
        offset: float = brentq(lambda b: float(expit(normal + b).mean()) - share, -30.0, 30.0)
        return cls(weights, offset)

    def drawn(self, rows: int, generator: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        X = generator.normal(size=(rows, COLUMNS))
        return X, (generator.random(rows) < expit(X @ self.weights + self.offset)).astype(np.int64)


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
    given = parser.parse_args()
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
