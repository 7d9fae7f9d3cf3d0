"""One record, one teacher; and nothing about a record decides where it goes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chisquare

from pcqr.data.records import InMemory
from pcqr.hypotheses import Thresholds
from pcqr.hypotheses.base import Labels, Points
from pcqr.hypotheses.committees import Constant
from pcqr.hypotheses.thresholds import Threshold
from pcqr.privacy.entropy import SeededEntropy, SystemEntropy
from pcqr.releases.subsample.run import Teachers, secret_subsample, stab


def table(n: int = 90, seed: int = 0) -> tuple[Points, Labels]:
    rng = np.random.default_rng(seed)
    return rng.random((n, 1)), rng.integers(0, 2, n).astype(np.int8)


@pytest.mark.parametrize("seed", range(5))
def test_replacing_one_record_changes_at_most_one_vote(seed: int) -> None:
    X, y = table(seed=seed)
    grid = np.linspace(0, 1, 50)[:, None]
    before = Teachers(Thresholds("both"), InMemory(X, y), 9, SeededEntropy(seed)).counts(grid)
    X[seed * 7], y[seed * 7] = -5.0, 1 - y[seed * 7]
    after = Teachers(Thresholds("both"), InMemory(X, y), 9, SeededEntropy(seed)).counts(grid)
    assert (after.sum(axis=1) == 9).all()
    assert np.abs(after - before).sum(axis=1).max() <= 2, "one vote, from one label to another"


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
    assert Teachers(Failing(), InMemory(X, y), 9, SeededEntropy(0)).counts(np.array([[0.5]])).tolist() == [[1, 8]]


class Odd(Threshold):
    """A hypothesis that does not keep to 0 and 1, or fails."""

    def predict(self, X: ArrayLike) -> Labels:
        if self.cut > 0.5:
            raise ZeroDivisionError
        return np.full(np.asarray(X).shape[0], 5, dtype=np.int8)


@dataclass(frozen=True)
class Nonsense(Thresholds):
    """Its teachers are odd ones."""

    cut: float = 0.0

    def learn(self, X: ArrayLike, y: ArrayLike) -> Threshold:  # noqa: ARG002
        return Odd(self.cut)


@pytest.mark.parametrize("cut", [0.0, 1.0])
def test_a_teacher_that_predicts_nonsense_has_no_more_than_one_vote(cut: float) -> None:
    X, y = table()
    teachers = Teachers(Nonsense(cut=cut), InMemory(X, y), 9, SeededEntropy(0))
    assert teachers.counts(np.array([[0.5]])).tolist() == [[9, 0]]


def test_a_subsample_is_without_replacement_and_of_the_right_size() -> None:
    chosen = secret_subsample(1_000, 300, SystemEntropy())
    assert len(set(chosen.tolist())) == 300
    assert chosen.min() >= 0
    assert chosen.max() < 1_000


def test_stab_releases_a_clear_majority_and_hides_a_split() -> None:
    X, _ = table(4_000)
    clear = Teachers(Thresholds(), InMemory(X, (X[:, 0] > 0.5).astype(np.int8)), 201, SeededEntropy(0))
    label, guarantee = stab(clear, np.array([[0.9]]), 1.0, 1e-6, SystemEntropy())
    assert label == 1
    assert guarantee.within(1.0, 1e-6)
    assert guarantee.is_private
    rng = np.random.default_rng(1)
    split = Teachers(Thresholds("both"), InMemory(X, rng.integers(0, 2, 4_000).astype(np.int8)), 201, SeededEntropy(0))
    assert stab(split, np.array([[0.5]]), 0.1, 1e-12, SystemEntropy())[0] is None


class Watching(Thresholds):
    """Keeps the records that each teacher is trained on."""

    seen: ClassVar[list[list[float]]] = []

    def learn(self, X: ArrayLike, y: ArrayLike) -> Threshold:
        self.seen.append(np.asarray(X)[:, 0].tolist())
        return super().learn(X, y)


class Rotation(SeededEntropy):
    """Its permutation is a rotation by one, so that it can be told from the order of the table."""

    def permutation(self, count: int) -> NDArray[np.int64]:
        return np.roll(np.arange(count), -1)


def test_the_partition_is_a_random_permutation_cut_into_parts() -> None:
    """A table is often sorted: parts made of its order would each see one corner of it, and could be foreseen."""
    X, y = np.arange(8.0)[:, None], np.zeros(8, dtype=np.int8)
    Watching.seen.clear()
    Teachers(Watching(), InMemory(X, y), 3, Rotation(0))
    assert Watching.seen == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 0.0]]
    assert secret_subsample(8, 3, Rotation(0)).tolist() == [1, 2, 3]


def test_a_subsample_is_uniform() -> None:
    """Each of the 6 pairs out of 4 is as likely; false alarms 10⁻⁶."""
    pairs = Counter(tuple(sorted(secret_subsample(4, 2, SystemEntropy()).tolist())) for _ in range(3000))
    assert len(pairs) == 6
    assert chisquare(list(pairs.values())).pvalue > 1e-6


def test_teachers_see_the_records_of_their_part_with_their_labels() -> None:
    X = np.arange(6.0)[:, None]
    y = (X[:, 0] % 2).astype(np.int8)
    pairs: list[tuple[float, int]] = []

    class Pairing(Thresholds):
        def learn(self, X: ArrayLike, y: ArrayLike) -> Threshold:
            pairs.extend(zip(np.asarray(X)[:, 0].tolist(), np.asarray(y).tolist(), strict=True))
            return super().learn(X, y)

    Teachers(Pairing(), InMemory(X, y), 2, SystemEntropy())
    assert sorted(pairs) == [(float(i), i % 2) for i in range(6)]


class Three(Thresholds):
    """Three labels; what a teacher says is the largest label of its records, however the points lie."""

    labels = 3

    def learn(self, X: ArrayLike, y: ArrayLike) -> Threshold:  # noqa: ARG002
        return cast(Threshold, Constant(int(np.asarray(y).max())))


def test_votes_are_counted_for_each_label() -> None:
    X, y = table()
    y[:] = 0
    y[:20] = 1
    y[20:22], y[22] = 2, 5
    counts = Teachers(Three(), InMemory(X, y, 6), 90, SeededEntropy(0)).counts(X[:4])
    assert counts.tolist() == [[68, 20, 2]] * 4, "a label that does not exist is a vote for 0"
    assert stab(Teachers(Three(), InMemory(X, y, 6), 90, SeededEntropy(0)), X[:1], 1.0, 1e-6, SystemEntropy())[0] == 0


class Everything:
    """Claims to be equal to every label."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_a_teacher_that_says_everything_at_once_has_one_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table()
    monkeypatch.setattr(Constant, "predict", lambda _, X: np.array([Everything()] * len(X)))
    assert Teachers(Three(), InMemory(X, y), 9, SeededEntropy(0)).counts(X[:5]).sum(axis=1).tolist() == [9] * 5
