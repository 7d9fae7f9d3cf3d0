"""Which classifier is published, and with which plan: functions of public numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import sampler_law

from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column, Schema
from pcqr.errors import ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.planner.request import Request
from pcqr.privacy.composition import Branch, Context, Sequence, Stage, account, parts_of
from pcqr.releases.classifier.feature_maps import linear_predicates
from pcqr.releases.classifier.plan import LARGEST_TERM, ComparisonStage, LeafCountsStage, LinearStage
from pcqr.releases.classifier.planning import Maps, feature_maps, plan_published
from pcqr.releases.classifier.rule import (
    COMPARISON_SHARE,
    LEAF_SHARE,
    PILOT_SHARE,
    TREE_SHARE,
    Choice,
    Construction,
    choose,
    least_n_epsilon,
    rarest_for,
    trees_for,
)
from pcqr.releases.protocol.plan import Budget
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.plan import PublishedPlan

PREDICATES = tuple(Predicate(0, float(cut)) for cut in range(12))
TREES = DecisionTrees(predicates=PREDICATES)
PLAIN = FeatureMap(PredicateVectors.of(PREDICATES, 1), None, 256)
MAPS: Maps = {"plain": PLAIN}
PUBLIC = np.random.default_rng(0).normal(size=(500, 3))
CHOICES: tuple[Choice, ...] = get_args(Choice)


def request(**changes: Any) -> Request:
    plain = Request(records=20_000, features=1, hypotheses=TREES, budget=Budget(1.0, 1e-6))
    return plain.but(**changes)


# The rule -------------------------------------------------------------------------------------------------------------

TREE, PLAIN_ONE = Construction(has_tree=True, maps=()), Construction(has_tree=True, maps=("plain",))
SOME = Construction(has_tree=True, maps=("some ferns",))
PILOTS = Construction(has_tree=True, maps=("some ferns", "mostly ferns"))


@pytest.mark.parametrize(
    ("records", "epsilon", "expected"),
    [
        (1, 1.0, TREE),
        (2_999, 1.0, TREE),
        (3_000, 1.0, PLAIN_ONE),
        (29_999, 1.0, PLAIN_ONE),
        (30_000, 1.0, SOME),
        (149_999, 1.0, SOME),
        (150_000, 1.0, PILOTS),
        (10**9, 1.0, PILOTS),
        (299_999, 0.01, TREE),
        (300_000, 0.01, PLAIN_ONE),
        (400_000, 0.05, PLAIN_ONE),
        (400_000, 0.1, SOME),
        (1_500_000, 0.1, PILOTS),
        (750, 4.0, PLAIN_ONE),
    ],
)
def test_the_rule_turns_at_n_times_epsilon(records: int, epsilon: float, expected: Construction) -> None:
    assert choose(records, epsilon) == choose(records, epsilon, "auto") == expected
    assert choose(records, epsilon, "tree") == TREE
    linear = choose(records, epsilon, "linear")
    assert linear == Construction(has_tree=False, maps=expected.maps or ("plain",))


def test_balanced_labels_have_a_linear_classifier_from_a_smaller_n_times_epsilon_on() -> None:
    found = [choose(records, 0.1, is_balanced=True) for records in (19_999, 20_000, 29_999, 30_000, 300_000)]
    assert found == [TREE, PLAIN_ONE, PLAIN_ONE, PLAIN_ONE, SOME]
    assert choose(20_000, 0.1, "tree", is_balanced=True) == TREE
    assert choose(20_000, 0.1, "linear", is_balanced=True) == choose(20_000, 0.1, "linear")


def test_a_tree_has_all_of_epsilon_alone_and_a_fifth_beside_a_linear_classifier() -> None:
    assert (TREE.tree_share, PLAIN_ONE.tree_share, PILOTS.tree_share) == (1.0, 0.2, 0.2)


def test_trees_are_few_and_stop_early_where_little_can_be_learned() -> None:
    assert trees_for(1, 1.0) == trees_for(49, 1.0) == DecisionTrees(deepest=2, stop=0.8, cuts=10)
    assert trees_for(50, 1.0) == trees_for(599, 1.0) == DecisionTrees(deepest=3, stop=0.5, cuts=10)
    assert trees_for(60_000, 0.01) == trees_for(1_499, 1.0) == DecisionTrees(cuts=15)
    assert trees_for(150_000, 0.01) == trees_for(10**9, 1.0) == DecisionTrees()


# The feature maps -----------------------------------------------------------------------------------------------------


def maps_for(
    records: int, epsilon: float = 1.0, classes: int = 2, method: Choice = "auto", public: Any = PUBLIC
) -> Maps:
    asked = linear_predicates(rarest_for(records, epsilon), records, public, None) or PREDICATES
    return feature_maps(choose(records, epsilon, method), records, epsilon, classes, asked, 3, public, None)


@pytest.mark.parametrize("predicates", [2, 3])
def test_at_the_least_strength_a_predicate_that_gains_a_quarter_is_as_likely_as_a_single_label(predicates: int) -> None:
    """Exactly, for trees of depth 1 and two labels that are equally common."""
    columns = np.array([[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 0, 1, 1]], float)
    y, gaining = [0, 0, 0, 1, 0, 1, 1, 1], (0, 0, 0, 0, 1, 1, 1, 1)
    trees = DecisionTrees(depth=1, predicates=tuple(Predicate(j, 0.5) for j in range(predicates)))
    inverse_temperature = least_n_epsilon(predicates, 2) / (2 * len(y))  # η = ε/2
    law = sampler_law(trees, columns[:predicates].T, y, inverse_temperature)
    labels = math.exp(law[(0,) * 8]) + math.exp(law[(1,) * 8])
    assert math.exp(law[gaining]) == pytest.approx(labels, rel=1e-9)


def test_the_maps_are_those_of_the_construction() -> None:
    assert maps_for(2_999) == {}
    assert list(maps_for(3_000)) == ["plain"]
    assert list(maps_for(30_000)) == ["some ferns"]
    assert list(maps_for(150_000)) == list(maps_for(150_000, method="linear")) == ["some ferns", "mostly ferns"]
    some, mostly = maps_for(150_000).values()
    assert (some.share, mostly.share) == (128, 13)
    assert some.count < mostly.count
    assert some.dense == mostly.dense


@pytest.mark.parametrize("records", [30_000, 150_000])
def test_where_nothing_says_how_to_make_ferns_there_is_the_plain_map(records: int) -> None:
    """Numbers without bounds, and no public rows: one map, and no pilots."""
    made = maps_for(records, public=None)
    assert list(made) == ["plain"]
    assert made["plain"] == FeatureMap(PredicateVectors.of(PREDICATES, 3), None, 256)
    asked = request(records=records, features=3)
    stage = plan_published(asked, "auto", made).stage
    assert isinstance(stage, Sequence)
    assert [type(each) for each in stage.stages] == [DrawStage, LinearStage]
    bounded = Schema((Column("a", bounds=(0.0, 12.0)), Column("b"), Column("c")))
    with_ferns = feature_maps(choose(records, 1.0), records, 1.0, 2, PREDICATES, 3, None, bounded)
    assert "plain" not in with_ferns


# The plans ------------------------------------------------------------------------------------------------------------


def kinds(stage: Stage) -> Any:
    match stage:
        case Sequence(parts):
            return [kinds(part) for part in parts]
        case Branch(options):
            return {kinds(option) for option in options}
        case LinearStage():
            return stage.features
    return type(stage).__name__.removesuffix("Stage")


def planned(
    records: int, method: Choice = "auto", epsilon: float = 1.0, delta: float = 1e-6, classes: int = 2
) -> PublishedPlan:
    trees = replace(TREES, labels=classes)
    asked = request(records=records, epsilon=epsilon, delta=delta, features=3, hypotheses=trees)
    return plan_published(asked, method, maps_for(records, epsilon, classes, method), public=PUBLIC)


def test_the_kinds_of_plans() -> None:
    some, mostly = "some ferns", "mostly ferns"
    piloted = [some, mostly, "Comparison", {some, mostly}]
    assert kinds(planned(700).stage) == kinds(planned(10**6, "tree").stage) == ["Draw", "LeafCounts"]
    assert kinds(planned(3_000).stage) == ["Draw", "plain"]
    assert kinds(planned(30_000).stage) == ["Draw", some]
    assert kinds(planned(150_000).stage) == ["Draw", *piloted]
    assert kinds(planned(700, "linear").stage) == kinds(planned(3_000, "linear").stage) == "plain"
    assert kinds(planned(30_000, "linear").stage) == some
    assert kinds(planned(150_000, "linear").stage) == piloted
    assert kinds(planned(150_000, classes=5).stage) == ["Draw", *piloted], "the same for any number of classes"


def test_the_options_of_a_branch_are_the_pilots_and_stand_in_their_order() -> None:
    """A comparison says 0 or 1: which of the two before it, and which of the two after it."""
    stage = planned(150_000).stage
    assert isinstance(stage, Sequence)
    _, first, second, comparison, branch = stage.stages
    assert isinstance(branch, Branch)
    for pilot, option in zip((first, second), branch.options, strict=True):
        assert isinstance(pilot, LinearStage)
        assert isinstance(option, LinearStage)
        assert pilot.features == option.features
        assert (pilot.ferns, pilot.depth, pilot.share, pilot.dense) == (
            option.ferns,
            option.depth,
            option.share,
            option.dense,
        )
    assert isinstance(comparison, ComparisonStage)
    assert (comparison.records, comparison.bound, comparison.lead) == (150_000, LARGEST_TERM, 0)
    assert {pilot.features for pilot in (first, second) if isinstance(pilot, LinearStage)} == {
        "some ferns",
        "mostly ferns",
    }


@settings(max_examples=25, deadline=None)
@given(
    epsilon=st.floats(0.05, 8.0),
    delta=st.sampled_from([1e-5, 1e-6, 1e-9]),
    records=st.sampled_from([1_000, 8_000, 35_000, 440_000]),
    method=st.sampled_from(CHOICES),
    classes=st.sampled_from([2, 7]),
)
def test_every_plan_keeps_its_budget_and_uses_it_up(
    epsilon: float, delta: float, records: int, method: Choice, classes: int
) -> None:
    plan = planned(records, method, epsilon, delta, classes)
    context = Context(replace(TREES, labels=classes), records, 3)
    stated = account(plan.stage, context, delta)
    assert (stated.epsilon, stated.delta) == (plan.guarantee.epsilon, plan.guarantee.delta)
    assert plan.guarantee.within(epsilon, delta)
    # Where the grid of millions of cells is no longer small beside δ, the figure jumps, and a part of ε stays unused.
    assert plan.guarantee.epsilon > (0.999 if epsilon <= 1.0 and delta >= 1e-6 else 0.9) * epsilon
    assert plan.guarantee.is_pure is bool(parts_of(plan.stage, LeafCountsStage))
    assert plan.guarantee.rho is not None


@pytest.mark.parametrize("method", ["auto", "linear"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_shares_of_mu_add_up_by_squares(method: Choice, epsilon: float) -> None:
    """Two pilots, their comparison, and what is left for either option: all of it."""
    stage = planned(600_000, method, epsilon).stage
    assert isinstance(stage, Sequence)
    first, second, comparison, branch = stage.stages[-4:]
    assert isinstance(branch, Branch)
    assert isinstance(comparison, ComparisonStage)

    def mu(part: Stage) -> float:
        assert isinstance(part, LinearStage | ComparisonStage)
        return math.sqrt(part.sums.squared_mu)

    options = [mu(option) for option in branch.options]
    assert options == pytest.approx([options[0]] * 2), "both have the same μ"
    whole = math.sqrt(mu(first) ** 2 + mu(second) ** 2 + mu(comparison) ** 2 + options[0] ** 2)
    assert [mu(first) / whole, mu(second) / whole] == pytest.approx([0.2, 0.2])
    assert mu(comparison) / whole == pytest.approx(0.14)
    assert options[0] / whole == pytest.approx(math.sqrt(1 - 2 * 0.2**2 - 0.14**2))
    assert (PILOT_SHARE, COMPARISON_SHARE, TREE_SHARE) == (0.2, 0.14, 0.2)


@settings(max_examples=200, deadline=None)
@given(epsilon=st.floats(0.001, 100.0), records=st.sampled_from([50, 2_000, 10**7]), labels=st.sampled_from([2, 7]))
def test_a_tree_and_the_counts_at_its_leaves_use_up_epsilon_and_no_delta(
    epsilon: float, records: int, labels: int
) -> None:
    trees = replace(TREES, labels=labels)
    asked = request(epsilon=epsilon, records=records, hypotheses=trees)
    plan = plan_published(asked, "tree")
    assert isinstance(plan.stage, Sequence)
    draw, counts = plan.stage.stages
    assert isinstance(draw, DrawStage)
    assert isinstance(counts, LeafCountsStage)
    context = Context(trees, records, 1)
    by_itself = [account(stage, context).epsilon for stage in (draw, counts)]
    assert by_itself == [pytest.approx((1.0 - LEAF_SHARE) * epsilon), pytest.approx(LEAF_SHARE * epsilon)]
    assert by_itself[1] <= LEAF_SHARE * epsilon
    assert math.fsum(by_itself) <= plan.guarantee.epsilon <= epsilon
    assert plan.guarantee.epsilon > (1.0 - 1e-11) * epsilon
    assert (plan.guarantee.delta, plan.guarantee.proof) == (0.0, "leaf_counts")
    assert plan.guarantee.steps[-1] == f"noisy counts at its leaves: 2/b, b = {counts.scale:.6g}"


def test_the_tree_of_pilots_has_its_share_of_epsilon() -> None:
    plan = planned(600_000)
    assert isinstance(plan.stage, Sequence)
    draw = plan.stage.stages[0]
    assert isinstance(draw, DrawStage)
    found = account(draw, Context(TREES, 600_000, 3)).epsilon
    assert found == pytest.approx(0.2, rel=1e-6)
    assert found <= 0.2


@pytest.mark.parametrize("classes", [2, 5])
def test_beside_a_tree_every_map_has_room_for_it(classes: int) -> None:
    for records in (3_000, 30_000, 150_000):
        beside, by_itself = (planned(records, method, classes=classes).stage for method in CHOICES if method != "tree")
        for with_tree, without in zip(parts(beside), parts(by_itself), strict=True):
            assert with_tree.dense >= without.dense
            width = len(linear_predicates(rarest_for(records, 1.0), records, PUBLIC, None))
            assert with_tree.dense == max(width + classes, without.dense)
            assert with_tree.ferns == without.ferns


def parts(stage: Stage) -> list[LinearStage]:
    return [part for part in stage.within() if isinstance(part, LinearStage)]


def test_several_classes_have_a_block_of_weights_each() -> None:
    for records in (3_000, 150_000):
        for part in parts(planned(records, classes=3).stage):
            assert part.classes == part.blocks == 3
        assert planned(records, classes=3).guarantee.within(1.0, 1e-6)


# What is refused ------------------------------------------------------------------------------------------------------


def test_what_is_refused() -> None:
    for unknown in ("forest", "", "TREE", None):
        with pytest.raises(ParameterError, match="method must be one of 'auto', 'tree', 'linear'"):
            plan_published(request(), unknown)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="hypotheses"):
        plan_published(request(hypotheses=Thresholds()), "auto", MAPS)
    nothing: tuple[Maps | None, ...] = (None, {})
    for method in ("linear", "auto"):
        for maps in nothing:
            with pytest.raises(ParameterError, match="maps must be a feature map for the linear classifier"):
                plan_published(request(), method, maps)
    with pytest.raises(ParameterError, match="epsilon"):
        plan_published(request(epsilon=1e12), "auto", MAPS)


def test_a_tree_alone_needs_neither_maps_nor_delta() -> None:
    by_itself = plan_published(request(delta=0.0), "tree")
    assert by_itself.guarantee.is_pure
    assert by_itself == plan_published(request(delta=0.0), "tree", MAPS)
    with pytest.raises(ParameterError, match="delta"):
        plan_published(request(delta=0.0), "linear", MAPS)
