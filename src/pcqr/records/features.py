"""The integer feature map φ of linear classifiers over public predicates.

Trees and linear classifiers ask the same public questions (`pcqr.records.predicates`). Here each predicate becomes one
integer coordinate with two values, one where it holds and one where it fails, and a constant is appended. Everything
about φ is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.checks import check_integer
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.records import vectors
from pcqr.records.arrays import Points, as_points
from pcqr.records.predicates import Predicate, evaluate

UNIT, LARGEST_ENTRY = vectors.UNIT, vectors.LARGEST_ENTRY
"""The number 1 on the integer grid of φ, and the largest number there."""
_LEAST_DEVIATION = 0.1
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
"""Row c: the eight bits of the byte c, the first one the most significant, as `packbits` has it."""

Codes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True)
class LinearFeatures(Document):
    """φ: coordinate j is `holding`[j] where `predicates`[j] holds and `failing`[j] where it fails; last comes `UNIT`.

    `features` is the number of columns of the tables that φ reads. Integers of at most `LARGEST_ENTRY`; φ is never 0.
    """

    predicates: tuple[Predicate, ...]
    holding: tuple[int, ...]
    failing: tuple[int, ...]
    features: int

    def __post_init__(self) -> None:
        for name in ("predicates", "holding", "failing"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_integer("features", self.features, least=1)
        if not self.predicates or not all(isinstance(predicate, Predicate) for predicate in self.predicates):
            raise ParameterError("predicates", "at least one Predicate", self.predicates)
        if any(predicate.feature >= self.features for predicate in self.predicates):
            raise ParameterError("predicates", f"on columns 0 to {self.features - 1}", self.predicates)
        for name in ("holding", "failing"):
            values = getattr(self, name)
            if len(values) != len(self.predicates):
                raise ParameterError(name, "one entry for each predicate", f"{len(values)} entries")
            for value in values:
                check_integer(name, value, least=-LARGEST_ENTRY)
                if value > LARGEST_ENTRY:
                    raise ParameterError(name, f"at most {LARGEST_ENTRY}", value)
            object.__setattr__(self, name, tuple(map(int, values)))

    @classmethod
    def of(cls, predicates: Sequence[Predicate], features: int, public: Points | None = None) -> LinearFeatures:
        """Predicates in standard units by the `public` points: (h − m)/s·w, rounded to the grid.

        h = 1 where the predicate holds, m is its share of the public points and s = √(m(1−m)), taken as ⅒ where it is
        less. w = ½ for the only predicate of a column, as categories have them; w = 1/√K for each of the K cuts through
        a number, which then weigh together as much as the constant. Centring leaves of φ what tells records apart,
        and the noise, which is scaled to ‖φ‖, buys more. Without public points m is guessed: ⅒ for a category, and
        for K cuts as if each gap between them, and each end, were equally likely.
        """
        points = None if public is None else as_points(public, features, name="public")
        return cls(tuple(predicates), *vectors.standard_entries(predicates, points, _LEAST_DEVIATION), features)

    @property
    def size(self) -> int:
        """p, the length of φ."""
        return len(self.predicates) + 1

    def encode(self, X: ArrayLike) -> Codes:
        """The answers to all predicates, eight to a byte: all that φ knows of a row. As private as `X`."""
        return coded(evaluate(self.predicates, as_points(X, self.features)))

    def squared_norms(self, codes: Codes) -> Integers:
        """‖φ‖² of each encoded row, exactly. At least `UNIT`²."""
        holding, failing = np.array(self.holding) ** 2, np.array(self.failing) ** 2
        return _looked_up(_by_byte(holding - failing), codes) + int(failing.sum()) + UNIT**2

    def tables(self, weights: Floats) -> tuple[Floats, float]:
        """(t, c) such that θ·φ of an encoded row b is c + t[0, b₀] + t[1, b₁] + …, θ = `weights`.

        A function of θ to the last bit, since all private records meet it: terms are added in a fixed order, not by a
        linear-algebra library, whose rounding may depend on where in memory its arguments happen to lie.
        """
        holding, failing = np.array(self.holding, dtype=np.float64), np.array(self.failing, dtype=np.float64)
        constant = float(np.cumsum(failing * weights[:-1])[-1]) + UNIT * float(weights[-1])
        return _by_byte((holding - failing) * weights[:-1]), constant

    def totals(self, histogram: Integers) -> Integers:
        """Σ_i q_i·φ_i, exactly, from `histogram`[g, b] = Σ q_i over the encoded rows i whose byte g is b."""
        everything = int(histogram[0].sum())
        held = (histogram @ _BITS.astype(np.int64)).reshape(-1)[: len(self.predicates)]
        totals = np.array(self.holding) * held + np.array(self.failing) * (everything - held)
        return np.append(totals, UNIT * everything)

    def margins(self, weights: Floats, codes: Codes) -> Floats:
        """θ·φ/‖φ‖ of each encoded row, θ = `weights`."""
        table, constant = self.tables(weights)
        margins: Floats = (_looked_up(table, codes) + constant) / np.sqrt(self.squared_norms(codes))
        return margins


def coded(holds: NDArray[np.bool_]) -> Codes:
    """The answers of each row, eight to a byte."""
    return np.packbits(holds, axis=1)


def _by_byte(values: NDArray[Number]) -> NDArray[Number]:
    """One row of 256 for each byte of the code: the sum of `values` over the predicates whose bits are set."""
    padded = np.zeros(-(-values.size // 8) * 8, dtype=values.dtype)
    padded[: values.size] = values
    rows = np.zeros((padded.size // 8, 256), dtype=values.dtype)
    for place, bit in enumerate(_BITS.T):
        rows += padded[place::8, None] * bit
    return rows


def _looked_up(table: NDArray[Number], codes: Codes) -> NDArray[Number]:
    """The sum over bytes g of `table`[g, codes[:, g]]."""
    total = np.zeros(codes.shape[0], dtype=table.dtype)
    for row, column in zip(table, codes.T, strict=True):
        total += row[column]
    return total
