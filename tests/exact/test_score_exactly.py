"""The law of whole noisy histograms, on all neighbours of tiny tables, against ε and ρ; and whose cell is whose."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest

from pcqr.audit.exact.cases.tables import MODEL, NO_CLASS, Table, all_neighbours
from pcqr.audit.exact.events import NoiseLaw
from pcqr.audit.exact.tape import NoisyInteger, Tape, _parts, intercepted
from pcqr.mechanisms import NoisyHistogram
from pcqr.models.scoring import Bins, noisy_histogram

UNIVERSE = tuple((x, label) for x in (0.0, 1.0) for label in range(NO_CLASS + 1))
SCALES = (0.3, 1.0, 4.0, 40.0)
NOISE = NoisyHistogram(1.5)


@cache
def law(table: Table) -> tuple[int, ...]:
    """The counts behind a noisy histogram, all of whose cells have noise of their own, and no other noise is drawn."""
    tape = Tape()
    with intercepted():
        shown = noisy_histogram(table.source(NO_CLASS + 1), Bins(MODEL, 2), NOISE, tape)
    assert all(isinstance(count, NoisyInteger) for count in shown)
    counts, terms = zip(*map(_parts, shown), strict=True)
    assert terms == tuple(((place, 1),) for place in range(len(shown)))
    assert tape.laws == [NoiseLaw("discrete_laplace", NOISE.scale)] * len(shown)
    assert tape.next_script() is None
    return counts


def test_the_counts_are_those_of_labels_and_predictions_and_of_what_is_no_label() -> None:
    table = Table(((0.0, 0), (1.0, 0), (1.0, 0), (1.0, 1), (0.0, 2), (1.0, 2)))
    assert law(table) == (1, 2, 0, 1, 2)


def test_epsilon_on_all_neighbours() -> None:
    """Of independent noise of one scale the loss is at most the distance of the counts over that scale."""
    moved = []
    for first, second in all_neighbours(3, UNIVERSE):
        if first != second:
            counts = law(first), law(second)
            assert sum(counts[0]) == sum(counts[1]) == 3
            moved.append(sum(abs(a - b) for a, b in zip(*counts, strict=True)))
    assert max(moved) == 2
    assert Counter(moved)[2] > len(moved) / 2
    exact = max(moved) / NOISE.scale
    assert exact <= NOISE.guarantee.epsilon <= exact * (1.0 + 1e-11)
    assert NOISE.guarantee.is_pure


@pytest.mark.parametrize("scale", SCALES)
def test_rho(scale: float) -> None:
    """Rényi divergences of two coordinates that move by 1, each the sum over its law, against ρ·α."""
    noise = NoiseLaw("discrete_laplace", scale).measure
    moved = np.log(noise.weights[2:-2]) - np.log(noise.weights[1:-3])
    logs = np.log(noise.weights[2:-2])
    rho = NoisyHistogram(scale).guarantee.rho
    assert rho is not None
    tightest = 0.0
    for order in (1.01, 1.5, 2.0, 8.0, 64.0):
        divergence = 2.0 * float(np.logaddexp.reduce(logs - order * moved)) / (order - 1.0)
        tightest = max(tightest, divergence / (rho * order))
        assert divergence <= rho * order * (1.0 + 1e-9)
    assert tightest > (0.7 if scale >= 4.0 else 0.2)  # half of ρ would not do where noise is large


@pytest.mark.parametrize("scale", SCALES)
def test_the_variance_is_that_of_the_noise(scale: float) -> None:
    noise = NoiseLaw("discrete_laplace", scale).measure
    found = math.fsum(noise.weights * noise.support.astype(np.float64) ** 2)
    assert NoisyHistogram(scale).variance == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 1 / 3, 0.7, 1.0, 10.0])
def test_what_is_stated_is_just_below_what_was_asked_for(epsilon: float) -> None:
    stated = NoisyHistogram.calibrate(epsilon).guarantee.epsilon
    assert epsilon * (1.0 - 1e-11) < stated <= epsilon
