"""What a draw is said to take, against sums over the sets and nodes themselves."""

from __future__ import annotations

from itertools import combinations

import pytest

from pcqr.data.records.counting import block_rows
from pcqr.hypotheses.trees.decision_trees import bytes_of_draw, steps_of_draw


@pytest.mark.parametrize(("predicates", "labels", "depth"), [(1, 2, 1), (5, 2, 2), (6, 3, 3), (7, 2, 4)])
def test_steps_are_words_to_count_and_terms_to_add(predicates: int, labels: int, depth: int) -> None:
    records = 640
    largest = sum(1 for _ in combinations(range(predicates), depth))
    words = largest * (records / 64 + labels)
    nodes = sum(2 ** (depth - 1) for _ in combinations(range(predicates), depth - 1))
    assert steps_of_draw(records, predicates, labels, depth) == words + 20 * nodes * predicates * labels


@pytest.mark.parametrize(("predicates", "labels", "depth"), [(1, 2, 1), (5, 2, 2), (6, 3, 3), (7, 2, 4)])
def test_bytes_are_those_of_the_tables(predicates: int, labels: int, depth: int) -> None:
    sizes = range(depth + 1)
    counts = sum(4 * labels for size in sizes for _ in combinations(range(predicates), size))
    values = sum(
        12 * 2**size
        for remaining in range(1, depth + 1)
        for size in range(depth - remaining + 1)
        for _ in combinations(range(predicates), size)
    )
    block = 4 * block_rows(predicates) * predicates
    assert bytes_of_draw(predicates, labels, depth) == counts + values + block
