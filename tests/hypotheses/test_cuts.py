"""Groups and cuts: every cut separates its neighbours, every record is counted once, in its own cell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.line import EXTREME_VALUES

from pcqr.hypotheses.cuts import group_counts, log_weights, midpoint_cuts

finite = st.floats(allow_nan=False, allow_infinity=False)
records = st.lists(st.tuples(finite | st.sampled_from(EXTREME_VALUES), st.integers(0, 1)), min_size=1, max_size=30)


@given(st.lists(finite | st.sampled_from(EXTREME_VALUES), min_size=1, max_size=20))
def test_a_cut_separates_its_neighbours(values: list[float]) -> None:
    distinct = np.unique(np.array(values))
    cuts = midpoint_cuts(distinct)
    assert cuts.size == distinct.size - 1
    assert np.isfinite(cuts).all()
    assert (distinct[:-1] <= cuts).all()
    assert (cuts < distinct[1:]).all()


@given(st.floats(allow_nan=False, allow_infinity=False, max_value=1.7976931348623155e308))
def test_adjacent_floats_are_separated(value: float) -> None:
    above = np.nextafter(value, np.inf)
    (cut,) = midpoint_cuts(np.array([value, above]))
    assert value <= cut < above


@given(records)
def test_private_groups_are_the_distinct_values(rows: list[tuple[float, int]]) -> None:
    values, labels = np.array([v for v, _ in rows]), np.array([label for _, label in rows], dtype=np.int8)
    groups = group_counts(values, labels)
    distinct = sorted(set(values.tolist()))
    assert groups.count == len(distinct)
    assert groups.ones.tolist() == [sum(v == d and label == 1 for v, label in rows) for d in distinct]
    assert groups.zeros.tolist() == [sum(v == d and label == 0 for v, label in rows) for d in distinct]


@given(records, st.lists(finite | st.sampled_from(EXTREME_VALUES), min_size=1, max_size=10))
def test_public_groups_count_each_record_in_the_cell_that_holds_it(
    rows: list[tuple[float, int]], public: list[float]
) -> None:
    values, labels = np.array([v for v, _ in rows]), np.array([label for _, label in rows], dtype=np.int8)
    groups = group_counts(values, labels, np.array(public))
    assert groups.cuts.tolist() == midpoint_cuts(np.unique(public)).tolist()
    for g, (low, high) in enumerate(itertools.pairwise(groups.edges.tolist())):
        assert groups.ones[g] == sum(low < v <= high and label == 1 for v, label in rows)
        assert groups.zeros[g] == sum(low < v <= high and label == 0 for v, label in rows)
    assert int(groups.ones.sum() + groups.zeros.sum()) == len(rows)


@given(records)
def test_mistakes_above_are_those_of_a_threshold_at_each_edge(rows: list[tuple[float, int]]) -> None:
    values, labels = np.array([v for v, _ in rows]), np.array([label for _, label in rows], dtype=np.int8)
    groups = group_counts(values, labels)
    expected = [int(((values > edge) != labels).sum()) for edge in groups.edges]
    assert groups.errors_above.tolist() == expected


@pytest.mark.parametrize("eta", [0.0, 0.3, 700.0])
def test_the_largest_log_weight_is_exactly_zero(eta: float) -> None:
    weights = log_weights(np.array([7, 3, 12], dtype=np.int64), eta)
    assert weights.tolist() == [-eta * 4, 0.0, -eta * 9]
