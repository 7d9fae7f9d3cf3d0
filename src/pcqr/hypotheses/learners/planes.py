"""A committee of linear classifiers: a score for each teacher and label, linear in x; the largest one is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.errors import DataError
from pcqr.hypotheses.base import MOST_LABELS, Points
from pcqr.hypotheses.committees.base import Arrays, Committee, IntArray, of_width

FloatArray = NDArray[np.float64]


class Planes(Committee):
    """k linear classifiers. O(k·C·p) a query; columns in which x is 0 cost nothing.

    Parameters
    ----------
    weights : array of shape (k, R, p)
        R = C rows a teacher, one a label; for two labels one row: that of label 1 against 0.
    biases : array of shape (k, R)
        What is added to each score. The first of the largest scores is said; of one row, 1 where the score is above 0.
    """

    kind = "planes"

    def __init__(self, weights: FloatArray, biases: FloatArray) -> None:
        self.weights, self.biases = weights, biases
        self.size, self.rows, self.features = weights.shape
        self.labels = max(2, self.rows)
        self._by_column = np.ascontiguousarray(weights.reshape(-1, self.features).T)

    @np.errstate(all="ignore")
    def counts(self, X: Points) -> IntArray:
        counts = np.zeros((X.shape[0], self.labels), dtype=np.int64)
        _add_votes(of_width(X, self.features), self._by_column, self.biases.ravel(), self.rows, counts)
        return counts

    def arrays(self) -> Arrays:
        return {"kind": np.array(self.kind), "weights": self.weights, "biases": self.biases}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Planes:
        cls.checked(arrays, weights=("f", 3), biases=("f", 2))
        weights, biases = arrays["weights"], arrays["biases"]
        fits = (
            min(weights.shape) >= 1
            and weights.shape[1] != 2
            and weights.shape[1] <= MOST_LABELS
            and biases.shape == weights.shape[:2]
            and bool(np.isfinite(weights).all() and np.isfinite(biases).all())
        )
        if not fits:
            raise DataError("arrays", "those of a committee of linear classifiers", "others")
        return cls(weights.astype(np.float64, "C"), biases.astype(np.float64, "C"))


@compiled
def _add_votes(X: Points, by_column: FloatArray, biases: FloatArray, rows: int, counts: IntArray) -> None:
    """Add to `counts` one vote of every teacher for every row. Each score is summed up in the order of the columns."""
    scores = np.zeros(biases.size)
    for i in range(X.shape[0]):
        for t in range(scores.size):  # an assignment of arrays takes two seconds to compile: its error names the shapes
            scores[t] = biases[t]
        for j in range(X.shape[1]):
            value, weights = X[i, j], by_column[j]
            if value != 0.0:
                for t in range(scores.size):
                    scores[t] += value * weights[t]
        for first in range(0, scores.size, rows):
            said = 0
            if rows == 1:
                said = 1 if scores[first] > 0.0 else 0
            else:
                for label in range(1, rows):
                    if scores[first + label] > scores[first + said]:
                        said = label
            counts[i, said] += 1
