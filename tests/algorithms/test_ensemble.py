"""One record, one teacher; and nothing about a record decides where it goes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pcqr.algorithms.ensemble import Teachers, secret_subsample
from pcqr.algorithms.stab import stab
from pcqr.entropy import SeededEntropy, SystemEntropy
from pcqr.hypotheses import Thresholds
from pcqr.hypotheses.base import Labels, Points
from pcqr.hypotheses.thresholds import Threshold


def table(n: int = 90, seed: int = 0) -> tuple[Points, Labels]:
    rng = np.random.default_rng(seed)
    return rng.random((n, 1)), rng.integers(0, 2, n).astype(np.int8)


@pytest.mark.parametrize("seed", range(5))
def test_replacing_one_record_changes_at_most_one_vote(seed: int) -> None:
    X, y = table(seed=seed)
    grid = np.linspace(0, 1, 50)[:, None]
    before = Teachers(Thresholds("both"), X, y, 9, SeededEntropy(seed)).ones(grid)
    X[seed * 7], y[seed * 7] = -5.0, 1 - y[seed * 7]
    after = Teachers(Thresholds("both"), X, y, 9, SeededEntropy(seed)).ones(grid)
    assert np.abs(after - before).max() <= 1


class Failing(Thresholds):
    """A class whose learner cannot deal with some records."""

    def learn(self, X: ArrayLike, y: ArrayLike) -> Threshold:
        if np.asarray(X).min() < 0:
            raise FloatingPointError("a value that must not be seen: -7")
        return super().learn(X, y)


def test_a_teacher_that_fails_casts_a_fixed_vote() -> None:
    X, y = table()
    X[3] = -7.0
    y[:] = 1
    assert Teachers(Failing(), X, y, 9, SeededEntropy(0)).ones(np.array([[0.5]]))[0] == 8


class Odd(Threshold):
    """A hypothesis that does not keep to 0 and 1, or fails."""

    def predict(self, X: ArrayLike) -> Labels:
        if self.cut > 0.5:
            raise ZeroDivisionError
        return np.full(np.asarray(X).shape[0], 5, dtype=np.int8)


@pytest.mark.parametrize("cut", [0.0, 1.0])
def test_a_teacher_that_predicts_nonsense_has_no_more_than_one_vote(
    cut: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table()
    monkeypatch.setattr(Thresholds, "learn", lambda *_: Odd(cut))
    assert Teachers(Thresholds(), X, y, 9, SeededEntropy(0)).ones(np.array([[0.5]]))[0] == 0


def test_a_subsample_is_without_replacement_and_of_the_right_size() -> None:
    chosen = secret_subsample(1_000, 300, SystemEntropy())
    assert len(set(chosen.tolist())) == 300
    assert chosen.min() >= 0
    assert chosen.max() < 1_000


def test_stab_releases_a_clear_majority_and_hides_a_split() -> None:
    X, _ = table(4_000)
    clear = Teachers(Thresholds(), X, (X[:, 0] > 0.5).astype(np.int8), 201, SeededEntropy(0))
    label, guarantee = stab(clear, np.array([[0.9]]), 1.0, 1e-6, SystemEntropy())
    assert label == 1
    assert guarantee.within(1.0, 1e-6)
    assert guarantee.is_private
    rng = np.random.default_rng(1)
    split = Teachers(Thresholds("both"), X, rng.integers(0, 2, 4_000).astype(np.int8), 201, SeededEntropy(0))
    assert stab(split, np.array([[0.5]]), 0.1, 1e-12, SystemEntropy())[0] is None
