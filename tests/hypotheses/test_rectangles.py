"""Rectangles: every dichotomy once with its exact weight, ties and duplicates included."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import brute_force_law, sampler_law
from support.laws import sampler_outcomes

from pcqr.hypotheses.rectangles import Rectangles
from pcqr.privacy.noise import Chooser

H = Rectangles()

SETS: dict[str, list[tuple[float, float]]] = {
    "general position": [(0, 3), (1, 0), (2, 4), (3, 1), (4, 2)],
    "diamond": [(0, 1), (1, 0), (2, 1), (1, 2)],
    "diamond and centre": [(0, 1), (1, 0), (2, 1), (1, 2), (1, 1)],
    "rising": [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)],
    "ties in x": [(0, 0), (0, 1), (0, 2), (1, 1), (1, 3)],
    "ties in y": [(0, 0), (1, 0), (3, 0), (1, 1), (2, 1)],
    "grid": [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)],
    "duplicates": [(0, 0), (0, 0), (1, 2), (1, 2), (3, 1)],
    "one location": [(0.3, -0.1)] * 4,
    "n = 1": [(2, 5)],
    "n = 2": [(2, 5), (-1, 5)],
    "huge and tiny": [(1.7e308, -1.7e308), (-1.7e308, 1e308), (5e-324, 0), (0, 1e-320), (1, 1 + 2.0**-52)],
}
small_sets = pytest.mark.parametrize("points", SETS.values(), ids=SETS.keys())


def boxed_patterns(points: list[tuple[float, float]]) -> set[tuple[int, ...]]:
    """All of the 2ⁿ labellings whose 1s have no 0 in their bounding box."""
    found = set()
    for pattern in itertools.product((0, 1), repeat=len(points)):
        inside = [p for p, label in zip(points, pattern, strict=True) if label]
        if inside:
            (x0, y0), (x1, y1) = np.min(inside, axis=0), np.max(inside, axis=0)
            if pattern != tuple(int(x0 <= x <= x1 and y0 <= y <= y1) for x, y in points):
                continue
        found.add(pattern)
    return found


@small_sets
def test_members_are_the_boxed_labellings_each_once(points: list[tuple[float, float]]) -> None:
    expected = boxed_patterns(points)
    outcomes = sampler_outcomes(H, points, [0] * len(points), 0.0)
    patterns = [tuple(map(int, drawn.predict(points))) for drawn, _ in outcomes]
    assert len(patterns) == len(set(patterns))
    assert set(patterns) == expected
    rows = [tuple(map(int, row)) for row in H.enumerate(points)]
    assert len(rows) == len(set(rows))
    assert set(rows) == expected
    assert math.log(len(expected)) <= H.log_growth(len(points)) + 1e-12


@small_sets
@pytest.mark.parametrize("eta", [0.0, 0.3, 2.5])
def test_law_equals_enumeration_for_every_label_pattern(points: list[tuple[float, float]], eta: float) -> None:
    for labels in itertools.product((0, 1), repeat=len(points)):
        law, expected = sampler_law(H, points, labels, eta), brute_force_law(H, points, labels, eta)
        assert law.keys() == expected.keys()
        assert all(abs(law[pattern] - expected[pattern]) < 1e-9 for pattern in law)


records = st.lists(
    st.tuples(st.integers(0, 4).map(float), st.integers(0, 4).map(float), st.integers(0, 1)), min_size=1, max_size=7
)


@settings(max_examples=60, deadline=None)
@given(records)
def test_law_and_learner_on_tied_records(rows: list[tuple[float, float, int]]) -> None:
    X, y = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows])
    assert sampler_law(H, X, y, 0.7) == pytest.approx(brute_force_law(H, X, y, 0.7), abs=1e-9)
    assert (H.learn(X, y).predict(X) != y).sum() == (H.enumerate(X) != y).sum(axis=1).min()


PUBLIC: dict[str, list[tuple[float, float]]] = {
    "general position": [(0, 3), (1, 0), (2, 4), (3, 1)],
    "ties": [(0, 0), (0, 2), (3, 2), (3, 0), (3, 1)],
    "with duplicates": [(0, 0), (0, 0), (4, 4)],
    "one location": [(2, 2), (2, 2)],
}


@pytest.mark.parametrize("public", PUBLIC.values(), ids=PUBLIC.keys())
def test_public_members_are_scored_on_what_they_predict_for_the_records(public: list[tuple[float, float]]) -> None:
    X = np.array([(-9, 2), (1.5, 3.5), (0, 0), (2.2, 3.9), (9, 9), (1.7, 0.6), (3, 1), (1.2, 1.2), (0.3, 2.7)])
    shown = np.array(public, dtype=float)
    # A record lies in the cell of the nearest public coordinate, the lower one when two are equally near.
    snapped = np.array([[min(sorted(set(shown[:, c])), key=lambda v: abs(v - p[c])) for c in (0, 1)] for p in X])
    for seed in range(8):
        y = np.random.default_rng(seed).integers(0, 2, len(X))
        outcomes = sampler_outcomes(H, X, y, 0.6, public)
        patterns = [tuple(map(int, drawn.predict(public))) for drawn, _ in outcomes]
        assert len(patterns) == len(set(patterns))
        assert set(patterns) == boxed_patterns(public)
        weights = [math.exp(-0.6 * int((drawn.predict(X) != y).sum())) for drawn, _ in outcomes]
        for weight, (drawn, log_probability) in zip(weights, outcomes, strict=True):
            assert log_probability == pytest.approx(math.log(weight / math.fsum(weights)), abs=1e-9)
            np.testing.assert_array_equal(drawn.predict(X), drawn.predict(snapped))


@pytest.mark.parametrize("eta", [0.1, 0.5, 2.0])
def test_neighbours_stay_within_the_relabel_bound_and_public_members_within_two_eta(eta: float) -> None:
    common, labels, public = [(0, 3), (1, 0), (2, 4), (3, 1)], [0, 1, 1, 0], [(0, 1), (2, 5), (5, 2), (1, 1)]
    for replaced in ((1, 2), (5, 5), (0, 0), (2, 4)):
        laws = []
        for point, label in (((1.5, 2.5), 1), (replaced, 0)):
            on_common: Counter[tuple[int, ...]] = Counter()
            for pattern, log_probability in sampler_law(H, [*common, point], [*labels, label], eta).items():
                on_common[pattern[:-1]] += math.exp(log_probability)  # type: ignore[assignment]
            laws.append(on_common)
        assert laws[0].keys() == laws[1].keys()
        ratio = max(abs(math.log(laws[0][p] / laws[1][p])) for p in laws[0])
        assert ratio <= 2 * math.log1p(math.exp(eta)) + 1e-12
        one = sampler_law(H, [*common, (1.5, 2.5)], [*labels, 1], eta, public=public)
        two = sampler_law(H, [*common, replaced], [*labels, 0], eta, public=public)
        assert max(abs(one[p] - two[p]) for p in one) <= 2 * eta + 1e-12


def preferred(points: NDArray[np.float64], y: NDArray[np.int64]) -> tuple[int, ...]:
    """The learner's choice by its stated order, found among all canonical boxes one by one."""
    best: tuple[float, ...] = (int(y.sum()), -1)
    choice = (0,) * len(y)
    for pattern in sorted(boxed_patterns([tuple(p) for p in points]) - {choice}):
        inside = points[np.array(pattern) == 1]
        (left, bottom), (right, top) = inside.min(axis=0), inside.max(axis=0)
        key = (int((np.array(pattern) != y).sum()), 0, -bottom, top, right, -left)
        if key < best:
            best, choice = key, pattern
    return choice


@small_sets
def test_learner_follows_its_order_and_ignores_the_order_of_records(points: list[tuple[float, float]]) -> None:
    X = np.array(points, dtype=float)
    shuffled = np.random.default_rng(3).permutation(len(points))
    for labels in itertools.product((0, 1), repeat=len(points)):
        y = np.array(labels)
        learnt = H.learn(X, y)
        assert tuple(map(int, learnt.predict(X))) == preferred(X, y)
        assert H.learn(X[shuffled], y[shuffled]) == learnt


class Recorder:
    """Takes a given share of the way into the options and keeps the log-weights it was offered."""

    def __init__(self, shares: tuple[float, float]) -> None:
        self.shares, self.offers, self.taken = shares, list[NDArray[np.float64]](), list[int]()

    def __call__(self, log_weights: NDArray[np.float64]) -> int:
        share = self.shares[len(self.offers)]
        self.offers.append(log_weights)
        self.taken.append(round(share * (log_weights.size - 1)))
        return self.taken[-1]


def members_by_mistakes(X: NDArray[np.float64], y: NDArray[np.int64]) -> Counter[int]:
    """How many dichotomies make how many mistakes: every box on the coordinates, kept when all its sides touch."""
    found: Counter[int] = Counter({int(y.sum()): 1})
    xs, ys = np.unique(X[:, 0]), np.unique(X[:, 1])
    in_columns = [(low, high, (low <= X[:, 0]) & (X[:, 0] <= high)) for low, high in itertools.product(xs, xs)]
    for low, high in itertools.product(ys, ys):
        rows = (low <= X[:, 1]) & (X[:, 1] <= high)
        for left, right, columns in in_columns:
            x, height = X[rows & columns].T
            if x.size and (x.min(), x.max(), height.min(), height.max()) == (left, right, low, high):
                found[int(((rows & columns) != y).sum())] += 1
    return found


@pytest.mark.parametrize("eta", [0.0, 0.7, 100.0 / 3])
def test_error_bound_holds_against_forty_digits(eta: float) -> None:
    generator = np.random.default_rng(4)
    X = np.concatenate((generator.integers(0, 5, (12, 2)), generator.random((14, 2)) * 5)).astype(float)
    y = ((X[:, 0] > 1) ^ (generator.random(26) < 0.3)).astype(np.int64)
    bound = Decimal(H.log_probability_error(26, eta))
    assert eta * 26 < 800 or math.exp(-eta * 26) == 0.0, "the largest η is there to make e^{−ηk} underflow"
    with localcontext() as context:
        context.prec = 40
        weights = {m: (-Decimal(eta) * m).exp() * count for m, count in members_by_mistakes(X, y).items()}
        log_total = sum(weights.values(), Decimal(0)).ln()
        for shares in itertools.product((0.0, 0.13, 0.5, 0.71, 1.0), (0.0, 0.6)):
            recorder = Recorder(shares)
            drawn = H._draw(*H.check_records(X, y), eta, None, cast(Chooser, recorder))
            drawn_with = Decimal(0)
            for offer, index in zip(recorder.offers, recorder.taken, strict=True):
                levels = [Decimal(float(w)) for w in offer - offer.max()]
                drawn_with += levels[index] - sum((level.exp() for level in levels), Decimal(0)).ln()
            exact = -Decimal(eta) * int((drawn.predict(X) != y).sum()) - log_total
            assert abs(drawn_with - exact) <= bound
            assert bound < Decimal("1e-11")
