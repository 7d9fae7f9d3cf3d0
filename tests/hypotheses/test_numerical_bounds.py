"""λ of every class, recomputed from the formula that its proof note states: a factor or a term less is too small."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from pcqr.hypotheses import Finite, Halfspaces, Intervals, Rectangles, Stumps, Thresholds, UnionsOfIntervals
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.trees import DecisionTrees, Predicate

U = Fraction(1, 2**53)
PREDICATES = tuple(Predicate(0, cut) for cut in (0.1, 0.2, 0.3, 0.4, 0.5))
ONE_CHOICE = [
    Thresholds(),
    Thresholds("both"),
    Halfspaces(),
    Stumps(),
    Stumps(cuts=[0.5]),
    Finite((Threshold(0.0), Threshold(1.0))),
]
SIZES = pytest.mark.parametrize(("n", "eta"), [(1, 0.25), (1_000, 0.5), (40_000, 1.75)])


def error(hypotheses: HypothesisClass, n: int, eta: float, public: int | None = None) -> float:
    return hypotheses.log_probability_error(n, eta, features=1, public=public)


@SIZES
@pytest.mark.parametrize("hypotheses", ONE_CHOICE, ids=repr)
@pytest.mark.parametrize("public", [None, 17])
def test_one_choice_of_log_weights_that_are_rounded_once(
    hypotheses: HypothesisClass, n: int, eta: float, public: int | None
) -> None:
    assert error(hypotheses, n, eta, public) == float(2 * U * Fraction(eta) * n)


@SIZES
@pytest.mark.parametrize("public", [None, 17])
def test_intervals(n: int, eta: float, public: int | None) -> None:
    groups = public or n
    last, first = 5 * eta * n + 7 * groups + 7 * math.log(groups) + 8, eta * n
    assert error(Intervals(), n, eta, public) == pytest.approx(2 * float(U) * (last + first), rel=1e-14)


@SIZES
@pytest.mark.parametrize("public", [None, 3, 17])
@pytest.mark.parametrize("r", [1, 2, 3])
def test_unions_of_intervals(r: int, n: int, eta: float, public: int | None) -> None:
    groups = public or n
    growth = math.log(sum(math.comb(groups, i) for i in range(2 * r + 1)))
    choices = min(2 * r, groups) + 1
    off = 14 * eta * n + 11 * groups + 7 * growth + 8
    assert error(UnionsOfIntervals(r), n, eta, public) == pytest.approx(2 * choices * float(U) * off, rel=1e-13)


@SIZES
@pytest.mark.parametrize("public", [None, 17])
def test_rectangles(n: int, eta: float, public: int | None) -> None:
    expected = float(U) * (14 * eta * n + 52 * (public or n))
    assert error(Rectangles(), n, eta, public) == pytest.approx(expected, rel=1e-14)


@SIZES
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("labels", [2, 5])
def test_decision_trees(depth: int, labels: int, n: int, eta: float) -> None:
    level = 2 * min(eta * n, 746) + 7 * len(PREDICATES) + labels + 24
    expected = 2 ** (depth + 1) * float(U) * (depth * level + 4 * eta * n + 4000)
    trees = DecisionTrees(depth=depth, labels=labels, predicates=PREDICATES)
    assert error(trees, n, eta) == pytest.approx(expected, rel=1e-14)
