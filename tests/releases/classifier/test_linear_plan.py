"""Plans for a linear classifier: within (ε, δ), with no more noise than that takes, from public things alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stages import MAP, guarantee_of, planned, request_for

from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.predicates import Predicate
from pcqr.data.schema import Column, Schema
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.privacy.accounting import BoundedRangeEvent, Composed
from pcqr.privacy.composition import account_for
from pcqr.releases.classifier.descent import shape_of
from pcqr.releases.classifier.feature_maps import CUTS, MOMENTUM, largest_mu, linear_predicates, make_feature_map
from pcqr.releases.classifier.plan import LinearStage
from pcqr.releases.classifier.planning import plan_published
from pcqr.releases.classifier.rule import RAREST, Recipe, rarest_for, recipe_for

PUBLIC = np.random.default_rng(0).normal(size=(400, 3))
PUBLIC[:, 2] = np.arange(400) % 50 == 0  # a category of 2 %
SCHEMA = Schema(
    (Column("age", bounds=(18, 90)), Column("free"), Column("job", "categorical", ["nurse", "cook", "clerk"]))
)
SMALL, RARE = Recipe(100, 5, 3, 1.0, 100.0, 20, 60, 0.3), 0.01
ASKED = linear_predicates(RARE, 1_000, PUBLIC, None)
FEATURES = make_feature_map(SMALL, ASKED, 3, PUBLIC, None)
MOST_CELLS = make_feature_map(replace(SMALL, ferns=400, depth=13), ASKED, 3, PUBLIC, None)


@given(
    records=st.integers(1, 2**31 - 1),
    features=st.sampled_from([FEATURES, MOST_CELLS]),
    epsilon=st.floats(1e-3, 20.0),
    delta=st.floats(1e-9, 0.1),
    classes=st.sampled_from([2, 3, 20]),
)
def test_a_plan_keeps_its_promise_and_wastes_next_to_nothing(
    records: int, features: FeatureMap, epsilon: float, delta: float, classes: int
) -> None:
    plan = planned(records, features, SMALL, epsilon, delta, classes=classes)
    assert guarantee_of(plan, records, delta).within(epsilon, delta)
    assert not guarantee_of(replace(plan, scale=plan.scale * (1 - 1e-5)), records, delta).within(epsilon, delta)
    assert SMALL.least_steps <= plan.steps <= SMALL.most_steps
    assert plan.step_size <= SMALL.largest_step / records
    assert (plan.dense, plan.ferns, plan.depth, plan.share) == shape_of(features)


def test_other_releases_beside_it_are_paid_for() -> None:
    draw = BoundedRangeEvent(0.3)
    plan = planned(1_000, FEATURES, SMALL, 1.0, 1e-6, beside=(draw,))
    assert account_for(Composed((plan.sums, draw)), 1e-6).within(1.0, 1e-6)
    assert plan.scale > planned(1_000, FEATURES, SMALL, 1.0, 1e-6).scale


@pytest.mark.parametrize(("records", "epsilon"), [(1_000, 0.1), (10_000, 1.0), (100_000, 1.0)])
def test_margins_carry_the_noise_of_the_recipe(records: int, epsilon: float) -> None:
    recipe = replace(SMALL, most_steps=10_000)
    plan = planned(records, FEATURES, recipe, epsilon, 1e-6)
    mu = plan.sensitivity * plan.steps**0.5 / plan.scale
    assert plan.steps * plan.step_size / (1 - MOMENTUM) == pytest.approx(recipe.noise * mu, rel=1e-9)


def test_steps_grow_with_the_records_up_to_a_limit() -> None:
    steps = [planned(records, FEATURES, SMALL, 1.0, 1e-6).steps for records in (10**3, 10**5, 2 * 10**5, 10**7)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (SMALL.least_steps, SMALL.most_steps)
    assert len(set(steps)) >= 3


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"records": 0}, "records"),
        ({"records": 2**31}, "records"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -0.1}, "delta"),
    ],
)
def test_bad_numbers_are_refused(change: dict[str, Any], name: str) -> None:
    good: dict[str, Any] = {"records": 100, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(ParameterError, match=name):
        plan_published(request_for(**{**good, **change}), "linear", {"plain": MAP})


def test_the_name_of_the_map_is_the_stages() -> None:
    plan = plan_published(request_for(9_000, 1.0), "linear", {"plain": MAP})
    assert isinstance(plan.stage, LinearStage)
    assert plan.stage.features == "plain"
    assert plan.stage == planned(9_000, MAP, recipe_for("plain", 9_000, 1.0), 1.0)


# --------------------------------------------------------------------------------------------------------------
# The rule


def test_rarer_categories_are_asked_for_where_there_is_more_to_learn_from() -> None:
    assert [rarest_for(1, strength) for strength, _ in RAREST] == [share for _, share in RAREST]
    assert [share for _, share in RAREST] == sorted((share for _, share in RAREST), reverse=True)
    assert rarest_for(10, RAREST[1][0] / 10) == RAREST[1][1]


@pytest.mark.parametrize("classes", [2, 7])
@pytest.mark.parametrize("records", [2_000, 40_000, 600_000])
def test_every_recipe_makes_a_map_and_a_plan(records: int, classes: int) -> None:
    for name in ("plain", "some ferns", "mostly ferns"):
        recipe = recipe_for(name, records, 1.0, classes)
        small = replace(recipe, depth=min(recipe.depth, 4))
        features = make_feature_map(small, ASKED, 3, PUBLIC, None)
        assert (features.share, features.count) == (recipe.share, recipe.ferns)
        plan = planned(records, features, small, 1.0, 1e-6, classes=classes)
        assert guarantee_of(plan, records).within(1.0, 1e-6)


@pytest.mark.parametrize(("classes", "count"), [(2, 400), (3, 266), (7, 114), (100, 50)])
def test_more_classes_have_fewer_ferns(classes: int, count: int) -> None:
    assert recipe_for("mostly ferns", 10**6, 1.0, classes).ferns == count
    assert recipe_for("some ferns", 10**6, 1.0, classes).ferns == max(50, count // 2)


@pytest.mark.parametrize(("records", "count"), [(10**6, 400), (4 * 10**6, 100), (10**8, 4), (10**9, 1)])
def test_cells_of_many_records_fit_into_memory(records: int, count: int) -> None:
    assert recipe_for("mostly ferns", records, 1.0).ferns == count
    assert recipe_for("some ferns", records, 1.0).ferns == min(200, count)


def test_more_records_have_deeper_ferns_and_cells_that_can_be_filled() -> None:
    made = [recipe_for("mostly ferns", records, 1.0) for records in (1, 1_000, 30_000, 80_000, 240_000, 10**6, 10**9)]
    assert [recipe.depth for recipe in made] == [6, 6, 10, 12, 13, 13, 13]
    assert all(
        recipe.ferns << recipe.depth <= max(64, 16 * n) for recipe, n in zip(made[1:3], (1_000, 30_000), strict=True)
    )


# --------------------------------------------------------------------------------------------------------------
# The feature map


def test_public_rows_give_more_predicates_than_trees_have() -> None:
    by_column = [[each.cut for each in ASKED if each.feature == column] for column in range(3)]
    assert [len(cuts) for cuts in by_column] == [CUTS, CUTS, 1]
    assert linear_predicates(0.03, 1_000, PUBLIC, None) == ASKED[:-1]


def test_a_schema_gives_every_category_and_equal_cuts() -> None:
    found = linear_predicates(RARE, 1_000, None, SCHEMA)
    indicators = [place for place, each in enumerate(SCHEMA.features) if each.is_indicator]
    assert [each.feature for each in found] == [0] * CUTS + indicators
    assert linear_predicates(RARE, 1_000, PUBLIC, SCHEMA) == ASKED, "public rows first"
    assert linear_predicates(RARE, 1_000, None, None) == ()


def test_many_records_have_fewer_predicates() -> None:
    assert len(linear_predicates(RARE, 2 * 10**7, PUBLIC, None)) <= 20


def test_ferns_ask_about_the_columns_that_the_predicates_cut() -> None:
    features = make_feature_map(SMALL, ASKED[:CUTS], 3, PUBLIC, None)
    assert features.ferns is not None
    assert {each.feature for each in features.ferns.predicates} == {0}
    assert features == make_feature_map(SMALL, ASKED[:CUTS], 3, PUBLIC, None)


def test_a_schema_alone_makes_ferns_and_nothing_makes_none() -> None:
    asked = (*linear_predicates(RARE, 1_000, None, SCHEMA), Predicate(1, 3.0))
    width = len(SCHEMA.features)
    features = make_feature_map(SMALL, asked, width, None, SCHEMA)
    assert features.ferns is not None
    assert 1 not in {each.feature for each in features.ferns.predicates}, "a number without bounds"
    for nothing in (
        make_feature_map(SMALL, asked, width, None, None),
        make_feature_map(SMALL, (Predicate(1, 3.0),), width, None, SCHEMA),
    ):
        assert (nothing.ferns, nothing.share) == (None, 256)


def test_without_a_share_there_is_no_dense_part() -> None:
    features = make_feature_map(replace(SMALL, share=0), ASKED, 3, PUBLIC, None)
    assert (features.dense, features.share, features.size) == (None, 0, 0)


@pytest.mark.parametrize("others", [(1.0,), (0.5, 0.5), (3.0,)])
def test_other_releases_that_use_up_epsilon_are_named(others: tuple[float, ...]) -> None:
    with pytest.raises(InfeasiblePlan, match="leave nothing of ε = 1 for a linear classifier"):
        largest_mu(((1.0, 10),), 1.0, 1e-6, tuple(map(BoundedRangeEvent, others)))


def test_the_features_of_a_schema_are_not_made_anew_for_each_predicate(monkeypatch: pytest.MonkeyPatch) -> None:
    """With thousands of categories that took a minute."""
    schema = Schema((Column("job", "categorical", [f"job {place}" for place in range(60)]),))
    asked, made, shipped = linear_predicates(RARE, 1_000, None, schema), [], Column.features

    def counted(column: Column) -> Any:
        made.append(1)
        return shipped.__get__(column)

    monkeypatch.setattr(Column, "features", property(counted))
    assert make_feature_map(SMALL, asked, 61, None, schema).ferns is not None
    assert len(made) < 5
