"""Counts and the partition function by torch, here on its CPU: the same integers, and the same floats, as without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.data.records.counting import ConjunctionCounts, RankedSets, count_conjunctions
from pcqr.hypotheses.trees.partition import MistakeLaw, PartitionFunction

pytest.importorskip("torch", reason="torch is not installed: pip install pcqr[gpu]")

from pcqr.gpu import counts as gpu_counts
from pcqr.gpu import counts as gpu_trees
from pcqr.gpu.counts import Ranks

Holds = NDArray[np.bool_]


def counted(holds: Holds, y: NDArray[np.int8], classes: int, depth: int) -> ConjunctionCounts:
    return count_conjunctions([(holds, y)], holds.shape[1], classes, depth)


def some_records(
    seed: int, records: int, predicates: int, classes: int, share: float = 0.5
) -> tuple[Holds, NDArray[np.int8]]:
    generator = np.random.default_rng(seed)
    holds = generator.random((records, predicates)) < share
    return holds, generator.integers(0, classes, records).astype(np.int8)


@pytest.mark.parametrize(("predicates", "depth"), [(1, 1), (7, 4), (4, 6)])
def test_ranks_are_those_of_the_cpu(predicates: int, depth: int) -> None:
    ours, theirs = RankedSets(predicates, depth), Ranks(predicates, depth, "cpu")
    assert theirs.start == ours.start.tolist()
    assert (theirs.steps.numpy() == ours.steps).all()
    for size in range(depth + 1):
        assert (ours.of_size(size) == theirs.members(size).numpy().T).all()


@given(
    seed=st.integers(0, 2**32),
    records=st.integers(1, 60),
    predicates=st.integers(1, 9),
    classes=st.integers(2, 4),
    depth=st.integers(1, 6),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
)
@settings(max_examples=25, deadline=None)
def test_counts_are_those_of_the_cpu(
    seed: int, records: int, predicates: int, classes: int, depth: int, share: float
) -> None:
    holds, y = some_records(seed, records, predicates, classes, share)
    found = gpu_counts.count_conjunctions([(holds, y)], predicates, classes, depth, "cpu")
    assert found.dtype == np.int32
    assert (found == counted(holds, y, classes, depth).table).all()


@pytest.mark.parametrize("records", [0, 2048, 2049])
@pytest.mark.parametrize("together", [1, 2])
def test_blocks_of_records_are_added_up(records: int, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full blocks in which everything holds, one record more and one less, and a class without a record."""
    monkeypatch.setattr(gpu_counts, "_NUMBERS", together * gpu_counts.BLOCK)
    holds, y = np.ones((records, 4), dtype=np.bool_), np.zeros(records, dtype=np.int8)
    holds[records // 2 :, 3] = False
    blocks = [(holds, y), (holds[:5], 1 - y[:5]), (holds[:0], y[:0])]
    found = gpu_counts.count_conjunctions(blocks, 4, 3, 4, "cpu")
    assert (found == count_conjunctions(blocks, 4, 3, 4).table).all()
    assert found[RankedSets(4, 4).rows(np.array([[0, 1, 2]]))].tolist() == [[records, min(records, 5), 0]]


def test_products_of_a_block_are_exact_in_sixteen_bits() -> None:
    """What a GPU uses: a full block has the largest count that float16 tells from its neighbours."""
    import torch

    ones = torch.ones((1, 3, gpu_counts.BLOCK), dtype=torch.float16)
    ones[0, 1, 0] = 0.0
    products = torch.bmm(ones, ones.transpose(1, 2)).sum(dim=0, dtype=torch.int32)
    full = gpu_counts.BLOCK
    assert products.tolist() == [[full, full - 1, full], [full - 1] * 3, [full, full - 1, full]]
    assert torch.tensor(float(full + 1), dtype=torch.float16).item() != full + 1


def check_levels(counts: ConjunctionCounts, eta: float, stop: float) -> None:
    law = MistakeLaw(counts, eta, stop)
    expected = PartitionFunction(counts, law)._levels
    found = gpu_trees.tree_levels(
        counts.table, counts.predicates, counts.depth, law.decay, law.stop_odds, law.share, "cpu"
    )
    assert len(found) == len(expected) == counts.depth + 1
    for ours, theirs in zip(expected, found, strict=True):
        for (cost, mass), (found_cost, found_mass) in zip(ours, theirs, strict=True):
            assert (cost.dtype, mass.dtype) == (found_cost.dtype, found_mass.dtype)
            assert (cost == found_cost).all()
            assert mass.tobytes() == found_mass.tobytes()  # to the last bit


@given(
    seed=st.integers(0, 2**32),
    records=st.integers(1, 300),
    predicates=st.integers(1, 7),
    classes=st.sampled_from([2, 3, 9]),
    depth=st.integers(1, 5),
    eta=st.sampled_from([0.0, 1e-9, 0.003, 0.1, 2.5, 60.0, 1e6]),
    stop=st.sampled_from([0.0, 1e-6, 0.3]),
    share=st.sampled_from([0.0, 0.1, 0.5]),
)
@settings(max_examples=25, deadline=None)
def test_levels_are_those_of_the_cpu(
    seed: int, records: int, predicates: int, classes: int, depth: int, eta: float, stop: float, share: float
) -> None:
    holds, y = some_records(seed, records, predicates, classes, share)
    check_levels(counted(holds, y, classes, depth), eta, stop)


@pytest.mark.parametrize("numbers", [1, 37, 1 << 25])
def test_any_split_of_the_nodes_gives_the_same_floats(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_trees, "_NUMBERS", numbers)
    holds, y = some_records(1, 500, 8, 2)
    check_levels(counted(holds, y, 2, 4), 0.05, 0.01)
