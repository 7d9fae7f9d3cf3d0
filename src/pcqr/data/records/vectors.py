"""Dense integer vectors of records, v(x) of a feature map, seen through public directions where these pay."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_finite, check_integer, keep_plain
from pcqr.compiled import compiled
from pcqr.data.records.arrays import Points, as_points
from pcqr.data.records.predicates import Predicate, check_predicates, evaluate
from pcqr.errors import ParameterError
from pcqr.serialization import Document
from pcqr.serialization.codec import packed, unpacked

# ---------------------------------------------------------------------------------------------------------------------
# Eigenvectors of a symmetric matrix as a function of its numbers, to the last bit.
#
# A linear-algebra library may round by where its arguments lie in memory, and that may depend on what was done before,
# private records included. All private records meet a public feature map, so it must not: here every sum is taken in a
# fixed order. Householder's reduction to three diagonals, then implicit QL steps (Golub and Van Loan, 8.3).


Floats = NDArray[np.float64]

_MOST_STEPS = 60
"""For one eigenvalue; two are usual."""
_EPSILON = 2.0**-52
_NEGLIGIBLE = 2.0**-900
"""A square of what rounding leaves of zeros: its inverse could be infinite."""


def eigenvectors(matrix: Floats) -> tuple[Floats, Floats]:
    """(eigenvalues, eigenvectors) of a symmetric matrix: from the largest value down, vectors in the columns."""
    reduced, rows = np.array(matrix, dtype=np.float64), np.eye(len(matrix))
    beside, factors = _reduce(reduced)
    diagonal = np.diagonal(reduced).copy()
    _reflect(reduced, factors, rows)
    rows = np.ascontiguousarray(rows.T)
    _diagonalise(diagonal, beside, rows)
    order = np.argsort(-diagonal, kind="stable")
    return diagonal[order], np.ascontiguousarray(rows[order].T)


def _reduce(matrix: Floats) -> tuple[Floats, Floats]:
    """Reduce A to three diagonals: its own, and `beside` on both sides of it, all but the last entry.

    By reflections A ← (I − f·v·vᵀ)·A·(I − f·v·vᵀ), one for each row but two, which take x, the row beyond its diagonal,
    to (target, 0, …, 0). v is left in the place of x. Return `beside` and every f: 0 where x is 0, or nearly.
    """
    beside, factors = np.zeros((2, len(matrix)))
    for k in range(len(matrix) - 2):
        vector = matrix[k, k + 1 :]
        square = _sum_in_order(vector * vector)
        target = -math.sqrt(square) if vector[0] > 0.0 else math.sqrt(square)
        half = square - target * vector[0]  # ‖v‖²/2
        beside[k] = vector[0]
        if not half < _NEGLIGIBLE:
            beside[k], factors[k] = target, 1.0 / half
            vector[0] -= target
        here = np.zeros(vector.size)
        _add_rows(matrix, vector * factors[k], here)
        here -= 0.5 * _sum_in_order(vector * here) * factors[k] * vector
        _take_products(matrix, vector, here, here, vector)
    beside[-2:-1] = np.diagonal(matrix, 1)[-1:]
    return beside, factors


def _reflect(matrix: Floats, factors: Floats, rows: Floats) -> None:
    """Apply A ← (I − f·v·vᵀ)·A to `rows`, the unit matrix, for every v and f of `_reduce`, the last first."""
    for k in range(len(matrix) - 3, -1, -1):
        vector = matrix[k, k + 1 :]
        here, none = np.zeros((2, vector.size))
        _add_rows(rows, vector * factors[k], here)
        _take_products(rows, vector, here, none, none)


def _sum_in_order(numbers: Floats) -> float:
    """From the first to the last: `sum` would add up in several places."""
    return float(np.add.accumulate(numbers)[-1])


@compiled
def _add_rows(matrix: Floats, weights: Floats, total: Floats) -> None:
    """Add Σ_j w_j·(row j) of the last rows and columns of `matrix`, as many as there are `weights`, to `total`."""
    first = matrix.shape[0] - weights.size
    for j in range(weights.size):
        weight, row = weights[j], matrix[first + j, first:]
        for i in range(row.size):
            total[i] += weight * row[i]


@compiled
def _take_products(matrix: Floats, one: Floats, other: Floats, third: Floats, fourth: Floats) -> None:
    """Subtract `one`·`other`ᵀ + `third`·`fourth`ᵀ from the last rows and columns of `matrix`."""
    first = matrix.shape[0] - one.size
    for j in range(one.size):
        weight, factor, row = one[j], third[j], matrix[first + j, first:]
        for i in range(row.size):
            row[i] -= weight * other[i] + factor * fourth[i]


@compiled
def _diagonalise(diagonal: Floats, beside: Floats, rows: Floats) -> None:
    """Turn three diagonals into one by rotations, and `rows`, one vector each, with them."""
    size = len(diagonal)
    for low in range(size):
        for _ in range(_MOST_STEPS):
            high = low
            while high < size - 1:
                if abs(beside[high]) <= _EPSILON * (abs(diagonal[high]) + abs(diagonal[high + 1])):
                    break
                high += 1
            if high == low:
                break
            slope = (diagonal[low + 1] - diagonal[low]) / (2.0 * beside[low])
            root = math.hypot(slope, 1.0)
            shifted = diagonal[high] - diagonal[low] + beside[low] / (slope + (root if slope >= 0.0 else -root))
            sine, cosine, moved = 1.0, 1.0, 0.0
            for i in range(high - 1, low - 1, -1):
                first, second = sine * beside[i], cosine * beside[i]
                root = math.hypot(first, shifted)
                beside[i + 1] = root
                if root == 0.0:
                    diagonal[i + 1] -= moved
                    beside[high] = 0.0
                    break
                sine, cosine = first / root, shifted / root
                shifted = diagonal[i + 1] - moved
                root = (diagonal[i] - shifted) * sine + 2.0 * cosine * second
                moved = sine * root
                diagonal[i + 1] = shifted + moved
                shifted = cosine * root - second
                one, other = rows[i], rows[i + 1]
                for j in range(size):
                    kept = other[j]
                    other[j] = sine * one[j] + cosine * kept
                    one[j] = cosine * one[j] - sine * kept
            else:
                diagonal[low] -= moved
                beside[low] = shifted
                beside[high] = 0.0


# ---------------------------------------------------------------------------------------------------------------------
# Public directions: an integer matrix through which the vectors of records are seen (proofs/linear.md).
#
# Public rows say which combinations of coordinates vary much and which little. Under noise a linear classifier learns
# more if the former weigh less (partial whitening) and what hardly varies is left out.


MOST_COORDINATES = 1 << 16
"""p, the length of a vector, and the number of rows of a matrix of directions: what 64 bits and float64 hold."""
LARGEST_COORDINATE = (1 << 15) - 1
"""No coordinate of a vector is larger: it is a 16-bit integer whose negative is one too."""
USUAL_NORM = 1 << 14
"""The root mean square of ‖v‖ over the public rows is at most this, and more than half of it.

Coordinates then have ten bits or so, and the integer Λ by which a vector is stretched to the bound M = 2²⁴ as well.
"""
_LARGEST_DIRECTION = 1 << 13
_LEAST_SINGULAR_VALUE = 1e-3
_MOST_PUBLIC, _NORMAL_GRID, _BASIS_GRID = 1 << 20, 1 << 16, 1 << 20
"""Products of 2²⁰ public rows with entries of 2¹⁶ are below 2⁵³, and so are those of 2¹⁶ rows with entries of 2²⁰."""
_MOST_SHIFT = 63

Vectors = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Directions(Document):
    """u ↦ ⌊u·D/2^`shift`⌋, cut to ±`LARGEST_COORDINATE`. D has `rows` × `columns` integers of 16 bits, `packed`."""

    rows: int
    columns: int
    shift: int
    packed: str

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            check_integer(name, getattr(self, name), least=1, most=MOST_COORDINATES)
        check_integer("shift", self.shift, least=0, most=_MOST_SHIFT)
        keep_plain(self, integers=("rows", "columns", "shift"))
        if int(np.abs(self.matrix.astype(np.int32)).max()) > LARGEST_COORDINATE:
            raise ParameterError("packed", f"integers of at most {LARGEST_COORDINATE}", "a larger one")

    @classmethod
    def of(cls, matrix: NDArray[np.int16], shift: int) -> Directions:
        """The matrix itself, packed."""
        rows, columns = matrix.shape
        return cls(rows, columns, shift, packed(matrix.astype(np.int16)))

    @classmethod
    def whitening(cls, public: Floats, power: float, most: int | None = None) -> Directions:
        """The principal directions of the `public` integer vectors, one a row, each taken as long as any other.

        Each is divided by its singular value to the `power`: 0 leaves lengths as they are, 1 would make all directions
        equally long. Those that hardly vary are left out, and the last ones if there are more than `most`.
        """
        rows = public[:_MOST_PUBLIC]
        norms = np.maximum(np.sqrt((rows * rows).sum(axis=1, keepdims=True)), 1.0)
        # Whole numbers, so that the library's products are exact, and the directions a function of the public rows.
        normal = np.rint(rows / norms * _NORMAL_GRID)
        is_wide = normal.shape[1] > normal.shape[0]
        squares, basis = eigenvectors(normal @ normal.T if is_wide else normal.T @ normal)  # the smaller of the two
        values = np.sqrt(np.maximum(squares, 0.0))
        if values[0] == 0.0:
            raise ParameterError("public", "vectors that are not all zero", "zeros alone")
        count = min(int((values >= _LEAST_SINGULAR_VALUE * values[0]).sum()), values.size if most is None else most)
        values, basis = values[:count], basis[:, :count]
        found = (normal.T @ np.rint(basis * _BASIS_GRID) / values if is_wide else basis) * values**-power
        found *= np.sign(found[np.abs(found).argmax(axis=0), np.arange(count)])
        matrix = np.rint(found * (_LARGEST_DIRECTION / np.abs(found).max()))
        seen = public @ matrix
        squared_norm = float((seen * seen).sum(axis=1).mean())
        shift = next(shift for shift in range(_MOST_SHIFT) if squared_norm <= float(USUAL_NORM << shift) ** 2)
        return cls.of(matrix.astype(np.int16), shift)

    def __eq__(self, other: object) -> bool:
        """The same numbers: their text may differ, by the library that packed them."""
        return isinstance(other, Directions) and self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)

    @property
    def _numbers(self) -> tuple[int, int, bytes]:
        return self.columns, self.shift, self.matrix.tobytes()

    @cached_property
    def matrix(self) -> NDArray[np.int16]:
        """D. Nobody can write to it."""
        return unpacked(self.packed, np.int16, (self.rows, self.columns), "packed")

    def seen(self, vectors: Floats) -> Vectors:
        """Integer vectors of at most 2¹⁵, one a row and held as floats, as they are seen through D.

        Every sum of products is an integer below 2⁴⁶, so the product is exact and the same in any order of adding up.
        """
        return cut(np.floor(vectors @ self._factors * 2.0**-self.shift), LARGEST_COORDINATE)

    @cached_property
    def _factors(self) -> Floats:
        return self.matrix.astype(np.float64)


def cut(numbers: Floats, most: int) -> Vectors:
    """Whole numbers held as floats, cut to ±`most`."""
    return np.clip(numbers, -most, most).astype(np.int16)


# ---------------------------------------------------------------------------------------------------------------------
# Dense integer vectors of records, v(x) of a feature map: from public predicates or from the columns.
#
# Row by row, each by itself, and the same integers on every machine (proofs/linear.md). All about the maps is public.


UNIT = 256
"""The number 1 on the integer grid."""
LARGEST_ENTRY = 8 * UNIT
LARGEST_COLUMN = 1 << 14
LEAST_DEVIATION = 0.2
_GUESSED_SHARE = 0.1
ROWS_A_PREDICATE = 4
"""Public points that there must be for each predicate, if vectors are to be seen through directions."""
_CONSTANT_SHARE = 0.25
"""The constant beside columns, against the root mean square of what is before it in public vectors."""
_LEAST_SPREAD = 0.1
"""Of the range of a column's public values: a column that is mostly one value is not blown up where it is another."""
_ONE_UNIT = 10.0
_CELLS = 1 << 18
"""Numbers of a block of vectors, two megabytes of floats: they stay in the cache."""


class DenseVectors(Document, ABC):
    """A public map from a point to an integer vector.

    `features` is the number of columns of the points, `size` the length p of a vector.
    """

    features: int
    directions: Directions | None

    @property
    @abstractmethod
    def size(self) -> int:
        """p."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """How many columns' worth a vector has, before it is seen through directions: a number counts as one."""

    @abstractmethod
    def _block(self, X: Points) -> Vectors:
        """The vectors of a few points."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The length of what is seen through the directions."""

    def vectors(self, X: Points) -> Vectors:
        """v of each row, 16-bit integers: a function of that row. `X` is finite, as `as_points` makes it."""
        found = np.empty((X.shape[0], self.size), dtype=np.int16)
        rows = max(1, _CELLS // max(self.width, self.size))
        for start in range(0, X.shape[0], rows):
            found[start : start + rows] = self._block(X[start : start + rows])
        return found

    def _check(self) -> None:
        check_integer("features", self.features, least=1)
        if self.width > MOST_COORDINATES:
            raise ParameterError("features", f"at most {MOST_COORDINATES:,} coordinates", self.width)
        if self.directions is not None and self.directions.rows != self.width:
            raise ParameterError("directions", f"a matrix with {self.width} rows", f"{self.directions.rows} rows")


@dataclass(frozen=True)
class PredicateVectors(DenseVectors):
    """Coordinate j is `holding`[j] where `predicates`[j] holds and `failing`[j] where it fails; last comes `UNIT`.

    Integers of at most `LARGEST_ENTRY`, seen through `directions` where there are any.
    """

    predicates: tuple[Predicate, ...]
    holding: tuple[int, ...]
    failing: tuple[int, ...]
    features: int
    directions: Directions | None = None

    def __post_init__(self) -> None:
        for name in ("predicates", "holding", "failing"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        self._check()
        check_predicates(self.predicates, self.features)
        for name in ("holding", "failing"):
            values = getattr(self, name)
            if len(values) != len(self.predicates):
                raise ParameterError(name, "one entry for each predicate", f"{len(values)} entries")
            for value in values:
                check_integer(name, value, least=-LARGEST_ENTRY, most=LARGEST_ENTRY)
            object.__setattr__(self, name, tuple(map(int, values)))
        keep_plain(self, integers=("features",))

    @classmethod
    def of(
        cls, predicates: Sequence[Predicate], features: int, public: Points | None = None, whitening: float = 0.3
    ) -> PredicateVectors:
        """Predicates in standard units by the `public` points: (h − m)/s·w, rounded to the grid; partly whitened.

        h = 1 where the predicate holds, m is its share of the public points and s = √(m(1−m)), taken as ⅕ where it is
        less. w = ½ for the only predicate of a column, as categories have them; w = 1/√K for each of the K cuts through
        a number, which then weigh together as much as the constant. Centring leaves what tells records apart, and the
        noise, which is scaled to ‖v‖, buys more. Without public points m is guessed: ⅒ for a category, and for K cuts
        as if each gap between them, and each end, were equally likely.

        With at least four public points a predicate, the vectors are seen through the directions of their second
        moments, divided by the singular value to the power `whitening`; 0 leaves them as they are.
        """
        predicates, points = tuple(predicates), None if public is None else as_points(public, features, name="public")
        holding, failing = standard_entries(predicates, points, LEAST_DEVIATION)
        plain = cls(predicates, holding, failing, features)
        if points is None or whitening == 0.0 or points.shape[0] < ROWS_A_PREDICATE * len(predicates):
            return plain
        return cls(predicates, holding, failing, features, Directions.whitening(plain._entries(points), whitening))

    @property
    def size(self) -> int:
        return self.width if self.directions is None else self.directions.columns

    @property
    def spread(self) -> float:
        """The mean of ‖u‖² in units of the constant, by the public shares that the entries were made of.

        w(1 − m) with the share m and −wm with 1 − m have the mean square w²·m(1 − m), which is −holding·failing.
        """
        return 1.0 - sum(h * f for h, f in zip(self.holding, self.failing, strict=True)) / UNIT**2

    @property
    def width(self) -> int:
        return len(self.predicates) + 1

    def _block(self, X: Points) -> Vectors:
        entries = self._entries(X)
        return cut(entries, LARGEST_ENTRY) if self.directions is None else self.directions.seen(entries)

    def _entries(self, X: Points) -> Floats:
        entries = np.full((X.shape[0], self.width), float(UNIT))
        entries[:, :-1] = np.where(evaluate(self.predicates, X), *self._values)
        return entries

    @cached_property
    def _values(self) -> tuple[Floats, Floats]:
        return np.array(self.holding, dtype=np.float64), np.array(self.failing, dtype=np.float64)


@dataclass(frozen=True)
class ColumnVectors(DenseVectors):
    """Coordinate j is (x_j − `centres`[j])·`scales`[j], rounded and cut to ±`LARGEST_COLUMN`; last comes `constant`.

    What comes before the constant is seen through `directions` where there are any.
    """

    centres: tuple[float, ...]
    scales: tuple[float, ...]
    features: int
    constant: int
    directions: Directions | None = None

    def __post_init__(self) -> None:
        for name in ("centres", "scales"):
            object.__setattr__(self, name, tuple(map(float, getattr(self, name))))
        self._check()
        check_integer("constant", self.constant, least=1, most=LARGEST_COORDINATE)
        for name in ("centres", "scales"):
            if len(getattr(self, name)) != self.features:
                raise ParameterError(name, f"one number for each of {self.features} columns", len(getattr(self, name)))
            for value in getattr(self, name):
                check_finite(name, value)
        if min(self.scales) < 0.0:
            raise ParameterError("scales", "numbers ≥ 0", min(self.scales))
        if self.size > MOST_COORDINATES:
            raise ParameterError("features", f"at most {MOST_COORDINATES:,} coordinates", self.size)
        keep_plain(self, integers=("constant", "features"))

    @classmethod
    def of(cls, public: Points, most: int | None = None, whitening: float = 0.3) -> ColumnVectors:
        """Columns in standard units by the `public` points; where `most` is given, seen through so many directions.

        (x − m)/s with the public mean m and a public spread s (`spreads`). A column that is constant in the public
        points says nothing. Directions are the first principal ones of the public vectors, divided by their singular
        values to the power `whitening`.
        """
        points = as_points(public, name="public")
        with np.errstate(all="ignore"):  # a mean or a spread beyond float64: such a column says nothing
            centres, scales = points.mean(axis=0), UNIT / spreads(points)
        usable = np.isfinite(centres) & np.isfinite(scales)
        centres, scales = (np.where(usable, numbers, 0.0) for numbers in (centres, scales))
        plain = cls(tuple(centres), tuple(scales), points.shape[1], 1)
        entries = plain._entries(points)
        directions = None
        if most is not None and entries.any():
            directions = Directions.whitening(entries, whitening, most)
        seen = entries if directions is None else directions.seen(entries).astype(np.float64)
        constant = max(1, round(_CONSTANT_SHARE * float(np.sqrt((seen * seen).sum(axis=1).mean()))))
        return cls(plain.centres, plain.scales, plain.features, min(constant, LARGEST_COORDINATE), directions)

    @classmethod
    def within(cls, bounds: Sequence[tuple[float, float]]) -> ColumnVectors:
        """Columns in standard units as if each were spread evenly over its public `bounds`."""
        low, high = np.array(bounds, dtype=np.float64).T
        centres, spreads = low / 2.0 + high / 2.0, (high / 2.0 - low / 2.0) / np.sqrt(3.0)
        scales = np.divide(UNIT, spreads, out=np.zeros_like(spreads), where=spreads > UNIT / np.finfo(np.float64).max)
        constant = round(_CONSTANT_SHARE * UNIT * float(np.sqrt(len(bounds))))
        return cls(tuple(centres), tuple(scales), len(bounds), min(constant, LARGEST_COORDINATE))

    @classmethod
    def unknown(cls, columns: int) -> ColumnVectors:
        """Columns of which nothing is known: as if they had the mean 0 and were at most 16 in magnitude."""
        unit = LARGEST_COLUMN / 16.0
        return cls((0.0,) * columns, (unit,) * columns, columns, int(unit))

    @property
    def size(self) -> int:
        return 1 + (self.width if self.directions is None else self.directions.columns)

    @property
    def spread(self) -> float:
        return 1.0 + self.features

    @property
    def width(self) -> int:
        return self.features

    def _block(self, X: Points) -> Vectors:
        entries = self._entries(X)
        found = np.full((X.shape[0], self.size), self.constant, dtype=np.int16)
        found[:, :-1] = cut(entries, LARGEST_COLUMN) if self.directions is None else self.directions.seen(entries)
        return found

    def _entries(self, X: Points) -> Floats:
        centres, scales = np.array(self.centres), np.array(self.scales)
        # Whether a number overflows is the records' affair: it is cut, and nobody is told.
        with np.errstate(all="ignore"):
            finite = np.clip(X - centres, -np.finfo(np.float64).max, np.finfo(np.float64).max)
            entries: Floats = np.rint(np.clip(finite * scales, -LARGEST_COLUMN, LARGEST_COLUMN))
        return entries


def spreads(public: Points) -> Floats:
    """What counts as 1 in each column: its deviation in the `public` points, 0 where it is constant in them.

    A tenth of its range where that is more, as in a column that is mostly one value. Columns whose deviations are much
    alike, the ninth decile at most ten times the first, are taken to be in one unit, as those of an encoder are: they
    have one spread, the root of their mean square, and what varies little in that unit stays little.
    """
    deviations: Floats = public.std(axis=0)
    if not (varied := deviations[deviations > 0.0]).size:
        return deviations
    low, high = np.quantile(varied, 0.1, method="lower"), np.quantile(varied, 0.9, method="higher")
    in_one_unit = np.where(deviations > 0.0, np.sqrt((varied**2).mean()), 0.0)
    each: Floats = np.maximum(deviations, _LEAST_SPREAD * np.ptp(public, axis=0))
    return in_one_unit if high <= _ONE_UNIT * low else each


def standard_entries(
    predicates: Sequence[Predicate], public: Points | None, least_deviation: float
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What each predicate is worth where it holds and where it fails: see `PredicateVectors.of`."""
    shares = _guessed_shares(predicates) if public is None else evaluate(predicates, public).mean(axis=0)
    cuts = Counter(predicate.feature for predicate in predicates)
    number = np.array([cuts[predicate.feature] for predicate in predicates])
    deviation = np.sqrt(shares * (1.0 - shares))
    weight = UNIT * np.where(number == 1, 0.5, 1.0 / np.sqrt(number)) / np.maximum(deviation, least_deviation)
    holding, failing = np.rint(weight * (1.0 - shares)), np.rint(-weight * shares)
    return tuple(map(int, holding)), tuple(map(int, failing))


def _guessed_shares(predicates: Sequence[Predicate]) -> Floats:
    """1 − k/(K + 1) for the k-th smallest of the K > 1 cuts of a column, 1/10 for an only one."""
    cuts: dict[int, list[float]] = {}
    for predicate in sorted(predicates):
        cuts.setdefault(predicate.feature, []).append(predicate.cut)
    shares = []
    for predicate in predicates:
        column = cuts[predicate.feature]
        rank = column.index(predicate.cut) + 1
        shares.append(1.0 - rank / (len(column) + 1.0) if len(column) > 1 else _GUESSED_SHARE)
    return np.array(shares)
