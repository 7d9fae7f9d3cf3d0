"""A tree where one label is rare, else heads: the decision's law, the stated figures, what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.either import (
    BUDGETS,
    CAREFUL_MAP,
    COLUMNS,
    MAP,
    PILOT_MAP,
    PREDICATES,
    TREES,
    bits,
    exact_delta,
    request_for,
    share_kept,
)
from support.releases import Forbidden

from pcqr.accounting import PureEvent
from pcqr.algorithms import counted
from pcqr.algorithms.counted import by_rarer_label, counted_guarantee
from pcqr.algorithms.head import head_guarantee
from pcqr.algorithms.piloted import piloted_guarantee
from pcqr.algorithms.stacked import stacked_guarantee
from pcqr.entropy import SeededEntropy
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.head import Head
from pcqr.hypotheses.trees import DecisionTree
from pcqr.mechanisms.stability import scale_for
from pcqr.plan import CountedStage, PilotedStage, StackedStage
from pcqr.planning.classifiers.counted import plan_counted
from pcqr.records import InMemory
from pcqr.records.ferns import Ferns
from pcqr.records.head_features import HeadFeatures
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import PredicateVectors

MAPS = CAREFUL_MAP, MAP


def plan_for(records: int, epsilon: float, delta: float = 1e-6) -> CountedStage:
    return plan_counted(request_for(records, epsilon, delta), TREES, MAPS)


def with_stacked(records: int, epsilon: float, delta: float = 1e-6) -> tuple[CountedStage, StackedStage]:
    """The plan, and what it has where both labels are common."""
    plan = plan_for(records, epsilon, delta)
    assert isinstance(plan.otherwise, StackedStage)
    return plan, plan.otherwise


@pytest.mark.parametrize(("records", "epsilon", "delta"), BUDGETS)
def test_the_stated_figures_hold_and_are_used_up(records: int, epsilon: float, delta: float) -> None:
    """Those of all parts, in closed form."""
    plan = plan_for(records, epsilon, delta)
    stated = counted_guarantee(plan, TREES, COLUMNS, delta)
    assert stated.within(epsilon, delta)
    assert stated.epsilon > 0.999999 * epsilon
    assert stated.delta > 0.999999 * delta
    assert 0.09 * delta < exact_delta([plan.careful], (plan.count,), stated.epsilon) <= 0.1 * delta
    assert 0.999 * epsilon < plan.count + 2 * plan.tree <= stated.epsilon
    assert stated.proof == "counted"


@pytest.mark.parametrize(("records", "epsilon", "delta"), BUDGETS)
def test_a_head_beside_a_tree_uses_up_its_figures(records: int, epsilon: float, delta: float) -> None:
    """It has the 90 % of δ that the careful head leaves, and its tree 30 % of ε, as a release of bounded range."""
    plan, last = with_stacked(records, epsilon, delta)
    stated = counted_guarantee(plan, TREES, COLUMNS, delta)
    assert 2 * last.tree == pytest.approx(0.3 * epsilon, rel=1e-3)
    found = exact_delta([last.head], (plan.count,), stated.epsilon, ranged=2 * last.tree)
    assert 0.99 * 0.9 * delta < found <= 0.9 * delta


def chance_of_a_tree(plan: CountedStage, ones: int) -> float:
    return _chances(plan, ones)[0]


def _chances(plan: CountedStage, ones: int) -> tuple[float, float]:
    """P(min(c, n − c) < w) for c = `ones` + Z in closed form: Z ≤ w − 1 − ones, or Z ≥ n − w + 1 − ones; and the rest.

    Z is symmetric: the rarer label alone matters. Without a difference between numbers that are close to each other.
    """
    scale, ones = scale_for(plan.count), min(ones, plan.records - ones)

    def at_least(t: int) -> float:
        """P(Z ≥ t), which is P(Z ≤ −t)."""
        tail = math.exp(-abs(t if t > 0 else t - 1) / scale) / (1 + math.exp(-1 / scale))
        return tail if t > 0 else 1 - tail

    records, least = plan.records, plan.rare
    if 2 * least > records:
        return 1.0, 0.0
    beyond = at_least(records - least + 1 - ones)
    return at_least(ones + 1 - least) + beyond, at_least(least - ones) - beyond


def test_the_decision_alone_is_within_its_share_on_all_neighbours() -> None:
    plan = plan_for(400, 5.0)
    worst = 0.0
    for ones in range(400):
        for one, other in zip(_chances(plan, ones), _chances(plan, ones + 1), strict=True):
            worst = max(worst, abs(math.log(one / other)))
    assert 0.9 * plan.count < worst <= plan.count * (1 + 1e-9)


def test_the_decision_has_the_law_of_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """4,000 runs on each of two counts: |share − chance| > 4.9 standard deviations has a probability below 10⁻⁶.

    Noise of half or twice the scale is 3 times as far away, so neither passes.
    """
    monkeypatch.setattr(counted, "descend", lambda *_: "head")
    monkeypatch.setattr(counted, "sspp", lambda *_: "tree")
    monkeypatch.setattr(counted, "stacked", lambda *_, public: "stacked" if public is None else "")
    plan = replace(plan_for(400, 5.0), rare=60)
    X, entropy = bits(400), SeededEntropy(3)
    for ones in (50, 70):
        y = (np.arange(400) < ones).astype(np.int8)
        drawn = [by_rarer_label(TREES, MAPS, InMemory(X, y), plan, entropy) for _ in range(4_000)]
        share, chance = np.mean([str(hypothesis) == "tree" for hypothesis in drawn]), chance_of_a_tree(plan, ones)
        reach = 4.9 * math.sqrt(chance * (1 - chance) / 4_000)
        assert abs(share - chance) < reach
        for factor in (0.5, 2.0):
            other = chance_of_a_tree(replace(plan, count=plan.count * factor), ones)
            assert abs(other - chance) > 2.5 * reach


@pytest.mark.parametrize("times", [1.0, 3.0])
def test_the_count_is_paid_for_beside_the_sums(times: float) -> None:
    """With a tree that costs nothing only the heads can exceed ε."""
    plan, last = with_stacked(5_000, 1.0)
    plan = replace(plan, tree=0.0, count=times * plan.count)
    stated, beside = counted_guarantee(plan, TREES, COLUMNS, 1e-6), (PureEvent(plan.count),)
    careful = head_guarantee(plan.careful, 1e-7, beside=beside)
    heads = stacked_guarantee(last, TREES, COLUMNS, 0.9e-6, beside=beside)
    assert stated.epsilon == pytest.approx(max(careful.epsilon, heads.epsilon), rel=1e-8)
    assert stated.epsilon > 1.001 * stacked_guarantee(last, TREES, COLUMNS, 0.9e-6).epsilon
    assert stated.within(1.0, 1e-6) == (times == 1.0)


def test_less_noise_than_planned_is_not_within_epsilon() -> None:
    plan, last = with_stacked(5_000, 1.0)
    for change in (
        {"otherwise": replace(last, head=replace(last.head, scale=last.head.scale / 1.01))},
        {"otherwise": replace(last, tree=1.001 * last.tree, slack=1.1 * last.slack)},
        {"otherwise": replace(last, slack=0.001)},
        {"careful": replace(plan.careful, scale=plan.careful.scale / 1.01)},
        {"tree": 1.001 * plan.tree},
        {"count": 2 * plan.count},
    ):
        assert not counted_guarantee(replace(plan, **change), TREES, COLUMNS, 1e-6).within(1.0, 1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.03, 1e-6), (0.3, 1e-6), (1.0, 1e-6), (1.0, 1e-10), (0.3, 1e-12), (5.0, 1e-12)]
)
def test_the_share_of_its_budget_that_the_head_keeps(epsilon: float, delta: float) -> None:
    """Of a head after a count and a tree with 33 % of ε, with 90 % of δ: bounded range leaves more than 67 %."""
    _, last = with_stacked(int(5_000 / epsilon), epsilon, delta)
    assert 0.73 < share_kept(last.head, epsilon, delta) < 0.9


@pytest.mark.parametrize("flipped", [False, True])
def test_how_rare_a_label_is_decides(flipped: bool) -> None:
    X, plan = bits(20_000), plan_for(20_000, 0.5)
    uncommon, rare = ((X[:, :asked].sum(axis=1) == asked).astype(np.int8) for asked in (3, COLUMNS))
    common = (X.sum(axis=1) > COLUMNS // 2).astype(np.int8)  # no shallow tree finds it
    crossed = (X[:, 0] != X[:, 1]).astype(np.int8)  # and no head without ferns finds this
    if flipped:
        common, crossed, uncommon, rare = 1 - common, 1 - crossed, 1 - uncommon, 1 - rare
    for labels in (common, crossed):
        head = by_rarer_label(TREES, MAPS, InMemory(X, labels), plan, SeededEntropy(0), public=X[:300])
        assert isinstance(head, Head)
        assert head.feature_map.tree is not None
        assert (head.predict(X) == labels).all()
    careful = by_rarer_label(TREES, MAPS, InMemory(X, uncommon), plan, SeededEntropy(0))
    tree = by_rarer_label(TREES, MAPS, InMemory(X, rare), plan, SeededEntropy(0))
    assert isinstance(careful, Head)
    assert careful.feature_map == CAREFUL_MAP
    assert isinstance(tree, DecisionTree)
    assert (tree.predict(X) == rare).mean() > 0.95


def piloted_plan(records: int) -> CountedStage:
    plan = plan_for(records, 1.0)
    plain = replace(plan.careful, dense=MAP.size)
    mixed, ferned = (replace(plain, ferns=3, depth=2, share=share) for share in (128, 13))
    return replace(plan, otherwise=PilotedStage((plain, ferned), plain.scale, 0, 0, (plain, mixed, ferned)))


def test_pilots_choose_among_the_other_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The careful map is none of theirs."""
    seen: list[Any] = []
    monkeypatch.setattr(counted, "piloted_head", lambda maps, *_: seen.append(maps))
    X, plan = bits(5_000), piloted_plan(5_000)
    with_ferns = [HeadFeatures(MAP.dense, Ferns(PREDICATES + PREDICATES[:1], 2, COLUMNS), share) for share in (128, 13)]
    labels = X[:, 0].astype(np.int8)
    by_rarer_label(TREES, (CAREFUL_MAP, MAP, *with_ferns), InMemory(X, labels), plan, SeededEntropy(0))
    assert seen == [[MAP, *with_ferns]]
    stated, beside = counted_guarantee(plan, TREES, COLUMNS, 1e-6), (PureEvent(plan.count),)
    assert isinstance(plan.otherwise, PilotedStage)
    assert stated.epsilon == pytest.approx(piloted_guarantee(plan.otherwise, 0.9e-6, beside=beside).epsilon, rel=1e-9)


def test_what_does_not_fit_is_refused_before_anything_is_drawn() -> None:
    X, plan = bits(100), plan_for(100, 1.0)
    y = np.zeros(100, dtype=np.int8)
    with pytest.raises(ParameterError, match="plan"):
        by_rarer_label(TREES, MAPS, InMemory(X[:50], y[:50]), plan, Forbidden())
    with pytest.raises(DataError, match="y"):
        by_rarer_label(TREES, MAPS, InMemory(X, y + np.int8(2)), plan, Forbidden())
    with pytest.raises(ParameterError, match="2 classes"):
        by_rarer_label(replace(TREES, labels=3), MAPS, InMemory(X, y), plan, Forbidden())
    narrow = HeadFeatures(PredicateVectors.of(PREDICATES[:3], COLUMNS), None, 256)
    with pytest.raises(ParameterError, match="plan for this feature map"):
        by_rarer_label(TREES, (narrow, MAP), InMemory(X, y), plan, Forbidden())
    with pytest.raises(ParameterError, match="a head with room for 8 coordinates"):
        by_rarer_label(TREES, (CAREFUL_MAP, PILOT_MAP), InMemory(X, y), plan, Forbidden())
    for other in (MAPS[:1], (*MAPS, MAP), (*MAPS, MAP, MAP)):
        with pytest.raises(ParameterError, match="maps must be 2 feature maps"):
            by_rarer_label(TREES, other, InMemory(X, y), plan, Forbidden())
    wide = replace(TREES, predicates=(*PREDICATES, Predicate(COLUMNS, 0.5)))
    with pytest.raises(DataError, match="columns that the predicates ask about"):
        by_rarer_label(wide, MAPS, InMemory(X, y), plan, Forbidden())
    with pytest.raises(ParameterError, match="raise operations"):
        by_rarer_label(replace(TREES, operations=1.0), MAPS, InMemory(X, y), plan, Forbidden())


def test_trees_that_could_not_be_drawn_are_refused_before_the_count() -> None:
    """Whether there will be one is private by then: trees of each depth are looked at that may be asked for."""
    plan, last = with_stacked(400, 20.0)
    records = InMemory(bits(400), np.zeros(400, dtype=np.int8))
    few, fewer = (replace(TREES, operations=TREES.cost(400, depth) + 1.0) for depth in (3, 2))
    flat = replace(plan, depth=2, otherwise=replace(last, depth=2))
    for trees, stage in (
        (few, plan),
        (few, replace(flat, depth=4)),
        (few, replace(flat, otherwise=last)),
        (fewer, replace(flat, otherwise=replace(last, depth=3))),
    ):
        with pytest.raises(ParameterError, match="raise operations"):
            by_rarer_label(trees, MAPS, records, stage, Forbidden())
    assert isinstance(by_rarer_label(fewer, MAPS, records, flat, SeededEntropy(0)), DecisionTree)


@pytest.mark.parametrize("limits", [{"depth": 6, "operations": 1e3}, {"operations": 1.0}, {"memory": 1.0}])
def test_trees_that_are_too_large_are_refused_when_planning(limits: dict[str, Any]) -> None:
    """Not when a rare label asks for one: that they are needed is private, and the count is paid for by then."""
    with pytest.raises(ParameterError, match="depth"):
        plan_counted(request_for(3_000, 2.0), replace(TREES, **limits), MAPS)


@pytest.mark.parametrize(
    "forged",
    [
        {"count": 0.0},
        {"count": math.nan},
        {"rare": -1},
        {"rare": 1.5},
        {"uneven": -1},
        {"tree": -1.0},
        {"tree": 1e300},
        {"careful": None},
        {"otherwise": None},
    ],
)
def test_a_plan_that_cannot_run_cannot_be_made(forged: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        replace(plan_for(100, 1.0), **forged)


def test_parts_that_do_not_belong_together_make_no_plan() -> None:
    plan = plan_for(10_000, 1.0)
    piloted = piloted_plan(10_000).otherwise
    assert isinstance(piloted, PilotedStage)
    parts = (*piloted.pilots, *piloted.heads)
    three = tuple(replace(part, classes=3) for part in parts)
    forged: list[tuple[str, Any]] = [
        ("a HeadStage for 2 classes", {"careful": replace(plan.careful, classes=3)}),
        ("a StackedStage or a PilotedStage", {"otherwise": plan.careful}),
        ("a HeadStage for 2 classes", {"otherwise": replace(piloted, pilots=three[:2], heads=three[2:])}),
        ("a stage for 10000 records", {"otherwise": plan_for(9_999, 1.0).otherwise}),
    ]
    for message, change in forged:
        with pytest.raises(ParameterError, match=message):
            replace(plan, **change)


def test_a_deep_tree_is_accounted_for_with_its_own_rounding() -> None:
    deep, fixed = (replace(TREES, deepest=6, depth=depth) for depth in (None, 6))
    assert deep.depth_for(10**6) == 6
    assert deep.log_probability_error(10**6, 0.5) == fixed.log_probability_error(10**6, 0.5)
