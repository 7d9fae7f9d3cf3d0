"""From public numbers to a frozen `Plan`: n, m, (ε, δ), (α, β), the class. The private data is never touched."""

from __future__ import annotations

from typing import TypedDict

from pcqr.algorithms.ag_priv_cl import ag_priv_cl_guarantee
from pcqr.algorithms.sspp import sspp_guarantee
from pcqr.algorithms.sub_samp import sub_samp_guarantee
from pcqr.algorithms.unv_priv_cl import unv_priv_cl_guarantee
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.plan import Mode, PublishingPlan, PublishPlan, UniversalPlan, VotePlan, VotingPlan
from pcqr.planning import calibrated, certificate, paper
from pcqr.planning.request import Request

__all__ = ["Request", "plan_agnostic", "plan_semi_private", "plan_subsample", "plan_universal"]


def plan_subsample(request: Request, mode: Mode) -> VotingPlan:
    """SubSamp. Its accuracy theorem is α + 3γ, not α + γ, so nothing is certified. Public points do not help it."""
    if _check_mode(mode) == "paper":
        vote, prediction = paper.plan_sub_samp(request), None
    else:
        best = calibrated.plan_votes(request, request.epsilon, request.delta, relabel=False, queries=request.queries)
        vote, prediction = best.plan, best.prediction
    guarantee = sub_samp_guarantee(vote)
    return VotingPlan(**_shared(request, mode, guarantee), vote=vote, prediction=prediction)


def plan_agnostic(request: Request, mode: Mode) -> VotingPlan:
    """AgPrivCl."""
    features, hypotheses = request.features, request.hypotheses
    if _check_mode(mode) == "paper":
        vote, prediction = paper.plan_votes(request, request.epsilon, request.queries), None
    else:
        best = calibrated.plan_votes(request, request.epsilon, request.delta, relabel=True, queries=request.queries)
        vote, prediction = best.plan, best.prediction
    _check_support(request, vote)
    guarantee = ag_priv_cl_guarantee(vote, hypotheses, features)
    excess = certificate.vote_excess(vote, hypotheses, features, request.queries, request.beta)
    return VotingPlan(
        **_shared(request, mode, guarantee), vote=vote, prediction=prediction, certified=excess <= request.alpha
    )


def plan_universal(request: Request, mode: Mode) -> UniversalPlan:
    """UnvPrivCl."""
    features, hypotheses, half = request.features, request.hypotheses, request.beta / 2.0
    if _check_mode(mode) == "paper":
        vote, publish = paper.plan_universal(request)
        prediction = None
    else:
        best, publish = calibrated.plan_universal(request)
        vote, prediction = best.plan, best.prediction
    _check_support(request, vote)
    guarantee = unv_priv_cl_guarantee(vote, publish, hypotheses, features)
    after = publish.after_queries
    excess = max(
        certificate.vote_excess(vote, hypotheses, features, after, half),
        certificate.publish_excess(publish, hypotheses, request.records, features, after, half),
    )
    return UniversalPlan(
        **_shared(request, mode, guarantee),
        vote=vote,
        publish=publish,
        prediction=prediction,
        certified=excess <= request.alpha,
    )


def plan_semi_private(request: Request) -> PublishingPlan:
    """SSPP alone, with `request.public` public points at hand (None: the class is fixed by declaration). Pure ε."""
    features, hypotheses, public = request.features, request.hypotheses, request.public
    publish = PublishPlan(calibrated.publish_temperature(request, request.epsilon, public))
    guarantee = sspp_guarantee(publish, hypotheses, request.records, features, public)
    excess = certificate.publish_excess(publish, hypotheses, request.records, features, public or 1, request.beta)
    return PublishingPlan(
        **_shared(request, "calibrated", guarantee), publish=publish, certified=excess <= request.alpha
    )


def _check_support(request: Request, vote: VotePlan) -> None:
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


def _check_mode(mode: Mode) -> Mode:
    if mode not in ("paper", "calibrated"):
        raise ParameterError("mode", "'paper' or 'calibrated'", mode)
    return mode


class _Shared(TypedDict):
    mode: Mode
    epsilon: float
    delta: float
    queries: int
    alpha: float
    beta: float
    guarantee: Guarantee


def _shared(request: Request, mode: Mode, guarantee: Guarantee) -> _Shared:
    """The fields that all plans have, after the last check before anything private happens: ε and δ are kept."""
    if not guarantee.within(request.epsilon, request.delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {request.epsilon}, δ = {request.delta}.")
    return {
        "mode": mode,
        "epsilon": request.epsilon,
        "delta": request.delta,
        "queries": request.queries,
        "alpha": request.alpha,
        "beta": request.beta,
        "guarantee": guarantee,
    }
