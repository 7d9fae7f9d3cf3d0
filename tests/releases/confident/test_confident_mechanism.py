"""Confident answers: the code's decision for every value of the noise, and what a check and a label cost."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from pcqr.errors import ParameterError
from pcqr.privacy.accounting import DiscreteGaussianEvent
from pcqr.privacy.entropy import SeededEntropy, SystemEntropy
from pcqr.privacy.noise import LARGEST_SCALE
from pcqr.releases.confident import plan as mechanism
from pcqr.releases.confident.plan import FINEST, ConfidentMax, finest_grid

NOISE = ConfidentMax(threshold=4, check_scale=2.5, answer_scale=1.5, grid=2)


def decided(monkeypatch: pytest.MonkeyPatch, check: int, answer: tuple[int, ...], counts: list[int]) -> int | None:
    def one(scale: float, _: object) -> int:
        assert scale == 5.0, "on the grid"
        return check

    def many(scale: float, count: int, _: object) -> Any:
        assert (scale, count) == (3.0, len(counts))
        return np.array(answer)

    monkeypatch.setattr(mechanism, "discrete_gaussian", one)
    monkeypatch.setattr(mechanism, "discrete_gaussians", many)
    return NOISE.decide(np.array(counts), SeededEntropy(0))


def test_a_label_is_given_where_the_noisy_maximum_reaches_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    for counts in ([3, 1, 0], [0, 2, 2], [0, 0, 4]):
        for check in range(-6, 7):
            answer = decided(monkeypatch, check, (0, 0, 0), counts)
            assert answer == (counts.index(max(counts)) if max(counts) + check / 2 >= 4 else None)


def test_the_label_is_the_first_of_the_largest_noisy_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer in itertools.product(range(-3, 4), repeat=3):
        noisy = 2 * np.array([3, 1, 0]) + answer
        assert decided(monkeypatch, 2, answer, [3, 1, 0]) == int(np.argmax(noisy))


def test_the_noise_of_the_check_has_no_part_in_the_label(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided(monkeypatch, 1_000, (0, 5, 0), [3, 1, 0]) == 1


@pytest.mark.parametrize("counts", [[250, 0], [0, 0, 250], [0] * 9 + [250]])
def test_unanimous_votes_pass_and_split_ones_do_not(counts: list[int]) -> None:
    noise = ConfidentMax(200, 5.0, 5.0)
    for entropy in (SystemEntropy(), SeededEntropy(0)):
        assert noise.decide(np.array(counts), entropy) == counts.index(250)
        assert noise.decide(np.full(len(counts), 250 // len(counts)), entropy) is None


def test_events() -> None:
    assert NOISE.check == DiscreteGaussianEvent(2.5)
    assert NOISE.answer.noise_multiplier == pytest.approx(1.5 / math.sqrt(2), rel=1e-11)
    assert NOISE.answer.noise_multiplier <= 1.5 / math.sqrt(2)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 40.0, 2.0**20, 2.0**35, LARGEST_SCALE])
def test_the_finest_grid_can_be_drawn_from(scale: float) -> None:
    grid = finest_grid(1e-3, scale)
    assert ConfidentMax(1, 1e-3, scale, grid=grid).grid == grid
    assert grid == FINEST or 2 * grid * scale > LARGEST_SCALE


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"threshold": -1}, "threshold"),
        ({"threshold": 2.5}, "threshold"),
        ({"check_scale": 0.0}, "check_scale"),
        ({"check_scale": math.nan}, "check_scale"),
        ({"answer_scale": -1.0}, "answer_scale"),
        ({"answer_scale": 2.0**30}, "answer_scale"),
        ({"grid": 0}, "grid"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change: dict[str, Any], name: str) -> None:
    parameters: dict[str, Any] = {"threshold": 200, "check_scale": 150.0, "answer_scale": 40.0} | change
    with pytest.raises(ParameterError) as caught:
        ConfidentMax(**parameters)
    assert caught.value.name == name
