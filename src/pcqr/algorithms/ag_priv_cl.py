"""AgPrivCl: sub-sample, relabel by a privately drawn ĥ ∈ H, then SubSamp on the relabelled records.

Nandi and Bassily, Algorithm AgPrivCl. Relabelling turns the agnostic problem into a realisable one, so that
the teachers agree wherever ĥ is clear. Paper mode re-samples S'' with replacement before the partition;
calibrated mode partitions S'' itself, so that one record touches one teacher.
"""

from __future__ import annotations

from pcqr.algorithms.ensemble import secret_subsample
from pcqr.algorithms.relabel import relabel
from pcqr.algorithms.sub_samp import StableVotes, check_size
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.plan import VoteStage
from pcqr.records import Records


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
