"""Sub-sample, relabel, partition, vote, sparse vector: the exact law of whole transcripts on two neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from support import sampler_law
from support.exact import Floats, Profile, SparseVectorLaw, best_adversary_on_profiles, mixture

from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.relabelling import relabel_guarantee
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector, SparseVector
from pcqr.mechanisms.stability import distance_to_instability, plurality

Record = tuple[float, int]
QUERIES = [[0.0], [1.0], [2.0]]
ONE_SIDED = OneSidedSparseVector(threshold=0, threshold_scale=0.5, query_scale=1.0, unstable=1)
PAPER = PaperSparseVector(threshold=1, scale=1.0, unstable=1, queries=3, slack=1e-6)


def partitions(count: int, parts: int) -> list[tuple[tuple[int, ...], ...]]:
    """Every split of `count` positions that a uniform permutation can lead to, each equally likely.

    With one record a teacher all splits give the same votes: one of them stands for all.
    """
    if count == parts:
        return [tuple((i,) for i in range(count))]
    splits = (np.array_split(order, parts) for order in itertools.permutations(range(count)))
    return sorted({tuple(tuple(sorted(map(int, part))) for part in split) for split in splits})


def profile(x: Floats, labels: Sequence[int], split: Sequence[Sequence[int]]) -> Profile:
    """What the teachers trained on the parts of `split` say to each of `QUERIES`."""
    y = np.array(labels)
    said = np.array([Thresholds().learn(x[list(part)], y[list(part)]).predict(QUERIES) for part in split])
    counts = [np.bincount(votes, minlength=2) for votes in said.T]
    return tuple((distance_to_instability(count), plurality(count)) for count in counts)


def votes_law(records: Sequence[Record], teachers: int, eta: float | None) -> dict[Profile, float]:
    """The law of the votes, over the draw of ĥ at η = `eta` (None: no relabelling) and the partition."""
    x, y = (np.array(column) for column in zip(*records, strict=True))
    labellings = {tuple(map(int, y)): 0.0} if eta is None else sampler_law(Thresholds(), x, y, eta)
    splits = partitions(len(records), teachers)
    return mixture(
        (math.exp(log_mass) / len(splits), {profile(x, labels, split): 1.0})
        for labels, log_mass in labellings.items()
        for split in splits
    )


@pytest.mark.parametrize("sparse_vector", [ONE_SIDED, PAPER], ids=["one-sided", "paper"])
@pytest.mark.parametrize("common", [[(1.0, 0)] * 3, [(1.0, 0)] * 4, [(0.0, 0), (1.0, 0), (1.0, 1), (2.0, 1)]])
def test_subsample_relabel_partition_and_vote(sparse_vector: SparseVector, common: list[Record]) -> None:
    """Four records of four or five, three teachers, every pair of neighbours among three that differ the most."""
    size, eta = 4, 0.5
    relabelled = relabel_guarantee(sparse_vector.guarantee, Thresholds(), size, eta, 1)
    claimed = relabelled.amplify(size / (len(common) + 1))
    law = SparseVectorLaw(sparse_vector)
    laws = []
    for last in [(0.0, 1), (2.0, 0), (1.0, 1)]:
        samples = list(itertools.combinations([*common, last], size))
        laws.append(mixture((1 / len(samples), votes_law(sample, 3, eta)) for sample in samples))
    for first, second in itertools.permutations(laws, 2):
        assert best_adversary_on_profiles(law, first, second, claimed.epsilon, rounds=2) <= claimed.delta
        assert best_adversary_on_profiles(law, first, second, 0.0, rounds=2) > 0, "neighbours differ at all"


def test_one_record_moves_all_teachers_through_the_relabelling_and_that_must_be_paid_for() -> None:
    """41 records, a teacher each: the sparse vector's own guarantee holds without relabelling, and fails with it."""
    sparse_vector = OneSidedSparseVector(threshold=12, threshold_scale=1 / 0.3, query_scale=10.0, unstable=1)
    law, inner, eta = SparseVectorLaw(sparse_vector), sparse_vector.guarantee, 0.02
    common: list[Record] = [(1.0, 0)] * 40
    paid = relabel_guarantee(inner, Thresholds(), 41, eta, 1)

    def reached(eta: float | None, epsilon: float) -> float:
        first, second = (votes_law([*common, last], 41, eta) for last in [(0.0, 1), (2.0, 0)])
        return best_adversary_on_profiles(law, first, second, epsilon, rounds=2)

    assert reached(None, inner.epsilon) <= inner.delta
    assert reached(eta, inner.epsilon) > 3 * inner.delta
    assert reached(eta, paid.epsilon) <= paid.delta
