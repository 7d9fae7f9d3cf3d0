"""Probabilities among records whose labels have other shares: a plain function of declared numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.errors import ParameterError
from pcqr.models import with_prior

positive = st.floats(1e-6, 1e6)


@given(st.lists(st.tuples(positive, positive, positive), min_size=2, max_size=5))
def test_odds_are_multiplied_by_what_was_declared(labels: list[tuple[float, float, float]]) -> None:
    chances, prior, weighted = (np.array(each) for each in zip(*labels, strict=True))
    chances /= chances.sum()
    (found,) = with_prior([chances], list(prior), list(weighted))
    odds = [Fraction(p) * Fraction(a) / Fraction(b) for p, a, b in zip(chances, prior, weighted, strict=True)]
    np.testing.assert_allclose(found, [float(each / sum(odds)) for each in odds], rtol=1e-12)
    back = with_prior([found], list(weighted), list(prior))
    np.testing.assert_allclose(back, [chances], rtol=1e-9)


def test_weights_of_labels_are_undone_by_their_inverse() -> None:
    """Bayes: records at one place, 30 of label 0 and 10 of label 1, the former counting a quarter."""
    weights = (0.25, 1.0)
    weighted = np.array([[30 * weights[0], 10 * weights[1]]])
    weighted /= weighted.sum()
    np.testing.assert_allclose(with_prior(weighted, [1 / each for each in weights]), [[0.75, 0.25]])
    kept = weighted.copy()
    np.testing.assert_allclose(with_prior(weighted, (1.0, 1.0)), kept)
    assert (weighted == kept).all()


@pytest.mark.parametrize("prior", [(0.5,), (0.5, 0.5, 0.0), (1.0, 0.0), (1.0, -1.0), (1.0, np.nan), (1.0, np.inf)])
def test_a_prior_is_one_positive_number_for_each_label(prior: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="prior must be 2 positive numbers"):
        with_prior([[0.5, 0.5]], prior)
    with pytest.raises(ParameterError, match="weighted must be 2 positive numbers"):
        with_prior([[0.5, 0.5]], (1.0, 1.0), prior)
    with pytest.raises(ParameterError, match="one column for each label"):
        with_prior([0.5, 0.5], (1.0, 1.0))
