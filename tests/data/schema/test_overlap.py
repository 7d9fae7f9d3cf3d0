"""Rows called public that are rows of the private table are counted, all of them and no others."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pcqr.data.schema.labels import is_mostly_private, rows_in

few = st.sampled_from([-1.0, -0.0, 0.0, 1.0, 2.0**-1074, 1.0 + 2.0**-52])
"""Values that are easily confused, few enough for rows to coincide often."""


def coinciding(shown: np.ndarray, private: np.ndarray) -> int:
    return int(rows_in(shown, private).sum())


@st.composite
def two_tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    width = draw(st.integers(1, 3))
    sizes = st.integers(0, 12)
    return (
        draw(arrays(np.float64, (draw(sizes), width), elements=few)),
        draw(arrays(np.float64, (draw(sizes), width), elements=few)),
    )


@given(two_tables())
def test_the_count_is_that_of_comparing_every_pair(tables: tuple[np.ndarray, np.ndarray]) -> None:
    shown, private = tables
    expected = sum(any((row == other).all() for other in private) for row in shown)
    assert coinciding(shown, private) == expected
    assert is_mostly_private(coinciding(shown, private), shown) == (expected > len(shown) / 2)


@given(two_tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_the_layout_in_memory_and_repeated_private_rows_do_not_matter(
    tables: tuple[np.ndarray, np.ndarray], random: Random
) -> None:
    shown, private = tables
    order = list(range(len(private)))
    random.shuffle(order)
    moved = np.asfortranarray(np.concatenate([private[order], private]))
    assert coinciding(np.asfortranarray(shown), moved) == coinciding(shown, private)


def test_small_whole_numbers_do_not_collide() -> None:
    """Their bits are all zero at the low end, which a product alone keeps: the slow path would do all work."""
    from pcqr.data.schema.labels import _hashes

    grid = np.stack(np.meshgrid(*[np.arange(60.0)] * 3), axis=-1).reshape(-1, 3)
    assert np.unique(_hashes(grid)).size == len(grid)


@pytest.mark.parametrize(("copied", "mostly"), [(50, False), (51, True)])
def test_half_is_not_most(copied: int, mostly: bool) -> None:
    private = np.arange(400.0).reshape(100, 4)
    shown = -1 - np.arange(400.0).reshape(100, 4)
    shown[:copied] = private[::-1][:copied]
    assert coinciding(shown, private) == copied
    assert is_mostly_private(coinciding(shown, private), shown) is mostly
