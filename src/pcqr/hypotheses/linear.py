"""The published linear classifier: θ·φ(x), φ the public integer feature map of `pcqr.data.records.feature_map`.

What is published are the weights after the noise. Those of the dense part are rounded to multiples of 2⁻²⁰, those of
cells, of which there may be millions, to 8 bits with one scale for each block: the noise in them is far larger. A
margin is then the same number on every machine, and a function of its row alone, whatever rows come with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.checks import check_integer
from pcqr.data.records.arrays import as_points
from pcqr.data.records.feature_map import WHOLE_SHARE, FeatureMap
from pcqr.data.records.gradient_sums import GRID, on_grid
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import MOST_LABELS, Hypothesis, Labels, Points
from pcqr.serialization.codec import packed, unpacked

Floats = NDArray[np.float64]
Cells = NDArray[np.int8]

LARGEST_CELL = 127
_HALF = 2.0**15
_BLOCK = 1 << 22
"""Numbers of a block of rows, at most: of its dense vectors and of its cells."""


@dataclass(frozen=True, repr=False)
class LinearClassifier(Hypothesis):
    """One function θ_k·φ(x)/‖φ‖ for each block k: its sign decides between two classes, the largest between more.

    Block k has the dense weights `weights`[k] and, for each cell of each fern, an integer c of at most 127 in magnitude
    (`tables`) that stands for the weight c·`scales`[k]. The margin of a row with the dense vector v is

        √(a/256)·v·`weights`[k]/‖v‖ + √((256 − a)/(256·L))·`scales`[k]·(the sum of its L cells),    a = the map's share,

    and v/‖v‖ = 0 where v = 0.

    Everything is public: a function of the noisy sums.

    Parameters
    ----------
    feature_map : FeatureMap
        φ, with p dense coordinates and L ferns of 2^d cells.
    classes : int
        C. One block for two classes, else C.
    weights : tuple of tuple of float
        p multiples of 2⁻²⁰ for each block, of at most 2¹⁰.
    scales : tuple of float
        One number ≥ 0 for each block.
    cells : str
        All integers of the cells, block after block and fern after fern, as `pcqr.serialization.codec.packed` has them.

    Raises
    ------
    ParameterError
        When a part does not fit the feature map.
    """

    feature_map: FeatureMap
    classes: int
    weights: tuple[tuple[float, ...], ...]
    scales: tuple[float, ...]
    cells: str

    def __post_init__(self) -> None:
        check_integer("classes", self.classes, least=2, most=MOST_LABELS)
        if not isinstance(self.feature_map, FeatureMap):
            raise ParameterError("feature_map", "a FeatureMap", self.feature_map)
        if self.feature_map.largest_label >= self.classes:
            raise ParameterError("feature_map", f"a tree with labels below {self.classes}", "other labels")
        object.__setattr__(self, "classes", int(self.classes))
        object.__setattr__(self, "weights", tuple(tuple(map(float, block)) for block in self.weights))
        object.__setattr__(self, "scales", tuple(map(float, self.scales)))
        size = self.feature_map.size
        if [len(block) for block in self.weights] != [size] * self.blocks:
            raise ParameterError(
                "weights", f"{self.blocks} block(s) of {size} numbers", f"{len(self.weights)} block(s)"
            )
        weights = np.array(self.weights)
        if not np.isfinite(weights).all() or (_rounded(weights) != weights).any():
            raise ParameterError("weights", "multiples of 2**-20 of at most 2**10", "others")
        if len(self.scales) != self.blocks or not all(0.0 <= scale < math.inf for scale in self.scales):
            raise ParameterError("scales", f"{self.blocks} finite number(s) ≥ 0", self.scales)
        if (self.tables == -LARGEST_CELL - 1).any():
            raise ParameterError("cells", f"integers from −{LARGEST_CELL} to {LARGEST_CELL}", -LARGEST_CELL - 1)

    @classmethod
    def of(cls, feature_map: FeatureMap, classes: int, dense: Floats, cells: Floats) -> LinearClassifier:
        """Return the classifier with the weights `dense`[k, j] and `cells`[k, l, c], rounded: cells to 8 bits."""
        weights = tuple(map(tuple, _rounded(dense).tolist()))
        largest = np.abs(cells).max(axis=(1, 2), initial=0.0)
        scales = largest / LARGEST_CELL
        rounded = np.rint(cells / np.where(scales > 0.0, scales, 1.0)[:, None, None]).astype(np.int8)
        return cls(feature_map, classes, weights, tuple(scales.tolist()), packed(rounded))

    def __repr__(self) -> str:
        """The sizes alone: weights and predicates are thousands of numbers."""
        parts, ferns = self.feature_map, self.feature_map.ferns
        tree = "" if parts.tree is None else " beside a tree"
        count = 0 if ferns is None else self.tables.shape[1]
        return f"<LinearClassifier of {parts.size} weights and {count} ferns{tree} for {self.classes} classes>"

    @property
    def blocks(self) -> int:
        """Functions: 1 for two classes, else C."""
        return 1 if self.classes == 2 else self.classes

    @cached_property
    def tables(self) -> Cells:
        """The integers of the cells, one block, fern and cell after the other: (blocks, L, 2^d)."""
        shape = self.blocks, self.feature_map.count, 1 << self.feature_map.depth
        return unpacked(self.cells, np.int8, shape, "cells")

    def decision_function(self, X: ArrayLike) -> Floats:
        """The margin of each row: for two classes one number, positive for label 1; for more one column each."""
        margins = self._margins(X)
        return margins[:, 0] if self.classes == 2 else margins

    def predict(self, X: ArrayLike) -> Labels:
        """Two classes: 1 where the margin is positive. More: the class of the largest margin, the first of equals."""
        margins = self._margins(X)
        if self.classes == 2:
            return (margins[:, 0] > 0.0).astype(np.int8)
        labels: Labels = margins.argmax(axis=1).astype(np.int8)
        return labels

    def predict_proba(self, X: ArrayLike) -> Floats:
        """A probability for each class: those under which the descent's loss has its least mean at the row's margins.

        With q the logistic function of the margin, for several classes the softmax, an example of class k moves its
        margins along e_k − q, doubled and then cut to length 1: by c_k·(e_k − q), c_k = min(2, 1/‖e_k − q‖), ‖·‖ being
        1 − q_k where there is one margin. The mean over classes of probabilities p is 0 where p_k·c_k ∝ q_k, so

            p_k ∝ q_k·max(½, ‖e_k − q‖).

        They rank classes as margins do. The logistic function itself would be right for a loss that is not cut, and is
        too sure of itself here. Post-processing of the published weights, which costs nothing. The noise is in them,
        and nothing was calibrated on the private records: doing that would be another release.
        """
        margins = self._margins(X)
        if self.classes == 2:
            margins = np.concatenate([np.zeros_like(margins), margins], axis=1)
        odds = np.exp(margins - margins.max(axis=1, keepdims=True))
        q = odds / odds.sum(axis=1, keepdims=True)
        if self.classes == 2:
            lengths = 1.0 - q
        else:
            lengths = np.sqrt(np.maximum(1.0 - 2.0 * q + (q * q).sum(axis=1, keepdims=True), 0.0))
        weighed = q * np.maximum(lengths, 0.5)
        probabilities: Floats = weighed / weighed.sum(axis=1, keepdims=True)
        return probabilities

    def _margins(self, X: ArrayLike) -> Floats:
        points = as_points(X, self.feature_map.features)
        margins = np.empty((points.shape[0], self.blocks))
        for rows in self._rows(points):
            seen = self.feature_map.seen(points[rows])
            margins[rows] = self._dense_part(seen) + self._cell_part(seen)
        return margins

    def _rows(self, points: Points) -> Iterator[slice]:
        number = max(1, _BLOCK // (self.feature_map.size + self.feature_map.count))
        yield from (slice(start, start + number) for start in range(0, points.shape[0], number))

    def _dense_part(self, points: Points) -> Floats:
        if self.feature_map.dense is None:
            return np.zeros((points.shape[0], self.blocks))
        vectors = self.feature_map.dense.vectors(points).astype(np.float64)
        high, low = (vectors @ part for part in self._factors)
        norms = np.sqrt(np.maximum((vectors * vectors).sum(axis=1, keepdims=True), 1.0))
        part: Floats = math.sqrt(self.feature_map.share / WHOLE_SHARE) / GRID * (high * _HALF + low) / norms
        return part

    @cached_property
    def _factors(self) -> tuple[Floats, Floats]:
        """The dense weights in units of 2⁻²⁰, in two parts: high·2¹⁵ + low.

        Products with vectors of 16 bits, 2¹⁶ of them added up, are integers below 2⁵³: exact, in any order.
        """
        whole = np.array(self.weights).T * GRID
        high = np.floor(whole / _HALF)
        return high, whole - high * _HALF

    def _cell_part(self, points: Points) -> Floats:
        ferns = self.feature_map.ferns
        if ferns is None:
            return np.zeros((points.shape[0], self.blocks))
        totals = np.zeros((self.blocks, points.shape[0]), dtype=np.int32)
        for place, cells in enumerate(ferns.cells(points)):
            totals += self.tables[:, place].take(cells, axis=1)
        factor = math.sqrt((WHOLE_SHARE - self.feature_map.share) / (WHOLE_SHARE * ferns.count))
        part: Floats = factor * np.array(self.scales) * totals.T
        return part


def _rounded(weights: Floats) -> Floats:
    """The nearest multiples of 2⁻²⁰, cut to ±2¹⁰."""
    return on_grid(weights) / GRID
