"""A committee of linear classifiers: a score for each teacher and label, linear in x; the largest one is said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.data.records.arrays import Labels
from pcqr.errors import DataError
from pcqr.hypotheses.base import MOST_LABELS, Points
from pcqr.hypotheses.committees import Arrays, Committee, IntArray, of_width

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


# ---------------------------------------------------------------------------------------------------------------------
# Logistic regressions by the thousand: one small L-BFGS a part, compiled, which carries nothing from part to part.
#
# A part with m of the C labels has weights w_r and a bias b_r for each of them (one row where m = 2), which minimise
#
#     Σ_i loss(scores of record i; y_i) + (λ/2)·Σ_r ‖w_r‖²,    loss = ln Σ_r e^{score_r} − score_{y_i},
#
# over its records, each column brought to mean 0 and deviation 1 *within the part*. Columns that are constant there
# have weight 0. The weights that are returned are for the columns as they are.


MEMORY = 8
"""Pairs of steps and changes of the gradient that L-BFGS keeps."""
MOST_STEPS, MOST_HALVINGS = 100, 30
TOLERANCE = 3e-4
"""Done when no entry of the gradient, divided by the records of the part, is larger."""
NEVER = -1e300
"""The bias of a label that no record of a part has."""


@compiled
def gradient_descent(
    X: Points, y: Labels, starts: IntArray, ends: IntArray, penalty: float, weights: FloatArray, biases: FloatArray
) -> None:
    """Write the weights and biases of each part [starts[j], ends[j]) to `weights[j]` and `biases[j]`, rows by label.

    For two labels there is one row: that of label 1 against label 0.
    """
    width, rows = X.shape[1], biases.shape[1]
    labels, most = max(2, rows), 0
    for part in range(ends.size):
        most = max(most, ends[part] - starts[part])
    by_record, by_column = np.zeros((most, width)), np.zeros((width, most))
    means, scales, used = np.zeros(width), np.zeros(width), np.zeros(width, np.int64)
    present, truth = np.zeros(labels, np.int64), np.zeros(most, np.int64)
    scores, rests = np.zeros((2, labels, most))
    at, step, gradient, tried, sloped = np.zeros((5, labels * (width + 1)))
    steps, changes = np.zeros((2, MEMORY, labels * (width + 1)))
    curvatures, inner = np.zeros((2, MEMORY))
    for part in range(ends.size):
        first, count = starts[part], ends[part] - starts[part]
        weights[part], biases[part] = 0.0, 0.0
        found = _numbered(y, first, count, present, truth)
        if found == 1:
            biases[part, 0 if rows == 1 else present[0]] = 1.0 if rows > 1 or present[0] == 1 else -1.0
        else:
            columns = _standardised(X, first, count, by_record, by_column, means, scales, used)
            kinds = 1 if found == 2 else found
            _minimise(
                by_record, by_column, truth, count, columns, kinds, penalty, at, step, gradient, tried, sloped,
                scores, rests, steps, changes, curvatures, inner,
            )  # fmt: skip
            _write(at, columns, kinds, means, scales, used, present, weights[part], biases[part])


@compiled
def _numbered(y: Labels, first: int, count: int, present: IntArray, truth: IntArray) -> int:
    """How many labels a part has: `present` lists them, and `truth` says which of these each record has."""
    found = 0
    for label in range(present.size):
        has = 0
        for i in range(count):
            if y[first + i] == label:
                truth[i] = found
                has = 1
        if has:
            present[found] = label
            found += 1
    return found


@compiled
def _standardised(
    X: Points, first: int, count: int, by_record: FloatArray, by_column: FloatArray, means: FloatArray,
    scales: FloatArray, used: IntArray,
) -> int:  # fmt: skip
    """How many columns vary within a part; they are written down with mean 0 and deviation 1, in both directions.

    A column whose squares overflow or underflow counts as constant: nothing is learned from it.
    """
    columns = 0
    for j in range(X.shape[1]):
        least = largest = X[first, j]
        total = 0.0
        for i in range(first, first + count):
            least, largest = min(least, X[i, j]), max(largest, X[i, j])
            total += X[i, j]
        if least < largest:
            mean, square = total / count, 0.0
            for i in range(first, first + count):
                square += (X[i, j] - mean) * (X[i, j] - mean)
            scale = math.sqrt(square / count)
            if 0.0 < scale < math.inf:
                for i in range(count):
                    by_record[i, columns] = by_column[columns, i] = (X[first + i, j] - mean) / scale
                means[columns], scales[columns], used[columns] = mean, scale, j
                columns += 1
    return columns


@compiled
def _minimise(
    by_record: FloatArray, by_column: FloatArray, truth: IntArray, count: int, columns: int, kinds: int, penalty: float,
    at: FloatArray, step: FloatArray, gradient: FloatArray, tried: FloatArray, sloped: FloatArray, scores: FloatArray,
    rests: FloatArray, steps: FloatArray, changes: FloatArray, curvatures: FloatArray, inner: FloatArray,
) -> None:  # fmt: skip
    """L-BFGS from 0, with steps that are halved until the value falls: `at` becomes the minimum, within `TOLERANCE`."""
    size, kept, newest = kinds * (columns + 1), 0, 0
    at[:size] = 0.0
    value = _value(by_record, by_column, truth, count, columns, kinds, penalty, at, scores, rests, gradient)
    moves = MOST_STEPS
    while moves > 0:
        moves -= 1
        start = 1.0 / (0.25 * count + penalty)
        _direct(gradient, steps, changes, curvatures, inner, kept, newest, start, size, step)
        slope, length = _dot(gradient, step, size), 1.0
        reached, halvings = math.inf, MOST_HALVINGS if slope < 0.0 else 0
        while halvings > 0:
            halvings -= 1
            for e in range(size):
                tried[e] = at[e] + length * step[e]
            reached = _value(by_record, by_column, truth, count, columns, kinds, penalty, tried, scores, rests, sloped)
            if reached <= value + 1e-4 * length * slope:
                halvings = 0
            length *= 0.5
        if reached < value:
            newest = (newest + 1) % MEMORY if kept else 0
            for e in range(size):
                steps[newest, e], changes[newest, e] = tried[e] - at[e], sloped[e] - gradient[e]
                at[e], gradient[e] = tried[e], sloped[e]
            curvatures[newest] = _dot(steps[newest], changes[newest], size)
            kept = min(kept + 1, MEMORY) if curvatures[newest] > 0.0 else 0  # should rounding spoil it: begin anew
        if not reached < value or _largest(gradient, size) <= TOLERANCE * count:
            moves = 0
        value = reached


@compiled
def _direct(
    gradient: FloatArray, steps: FloatArray, changes: FloatArray, curvatures: FloatArray, inner: FloatArray, kept: int,
    newest: int, start: float, size: int, step: FloatArray,
) -> None:  # fmt: skip
    """`step` = −(approximate inverse Hessian)·gradient, from the last `kept` pairs; `start` where there is none."""
    for e in range(size):
        step[e] = -gradient[e]
    for back in range(kept):
        pair = (newest - back) % MEMORY
        inner[pair] = _dot(steps[pair], step, size) / curvatures[pair]
        for e in range(size):
            step[e] -= inner[pair] * changes[pair, e]
    if kept:
        start = curvatures[newest] / _dot(changes[newest], changes[newest], size)
    for e in range(size):
        step[e] *= start
    for back in range(kept - 1, -1, -1):
        pair = (newest - back) % MEMORY
        turn = inner[pair] - _dot(changes[pair], step, size) / curvatures[pair]
        for e in range(size):
            step[e] += turn * steps[pair, e]


@compiled
def _write(
    at: FloatArray, columns: int, kinds: int, means: FloatArray, scales: FloatArray, used: IntArray, present: IntArray,
    weights: FloatArray, biases: FloatArray,
) -> None:  # fmt: skip
    """Weights for the columns as they are, in the rows of the labels. All 0, the fixed vote, unless all are finite."""
    rows, are_finite = biases.size, True
    if rows > 1:
        biases[:] = NEVER
        if kinds == 1:
            biases[present[0]] = 0.0
    for r in range(kinds):
        row = 0 if rows == 1 else present[1 if kinds == 1 else r]
        own = at[r * (columns + 1) : (r + 1) * (columns + 1)]
        bias = own[columns]
        for e in range(columns):
            weight = own[e] / scales[e]
            weights[row, used[e]] = weight
            bias -= weight * means[e]
            are_finite = are_finite and abs(weight) < math.inf
        biases[row] = bias
        are_finite = are_finite and abs(bias) < math.inf
    if not are_finite:
        weights[:], biases[:] = 0.0, 0.0


@compiled
def _largest(vector: FloatArray, size: int) -> float:
    largest = 0.0
    for e in range(size):
        largest = max(largest, abs(vector[e]))
    return largest


@compiled
def _value(
    by_record: FloatArray, by_column: FloatArray, truth: IntArray, count: int, columns: int, kinds: int, penalty: float,
    at: FloatArray, scores: FloatArray, rests: FloatArray, gradient: FloatArray,
) -> float:  # fmt: skip
    """What is minimised, at `at`: `kinds` rows of weights, each followed by its bias. Sets its `gradient`, too."""
    span, value = columns + 1, 0.0
    for r in range(kinds):
        own = at[r * span : (r + 1) * span]
        _add_rows(own, by_column, columns, count, own[columns], scores[r])
        value += 0.5 * penalty * _dot(own, own, columns)
    if kinds == 1:
        for i in range(count):
            score = scores[0, i]
            ratio = math.exp(-abs(score))
            value += math.log1p(ratio) + max(score, 0.0) - truth[i] * score
            chance = 1.0 / (1.0 + ratio) if score >= 0.0 else ratio / (1.0 + ratio)
            rests[0, i] = chance - truth[i]
    else:
        for i in range(count):
            top = scores[0, i]
            for r in range(1, kinds):
                top = max(top, scores[r, i])
            total = 0.0
            for r in range(kinds):
                rests[r, i] = math.exp(scores[r, i] - top)
                total += rests[r, i]
            value += math.log(total) + top - scores[truth[i], i]
            for r in range(kinds):
                rests[r, i] /= total
            rests[truth[i], i] -= 1.0
    for r in range(kinds):
        slope = gradient[r * span : (r + 1) * span]
        _add_rows(rests[r], by_record, count, columns, 0.0, slope)
        for e in range(columns):
            slope[e] += penalty * at[r * span + e]
        slope[columns] = 0.0
        for i in range(count):
            slope[columns] += rests[r, i]
    return value


@compiled
def _add_rows(factors: FloatArray, rows: FloatArray, count: int, size: int, base: float, into: FloatArray) -> None:
    """`into` = `base` + Σ_e factors[e]·rows[e], e < `count`: four rows at a time, in a fixed order for every entry."""
    fours = count - count % 4
    for i in range(size):
        into[i] = base
    for e in range(0, fours, 4):
        f, g, h, k = factors[e], factors[e + 1], factors[e + 2], factors[e + 3]
        a, b, c, d = rows[e], rows[e + 1], rows[e + 2], rows[e + 3]
        for i in range(size):
            into[i] += (f * a[i] + g * b[i]) + (h * c[i] + k * d[i])
    for e in range(fours, count):
        f, a = factors[e], rows[e]
        for i in range(size):
            into[i] += f * a[i]


@compiled
def _dot(one: FloatArray, other: FloatArray, size: int) -> float:
    """Four sums side by side: one alone would wait for itself."""
    a = b = c = d = 0.0
    fours = size - size % 4
    for e in range(0, fours, 4):
        a += one[e] * other[e]
        b += one[e + 1] * other[e + 1]
        c += one[e + 2] * other[e + 2]
        d += one[e + 3] * other[e + 3]
    for e in range(fours, size):
        a += one[e] * other[e]
    return (a + b) + (c + d)
