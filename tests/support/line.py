"""What every class on the line must pass: its law on small data, public points, its learner, its error bound."""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import cast

import numpy as np
from numpy.typing import NDArray

from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import Chooser
from support.laws import brute_force_law, sampler_law, sampler_outcomes

FloatArray = NDArray[np.float64]

TEMPERATURES = (0.0, 0.3, 2.5)

SMALL_SETS = (
    (3.0,),
    (1.0, 1.0),
    (2.0, 1.0),
    (0.0, 1.0, 1.0),
    (5.0, 5.0, 5.0, 5.0),
    (2.0, -1.0, 2.0, 7.0),
    (4.0, 0.0, 1.0, 3.0, 2.0),
    (1.0, 0.0, 1.0, 0.0, 2.0, 2.0),
)
"""Points in any order: one alone, ties, all tied, ties at either end and in the middle."""

EXTREME_VALUES = (
    -1.7976931348623157e308,
    -1.0,
    -5e-324,
    0.0,
    5e-324,
    1.0,
    1.0 + 2.0**-52,
    1.7976931348623155e308,
    1.7976931348623157e308,
)
"""Neighbouring floats, subnormal numbers and the ends of the range."""

PUBLIC_CASES = (
    ((0.0,), (-1.0, 0.0, 3.0)),
    ((0.0, 1.0, 1.0, 4.0), (0.5, 0.6, -7.0, 2.5, 2.6)),
    ((3.0, 1.0, 2.0), (1.5, 1.5, 9.0)),
    ((0.0, 10.0, 20.0, 30.0), (16.0,)),
)
"""(public points, private points): private points on a cut, between, outside; cells without any."""


def label_patterns(count: int) -> Iterator[Labels]:
    for pattern in itertools.product((0, 1), repeat=count):
        yield np.array(pattern, dtype=np.int8)


def error_counts(hypothesis: Hypothesis, x: FloatArray, y: Labels) -> int:
    return int((hypothesis.predict(x) != y).sum())


def assert_same_law(actual: dict[tuple[int, ...], float], expected: dict[tuple[int, ...], float]) -> None:
    assert actual.keys() == expected.keys()
    assert all(abs(actual[pattern] - expected[pattern]) <= 1e-9 for pattern in expected)


def check_private_law(hypotheses: HypothesisClass, x: FloatArray, members: int) -> None:
    """On every labelling of `x`: the brute-force law, and each of the `members` dichotomies on exactly one path."""
    for y in label_patterns(x.size):
        for eta in TEMPERATURES:
            expected = brute_force_law(hypotheses, x, y, eta)
            assert len(expected) == members
            assert len(sampler_outcomes(hypotheses, x, y, eta)) == members
            assert_same_law(sampler_law(hypotheses, x, y, eta), expected)


def check_public_law(hypotheses: HypothesisClass, public: FloatArray, x: FloatArray) -> None:
    """Each dichotomy of `public` is weighted by its mistakes on the private points of its cells, and says so."""
    rows = hypotheses.enumerate(public)
    owner = [_cell_owner(public, value) for value in x]
    for y in label_patterns(x.size):
        for eta in TEMPERATURES:
            weights = {tuple(map(int, row)): math.exp(-eta * float((row[owner] != y).sum())) for row in rows}
            total = math.fsum(weights.values())
            expected = {pattern: math.log(weight / total) for pattern, weight in weights.items()}
            assert_same_law(sampler_law(hypotheses, x, y, eta, public), expected)
            for hypothesis, _ in sampler_outcomes(hypotheses, x, y, eta, public):
                assert (hypothesis.predict(x) == hypothesis.predict(public)[owner]).all()


def _cell_owner(public: FloatArray, value: float) -> int:
    """Index of a public point whose cell holds `value`: cells end, inclusively, half-way to the next point."""
    points: list[float] = public.tolist()
    distinct = sorted(set(points))
    for remaining, right in itertools.pairwise(distinct):
        if value <= (remaining + right) / 2.0:
            return points.index(remaining)
    return points.index(distinct[-1])


def check_learner(hypotheses: HypothesisClass, x: FloatArray, y: Labels) -> None:
    """Fewest mistakes of all dichotomies; the same hypothesis whatever the order of the records."""
    learned = hypotheses.learn(x, y)
    fewest = int((hypotheses.enumerate(x) != y[None, :]).sum(axis=1).min())
    assert error_counts(learned, x, y) == fewest
    assert hypotheses.learn(x[::-1], y[::-1]) == learned
    order = SeededEntropy(x.size).permutation(x.size)
    assert hypotheses.learn(x[order], y[order]) == learned


PRECISE = decimal.Context(prec=60, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


class PreciseChooser:
    """Takes uniformly random branches, unlikely ones too; adds up ln p̃ of the float64 log-weights to 60 digits."""

    def __init__(self, seed: int) -> None:
        self._entropy = SeededEntropy(seed)
        self.log_probability = Decimal(0)

    def __call__(self, log_weights: FloatArray) -> int:
        index = int(self._entropy.below(log_weights.size, 1)[0])
        levels = [Decimal(level) for level in (log_weights - log_weights.max()).tolist()]
        with decimal.localcontext(PRECISE):
            total = sum((level.exp() for level in levels), Decimal(0))
            self.log_probability += levels[index] - total.ln()
        return index


def precise_draw(
    hypotheses: HypothesisClass, x: FloatArray, y: Labels, eta: float, seed: int
) -> tuple[Hypothesis, Decimal]:
    """A member and, to 60 digits, the log-probability with which float64 arithmetic makes the sampler draw it."""
    points, labels = hypotheses.check_records(x, y)
    chooser = PreciseChooser(seed)
    drawn = hypotheses._draw(points, labels, eta, None, cast(Chooser, chooser))
    return drawn, chooser.log_probability


def noisy_records(count: int, seed: int) -> tuple[FloatArray, Labels]:
    """Values with some ties, and labels that are 1 mostly in the middle."""
    entropy = SeededEntropy(seed)
    x = entropy.below(4 * count, count).astype(np.float64)
    middle = (count < x) & (x < 3 * count)
    noise = entropy.below(10, count) < 3
    return x, (middle ^ noise).astype(np.int8)


def precise_balances(x: FloatArray, y: Labels) -> list[int]:
    """1s minus 0s at each distinct value, in order, by plain counting."""
    balance = dict.fromkeys(sorted(x.tolist()), 0)
    for value, label in zip(x.tolist(), y.tolist(), strict=True):
        balance[value] += 1 if label else -1
    return list(balance.values())
