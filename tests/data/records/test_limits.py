"""What records may not be, and faults that must not be lost on the way."""

from __future__ import annotations

import numpy as np
import pytest

from pcqr.data.records.arrays import as_points
from pcqr.data.records.counting import in_shares
from pcqr.errors import DataError


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_a_table_has_a_row_and_a_column(shape: tuple[int, int]) -> None:
    with pytest.raises(DataError, match="at least one row and one column"):
        as_points(np.empty(shape))
    assert as_points(np.zeros((1, 1))).shape == (1, 1)


def test_a_fault_in_one_share_of_the_work_is_a_fault_of_all_of_it() -> None:
    def work(low: int, high: int) -> None:
        if low <= 700 < high:
            raise MemoryError

    with pytest.raises(MemoryError):
        in_shares("testing", 10_000, 1_000, work)


def test_little_work_is_not_shared_and_much_is_shared_whole() -> None:
    """How it is shared follows from public numbers alone: how many there are, and what one of them takes."""
    shares: list[tuple[int, int]] = []

    def work(low: int, high: int) -> None:
        shares.append((low, high))

    for total, steps, threads in ((10_000, 100, 1), (1, 10**9, 1), (10_000, 201, 2), (3, 10**9, 3)):
        shares.clear()
        in_shares("testing", total, steps, work)
        shares.sort()
        assert len(shares) == threads
        assert [number for low, high in shares for number in range(low, high)] == list(range(total))
