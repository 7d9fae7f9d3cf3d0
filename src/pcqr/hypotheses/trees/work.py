"""What a draw of a tree takes, in steps and in bytes: functions of public numbers alone."""

from __future__ import annotations

import math

from pcqr.records.counting import block_rows


def steps_of_draw(records: int, predicates: int, labels: int, depth: int) -> float:
    """C(B, D)·n/64 words to count, and then to add up (`steps_of_sums`)."""
    return math.comb(predicates, depth) * (records / 64.0 + labels) + steps_of_sums(predicates, labels, depth)


def steps_of_sums(predicates: int, labels: int, depth: int) -> float:
    """2^(D−1)·C(B, D−1)·B·C terms, some 20 steps each."""
    return math.comb(predicates, depth - 1) * 2.0 ** (depth - 1) * predicates * labels * 20.0


def bytes_of_draw(predicates: int, labels: int, depth: int) -> int:
    """A block of records, and the tables of a draw: 4 bytes a set and class, 12 a value, for all s + r ≤ D."""
    sets = [math.comb(predicates, size) for size in range(depth + 1)]
    values = sum((depth - size) * sets[size] << size for size in range(depth))
    block = 4 * block_rows(predicates) * predicates  # which predicates hold, as bytes and packed
    return 4 * labels * sum(sets) + 12 * values + block
