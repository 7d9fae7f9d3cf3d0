"""Plans for the releases: SubSamp, AgPrivCl, UnvPrivCl, and SSPP, which publishes at once.

Each in calibrated mode, by search, or with the constants of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import get_args

import numpy as np

from pcqr.algorithms.noisy_max import noisy_max_guarantee
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.plan import (
    ClassifierPlan,
    Context,
    DrawStage,
    Mode,
    Pins,
    Prediction,
    PublishedPlan,
    Sequence,
    UniversalPlan,
    Vote,
    VoteStage,
    VotingPlan,
    account,
)
from pcqr.planning import paper
from pcqr.planning.expected.expectation import predicted_run, worst_run
from pcqr.planning.expected.model import relabel_excess
from pcqr.planning.noisy_max import noisy_votes
from pcqr.planning.proved import certificate
from pcqr.planning.proved.certified import certified_votes
from pcqr.planning.request import Request
from pcqr.planning.search import calibrated
from pcqr.planning.search.knobs import Knobs

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
    >>> from pcqr.plan import Aim, Budget, Pins
    >>> from pcqr.planning import Request, plan_subsample
    >>> request = Request(
    ...     records=5_000, features=1, hypotheses=Thresholds(), budget=Budget(1.0, 1e-6), aim=Aim(20, 0.1, 0.05),
    ...     pins=Pins(teachers=499),
    ... )
    >>> plan = plan_subsample(request, "calibrated")
    >>> plan.vote.inverse_temperature is None, plan.guarantee.within(1.0, 1e-6)
    (True, True)
    """
    if _check_vote(request, mode, vote) == "stability":
        return _plain(request, mode)
    return _chosen(request, vote, partial(_plain, request, mode))


@np.errstate(all="ignore")
def plan_agnostic(request: Request, mode: Mode, start: Knobs | None = None, vote: Vote = "stability") -> VotingPlan:
    """A plan for AgPrivCl: relabel, then vote.

    Calibrated: a plan for which (α, β) is proved where there is one, else the most promising one.

    Parameters
    ----------
    request : Request
        What is asked for; its aim must have a number of queries.
    mode : {"paper", "calibrated"}
        Whose constants to take.
    start : Knobs or None, default None
        Where to begin the search for a proof, for instance the knobs of a similar request.
    vote : {"auto", "stability", "noisy max"}, default "stability"
        As for `plan_subsample`. "auto" is also the test where (α, β) is proved for it. Noise is added to votes of
        teachers on the labels as they are.

    Returns
    -------
    VotingPlan

    Raises
    ------
    InfeasiblePlan
        When no votes keep to ε and δ with so few records, or paper mode needs more of them.
    ParameterError
        When mode or vote is unknown, they do not go together, or the aim has no number of queries.

    Examples
    --------
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.plan import Aim, Budget, Pins
    >>> from pcqr.planning import Request, plan_agnostic
    >>> request = Request(
    ...     records=10_000, features=1, hypotheses=Thresholds(), budget=Budget(1.0, 1e-6), aim=Aim(20, 0.1, 0.05),
    ...     pins=Pins(teachers=199),
    ... )
    >>> plan = plan_agnostic(request, "calibrated")
    >>> plan.vote.subsample < plan.vote.records, plan.guarantee.within(1.0, 1e-6)
    (True, True)
    """
    if _check_vote(request, mode, vote) == "stability":
        return _relabelled(request, mode, start)
    return _chosen(request, vote, partial(_relabelled, request, mode, start))


@np.errstate(all="ignore")
def plan_universal(request: Request, mode: Mode, start: Knobs | None = None) -> UniversalPlan:
    """A plan for UnvPrivCl: relabel, vote, then publish. Votes and publication have β/2 each.

    Calibrated: a plan for which (α, β) is proved where there is one, else the most promising one.

    Parameters
    ----------
    request : Request
        What is asked for; its aim must have a number of queries.
    mode : {"paper", "calibrated"}
        Whose constants to take.
    start : Knobs or None, default None
        As for `plan_agnostic`.

    Returns
    -------
    UniversalPlan

    Raises
    ------
    InfeasiblePlan
        When no votes keep to ε and δ with so few records, or paper mode needs more of them.
    ParameterError
        When the mode is none, or no number of queries is aimed at.

    Examples
    --------
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.plan import Aim, Budget, Pins
    >>> from pcqr.planning import Request, plan_universal
    >>> request = Request(
    ...     records=10_000, features=1, hypotheses=Thresholds(), budget=Budget(1.0, 1e-6), aim=Aim(20, 0.1, 0.05),
    ...     pins=Pins(teachers=199, publish_share=0.1),
    ... )
    >>> plan = plan_universal(request, "calibrated")
    >>> plan.publish.after_queries, round(plan.publish.inverse_temperature, 3)  # half of a tenth of ε
    (20, 0.05)
    """
    if _check_mode(mode) == "paper":
        vote, publish = paper.plan_universal(request)
        prediction, excess = None, _universal_excess(request, vote, publish)
    else:
        vote, publish, excess = _universal(request, start)
        prediction = _expected(request, vote, publish.after_queries)
    _check_support(request, vote)
    guarantee = universal_guarantee(vote, publish, request.context)
    return UniversalPlan(
        **request.promise(guarantee, mode),
        vote=vote,
        publish=publish,
        prediction=prediction,
        proved=_finite(excess),
    )


@np.errstate(all="ignore")
def plan_semi_private(request: Request) -> PublishedPlan:
    """A plan for SSPP: one draw over a public class, published at once. Pure ε.

    Parameters
    ----------
    request : Request
        What is asked for. `public` is the number of public points at hand; None: the class is fixed by declaration.

    Returns
    -------
    PublishedPlan

    Raises
    ------
    ParameterError
        When the class is neither fixed nor made of public points.

    Examples
    --------
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.plan import Aim, Budget
    >>> from pcqr.planning import Request, plan_semi_private
    >>> request = Request(
    ...     records=100_000, features=1, hypotheses=Thresholds(), public=1_000,
    ...     budget=Budget(1.0), aim=Aim(None, 0.1, 0.05),
    ... )
    >>> plan = plan_semi_private(request)
    >>> plan.guarantee.is_pure, plan.certified, round(plan.proved, 3)
    (True, True, 0.031)
    """
    request.check_epsilon()
    features, hypotheses, public = request.features, request.hypotheses, request.public
    publish = DrawStage(calibrated.publish_temperature(request, request.epsilon, public))
    guarantee = account(publish, request.context)
    proved = None
    if request.aim is not None:
        beta = request.aim.beta
        proved = _finite(certificate.publish_excess(publish, hypotheses, request.records, features, public or 1, beta))
    return PublishedPlan(**request.promise(guarantee), stage=publish, proved=proved)


@np.errstate(all="ignore")
def plan_direct(request: Request) -> ClassifierPlan:
    """A plan for answers by one draw from a class that is fixed before the records are seen. Pure ε, any labels.

    One member is drawn and answers every query. Neither votes nor relabelling cost anything beside it.

    Parameters
    ----------
    request : Request
        What is asked for; its aim must have a number of queries. Public points and pins have no effect.

    Returns
    -------
    ClassifierPlan

    Raises
    ------
    ParameterError
        When the class is not fixed. A member of a class that is made of private points would show them.

    Examples
    --------
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.plan import Aim, Budget
    >>> from pcqr.planning import Request
    >>> from pcqr.planning.releases import plan_direct
    >>> request = Request(
    ...     records=10_000, features=1, hypotheses=Stumps(cuts=[0.5]), budget=Budget(1.0, 1e-6), aim=Aim(20, 0.1, 0.05)
    ... )
    >>> plan = plan_direct(request)
    >>> plan.guarantee.is_pure, plan.certified, plan.expected_answers
    (True, True, 20.0)
    """
    request.check_epsilon()
    hypotheses, features = request.hypotheses, request.features
    if not hypotheses.is_fixed:
        raise ParameterError(
            "hypotheses", "a class that is fixed before the records are seen", type(hypotheses).__name__
        )
    draw = DrawStage(calibrated.publish_temperature(request, request.epsilon, None))
    excess = certificate.publish_excess(draw, hypotheses, request.records, features, 1, request.beta)
    growth = hypotheses.log_growth(request.records, features)
    expected = min(0.5, relabel_excess(growth, draw.inverse_temperature, request.records))
    return ClassifierPlan(
        **request.promise(account(draw, request.context)),
        stage=draw,
        prediction=Prediction(0.0, expected, 0.0),
        proved=_finite(excess),
    )


def universal_guarantee(vote: VoteStage, publish: DrawStage, context: Context) -> Guarantee:
    """Return the guarantee of votes and then a publication over the points that were asked (proofs/unv_priv_cl.md)."""
    public = max(1, publish.after_queries) + (vote.public or 0)  # one vote comes first in any case
    stated = account(Sequence((vote, publish)), replace(context, public=public))
    return replace(stated, proof="unv_priv_cl")


def _plain(request: Request, mode: Mode) -> VotingPlan:
    """Stable votes of teachers on the labels as they are."""
    if mode == "paper":
        vote, prediction = paper.plan_sub_samp(request), None
    else:
        vote = calibrated.plan_votes(request, relabel=False)
        prediction = _expected(request, vote, request.queries)
    guarantee = account(vote, request.context)
    return VotingPlan(**request.promise(guarantee, mode), vote=vote, prediction=prediction)


def _relabelled(request: Request, mode: Mode, start: Knobs | None) -> VotingPlan:
    """Stable votes of teachers on relabelled records."""
    if mode == "paper":
        vote, prediction = paper.plan_votes(request, request.epsilon, request.queries), None
        excess = _vote_excess(request, vote)
    else:
        vote, excess = _votes(request, start)
        prediction = _expected(request, vote, request.queries)
    _check_support(request, vote)
    guarantee = account(vote, request.context)
    return VotingPlan(**request.promise(guarantee, mode), vote=vote, prediction=prediction, proved=_finite(excess))


def _chosen(request: Request, vote: Vote, stable: Callable[[], VotingPlan]) -> VotingPlan:
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


def _votes(request: Request, start: Knobs | None) -> tuple[VoteStage, float]:
    """The votes and what is proved of their excess error."""
    best = calibrated.plan_votes(request, relabel=True)
    excess = _vote_excess(request, best)
    if request.is_pinned or excess <= request.alpha:
        return best, excess
    proved = certified_votes(request, start)
    return (best, excess) if proved is None else (proved.plan, _vote_excess(request, proved.plan))


def _universal(request: Request, start: Knobs | None) -> tuple[VoteStage, DrawStage, float]:
    """Votes, publication, and what is proved of their excess error."""
    best, publish = calibrated.plan_universal(request)
    excess = _universal_excess(request, best, publish)
    if request.is_pinned or excess <= request.alpha:
        return best, publish, excess
    for share in calibrated.PUBLISH_SHARES[:2]:  # with records enough for a proof the published part needs little
        part, shown = calibrated.split(request, share, publish.after_queries)
        if _publish_excess(part, shown) <= request.alpha:
            proved = certified_votes(part, start)  # a larger share would leave them less
            if proved is None:
                break
            return proved.plan, shown, _universal_excess(request, proved.plan, shown)
    return best, publish, excess


def _expected(request: Request, vote: VoteStage, queries: int) -> Prediction:
    return predicted_run(vote, request.hypotheses, request.features, queries)


def _vote_excess(request: Request, vote: VoteStage) -> float:
    return certificate.vote_excess(vote, request.hypotheses, request.features, request.queries, request.beta)


def _publish_excess(request: Request, publish: DrawStage) -> float:
    return certificate.publish_excess(
        publish, request.hypotheses, request.records, request.features, publish.after_queries, request.beta
    )


def _universal_excess(request: Request, vote: VoteStage, publish: DrawStage) -> float:
    """The larger of the two stages' excess errors, each with half of β: m_o answers by vote, then the classifier."""
    stage = request.but(queries=publish.after_queries, beta=request.beta / 2.0)
    return max(_vote_excess(stage, vote), _publish_excess(stage, publish))


def _finite(excess: float) -> float | None:
    return excess if math.isfinite(excess) else None


def _check_support(request: Request, vote: VoteStage) -> None:
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


def _check_vote(request: Request, mode: Mode, vote: Vote) -> Vote:
    """Return "stability" where mode or pins imply it, else `vote`. ParameterError if they do not go together."""
    if vote not in get_args(Vote):
        raise ParameterError("vote", f"one of {', '.join(map(repr, get_args(Vote)))}", vote)
    pins = replace(request.pins, publish_share=None)
    if _check_mode(mode) == "calibrated" and (vote == "stability" or pins == Pins()):
        return vote
    if vote == "noisy max" and (mode == "paper" or pins != Pins(teachers=pins.teachers)):
        implied = "mode='paper'" if mode == "paper" else "unstable, sampling_rate or inverse_temperature"
        raise ParameterError("vote", f"'stability' or 'auto' with {implied}", vote)
    return vote if vote == "noisy max" else "stability"


def _check_mode(mode: Mode) -> Mode:
    if mode not in ("paper", "calibrated"):
        raise ParameterError("mode", "'paper' or 'calibrated'", mode)
    return mode
