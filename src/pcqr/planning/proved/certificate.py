"""When is (α, β) proved? An explicit bound on the excess error of a calibrated plan (proofs/certificate.md).

All constants are textbook ones that were checked, none is the paper's. On real tables the bound is often above α: then
`Plan.certified` is False, and the accuracy is what it is measured to be. Privacy does not depend on any of this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from pcqr.hypotheses.base import Combinatorics
from pcqr.mechanisms.sparse_vector import PaperSparseVector, SparseVector
from pcqr.plan import DrawStage, VoteStage
from pcqr.planning.proved.deviations import (
    average_excess,
    binomial_tail,
    consistent_learner_tail,
    hoeffding_slack,
    log_largest_chance,
    sampling_slack,
)

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
