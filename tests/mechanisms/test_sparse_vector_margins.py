"""Sparse vectors are calibrated to their budget, and state the margins that suffice."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exact import Floats, Integers, gaussian_support, geometric_at_least, laplace_support, tail_and_head

from pcqr.errors import ParameterError
from pcqr.mechanisms.sparse_vector import (
    CalibratedSparseVector,
    OneSidedSparseVector,
    PaperSparseVector,
    RenyiSparseVector,
    best_one_sided,
    smaller_excess,
    smallest_excess,
)


@given(
    epsilon=st.floats(1e-3, 50.0),
    delta=st.floats(1e-15, 0.5),
    unstable=st.integers(1, 5000),
    share=st.floats(0.01, 0.99),
)
def test_calibration_stays_within_its_budget_and_uses_it(
    epsilon: float, delta: float, unstable: int, share: float
) -> None:
    stated = OneSidedSparseVector.calibrate(epsilon, delta, unstable, share).guarantee
    assert stated.within(epsilon, delta)
    assert stated.epsilon == pytest.approx(epsilon, rel=1e-10)


@given(
    epsilon=st.floats(1e-3, 50.0),
    delta=st.floats(1e-15, 0.5),
    unstable=st.integers(1, 5000),
    queries=st.integers(1, 10**7),
    failure=st.floats(1e-6, 0.9),
)
@settings(max_examples=30)
def test_renyi_calibration_stays_within_its_budget_and_uses_it(
    epsilon: float, delta: float, unstable: int, queries: int, failure: float
) -> None:
    stated = RenyiSparseVector.calibrate(epsilon, delta, unstable, queries, failure).guarantee
    assert stated.within(epsilon, delta)
    is_usual = epsilon <= 3.0 and delta <= min(0.01, 0.1 * epsilon)  # beyond, a few whole numbers are too coarse
    assert stated.epsilon >= 0.95 * epsilon or not is_usual


@given(
    epsilon=st.floats(1e-3, 5.0), delta=st.floats(1e-15, 0.99), unstable=st.integers(1, 10**5), m=st.integers(1, 10**7)
)
def test_the_papers_constants_stay_within_their_budget(epsilon: float, delta: float, unstable: int, m: int) -> None:
    assert PaperSparseVector.from_paper(epsilon, delta, unstable, m).guarantee.within(epsilon, delta)


@pytest.mark.parametrize("delta", [1e-9, 0.03, 0.9])
@pytest.mark.parametrize("unstable", [1, 20, 10**6])
def test_the_papers_constants_hold_up_to_the_edge_of_their_range(delta: float, unstable: int) -> None:
    epsilon = 8.0 * math.log(2.0 / delta)
    assert PaperSparseVector.from_paper(epsilon, delta, unstable, unstable).guarantee.within(epsilon, delta)


def laws(parameters: CalibratedSparseVector) -> tuple[Integers, Floats, Callable[[Integers], Floats]]:
    """The support of ρ, its masses, and P(ν ≤ −t) as a function of t."""
    if isinstance(parameters, OneSidedSparseVector):
        z, mass = laplace_support(parameters.threshold_scale)
        return z, mass, lambda t: geometric_at_least(t, parameters.query_scale)
    z, mass = gaussian_support(parameters.threshold_scale)
    return z, mass, lambda t: tail_and_head(t, parameters.query_scale, parameters.head_start)[0]


def chance_of_any_failure(parameters: CalibratedSparseVector, margin: int, queries: int) -> float:
    z, mass, fails = laws(parameters)
    fail = np.minimum(fails(margin - parameters.threshold - z), 1 - 1e-16)
    return float((mass * -np.expm1(queries * np.log1p(-fail))).sum())


CALIBRATED: list[CalibratedSparseVector] = [
    OneSidedSparseVector.calibrate(1.0, 1e-4, 3, 0.1),
    OneSidedSparseVector.calibrate(1.0, 1e-4, 3, 0.6),
    RenyiSparseVector.calibrate(1.0, 1e-4, 30, 100, 0.05),
    RenyiSparseVector(0, 0.25, 0.5, 1, 3, 0.1),
]


@pytest.mark.parametrize(("queries", "failure"), [(1, 0.3), (1, 0.9), (100, 0.05), (10**5, 1e-4)])
@pytest.mark.parametrize("parameters", CALIBRATED, ids=lambda parameters: type(parameters).__name__)
def test_the_margin_is_the_smallest_that_suffices(
    parameters: CalibratedSparseVector, queries: int, failure: float
) -> None:
    margin = parameters.margin_needed(queries, failure)
    assert chance_of_any_failure(parameters, margin, queries) <= failure
    assert chance_of_any_failure(parameters, margin - 1, queries) > failure * (1 - 1e-4)


@pytest.mark.parametrize("parameters", CALIBRATED, ids=lambda parameters: type(parameters).__name__)
def test_a_margin_is_looked_for_only_where_it_is_small_enough(parameters: CalibratedSparseVector) -> None:
    smallest = smallest_excess(parameters, 100, 0.05)
    for most in (-(10**6), smallest - 1, smallest, smallest + 1, smallest + 1_000):
        assert smaller_excess(parameters, 100, 0.05, most) == (smallest if most >= smallest else None)


@pytest.mark.parametrize("scale", [900.0, 3456.7])
def test_at_large_scales_the_margin_suffices_and_is_hardly_larger(scale: float) -> None:
    for parameters in (OneSidedSparseVector(50, scale, scale, 1), RenyiSparseVector(50, scale, scale, 0, 1, 1e-3)):
        margin = parameters.margin_needed(100, 0.05)
        assert chance_of_any_failure(parameters, margin, 100) <= 0.05
        assert chance_of_any_failure(parameters, math.floor(0.99 * margin), 100) > 0.05


@pytest.mark.parametrize("scale", [0.3, 90.0, 900.0])
def test_the_cover_of_the_threshold_noise_is_never_below_its_law(scale: float) -> None:
    for parameters in (OneSidedSparseVector(50, scale, 1.0, 1), RenyiSparseVector(50, scale, 1.0, 0, 1, 1e-3)):
        points, cover = parameters.threshold_cover(1e-12)
        z, mass, _ = laws(parameters)
        inside = (z > points[0] - (points[1] - points[0])) & (z <= points[-1])
        blocks = np.bincount(np.searchsorted(points, z[inside]), mass[inside], minlength=points.size)
        assert (cover >= blocks * (1 - 1e-9)).all()
        assert math.fsum(mass[~inside]) <= 2e-12
        assert cover.sum() < 1.02


@pytest.mark.parametrize("parameters", CALIBRATED, ids=lambda parameters: type(parameters).__name__)
def test_the_chance_that_a_query_fails(parameters: CalibratedSparseVector) -> None:
    excess = np.arange(-5, 60)
    expected = laws(parameters)[2](excess)
    np.testing.assert_allclose(parameters.query_failures(excess), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("unstable", "epsilon", "known", "form"),
    [
        (1, 1.0, 73, OneSidedSparseVector),
        (5, 1.0, 207, OneSidedSparseVector),
        (20, 1.0, 462, RenyiSparseVector),
        (20, 4.0, 125, RenyiSparseVector),
        (100, 1.0, 1126, RenyiSparseVector),
        (1000, 1.0, 3720, RenyiSparseVector),
    ],
)
def test_the_better_form_and_its_margin(
    unstable: int, epsilon: float, known: int, form: type[CalibratedSparseVector]
) -> None:
    made = (best_one_sided, RenyiSparseVector.calibrate)
    candidates = [calibrate(epsilon, 1e-6, unstable, 1000, 0.01) for calibrate in made]
    chosen = min(candidates, key=lambda candidate: candidate.margin_needed(1000, 0.01))
    assert isinstance(chosen, form)
    assert chosen.guarantee.within(epsilon, 1e-6)
    assert 0.99 * known <= chosen.margin_needed(1000, 0.01) <= known


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", math.inf), ("delta", 0.0), ("unstable", 0), ("queries", 0), ("failure", 1.0)]
)
def test_bad_calibration_by_margin(name: str, value: float) -> None:
    good = {"epsilon": 1.0, "delta": 1e-6, "unstable": 2, "queries": 10, "failure": 0.1}
    for calibrate in (RenyiSparseVector.calibrate, best_one_sided):
        with pytest.raises(ParameterError, match=f"^{name} must be"):
            calibrate(**{**good, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "delta", "unstable", "queries"), [(0.5, 1e-6, 1, 1), (0.3, 0.01, 7, 900)])
def test_the_papers_form_has_the_papers_constants(epsilon: float, delta: float, unstable: int, queries: int) -> None:
    """λ = √(32·T·ln(2/δ))/ε, w = ⌈2λ·ln(2m/δ)⌉, half of δ for composition."""
    made = PaperSparseVector.from_paper(epsilon, delta, unstable, queries)
    assert made.scale == pytest.approx(math.sqrt(32 * unstable * math.log(2 / delta)) / epsilon, rel=1e-11)
    assert made.threshold == math.ceil(2 * made.scale * math.log(2 * queries / delta))
    assert (made.unstable, made.queries, made.slack) == (unstable, queries, delta / 2)
