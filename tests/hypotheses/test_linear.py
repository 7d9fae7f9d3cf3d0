"""The feature map against a plain matrix; linear classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.linear import LinearHypothesis, OneAgainstRest
from pcqr.records.features import LARGEST_ENTRY, UNIT, LinearFeatures
from pcqr.records.predicates import Predicate, evaluate

COLUMNS = 3


def some_features(count: int, seed: int) -> LinearFeatures:
    """`count` predicates on three columns with any entries, the largest ones among them."""
    generator = np.random.default_rng(seed)
    predicates = [Predicate(int(generator.integers(COLUMNS)), float(generator.normal())) for _ in range(count)]
    entries = generator.integers(-LARGEST_ENTRY, LARGEST_ENTRY + 1, (2, count))
    entries[0, 0] = LARGEST_ENTRY
    return LinearFeatures(tuple(predicates), tuple(map(int, entries[0])), tuple(map(int, entries[1])), COLUMNS)


def some_points(count: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(count, COLUMNS))


def plain_matrix(features: LinearFeatures, X: NDArray[np.float64]) -> NDArray[np.int64]:
    """φ, one row for each row of `X`, as its definition has it."""
    holds = evaluate(features.predicates, X)
    rows = np.where(holds, np.array(features.holding), np.array(features.failing))
    return np.column_stack([rows, np.full(X.shape[0], UNIT)])


@given(count=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_norms_margins_and_totals_are_those_of_the_matrix(count: int, seed: int) -> None:
    features, X = some_features(count, seed), some_points(30, seed + 1)
    phi, codes = plain_matrix(features, X), features.encode(X)
    assert features.size == phi.shape[1]
    assert codes.shape == (30, -(-count // 8))
    np.testing.assert_array_equal(features.squared_norms(codes), (phi**2).sum(axis=1))

    weights = np.random.default_rng(seed + 2).normal(size=features.size)
    wanted = phi @ weights / np.linalg.norm(phi, axis=1)
    np.testing.assert_allclose(features.margins(weights, codes), wanted, atol=1e-11)

    factors = np.random.default_rng(seed + 3).integers(-(2**40), 2**40, 30)
    histogram = np.zeros((codes.shape[1], 256), dtype=np.int64)
    for byte in range(codes.shape[1]):
        np.add.at(histogram[byte], codes[:, byte], factors)
    np.testing.assert_array_equal(features.totals(histogram), factors @ phi)


@given(count=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_tables_are_sums_in_a_fixed_order(count: int, seed: int) -> None:
    """To the last bit: rounding that varied from run to run would move every record's vector at once."""
    features = some_features(count, seed)
    weights = np.random.default_rng(seed + 2).normal(size=features.size) * 2.0 ** (seed % 40)
    table, constant = features.tables(weights)
    expected = 0.0
    for failing, weight in zip(features.failing, weights.tolist(), strict=False):
        expected += failing * weight
    assert constant == expected + UNIT * float(weights[-1])
    steps = (spans(features) * weights[:-1]).tolist()
    for code in (0, 1, 128, 90, 255):
        for byte in range(table.shape[0]):
            total = 0.0
            for place, step in enumerate(steps[8 * byte : 8 * byte + 8]):
                total += step * (code >> (7 - place) & 1)
            assert table[byte, code] == total


def test_totals_of_the_largest_table_are_exact() -> None:
    """2³¹ records in two cells, each with the largest factor that the bound 2²⁴ allows."""
    features = LinearFeatures((Predicate(0, 0.0),), (LARGEST_ENTRY,), (-LARGEST_ENTRY,), 1)
    factor = int(2**24 / np.hypot(LARGEST_ENTRY, UNIT))
    histogram = np.zeros((1, 256), dtype=np.int64)
    histogram[0, 128], histogram[0, 0] = 2**30 * factor - 1, -(2**30) * factor
    exact = [LARGEST_ENTRY * (2**31 * factor - 1), -UNIT]
    assert features.totals(histogram).tolist() == exact


def spans(features: LinearFeatures) -> NDArray[np.int64]:
    wide: NDArray[np.int64] = np.array(features.holding) - np.array(features.failing)
    return wide


def test_public_points_centre_every_coordinate() -> None:
    generator = np.random.default_rng(0)
    public = np.column_stack([generator.normal(size=500), generator.random(500) < 0.02])
    predicates = [*(Predicate(0, cut) for cut in (-1.0, 0.0, 0.5, 2.0)), Predicate(1, 0.5)]
    features = LinearFeatures.of(predicates, 2, public)
    assert np.abs(plain_matrix(features, public)[:, :-1].mean(axis=0)).max() <= 0.5
    assert max(map(abs, (*features.holding, *features.failing))) < LARGEST_ENTRY


def test_columns_are_in_standard_units_a_number_weighs_as_the_constant_a_category_half() -> None:
    public = np.column_stack([np.arange(1000.0), np.arange(1000) % 2, np.arange(1000) % 20 == 0])
    predicates = [*(Predicate(0, cut) for cut in (9.5, 199.5, 499.5, 799.5)), Predicate(1, 0.5), Predicate(2, 0.5)]
    phi = plain_matrix(LinearFeatures.of(predicates, 3, public), public)
    squares = (phi**2).mean(axis=0) / UNIT**2
    assert squares[1:] == pytest.approx([1 / 4, 1 / 4, 1 / 4, 1 / 4, 1 / 4, 1.0], rel=0.02)
    assert squares[0] == pytest.approx(0.01 * 0.99 / 0.1**2 / 4, rel=0.05), "a deviation below ⅒ is taken as ⅒"


def test_a_predicate_that_no_public_point_has_gets_a_finite_weight() -> None:
    features = LinearFeatures.of([Predicate(0, 5.0), Predicate(0, 6.0)], 1, np.zeros((10, 1)))
    assert features.failing == (0, 0)
    assert 0 < max(features.holding) < LARGEST_ENTRY


def test_without_public_points_shares_are_guessed() -> None:
    predicates = [Predicate(0, 5.0), Predicate(1, 0.5), Predicate(0, 1.0), Predicate(0, 3.0), Predicate(0, 9.0)]
    features = LinearFeatures.of(predicates, 2)
    shares = -np.array(features.failing) / spans(features)
    assert shares == pytest.approx([0.4, 0.1, 0.8, 0.6, 0.2], abs=0.005)


def test_a_classifier_is_the_sign_of_its_margin() -> None:
    features = LinearFeatures((Predicate(0, 0.0), Predicate(1, 1.0)), (UNIT, 0), (-UNIT, UNIT), COLUMNS)
    hypothesis = LinearHypothesis(features, (1.0, -3.0, 1.0))
    X = np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 2.0, 0.0], [-1.0, 0.0, 0.0]])
    wanted = np.array([2.0, -1.0, 0.0, -3.0]) / np.sqrt([2.0, 3.0, 2.0, 3.0])
    np.testing.assert_allclose(hypothesis.decision_function(X), wanted)
    assert hypothesis.predict(X).tolist() == [1, 0, 0, 0]
    with pytest.raises(DataError, match="columns"):
        hypothesis.predict(X[:, :2])


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"predicates": ()}, "predicates"),
        ({"features": 1}, "predicates"),
        ({"features": 0}, "features"),
        ({"holding": (1,)}, "holding"),
        ({"holding": (1, LARGEST_ENTRY + 1)}, "holding"),
        ({"failing": (1, -LARGEST_ENTRY - 1)}, "failing"),
        ({"failing": (1, 0.5)}, "failing"),
    ],
)
def test_what_is_no_feature_map_is_refused(change: dict[str, object], name: str) -> None:
    good: dict[str, object] = {
        "predicates": (Predicate(0, 0.0), Predicate(1, 0.0)),
        "holding": (1, 2),
        "failing": (0, 0),
        "features": 2,
    }
    LinearFeatures(**good)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=name):
        LinearFeatures(**{**good, **change})  # type: ignore[arg-type]


def test_one_against_rest_is_the_class_with_the_largest_margin() -> None:
    features = LinearFeatures((Predicate(0, 0.0), Predicate(0, 1.0)), (UNIT, UNIT), (0, 0), 1)
    rows = ((-1.0, 0.0, 0.5), (1.0, -2.0, 0.0), (0.0, 1.0, -0.5))
    found = OneAgainstRest(tuple(LinearHypothesis(features, row) for row in rows))
    X = np.array([[-1.0], [0.5], [2.0]])
    assert found.predict(X).tolist() == [0, 1, 2]
    assert found.decision_function(X).shape == (3, 3)
    assert found.decision_function(X)[:, 1] == pytest.approx(found.members[1].decision_function(X))
    with pytest.raises(ParameterError, match="members"):
        OneAgainstRest(found.members[:2])


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 2.0, 3.0), (1.0, float("nan"))])
def test_weights_must_be_finite_and_as_many_as_coordinates(weights: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="weights"):
        LinearHypothesis(LinearFeatures((Predicate(0, 0.0),), (1,), (0,), 1), weights)
