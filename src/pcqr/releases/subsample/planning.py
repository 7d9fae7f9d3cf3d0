from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import get_args

import numpy as np

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.planner import paper
from pcqr.planner import search as calibrated
from pcqr.planner.expectation import predicted_run, worst_run
from pcqr.planner.request import Request
from pcqr.privacy.composition import account
from pcqr.releases.noisy_max.planning import noisy_votes
from pcqr.releases.noisy_max.run import noisy_max_guarantee
from pcqr.releases.protocol.plan import Mode, Pins, Prediction, Vote
from pcqr.releases.subsample.plan import VoteStage, VotingPlan

_COIN = 0.45
"""Votes with a larger expected excess error are hardly better than coins. The planner chooses none by itself."""


@np.errstate(all="ignore")
def plan_subsample(request: Request, mode: Mode, vote: Vote = "stability") -> VotingPlan:
    """A plan for SubSamp: teachers on the labels as they are.

    Its accuracy theorem is α + 3γ, not α + γ, so nothing is certified. Public points do not help it.

    Parameters
    ----------
    request : Request
        What is asked for; its aim must have a number of queries.
    mode : {"paper", "calibrated"}
        Whose constants to take.
    vote : {"auto", "stability", "noisy max"}, default "stability"
        What makes votes private: a test of their stability, or noise on each. "auto": noise, unless the test is
        expected to err less even where its model is far too optimistic. In paper mode, and with any pin but
        `publish_share`, "auto" is the test.

    Returns
    -------
    VotingPlan

    Raises
    ------
    InfeasiblePlan
        When no votes keep to ε and δ with so few records.
    ParameterError
        When mode or vote is unknown, they do not go together, or the aim has no number of queries.

    Examples
    --------
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.releases.protocol.plan import Aim, Budget, Pins
    >>> from pcqr.planner.request import Request
    >>> from pcqr.releases.subsample.planning import plan_subsample
    >>> request = Request(
    ...     records=5_000, features=1, hypotheses=Thresholds(), budget=Budget(1.0, 1e-6), aim=Aim(20, 0.1, 0.05),
    ...     pins=Pins(teachers=499),
    ... )
    >>> plan = plan_subsample(request, "calibrated")
    >>> plan.vote.inverse_temperature is None, plan.guarantee.within(1.0, 1e-6)
    (True, True)
    """
    if check_vote(request, mode, vote) == "stability":
        return _plain(request, mode)
    return chosen_vote(request, vote, partial(_plain, request, mode))


def _plain(request: Request, mode: Mode) -> VotingPlan:
    """Stable votes of teachers on the labels as they are."""
    if mode == "paper":
        vote, prediction = paper.plan_sub_samp(request), None
    else:
        vote = calibrated.plan_votes(request, relabel=False)
        prediction = prediction_of(request, vote, request.queries)
    guarantee = account(vote, request.context)
    return VotingPlan(**request.promise(guarantee, mode), vote=vote, prediction=prediction)


def chosen_vote(request: Request, vote: Vote, stable: Callable[[], VotingPlan]) -> VotingPlan:
    """Return noisy votes; with "auto" the `stable` plan where it is proved, or better even by its worst expectation.

    On real tables a test of stability often fell far behind its expectation, and noise did not. So near ties go to
    noise.
    """
    if vote == "noisy max":
        return _noisy(request)
    try:
        tested = stable()
    except InfeasiblePlan:
        noisy = _noisy(request)
        if _excess(noisy) < _COIN:
            return noisy
        raise  # it says what would help
    try:
        noisy = _noisy(request)
    except InfeasiblePlan:
        return tested
    return tested if tested.certified or _worst_excess(request, tested) < _excess(noisy) else noisy


def _noisy(request: Request) -> VotingPlan:
    """Noise on every vote of teachers on the labels as they are."""
    vote, prediction = noisy_votes(request)
    guarantee = noisy_max_guarantee(vote, request.delta)
    return VotingPlan(**request.promise(guarantee), vote=vote, prediction=prediction)


def _worst_excess(request: Request, plan: VotingPlan) -> float:
    return worst_run(plan.tested, request.hypotheses, request.features, request.queries).excess_error


def _excess(plan: VotingPlan) -> float:
    return math.inf if plan.prediction is None else plan.prediction.excess_error


def prediction_of(request: Request, vote: VoteStage, queries: int) -> Prediction:
    return predicted_run(vote, request.hypotheses, request.features, queries)


def finite_or_none(excess: float) -> float | None:
    return excess if math.isfinite(excess) else None


def check_support(request: Request, vote: VoteStage) -> None:
    """Refuse, from public numbers, what the relabelling's class could not be drawn on."""
    support = request.hypotheses.largest_support
    if support is None or request.hypotheses.is_fixed:
        return
    if vote.public is not None and vote.public > support:
        raise ParameterError("public", f"at most {support:,} points for {request.hypotheses}", vote.public)
    if vote.public is None and vote.subsample > support:
        raise InfeasiblePlan(
            f"{request.hypotheses} can be drawn on {support:,} records at most, and the plan relabels "
            f"{vote.subsample:,}.",
            "mode='calibrated', which takes a smaller sub-sample",
        )


def check_vote(request: Request, mode: Mode, vote: Vote) -> Vote:
    """Return "stability" where mode or pins imply it, else `vote`. ParameterError if they do not go together."""
    if vote not in get_args(Vote):
        raise ParameterError("vote", f"one of {', '.join(map(repr, get_args(Vote)))}", vote)
    pins = replace(request.pins, publish_share=None)
    if check_mode(mode) == "calibrated" and (vote == "stability" or pins == Pins()):
        return vote
    if vote == "noisy max" and (mode == "paper" or pins != Pins(teachers=pins.teachers)):
        implied = "mode='paper'" if mode == "paper" else "unstable, sampling_rate or inverse_temperature"
        raise ParameterError("vote", f"'stability' or 'auto' with {implied}", vote)
    return vote if vote == "noisy max" else "stability"


def check_mode(mode: Mode) -> Mode:
    if mode not in ("paper", "calibrated"):
        raise ParameterError("mode", "'paper' or 'calibrated'", mode)
    return mode
