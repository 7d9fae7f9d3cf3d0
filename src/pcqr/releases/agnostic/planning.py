from __future__ import annotations

from functools import partial

import numpy as np

from pcqr.errors import ParameterError
from pcqr.planner import certificate, paper
from pcqr.planner import search as calibrated
from pcqr.planner.certified import certified_votes
from pcqr.planner.expectation import relabel_excess
from pcqr.planner.request import Request
from pcqr.planner.search import Knobs
from pcqr.privacy.composition import account
from pcqr.releases.protocol.plan import Mode, Prediction, Vote
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage, VotingPlan
from pcqr.releases.subsample.planning import check_support, check_vote, chosen_vote, finite_or_none, prediction_of
from pcqr.releases.universal.plan import ClassifierPlan


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
    >>> from pcqr.releases.protocol.plan import Aim, Budget, Pins
    >>> from pcqr.planner.request import Request
    >>> from pcqr.releases.agnostic.planning import plan_agnostic
    >>> request = Request(
    ...     records=10_000, features=1, hypotheses=Thresholds(), budget=Budget(1.0, 1e-6), aim=Aim(20, 0.1, 0.05),
    ...     pins=Pins(teachers=199),
    ... )
    >>> plan = plan_agnostic(request, "calibrated")
    >>> plan.vote.subsample < plan.vote.records, plan.guarantee.within(1.0, 1e-6)
    (True, True)
    """
    if check_vote(request, mode, vote) == "stability":
        return _relabelled(request, mode, start)
    return chosen_vote(request, vote, partial(_relabelled, request, mode, start))


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
    >>> from pcqr.releases.protocol.plan import Aim, Budget
    >>> from pcqr.planner.request import Request
    >>> from pcqr.releases.agnostic.planning import plan_direct
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
        proved=finite_or_none(excess),
    )


def _relabelled(request: Request, mode: Mode, start: Knobs | None) -> VotingPlan:
    """Stable votes of teachers on relabelled records."""
    if mode == "paper":
        vote, prediction = paper.plan_votes(request, request.epsilon, request.queries), None
        excess = proved_excess(request, vote)
    else:
        vote, excess = _votes(request, start)
        prediction = prediction_of(request, vote, request.queries)
    check_support(request, vote)
    guarantee = account(vote, request.context)
    return VotingPlan(
        **request.promise(guarantee, mode), vote=vote, prediction=prediction, proved=finite_or_none(excess)
    )


def _votes(request: Request, start: Knobs | None) -> tuple[VoteStage, float]:
    """The votes and what is proved of their excess error."""
    best = calibrated.plan_votes(request, relabel=True)
    excess = proved_excess(request, best)
    if request.is_pinned or excess <= request.alpha:
        return best, excess
    proved = certified_votes(request, start)
    return (best, excess) if proved is None else (proved.plan, proved_excess(request, proved.plan))


def proved_excess(request: Request, vote: VoteStage) -> float:
    return certificate.vote_excess(vote, request.hypotheses, request.features, request.queries, request.beta)
