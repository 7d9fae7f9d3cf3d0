"""Dense vectors and ferns against their definitions, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.data.records import vectors
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import (
    LARGEST_COLUMN,
    LARGEST_COORDINATE,
    LARGEST_ENTRY,
    UNIT,
    USUAL_NORM,
    ColumnVectors,
    Directions,
    PredicateVectors,
)
from pcqr.data.schema import Column, Schema
from pcqr.errors import ParameterError

COLUMNS = 3
Points = NDArray[np.float64]


def some_points(count: int, seed: int) -> Points:
    return np.random.default_rng(seed).normal(size=(count, COLUMNS))


def some_predicates(count: int, seed: int) -> tuple[Predicate, ...]:
    generator = np.random.default_rng(seed)
    return tuple(Predicate(int(generator.integers(COLUMNS)), float(generator.normal())) for _ in range(count))


def some_directions(rows: int, columns: int, shift: int, seed: int) -> Directions:
    matrix = np.random.default_rng(seed).integers(-LARGEST_COORDINATE, LARGEST_COORDINATE + 1, (rows, columns))
    matrix[0, 0] = LARGEST_COORDINATE
    return Directions.of(matrix.astype(np.int16), shift)


def plain_seen(entries: list[int], directions: Directions | None) -> list[int]:
    """⌊u·D/2^shift⌋ cut, in Python's integers."""
    if directions is None:
        return entries
    columns = directions.matrix.T.tolist()
    sums = [sum(a * b for a, b in zip(entries, column, strict=True)) >> directions.shift for column in columns]
    return [min(max(each, -LARGEST_COORDINATE), LARGEST_COORDINATE) for each in sums]


@given(count=st.integers(1, 40), seed=st.integers(0, 2**32), shift=st.none() | st.integers(0, 30))
def test_predicates_as_vectors(count: int, seed: int, shift: int | None) -> None:
    generator, X = np.random.default_rng(seed), some_points(20, seed + 1)
    holding, failing = (tuple(map(int, generator.integers(-LARGEST_ENTRY, LARGEST_ENTRY + 1, count))) for _ in range(2))
    directions = None if shift is None else some_directions(count + 1, 5, shift, seed)
    found = PredicateVectors(some_predicates(count, seed), holding, failing, COLUMNS, directions)
    asked = list(zip(found.predicates, holding, failing, strict=True))
    for point, vector in zip(X, found.vectors(X).tolist(), strict=True):
        entries = [yes if point[predicate.feature] > predicate.cut else no for predicate, yes, no in asked]
        assert vector == plain_seen([*entries, UNIT], directions)
    assert found.size == found.vectors(X).shape[1]


@given(seed=st.integers(0, 2**32), shift=st.none() | st.integers(0, 30), scale=st.floats(0.0, 1e300))
def test_columns_as_vectors(seed: int, shift: int | None, scale: float) -> None:
    X, directions = some_points(20, seed), None if shift is None else some_directions(COLUMNS, 4, shift, seed)
    X[0] = np.array([1e308, -1e308, 5e-324])
    found = ColumnVectors((0.5, 1e308, -0.25), (scale, scale, 7000.0), COLUMNS, 99, directions)
    for point, vector in zip(X, found.vectors(X).tolist(), strict=True):
        entries = []
        for value, centre, factor in zip(point.tolist(), found.centres, found.scales, strict=True):
            moved = min(max(value - centre, -1.7976931348623157e308), 1.7976931348623157e308) * factor
            entries.append(round(min(max(moved, -LARGEST_COLUMN), LARGEST_COLUMN)))
        assert vector == [*plain_seen(entries, directions), 99]
    assert found.size == found.vectors(X).shape[1]


@given(seed=st.integers(0, 2**32), whitening=st.sampled_from([0.0, 0.55]))
def test_what_vectors_of_predicates_are_spread_over(seed: int, whitening: float) -> None:
    """The mean of ‖u‖² on the public points, in units of the constant: a number is 1, a category ¼ or less."""
    public = np.column_stack([some_points(400, seed), np.arange(400) % 3 == 0, np.arange(400) < 4]).astype(np.float64)
    cuts = [Predicate(0, cut) for cut in (-0.5, 0.0, 0.5)] + [Predicate(column, 0.5) for column in (3, 4)]
    found = PredicateVectors.of(cuts, COLUMNS + 2, public, whitening)
    entries = PredicateVectors.of(cuts, COLUMNS + 2, public, 0.0).vectors(public) / UNIT
    assert found.spread == pytest.approx((entries**2).sum(axis=1).mean(), rel=1e-2)
    assert found.spread == pytest.approx(1 + 1 + 0.25 * (1 + 0.01 * 0.99 / vectors.LEAST_DEVIATION**2), rel=1e-2)


def test_a_vector_is_the_same_beside_any_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, in blocks and alone, in another order of memory: exact products know no neighbours."""
    X = some_points(300, 1)
    maps = (
        PredicateVectors.of(some_predicates(40, 2), COLUMNS, some_points(500, 3)),
        ColumnVectors.of(some_points(500, 3), most=2),
    )
    for each in maps:
        whole = each.vectors(X)
        assert each.directions is not None
        with monkeypatch.context() as patched:
            patched.setattr(vectors, "_CELLS", 300)
            assert (each.vectors(X) == whole).all()
        assert (np.concatenate([each.vectors(X[i : i + 1]) for i in range(300)]) == whole).all()
        assert (each.vectors(np.asfortranarray(X)[::-1])[::-1] == whole).all()


def test_public_points_centre_every_coordinate() -> None:
    generator = np.random.default_rng(0)
    public = np.column_stack([generator.normal(size=500), generator.random(500) < 0.02])
    predicates = [*(Predicate(0, cut) for cut in (-1.0, 0.0, 0.5, 2.0)), Predicate(1, 0.5)]
    made = PredicateVectors.of(predicates, 2, public, whitening=0.0)
    assert np.abs(made.vectors(public)[:, :-1].mean(axis=0)).max() <= 0.5
    assert max(map(abs, (*made.holding, *made.failing))) < LARGEST_ENTRY


def test_predicates_are_in_standard_units_a_number_weighs_as_the_constant_a_category_half() -> None:
    public = np.column_stack([np.arange(1000.0), np.arange(1000) % 2, np.arange(1000) % 20 == 0])
    predicates = [*(Predicate(0, cut) for cut in (9.5, 199.5, 499.5, 799.5)), Predicate(1, 0.5), Predicate(2, 0.5)]
    vectors = PredicateVectors.of(predicates, 3, public, whitening=0.0).vectors(public).astype(np.float64)
    squares = (vectors**2).mean(axis=0) / UNIT**2
    assert squares[1:] == pytest.approx([1 / 4, 1 / 4, 1 / 4, 1 / 4, 1 / 4, 1.0], rel=0.02)
    assert squares[0] == pytest.approx(0.01 * 0.99 / 0.2**2 / 4, rel=0.05), "a deviation below ⅕ is taken as ⅕"


def test_without_public_points_shares_are_guessed() -> None:
    predicates = [Predicate(0, 5.0), Predicate(1, 0.5), Predicate(0, 1.0), Predicate(0, 3.0), Predicate(0, 9.0)]
    made = PredicateVectors.of(predicates, 2)
    shares = -np.array(made.failing) / (np.array(made.holding) - np.array(made.failing))
    assert shares == pytest.approx([0.4, 0.1, 0.8, 0.6, 0.2], abs=0.005)


def test_public_points_whiten_in_part() -> None:
    """Directions are as long as their singular values to the power .7, and vectors use their bits."""
    generator = np.random.default_rng(0)
    public = generator.normal(size=(2000, 1)) + 0.3 * generator.normal(size=(2000, COLUMNS))
    predicates = [Predicate(column, cut) for column in range(COLUMNS) for cut in (-1.0, -0.3, 0.3, 1.0)]
    plain, found = (PredicateVectors.of(predicates, COLUMNS, public, power) for power in (0.0, 0.3))
    assert plain.directions is None
    rows = plain.vectors(public).astype(np.float64)
    values = np.linalg.svd(rows / np.linalg.norm(rows, axis=1)[:, None], compute_uv=False)
    seen = found.vectors(public).astype(np.float64)
    assert USUAL_NORM / 2 < np.sqrt((seen**2).sum(axis=1).mean()) <= USUAL_NORM
    lengths = np.linalg.norm(seen / np.linalg.norm(rows, axis=1)[:, None], axis=0)
    assert lengths / lengths[0] == pytest.approx((values / values[0]) ** 0.7, rel=0.01)
    columns = ColumnVectors.of(public, most=2)
    assert (columns.size, columns.directions and columns.directions.columns) == (3, 2)
    assert PredicateVectors.of(predicates, COLUMNS, public[:47]).directions is None, "too few to tell"
    assert PredicateVectors.of(predicates, COLUMNS).directions is None


def test_a_combination_that_never_varies_has_no_direction() -> None:
    public = np.tile(some_points(200, 5)[:, :1], COLUMNS)
    predicates = [Predicate(column, 0.0) for column in range(COLUMNS)]
    found = PredicateVectors.of(predicates, COLUMNS, public)
    assert found.size == 2, "the constant, and what the three columns say alike"


def test_columns_in_standard_units_and_constant_ones_say_nothing() -> None:
    public = np.column_stack([np.arange(100.0), np.full(100, 7.0), 1e6 * np.arange(100.0)])
    found = ColumnVectors.of(public)
    seen = found.vectors(public).astype(np.float64)
    assert seen[:, :3].std(axis=0) == pytest.approx([UNIT, 0.0, UNIT], rel=0.01)
    assert np.abs(seen[:, :3].mean(axis=0)).max() < 1.0
    assert seen[0, 3] == pytest.approx(0.25 * np.sqrt(2) * UNIT, rel=0.01)


def test_columns_of_one_unit_keep_it_and_a_rare_value_is_not_blown_up() -> None:
    """Deviations of 1 and 3 could be an encoder's; 1 and 1,000 are two units."""
    public = np.random.default_rng(0).normal(size=(1_000, 2))
    alike = ColumnVectors.of(public * (1.0, 3.0))
    assert alike.scales[0] == alike.scales[1]
    assert alike.scales[0] == pytest.approx(UNIT / np.sqrt(5.0), rel=0.05)
    unlike = ColumnVectors.of(public * (1.0, 1_000.0))
    assert unlike.scales[0] / unlike.scales[1] == pytest.approx(1_000.0, rel=0.1)
    rare = np.column_stack([np.arange(1_000.0), np.arange(1_000) == 7])
    assert ColumnVectors.of(rare).vectors(np.array([[0.0, 1.0]]))[0, 1] == pytest.approx(10 * UNIT, rel=0.01)


def test_columns_within_bounds_are_in_the_units_of_an_even_spread() -> None:
    found = ColumnVectors.within([(0.0, 12.0), (-1e308, 1e308), (5.0, 5.0)] * 4)
    seen = found.vectors(np.array([[6.0, 0.0, 5.0] * 4, [12.0, 1e308, 7.0] * 4])).astype(np.float64)
    assert seen[0, :3].tolist() == [0.0, 0.0, 0.0]
    assert seen[1, :3] == pytest.approx([np.sqrt(3.0) * UNIT, np.sqrt(3.0) * UNIT, 0.0], abs=1.0)
    assert seen[0, -1] == round(0.25 * np.sqrt(12) * UNIT)


@pytest.mark.parametrize("value", [0.0, 1e-310, 1e200, 1.7e308])
def test_public_columns_at_the_ends_of_float64_make_a_map_all_the_same(value: float) -> None:
    """Warnings are errors here."""
    public = np.column_stack([np.tile([-value, value], 20), np.arange(40.0)])
    for found in (ColumnVectors.of(public), ColumnVectors.of(public, most=2), ColumnVectors.of(public[:1], most=1)):
        assert np.isfinite(found.scales).all()
        assert found.vectors(public).any(axis=1).all()


@given(count=st.integers(1, 5), depth=st.integers(1, 16), seed=st.integers(0, 2**32))
def test_cells_are_the_answers_first_predicate_first(count: int, depth: int, seed: int) -> None:
    X, ferns = some_points(30, seed), Ferns(some_predicates(count * depth, seed + 1), depth, COLUMNS)
    found = ferns.cells(X)
    assert found.shape == (count, 30) == (ferns.count, 30)
    assert found.dtype == np.uint16
    for fern in range(count):
        asked = ferns.predicates[fern * depth : (fern + 1) * depth]
        for i, point in enumerate(X):
            answers = "".join("1" if point[predicate.feature] > predicate.cut else "0" for predicate in asked)
            assert found[fern, i] == int(answers, 2)


def test_ferns_of_public_points_cut_numbers_where_they_are_and_indicators_between() -> None:
    generator = np.random.default_rng(0)
    public = np.column_stack([generator.normal(size=200), np.ones(200), generator.random(200) < 0.1, np.arange(200)])
    ferns = Ferns.of(public, (0, 1, 2, 3), count=300, depth=10, seed=5)
    assert (ferns.count, ferns.depth, ferns.features) == (300, 10, 4)
    asked = [[predicate.cut for predicate in ferns.predicates if predicate.feature == column] for column in range(4)]
    assert set(asked[0]) <= set(public[:, 0])
    assert (asked[1], set(asked[2])) == ([], {0.5})
    assert len(set(asked[3])) > 190
    # A number weighs 128, an indicator that holds for a share m of the rows 64·4m(1−m): five deviations at most.
    held = float(np.mean(public[:, 2]))
    weight = np.ceil(256 * held * (1 - held))
    for column, share in ((0, 128 / (256 + weight)), (2, weight / (256 + weight))):
        assert abs(len(asked[column]) - 3000 * share) < 5 * np.sqrt(3000 * share * (1 - share))
    assert ferns == Ferns.of(public, (3, 2, 1, 0), count=300, depth=10, seed=5)
    assert ferns != Ferns.of(public, (0, 1, 2, 3), count=300, depth=10, seed=6)


def test_an_indicator_that_tells_more_is_asked_more_often() -> None:
    """Those of a half, a tenth and nine tenths of the rows: 1, .36 and .36. A constant column is never asked."""
    places = np.arange(100)
    public = np.column_stack([places < 50, places < 10, places < 90, places < 0]).astype(np.float64)
    ferns = Ferns.of(public, (0, 1, 2, 3), count=400, depth=10, seed=1)
    weights = np.array([64, 24, 24, 0])  # 23.04, rounded up
    asked = np.bincount([predicate.feature for predicate in ferns.predicates], minlength=4)
    shares = weights / weights.sum()
    assert (np.abs(asked - 4000 * shares) <= 5 * np.sqrt(4000 * shares * (1 - shares))).all()
    assert abs(asked[0] - 4000 / 3) > 1.5 * 5 * np.sqrt(4000 * 2 / 9), "all alike would be far away"


def test_ferns_of_a_schema_cut_between_the_bounds() -> None:
    schema = Schema((Column("age", bounds=(20, 60)), Column("job", "categorical", ["nurse", "cook"]), Column("free")))
    ferns = Ferns.of(schema, (0, 2), count=50, depth=4, seed=0)
    ages = [predicate.cut for predicate in ferns.predicates if predicate.feature == 0]
    assert 20.0 <= min(ages) < 25.0
    assert 55.0 < max(ages) <= 60.0
    assert {predicate.cut for predicate in ferns.predicates if predicate.feature == 2} == {0.5}
    assert ferns.features == len(schema.features)
    free = schema.feature_names.index("free")
    with pytest.raises(ParameterError, match="bounds in the schema"):
        Ferns.of(schema, (free,), count=1, depth=1, seed=0)


def test_ferns_need_a_column_that_varies() -> None:
    with pytest.raises(ParameterError, match="at least one column that varies"):
        Ferns.of(np.ones((5, 2)), (0, 1), count=1, depth=1, seed=0)


ASKED = (Predicate(0, 0.0), Predicate(2, 0.0))
DENSE = PredicateVectors(ASKED, (1, 2), (0, 0), COLUMNS)
FERNS = Ferns(ASKED, 2, COLUMNS)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: PredicateVectors((), (), (), 3), "predicates"),
        (lambda: PredicateVectors(ASKED, (1, 2), (0, 0), 2), "predicates"),
        (lambda: PredicateVectors(ASKED, (1,), (0, 0), 3), "holding"),
        (lambda: PredicateVectors(ASKED, (1, 2), (0, -LARGEST_ENTRY - 1), 3), "failing"),
        (lambda: PredicateVectors(ASKED, (1, 2), (0, True), 3), "failing"),
        (lambda: PredicateVectors(ASKED, (1, 2), (0, 0), 3, some_directions(2, 2, 0, 0)), "directions"),
        (lambda: ColumnVectors((0.0,), (1.0, 1.0), 2, 1), "centres"),
        (lambda: ColumnVectors((0.0, 0.0), (1.0, -1.0), 2, 1), "scales"),
        (lambda: ColumnVectors((0.0, float("nan")), (1.0, 1.0), 2, 1), "centres"),
        (lambda: ColumnVectors((0.0, 0.0), (1.0, 1.0), 2, 0), "constant"),
        (lambda: ColumnVectors((0.0, 0.0), (1.0, 1.0), 2, 1, some_directions(3, 1, 0, 0)), "directions"),
        (lambda: ColumnVectors((0.0,) * 65536, (1.0,) * 65536, 65536, 1), "features"),
        (lambda: Ferns(ASKED, 3, COLUMNS), "predicates"),
        (lambda: Ferns(ASKED, 17, COLUMNS), "depth"),
        (lambda: Ferns(ASKED, 1, 2), "predicates"),
        (lambda: Directions.of(np.array([[-32768]], dtype=np.int16), 0), "packed"),
        (lambda: Directions.of(np.array([[1]], dtype=np.int16), 64), "shift"),
        (lambda: FeatureMap(DENSE, FERNS, 0), "share"),
        (lambda: FeatureMap(DENSE, FERNS, 256), "share"),
        (lambda: FeatureMap(DENSE, None, 255), "share"),
        (lambda: FeatureMap(None, None, 0), "share"),
        (lambda: FeatureMap(DENSE, FERNS, 257), "share"),
        (lambda: FeatureMap(DENSE, Ferns(ASKED, 2, 4), 7), "ferns"),
    ],
)
def test_what_is_no_feature_map_is_refused(make: object, name: str) -> None:
    assert callable(make)
    with pytest.raises(ParameterError, match=name):
        make()
