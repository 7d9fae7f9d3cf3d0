"""When features are dense, and what they are scaled by: public numbers, public rows, the schema."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.stages import TREES, planned, request_for

from pcqr.data.records.arrays import Points
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import ColumnVectors
from pcqr.data.schema import Column, Schema
from pcqr.errors import ParameterError
from pcqr.releases.classifier import empirical_bayes
from pcqr.releases.classifier.feature_maps import dense_features, directions_for, is_dense, make_feature_map
from pcqr.releases.classifier.plan import LinearStage, MapName
from pcqr.releases.classifier.planning import plan_published
from pcqr.releases.classifier.rule import DENSE, DENSE_AS_IT_IS, Recipe, recipe_for


def numbers(count: int, **declared: object) -> Schema:
    return Schema(tuple(Column(f"c{place}", **declared) for place in range(count)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "schema", "dense"),
    [
        (100, None, False),
        (101, None, True),
        (101, numbers(101), True),
        (101, numbers(101, bounds=(0.0, 1.0)), True),
        (103, Schema((*numbers(100).columns, Column("job", "categorical", ["cook", "nurse"]))), False),
        (202, numbers(101, missing=True), False),
    ],
)
def test_many_columns_that_are_all_numbers_are_dense(columns: int, schema: Schema | None, dense: bool) -> None:
    assert is_dense(columns, schema) == dense


def test_public_rows_say_whether_columns_that_may_have_gaps_have_them() -> None:
    """A schema that is made of public rows lets every column have gaps, whether or not there are any."""
    rows = np.random.default_rng(0).normal(size=(50, 101))
    schema = Schema.from_public({f"c{place}": rows[:, place].tolist() for place in range(101)})
    encoded = schema.encode({f"c{place}": rows[:, place].tolist() for place in range(101)})
    assert is_dense(202, schema, encoded)
    assert not is_dense(202, schema), "without public rows nobody knows"
    gap = encoded.copy()
    gap[7, [place for place, feature in enumerate(schema.features) if feature.is_indicator][3]] = 1.0
    assert not is_dense(202, schema, gap)
    assert not is_dense(202, schema, (encoded > 0).astype(np.float64)), "columns of two values are no numbers"
    named = Schema((*schema.columns, Column("job", "categorical", ["cook"])))
    assert not is_dense(204, named, np.hstack([encoded, np.zeros((50, 2))])), "a category, even one that nobody has"


@pytest.mark.parametrize(
    ("columns", "public", "directions"),
    [(784, 2_000, 300), (784, 400, 100), (784, 100, 25), (784, 99, None), (120, 2_000, 120), (8, 32, 8), (8, 31, None)],
)
def test_directions_need_public_rows(columns: int, public: int, directions: int | None) -> None:
    assert directions_for(columns, public) == directions


def test_the_map_comes_from_public_rows_else_from_bounds_else_from_a_guess() -> None:
    public = np.random.default_rng(0).normal(3.0, 2.0, size=(400, 5))
    declared = numbers(5, bounds=(-10.0, 10.0))
    assert dense_features(5, public, declared).dense == ColumnVectors.of(public, 5)
    assert dense_features(5, None, declared).dense == ColumnVectors.within([(-10.0, 10.0)] * 5)
    assert dense_features(5, None, None).dense == ColumnVectors.unknown(5)
    with pytest.raises(ParameterError, match="bounds for every number"):
        dense_features(5, None, numbers(5))


def test_a_column_of_zeros_and_ones_has_bounds() -> None:
    schema = Schema((Column("age", bounds=(18.0, 90.0), missing=True),))
    assert dense_features(2, None, schema).dense == ColumnVectors.within([(18.0, 90.0), (0.0, 1.0)])


def stage_on(
    features: FeatureMap, records: int, classes: int = 2, name: MapName = "plain", public: Points | None = None
) -> LinearStage:
    """The stage that is planned for this map, at ε = 1."""
    request = request_for(records, 1.0).but(hypotheses=replace(TREES, labels=classes))
    plan = plan_published(request, "linear", {name: features}, public=public)
    assert isinstance(plan.stage, LinearStage)
    return plan.stage


def by(recipe: Recipe, features: FeatureMap, records: int, classes: int = 2, name: MapName = "plain") -> LinearStage:
    return replace(planned(records, features, recipe, 1.0, classes=classes), features=name)


PUBLIC = np.random.default_rng(0).normal(size=(400, 5))


def test_steps_are_long_only_where_public_rows_have_centred_the_vectors() -> None:
    for rows, recipe in ((PUBLIC, DENSE), (PUBLIC[:10], DENSE_AS_IT_IS), (None, DENSE_AS_IT_IS)):
        features = dense_features(5, rows, None)
        assert stage_on(features, 1_000, name="dense") == by(recipe, features, 1_000, name="dense")
    assert DENSE.largest_step > 2 * DENSE_AS_IT_IS.largest_step
    plain = recipe_for("plain", 1_000, 1.0)
    asked = make_feature_map(plain, (Predicate(0, 0.0),), 5, PUBLIC, None)
    assert stage_on(asked, 8_000, public=PUBLIC) == by(recipe_for("plain", 8_000, 1.0), asked, 8_000)
    assert stage_on(asked, 3_000, 3, public=PUBLIC) == by(recipe_for("plain", 3_000, 1.0, 3), asked, 3_000, 3)
    whitened = [recipe_for("plain", n, 1.0, classes).whitening for classes in (2, 3) for n in (4_999, 5_000, 8_000)]
    assert whitened == [0.4, 0.4, 0.55, 0.2, 0.55, 0.55], "several classes are learned by descent"


def test_on_a_dense_map_there_is_no_tree_beside_the_linear_classifier() -> None:
    features = dense_features(5, PUBLIC, None)
    plan = plan_published(request_for(9_000, 1.0), "auto", {"dense": features})
    assert plan.stage == by(DENSE, features, 9_000, name="dense")
    few = plan_published(request_for(100, 1.0), "auto", {"dense": features})
    assert few.stage == by(DENSE, features, 100, name="dense"), "however few the records are"


def test_few_sums_do_where_noise_is_large_and_public_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    def recipe(strength: int, *, is_empirical_bayes: bool) -> Recipe:
        return recipe_for("plain", strength, 1.0, may_use_bayes=is_empirical_bayes)

    asked = (Predicate(0, 0.0),)
    for rows, strength, is_bayes in ((400, 7_999, True), (400, 8_000, False), (3, 7_999, False)):
        features = make_feature_map(recipe(strength, is_empirical_bayes=False), asked, 5, PUBLIC[:rows], None)
        stage = stage_on(features, strength, public=PUBLIC[:rows])
        assert stage == by(recipe(strength, is_empirical_bayes=is_bayes), features, strength)
        assert stage.is_empirical_bayes is is_bayes
    plain = recipe(5_000, is_empirical_bayes=False)
    without = make_feature_map(plain, asked, 5, None, None)
    assert stage_on(without, 5_000) == by(plain, without, 5_000)
    wide = make_feature_map(plain, tuple(Predicate(place, 0.0) for place in range(5)), 5, PUBLIC, None)
    for most, is_bayes in ((wide.size, True), (wide.size - 1, False)):
        monkeypatch.setattr(empirical_bayes, "MOST_COORDINATES", most)
        found = stage_on(wide, 5_000, public=PUBLIC).is_empirical_bayes
        assert found is is_bayes, "time grows with the third power"
