"""Products and inverses of matrices as functions of their numbers, to the last bit.

A linear-algebra library may round by where its arguments lie in memory, and that may depend on what was done before,
private records included. What is made of noisy sums meets private records again, in the next sum, so it must not: here
every sum is taken in a fixed order (Golub and Van Loan, 4.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.data.records.arrays import Points
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.vectors import UNIT, PredicateVectors
from pcqr.errors import ParameterError

Floats = NDArray[np.float64]


def product(first: Floats, second: Floats) -> Floats:
    """`first`·`second`."""
    found = np.zeros((first.shape[0], second.shape[1]))
    _add_product(np.ascontiguousarray(first), np.ascontiguousarray(second), found)
    return found


def moments(vectors: Floats, weights: Floats) -> Floats:
    """Σ_i `weights`[i]·v_i·v_iᵀ over the rows v_i of `vectors`."""
    return product(vectors.T, weights[:, None] * vectors)


def inverse(matrix: Floats) -> Floats:
    """Of a symmetric positive definite matrix, by Cholesky's factor: exactly symmetric. Of another one: no numbers."""
    root = np.array(matrix, dtype=np.float64)
    _factor(root)
    upside_down = np.eye(len(root))
    _solve_below(root, upside_down)  # its rows are those of the factor's inverse
    return product(upside_down.T, upside_down)


@compiled
def _add_product(first: Floats, second: Floats, total: Floats) -> None:
    """Row by row, so that no two numbers of a row wait for each other."""
    for i in range(first.shape[0]):
        for k in range(first.shape[1]):
            factor = first[i, k]
            if factor != 0.0:
                for j in range(second.shape[1]):
                    total[i, j] += factor * second[k, j]


@compiled
def _factor(matrix: Floats) -> None:
    """A = L·Lᵀ: L takes the place of the lower half of A."""
    size = len(matrix)
    for k in range(size):
        root = math.sqrt(matrix[k, k]) if matrix[k, k] > 0.0 else math.nan
        matrix[k, k] = root
        for i in range(k + 1, size):
            matrix[i, k] /= root
            matrix[k, i] = matrix[i, k]  # a row of Lᵀ, which lies in one piece
        for i in range(k + 1, size):
            factor = matrix[i, k]
            for j in range(k + 1, i + 1):
                matrix[i, j] -= factor * matrix[k, j]


@compiled
def _solve_below(lower: Floats, second: Floats) -> None:
    """X with L·X = `second`, in its place; L is the lower half of `lower`."""
    for i in range(len(lower)):
        for k in range(i):
            factor = lower[i, k]
            for j in range(second.shape[1]):
                second[i, j] -= factor * second[k, j]
        for j in range(second.shape[1]):
            second[i, j] /= lower[i, i]


# ---------------------------------------------------------------------------------------------------------------------
# What noisy sums say about the weights of a linear classifier: the mean of a posterior, of public things alone.
#
# Public rows without labels say how vectors vary. Then a noisy sum of gradients at weights θ_t says how far from them
# the best weights are, so that a few sums do what a long descent does. Each column has a variance of its own, found
# from the same sums (empirical Bayes: MacKay 1992, Tipping 2001), so that effects which the noise hides are shrunk.
#
#     labels     P(1 | x) = p(θ·φ(x)), p the probabilities that belong to the cut slope
# (`LinearClassifier.predict_proba`)     sums       s_t = E[φ·slope at θ_t] + what is random in it: the noise that was
# drawn, and which rows are public     prior      effects e = B·θ of predicates on the margin; those of column g are
# N(0, v_g) each     variances  v_g ~ inverse gamma of shape a and scale b, by expectation and maximisation
#
# Everything that a sum says enters by its tangent at the latest mean (Gauss and Newton). All is post-processing of
# noisy sums that costs nothing (proofs/linear.md), done in a fixed order of steps
# (`pcqr.releases.classifier.empirical_bayes`).


SHAPE, SCALE = 0.5, 0.6
"""a and b, of variances of a margin that one column would have if it were alone."""
CONSTANT = 50.0
"""The variance of the constant's effect: how common labels are is not shrunk."""
TANGENTS, ROUNDS = 3, 4
"""How often what a sum says is taken at a new mean, and how often variances are found anew at each of them."""
ALIKE_TO = 0.02
"""Relative tolerance to which weighted labels are taken as equally common, beside the randomness of public rows."""
LONGEST_STEP = 3.0
"""The margin of no public row moves by more at one tangent: beyond that it says nothing."""
LARGEST_WEIGHT = 2.0**10
"""Weights are cut to ± this, so that all scores are integers of 64 bits. No sensible run comes near it."""
MOST_COORDINATES, MOST_ROWS = 400, 2_500
"""Of a vector, and public rows in use: the time grows with the third power of the one, and with the other."""


def allows_empirical_bayes(features: FeatureMap) -> bool:
    """Return whether empirical Bayes is possible on this map: predicates alone, with directions from public rows.

    A function of public things.
    """
    dense = features.dense
    knows_rows = isinstance(dense, PredicateVectors) and dense.directions is not None
    return features.ferns is None and knows_rows and features.size <= MOST_COORDINATES


@dataclass(frozen=True)
class _Sum:
    """A noisy mean of slopes times vectors, at the weights where it was taken, and the deviation of its noise."""

    at: Floats
    mean: Floats
    deviation: float


class EmpiricalBayes:
    """The noisy sums so far, and the weights that they speak for, 0 before the first. Public.

    Parameters
    ----------
    features : FeatureMap
        φ, of which `allows_empirical_bayes` is true.
    public : Points or None
        Public rows, none of which is a private record: how vectors vary.
    by_label : tuple of two floats, default (1.0, 1.0)
        w: what a record of each label counts. Sums are of weighted records, public rows are like all records, so that
        the mean at θ is E[φ·(w₁·P(1|x)·u − w₀·P(0|x)·d)], where the margin says what P(1|x) is among weighted ones.

    is_balanced : bool, default False
        Whether w makes both labels equally common. The mean of P(1|x) over the public rows is then w₀/(w₀ + w₁).

    Raises
    ------
    ParameterError
        When `features` do not allow it, or there are no public rows.
    """

    def __init__(
        self,
        features: FeatureMap,
        public: Points | None,
        by_label: tuple[float, float] = (1.0, 1.0),
        *,
        is_balanced: bool = False,
    ) -> None:
        dense = features.dense
        if not (allows_empirical_bayes(features) and isinstance(dense, PredicateVectors)) or dense.directions is None:
            raise ParameterError("features", "a feature map of predicates, seen through public directions", "another")
        if public is None or public.shape[1] != features.features or not public.shape[0]:
            received = None if public is None else f"{public.shape[0]} rows of {public.shape[1]} columns"
            raise ParameterError(
                "public", f"public rows of {features.features} columns, as the map was made of", received
            )
        vectors = dense.vectors(features.seen(public[:MOST_ROWS])).astype(np.float64)
        squares = _row_sums(vectors * vectors).clip(1.0)
        self._rows: Floats = vectors / np.sqrt(squares)[:, None]
        unit = UNIT * math.sqrt(dense.spread / (math.fsum(squares) / len(squares)))
        self._effects: Floats = dense.directions.matrix.astype(np.float64) * (unit * 2.0**-dense.directions.shift)
        columns = [predicate.feature for predicate in dense.predicates]
        self._groups = np.append(np.unique(columns, return_inverse=True)[1], len(set(columns)))  # the constant is last
        self._sizes = np.bincount(self._groups)
        self._variances = self._first_variances()
        self._sums: list[_Sum] = []
        self._by_label, self._share = by_label, by_label[0] / math.fsum(by_label) if is_balanced else None
        self.features, self.weights = features, np.zeros(features.size)

    def add(self, mean: Floats, deviation: float) -> None:
        """Take a noisy mean of weighted slopes and vectors at the present `weights`, and move these.

        Slopes are at most ½; `deviation` is that of the noise in each number of `mean`.
        """
        self._sums.append(_Sum(self.weights, mean, deviation))
        for _ in range(TANGENTS):
            precision, pull = self._tangents()
            for _ in range(ROUNDS):
                target = self._posterior(precision, pull)
            self.weights = self._towards(target)

    def _towards(self, target: Floats) -> Floats:
        """`target`, or as far towards it as its tangents may be trusted; 0 where rounding left it without a value."""
        if not np.isfinite(target).all():
            self._variances = self._first_variances()
            return np.zeros_like(target)
        way = target - self.weights
        farthest = float(np.abs(_margins(self._rows, way)).max())
        found: Floats = self.weights + min(1.0, LONGEST_STEP / max(farthest, LONGEST_STEP)) * way
        return found.clip(-LARGEST_WEIGHT, LARGEST_WEIGHT)

    def _first_variances(self) -> Floats:
        found = np.full(self._sizes.size, SCALE)
        found[-1] = CONSTANT
        return found

    def _tangents(self) -> tuple[Floats, Floats]:
        """(Σ JᵀR⁻¹J, Σ JᵀR⁻¹(s − g + J·θ)) over all sums: what they say of θ, as of a linear function near it."""
        rows, weights = self._rows, self.weights
        chance, change = _unweighted(*_chances(_margins(rows, weights)), *self._by_label)
        precision, pull = np.zeros((weights.size, weights.size)), np.zeros(weights.size)
        for each in self._sums:
            up, down = _gradients(_margins(rows, each.at))
            up, down = up * self._by_label[1], down * self._by_label[0]
            expected = chance * up - (1.0 - chance) * down
            tangent = moments(rows, change * (up + down) / len(rows))
            mean = product(expected[None], rows)[0] / len(rows)
            spread = moments(rows, expected * expected / len(rows)) - mean[:, None] * mean
            random = spread / len(rows) + np.eye(weights.size) * each.deviation**2
            gain = product(tangent, inverse(random))
            precision += product(gain, tangent)
            pull += product(gain, (each.mean - mean + product(tangent, weights[:, None])[:, 0])[:, None])[:, 0]
        if self._share is not None:
            gain = product(change[None], rows)[0] / len(rows)
            doubt = (ALIKE_TO * self._share) ** 2 + float(chance.var()) / len(rows)
            apart = self._share - float(chance.mean()) + product(gain[None], weights[:, None])[0, 0]
            precision += gain[:, None] * gain / doubt
            pull += gain * (apart / doubt)
        return (precision + precision.T) / 2.0, pull

    def _posterior(self, precision: Floats, pull: Floats) -> Floats:
        """The mean of the posterior at the present variances, which become those that it speaks for."""
        shrunk = product(self._effects.T, self._effects / self._variances[self._groups][:, None])
        covariance = inverse(precision + (shrunk + shrunk.T) / 2.0)
        mean = product(covariance, pull[:, None])[:, 0]
        effects = product(self._effects, mean[:, None])[:, 0]
        doubt = _row_sums(product(self._effects, covariance) * self._effects)
        squares = np.bincount(self._groups, effects * effects + doubt)
        self._variances = (squares + 2.0 * SCALE) / (self._sizes + 2.0 * SHAPE)
        self._variances[-1] = CONSTANT
        return mean


def _margins(rows: Floats, weights: Floats) -> Floats:
    return product(rows, weights[:, None])[:, 0]


def _chances(margins: Floats) -> tuple[Floats, Floats]:
    """p, the chance of label 1 at a margin, and its derivative: those at which the cut slope is 0 in the mean.

    For margins above 0 it is 1/(1 + 2q), q = 1 − σ(margin): p·q = (1 − p)/2.
    """
    q = _less_likely(margins)
    likelier = 1.0 / (1.0 + 2.0 * q)
    return np.where(margins > 0.0, likelier, 1.0 - likelier), 2.0 * likelier * likelier * q * (1.0 - q)


def _unweighted(chance: Floats, change: Floats, zero: float, one: float) -> tuple[Floats, Floats]:
    """The chance of label 1 where that among weighted records is `chance`, and its derivative.

    A record of label 0 counts `zero`, one of label 1 counts `one`.
    """
    mean = 1.0 / (chance / one + (1.0 - chance) / zero)
    return chance / one * mean, change * mean * mean / (zero * one)


def _gradients(margins: Floats) -> tuple[Floats, Floats]:
    """How far a record of label 1 pulls up at a margin, and one of label 0 down: at most ½."""
    q = _less_likely(margins)
    return np.where(margins > 0.0, q, 0.5), np.where(margins > 0.0, 0.5, q)


def _less_likely(margins: Floats) -> Floats:
    """1 − σ(|margin|)."""
    odds = np.exp(-np.abs(margins))
    found: Floats = odds / (1.0 + odds)
    return found


def _row_sums(matrix: Floats) -> Floats:
    return product(matrix, np.ones((matrix.shape[1], 1)))[:, 0]
