"""The k nearest of a secret sample: the bound on divergences against exact laws, plans, and the estimator's face."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from pcqr import BudgetExhausted, InfeasiblePlan, ParameterError, PrivateKNN
from pcqr.audit.exact import verify
from pcqr.audit.exact.cases.peers import LINE_VECTORS, neighbour_cases
from pcqr.data.records import InMemory
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.unit import RECORD
from pcqr.releases.knn import sampled
from pcqr.releases.knn.sampled import SampledStage, divergence_bound, sampled_guarantee, sampled_votes

Change = tuple[int, int, int]
NONE: Change = (0, 0, 0)
FULL: tuple[Change, ...] = (NONE, (1, 0, -1), (0, 1, -1))
"""Whoever comes in pushes one of the last label out; its own label may be that one, too."""
FEW: tuple[Change, ...] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
"""With fewer than k in the sample nobody goes."""


def law(scale: float, change: Change) -> np.ndarray:
    reach = math.ceil(8.0 * scale) + 1
    z = np.arange(-reach, reach + 1)
    sides = [np.exp(-0.5 * ((z - moved) / scale) ** 2) for moved in change]
    total = np.exp(-0.5 * (z / scale) ** 2).sum()
    first, second, third = (side / total for side in sides)
    joint: np.ndarray = first[:, None, None] * second[:, None] * third
    return joint


def divergence(rate: float, scale: float, a: Change, b: Change, order: int) -> float:
    empty = law(scale, NONE)
    p, q = ((1.0 - rate) * empty + rate * law(scale, change) for change in (a, b))
    return float(np.log(((p / q) ** order * q).sum()) / (order - 1))


@pytest.mark.parametrize(("rate", "scale"), [(0.1, 1.5), (0.3, 1.5), (0.05, 3.0), (0.5, 3.0)])
def test_no_pair_is_farther_apart_than_the_bound(rate: float, scale: float) -> None:
    pairs = [pair for changes in (FULL, FEW) for pair in itertools.permutations(changes, 2)]
    for order in (2, 3, 5, 9):
        exact = max(divergence(rate, scale, a, b, order) for a, b in pairs)
        bound = divergence_bound(rate, scale, order)
        assert exact <= bound
        assert rate > 0.1 or order > 3 or bound <= 1.6 * exact, "and not far from it"


def test_one_vote_is_not_all_that_one_record_moves() -> None:
    """With noise for ‖a‖ = 1 the bound would be that for √2 times the noise."""
    rate, scale = 0.3, 3.0
    exact = divergence(rate, scale, FULL[1], FULL[2], 2)
    assert exact > divergence_bound(rate, math.sqrt(2.0) * scale, 2)


def test_the_bound_is_never_above_that_without_a_sample() -> None:
    for rate, scale, order in itertools.product((0.01, 0.5, 0.999), (0.5, 5.0, 500.0), (2, 20, 256)):
        assert 0.0 < divergence_bound(rate, scale, order) <= order / scale**2 * (1.0 + 1e-8)
    assert divergence_bound(0.01, 20.0, 4) == pytest.approx(4 * 0.01**2 / 20.0**2, rel=0.05)


def test_the_auditor_finds_the_claims_kept() -> None:
    for case in neighbour_cases(full=False):
        if case.name.startswith("Private-kNN"):
            found = verify(case)
            assert found.passed
            assert found.epsilon > 0.1 * case.claimed.epsilon


STAGE = SampledStage(6, 3, neighbours=2, queries=3, chosen=1, out_of=2, scale=1.0)


def test_a_scale_that_saturates_noise_is_refused_with_the_plan() -> None:
    assert replace(STAGE, scale=2.0**50).scale == 2.0**50
    with pytest.raises(ParameterError, match="scale"):
        replace(STAGE, scale=2.0**50 + 1.0)


def test_the_nearest_of_the_sample_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [1.0], [9.0]]), np.array([0, 1, 2, 2, 0, 1], dtype=np.int8)
    coins = iter([[0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0], [1, 1, 1, 1, 1, 1]])
    shown: list[list[int]] = []

    class Coins(SeededEntropy):
        def below(self, bound: int, size: int) -> np.ndarray:
            assert (bound, size) == (2, 6)
            return np.array(next(coins))

    def counted(labels: np.ndarray, minlength: int) -> np.ndarray:
        shown.append([int((labels == label).sum()) for label in range(minlength)])
        return np.array(shown[-1])

    monkeypatch.setattr(np, "bincount", counted)
    monkeypatch.setattr(sampled, "discrete_gaussians", lambda _scale, count, _entropy: np.zeros(count, np.int64))
    labeller = sampled_votes(LINE_VECTORS, InMemory(X, y, 3), STAGE, Coins(0))
    (query,) = labeller.counts(np.array([[1.0]]))
    said = [labeller.decide(query) for _ in range(3)]
    assert shown == [[1, 1, 0], [0, 0, 2], [0, 0, 0]], "at equal distance the earlier; of those who are in; nobody"
    assert said == [0, 2, 0]
    with pytest.raises(RuntimeError, match="have been given"):
        labeller.decide(query)


def test_a_plan_for_another_table_is_refused() -> None:
    for stage in (replace(STAGE, records=7), replace(STAGE, classes=2)):
        with pytest.raises(ParameterError, match="plan must be a plan for"):
            sampled_votes(LINE_VECTORS, InMemory(np.zeros((6, 1)), np.zeros(6, np.int8), 3), stage, SeededEntropy(0))


# ---- plans and the estimator

RNG = np.random.default_rng(0)
CENTRES = np.array([[4.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
Y = RNG.integers(0, 3, size=20_000)
X = RNG.normal(size=(20_000, 2)) + CENTRES[Y]
PUBLIC = RNG.normal(size=(500, 2)) + CENTRES[RNG.integers(0, 3, size=500)]


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 1.0, 8.0])
def test_plans_keep_the_budget_and_use_it_up(epsilon: float) -> None:
    plan = PrivateKNN(epsilon=epsilon, queries=100).plan(500_000, public=PUBLIC)
    assert plan.guarantee.within(epsilon, 1e-6)
    assert plan.guarantee.unit == RECORD
    assert not sampled_guarantee(replace(plan.vote, scale=0.99 * plan.vote.scale), 1e-6).within(epsilon, 1e-6)


def test_rate_and_neighbours_can_be_pinned() -> None:
    vote = PrivateKNN(rate=0.25, neighbours=77).plan(50_000, public=PUBLIC).vote
    assert (vote.rate, vote.neighbours) == (0.25, 77)
    for parameters, name in (({"rate": 1.0}, "rate"), ({"rate": 0.0}, "rate"), ({"neighbours": 0}, "neighbours")):
        with pytest.raises(ParameterError) as caught:
            PrivateKNN(**parameters).plan(50_000, public=PUBLIC)
        assert caught.value.name == name
    with pytest.raises(InfeasiblePlan, match="drowns all votes"):
        PrivateKNN(epsilon=0.1).plan(100, public=PUBLIC)


def test_near_records_say_the_label_until_m_have_asked() -> None:
    release = PrivateKNN(queries=40, classes=(0, 1, 2), entropy=0).fit(X, Y, public=PUBLIC)
    queries = CENTRES[np.arange(40) % 3] + np.linspace(-0.5, 0.5, 40)[:, None]
    assert (release.predict(queries) == np.arange(40) % 3).mean() > 0.85
    with pytest.raises(BudgetExhausted):
        release.predict([[9.0, 9.0]])
    assert release.answer(queries[0]).kind == "repeated"
    assert clone(release).get_params() == release.get_params()


def test_it_cannot_be_kept(tmp_path: Any) -> None:
    release = PrivateKNN(queries=5, classes=(0, 1, 2), entropy=0).fit(X, Y, public=PUBLIC)
    with pytest.raises(ParameterError, match="of a kind that can be saved"):
        release.save(tmp_path / "release", anchor=tmp_path / "anchor")
