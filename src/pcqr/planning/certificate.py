"""When is (α, β) proved? An explicit bound on the excess error of a calibrated plan (proofs/certificate.md).

Each of the named events fails with probability at most β/7 (votes) or β/3 (publication); all constants are textbook
ones that were checked, none is the paper's. On real tables the bound is mostly above α: then `Plan.certified` is
False, and the accuracy is what it is measured to be. Privacy does not depend on any of this.
"""

from __future__ import annotations

import math

from scipy.stats import binom

from pcqr.hypotheses.base import HypothesisClass
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.plan import PublishPlan, VotePlan


def vote_excess(plan: VotePlan, hypotheses: HypothesisClass, features: int, queries: int, beta: float) -> float:
    """With probability ≥ 1−`beta` the answers' average error is at most γ + this, ⊥ counted as an error.

    Infinity where nothing is proved (no relabelling, or the unstable answers may run out).
    """
    eta, sparse_vector = plan.inverse_temperature, plan.sparse_vector
    if eta is None or not isinstance(sparse_vector, OneSidedSparseVector):
        return math.inf
    records, share = plan.subsample, math.log(7.0 / beta)
    growth, double_growth = (hypotheses.log_growth(size, features) for size in (records, 2 * records))
    if plan.public is not None:
        return math.inf  # ĥ comes from a cover of H: see publish_excess for what that would add

    inexact = hypotheses.log_probability_error(records, eta, features=features)
    selection = (growth + share + inexact) / (eta * records)
    generalisation = 2.0 * uniform_deviation(double_growth, records, beta / 7.0)
    # A teacher that agrees with ĥ on its N records: union bound over the dichotomies of S'', then to the population.
    on_sample = (growth + share + math.log(plan.teachers)) / plan.teacher_records
    slack = (2.0 * double_growth + share + math.log(4.0)) / records
    disagreement = on_sample + 2.0 * math.sqrt(on_sample * slack) + 4.0 * slack

    margin = sparse_vector.margin_needed(queries, beta / 7.0)
    dissent = (plan.teachers - 1 - 2 * margin) / (2 * plan.teachers)
    if dissent <= 0 or disagreement >= dissent:
        return math.inf
    unclear = float(binom.isf(beta / 7.0, queries, disagreement / dissent))
    if unclear >= sparse_vector.unstable:
        return math.inf
    return selection + generalisation + unclear / queries + label_sampling(queries, beta / 7.0)


def publish_excess(
    plan: PublishPlan, hypotheses: HypothesisClass, records: int, features: int, public: int, beta: float
) -> float:
    """With probability ≥ 1−`beta` the published hypothesis errs at most γ + this: cover, generalisation, selection."""
    failure = beta / 3.0
    members = hypotheses.log_growth(public, features)
    pairs = 2.0 * hypotheses.log_growth(2 * public, features)
    cover = 0.0 if hypotheses.is_fixed else 2.0 * (pairs + math.log(2.0 / failure)) / (public * math.log(2.0))
    inexact = hypotheses.log_probability_error(records, plan.inverse_temperature, features=features, public=public)
    selection = (members + inexact + math.log(1.0 / failure)) / (plan.inverse_temperature * records)
    generalisation = 2.0 * uniform_deviation(hypotheses.log_growth(2 * records, features), records, failure)
    return cover + selection + generalisation


def uniform_deviation(log_growth_double: float, records: int, failure: float) -> float:
    """sup over H of |error − training error|: √(8(ln Π(2n) + ln(4/β))/n) (Anthony and Bartlett 1999, Thm 4.3)."""
    return math.sqrt(8.0 * (log_growth_double + math.log(4.0 / failure)) / records)


def label_sampling(queries: int, failure: float) -> float:
    """How far m = `queries` sampled labels of a fixed ĥ can exceed its error: Bernstein with variance at most ¼."""
    log_term = math.log(1.0 / failure)
    return math.sqrt(log_term / (2.0 * queries)) + 2.0 * log_term / (3.0 * queries)
