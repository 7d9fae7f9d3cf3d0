"""Halfspaces: every dichotomy once with its exact weight, whatever coincides or lies on a line."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import brute_force_law, sampler_law
from support.laws import sampler_outcomes

from pcqr.hypotheses.halfspaces import Halfspaces, _score
from pcqr.privacy.noise import Chooser

H = Halfspaces()
Exact = tuple[Fraction, Fraction]

SETS: dict[str, list[tuple[float, float]]] = {
    "general position": [(0, 0), (4, 1), (1, 3), (5, 5), (2, 7)],
    "three on a line": [(0, 0), (1, 1), (2, 2), (0, 2), (3, 0)],
    "two lines cross in a point": [(0, 0), (2, 2), (1, 1), (0, 2), (2, 0)],
    "grid": [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)],
    "collinear": [(0, 1), (1, 3), (2, 5), (4, 9), (3, 7)],
    "collinear, horizontal": [(3, 1), (0, 1), (1, 1)],
    "collinear, vertical": [(1, 3), (1, 0), (1, 1)],
    "duplicates": [(0, 0), (0, 0), (1, 2), (1, 2), (3, 1)],
    "collinear duplicates": [(0, 0), (1, 1), (1, 1), (2, 2), (0, 0)],
    "one location": [(0.3, -0.1)] * 4,
    "n = 1": [(2, 5)],
    "n = 2": [(2, 5), (-1, 5)],
    "signed zeros": [(0.0, -0.0), (-0.0, 0.0), (1, 0.0), (-1, -0.0), (0, 1)],
    "nearly collinear": [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (0.1 + 0.2, 0.3), (0.7, 0.7 + 2.0**-53)],
    "sides that rounding turns round": [
        (0.5 + 2.0**-49, 0.5),
        (17.3, 17.3),
        (24.00000000000005, 24.0000000000000517765),
        (0.5, 0.5),
        (1, 0),
    ],
    "huge and tiny": [(1e308, -1e308), (-1e308, 1e308), (5e-324, 0), (0, 1e-320), (1.0, -1.0)],
}
small_sets = pytest.mark.parametrize("points", SETS.values(), ids=SETS.keys())


def turn(a: Exact, b: Exact, c: Exact) -> int:
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (area > 0) - (area < 0)


def on_segment(p: Exact, a: Exact, b: Exact) -> bool:
    return turn(a, b, p) == 0 and all(min(u, v) <= w <= max(u, v) for u, v, w in zip(a, b, p, strict=True))


def in_triangle(p: Exact, a: Exact, b: Exact, c: Exact) -> bool:
    strictly = turn(a, b, p) == turn(b, c, p) == turn(c, a, p) != 0
    return strictly or on_segment(p, a, b) or on_segment(p, b, c) or on_segment(p, c, a)


def hulls_meet(one: list[Exact], other: list[Exact]) -> bool:
    """Convex hulls meet iff a point of one lies in a triangle (perhaps flat) of the other, or two segments cross."""
    for left, right in ((one, other), (other, one)):
        if any(in_triangle(p, *corners) for p in left for corners in itertools.product(right, repeat=3)):
            return True
    return any(
        turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0
        for a, b in itertools.combinations(one, 2)
        for c, d in itertools.combinations(other, 2)
    )


def separable_patterns(points: list[tuple[float, float]]) -> set[tuple[int, ...]]:
    """All of the 2ⁿ labellings whose two classes have disjoint convex hulls, in rational arithmetic."""
    exact = [(Fraction(x), Fraction(y)) for x, y in points]
    found = set()
    for pattern in itertools.product((0, 1), repeat=len(points)):
        ones = [p for p, label in zip(exact, pattern, strict=True) if label]
        zeros = [p for p, label in zip(exact, pattern, strict=True) if not label]
        if not hulls_meet(ones, zeros):
            found.add(pattern)
    return found


@small_sets
def test_members_are_the_separable_labellings_each_once(points: list[tuple[float, float]]) -> None:
    expected = separable_patterns(points)
    outcomes = sampler_outcomes(H, points, [0] * len(points), 0.0)
    patterns = [tuple(map(int, drawn.predict(points))) for drawn, _ in outcomes]
    assert len(patterns) == len(set(patterns))
    assert set(patterns) == expected
    rows = [tuple(map(int, row)) for row in H.enumerate(points)]
    assert len(rows) == len(set(rows))
    assert set(rows) == expected
    assert len(expected) <= round(math.exp(H.log_growth(len(points))))


@small_sets
@pytest.mark.parametrize("eta", [0.0, 0.3, 2.5])
def test_law_equals_enumeration_for_every_label_pattern(points: list[tuple[float, float]], eta: float) -> None:
    for labels in itertools.product((0, 1), repeat=len(points)):
        law, expected = sampler_law(H, points, labels, eta), brute_force_law(H, points, labels, eta)
        assert law.keys() == expected.keys()
        assert all(abs(law[pattern] - expected[pattern]) < 1e-9 for pattern in law)


nasty = st.sampled_from([0.0, 1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 1.0 + 2.0**-52, 1e200, -1e308, 5e-324])
records = st.lists(st.tuples(nasty, nasty, st.integers(0, 1)), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(records)
def test_scores_are_the_mistakes_of_what_is_predicted(rows: list[tuple[float, float, int]]) -> None:
    X, y = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows])
    law, expected = sampler_law(H, X, y, 0.7), brute_force_law(H, X, y, 0.7)
    assert law == pytest.approx(expected, abs=1e-9)
    fewest = (H.enumerate(X) != y).sum(axis=1).min()
    assert (H.learn(X, y).predict(X) != y).sum() == fewest


PUBLIC: dict[str, list[tuple[float, float]]] = {
    "general position": [(0, 0), (4, 1), (1, 3), (5, 5)],
    "collinear": [(0, 0), (2, 2), (4, 4)],
    "with duplicates": [(0, 0), (0, 0), (4, 4), (4, 0)],
    "one location": [(2, 2), (2, 2)],
}


@pytest.mark.parametrize("public", PUBLIC.values(), ids=PUBLIC.keys())
def test_public_members_are_scored_on_what_they_predict_for_the_records(public: list[tuple[float, float]]) -> None:
    X = np.array([(1, 1), (3, 3), (-1, -1), (6, 6), (0, 0), (4, 1), (2, 3), (2, 0), (5, 1), (1, 1)], dtype=float)
    for seed in range(8):
        y = np.random.default_rng(seed).integers(0, 2, len(X))
        outcomes = sampler_outcomes(H, X, y, 0.6, public)
        patterns = [tuple(map(int, drawn.predict(public))) for drawn, _ in outcomes]
        assert len(patterns) == len(set(patterns))
        assert set(patterns) == {tuple(map(int, row)) for row in H.enumerate(public)}
        weights = [math.exp(-0.6 * int((drawn.predict(X) != y).sum())) for drawn, _ in outcomes]
        for weight, (_, log_probability) in zip(weights, outcomes, strict=True):
            assert log_probability == pytest.approx(math.log(weight / math.fsum(weights)), abs=1e-9)


@pytest.mark.parametrize("eta", [0.1, 0.5, 2.0])
def test_neighbours_stay_within_the_relabel_bound_and_public_members_within_two_eta(eta: float) -> None:
    common, labels = [(0, 0), (4, 1), (1, 3), (2, 2)], [0, 1, 1, 0]
    for replaced in ((1, 1), (5, 5), (0, 0), (2, 2)):
        laws = []
        for point, label in (((3.0, 0.0), 1), (replaced, 0)):
            law = sampler_law(H, [*common, point], [*labels, label], eta)
            on_common: dict[tuple[int, ...], float] = {}
            for pattern, log_probability in law.items():
                on_common[pattern[:-1]] = on_common.get(pattern[:-1], 0.0) + math.exp(log_probability)
            laws.append(on_common)
        ratio = max(abs(math.log(laws[0][p] / laws[1][p])) for p in laws[0])
        assert laws[0].keys() == laws[1].keys()
        assert ratio <= 2 * math.log1p(math.exp(eta)) + 1e-12
        one = sampler_law(H, [*common, (3, 0)], [*labels, 1], eta, public=[(0, 1), (2, 5), (5, 2), (1, 1)])
        two = sampler_law(H, [*common, replaced], [*labels, 0], eta, public=[(0, 1), (2, 5), (5, 2), (1, 1)])
        assert max(abs(one[p] - two[p]) for p in one) <= 2 * eta + 1e-12


@small_sets
def test_learner_makes_the_fewest_mistakes_and_ignores_the_order_of_records(points: list[tuple[float, float]]) -> None:
    X, rows = np.array(points, dtype=float), H.enumerate(points)
    shuffled = np.random.default_rng(3).permutation(len(points))
    for labels in itertools.product((0, 1), repeat=len(points)):
        y = np.array(labels)
        learnt = H.learn(X, y)
        assert (learnt.predict(X) != y).sum() == (rows != y).sum(axis=1).min()
        assert H.learn(X[shuffled], y[shuffled]) == learnt


def degenerate_records(count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    generator = np.random.default_rng(11)
    X = np.concatenate((generator.integers(0, 6, (count // 2, 2)), generator.random((count - count // 2, 2)) * 6))
    return X.astype(np.float64), (X.sum(axis=1) + generator.normal(size=count) > 6).astype(np.int64)


def mistakes_of_all_members(X: NDArray[np.float64], y: NDArray[np.int64], shown: NDArray[np.float64]) -> list[int]:
    """By prediction, one member at a time: the slow way round to what the sampler counts by turning lines."""
    members = _score(*H.check_records(X, y), shown)
    return [int((members.hypothesis(k).predict(X) != y).sum()) for k in range(members.gain.size)]


class Recorder:
    """Takes one given option and keeps the log-weights it was offered."""

    def __init__(self, share: float) -> None:
        self.share, self.offers, self.taken = share, list[NDArray[np.float64]](), list[int]()

    def __call__(self, log_weights: NDArray[np.float64]) -> int:
        self.offers.append(log_weights)
        self.taken.append(int(self.share * (log_weights.size - 1)))
        return self.taken[-1]


@pytest.mark.parametrize("eta", [0.1, 0.7, 1e4 / 3])
def test_error_bound_holds_against_forty_digits(eta: float) -> None:
    X, y = degenerate_records(40)
    exact = [-Decimal(eta) * error_counts for error_counts in mistakes_of_all_members(X, y, X)]
    bound = Decimal(H.log_probability_error(40, eta))
    with localcontext() as context:
        context.prec = 40
        log_total = sum((e.exp() for e in exact), Decimal(0)).ln()
        for share in (0.0, 0.31, 0.77, 1.0):
            recorder = Recorder(share)
            H._draw(*H.check_records(X, y), eta, None, cast(Chooser, recorder))
            (offer,), (index,) = recorder.offers, recorder.taken
            drawn_with = Decimal(float(offer[index])) - sum((Decimal(float(w)).exp() for w in offer), Decimal(0)).ln()
            assert abs(drawn_with - (exact[index] - log_total)) <= bound
