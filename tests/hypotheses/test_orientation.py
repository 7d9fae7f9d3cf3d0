"""Sides of a line are exact where float64 arithmetic is not."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pcqr.hypotheses.halfspaces import Halfspace, count_left, turns

EXTREME = [0.0, -0.0, 5e-324, -1e-308, 1e-170, 0.1, 0.2, 0.3, 1.0, 1.0 + 2.0**-52, 2.0**53 - 1, 1e200, 1e308, -1.7e308]
coordinates = st.one_of(st.sampled_from(EXTREME), st.floats(allow_nan=False, allow_infinity=False), st.integers(-4, 4))
points = st.tuples(coordinates.map(float), coordinates.map(float))


def side(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> int:
    """Twice the signed area of the triangle, by the shoelace formula on rationals."""
    ring = [tuple(map(Fraction, p)) for p in (a, b, c, a)]
    area = sum(p[0] * q[1] - q[0] * p[1] for p, q in itertools.pairwise(ring))
    return (area > 0) - (area < 0)


@given(points, points, st.lists(points, min_size=1, max_size=6))
def test_sides_are_exact_for_all_finite_coordinates(tail, head, where):  # type: ignore[no-untyped-def]
    assert turns(tail, head, np.array(where)).tolist() == [side(tail, head, p) for p in where]


lines = st.tuples(points, points).filter(lambda ends: ends[0] != ends[1])


@given(st.lists(lines, max_size=6), st.lists(points, min_size=1, max_size=6), st.data())
def test_many_lines_at_once_count_as_half_planes_one_by_one(found, where, data):  # type: ignore[no-untyped-def]
    corners = [end for line in found for end in line] or where
    asked = np.array([*where, *data.draw(st.lists(st.sampled_from(corners), max_size=4))]) + 0.0
    by_one = sum(
        (Halfspace(*line).predict(asked).astype(np.int64) for line in found), np.zeros(len(asked), dtype=np.int64)
    )
    assert count_left(np.array(found).reshape(-1, 4), asked).tolist() == by_one.tolist()


def test_counts_are_exact_where_rounding_turns_sides_round() -> None:
    head, where = (17.3, 17.3), (24.00000000000005, 24.0000000000000517765)
    tails = [(0.5 + i * 2.0**-53, 0.5 + j * 2.0**-53) for i in range(24) for j in range(24)]
    left = [side(tail, head, where) > 0 for tail in tails]
    found = [count_left(np.array([[*tail, *head]]), np.array([where])).tolist() for tail in tails]
    assert found == [[int(one)] for one in left]


def test_exchanging_the_ends_exchanges_the_sides() -> None:
    where = np.array([(0.1 * i, 0.3 * i) for i in range(20)])
    forward, backward = turns((0.1, 0.3), (0.7, 2.1), where), turns((0.7, 2.1), (0.1, 0.3), where)
    np.testing.assert_array_equal(forward, -backward)
