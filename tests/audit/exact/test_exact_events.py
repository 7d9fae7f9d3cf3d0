"""Probabilities of comparisons: against the plain sum over all values of all noises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exact import geometric_at_least, laplace_at_least, laplace_support

from pcqr.audit.exact.events import LAWS, Above, Measure, NoiseLaw, Unverifiable, in_full, measure, probability
from pcqr.hypotheses.trees import DecisionTree, Leaf, Predicate, Split

SCALES = [0.3, 2.0, 11.0]
TINY = {name: NoiseLaw(name, 0.02) for name in LAWS}
"""So narrow that a few integers carry all that float64 can see: sums over all combinations are short."""


def short(law: NoiseLaw) -> Measure:
    """`law` at the values that matter."""
    inside = law.measure.weights > 1e-70
    support = law.measure.support[inside]
    return Measure(int(support[0]), law.measure.weights[inside])


def by_enumeration(laws: tuple[NoiseLaw, ...], events: list[Above]) -> float:
    values = [list(zip(short(law).support.tolist(), short(law).weights.tolist(), strict=True)) for law in laws]
    total = 0.0
    for drawn in itertools.product(*values):
        if all(event.constant + sum(c * drawn[noise][0] for noise, c in event.terms) > 0 for event in events):
            total += math.prod(weight for _, weight in drawn)
    return total


# --------------------------------------------------------------------------------------------------------------
# The laws


@pytest.mark.parametrize("scale", SCALES)
def test_tails_in_closed_form(scale: float) -> None:
    t = np.arange(-50, math.ceil(40 * scale))
    np.testing.assert_allclose(
        NoiseLaw("discrete_laplace", scale).measure.at_least(t), laplace_at_least(t, scale), 1e-12
    )
    np.testing.assert_allclose(NoiseLaw("geometric", scale).measure.at_least(t), geometric_at_least(t, scale), 1e-12)
    sech = 1 / np.cosh(np.maximum(t, 0) / (2 * scale)) ** 2
    np.testing.assert_allclose(NoiseLaw("sech_squared", scale).measure.at_least(t), sech, 1e-12)
    z, mass = laplace_support(scale)
    law = NoiseLaw("discrete_laplace", scale).measure
    np.testing.assert_allclose(law.weights, mass[np.searchsorted(z, law.support)], rtol=1e-12)


def test_the_gaussian_has_its_shape() -> None:
    law = NoiseLaw("discrete_gaussian", 3.0).measure
    at = dict(zip(law.support.tolist(), law.weights.tolist(), strict=True))
    assert math.log(at[0] / at[5]) == pytest.approx(25 / 18)
    assert at[-7] == at[7]


def test_sums_and_multiples() -> None:
    coin = Measure(0, np.array([0.5, 0.5]))
    two = coin.plus(coin)
    assert (two.low, two.weights.tolist()) == (0, [0.25, 0.5, 0.25])
    back = Measure(1, np.array([0.2, 0.3, 0.5])).times(-2)
    assert back.support.tolist() == [-6, -5, -4, -3, -2]
    assert back.weights.tolist() == [0.5, 0.0, 0.3, 0.0, 0.2]
    assert back.at_least(np.array([-100, -4, 7])).tolist() == pytest.approx([1.0, 0.5, 0.0])


# --------------------------------------------------------------------------------------------------------------
# Conjunctions of comparisons

coefficients = st.sampled_from([-2, -1, 1, 2])


@st.composite
def stars(draw: st.DrawFn) -> tuple[tuple[NoiseLaw, ...], list[Above]]:
    """Noise 0 is compared with up to two others; each may also be compared with numbers, and be compared twice."""
    laws = tuple(TINY[draw(st.sampled_from(sorted(TINY)))] for _ in range(draw(st.integers(1, 3))))
    events = []
    for other in range(1, len(laws)):
        for _ in range(draw(st.integers(0, 2))):
            events.append(Above(draw(st.integers(-3, 3)), ((0, draw(coefficients)), (other, draw(coefficients)))))
    for noise in range(len(laws)):
        if draw(st.booleans()):
            events.append(Above(draw(st.integers(-1, 3)), ((noise, draw(coefficients)),)))
    return laws, draw(st.permutations(events))


@settings(max_examples=150)
@given(stars())
def test_any_star_of_comparisons(case: tuple[tuple[NoiseLaw, ...], list[Above]]) -> None:
    laws, events = case
    assert probability(laws, events) == pytest.approx(by_enumeration(laws, events), rel=1e-9, abs=1e-60)


def test_a_chain_a_sum_and_noise_that_nobody_asks_about() -> None:
    laws = tuple(NoiseLaw(name, 0.1) for name in ("geometric", "discrete_laplace", "geometric", "sech_squared"))
    chain = [Above(1, ((0, 1), (1, -1))), Above(0, ((1, 1), (2, -1))), Above(2, ((2, -1), (3, 1)))]
    assert probability(laws, chain) == pytest.approx(by_enumeration(laws, chain), rel=1e-12)
    together = [Above(0, ((0, 1), (1, -1), (2, 1)))]
    assert probability(laws, together) == pytest.approx(by_enumeration(laws, together), rel=1e-12)
    shared = [*together, Above(1, ((0, 1),)), Above(1, ((1, 1), (3, 1)))]
    assert probability(laws, shared) == pytest.approx(by_enumeration(laws, shared), rel=1e-12)
    assert probability(laws, []) == 1.0


def test_a_circle_is_refused() -> None:
    laws = (TINY["geometric"],) * 3
    circle = [Above(1, ((0, 1), (1, -1))), Above(1, ((1, 1), (2, -1))), Above(1, ((0, -1), (2, 1)))]
    with pytest.raises(Unverifiable, match="circle"):
        probability(laws, circle)


def test_the_law_of_a_sum_on_an_event() -> None:
    laws = (NoiseLaw("geometric", 1.0), NoiseLaw("geometric", 2.0), NoiseLaw("discrete_laplace", 1.0))
    positive = [Above(0, ((0, 1),)), Above(0, ((2, 1),))]
    found = measure(laws, positive, 3, ((0, -1), (1, 1)))
    at = dict(zip(found.support.tolist(), found.weights.tolist(), strict=True))
    first, second = laws[0].measure.weights, laws[1].measure.weights
    passes = probability(laws, positive[1:])
    assert at[3] == pytest.approx(passes * math.fsum(first[z] * second[z] for z in range(1, 150)))
    assert found.mass == pytest.approx(probability(laws, positive))
    with pytest.raises(Unverifiable, match="another"):
        measure(laws, [Above(0, ((0, 1), (1, 1)))], 0, ((0, 1),))


def test_what_is_shown_of_trees_that_share_a_repr_are_told_apart() -> None:
    trees = [
        DecisionTree(Split(Predicate(0, cut), fails=Leaf(label), holds=Leaf(1 - label)), features=1)
        for cut in (0.5, 1.5)
        for label in (0, 1)
    ]
    assert len(set(map(repr, trees))) == 1
    assert len(set(map(in_full, trees))) == 4
