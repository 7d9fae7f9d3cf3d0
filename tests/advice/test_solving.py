"""Solving for what is open: what is returned is certified, what is clearly harder is not, and the unknowns agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr.advice.question import ASSUMED, PARAMETERS, SYMBOLS, Question, Unknown
from pcqr.advice.solving import (
    MOST_QUERIES,
    Solved,
    enough_queries,
    frontier,
    hardest_demand,
    nearest_changes,
    running,
    solve,
)
from pcqr.errors import MissingParameters, ParameterError
from pcqr.hypotheses import Intervals, Stumps, Thresholds
from pcqr.planner.certificate import VcClass, vote_excess
from pcqr.planner.certified import fewest_records
from pcqr.planner.request import Request
from pcqr.releases.agnostic.planning import plan_agnostic

LINE = Question(hypotheses=Thresholds(), records=3_000_000, epsilon=1.0, queries=1_000, alpha=0.1)
HARDER = {"alpha": 0.85, "epsilon": 0.85, "queries": 1.15}


def solved(question: Question) -> Solved:
    found = solve(question)
    assert found is not None
    return found


def is_certified(found: Solved) -> bool:
    """Anew, from the plan alone: its accuracy, its privacy (in `Guarantee`) is the algorithms' business."""
    request, plan = found.request, found.votes.plan
    excess = vote_excess(plan, request.hypotheses, request.features, request.queries, request.beta)
    return excess <= request.alpha and plan.records <= request.records


def opened(question: Question, name: Unknown) -> Question:
    return replace(question, **{name: None, "solve": name})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        (LINE, "epsilon"),
        (replace(LINE, records=30_000_000), "epsilon"),
        (replace(LINE, hypotheses=Stumps(), features=14, records=100_000_000), "alpha"),
    ],
)
def test_what_is_solved_for_is_certified_by_the_plan_of_a_fit(question: Question, name: Unknown) -> None:
    """A search that begins near a similar solution finds more than that of `fit`, which knows none: these did."""
    assert plan_agnostic(solved(opened(question, name)).request, "calibrated").certified


@pytest.mark.parametrize("name", ["alpha", "queries", "epsilon"])
def test_the_solution_is_certified_and_one_that_is_clearly_harder_is_not_found(name: Unknown) -> None:
    found = solved(opened(LINE, name))
    assert found.request.records == LINE.records
    assert is_certified(found)
    harder = getattr(found.request, name) * HARDER[name]
    value = int(harder) if name == "queries" else harder
    beyond = fewest_records(found.request.but(**{name: value}))
    assert beyond is None or beyond.plan.records > found.request.records


@pytest.mark.parametrize("name", ["delta", "beta"])
def test_chances_are_solved_for_on_the_scale_of_their_logarithms(name: Unknown) -> None:
    tight = replace(LINE, records=1_400_000)
    found = solved(opened(tight, name))
    assert is_certified(found)
    value = getattr(found.request, name)
    assert value < ASSUMED[name]
    beyond = fewest_records(found.request.but(**{name: value**1.3}))
    assert beyond is None or beyond.plan.records > found.request.records


def test_the_fewest_records_are_certified_and_far_fewer_are_not_found() -> None:
    found = solved(opened(LINE, "records"))
    assert is_certified(found)
    assert found.request.records == found.votes.plan.records < 1_300_000
    assert solve(replace(LINE, records=None)) == found
    assert solve(replace(LINE, records=1)) == found  # nothing is open: what would be enough


def test_unknowns_agree_with_each_other() -> None:
    fewest = solved(opened(LINE, "records"))
    at_fewest = replace(LINE, records=fewest.request.records)
    assert solved(opened(at_fewest, "alpha")).request.alpha <= 0.1 * 1.021
    assert solved(opened(at_fewest, "epsilon")).request.epsilon <= 1.0 * 1.05
    a_few_more = replace(at_fewest, records=round(1.03 * fewest.request.records))
    assert solved(opened(a_few_more, "queries")).request.queries >= 1_000 * 0.85


@settings(max_examples=2, deadline=None)
@given(records=st.sampled_from([10**6, 3 * 10**6, 10**7]), times=st.sampled_from([2, 5]))
def test_more_records_never_make_alpha_worse(records: int, times: int) -> None:
    few, many = (
        solved(replace(LINE, records=count, queries=300, alpha=None)).request.alpha
        for count in (records, times * records)
    )
    assert many <= few * 1.02


@settings(max_examples=2, deadline=None)
@given(epsilon=st.sampled_from([0.003, 0.05, 0.2, 0.7, 2.0]), factor=st.sampled_from([1.5, 4.0]))
def test_a_larger_epsilon_never_needs_more_records(epsilon: float, factor: float) -> None:
    small, large = (
        solved(replace(LINE, records=None, epsilon=value)).request.records for value in (epsilon, factor * epsilon)
    )
    assert large <= small * 1.03


def test_small_epsilons_only_cost_records() -> None:
    """Relabelling costs 1.39 at least: the sub-sample must be small enough to pay for it."""
    hundredth = solved(replace(LINE, records=None, epsilon=0.01)).request.records
    tenth = solved(replace(LINE, records=None, epsilon=0.1)).request.records
    assert 4 * tenth < hundredth < 20 * tenth


@pytest.mark.parametrize(
    "question", [replace(LINE, hypotheses=VcClass(3)), replace(LINE, hypotheses=Stumps(), features=5)]
)
def test_other_classes_are_solved_for_as_well(question: Question) -> None:
    found = solved(replace(question, records=10**8, alpha=None))
    assert is_certified(found)


def test_nothing_is_said_where_nothing_is_proved() -> None:
    assert solve(replace(LINE, records=1_000, alpha=None)) is None
    assert solve(replace(LINE, queries=3, alpha=None)) is None  # three labels deviate by more than any α
    assert solve(replace(LINE, alpha=0.01, records=None)) is None  # so do a thousand, by more than this α
    assert solve(replace(LINE, epsilon=1e-12, records=None)) is None


def test_the_search_for_queries_ends_somewhere() -> None:
    assert solved(replace(LINE, records=10**9, queries=None)).request.queries == MOST_QUERIES


@pytest.mark.parametrize(
    ("question", "runs"),
    [
        (replace(LINE, records=None, queries=None), "queries"),
        (replace(LINE, records=10**7, alpha=None, epsilon=None), "epsilon"),
        (replace(LINE, records=None, solve="delta"), "records"),
        (replace(LINE, records=10**7, queries=None, alpha=None, solve="queries"), "alpha"),
    ],
)
def test_two_unknowns_make_a_table(question: Question, runs: Unknown) -> None:
    assert running(question) == runs
    points = frontier(question)
    assert len(points) == 3
    assert any(found is not None for _, found in points)
    for at, found in points:
        if found is not None:
            assert getattr(found.request, runs) == at
            assert is_certified(found)
    with pytest.raises(ParameterError, match="at most one unknown"):
        solve(question)


def asked(**changes: float) -> Request:
    return replace(LINE, **changes).request()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "request_",
    [asked(records=300_000), asked(records=50_000, epsilon=3.0), asked(records=3_000_000, queries=20, alpha=0.15)],
    ids=["few", "fewer", "few queries"],
)
def test_every_change_makes_it_provable(request_: Request) -> None:
    fewest = fewest_records(request_)
    assert fewest is None or fewest.plan.records > request_.records
    changes = nearest_changes(request_, fewest)
    assert changes
    for name, value in changes.items():
        assert value != getattr(request_, name)
        if name in ("records", "queries"):
            found = fewest_records(request_.but(**{name: int(value)}))
            assert found is not None
            assert found.plan.records <= (value if name == "records" else request_.records)
        else:
            question = opened(replace(LINE, **{key: getattr(request_, key) for key in PARAMETERS}), name)
            again = solved(question)
            assert is_certified(again)
            assert getattr(again.request, name) <= 1.1 * value


def test_too_few_queries_for_alpha_are_told_how_many_would_do() -> None:
    wider = enough_queries(asked(queries=20, alpha=0.05, records=10**9))
    assert wider is not None
    assert 20 < wider.request.queries < 2_000
    assert vote_excess(wider.votes.plan, Thresholds(), 1, wider.request.queries, 0.05) <= 0.05
    assert enough_queries(asked(queries=20, alpha=0.05, records=1_000)) is None


def test_missing_parameters_are_named_with_what_to_add() -> None:
    with pytest.raises(MissingParameters) as caught:
        Question(hypotheses=Thresholds(), epsilon=1.0)
    assert str(caught.value) == (
        "Too much is left open: --n, --alpha and --queries are missing, and at most 2 of them may be. "
        "Add at least one of them."
    )
    with pytest.raises(MissingParameters, match=r"--n, --alpha, --queries and --epsilon .* Add at least 2 of them"):
        Question(hypotheses=Thresholds())
    with pytest.raises(MissingParameters, match="--delta"):
        Question(hypotheses=Thresholds(), epsilon=1.0, alpha=0.1, solve="delta")


def test_contradictions_are_refused() -> None:
    with pytest.raises(ParameterError, match="alpha must be left out, since it is to be solved for"):
        replace(LINE, solve="alpha")
    with pytest.raises(ParameterError, match="solve must be one of records, "):
        replace(LINE, solve="gamma")  # type: ignore[arg-type]
    for alpha in (0.5, 0.9, 0.0, -0.1):
        with pytest.raises(ParameterError, match="alpha must be in"):
            replace(LINE, alpha=alpha)
    with pytest.raises(ParameterError, match="records must be an integer ≥ 1"):
        replace(LINE, records=0)
    for name in ("epsilon", "delta", "beta", "queries"):
        with pytest.raises(ParameterError, match=name):
            solve(replace(LINE, **{name: 0}))  # type: ignore[arg-type]


def test_every_unknown_has_a_flag_and_a_symbol_and_all_but_n_an_assumption() -> None:
    assert set(PARAMETERS) == set(SYMBOLS) == {"records", *ASSUMED}
    request = Question(hypotheses=Intervals(), records=10, epsilon=2.0).assuming().request()
    assert (request.records, request.delta, request.beta, request.alpha) == (10, 1e-6, 0.05, 0.1)
    assert math.isclose(request.epsilon, 2.0)


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_a_question_becomes_a_request_only_when_nothing_is_open(name: Unknown) -> None:
    """δ and β have defaults; nothing stands in for the others, least of all for n."""
    question = opened(LINE, name)
    with pytest.raises(ParameterError, match=f"{name} must be known"):
        question.request()
    if name == "records":
        assert not hasattr(question.demand(), "records")
        assert question.assuming().records is None
        return
    with pytest.raises(ParameterError, match=f"{name} must be known"):
        question.demand()
    assert getattr(question.request(**{name: getattr(LINE.request(), name)}), name) == getattr(LINE.request(), name)


LIMIT = 1e9


def counted(function: Callable[[float], float]) -> tuple[Callable[[float], float], list[float]]:
    asked: list[float] = []

    def needed(demand: float) -> float:
        asked.append(demand)
        return function(demand)

    return needed, asked


@given(power=st.floats(0.5, 3.0), crossing=st.floats(2.0, 1e4), available=st.integers(1_000, 10**9))
def test_the_crossing_of_a_power_is_found_in_a_few_rounds(power: float, crossing: float, available: int) -> None:
    needed, asked = counted(lambda u: available * (u / crossing) ** power)
    found = hardest_demand(needed, available, (1.0,), LIMIT, rounds=4)
    assert found is not None
    assert needed(found) <= available
    assert found in asked
    assert 0.94 * crossing <= found <= crossing * (1 + 1e-12)
    assert len(asked) <= 6


@given(wall=st.floats(1.5, 100.0), available=st.integers(1_000, 10**9))
def test_nothing_is_enough_beyond_a_wall_and_what_is_found_lies_before_it(wall: float, available: int) -> None:
    needed, asked = counted(lambda u: 0.01 * available * u**0.5 if u <= wall else math.inf)
    found = hardest_demand(needed, available, (1.0,), LIMIT, rounds=4)
    assert found is not None
    assert 1.0 <= found <= wall
    assert found in asked


def test_more_rounds_come_closer() -> None:
    def needed(u: float) -> float:
        return 100.0 * u * (1.0 + math.log(u)) ** 2

    few, many = (hardest_demand(needed, 10**6, (1.0,), LIMIT, rounds) for rounds in (1, 8))
    assert few is not None
    assert many is not None
    assert few < many
    assert 0.95e6 < needed(many) <= 1e6


def test_a_start_that_nearly_does_is_eased_before_the_next_is_tried() -> None:
    needed, asked = counted(lambda u: 100.0 * u)
    assert hardest_demand(needed, 1_000, (20.0, 1.0), LIMIT, rounds=0) == pytest.approx(9.5)
    assert asked == [20.0, pytest.approx(9.5)]
    far, asked = counted(lambda u: 100.0 * u)
    assert hardest_demand(far, 1_000, (40.0, 1.0), LIMIT, rounds=0) == 1.0
    assert asked == [40.0, 1.0]


def test_no_start_no_answer_and_never_beyond_the_limit() -> None:
    assert hardest_demand(lambda u: 1e9 * u, 1_000, (2.0, 1.0), LIMIT, rounds=4) is None
    assert hardest_demand(lambda _: math.inf, 1_000, (2.0, 1.0), LIMIT, rounds=4) is None
    assert hardest_demand(lambda _: 1.0, 1_000, (1.0,), 5.0, rounds=4) == 5.0
