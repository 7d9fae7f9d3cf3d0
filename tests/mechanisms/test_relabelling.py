"""The cost of relabelling as a formula. That it is right and tight: tests/exact/test_relabel_exactly.py."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.errors import ParameterError
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.relabelling import relabel_cost, relabel_guarantee
from pcqr.privacy.guarantee import Guarantee


@given(st.floats(0.0, 30.0))
def test_the_formulas(eta: float) -> None:
    assert relabel_cost(eta, fixed=False) == pytest.approx(2 * math.log(1 + math.exp(eta)), rel=1e-12)
    assert relabel_cost(eta, fixed=True) == 2 * eta


def test_the_paper_says_four_where_this_is_below_three() -> None:
    """ε̃ = 1 is η = ½; with ε_A = 1 the paper states (4, 4eδ)."""
    stated = relabel_guarantee(Guarantee(1.0, 1e-6), Thresholds(), 1000, 0.5, 1)
    assert stated.epsilon == pytest.approx(2.948, abs=5e-4)
    assert stated.delta == 1e-6
    assert stated.proof == "relabel"


def test_the_numerical_error_is_charged_twice() -> None:
    n, eta = 10**9, 0.5
    error = Thresholds().log_probability_error(n, eta)
    stated = relabel_guarantee(Guarantee(1.0), Thresholds(), n, eta, 1)
    assert stated.epsilon >= 1.0 + relabel_cost(eta, fixed=False) + 2 * error
    assert stated.epsilon == pytest.approx(1.0 + relabel_cost(eta, fixed=False) + 2 * error, rel=1e-11)


@pytest.mark.parametrize("eta", [-0.1, math.inf, math.nan])
def test_bad_inverse_temperature(eta: float) -> None:
    with pytest.raises(ParameterError, match="inverse_temperature"):
        relabel_cost(eta, fixed=False)


def test_a_class_made_of_public_points_costs_less() -> None:
    stated = relabel_guarantee(Guarantee(1.0), Thresholds(), 100, 0.5, 1, public=20)
    assert stated.epsilon == pytest.approx(2.0, rel=1e-9)
