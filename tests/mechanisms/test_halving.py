"""Recursive halving: places of floats, cuts that agree with predicates, and the range of one level by brute force."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pcqr import SeededEntropy
from pcqr.audit.exact.tape import law_of
from pcqr.mechanisms.halving import HIGH, LOW, cut_at, halved, halving_error, places

FINITE = st.floats(allow_nan=False, allow_infinity=False)
END = 4
"""A tiny domain: places 0, 1, 2, 3."""


def place(x: float) -> int:
    return int(places(np.array([x]))[0])


@given(FINITE, FINITE)
def test_places_rise_with_floats(x: float, y: float) -> None:
    low, high = sorted((x, y))
    assert LOW <= place(low) <= place(high) < HIGH


@given(FINITE, st.integers(-1, 2))
@example(0.0, 0)
@example(0.0, 1)
@example(0.0, 2)
def test_a_cut_agrees_with_places_and_with_predicates(x: float, beside: int) -> None:
    at = min(max(place(x) + beside, LOW + 1), HIGH - 1)
    cut = cut_at(at)
    assert math.isfinite(cut)
    for each in (x, cut, math.nextafter(cut, math.inf), math.nextafter(cut, -math.inf)):
        if math.isfinite(each):
            assert (each > cut) == (place(each) >= at)


def test_what_people_write_down_has_places_of_its_own() -> None:
    distinct = np.array([-1e9, -1.5, 0.0, 1e-6, 0.1, 0.1 + 1e-9, 36.5, 36.6, 2001, 2002, 1.6e9, 1.6e9 + 1e-3, 1.6e18])
    assert (np.diff(places(distinct)) > 0).all()
    assert place(-0.0) == place(0.0) == 0
    assert place(float(np.finfo(np.float64).max)) == HIGH - 1 == -LOW
    assert HIGH - LOW < 2**62


def test_a_binade_has_as_many_places_as_its_weight_says() -> None:
    """2⁵ to 2⁶ the most, those 8 binades away half as many."""
    sizes = {e: place(2.0 ** (e + 1)) - place(2.0**e) for e in (-1000, -3, 5, 13, 1000)}
    assert sizes[5] == 2**12 << 44
    assert sizes[-3] == sizes[13] == 2**11 << 44
    assert sizes[-1000] == sizes[1000] == 1 << 44


@pytest.mark.parametrize("selection", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("levels", [1, 2, 4])
def test_the_stated_error_is_never_rounded_down(levels: int, selection: float) -> None:
    for records in range(1, 2_000, 7):
        exact = Fraction(2) ** (levels - 43) + Fraction(2) ** -52 * records * Fraction(selection)
        assert exact <= Fraction(halving_error(records, levels, selection)) <= exact * (1 + Fraction(1, 10**11))


def level_law(values: Sequence[int], borders: Sequence[int], selection: float) -> dict[tuple[int, ...], float]:
    """The law of the next level's cuts in all nodes between `borders`, one candidate after the other."""
    options: list[list[tuple[int, float]]] = []
    for a, b in itertools.pairwise(borders):
        inside = [v for v in values if a <= v < b]
        weights = {
            t: math.exp(-selection / 2 * abs(sum(v < t for v in inside) - len(inside) / 2)) for t in range(a + 1, b)
        }
        if weights:
            options.append([(t, weight / sum(weights.values())) for t, weight in weights.items()])
    return {
        tuple(t for t, _ in drawn): math.prod(chance for _, chance in drawn) for drawn in itertools.product(*options)
    }


def slow_law(values: Sequence[int], levels: int, selection: float) -> dict[tuple[int, ...], float]:
    """The law of all cuts in [0, END)."""
    law: dict[tuple[int, ...], float] = {(0, END): 1.0}
    for _ in range(levels):
        after: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for borders, mass in law.items():
            for drawn, chance in level_law(values, borders, selection).items():
                after[tuple(sorted((*borders, *drawn)))] += mass * chance
        law = dict(after)
    return {borders[1:-1]: mass for borders, mass in law.items()}


@pytest.mark.parametrize("values", [(), (2, 2, 2), (0, 1, 1, 3), (3, 0, 3)])
def test_the_law_is_that_of_the_note(values: tuple[int, ...]) -> None:
    at = np.array(values, dtype=np.int64)
    exact = law_of(lambda tape: tuple(halved(at, 2, 0.9, tape, 0, END)))
    slow = slow_law(values, 2, 0.9)
    assert exact.keys() == slow.keys()
    assert all(exact[cuts] == pytest.approx(mass, rel=1e-12) for cuts, mass in slow.items())


def largest_range(records: int, borders: tuple[int, ...], selection: float) -> float:
    """The longest interval of losses of one level, over all neighbours; None is a gap."""
    cells = (*range(borders[-1]), None)
    worst = 0.0
    for common in itertools.combinations_with_replacement(cells, records - 1):
        laws = [level_law([v for v in (*common, last) if v is not None], borders, selection) for last in cells]
        for one, other in itertools.combinations(laws, 2):
            losses = [math.log(one[drawn] / other[drawn]) for drawn in one]
            worst = max(worst, max(losses) - min(losses))
    return worst


@pytest.mark.parametrize("borders", [(0, 4), (0, 3, 6), (0, 2, 5, 6)])
@pytest.mark.parametrize("records", [1, 2, 4])
def test_one_level_has_the_range_of_its_selection_and_no_less(records: int, borders: tuple[int, ...]) -> None:
    """Ties, gaps, records that go from one node to another, nodes without a record: Lemma 1 by brute force."""
    worst = largest_range(records, borders, selection=0.7)
    assert worst <= 0.7 * (1 + 1e-12)
    assert worst >= 0.7 * (1 - 1e-12) or records < 4


def test_cuts_of_many_records_are_near_their_quantiles() -> None:
    """A cut errs by a share of more than .02 with a chance below 10⁻¹⁵: e^{−.05·.02·40,000 / 2} a candidate or less."""
    values = np.random.default_rng(0).normal(293.0, 5.0, 40_000)
    cuts = [cut_at(at) for at in halved(places(values), 3, 0.1, SeededEntropy(0))]
    assert cuts == sorted(cuts)
    found = [float((values <= cut).mean()) for cut in cuts]
    assert found == pytest.approx([k / 8 for k in range(1, 8)], abs=0.02)


@pytest.mark.parametrize("values", [[], [5.0] * 1_000, [0.0, -0.0] * 500])
def test_every_column_has_as_many_cuts(values: list[float]) -> None:
    drawn = halved(places(np.array(values)), 4, 0.5, SeededEntropy(1))
    assert len(set(drawn)) == 15
    assert all(LOW < at < HIGH for at in drawn)
