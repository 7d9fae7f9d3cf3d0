"""When features are dense, and what they are scaled by: public numbers, public rows, the schema."""

from __future__ import annotations

import numpy as np
import pytest

from pcqr.algorithms import evidence
from pcqr.errors import ParameterError
from pcqr.planning.classifiers.dense import (
    DENSE,
    DENSE_AS_IT_IS,
    dense_features,
    directions_for,
    is_dense,
    recipe_of,
)
from pcqr.planning.classifiers.linear import make_feature_map
from pcqr.planning.classifiers.recipes import plain, posterior
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import ColumnVectors
from pcqr.schema import Column, Schema


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


def test_steps_are_long_only_where_public_rows_have_centred_the_vectors() -> None:
    public = np.random.default_rng(0).normal(size=(400, 5))
    assert recipe_of(dense_features(5, public, None), 1_000, 1.0) is DENSE
    assert recipe_of(dense_features(5, public[:10], None), 1_000, 1.0) is DENSE_AS_IT_IS
    assert recipe_of(dense_features(5, None, None), 1_000, 1.0) is DENSE_AS_IT_IS
    recipe = plain(1_000, 1.0)
    asked = make_feature_map(recipe, (Predicate(0, 0.0),), 5, public, None)
    assert recipe_of(asked, 8_000, 1.0) == plain(8_000, 1.0)
    assert recipe_of(asked, 1_000, 1.0, 3) == plain(1_000, 1.0, 3)
    whitened = [plain(strength, 1.0, classes).whitening for classes in (2, 3) for strength in (4_999, 5_000, 8_000)]
    assert whitened == [0.4, 0.4, 0.55, 0.2, 0.55, 0.55], "several classes are learned by descent, as ever"


def test_few_sums_do_where_noise_is_large_and_public_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    public, question = np.random.default_rng(0).normal(size=(400, 5)), (Predicate(0, 0.0),)
    for rows, strength, expected in ((400, 7_999, posterior), (400, 8_000, plain), (3, 7_999, plain)):
        features = make_feature_map(plain(strength, 1.0), question, 5, public[:rows], None)
        assert recipe_of(features, strength, 1.0) == expected(strength, 1.0)
    without = make_feature_map(plain(1_000, 1.0), question, 5, None, None)
    assert recipe_of(without, 1_000, 1.0) == plain(1_000, 1.0)
    wide = make_feature_map(plain(1_000, 1.0), tuple(Predicate(place, 0.0) for place in range(5)), 5, public, None)
    for most, expected in ((wide.size, posterior), (wide.size - 1, plain)):
        monkeypatch.setattr(evidence, "MOST_COORDINATES", most)
        assert recipe_of(wide, 1_000, 1.0) == expected(1_000, 1.0), "time grows with the third power"
