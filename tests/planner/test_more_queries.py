"""Planning for more queries never means fewer answers, and every refusal names a change that helps."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.requests import request_of

from pcqr.errors import InfeasiblePlan
from pcqr.hypotheses import Intervals, Rectangles, Stumps, Thresholds
from pcqr.hypotheses.base import Combinatorics
from pcqr.planner import search as calibrated
from pcqr.planner.request import Request
from pcqr.planner.search import sparse_vectors
from pcqr.releases.agnostic.planning import plan_agnostic
from pcqr.releases.protocol.plan import Mode
from pcqr.releases.subsample.plan import VoteStage, VotingPlan
from pcqr.releases.subsample.planning import plan_subsample
from pcqr.releases.universal.planning import plan_universal

Maker = Callable[[Request, Mode], VotingPlan]
MAKERS: tuple[Maker, ...] = (plan_subsample, plan_agnostic, plan_universal)
ROUNDING = 1e-9
ADULT = request_of(36_000, 14, Stumps(), 2.0, 1e-6, 500, 0.1, 0.05)


def expected_answers(make: Maker, request: Request) -> float:
    try:
        answers = make(request, "calibrated").expected_answers
    except InfeasiblePlan:
        return 0.0
    assert answers is not None
    return answers


def falls(make: Maker, request: Request, chain: tuple[int, ...]) -> list[tuple[int, int]]:
    """Neighbours of `chain` between which the expected number of answers falls."""
    answers = [expected_answers(make, request.but(queries=queries)) for queries in chain]
    assert answers[-1] > 0.0
    pairs = zip(itertools.pairwise(chain), itertools.pairwise(answers), strict=True)
    return [queries for queries, (before, after) in pairs if after < before * (1 - ROUNDING)]


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("hypotheses", "features"), [(Thresholds(), 1), (Stumps(), 14), (Intervals(), 1)])
@pytest.mark.parametrize(
    ("records", "epsilon", "delta"), [(5_000, 2.0, 1e-6), (36_000, 2.0, 1e-6), (300_000, 0.5, 1e-7)]
)
def test_more_queries_never_mean_fewer_answers(
    make: Maker, hypotheses: Combinatorics, features: int, records: int, epsilon: float, delta: float
) -> None:
    """27 chains of 9 numbers of queries: 243 requests. 15 of the chains fell before."""
    request = request_of(records, features, hypotheses, epsilon, delta, 1, 0.1, 0.05)
    assert falls(make, request, (1, 40, 300, 500, 1_000, 2_000, 5_000, 10_000, 100_000)) == []


@pytest.mark.parametrize("make", MAKERS)
def test_a_hundred_times_as_many_queries_do_not_destroy_a_release(make: Maker) -> None:
    assert falls(make, ADULT, (499, 500, 2_000, 100_000)) == []


@settings(max_examples=5, deadline=None)
@given(
    records=st.integers(3_000, 60_000),
    epsilon=st.floats(0.5, 4.0),
    few=st.integers(1, 900),
    more=st.integers(1, 1_000),
)
def test_nor_do_a_few_more_queries(records: int, epsilon: float, few: int, more: int) -> None:
    request = request_of(records, 1, Thresholds(), epsilon, 1e-6, few, 0.1, 0.05)
    answers = [expected_answers(plan_subsample, request.but(queries=m)) for m in (few, few + more)]
    assert answers[0] <= answers[1] + ROUNDING


@given(few=st.integers(1, 10**7), more=st.integers(0, 10**7))
def test_more_queries_have_all_the_rungs_of_fewer(few: int, more: int) -> None:
    ladder = calibrated.rungs(few)
    assert calibrated.rungs(few + more)[: len(ladder)] == ladder
    assert ladder[0] == 1
    assert ladder[-1] >= few or ladder == calibrated.LADDER
    assert ladder == tuple(sorted(set(ladder)))


@settings(max_examples=30, deadline=None)
@given(
    unstable=st.integers(1, 200),
    teachers=st.integers(10, 1_000).map(lambda half: 2 * half + 1),
    few=st.integers(1, 10**4),
    more=st.integers(1, 10**5),
)
def test_a_given_plan_answers_more_of_more_queries(unstable: int, teachers: int, few: int, more: int) -> None:
    vector = sparse_vectors(2.0, 1e-6, unstable, 1_000, 0.05, exact=False)[-1]
    plan = VoteStage(36_000, 30_000, teachers, 0.05, vector)
    answers = [calibrated.answers(ADULT.but(queries=m), plan) for m in (few, few + more)]
    assert answers[0] <= answers[1] + ROUNDING
    assert 0.0 <= answers[0] <= few


def test_the_plan_that_answers_most_is_taken() -> None:
    """Of the plans for every rung, each of them the best for its own number of queries."""
    request = ADULT.but(queries=2_000)
    ladder = calibrated.rungs(2_000)
    votes = calibrated.Votes(request.but(queries=ladder[-1]), relabel=False)
    found = [candidate.plan for rung in ladder if (candidate := votes.best(rung)) is not None]
    taken = calibrated.plan_votes(request, relabel=False)
    assert taken in found
    assert calibrated.answers(request, taken) == max(calibrated.answers(request, plan) for plan in found)


def test_more_queries_get_more_unstable_answers_and_more_teachers() -> None:
    """T grows with m while most queries are answered; noise grows with T, and k with the noise."""
    plans = [plan_subsample(ADULT.but(queries=queries), "calibrated") for queries in (30, 300, 3_000)]
    budgets = [plan.tested.sparse_vector.unstable for plan in plans]
    teachers = [plan.vote.teachers for plan in plans]
    assert budgets == sorted(set(budgets))
    assert teachers == sorted(set(teachers))
    for plan in plans:
        assert plan.expected_answers is not None
        assert plan.expected_answers > 0.8 * plan.queries


def test_a_better_guarantee_never_comes_with_more_answers() -> None:
    """The same records with less ε, less δ or fewer records: fewer answers are expected."""
    base = expected_answers(plan_agnostic, ADULT.but(queries=1_000))
    for harder in ({"epsilon": 1.0}, {"delta": 1e-12}, {"records": 9_000}):
        assert expected_answers(plan_agnostic, ADULT.but(queries=1_000, **harder)) < base


def test_a_universal_release_counts_its_votes() -> None:
    plan = plan_universal(ADULT.but(queries=10**6), "calibrated")
    assert plan.votes == plan.publish.after_queries < plan.queries
    assert plan.expected_answers is not None
    assert plan.expected_answers <= plan.votes


@pytest.mark.parametrize(
    ("make", "hypotheses", "features", "records", "epsilon", "delta", "queries", "pins"),
    [
        (plan_subsample, Thresholds(), 1, 50, 0.5, 1e-6, 300, {}),
        (plan_subsample, Stumps(), 14, 600, 0.1, 1e-9, 1_000, {}),
        (plan_subsample, Thresholds(), 1, 3_000, 0.5, 1e-9, 300, {"unstable": 2_000}),
        (plan_agnostic, Thresholds(), 1, 50, 0.5, 1e-6, 300, {}),
        (plan_agnostic, Stumps(), 14, 20_000, 0.01, 1e-6, 300, {}),
        (plan_agnostic, Intervals(), 1, 400, 1.0, 1e-7, 10_000, {}),
        (plan_agnostic, Rectangles(), 2, 300, 1.0, 1e-6, 100, {}),
        (plan_universal, Stumps(), 14, 150, 1.0, 1e-6, 300, {}),
        (plan_universal, Thresholds(), 1, 20_000, 0.01, 1e-9, 500, {}),
    ],
)
def test_the_change_that_a_refusal_names_is_feasible(
    make: Maker,
    hypotheses: Combinatorics,
    features: int,
    records: int,
    epsilon: float,
    delta: float,
    queries: int,
    pins: dict[str, int],
) -> None:
    request = request_of(records, features, hypotheses, epsilon, delta, queries, 0.1, 0.05, **pins)
    with pytest.raises(InfeasiblePlan) as caught:
        make(request, "calibrated")
    enough = named_records(caught.value)
    assert enough is not None
    assert enough > records
    assert make(request.but(records=enough), "calibrated").guarantee.within(epsilon, delta)


@pytest.mark.parametrize(
    ("make", "hypotheses", "features", "records", "epsilon", "delta", "teachers"),
    [
        (plan_subsample, Thresholds(), 1, 2_000, 0.613, 1e-9, None),
        (plan_agnostic, Stumps(), 14, 2_000, 0.376, 1e-6, 101),
        (plan_agnostic, Stumps(), 14, 2_000, 1.0, 1e-6, 101),
        (plan_agnostic, Stumps(), 14, 20_000, 0.0532, 1e-6, 101),
        (plan_agnostic, Stumps(), 14, 20_000, 0.376, 1e-6, 101),
        (plan_agnostic, Stumps(), 14, 20_000, 0.376, 1e-9, 101),
    ],
)
def test_no_refusal_contradicts_itself(
    make: Maker,
    hypotheses: Combinatorics,
    features: int,
    records: int,
    epsilon: float,
    delta: float,
    teachers: int | None,
) -> None:
    """All of these were refused once, with the advice to have fewer records."""
    request = request_of(records, features, hypotheses, epsilon, delta, 100_000, 0.1, 0.05, teachers=teachers)
    try:
        make(request, "calibrated")
    except InfeasiblePlan as refusal:
        enough = named_records(refusal)
        assert enough is None or enough > records
        if enough is not None:
            make(request.but(records=enough), "calibrated")


def named_records(refusal: InfeasiblePlan) -> int | None:
    found = re.search(r"n ≥ ([\d,]+)", refusal.needed)
    return None if found is None else int(found[1].replace(",", ""))
