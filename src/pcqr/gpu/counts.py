"""How many records of each class satisfy a conjunction of predicates: products of matrices of zeros and ones.

Records are taken in blocks of at most 2¹¹ of one class. Every entry of a product of two such blocks is a number of
records, and so is every partial sum on the way: an integer of at most 2¹¹, which 16 bits hold exactly. So the counts
are exact however a library adds up, and whatever it has been told about precision. Blocks are added up as integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from pcqr.gpu.ranks import Ranks

MOST_RECORDS = 2**31 - 1
BLOCK = 1 << 11
"""Records a product: the largest count that float16 has, with all smaller ones."""
_NUMBERS = 1 << 27
"""Entries of the conjunctions that are held at a time."""


def count_conjunctions(
    blocks: Iterable[tuple[NDArray[np.bool_], NDArray[np.int8]]], predicates: int, classes: int, depth: int, device: str
) -> NDArray[np.int32]:
    """`[row, c]`: the records of class c in which every predicate of the set with that row holds (`Ranks`).

    A block has one row a record: which predicates hold, and the label, 0 … `classes`−1.
    """
    ranks = Ranks(predicates, depth, device)
    table = torch.zeros((classes, ranks.rows), dtype=torch.int32, device=device)
    counted = 0
    for holds, labels in blocks:
        counted += len(labels)
        if counted > MOST_RECORDS:
            raise ValueError(f"at most {MOST_RECORDS:,} records")
        on_device = torch.as_tensor(np.ascontiguousarray(holds), device=device)
        label = torch.as_tensor(labels, device=device)
        for c in range(classes):
            _add_class(on_device[label == c], ranks, table[c])
    found: NDArray[np.int32] = np.ascontiguousarray(table.T.contiguous().cpu().numpy())
    return found


def _add_class(holds: torch.Tensor, ranks: Ranks, counts: torch.Tensor) -> None:
    """Add the records of one class to `counts`, one for each set."""
    counts[0] += holds.shape[0]
    for size in range(1, min(ranks.depth, ranks.predicates) + 1):
        low = size // 2
        widest = max(math.comb(ranks.predicates, low), math.comb(ranks.predicates, size - low - 1))
        for bits in _blocks(holds, max(1, _NUMBERS // (widest * BLOCK))):
            _add_size(bits, ranks, low, size - low, counts)


def _blocks(holds: torch.Tensor, together: int) -> Iterator[torch.Tensor]:
    """`[block, predicate, record]`: some blocks of records at a time; the last one is filled up with zeros."""
    kind = torch.float16 if holds.is_cuda else torch.float32
    for start in range(0, holds.shape[0], together * BLOCK):
        rows = holds[start : start + together * BLOCK]
        number = -(-rows.shape[0] // BLOCK)
        padded = torch.zeros((number * BLOCK, rows.shape[1]), dtype=kind, device=holds.device)
        padded[: rows.shape[0]] = rows.to(kind)
        yield padded.view(number, BLOCK, -1).transpose(1, 2).contiguous()


def _add_size(bits: torch.Tensor, ranks: Ranks, low: int, high: int, counts: torch.Tensor) -> None:
    """Add the counts of all sets of `low` + `high` predicates to theirs.

    A set is its `low` smallest members, its next one i, and `high` − 1 larger ones. For each i the first two parts are
    the first C(i, low) sets of `low` predicates by rank; the last is one of the first C(B−1−i, high−1) sets by rank
    where predicates are numbered from the other end.
    """
    predicates, size = ranks.predicates, low + high
    smaller = _conjunctions(bits, ranks.members(low))
    mirrored = predicates - 1 - ranks.members(high - 1)
    larger = _conjunctions(bits, mirrored)
    above = torch.zeros(mirrored.shape[1], dtype=torch.int64, device=bits.device)
    for j in range(high - 1):  # what was the j-th smallest is the j-th largest: of the places in the whole set
        above += ranks.steps[mirrored[j], size - j]
    for i in range(low, predicates - high + 1):
        below, beyond = math.comb(i, low), math.comb(predicates - 1 - i, high - 1)
        joined = larger[:, :beyond] * bits[:, i : i + 1]
        products = torch.bmm(joined, smaller[:, :below].transpose(1, 2))
        first = above[:beyond] + (ranks.start[size] + math.comb(i, low + 1))
        rows = first[:, None] + torch.arange(below, device=bits.device)
        counts[rows] += products.sum(dim=0, dtype=torch.int32)


def _conjunctions(bits: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """`[block, set, record]`: 1 where every member of the set holds."""
    found = torch.ones((bits.shape[0], members.shape[1], bits.shape[2]), dtype=bits.dtype, device=bits.device)
    for each in members:
        found *= bits[:, each]
    return found
