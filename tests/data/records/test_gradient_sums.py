"""The linear classifier's sums against plain Python integers, extreme ones included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.linear import any_map, any_points, plain_records, plain_total, slope, weight

from pcqr.data.records import InMemory, gradient_sums
from pcqr.data.records.counting import MOST_RECORDS
from pcqr.data.records.gradient_sums import (
    GRID,
    LARGEST_WEIGHT,
    MARGINS,
    GradientSums,
    _share,
    add_scores,
    cell_length,
    fill_weights,
    gradient_table,
    lengths,
    on_grid,
    weight_table,
)
from pcqr.errors import DataError, ParameterError

EXTREME = np.array([-32767, 32767, -32766, 0, 2, -2, 100, -4096])
HEAVY = np.array([-LARGEST_WEIGHT, LARGEST_WEIGHT, 0, 1, -1, GRID, -GRID, 12345678])


def some_integers(
    generator: np.random.Generator, shape: tuple[int, ...], ends: NDArray[np.int64], typical: int
) -> NDArray[np.int64]:
    """The ends of what is allowed, ordinary sizes, or both."""
    kind = generator.integers(3)
    extreme = ends[generator.integers(0, ends.size, shape)]
    usual = generator.integers(-typical, typical + 1, shape) * 2
    return (extreme, usual, np.where(generator.random(shape) < 0.1, extreme, usual))[kind]


def test_slopes_are_the_floors_of_what_they_stand_for() -> None:
    """To the last entry, against decimals of sixty digits."""
    assert gradient_table().tolist() == [slope(j) for j in range(MARGINS)]
    assert weight_table().tolist() == [weight(j) for j in range(MARGINS)]
    assert gradient_table()[0] == 1 << 15
    assert weight_table()[0] == 1 << 20


@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 9),
    count=st.integers(1, 5),
    depth=st.integers(1, 6),
    share=st.sampled_from([0, 1, 77, 128, 255, 256]),
    labels=st.integers(2, 10),
    bound=st.integers(0, 24).map(lambda bits: 1 << bits),
    rows=st.integers(1, 40),
)
@settings(max_examples=150)
def test_totals_are_those_of_plain_integers(
    seed: int, size: int, count: int, depth: int, share: int, labels: int, bound: int, rows: int
) -> None:
    check_totals(seed, size, count, depth, share, labels, bound, rows)


@pytest.mark.parametrize("labels", [2, 3, 10])
@pytest.mark.parametrize("threads", [None, 1, 2, 7])
def test_any_split_gives_the_same_integers(labels: int, threads: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of 11 rows at most and of single ferns, more records than are added up in 32 bits."""
    monkeypatch.setattr("pcqr.compiled._LEAST_STEPS", 1)
    monkeypatch.setattr(gradient_sums, "_MOST_ROWS", 11)
    monkeypatch.setattr("os.cpu_count", lambda: threads)
    for share in (0, 100, 256):
        check_totals(labels, 3, 5, 4, share, labels, 1 << 24, 300)


def test_blocks_may_be_empty() -> None:
    features, generator = any_map(2, 3, 2, 100), np.random.default_rng(0)
    X, y = any_points(np.full((9, 2), 6), generator.integers(0, 4, (3, 9)), 2), np.arange(9, dtype=np.int8) % 2
    dense, cells = np.full((1, 3), GRID, dtype=np.int32), np.full((1, 3, 4), -GRID, dtype=np.int32)
    whole = GradientSums(features, [(X, y)], 9, 1 << 20, 2).total(dense, cells)
    parts = [slice(0, 0), slice(0, 4), slice(4, 4), slice(4, 9), slice(9, 9)]
    cut = GradientSums(features, ((X[part], y[part]) for part in parts), 9, 1 << 20, 2).total(dense, cells)
    nobody = GradientSums(features, (), 0, 1 << 20, 2).total(dense, cells)
    for first, second, third in zip(whole, cut, nobody, strict=True):
        assert (first == second).all()
        assert not third.any()
    assert whole[1].any()


@pytest.mark.parametrize("depth", [13, 16])
def test_deep_ferns(depth: int) -> None:
    check_totals(depth, 2, 2, depth, 20, 2, 1 << 24, 30)


def check_totals(seed: int, size: int, count: int, depth: int, share: int, labels: int, bound: int, rows: int) -> None:
    generator = np.random.default_rng(seed)
    features = any_map(size, count, depth, share, constant=int(generator.choice([1, 300, 32767])))
    vectors = some_integers(generator, (rows, size), EXTREME, 2000)
    X = any_points(vectors, generator.integers(0, 1 << depth, (count, rows)), depth)
    y = generator.integers(0, labels, rows).astype(np.int8)
    blocks = 1 if labels == 2 else labels
    dense = some_integers(generator, (blocks, features.size), HEAVY, GRID).astype(np.int32)
    cells = some_integers(generator, (blocks, features.count, 1 << features.depth), HEAVY, GRID).astype(np.int32)
    found = InMemory(X, y, labels).gradient_sums(features, bound).total(dense, cells)
    wanted = plain_total(plain_records(features, X, y), dense, cells, share, bound)
    assert found[0].tolist() == wanted[0]
    assert found[1].tolist() == wanted[1]


@given(
    rows=st.lists(st.lists(st.integers(-32767, 32767), min_size=3, max_size=3), min_size=1, max_size=9),
    share=st.integers(0, 256),
    bits=st.integers(0, 24),
)
def test_lengths_are_the_largest_that_the_bound_allows(rows: list[list[int]], share: int, bits: int) -> None:
    bound = 1 << bits
    rows = [*rows, [0, 0, 0], [0, 1, 0], [3, 4, 0]]
    found = lengths(np.array(rows, dtype=np.int16), share, bound).tolist()
    for row, length in zip(rows, found, strict=True):
        square = max(sum(each**2 for each in row), 1)
        assert 256 * length**2 * square <= share * bound**2 < 256 * (length + 1) ** 2 * square
    for count in (1, 2, 400, 1 << 16):
        length = cell_length(count, share, bound)
        assert 256 * length**2 * count <= (256 - share) * bound**2 < 256 * (length + 1) ** 2 * count


def test_lengths_of_more_records_than_are_taken_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(0).integers(-32767, 32768, (100, 5)).astype(np.int16)
    whole = lengths(vectors, 77, 1 << 24)
    monkeypatch.setattr(gradient_sums, "_BLOCK", 7)
    assert (lengths(vectors, 77, 1 << 24) == whole).all()


@pytest.mark.parametrize("nearby", [-1, 0, 1])
def test_roots_are_the_largest_integers_below(nearby: int) -> None:
    """At squares and beside them, to where a float no longer tells them apart."""
    roots = np.array([1, 2, 3, 1000, 2**12, 2**24 - 1, 2**24, 2**27 - 1, 2**30 + 1, 3_037_000_498])
    found = gradient_sums._roots(roots * roots + nearby)
    assert found.tolist() == [math.isqrt(root * root + nearby) for root in roots.tolist()]


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_scores_fit_their_integers(sign: int) -> None:
    """2¹⁶ coordinates and 2¹⁶ ferns, all entries and all weights at their ends: within a few parts of 2⁶³."""
    most, bound, share = 1 << 16, 1 << 24, 128
    vectors = np.full((2, most), 32767, dtype=np.int16)
    vectors[1, ::2] *= -1
    dense = np.where(vectors[:1] > 0, sign * LARGEST_WEIGHT, -sign * LARGEST_WEIGHT).astype(np.int32)
    cells = np.zeros((most, 2), dtype=np.uint16)
    tables = np.full((1, most, 2), sign * LARGEST_WEIGHT, dtype=np.int32)
    stretches, stretch = lengths(vectors, share, bound), cell_length(most, share, bound)
    scores = np.empty((1, 2), dtype=np.int64)
    add_scores(vectors, stretches, cells, 0, stretch, dense, tables, scores)
    wanted = [
        int(stretches[i]) * sum(int(a) * int(b) for a, b in zip(vectors[i], dense[0], strict=True))
        + stretch * most * sign * LARGEST_WEIGHT
        for i in range(2)
    ]
    assert scores[0].tolist() == wanted
    assert abs(wanted[0]) > 0.6 * 2**63


@pytest.mark.parametrize("share", [0, 256])
def test_records_that_all_say_the_same_as_loud_as_they_may(share: int) -> None:
    """Entries of M each, 300 of them: more than 32 bits hold."""
    features, rows = any_map(1, 1, 1, share), 300
    X = any_points(np.full((rows, 1), 0), np.ones((1, rows), dtype=np.int64), 1)
    sums = InMemory(X, np.ones(rows)).gradient_sums(features, 1 << 24)
    dense, cells = (
        np.zeros(shape, dtype=np.int32) for shape in ((1, features.size), (1, features.count, 1 + (share == 0)))
    )
    found = sums.total(dense, cells)
    assert [part.tolist() for part in found] == (
        [[[]], [[[0, rows << 24]]]] if share == 0 else [[[0, rows << 24]], [[]]]
    )


def test_weights_are_rounded_to_the_grid_and_cut() -> None:
    given = np.array([0.0, 1.0, -1.0, 0.4 / GRID, 0.6 / GRID, 1e9, -1e300, np.inf])
    with np.errstate(over="ignore"):
        assert on_grid(given).tolist() == [0, GRID, -GRID, 0, 1, LARGEST_WEIGHT, -LARGEST_WEIGHT, LARGEST_WEIGHT]


@pytest.mark.parametrize("bound", [0, 3, 320, 1 << 25, -2])
def test_the_bound_is_a_power_of_two(bound: int) -> None:
    with pytest.raises(ParameterError, match="bound"):
        GradientSums(any_map(1, 1, 1, 128), (), 0, bound, 2)


def test_weights_of_another_shape_or_size_are_refused() -> None:
    features = any_map(2, 1, 3, 128)
    sums = InMemory(np.zeros((4, 5)), np.zeros(4, dtype=np.int8)).gradient_sums(features, 1 << 20)
    dense, cells = np.zeros((1, 3), dtype=np.int32), np.zeros((1, 1, 8), dtype=np.int32)
    sums.total(dense, cells)
    others: tuple[Any, ...] = (dense[:, :2], dense.astype(np.int64), dense + np.int32(LARGEST_WEIGHT + 1))
    for wrong in others:
        with pytest.raises(ParameterError, match="dense"):
            sums.total(wrong, cells)
    others = (cells[:, :, :4], cells.astype(np.float32), cells - np.int32(LARGEST_WEIGHT + 1))
    for wrong in others:
        with pytest.raises(ParameterError, match="cells"):
            sums.total(dense, wrong)


def test_more_records_than_the_proof_allows_are_refused() -> None:
    with pytest.raises(DataError, match="rows"):
        GradientSums(any_map(1, 1, 1, 128), (), MOST_RECORDS + 1, 1, 2)


def test_fewer_records_than_were_promised_are_refused() -> None:
    with pytest.raises(DataError, match="3 rows"):
        GradientSums(any_map(1, 1, 1, 128), [(np.zeros((2, 2)), np.zeros(2, dtype=np.int8))], 3, 1, 2)


@pytest.mark.parametrize("residual", [-(2**15), -3, -1, 0, 1, 3, 2**15])
def test_a_share_is_cut_towards_zero_and_keeps_its_sign(residual: int) -> None:
    for length in (0, 1, 2**15 - 1, 2**15, 2**20 + 5):
        assert _share(residual, length) == int(residual * length / 2**15)
        weights = np.full((2, 3), 7, dtype=np.int32)
        fill_weights(np.array([[0, residual], [residual, -residual]]), 1, length, weights)
        share = int(residual * length / 2**15)
        assert weights.tolist() == [[7, 0, share], [7, share, -share]]
