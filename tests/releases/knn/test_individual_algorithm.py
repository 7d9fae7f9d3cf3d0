"""Budgets of records: never exceeded, charged before noise, functions of the own row and of what was released."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.data.records import InMemory
from pcqr.data.records.vectors import ColumnVectors
from pcqr.errors import ParameterError
from pcqr.privacy.accounting.gaussian import gaussian_delta
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.unit import PRESENCE, RECORD
from pcqr.releases.knn import run as algorithm
from pcqr.releases.knn.plan import IndividualStage
from pcqr.releases.knn.run import IndividualVotes, Near, individual_guarantee, individual_votes
from pcqr.releases.protocol.answers import Usage

VECTORS = ColumnVectors(centres=(0.0,), scales=(1.0,), features=1, constant=1)
PUBLIC = np.arange(10.0)[:, None]
STAGE = IndividualStage(
    records=30,
    classes=3,
    public=10,
    reach=3,
    budget=1.0,
    count_scale=40.0,
    vote_scale=1.0,
    least=16,
    unanswered=200,
    limit=400,
    grid=16,
)


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 10, size=(30, 1)).astype(np.float64), rng.integers(0, 3, size=30).astype(np.int8)


def votes(stage: IndividualStage = STAGE, seed: int = 0, entropy: int = 0, last: Any = None) -> IndividualVotes:
    X, y = table(seed)
    if last is not None:
        X[-1], y[-1] = last
    return individual_votes(VECTORS, InMemory(X, y, stage.classes), PUBLIC, stage, SeededEntropy(entropy))


def asked(labeller: IndividualVotes, x: float) -> int | None:
    (near,) = labeller.counts(np.array([[x]]))
    return labeller.decide(near)


@given(st.integers(0, 2**32), st.lists(st.integers(0, 9), max_size=60))
def test_nobody_spends_more_than_the_budget(seed: int, queries: list[int]) -> None:
    labeller = votes(entropy=seed)
    before = labeller._spent.copy()
    for x in queries:
        asked(labeller, float(x))
        assert (labeller._spent >= before).all()
        assert (labeller._spent <= STAGE.budget).all()
        before = labeller._spent.copy()


def test_in_the_end_nobody_takes_part() -> None:
    labeller = votes(replace(STAGE, limit=4_000, unanswered=4_000, count_scale=16.0))
    for _ in range(400):
        asked(labeller, 5.0)
    (near,) = labeller.counts(np.array([[5.0]]))
    assert near.positions.size > 3
    assert labeller._charged(near, np.full(near.positions.size, STAGE.count_cost)).positions.size == 0


def test_a_record_pays_for_what_it_adds_and_others_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithm, "discrete_gaussian", lambda *_: 0)
    monkeypatch.setattr(algorithm, "discrete_gaussians", lambda _scale, count, _entropy: np.zeros(count, np.int64))
    labeller = votes()
    (near,) = labeller.counts(np.array([[4.0]]))
    assert labeller.decide(near) is not None
    count = 16 * near.positions.size
    rung = max(step for step in STAGE.ladder if step <= count)
    scale = STAGE.vote_scale * math.sqrt(16 * rung)
    paid = np.zeros(30)
    paid[near.positions] = (16 / 40) ** 2 + (near.weights / scale) ** 2
    np.testing.assert_allclose(labeller._spent, paid, rtol=1e-12)
    assert 0 < near.positions.size < 30


class Told(IndividualVotes):
    """What is released as number of neighbours is given: the noise is whatever was between it and the true number."""

    released: Iterator[int]
    counted = 0

    def _charged(self, near: Near, costs: Any) -> Near:
        paying = super()._charged(near, costs)
        self.counted = paying.positions.size
        return paying


def test_after_the_same_transcript_others_have_spent_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the last record is, if the same noisy numbers come out."""
    transcript = np.random.default_rng(1).integers(10, 200, size=60).tolist()
    spent = []
    for last in ((4.0, 0), (4.0, 2), (9.0, 1), (100.0, 1)):
        labeller = Told(votes(last=last)._surroundings, STAGE, SeededEntropy(0))
        labeller.released = iter(transcript)
        monkeypatch.setattr(
            algorithm, "discrete_gaussian", lambda *_, told=labeller: next(told.released) - 16 * told.counted
        )
        for x in (4.0, 5.0, 3.0) * 20:
            asked(labeller, x)
        spent.append(labeller._spent[:-1].copy())
    assert spent[0].max() > 0.5
    for other in spent[1:]:
        np.testing.assert_array_equal(spent[0], other)


def test_charges_come_before_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_off(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(algorithm, "discrete_gaussian", broken_off)
    labeller = votes()
    (near,) = labeller.counts(np.array([[4.0]]))
    with pytest.raises(KeyboardInterrupt):
        labeller.decide(near)
    assert (labeller._spent[near.positions] == STAGE.count_cost).all()
    assert labeller.remaining == Usage(399, 200)


def test_it_halts_at_its_limits_and_not_by_who_is_left() -> None:
    for limits in ({"limit": 3}, {"unanswered": 1, "least": 10**6}):
        labeller = votes(replace(STAGE, **limits))  # type: ignore[arg-type]
        while not labeller.remaining.is_nothing:
            asked(labeller, 4.0)
        with pytest.raises(RuntimeError, match="have been given"):
            asked(labeller, 4.0)
    labeller = votes()
    labeller.forget(np.arange(30))
    assert labeller.remaining == Usage(400, 200)
    said = {asked(labeller, 4.0) for _ in range(100)}
    assert None in said
    assert len(said) > 1, "noise alone says labels, as it does where somebody is left"


def test_who_is_forgotten_votes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithm, "discrete_gaussian", lambda *_: 0)
    monkeypatch.setattr(algorithm, "discrete_gaussians", lambda _scale, count, _entropy: np.zeros(count, np.int64))
    X = np.full((30, 1), 4.0)
    y = np.array([1] * 16 + [2] * 14, dtype=np.int8)
    stage = replace(STAGE, budget=10.0)
    labeller = individual_votes(VECTORS, InMemory(X, y, 3), PUBLIC, stage, SeededEntropy(0))
    assert asked(labeller, 4.0) == 1
    others = labeller._spent[16:].copy()
    labeller.forget(np.arange(8))
    labeller.forget(np.arange(8))
    np.testing.assert_array_equal(labeller._spent[16:], others)
    assert asked(labeller, 4.0) == 2
    assert (labeller._surroundings._records[:8] == 0).all()
    assert (labeller._surroundings.labels[:8] == 0).all()


def test_a_plan_for_another_table_is_refused() -> None:
    X, y = table()
    for stage in (replace(STAGE, records=31), replace(STAGE, public=11), replace(STAGE, classes=2)):
        with pytest.raises(ParameterError, match="plan must be a plan for"):
            individual_votes(VECTORS, InMemory(X, y, 3), PUBLIC, stage, SeededEntropy(0))


def test_what_is_promised_is_one_gaussian_release() -> None:
    """On a fine grid: √b for removing a record, √(2b) for replacing one."""
    fine = replace(STAGE, grid=1 << 24, count_scale=40.0 * 2**20, least=1 << 24, budget=0.04)
    for unit, shift in ((PRESENCE, 0.2), (RECORD, math.sqrt(0.08))):
        stated = individual_guarantee(replace(fine, unit=unit), 1e-6)
        assert stated.unit == unit
        assert gaussian_delta(shift, stated.epsilon) <= 1e-6
        assert gaussian_delta(shift, 0.999 * stated.epsilon) > 1e-6
        assert stated.proof == "individual_knn"
    coarse = individual_guarantee(replace(STAGE, budget=0.04), 1e-6)
    assert gaussian_delta(math.sqrt(0.08), coarse.epsilon) < 0.9e-6, "on a coarse grid Rényi divergences alone hold"
