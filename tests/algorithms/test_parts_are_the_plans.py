"""What is drawn is what was planned, part by part: at the plan's η, depth, noise and on all the records.

Statistics hardly tell a tree at twice its η from one that was paid for, so the parts are watched as they are asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.either import MAP, TREES, bits, request_for

from pcqr.algorithms import ag_priv_cl, asked, counted, head, sspp
from pcqr.entropy import SeededEntropy
from pcqr.hypotheses import Thresholds
from pcqr.hypotheses.head import Head
from pcqr.hypotheses.trees import DecisionTree, Leaf
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.mechanisms.stability import scale_for
from pcqr.plan import AskedStage, DrawStage, HeadStage, VoteStage
from pcqr.planning.classifiers.counted import plan_counted
from pcqr.records import InMemory

N = 400
X = bits(N)
Y = (np.arange(N) < 150).astype(np.int8)
TREE = DecisionTree(Leaf(0), X.shape[1])
HEAD = Head.of(MAP, 2, np.zeros((1, MAP.size)), np.zeros((1, 0, 1)))


class Watch:
    """Stands in for `sspp`, `descend` and the noise of the count, and keeps what they are asked for."""

    def __init__(self, noise: int = 0) -> None:
        self.drawn: list[tuple[Any, DrawStage]] = []
        self.descended: list[Any] = []
        self.scales: list[float] = []
        self.rarer: int | None = None
        self._noise = noise

    def sspp(self, members: Any, records: InMemory, public: Any, plan: DrawStage, _: Any) -> Any:
        assert public is None
        assert (records.X == X).all()
        assert (records.y == Y).all()
        self.drawn.append((members, plan))
        return TREE

    def descend(self, features: Any, records: InMemory, plan: Any, _: Any) -> Head:
        assert features == MAP
        assert (records.X == X).all()
        assert (records.y == Y).all()
        self.descended.append(plan)
        return HEAD

    def asked(
        self, trees: Any, features: Any, records: InMemory, plan: AskedStage, entropy: Any, *, rarer: int
    ) -> Head:
        """What comes where both labels are common."""
        assert trees == TREES
        self.rarer = rarer
        return self.descend(features, records, plan, entropy)

    def discrete_laplace(self, scale: float, _: Any) -> int:
        self.scales.append(scale)
        return self._noise


def watched(monkeypatch: pytest.MonkeyPatch, noise: int) -> Watch:
    watch = Watch(noise)
    for name in ("sspp", "descend", "discrete_laplace", "asked"):
        monkeypatch.setattr(counted, name, getattr(watch, name))
    return watch


PLAN = replace(plan_counted(request_for(N, 1.0), replace(TREES, depth=2), (MAP, MAP)), rare=100, uneven=140)


@pytest.mark.parametrize("noise", [-60, -40, -3, 0, 11])
def test_by_the_rarer_label(noise: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """150 of 400 and the noise: all that follows is a function of the noisy count."""
    watch = watched(monkeypatch, noise)
    published = counted.by_rarer_label(TREES, (MAP, MAP), InMemory(X, Y), PLAN, SeededEntropy(0))
    assert watch.scales == [scale_for(PLAN.count)]
    if 150 + noise < 100:
        ((trees, tree_plan),) = watch.drawn
        assert published is TREE
        assert (trees.depth, tree_plan) == (2, DrawStage(PLAN.tree))
        return
    assert published is HEAD
    is_careful = 150 + noise < 140
    assert watch.descended == [PLAN.careful if is_careful else PLAN.otherwise]
    assert watch.rarer == (None if is_careful else 150 + noise), "all that is told of the labels"


def test_where_the_ways_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for noise, descended in (
        *((-51, []), (-50, [PLAN.careful]), (-11, [PLAN.careful]), (-10, [PLAN.otherwise])),
        *((110, [PLAN.otherwise]), (111, [PLAN.careful]), (150, [PLAN.careful]), (151, [])),
    ):
        watch = watched(monkeypatch, noise)
        counted.by_rarer_label(TREES, (MAP, MAP), InMemory(X, Y), PLAN, SeededEntropy(0))
        assert watch.descended == descended
        assert len(watch.drawn) == (not descended)


def test_what_a_question_decides_on_is_made_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = AskedStage(0.25, 1, few=N, many=2 * N, of_rarer=0.0, tree=0.01, depth=3, head=PLAN.careful)
    watch, scales = Watch(), []

    def noise(scale: float, _: Any) -> int:
        scales.append(scale)
        return 0

    monkeypatch.setattr(asked, "sspp", watch.sspp)
    monkeypatch.setattr(asked, "descend", watch.descend)
    monkeypatch.setattr(asked, "discrete_laplace", noise)
    assert asked.asked(TREES, MAP, InMemory(X, Y), plan, SeededEntropy(0)) is TREE
    ((trees, tree_plan),) = watch.drawn
    assert (trees, tree_plan) == (replace(TREES, depth=3), DrawStage(0.01))
    assert scales == [scale_for(0.25)]
    asked.asked(TREES, MAP, InMemory(X, Y), replace(plan, few=0), SeededEntropy(0))
    assert watch.descended == [plan.head]


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

    monkeypatch.setattr(head, "discrete_gaussians", watched_noise)
    plan = HeadStage(N, MAP.size, 0, 0, 256, 3, 2**10, 2.0**12, 0.5, 0.1, classes=3)
    head.descend(MAP, InMemory(X, Y, 3), plan, SeededEntropy(0))
    assert asked == [(2.0**12, 3 * MAP.size)] * 3
