"""The certificate, event by event, against simulations with the real learners; and where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from pcqr.hypotheses import DecisionTrees, Finite, Intervals, Stumps, Thresholds, UnionsOfIntervals
from pcqr.hypotheses.base import Combinatorics, Hypothesis, HypothesisClass, Labels
from pcqr.hypotheses.intervals import Interval
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.trees import Predicate
from pcqr.hypotheses.unions import IntervalUnion
from pcqr.mechanisms.sparse_vector import PaperSparseVector, RenyiSparseVector, best_one_sided
from pcqr.planner import certificate
from pcqr.planner.certificate import (
    EVENTS,
    SHARES,
    VcClass,
    certify_share,
    certify_votes,
    publish_excess,
    sampling_slack,
    unclear_share,
)
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage

FloatArray = NDArray[np.float64]
QUERIES, BETA = 200, 0.05


def plan(records: int = 10**6, **changes: Any) -> VoteStage:
    vector = RenyiSparseVector.calibrate(2.0, 1e-5, 30, QUERIES, BETA / 20.0)
    return replace(VoteStage(4 * records, records, 1_001, 0.1, vector), **changes)


# E2: how far a lead on the records exceeds the lead on the pool -------------------------------------------------------


def test_a_lead_over_the_best_threshold_rarely_exceeds_its_bound() -> None:
    """Coin labels, h* = 1: the lead of 1[x > c] on n' records is the height of a walk, on the pool it is 0."""
    records, failure, runs = 400, 0.2, 2_000
    bound = certificate._generalisation(Thresholds(), records, math.inf, -math.log(failure))
    steps = np.random.default_rng(0).integers(0, 2, (runs, records)) * 2 - 1
    worst = steps.cumsum(axis=1).max(axis=1) / records
    assert (worst > bound).mean() <= failure
    assert (worst > 0.4 * bound).mean() > failure


def test_off_the_line_a_union_bound_is_paid() -> None:
    general = certificate._generalisation(Stumps(), 10_000, 20.0, 5.0)
    assert general == pytest.approx(math.sqrt(2 * 20.0 / 10_000))
    assert certificate._generalisation(Intervals(), 10_000, 20.0, 5.0) == general  # here two switches cost more
    assert certificate._generalisation(Intervals(), 10_000, 90.0, 5.0) < math.sqrt(2 * 90.0 / 10_000)


# E3: the drawn hypothesis ---------------------------------------------------------------------------------------------


def test_a_prior_against_large_trees_is_paid_for() -> None:
    """ln(1/prior) of the least likely tree that a draw at η = 0 gives, not the logarithm of their number."""
    trees = DecisionTrees(depth=2, stop=0.4, predicates=(Predicate(0, 0.5), Predicate(1, 0.5)))
    X, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1])
    drawn = [-trees.draw(X, y, 0.0, entropy=SeededEntropy(seed)).log_probability for seed in range(200)]
    assert max(drawn) == pytest.approx(trees.log_rarity(2, 2), abs=1e-6)
    assert max(drawn) > trees.log_growth(2, 2) + 1.0
    assert replace(trees, stop=0.0).log_rarity(2, 2) == trees.log_growth(2, 2)
    published = DrawStage(0.1)
    assert publish_excess(published, trees, 10**4, 2, 1, BETA) > publish_excess(
        published, replace(trees, stop=0.0), 10**4, 2, 1, BETA
    )


# E4: teachers ---------------------------------------------------------------------------------------------------------

GRID = (np.arange(20_000) + 0.5) / 20_000
LINE: tuple[tuple[HypothesisClass, Hypothesis], ...] = (
    (Thresholds(), Threshold(0.6)),
    (Thresholds("both"), Threshold(0.3, up=False)),
    (Thresholds("both"), Threshold(math.inf)),
    (Intervals(), Interval(0.2, 0.7)),
    (Intervals(), Interval(0.5, 0.502)),
    (UnionsOfIntervals(2), IntervalUnion((0.1, 0.3, 0.35, 0.8))),
)


def unclear_points(
    learn: Callable[[FloatArray, Labels], Hypothesis],
    target: Hypothesis,
    teachers: int,
    records: int,
    dissent: float,
    rng: np.random.Generator,
    grid: FloatArray = GRID,
) -> float:
    """The share of the pool `grid` on which a share `dissent` of the teachers dissents from the `target`."""
    truth, votes = target.predict(grid), np.zeros(grid.size, dtype=np.int64)
    for _ in range(teachers):
        part = rng.choice(grid, records)
        votes += learn(part, target.predict(part)).predict(grid) != truth
    return float((votes >= dissent * teachers - 1e-9).mean())


@pytest.mark.parametrize(("hypotheses", "target"), LINE, ids=str)
@pytest.mark.parametrize("ties", [False, True])
def test_unclear_points_on_the_line_are_as_rare_as_proved(
    hypotheses: HypothesisClass, target: Hypothesis, ties: bool
) -> None:
    rng, teachers, records, dissent, log_b = np.random.default_rng(7), 101, 30, 21 / 101, math.log(1e4)
    grid = GRID[::50] if not ties else np.repeat(GRID[::1000], np.arange(20) + 1)
    bound = unclear_share(hypotheses, 1, teachers, records, dissent, 0.0, log_b)
    found = [unclear_points(hypotheses.learn, target, teachers, records, dissent, rng, grid) for _ in range(6)]
    assert max(found) <= bound < 1.0


def test_the_bound_on_unclear_points_is_a_small_multiple_of_the_truth() -> None:
    """Worse than the real learner, and still within the promise of `switches`: a gap gets the label on its left."""
    teachers, records, dissent = 2_001, 40, 0.2
    bound = unclear_share(Thresholds(), 1, teachers, records, dissent, 0.0, math.log(1e3))

    def leftmost(x: FloatArray, y: Labels) -> Threshold:
        return Threshold(float(np.nextafter(x[y == 1].min(initial=1.0), 0.0)))

    rng = np.random.default_rng(3)
    real = unclear_points(Thresholds().learn, Threshold(0.5), teachers, records, dissent, rng)
    worst = unclear_points(leftmost, Threshold(0.5), teachers, records, dissent, rng)
    assert 0.23 * bound < real < worst <= bound
    assert worst > 0.43 * bound


def test_unclear_points_of_stumps_are_as_rare_as_proved() -> None:
    rng, teachers, records, dissent = np.random.default_rng(5), 101, 200, 21 / 101
    pool = rng.random((2_000, 3))
    truth, votes = pool[:, 1] > 0.4, np.zeros(2_000, dtype=np.int64)
    for _ in range(teachers):
        part = rng.integers(0, 2_000, records)
        votes += Stumps().learn(pool[part], truth[part]).predict(pool) != truth
    bound = unclear_share(Stumps(), 3, teachers, records, dissent, math.log(2 * 3 * 2_001), math.log(100.0))
    assert 0.0 < (votes >= dissent * teachers - 1e-9).mean() <= bound < 1.0


@pytest.mark.parametrize(
    ("hypotheses", "features"),
    [(UnionsOfIntervals(60), 1), (VcClass(500), 1), (Finite([Threshold(0.5)]), 1), (Stumps(), 1000)],
    ids=["unions", "vc", "one member", "stumps"],
)
def test_extreme_classes_have_bounds_too(hypotheses: Combinatorics, features: int) -> None:
    members = hypotheses.log_growth(10**20, features)
    for teachers in (3, 101, 10_001):
        share = unclear_share(hypotheses, features, teachers, 10**9, 1 / teachers, members, 5.0)
        assert 0.0 < share <= 1.0


@given(
    teachers=st.integers(10, 5_000),
    records=st.integers(1, 10**6),
    part=st.floats(0.02, 0.49),
    members=st.floats(0.0, 200.0),
    log_b=st.floats(1.0, 30.0),
)
def test_unclear_points_grow_rarer_with_records_and_with_what_is_allowed(
    teachers: int, records: int, part: float, members: float, log_b: float
) -> None:
    for hypotheses in (Thresholds(), UnionsOfIntervals(2), VcClass(3)):
        share = unclear_share(hypotheses, 1, teachers, records, part, members, log_b)
        tolerance = 1e-7 * share
        assert unclear_share(hypotheses, 1, teachers, records + 1, part, members, log_b) <= share + tolerance
        assert unclear_share(hypotheses, 1, teachers + 1, records, part, members, log_b) <= share + tolerance
        assert unclear_share(hypotheses, 1, teachers, records, part * 1.01, members, log_b) <= share + tolerance
        assert unclear_share(hypotheses, 1, teachers, records, part, members + 1.0, log_b) >= share - tolerance


# The whole ------------------------------------------------------------------------------------------------------------


def test_a_certificate_is_the_sum_of_its_parts_and_spends_beta_once() -> None:
    found = certify_share(plan(), Thresholds(), 1, QUERIES, BETA, 0.2)
    assert found is not None
    parts = found.selection + found.generalisation + found.unclear + found.sampling
    assert found.excess == parts
    assert EVENTS * found.failure + 0.8 * BETA == pytest.approx(BETA)
    assert found.sampling == sampling_slack(QUERIES, 0.8 * BETA)
    assert found.pool >= (plan().subsample + QUERIES) ** 2 / (2 * found.failure)
    assert found.margin == plan().sparse_vector.margin_needed(QUERIES, found.failure)  # type: ignore[union-attr]
    assert found.dissent * 1_001 == pytest.approx(500 - found.margin + 1)
    assert found.unstable == plan().sparse_vector.unstable - 1
    assert binom.sf(found.unstable, QUERIES, found.unclear) <= found.failure


def test_the_best_share_of_beta_is_taken() -> None:
    found = [certify_share(plan(), Thresholds(), 1, QUERIES, BETA, share) for share in SHARES]
    best = certify_votes(plan(), Thresholds(), 1, QUERIES, BETA)
    assert best in found
    assert best is not None
    assert best.excess == min(each.excess for each in found if each is not None)
    assert certificate.vote_excess(plan(), Thresholds(), 1, QUERIES, BETA) == best.excess


@pytest.mark.parametrize(
    "changes",
    [
        {"inverse_temperature": None},
        {"copies": 14},
        {"public": 100},
        {"sparse_vector": PaperSparseVector.from_paper(2.0, 1e-5, 30, QUERIES)},
        {"teachers": 301},  # a margin that no vote can have
        {"subsample": 2_000},  # too many unclear points
        {"sparse_vector": best_one_sided(2.0, 1e-5, 1, QUERIES, BETA / 20.0), "subsample": 50_000},
    ],
    ids=["no relabelling", "copies", "public", "paper", "few teachers", "few records", "one unstable answer"],
)
def test_nothing_is_certified_without_a_proof(changes: dict[str, Any]) -> None:
    assert certify_votes(plan(), Thresholds(), 1, QUERIES, BETA) is not None
    assert certify_votes(plan(**changes), Thresholds(), 1, QUERIES, BETA) is None
    assert certificate.vote_excess(plan(**changes), Thresholds(), 1, QUERIES, BETA) == math.inf


@settings(max_examples=40)
@given(
    records=st.integers(10**5, 10**9),
    more=st.floats(1.0, 5.0),
    share=st.sampled_from(SHARES),
    hypotheses=st.sampled_from((Thresholds(), Intervals(), VcClass(3))),
)
def test_more_records_and_a_larger_beta_never_hurt(
    records: int, more: float, share: float, hypotheses: Combinatorics
) -> None:
    def excess(size: int, beta: float) -> float:
        found = certify_share(plan(size), hypotheses, 1, QUERIES, beta, share)
        return math.inf if found is None else found.excess

    # Teachers have whole records: N can stay while the pool grows a little.
    assert excess(math.ceil(more * records) + 1_001, BETA) <= excess(records, BETA) * (1 + 1e-3)
    assert excess(records, min(0.9, more * BETA)) <= excess(records, BETA)


@settings(max_examples=40)
@given(records=st.integers(100, 10**8), public=st.integers(2, 10**5), more=st.integers(2, 9))
def test_the_published_hypothesis_gains_from_records_public_points_and_heat(
    records: int, public: int, more: int
) -> None:
    cold = publish_excess(DrawStage(0.05), Intervals(), records, 1, public, BETA)
    assert publish_excess(DrawStage(0.05), Intervals(), more * records, 1, public, BETA) < cold
    assert publish_excess(DrawStage(0.05 * more), Intervals(), records, 1, public, BETA) < cold
    assert publish_excess(DrawStage(0.05), Intervals(), records, 1, public, BETA / more) > cold
    everything = publish_excess(DrawStage(0.05), Intervals(), 10**18, 1, public, BETA)
    assert publish_excess(DrawStage(0.05), Intervals(), 10**18, 1, more * public, BETA) < everything


def test_a_class_fixed_by_declaration_needs_no_cover() -> None:
    fixed = Stumps(cuts=[0.5])
    found = publish_excess(DrawStage(0.5), fixed, 10**6, 2, 1, BETA)
    log_b, members = math.log(3 / BETA), fixed.log_growth(1, 2)
    inexact = fixed.log_probability_error(10**6, 0.5, features=2, public=1)
    assert found == pytest.approx((members + log_b + inexact) / 5e5 + math.sqrt(2 * (members + log_b) / 1e6))


def test_the_published_threshold_keeps_its_promise() -> None:
    """200 draws from the cover of 60 public points: at most a β share errs by more than is proved."""
    records, public, runs, eta = 3_000, 60, 200, 0.05
    bound = publish_excess(DrawStage(eta), Thresholds(), records, 1, public, BETA)
    rng, exceeded = np.random.default_rng(11), 0
    for run in range(runs):
        x, shown = rng.random(records), rng.random(public)
        y = (x > 0.5) ^ (rng.random(records) < 0.1)
        drawn = Thresholds().sample(x, y, eta, public=shown, entropy=SeededEntropy(run))
        assert isinstance(drawn, Threshold)
        exceeded += 0.8 * abs(min(max(drawn.cut, 0.0), 1.0) - 0.5) > bound
    assert exceeded <= BETA * runs
    assert bound < 0.45
