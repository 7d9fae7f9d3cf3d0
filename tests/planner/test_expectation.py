"""What a plan is expected to do, against a simulation of the same model by the sparse vector that will run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr.hypotheses import Finite, Intervals, Stumps, Thresholds
from pcqr.hypotheses.base import Combinatorics
from pcqr.hypotheses.thresholds import Threshold
from pcqr.mechanisms.sparse_vector import (
    CalibratedSparseVector,
    OneSidedSparseVector,
    PaperSparseVector,
    RunningSparseVector,
)
from pcqr.planner import expectation as model
from pcqr.planner.expectation import expected_run, modelled_run, predicted_run
from pcqr.planner.search import sparse_vectors
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.subsample.plan import VoteStage


def vectors() -> tuple[CalibratedSparseVector, ...]:
    return sparse_vectors(1.0, 1e-5, 6, 100, 0.05)


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: type(vector).__name__)
def test_the_modelled_run_is_the_average_of_simulated_ones(vector: CalibratedSparseVector) -> None:
    """At distance t from a boundary, in probability, a share ½e^{−t/θ} of the teachers dissents; θ = b/(2N)."""
    teachers, records, queries, runs = 241, 8, 60, 400
    plan = VoteStage(teachers * records, teachers * records, teachers, 0.1, vector)
    rng, entropy = np.random.default_rng(1), SeededEntropy(1)
    theta = Intervals().boundaries / (2.0 * records)
    unstable = unanswered = asked = 0
    for _ in range(runs):
        running = RunningSparseVector(vector, entropy)
        depth = rng.random(queries) / 2.0  # at most ½ from a boundary, whichever side
        votes = (teachers - 1) // 2 - 0.5 * teachers * np.exp(-depth / theta)
        for distance in np.floor(np.maximum(votes, 0.0)):
            if running.is_exhausted:
                unanswered += 1
                continue
            asked += 1
            stable = running.is_stable(int(distance))
            unstable += not stable
            unanswered += not stable
    expected = modelled_run(plan, Intervals(), 1, queries)
    assert expected.unstable_share == pytest.approx(unstable / asked, rel=0.15)
    assert expected.unanswered_share == pytest.approx(unanswered / (runs * queries), rel=0.2)
    assert 0.05 < expected.unanswered_share < 0.7  # so that the comparison says something


def brute_unanswered(share: float, queries: int, budget: int) -> float:
    """Through the law of the number of ⊥ so far, query by query."""
    law = np.zeros(budget + 1)
    law[0], answered = 1.0, 0.0
    for _ in range(queries):
        going = law[:-1].copy()
        answered += (1.0 - share) * going.sum()
        law[:-1] = (1.0 - share) * going
        law[1:] += share * going
    return 1.0 - answered / queries


@settings(max_examples=60)
@given(share=st.floats(1e-9, 1.0), queries=st.integers(1, 200), budget=st.integers(1, 210))
def test_the_unanswered_share_is_exact(share: float, queries: int, budget: int) -> None:
    found = float(model.unanswered_share(np.array(share), queries, budget))
    assert found == pytest.approx(brute_unanswered(share, queries, budget), rel=1e-7, abs=1e-9)


def test_a_plan_with_few_unstable_queries_is_not_expected_to_halt() -> None:
    rare = float(model.unanswered_share(np.array(0.00026), 100, 5))
    assert rare == pytest.approx(0.00026, rel=1e-6)


@pytest.mark.parametrize(("hypotheses", "features"), [(Thresholds(), 1), (Intervals(), 1), (Stumps(), 14)])
def test_doubt_and_fewer_records_make_it_worse(hypotheses: Combinatorics, features: int) -> None:
    vector = vectors()[0]

    def loss(records: int, doubt: float = 1.0) -> float:
        plan = VoteStage(records, records, 701, 0.1, vector)
        return modelled_run(plan, hypotheses, features, 100, doubt=doubt).excess_error

    losses = [loss(701 * size) for size in (30, 100, 300, 1_000)]
    assert losses == sorted(losses, reverse=True)
    assert loss(701 * 100, doubt=2.0) > loss(701 * 100)
    assert all(0.0 < value < 1.0 for value in losses)


@pytest.mark.parametrize(("eta", "ends"), [(0.1, (0.01, 1.5)), (None, (0.01, 10.0))])
def test_the_range_reaches_as_far_as_the_model_was_off_on_real_tables(
    eta: float | None, ends: tuple[float, float]
) -> None:
    asked = VoteStage(70_100, 70_100, 701, eta, vectors()[0]), Stumps(), 14, 100
    found = predicted_run(*asked)
    least, most = (modelled_run(*asked, doubt=doubt) for doubt in ends)
    assert found.unstable_range == pytest.approx((least.unstable_share, most.unstable_share), rel=1e-9)
    assert found.unanswered_range == pytest.approx((least.unanswered_share, most.unanswered_share), rel=1e-9)
    assert least.unstable_share < found.unstable_share < most.unstable_share
    assert replace(found, unstable_range=None, unanswered_range=None) == expected_run(*asked)


def test_without_relabelling_teachers_err_together() -> None:
    vector = vectors()[0]
    relabelled = modelled_run(VoteStage(70_100, 70_100, 701, 0.1, vector), Thresholds(), 1, 100)
    plain = modelled_run(VoteStage(70_100, 70_100, 701, None, vector), Thresholds(), 1, 100)
    assert plain.unstable_share > relabelled.unstable_share
    assert plain.excess_error > 0.25 * math.sqrt(1 / 100)


def test_the_paper_s_sparse_vector_has_no_model() -> None:
    vector = PaperSparseVector.from_paper(1.0, 1e-5, 6, 100)
    with pytest.raises(AssertionError, match="calibrated"):
        modelled_run(VoteStage(70_100, 70_100, 701, 0.1, vector), Thresholds(), 1, 100)


def test_a_hopeless_vote_is_expected_to_be_unstable() -> None:
    vector = OneSidedSparseVector.calibrate(0.1, 1e-9, 5)
    found = modelled_run(VoteStage(10_000, 10_000, 51, 0.1, vector), Thresholds(), 1, 100)
    assert found.unstable_share > 0.95
    assert found.unanswered_share > 0.95


def test_teachers_who_cannot_differ_do_not_dissent() -> None:
    """A class with one member: teachers make no errors of their own."""
    plan = VoteStage(4_000, 4_000, 501, None, vectors()[0])
    expected = modelled_run(plan, Finite([Threshold(0.5)]), 1, 100)
    assert expected.unstable_share < 1e-3
