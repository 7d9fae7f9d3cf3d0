"""Releases of bounded range against the Gaussian that dominates each of them, and against a recursion over several."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from pcqr.privacy.accounting.gaussian import GAUSSIAN_OF_RANGE, gaussian_delta

Floats = NDArray[np.float64]


def of_gaussian(shift: float, at: Floats) -> Floats:
    return np.asarray(ndtr(shift / 2 - at / shift) - np.exp(at + log_ndtr(-shift / 2 - at / shift)))


def of_two_points(ranged: float, top: float, at: Floats) -> Floats:
    """The hockey-stick divergence of losses `top` and `top` − `ranged`."""
    likely = (math.exp(ranged) - math.exp(top)) / math.expm1(ranged)
    found = likely * np.maximum(0.0, -np.expm1(at - top))
    return np.asarray(found + (1 - likely) * np.maximum(0.0, -np.expm1(at - top + ranged)))


def excess(ranged: float, constant: float) -> float:
    """By how much two points are above a Gaussian of `constant` · r somewhere."""
    at = np.linspace(-1.5, 1.5, 601) * ranged
    tops = np.linspace(0.0, 1.0, 201) * ranged
    gaussian = of_gaussian(constant * ranged, at)
    return float(max(np.max(of_two_points(ranged, top, at) - gaussian) for top in tops.tolist()))


@pytest.mark.parametrize("ranged", [1e-3, 0.05, 0.5, 2.0, 6.0, 15.0])
def test_a_gaussian_dominates_two_points_wherever_they_are(ranged: float) -> None:
    assert excess(ranged, GAUSSIAN_OF_RANGE) <= 1e-13


@pytest.mark.parametrize("ranged", [1e-3, 0.05])
def test_a_little_less_is_refuted(ranged: float) -> None:
    assert excess(ranged, 0.999 * GAUSSIAN_OF_RANGE) > 1e-5 * ranged
    assert excess(ranged, 0.5) > 0.04 * ranged, "zCDP says as much as of a Gaussian of r/2, and is not this"


def test_the_constant_is_rounded_up() -> None:
    assert 0 < GAUSSIAN_OF_RANGE - math.sqrt(math.pi / 8) < 1e-11


@pytest.mark.parametrize(("shift", "ranged", "releases"), [(0.3, 0.1, 8), (0.05, 0.1, 5), (1.0, 0.8, 3)])
def test_several_releases_with_the_worst_interval_at_each_step_stay_below(
    shift: float, ranged: float, releases: int
) -> None:
    """δ_k(e) is the largest mean of δ_{k−1}(e − t) and δ_{k−1}(e − t + r): by linear interpolation on a grid."""
    fine, most = 16, 400
    step = ranged / fine
    at: Floats = np.linspace(-most, most, 2 * most + 1) * step
    found = of_gaussian(shift, at)
    for _ in range(releases):
        found = np.maximum.reduce(
            [
                (1 - low) * _moved(found, at, place) + low * _moved(found, at, place - fine)
                for place in range(fine + 1)
                for low in (math.expm1(place * step) / math.expm1(ranged),)
            ]
        )
    together = math.sqrt(shift**2 + releases * (GAUSSIAN_OF_RANGE * ranged) ** 2)
    inner = np.abs(at) < 0.5 * most * step
    least = math.sqrt(shift**2 + releases * ranged**2 / 4.2)
    assert np.all(found[inner] <= of_gaussian(together, at[inner]) * (1 + 1e-9))
    assert np.any(found[inner] > of_gaussian(least, at[inner]))
    assert found[most] <= gaussian_delta(together, 0.0)


def _moved(values: Floats, at: Floats, places: int) -> Floats:
    """`values` at `at` less so many places; beyond the grid 1 − e^e and 0."""
    found = np.roll(values, places)
    if places > 0:
        found[:places] = -np.expm1(at[:places] - places * (at[1] - at[0]))
    elif places < 0:
        found[places:] = 0.0
    return found
