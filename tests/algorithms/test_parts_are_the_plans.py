"""What is drawn is what was planned, part by part: at the plan's η, depth, noise and on all the records.

Statistics hardly tell a tree at twice its η from one that was paid for, so the parts are watched as they are asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pcqr.planning.classifiers.contest import plan_contest
from pcqr.planning.classifiers.counted import plan_counted
from support.either import CAREFUL_MAP, MAP, PILOT_MAP, TREES, bits, request_for

from pcqr.algorithms import ag_priv_cl, asked, contest, counted, linear, sspp, stacked
from pcqr.entropy import SeededEntropy
from pcqr.hypotheses import Thresholds
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, Leaf, Split
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.mechanisms.stability import scale_for
from pcqr.plan import AskedStage, DrawStage, LinearStage, StackedStage, VoteStage
from pcqr.records import InMemory
from pcqr.records.predicates import Predicate

N = 400
X = bits(N)
Y = (np.arange(N) < 150).astype(np.int8)
TREE = DecisionTree(Leaf(0), X.shape[1])
HEAD = LinearClassifier.of(MAP, 2, np.zeros((1, MAP.size)), np.zeros((1, 0, 1)))
MAPS = CAREFUL_MAP, MAP
PUBLIC = np.zeros((3, MAP.features))


class Watch:
    """Stands in for `sspp`, `descend`, `stacked` and noise, and keeps what they are asked for."""

    def __init__(self, noise: int = 0, tree: DecisionTree = TREE) -> None:
        self.tree = tree
        self.drawn: list[tuple[Any, DrawStage]] = []
        self.descended: list[tuple[Any, LinearStage]] = []
        self.stacks: list[tuple[Any, Any, StackedStage]] = []
        self.scales: list[float] = []
        self._noise = noise

    def sspp(self, members: Any, records: InMemory, public: Any, plan: DrawStage, _: Any) -> Any:
        assert public is None
        _are_all(records)
        self.drawn.append((members, plan))
        return self.tree

    def descend(self, features: Any, records: InMemory, plan: LinearStage, _: Any, **others: Any) -> LinearClassifier:
        _are_all(records)
        assert others in ({}, {"evidence": None}, {"evidence": None, "called": "pilot"})
        self.descended.append((features, plan))
        return HEAD

    def stacked(
        self, trees: Any, features: Any, records: InMemory, plan: StackedStage, _: Any, *, public: Any
    ) -> LinearClassifier:
        """What comes where both labels are common: it is told nothing of the count."""
        assert public is PUBLIC
        _are_all(records)
        self.stacks.append((trees, features, plan))
        return HEAD

    def noise(self, scale: float, _: Any) -> int:
        self.scales.append(scale)
        return self._noise


def _are_all(records: InMemory) -> None:
    assert (records.X == X).all()
    assert (records.y == Y).all()


def watched(monkeypatch: pytest.MonkeyPatch, noise: int) -> Watch:
    watch = Watch(noise)
    for name in ("sspp", "descend", "stacked"):
        monkeypatch.setattr(counted, name, getattr(watch, name))
    monkeypatch.setattr(counted, "discrete_laplace", watch.noise)
    return watch


PLAN = replace(plan_counted(request_for(N, 1.0), replace(TREES, depth=2), MAPS), rare=100, uneven=140)
CAREFUL, STACKED = [(CAREFUL_MAP, PLAN.careful)], [(TREES, MAP, PLAN.otherwise)]


@pytest.mark.parametrize("noise", [-60, -40, -3, 0, 11])
def test_by_the_rarer_label(noise: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """150 of 400 and the noise: all that follows is a function of the noisy count."""
    watch = watched(monkeypatch, noise)
    published = counted.by_rarer_label(TREES, MAPS, InMemory(X, Y), PLAN, SeededEntropy(0), public=PUBLIC)
    assert watch.scales == [scale_for(PLAN.count)]
    if 150 + noise < 100:
        ((trees, tree_plan),) = watch.drawn
        assert published is TREE
        assert (trees.depth, tree_plan) == (2, DrawStage(PLAN.tree))
        return
    assert published is HEAD
    is_careful = 150 + noise < 140
    assert watch.descended == (CAREFUL if is_careful else [])
    assert watch.stacks == ([] if is_careful else STACKED)


def test_where_the_ways_part(monkeypatch: pytest.MonkeyPatch) -> None:
    ways: tuple[tuple[int, list[Any], list[Any]], ...] = (
        *((-51, [], []), (-50, CAREFUL, []), (-11, CAREFUL, []), (-10, [], STACKED)),
        *((110, [], STACKED), (111, CAREFUL, []), (150, CAREFUL, []), (151, [], [])),
    )
    for noise, descended, stacks in ways:
        watch = watched(monkeypatch, noise)
        counted.by_rarer_label(TREES, MAPS, InMemory(X, Y), PLAN, SeededEntropy(0), public=PUBLIC)
        assert watch.descended == descended
        assert watch.stacks == stacks
        assert len(watch.drawn) == (not descended and not stacks)


def test_what_a_question_decides_on_is_made_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = AskedStage(0.25, 1, few=N, many=2 * N, tree=0.01, depth=3, linear=PLAN.careful)
    watch = Watch()
    monkeypatch.setattr(asked, "sspp", watch.sspp)
    monkeypatch.setattr(asked, "descend", watch.descend)
    monkeypatch.setattr(asked, "discrete_laplace", watch.noise)
    assert asked.asked(TREES, CAREFUL_MAP, InMemory(X, Y), plan, SeededEntropy(0)) is TREE
    assert watch.drawn == [(replace(TREES, depth=3), DrawStage(0.01))]
    assert watch.scales == [scale_for(0.25)]
    asked.asked(TREES, CAREFUL_MAP, InMemory(X, Y), replace(plan, few=0), SeededEntropy(0))
    assert watch.descended == [(CAREFUL_MAP, plan.linear)]


def test_what_a_contest_decides_on_is_made_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pilot says 0 everywhere and is wrong about 150: the lead is that on trees of its own depth, exactly."""
    best = [int((replace(TREES, depth=depth).learn(X, Y).predict(X) != Y).sum()) for depth in (4, 5)]
    assert best[1] < best[0] < 150
    made = plan_contest(request_for(N, 1.0), TREES, (PILOT_MAP, MAP), 1e-6)
    plan = replace(made, shallow=4, tree=0.01, depth=5, tree_from=150 - best[0])
    for noise, is_tree in ((0, True), (-1, False)):
        watch = Watch(noise)
        monkeypatch.setattr(contest, "sspp", watch.sspp)
        monkeypatch.setattr(contest, "descend", watch.descend)
        monkeypatch.setattr(contest, "discrete_gaussian", watch.noise)
        published = contest.contest(TREES, (PILOT_MAP, MAP), InMemory(X, Y), plan, SeededEntropy(0))
        assert published is (TREE if is_tree else HEAD)
        assert watch.scales == [plan.scale]
        assert watch.drawn == ([(replace(TREES, depth=5), DrawStage(0.01))] if is_tree else [])
        assert watch.descended == [(PILOT_MAP, plan.pilot), (MAP, plan.linear)][: 1 if is_tree else 2]


def test_a_tree_and_the_head_beside_it_are_made_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The linear classifier asks about the tree that was drawn, and about no other, with the noise of the plan."""
    root = Split(Predicate(1, 0.5), Leaf(0), Split(Predicate(0, 0.5), Leaf(0), Leaf(1)))
    doubled = DecisionTree(Split(Predicate(0, 0.5), root, root), X.shape[1])
    watch = Watch(tree=doubled)
    monkeypatch.setattr(stacked, "sspp", watch.sspp)
    monkeypatch.setattr(stacked, "descend", watch.descend)
    assert isinstance(PLAN.otherwise, StackedStage)
    plan = replace(PLAN.otherwise, tree=0.01, depth=3)
    stacked.stacked(TREES, MAP, InMemory(X, Y), plan, SeededEntropy(0), public=X[:50])
    assert watch.drawn == [(replace(TREES, depth=3), DrawStage(0.01))]
    beside = MAP.beside(root, X[:50], plan.whitening)
    assert beside.tree == root, "simplified, as it will be published"
    assert watch.descended == [(beside, replace(plan.linear, dense=beside.size))]


def test_records_are_relabelled_at_the_plans_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, float, object]] = []

    def watched_relabel(_: Any, records: Any, eta: float, public: Any, __: Any) -> Any:
        asked.append((records.size, eta, public))
        return records

    monkeypatch.setattr(ag_priv_cl, "relabel", watched_relabel)
    vector = OneSidedSparseVector(threshold=3, threshold_scale=0.5, query_scale=0.5, unstable=2)
    plan = VoteStage(N, 300, 41, 0.7, vector)
    ag_priv_cl.ag_priv_cl(Thresholds(), InMemory(X[:, :1], Y), None, plan, SeededEntropy(0))
    assert asked == [(300, 0.7, None)]


def test_a_hypothesis_is_drawn_at_the_plans_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    genuine = sspp.exponential_mechanism  # type: ignore[attr-defined]

    def watched_draw(hypotheses: Any, records: Any, eta: float, **others: Any) -> Any:
        asked.append(eta)
        return genuine(hypotheses, records, eta, **others)

    monkeypatch.setattr(sspp, "exponential_mechanism", watched_draw)
    sspp.sspp(Thresholds(), InMemory(X[:, :1], Y), X[:3, :1], DrawStage(0.7), SeededEntropy(0))
    assert asked == [0.7]


def test_every_sum_of_a_descent_has_fresh_noise_of_the_plans_scale_in_every_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[float, int]] = []

    def watched_noise(scale: float, count: int, _: Any) -> Any:
        asked.append((scale, count))
        return np.zeros(count, dtype=np.int64)

    monkeypatch.setattr(linear, "discrete_gaussians", watched_noise)
    plan = LinearStage(N, MAP.size, 0, 0, 256, 3, 2**10, 2.0**12, 0.5, 0.1, classes=3)
    linear.descend(MAP, InMemory(X, Y, 3), plan, SeededEntropy(0))
    assert asked == [(2.0**12, 3 * MAP.size)] * 3
