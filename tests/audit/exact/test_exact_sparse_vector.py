"""The sparse vectors: figures that must come out, and two ways to them that must agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
from support.sparse_vector_law import Query, SparseVectorLaw, best_adversary

from pcqr.audit.exact import law_of, verify
from pcqr.audit.exact.cases.mechanisms import Distances, around_the_threshold, many_stable_ones, sparse_vector_case
from pcqr.mechanisms.sparse_vector import (
    OneSidedSparseVector,
    PaperSparseVector,
    RenyiSparseVector,
    RunningSparseVector,
    SparseVector,
)
from pcqr.privacy.entropy import Entropy

FIGURES = OneSidedSparseVector(threshold=10, threshold_scale=1 / 0.5, query_scale=1 / 0.25, unstable=1)
FORMS: list[SparseVector] = [
    OneSidedSparseVector(3, 1.0, 1.5, 2),
    PaperSparseVector(3, 1.0, 2, 4, 1e-6),
    RenyiSparseVector(3, 1.5, 1.2, 1, 2, 1e-3),
]


def answers(parameters: SparseVector, distances: Sequence[int], entropy: Entropy) -> tuple[bool, ...]:
    running = RunningSparseVector(parameters, entropy)
    said: list[bool] = []
    for distance in distances:
        if running.is_exhausted:
            break
        said.append(running.is_stable(distance))
    return tuple(said)


@pytest.mark.parametrize(("unstable", "expected"), [(1, 1.0), (2, 1.5)])
def test_the_figures_by_the_shipped_code(unstable: int, expected: float) -> None:
    parameters = replace(FIGURES, unstable=unstable)
    first, second = [1] * 20 + [0] * unstable, [0] * 20 + [1] * unstable
    p, q = (law_of(partial(answers, parameters, distances)) for distances in (first, second))
    witness_words = (True,) * 20 + (False,) * unstable
    assert math.log(p[witness_words] / q[witness_words]) == pytest.approx(expected, abs=5e-6)
    assert math.fsum(p.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("parameters", FORMS, ids=lambda parameters: type(parameters).__name__)
def test_the_walk_and_the_measure_over_the_threshold_agree(parameters: SparseVector) -> None:
    distances = [4, 0, 3, 6]
    law, by_hand = law_of(partial(answers, parameters, distances)), SparseVectorLaw(parameters)
    for witness_words, mass in law.items():
        assert by_hand.transcript(distances[: len(witness_words)], witness_words) == pytest.approx(
            mass, rel=1e-11, abs=1e-60
        )
    assert math.fsum(law.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("parameters", FORMS, ids=lambda parameters: type(parameters).__name__)
def test_both_ways_find_the_same_best_adversary(parameters: SparseVector) -> None:
    menu = around_the_threshold(parameters.threshold, ())
    found = verify(sparse_vector_case(parameters, menu, 2))
    by_hand = [Query(query.first, query.second, query.flips) for query in menu]
    law, epsilon = SparseVectorLaw(parameters), parameters.guarantee.epsilon
    assert found.delta == pytest.approx(best_adversary(law, by_hand, epsilon, 2), rel=1e-9, abs=1e-15)
    assert found.passed


@pytest.mark.parametrize("unstable", [1, 2])
def test_the_search_attains_the_bound(unstable: int) -> None:
    parameters = OneSidedSparseVector(40, 2.0, 4.0, unstable)
    found = verify(sparse_vector_case(parameters, many_stable_ones(40), unstable + 1))
    assert found.epsilon == pytest.approx(0.5 + 0.5 * unstable, abs=1e-5)
    assert found.passed
    assert found.delta <= parameters.guarantee.delta
    assert Distances(41, 40, times=10) in found.witness.queries
