"""Boosting: what is public is computed from the plan alone, what is released are J trees, and what they cost."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.releases import Forbidden

from pcqr.accounting import BoundedRangeEvent, Repeated, compose
from pcqr.algorithms.boosting import boost, boosting_guarantee, offered_predicates, weight_of_lead
from pcqr.entropy import SeededEntropy
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import Labels, Points
from pcqr.hypotheses.trees import DecisionTree, Leaf, Predicate, Split
from pcqr.hypotheses.trees.boosted import BoostedTrees
from pcqr.hypotheses.trees.weighted import ABSTAIN, log_probability_error
from pcqr.plan import BoostingStage
from pcqr.records import InMemory
from pcqr.records.weighing import GRID

PLAN = BoostingStage(
    records=400,
    predicates=6,
    offered=4,
    depth=2,
    rounds=12,
    step=0.4,
    inverse_temperature=0.5,
    delta=1e-6,
)
PREDICATES = tuple(Predicate(feature, cut) for feature in (0, 1) for cut in (0.25, 0.5, 0.75))


def corners(seed: int = 0) -> tuple[Points, Labels]:
    """Label 1 in two opposite corners: no single question helps."""
    X = np.random.default_rng(seed).random((PLAN.records, 2))
    return X, ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(np.int8)


def questions(node: Leaf | Split) -> set[Predicate]:
    return set() if isinstance(node, Leaf) else {node.predicate} | questions(node.fails) | questions(node.holds)


# --------------------------------------------------------------------------------------------------------------
# What is public


@given(st.integers(1, 200), st.floats(1e-6, 50.0))
def test_no_weight_is_above_one_and_weights_fall_with_the_lead(rounds: int, step: float) -> None:
    weights = weight_of_lead(replace(PLAN, rounds=rounds, step=step)).astype(int)
    assert weights.size == 2 * rounds + 1
    assert (weights[: rounds + 1] == GRID).all(), "a record that is not yet right counts in full"
    assert (np.diff(weights) <= 0).all()
    assert weights.min() >= 0


def test_weights_are_on_the_grid_nearest_to_the_slope_of_the_logistic_loss() -> None:
    lead = np.arange(1, PLAN.rounds + 1)
    exact = 2 * GRID / (1.0 + np.exp(PLAN.step * lead))
    assert np.abs(weight_of_lead(PLAN)[PLAN.rounds + lead] - exact).max() <= 0.5


def test_offered_predicates_are_a_function_of_the_plan() -> None:
    offered = offered_predicates(PLAN)
    assert len(offered) == PLAN.rounds
    for own, again in zip(offered, offered_predicates(replace(PLAN, inverse_temperature=9.0)), strict=True):
        assert own.tolist() == again.tolist() == sorted(set(own.tolist()))
        assert own.size == PLAN.offered
        assert 0 <= own.min() <= own.max() < PLAN.predicates
    assert len({tuple(own.tolist()) for own in offered}) > 3, "rounds differ"
    others = offered_predicates(replace(PLAN, seed=1))
    assert any(a.tolist() != b.tolist() for a, b in zip(offered, others, strict=True))
    everything = offered_predicates(replace(PLAN, offered=PLAN.predicates))
    assert all(own.tolist() == list(range(PLAN.predicates)) for own in everything)


# --------------------------------------------------------------------------------------------------------------
# What is released


def test_boosting_learns_what_no_single_question_tells() -> None:
    X, y = corners()
    found = boost(InMemory(X, y), PREDICATES, PLAN, SeededEntropy(3))
    assert len(found.trees) == PLAN.rounds
    assert (found.predict(X) == y).mean() > 0.95
    assert found == boost(InMemory(X, y), PREDICATES, PLAN, SeededEntropy(3))
    for tree, offered in zip(found.trees, offered_predicates(PLAN), strict=True):
        assert questions(tree.root) <= {PREDICATES[b] for b in offered}
        assert tree.depth <= PLAN.depth


def test_later_rounds_look_at_what_earlier_ones_got_wrong() -> None:
    """Three quarters of the records are settled by one question; the rest needs trees that get most of those wrong."""
    X = np.array([[0.0, 0.0]] * 300 + [[1.0, 0.0]] * 60 + [[1.0, 1.0]] * 40)
    y = np.array([0] * 300 + [0] * 60 + [1] * 40, dtype=np.int8)
    asked = (Predicate(0, 0.5), Predicate(1, 0.5))
    stumps = replace(PLAN, predicates=2, offered=1, depth=1, rounds=20, inverse_temperature=2.0)
    assert (boost(InMemory(X, y), asked, stumps, SeededEntropy(0)).predict(X) == y).all()


def test_what_does_not_fit_the_plan_is_refused_before_anything_is_drawn() -> None:
    X, y = corners()
    entropy = Forbidden()
    with pytest.raises(ParameterError, match="plan"):
        boost(InMemory(X[1:], y[1:]), PREDICATES, PLAN, entropy)
    with pytest.raises(ParameterError, match="plan"):
        boost(InMemory(np.concatenate([X, X[:1]]), np.append(y, y[:1])), PREDICATES, PLAN, entropy)
    with pytest.raises(ParameterError, match="plan"):
        boost(InMemory(X, y), PREDICATES[1:], PLAN, entropy)
    with pytest.raises(DataError, match="y must be"):
        boost(InMemory(X, y + np.int8(1)), PREDICATES, PLAN, entropy)
    with pytest.raises(DataError, match="y must be records with 2 labels"):
        boost(InMemory(X, y, 3), PREDICATES, PLAN, entropy)
    with pytest.raises(DataError, match="2 columns"):
        boost(InMemory(X[:, :1], y), PREDICATES, PLAN, entropy)
    with pytest.raises(AssertionError, match="drawn"):
        boost(InMemory(X, y), PREDICATES, PLAN, entropy)


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_labels_of_any_integer_type_are_the_same_labels(kind: type) -> None:
    X, y = corners()
    assert boost(InMemory(X, y.astype(kind)), PREDICATES, PLAN, SeededEntropy(2)) == boost(
        InMemory(X, y), PREDICATES, PLAN, SeededEntropy(2)
    )


# --------------------------------------------------------------------------------------------------------------
# What it costs


@pytest.mark.parametrize("rounds", [1, 2, 40])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01])
def test_the_guarantee_is_that_of_ranges(rounds: int, delta: float) -> None:
    plan = replace(PLAN, rounds=rounds, delta=delta)
    slack = log_probability_error(plan.records, plan.offered, plan.depth, plan.inverse_temperature)
    reach = 2 * plan.inverse_temperature + 4 * slack
    stated = boosting_guarantee(plan)
    figures = [rounds * reach]
    if delta:
        figures.append(compose([Repeated(BoundedRangeEvent(reach), rounds)], delta, accountant="Rényi").epsilon)
    assert stated.epsilon == pytest.approx(min(figures), rel=1e-11)
    assert stated.epsilon >= min(figures)
    assert stated.delta <= delta
    assert stated.is_pure == (figures.index(min(figures)) == 0)
    assert stated.proof == "boosting"


def test_many_rounds_are_cheaper_by_concentrated_privacy() -> None:
    """ρ = J(2η)²/8 and the line ρ + 2√(ρ·ln(1/δ)), a textbook figure that the stated one must beat."""
    plan = replace(PLAN, rounds=64, inverse_temperature=0.02)
    rho = 64 * 0.04**2 / 8
    assert boosting_guarantee(plan).epsilon < rho + 2 * math.sqrt(rho * math.log(1e6)) < 64 * 0.04


# --------------------------------------------------------------------------------------------------------------
# Votes


def stump(cut: float, fails: int, holds: int) -> DecisionTree:
    return DecisionTree(Split(Predicate(0, cut), Leaf(fails), Leaf(holds)), 1)


def test_trees_vote_and_a_tie_is_label_zero() -> None:
    model = BoostedTrees((stump(0.0, 0, 1), stump(1.0, ABSTAIN, 1), stump(2.0, 0, ABSTAIN)), 0.5, 1)
    X = [[-1.0], [0.5], [1.5], [2.5]]
    assert model.votes(X).tolist() == [-2, 0, 1, 2]
    assert model.margins(X).tolist() == [-1.0, 0.0, 0.5, 1.0]
    assert model.predict(X).tolist() == [0, 0, 1, 1]


def test_a_model_refuses_what_is_none() -> None:
    with pytest.raises(ParameterError, match="trees"):
        BoostedTrees((), 0.5, 1)
    with pytest.raises(ParameterError, match="trees"):
        BoostedTrees((stump(0.0, 0, 1),), 0.5, 2)
    with pytest.raises(ParameterError, match="step"):
        BoostedTrees((stump(0.0, 0, 1),), 0.0, 1)
    with pytest.raises(DataError, match="1 column"):
        BoostedTrees((stump(0.0, 0, 1),), 0.5, 1).predict([[1.0, 2.0]])
