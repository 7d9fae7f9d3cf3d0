from __future__ import annotations

from dataclasses import replace

import numpy as np

from pcqr.planner import certificate, paper
from pcqr.planner import search as calibrated
from pcqr.planner.certified import certified_votes
from pcqr.planner.request import Request
from pcqr.planner.search import Knobs
from pcqr.privacy.composition import Context, Sequence, account
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.agnostic.planning import proved_excess
from pcqr.releases.protocol.plan import Mode
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.subsample.planning import check_mode, check_support, finite_or_none, prediction_of
from pcqr.releases.universal.plan import UniversalPlan


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
    >>> from pcqr.releases.protocol.plan import Aim, Budget, Pins
    >>> from pcqr.planner.request import Request
    >>> from pcqr.releases.universal.planning import plan_universal
    >>> request = Request(
    ...     records=10_000, features=1, hypotheses=Thresholds(), budget=Budget(1.0, 1e-6), aim=Aim(20, 0.1, 0.05),
    ...     pins=Pins(teachers=199, publish_share=0.1),
    ... )
    >>> plan = plan_universal(request, "calibrated")
    >>> plan.publish.after_queries, round(plan.publish.inverse_temperature, 3)  # half of a tenth of ε
    (20, 0.05)
    """
    if check_mode(mode) == "paper":
        vote, publish = paper.plan_universal(request)
        prediction, excess = None, _universal_excess(request, vote, publish)
    else:
        vote, publish, excess = _universal(request, start)
        prediction = prediction_of(request, vote, publish.after_queries)
    check_support(request, vote)
    guarantee = universal_guarantee(vote, publish, request.context)
    return UniversalPlan(
        **request.promise(guarantee, mode),
        vote=vote,
        publish=publish,
        prediction=prediction,
        proved=finite_or_none(excess),
    )


def universal_guarantee(vote: VoteStage, publish: DrawStage, context: Context) -> Guarantee:
    """Return the guarantee of votes and then a publication over the points that were asked (proofs/unv_priv_cl.md)."""
    public = max(1, publish.after_queries) + (vote.public or 0)  # one vote comes first in any case
    stated = account(Sequence((vote, publish)), replace(context, public=public))
    return replace(stated, proof="unv_priv_cl")


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


def _publish_excess(request: Request, publish: DrawStage) -> float:
    return certificate.publish_excess(
        publish, request.hypotheses, request.records, request.features, publish.after_queries, request.beta
    )


def _universal_excess(request: Request, vote: VoteStage, publish: DrawStage) -> float:
    """The larger of the two stages' excess errors, each with half of β: m_o answers by vote, then the classifier."""
    stage = request.but(queries=publish.after_queries, beta=request.beta / 2.0)
    return max(proved_excess(stage, vote), _publish_excess(stage, publish))
