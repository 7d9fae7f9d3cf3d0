"""Paper plans: the constants as printed by Nandi and Bassily, with the corrections of docs/paper-corrections.md.

Corrections: a distance of sensitivity 1, T rounded up with `c < T`, k odd, δ ≤ 0.036 (beyond which the bound on
the number of copies fails), ε split between votes and publication. The accuracy constants (8000 in n', 50 in the
claim on disagreement rates) are the paper's; they are not checked, so `Plan.certified` stays False.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from pcqr.checks import check_probability
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.mechanisms.sparse_vector import PaperSparseVector
from pcqr.planner.request import Request
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage

LARGEST_DELTA = 0.036
RELABEL_TEMPERATURE = 0.5
"""The paper's ε̃ = 1 on scores of sensitivity 1/n' is weight e^{−mistakes/2}."""


def unstable_cutoff(queries: int, alpha: float, beta: float) -> int:
    """T = ⌈max(1, mα/8 + ¼·√(3mα·ln(m/β)))⌉, m = `queries`."""
    load = queries * alpha
    return math.ceil(max(1.0, load / 8.0 + 0.25 * math.sqrt(3.0 * load * math.log(queries / beta))))


def teachers_needed(scale: float, queries: int, unstable: int, delta: float, beta: float) -> int:
    """k = 34√2·λ·ln(4mT/min(δ, β/2)), rounded up to the next odd integer; λ = `scale`."""
    k = math.ceil(34.0 * math.sqrt(2.0) * scale * math.log(4.0 * queries * unstable / min(delta, beta / 2.0)))
    return k + (k % 2 == 0)


def subsample_needed(vc_dimension: int, queries: int, alpha: float, beta: float, delta: float) -> float:
    """n' = 8000·(d·ln(1/α) + ln(m/β))·ln^{3/2}(2/δ)·ln(mα/min(δ, β/2))/α² · max(1, √m·α^{3/2})."""
    capacity = vc_dimension * math.log(1.0 / alpha) + math.log(queries / beta)
    logs = math.pow(math.log(2.0 / delta), 1.5) * math.log(queries * alpha / min(delta, beta / 2.0))
    return 8000.0 * capacity * logs / alpha**2 * max(1.0, math.sqrt(queries) * math.pow(alpha, 1.5))


def records_needed(vc_dimension: int, queries: int, epsilon: float, delta: float, alpha: float, beta: float) -> int:
    """n = 56·n'/ε: what AgPrivCl asks for by its explicit formula."""
    return math.ceil(56.0 * subsample_needed(vc_dimension, queries, alpha, beta, delta) / epsilon)


def sub_samp_records_needed(vc_dimension: int, teachers: int, alpha: float, beta: float) -> int:
    """n = k·⌈8(d·ln(1/α) + ln(4k/β))/α²⌉, k = `teachers`: ours, where SubSamp's lemma says Õ(d·k/α²). For α + 3γ."""
    capacity = vc_dimension * math.log(1.0 / alpha) + math.log(4.0 * teachers / beta)
    return teachers * math.ceil(8.0 * capacity / alpha**2)


def public_points(vc_dimension: int, alpha: float, beta: float) -> int:
    """m_o = 32·(d·ln(1/α) + ln(1/β))/α: the votes before publication."""
    return math.ceil(32.0 * (vc_dimension * math.log(1.0 / alpha) + math.log(1.0 / beta)) / alpha)


@dataclass(frozen=True)
class PaperFigures:
    """AgPrivCl's numbers as printed, for the n that its formula asks for, and m_o of UnvPrivCl.

    n = `n`, n' = `subsample`, T = `T`, ε' = `inner_epsilon`, ε̂ = `hat_epsilon`, δ̂ = `hat_delta`, λ = `scale`,
    w = `threshold`, k = `k`, m_o = `public_points`.
    """

    n: int
    k: int
    T: int
    subsample: int
    inner_epsilon: float
    hat_epsilon: float
    hat_delta: float
    scale: float
    threshold: int
    public_points: int


def figures(vc_dimension: int, queries: int, epsilon: float, delta: float, alpha: float, beta: float) -> PaperFigures:
    """The paper's explicit formulas, evaluated as they stand. (Its theorem is for ε < 1 and, corrected, δ ≤ 0.036.)"""
    n = records_needed(vc_dimension, queries, epsilon, delta, alpha, beta)
    hat_epsilon, hat_delta = inner_budget(queries, delta, alpha)
    unstable = unstable_cutoff(queries, alpha, beta)
    scale = math.sqrt(32.0 * unstable * math.log(2.0 / hat_delta)) / hat_epsilon
    return PaperFigures(
        n=n,
        k=teachers_needed(scale, queries, unstable, hat_delta, beta),
        T=unstable,
        subsample=math.floor(epsilon * n / 56.0),
        inner_epsilon=alpha * max(1.0, math.sqrt(queries * alpha)),
        hat_epsilon=hat_epsilon,
        hat_delta=hat_delta,
        scale=scale,
        threshold=math.ceil(2.0 * scale * math.log(2.0 * queries / hat_delta)),
        public_points=public_points(vc_dimension, alpha, beta),
    )


def inner_budget(queries: int, delta: float, alpha: float) -> tuple[float, float]:
    """ε̂ = min(1, ε')/ln(2/δ) and δ̂ = δ/(2e^{min(1, ε')}·ln(2/δ)), ε' = α·max(1, √(mα)): the sparse vector's share."""
    group = math.log(2.0 / delta)
    capped = min(1.0, alpha * max(1.0, math.sqrt(queries * alpha)))
    return capped / group, delta / (2.0 * math.exp(capped) * group)


def plan_sub_samp(request: Request) -> VoteStage:
    """SubSamp on all records. Its lemma has no explicit n: asked for is `sub_samp_records_needed`."""
    _check(request)
    unstable = unstable_cutoff(request.queries, request.alpha, request.beta)
    vector = PaperSparseVector.from_paper(request.epsilon, request.delta, unstable, request.queries)
    k = teachers_needed(vector.scale, request.queries, unstable, request.delta, request.beta)
    dimension = request.hypotheses.vc_bound(request.features)
    _refuse_below(request, sub_samp_records_needed(dimension, k, request.alpha, request.beta))
    return VoteStage(request.records, request.records, k, None, vector)


def plan_votes(request: Request, epsilon: float, queries: int) -> VoteStage:
    """AgPrivCl for `queries` queries at (`epsilon`, δ): n' = εn/56, ε̂ and δ̂ of the paper's first step."""
    _check(request)
    alpha, beta, delta = request.alpha, request.beta, request.delta
    _refuse_below(
        request, records_needed(request.hypotheses.vc_bound(request.features), queries, epsilon, delta, alpha, beta)
    )
    return literal_votes(request.records, epsilon, delta, alpha, beta, queries)


def literal_votes(records: int, epsilon: float, delta: float, alpha: float, beta: float, queries: int) -> VoteStage:
    """The parameters of AgPrivCl's first step for any n = `records`, whether or not its accuracy theorem applies."""
    unstable = unstable_cutoff(queries, alpha, beta)
    subsample = math.floor(epsilon * records / 56.0)
    inner_epsilon, inner_delta = inner_budget(queries, delta, alpha)
    vector = PaperSparseVector.from_paper(inner_epsilon, inner_delta, unstable, queries)
    k = teachers_needed(vector.scale, queries, unstable, inner_delta, beta)
    if subsample < k:
        raise InfeasiblePlan(
            f"Paper mode needs k = {k:,} teachers, one record each at least, out of n' = {subsample:,}.",
            f"n ≥ {math.ceil(56.0 * k / epsilon):,} records, or mode='calibrated'",
        )
    return VoteStage(records, subsample, k, RELABEL_TEMPERATURE, vector, copies=math.floor(math.log(2.0 / delta)))


def plan_universal(request: Request) -> tuple[VoteStage, DrawStage]:
    """ε/2 for the votes and ε/2 for the published classifier, as a correction: as printed ε is spent twice."""
    half = request.epsilon / 2.0 * (1.0 - 1e-9)
    after = min(
        public_points(request.hypotheses.vc_bound(request.features), request.alpha, request.beta), request.queries
    )
    eta = inverse_temperature_for(
        request.hypotheses, half, records=request.records, features=request.features, public=after
    )
    return plan_votes(request, half, after), DrawStage(eta, after)


def _check(request: Request) -> None:
    check_probability("epsilon", request.epsilon)
    if request.delta > LARGEST_DELTA:
        raise ParameterError("delta", f"at most {LARGEST_DELTA} in paper mode", request.delta)
    for name, pinned in {**asdict(request.pins), "public": request.public}.items():
        if pinned is not None:
            raise ParameterError(name, "None in paper mode, which fixes it", pinned)


def _refuse_below(request: Request, needed: int) -> None:
    if request.records < needed:
        raise InfeasiblePlan(
            f"Paper mode asks for n ≥ {needed:,} records by the paper's formula; there are {request.records:,}.",
            f"{needed:,} records, or mode='calibrated', which runs with far fewer",
        )
