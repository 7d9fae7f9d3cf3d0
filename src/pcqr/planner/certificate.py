"""A class of which only the VC dimension is known: enough to plan with, nothing to run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from pcqr.checks import check_integer, keep_plain
from pcqr.hypotheses.base import Combinatorics
from pcqr.mechanisms.sparse_vector import PaperSparseVector, SparseVector
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage


@dataclass(frozen=True)
class VcClass(Combinatorics):
    """Any class of VC dimension d = `dimension`, its sampler taken to be exact."""

    dimension: int

    def __post_init__(self) -> None:
        check_integer("vc", self.dimension, least=1)
        keep_plain(self, integers=("dimension",))

    @property
    def vc_dimension(self) -> int:
        return self.dimension

    def log_growth(self, count: int, features: int = 1) -> float:  # noqa: ARG002
        """Sauer's bound d·ln(e·t/d) for t = `count` ≥ d points, t·ln 2 below."""
        d = self.dimension
        return d * (1.0 + math.log(count / d)) if count >= d else count * math.log(2.0)

    def log_probability_error(
        self,
        records: int,  # noqa: ARG002
        inverse_temperature: float,  # noqa: ARG002
        *,
        features: int = 1,  # noqa: ARG002
        public: int | None = None,  # noqa: ARG002
    ) -> float:
        return 0.0


# ---------------------------------------------------------------------------------------------------------------------
# Deviation inequalities behind the accuracy certificate, as functions of public numbers (proofs/certificate.md).


_MOST_EXACT_QUERIES = 200_000
_GHOST_SIZES = (5, 10, 20, 50)
_GHOST_SHORTFALLS = (0.05, 0.1, 0.2)


def binomial_tail(count: ArrayLike, trials: int, chance: ArrayLike) -> NDArray[np.float64]:
    """P(Binomial(m, p) > u), m = `trials`, p = `chance`, u = `count` any integer: I_p(u + 1, m − u) for 0 ≤ u < m."""
    u = np.asarray(count)
    inside = np.clip(u, 0, max(0, trials - 1))
    tail = betainc(inside + 1.0, np.maximum(trials - inside, 1.0), chance)
    return np.where(u < 0, 1.0, np.where(u < trials, tail, 0.0))


def hoeffding_slack(queries: int, failure: float) -> float:
    """√(ln(1/`failure`)/(2m)): what `sampling_slack` is at most, m = `queries`."""
    return math.sqrt(-math.log(failure) / (2.0 * queries))


@lru_cache(maxsize=256)
def sampling_slack(queries: int, failure: float) -> float:
    """s such that a Binomial(m, p − s) exceeds m·p with a chance of at most `failure`, whatever p is; m = `queries`.

    Between multiples of 1/m the worst p is the upper end, so P ≤ max_j P(Bin(m, (j+1)/m − s) > j), which is computed;
    for very large m Hoeffding's √(ln(1/failure)/(2m)) is taken. The smallest such s but for 1/256 of the latter.
    """
    hoeffding = hoeffding_slack(queries, failure)
    if queries > _MOST_EXACT_QUERIES:
        return hoeffding
    low, high = 0, 256
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_slack(queries, hoeffding * middle / 256, failure) else (middle, high)
    return hoeffding * high / 256


def _is_slack(queries: int, slack: float, failure: float) -> bool:
    """Is P(Bin(m, (j+1)/m − `slack`) > j) ≤ `failure` for j = 0, …, m − 1?

    A block of counts is settled at once if even its last mean rarely exceeds its first count; others are halved, until
    none is left or one count of the most doubtful block decides.
    """

    def chances(first: NDArray[np.int64], width: int) -> NDArray[np.float64]:
        means = np.minimum(first + width, queries) / queries - slack
        return binomial_tail(first, queries, np.clip(means, 0.0, 1.0))

    width = 1 << (queries.bit_length() // 2)
    first = np.arange(0, queries, width)
    while True:
        bounds = chances(first, width)
        if bounds.max() <= failure:
            return True
        if chances(first[bounds.argmax() :][:1], 1)[0] > failure:
            return False
        first = first[bounds > failure]
        width //= 2
        first = np.concatenate((first, first + width))
        first = first[first < queries]


def bernoulli_divergence(a: float, log_p: float) -> float:
    """KL(a ‖ p) between coins, p = e^`log_p`: P(Binomial(k, p) ≥ ka) ≤ e^{−k·KL(a ‖ p)} for a ≥ p (Chernoff)."""
    return a * (math.log(a) - log_p) + (1.0 - a) * (math.log1p(-a) - math.log1p(-math.exp(log_p)))


def log_largest_chance(share: float, exponent: float) -> float:
    """ln of the largest p ≤ `share` with KL(`share` ‖ p) ≥ `exponent`, from below, by bisection.

    A logarithm, because classes with many members need p that no float can hold.
    """
    high = math.log(share)
    low = -(exponent + math.log(2.0)) / share  # KL(a ‖ p) ≥ a·ln(1/p) − ln 2
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if bernoulli_divergence(share, middle) >= exponent else (low, middle)
    return low


def consistent_learner_tail(log_growth: Callable[[int], float], records: int) -> tuple[float, float]:
    """(A, B) with P(some consistent h errs on more than t) ≤ e^{A − Bt} for every t, N = `records` labelled by H.

    A ghost sample of r·N points sees (1−x)·t·r·N of the errors or more, but for a chance e^{−x²trN/2}; that all of
    them avoid the N records has a chance of at most (r/(1+r))^{number}. r and x are chosen for the smallest (A+1)/B.
    """
    best = (math.inf, 1.0)
    for ghosts in _GHOST_SIZES:
        growth = log_growth(records * (1 + ghosts))
        if growth <= 0.0:
            return 0.0, float(records)  # a single member never errs
        for shortfall in _GHOST_SHORTFALLS:
            rate = (1.0 - shortfall) * records * ghosts * math.log1p(1.0 / ghosts)
            seen = 0.5 * shortfall**2 * (growth / rate) * records * ghosts
            offset = growth - math.log(-math.expm1(-seen))
            if (offset + 1.0) / rate < (best[0] + 1.0) / best[1]:
                best = (offset, rate)
    return best


def average_excess(exponent: float) -> float:
    """τ such that the mean of k unit exponentials exceeds 1 + τ with a chance of at most e^{−k·`exponent`}.

    The chance is at most e^{−k(τ − ln(1+τ))}, and τ = √(2u) + u has τ − ln(1+τ) ≥ u.
    """
    return math.sqrt(2.0 * exponent) + exponent


# ---------------------------------------------------------------------------------------------------------------------
# When is (α, β) proved? An explicit bound on the excess error of a calibrated plan (proofs/certificate.md).
#
# All constants are textbook ones that were checked, none is the paper's. On real tables the bound is often above α:
# then `Plan.certified` is False, and the accuracy is what it is measured to be. Privacy does not depend on any of this.


EVENTS = 7
"""How many events besides the sampling of labels may fail, each with the same chance."""

SHARES = tuple(0.02 * 1.25**step for step in range(18))
"""The shares of β that the seven events may get together; the sampling of the queries' labels gets the rest."""


_PROMISING = 5


@dataclass(frozen=True)
class VoteCertificate:
    """But for a chance β the average error of m answers is at most γ + `excess`, ⊥ counted as an error.

    The sum of `selection` + `generalisation` (ĥ against the best of H), `unclear` (queries on which more than a share
    `dissent` of the teachers dissents) and `sampling` (m labels against their mean). `failure` = b is the chance given
    to each of the seven events, `pool` = M the size of the pool of the proof, `margin` = D, and `unstable` bounds the
    number of unstable answers.
    """

    selection: float
    generalisation: float
    unclear: float
    sampling: float
    failure: float
    pool: int
    margin: int
    dissent: float
    unstable: int

    @property
    def excess(self) -> float:
        return self.selection + self.generalisation + self.unclear + self.sampling


def certify_votes(
    plan: VoteStage, hypotheses: Combinatorics, features: int, queries: int, beta: float
) -> VoteCertificate | None:
    """The best certificate over the `SHARES` of β, or None where nothing is proved.

    The exact tail of the labels takes time where m is large; only the shares that are best by Hoeffding's get it.
    """
    rough = [(share, certify_share(plan, hypotheses, features, queries, beta, share, exact=False)) for share in SHARES]
    promising = sorted((found.excess, share) for share, found in rough if found is not None)[:_PROMISING]
    found = (certify_share(plan, hypotheses, features, queries, beta, share) for _, share in promising)
    return min((c for c in found if c is not None), key=lambda c: c.excess, default=None)


def certify_share(
    plan: VoteStage,
    hypotheses: Combinatorics,
    features: int,
    queries: int,
    beta: float,
    share: float,
    *,
    exact: bool = True,
) -> VoteCertificate | None:
    """The certificate in which seven events fail with a chance of β·`share` together.

    Not `exact`: with Hoeffding's bound for the sampling of labels, which is larger.

    None where nothing is proved: no relabelling, the paper's copies of records or its sparse vector, ĥ from a cover by
    public points, a margin that no vote can have, or unstable answers that may run out.
    """
    eta, records = plan.inverse_temperature, plan.subsample
    if eta is None or plan.copies is not None or plan.public is not None:
        return None
    if isinstance(plan.sparse_vector, PaperSparseVector):
        return None
    b = beta * share / EVENTS
    log_b = -math.log(b)
    margin = margin_needed(plan.sparse_vector, queries, b)
    clear = (plan.teachers - 1) // 2 - margin  # so many teachers may dissent on a query that is surely answered
    if clear < 0:
        return None

    pool = math.ceil((records + queries) ** 2 / (2.0 * b))
    members = hypotheses.log_growth(pool, features)
    log_union = members + log_b
    dissent = (clear + 1) / plan.teachers
    unclear = unclear_share(hypotheses, features, plan.teachers, plan.teacher_records, dissent, members, log_b)
    if unclear >= 1.0:
        return None
    most_unstable = plan.sparse_vector.unstable - 1
    if binomial_tail(most_unstable, queries, unclear) > b:  # the chance of more than so many unclear queries
        return None
    inexact = hypotheses.log_probability_error(records, eta, features=features)
    return VoteCertificate(
        selection=(hypotheses.log_rarity(records, features) + log_b + inexact) / (eta * records),
        generalisation=_generalisation(hypotheses, records, log_union, log_b) + math.sqrt(log_b / (2.0 * pool)),
        unclear=unclear,
        sampling=(sampling_slack if exact else hoeffding_slack)(queries, beta * (1.0 - share)),
        failure=b,
        pool=pool,
        margin=margin,
        dissent=dissent,
        unstable=most_unstable,
    )


def vote_excess(plan: VoteStage, hypotheses: Combinatorics, features: int, queries: int, beta: float) -> float:
    """`certify_votes` as a number: infinity where nothing is proved."""
    certificate = certify_votes(plan, hypotheses, features, queries, beta)
    return math.inf if certificate is None else certificate.excess


def unclear_share(
    hypotheses: Combinatorics, features: int, teachers: int, records: int, dissent: float, members: float, log_b: float
) -> float:
    """A bound on the share of the pool on which a share `dissent` or more of k = `teachers` dissents, but for b.

    Each teacher has N = `records` records labelled by ĥ; a union over e^`members` dichotomies pays for every ĥ. The
    teachers' average error is bounded, then Markov. On the line (`switches`) points are unclear only near a switch.
    """
    exponent = (members + log_b) / teachers
    tails = (consistent_learner_tail(lambda count: hypotheses.log_growth(count, features), records), (members, records))
    average = min((offset + 1.0 + average_excess(exponent)) / rate for offset, rate in tails)
    share = average / dissent
    switches = hypotheses.switches
    if switches is not None:
        log_chance = log_largest_chance(dissent, exponent + math.log(switches + 1.0) / teachers)
        log_missed = log_chance - math.log(min(switches, 2))
        share = min(share, -2.0 * switches * math.expm1(log_missed / records))
    return min(1.0, share)


def publish_excess(
    plan: DrawStage, hypotheses: Combinatorics, records: int, features: int, public: int, beta: float
) -> float:
    """With probability ≥ 1−`beta` the published hypothesis errs at most γ + this: cover, generalisation, selection."""
    failure = beta / 3.0
    members, log_b = hypotheses.log_growth(public, features), -math.log(failure)
    cover = 0.0
    if not hypotheses.is_fixed:
        offset, rate = consistent_learner_tail(lambda count: hypotheses.log_growth(count, features), public)
        cover = (offset + log_b) / rate
    inexact = hypotheses.log_probability_error(records, plan.inverse_temperature, features=features, public=public)
    selection = (hypotheses.log_rarity(public, features) + log_b + inexact) / (plan.inverse_temperature * records)
    return cover + selection + math.sqrt(2.0 * (members + log_b) / records)


def _generalisation(hypotheses: Combinatorics, records: int, log_union: float, log_b: float) -> float:
    """How far ĥ's lead over the best h* on n' = `records` records can exceed its lead on the pool.

    √(2(ln Π(M) + ln(1/b))/n') by Hoeffding and a union bound or, on the line, σ·√(2·ln(4σ/b)/n') by Massart's
    inequality for each of the σ switches.
    """
    bound = math.sqrt(2.0 * log_union / records)
    switches = hypotheses.switches
    if switches is None:
        return bound
    return min(bound, switches * math.sqrt(2.0 * (math.log(4.0 * switches) + log_b) / records))


@lru_cache(maxsize=4096)
def margin_needed(sparse_vector: SparseVector, queries: int, failure: float) -> int:
    if isinstance(sparse_vector, PaperSparseVector):
        raise AssertionError("The certificate is for calibrated sparse vectors.")
    return sparse_vector.margin_needed(queries, failure)
