"""Which vote a release plans by "auto": noise, unless a test of stability is proved, or better at its worst."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses import Finite, Intervals, Stumps, Thresholds
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.thresholds import Threshold
from pcqr.planner.expectation import doubts, modelled_run, worst_run
from pcqr.planner.request import Request
from pcqr.releases.agnostic.planning import plan_agnostic
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.noisy_max.planning import plan_noisy_max
from pcqr.releases.protocol.plan import Aim, Budget, Pins, Vote
from pcqr.releases.subsample.plan import VoteStage, VotingPlan
from pcqr.releases.subsample.planning import plan_subsample

SUBSAMPLE = partial(plan_subsample, mode="calibrated")
AGNOSTIC = partial(plan_agnostic, mode="calibrated")
MAKERS: tuple[Callable[..., VotingPlan], ...] = (SUBSAMPLE, AGNOSTIC)


def request(
    records: int, epsilon: float = 1.0, queries: int = 100, hypotheses: HypothesisClass | None = None, **pins: Any
) -> Request:
    return Request(
        records=records,
        features=1 if hypotheses is None else 3,
        hypotheses=hypotheses or Thresholds(),
        budget=Budget(epsilon, 1e-6),
        aim=Aim(queries, 0.1, 0.05),
        pins=Pins(**pins),
    )


GRID = [
    request(records, epsilon, queries, hypotheses)
    for records in (3_000, 30_000, 300_000)
    for epsilon, queries, hypotheses in ((0.3, 100, None), (1.0, 1_000, Stumps()), (4.0, 300, Stumps()))
]


@pytest.mark.parametrize("make", MAKERS)
def test_the_rule_that_the_docstring_gives(make: Callable[..., VotingPlan]) -> None:
    taken = set()
    for asked in GRID:
        plan, noisy = make(asked, vote="auto"), make(asked, vote="noisy max")
        assert plan.guarantee.within(asked.epsilon, asked.delta)
        assert noisy.prediction is not None
        try:
            tested = make(asked, vote="stability")
        except InfeasiblePlan:
            assert plan == noisy
            continue
        worst = worst_run(tested.tested, asked.hypotheses, asked.features, asked.queries).excess_error
        assert plan == (tested if worst < noisy.prediction.excess_error else noisy)
        taken.add(type(plan.vote))
    assert NoisyMaxStage in taken
    assert VoteStage in taken or make is SUBSAMPLE


@pytest.mark.parametrize("make", MAKERS)
def test_noise_is_that_of_the_noisy_majority(make: Callable[..., VotingPlan]) -> None:
    asked = request(20_000, hypotheses=Intervals())
    plan, peer = make(asked, vote="noisy max"), plan_noisy_max(asked)
    assert (plan.vote, plan.guarantee, plan.prediction) == (peer.vote, peer.guarantee, peer.prediction)
    assert plan.expected_answers == plan.queries
    assert (plan.remaining, plan.stages) == (peer.remaining, peer.stages)
    with pytest.raises(ParameterError, match="plan must be a test of stability"):
        _ = plan.tested


def test_what_is_proved_is_taken() -> None:
    asked = request(2_000_000, queries=1_000)
    proved = AGNOSTIC(asked, vote="stability")
    assert proved.certified
    assert AGNOSTIC(asked, vote="auto") == proved


@pytest.mark.parametrize("make", MAKERS)
def test_without_room_for_a_test_there_is_noise(make: Callable[..., VotingPlan]) -> None:
    few = request(100, epsilon=0.7, queries=5)
    with pytest.raises(InfeasiblePlan):
        make(few, vote="stability")
    assert isinstance(make(few, vote="auto").vote, NoisyMaxStage)
    with pytest.raises(InfeasiblePlan, match="no vote of teachers can ever be stable"):  # coins are not released
        make(few.but(epsilon=0.01), vote="auto")
    assert isinstance(make(few.but(epsilon=0.01), vote="noisy max").vote, NoisyMaxStage)


@pytest.mark.parametrize("make", MAKERS)
def test_a_test_where_no_noise_can_be_drawn(make: Callable[..., VotingPlan], monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: Request) -> None:
        raise InfeasiblePlan("No noise is large enough.", "a larger ε")

    monkeypatch.setattr("pcqr.releases.subsample.planning.noisy_votes", none)
    asked = request(30_000, epsilon=0.3)
    assert make(asked, vote="auto") == make(asked, vote="stability")
    with pytest.raises(InfeasiblePlan, match="No noise"):
        make(asked, vote="noisy max")


@pytest.mark.parametrize(
    "pins", [{"teachers": 199}, {"unstable": 3}, {"sampling_rate": 1.0}, {"inverse_temperature": 0.3}]
)
def test_pins_are_those_of_a_test(pins: dict[str, Any]) -> None:
    asked = request(20_000, epsilon=4.0, **pins)
    assert isinstance(AGNOSTIC(asked, vote="auto").vote, VoteStage)
    if "teachers" in pins:
        noisy = AGNOSTIC(asked, vote="noisy max").vote
        assert isinstance(noisy, NoisyMaxStage)
        assert noisy.teachers == 199
    else:
        with pytest.raises(ParameterError, match="vote must be 'stability' or 'auto' with unstable"):
            AGNOSTIC(asked, vote="noisy max")


@pytest.mark.parametrize("make", [plan_subsample, plan_agnostic])
def test_the_paper_tests(make: Callable[..., VotingPlan]) -> None:
    asked = request(10**14, epsilon=0.5, queries=30)
    assert make(asked, "paper", vote="auto") == make(asked, "paper", vote="stability")
    with pytest.raises(ParameterError, match="with mode='paper'"):
        make(asked, "paper", vote="noisy max")


@pytest.mark.parametrize("vote", ["stable", None, "", 1])
def test_there_are_three_kinds(vote: Vote) -> None:
    with pytest.raises(ParameterError, match="vote must be one of 'auto', 'stability', 'noisy max'"):
        plan_subsample(request(20_000), "calibrated", vote)


def test_the_worst_run_is_worse_than_what_is_expected() -> None:
    asked = request(30_000, queries=1_000, hypotheses=Finite([Threshold(0.3), Threshold(0.6)]))
    for make in MAKERS:
        plan = make(asked, vote="stability")
        assert plan.prediction is not None
        worst = worst_run(plan.tested, asked.hypotheses, asked.features, asked.queries)
        assert worst.excess_error >= plan.prediction.excess_error
        run = plan.tested, asked.hypotheses, asked.features, asked.queries
        assert worst == modelled_run(*run, doubt=doubts(plan.tested.inverse_temperature)[-1][0])
        assert plan.prediction.unanswered_range is not None
        assert worst.unanswered_share <= plan.prediction.unanswered_range[1] * (1.0 + 1e-9)
