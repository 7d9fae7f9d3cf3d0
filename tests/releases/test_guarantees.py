"""What each algorithm promises, from its plan: recomputed by hand, in both modes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from support.releases import Forbidden

from pcqr.data.records import InMemory
from pcqr.errors import ParameterError
from pcqr.hypotheses import Stumps, Thresholds, UnionsOfIntervals
from pcqr.mechanisms.noisy_max import GaussianMax
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector
from pcqr.planner import paper
from pcqr.privacy.composition import Context, account
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.agnostic.run import ag_priv_cl
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.noisy_max.run import noisy_max
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.subsample.run import sub_samp
from pcqr.releases.universal.planning import universal_guarantee
from pcqr.releases.universal.run import unv_priv_cl

CONTEXT = Context(Thresholds(), records=1_000, features=1)
VECTOR = OneSidedSparseVector.calibrate(0.9, 1e-6, 3)


def vote_plan(**changes: object) -> VoteStage:
    values = {
        "records": 1_000,
        "subsample": 500,
        "teachers": 101,
        "inverse_temperature": 0.3,
        "sparse_vector": VECTOR,
    }
    return VoteStage(**(values | changes))  # type: ignore[arg-type]


def test_sub_samp_is_the_sparse_vector_amplified() -> None:
    guarantee = account(vote_plan(inverse_temperature=None), CONTEXT)
    assert guarantee.epsilon == pytest.approx(math.log1p(0.5 * math.expm1(VECTOR.guarantee.epsilon)), rel=1e-10)
    assert guarantee.delta == pytest.approx(0.5 * VECTOR.guarantee.delta, rel=1e-10)


@pytest.mark.parametrize(
    ("hypotheses", "public", "price"),
    [
        (Thresholds(), None, 2 * math.log(1 + math.exp(0.3))),
        (Thresholds(), 50, 0.6),
        (Stumps(cuts=[0.5]), None, 0.6),
    ],
)
def test_ag_priv_cl_adds_the_price_of_relabelling(hypotheses: Thresholds, public: int | None, price: float) -> None:
    guarantee = account(vote_plan(public=public), replace(CONTEXT, hypotheses=hypotheses))
    inner = VECTOR.guarantee.epsilon + price
    assert guarantee.epsilon == pytest.approx(math.log1p(0.5 * math.expm1(inner)), rel=1e-9)
    assert guarantee.delta == pytest.approx(0.5 * VECTOR.guarantee.delta, rel=1e-10)


def test_unv_priv_cl_pays_for_votes_and_publication() -> None:
    publish = DrawStage(0.2, after_queries=40)
    both = universal_guarantee(vote_plan(), publish, CONTEXT)
    votes = account(vote_plan(), CONTEXT)
    published = account(publish, replace(CONTEXT, public=40))
    assert published.epsilon == pytest.approx(0.4, rel=1e-9)
    assert published.is_pure
    assert both.epsilon == pytest.approx(votes.epsilon + published.epsilon, rel=1e-9)
    assert both.delta == pytest.approx(votes.delta, rel=1e-9)


def test_no_publication_comes_before_the_first_vote() -> None:
    """Planned after none, it comes after one: that query is a public point, whose numerical error is paid for."""
    context = replace(CONTEXT, hypotheses=UnionsOfIntervals(2))
    none, one, many = (universal_guarantee(vote_plan(), DrawStage(0.2, m), context) for m in (0, 1, 9))
    assert none.epsilon == one.epsilon < many.epsilon


def test_with_replacement_pays_for_copies() -> None:
    vector = PaperSparseVector.from_paper(0.05, 1e-8, 2, 100)
    plan = vote_plan(sparse_vector=vector, copies=6)
    guarantee = plan.votes_guarantee
    inner = vector.guarantee
    group = sum(math.exp(j * inner.epsilon) for j in range(6)) * inner.delta
    assert guarantee.epsilon == pytest.approx(6 * inner.epsilon)
    assert guarantee.delta == pytest.approx(group + binom.sf(6, 500, 1 / 500), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3, 0.036])
@pytest.mark.parametrize("queries", [10, 1_000, 100_000])
def test_the_papers_constants_with_their_corrections_keep_epsilon_and_delta(
    epsilon: float, delta: float, queries: int
) -> None:
    for alpha, beta in ((0.01, 0.05), (0.3, 0.01)):
        plan = paper.literal_votes(10**12, epsilon, delta, alpha, beta, queries)
        assert account(plan, replace(CONTEXT, records=10**12)).within(epsilon, delta)


def test_paper_mode_runs_on_a_plan_of_its_own_form() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((6_000, 1))
    y = (X[:, 0] > 0.5).astype(np.int8)
    vector = PaperSparseVector(threshold=40, scale=3.0, unstable=2, queries=30, slack=1e-4)
    plan = VoteStage(6_000, 3_000, 301, 0.5, vector, copies=6)
    votes = ag_priv_cl(Thresholds(), InMemory(X, y), None, plan, SeededEntropy(0))
    far = votes.counts(np.array([[0.05], [0.95]]))
    assert [votes.decide(counts) for counts in far] == [0, 1]


def test_a_plan_for_another_algorithm_is_refused() -> None:
    X, y = np.zeros((1_000, 1)), np.zeros(1_000, dtype=np.int8)
    with pytest.raises(ParameterError, match="without relabelling"):
        sub_samp(Thresholds(), InMemory(X, y), vote_plan(), SeededEntropy(0))
    with pytest.raises(ParameterError, match="that relabels"):
        ag_priv_cl(Thresholds(), InMemory(X, y), None, vote_plan(inverse_temperature=None), SeededEntropy(0))
    with pytest.raises(ParameterError, match="public"):
        ag_priv_cl(Thresholds(), InMemory(X, y), X[:3], vote_plan(), SeededEntropy(0))


@pytest.mark.parametrize("rows", [999, 1_001])
def test_a_table_of_another_size_than_the_plans_is_refused_before_anything_is_drawn(rows: int) -> None:
    """More records than planned would not all be sampled at the planned rate; fewer would be sampled more often."""
    X, y = np.zeros((rows, 1)), np.zeros(rows, dtype=np.int8)
    expected = rf"a plan for {rows} records"
    with pytest.raises(ParameterError, match=expected):
        sub_samp(Thresholds(), InMemory(X, y), vote_plan(inverse_temperature=None), Forbidden())
    with pytest.raises(ParameterError, match=expected):
        ag_priv_cl(Thresholds(), InMemory(X, y), None, vote_plan(), Forbidden())
    with pytest.raises(ParameterError, match=expected):
        unv_priv_cl(Thresholds(), InMemory(X, y), None, vote_plan(), DrawStage(0.2, after_queries=40), Forbidden())
    with pytest.raises(ParameterError, match=expected):
        noisy_max(Thresholds(), InMemory(X, y), NoisyMaxStage(1_000, 101, 10, GaussianMax(5.0)), Forbidden())
