"""Rows that stand in for a table: as cuts and shares say, in each column by itself."""

from __future__ import annotations

import numpy as np
import pytest

from pcqr.data.schema import Column, Schema
from pcqr.data.schema.raw import cut_further, stand_in_rows

COUNT = 150


def rows_of(*columns: Column) -> np.ndarray:
    found = stand_in_rows(Schema(columns), COUNT)
    assert found.shape == (COUNT, sum(column.width for column in columns))
    assert found.tobytes() == stand_in_rows(Schema(columns), COUNT).tobytes()
    assert np.isfinite(found).all()
    return found


@pytest.mark.parametrize("cuts", [[-2.0, 0.0, 7.5], [0.0, np.nextafter(0.0, 1.0), 1e308], [-1.7e308, 1.7e308]])
def test_each_cell_has_its_share_of_the_rows(cuts: list[float]) -> None:
    shares = np.array([0.1, 0.4, 0.2, 0.1] if len(cuts) == 3 else [0.2, 0.5, 0.1])
    number, gap = rows_of(Column("x", cuts=cuts, shares=list(shares), missing=True)).T
    known = number[gap == 0]
    cells = np.bincount(np.searchsorted(cuts, known, side="left"), minlength=len(shares))
    np.testing.assert_allclose(cells / COUNT, shares, atol=1.01 / COUNT)
    assert gap.mean() == pytest.approx(0.2, abs=1.01 / COUNT)
    (sure,) = rows_of(Column("x", cuts=cuts, shares=list(shares))).T
    cells = np.bincount(np.searchsorted(cuts, sure, side="left"), minlength=len(shares))
    np.testing.assert_allclose(cells / COUNT, shares / shares.sum(), atol=1.01 / COUNT)


def test_categories_have_their_shares_and_the_rest_is_another_one_or_missing() -> None:
    a, b, missing = rows_of(Column("job", "categorical", ["a", "b"], shares=[0.2, 0.5])).T
    assert [a.sum(), b.sum(), missing.sum()] == [30, 75, 45]
    a, other, missing = rows_of(Column("job", "categorical", ["a"], other=True, shares=[0.2])).T
    assert [a.sum(), other.sum(), missing.sum()] == [30, 120, 0]


def test_numbers_lie_between_their_bounds_and_columns_are_hardly_correlated() -> None:
    columns = [Column(f"c{place}", bounds=(0, 1), cuts=[0.25]) for place in range(12)]
    found = rows_of(*columns)
    assert found.min() >= 0
    assert found.max() <= 1
    assert len(np.unique(found[:, 0])) == COUNT
    correlations = np.corrcoef(found.T) - np.eye(12)
    assert abs(correlations).max() < 0.3


def test_cells_are_cut_further_and_share_what_they_have() -> None:
    schema = Schema(
        (Column("x", cuts=[0, 4], shares=[0.2, 0.6, 0.1], missing=True), Column("free"), Column("y", cuts=[3]))
    )
    x, free, y = cut_further(schema, 2).columns
    assert x == Column("x", cuts=[-3, 0, 2, 4, 7], shares=[0.1, 0.1, 0.3, 0.3, 0.05, 0.05], missing=True)
    assert free == schema.columns[1]
    assert y == Column("y", cuts=[1.5, 3, 4.5], shares=[0.25] * 4)
    bounded = Column("x", bounds=(0, 10), cuts=[4])
    assert cut_further(Schema((bounded,)), 2).columns[0].cuts == (2.0, 4.0, 7.0)
    assert cut_further(schema, 1).columns[0] == schema.columns[0]


def test_cells_without_room_are_not_cut_further() -> None:
    one = float(np.nextafter(1.0, 2.0))
    (column,) = cut_further(Schema((Column("x", cuts=[1.0, one, 5.0]),)), 2).columns
    assert column.cuts[1:] == (1.0, one, 3.0, 5.0, 8.0)
    assert column.shares == (1 / 8, 1 / 8, 1 / 4, 1 / 8, 1 / 8, 1 / 8, 1 / 8)
    (column,) = cut_further(Schema((Column("x", cuts=[-1.7e308, 1.7e308]),)), 4).columns
    assert np.isfinite(column.cuts).all()


ZEROS_AND_ONES = [
    ([0.3], [0.95, 0.05]),
    ([1e-300, 0.8], [0.945, 0.001, 0.054]),
    ([-8e6, 0.05, 1.002], [0.002, 0.94, 0.056, 0.002]),
    ([2e-5, 61.0, 4e4], [0.05, 0.946, 0.002, 0.002]),
]


@pytest.mark.parametrize(("cuts", "shares"), ZEROS_AND_ONES)
def test_nearly_all_in_two_cells_are_two_values(cuts: list[float], shares: list[float]) -> None:
    column = Column("x", cuts=cuts, shares=shares)
    values, rows = np.unique(rows_of(column), return_counts=True)
    assert values.size == 2
    assert rows.min() / COUNT == pytest.approx(min(sorted(shares)[-2:]), abs=1.01 / COUNT)
    assert np.searchsorted(cuts, values).tolist() == sorted(np.argsort(shares)[-2:])
    assert cut_further(Schema((column,)), 4).columns == (column,)


def test_both_values_occur_however_rare_one_is() -> None:
    (x,) = rows_of(Column("x", cuts=[0.5], shares=[1.0, 0.0])).T
    assert [(x <= 0.5).sum(), (x > 0.5).sum()] == [COUNT - 1, 1]
    x, gap = rows_of(Column("x", cuts=[0.5], shares=[0.0, 0.6], missing=True)).T
    assert [(x[gap == 0] <= 0.5).sum(), (x[gap == 0] > 0.5).sum(), gap.sum()] == [1, 89, 60]


@pytest.mark.parametrize(
    "column",
    [
        Column("x", cuts=[0.0, 3.0, 7.0], shares=[0.91, 0.03, 0.03, 0.03]),
        Column("x", cuts=[0.0, 3.0]),
        Column("x", bounds=(-1, 9), cuts=[0.0], shares=[0.9, 0.1]),
        Column("x", cuts=[np.finfo(np.float64).max], shares=[0.9, 0.1]),
    ],
    ids=["three cells", "no shares", "bounds", "nothing above"],
)
def test_other_numbers_are_spread_evenly(column: Column) -> None:
    assert np.unique(rows_of(column)).size > COUNT / 2
    assert len(cut_further(Schema((column,)), 2).columns[0].cuts) > len(column.cuts)
