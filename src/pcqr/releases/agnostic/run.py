"""Relabel: replace the labels by those of a privately drawn ĥ ∈ H (Beimel, Nissim, Stemmer 2015; Algorithm Relabel)."""

from __future__ import annotations

from pcqr.data.records import Records
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.privacy.entropy import Entropy
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.subsample.run import StableVotes, check_size, secret_subsample


def relabel(
    hypotheses: HypothesisClass,
    records: Records,
    inverse_temperature: float,
    public: Points | None,
    entropy: Entropy,
) -> Records:
    """The records with the labels ĥ(x), ĥ drawn with P(h) ∝ e^{−η·mistakes(h)}, η = `inverse_temperature`.

    The members are one for each dichotomy of `public`, or of the private points where that is None.

    The result is **not releasable** and ĥ is forgotten: the relabelled records may only be handed to a
    differentially private algorithm A, and relabel-then-A is then
    (2·ln(1 + e^η) + ε_A + numerical slack, δ_A)-DP, or (2η + ε_A + …, δ_A) over a fixed class or public points
    (proofs/relabel.md; `pcqr.mechanisms.relabelling.relabel_guarantee`).
    """
    drawn = hypotheses.draw_on(records, inverse_temperature, public=public, entropy=entropy)
    return records.relabelled(drawn.hypothesis)


# ---------------------------------------------------------------------------------------------------------------------
# AgPrivCl: sub-sample, relabel by a privately drawn ĥ ∈ H, then SubSamp on the relabelled records.
#
# Nandi and Bassily, Algorithm AgPrivCl. Relabelling turns the agnostic problem into a realisable one, so that
# the teachers agree wherever ĥ is clear. Paper mode re-samples S'' with replacement before the partition;
# calibrated mode partitions S'' itself, so that one record touches one teacher.


def ag_priv_cl(
    hypotheses: HypothesisClass, records: Records, public: Points | None, plan: VoteStage, entropy: Entropy
) -> StableVotes:
    """Prepare the votes: S' ⊂ S in secret, S'' = S' relabelled, k teachers on a random partition of S''.

    `public` points, if any, make up the class that ĥ is drawn from; the plan must have counted on them.
    """
    eta = _temperature(plan)
    if hypotheses.labels != 2:  # what relabelling costs is proved for two
        raise ParameterError("hypotheses", "a class of two labels", f"one of {hypotheses.labels}")
    if plan.public != (None if public is None else public.shape[0]):
        raise ParameterError("public", f"what the plan was made for ({plan.public} points)", "another number of points")
    check_size(records, plan)
    chosen = secret_subsample(plan.records, plan.subsample, entropy)
    relabelled = relabel(hypotheses, records.rows(chosen), eta, public, entropy)
    if plan.copies is not None:
        relabelled = relabelled.rows(entropy.below(plan.subsample, plan.subsample))
    return StableVotes.trained(hypotheses, relabelled, plan, entropy)


def _temperature(plan: VoteStage) -> float:
    if plan.inverse_temperature is None:
        raise ParameterError("plan", "a plan that relabels", "a plan without an inverse temperature")
    return plan.inverse_temperature
