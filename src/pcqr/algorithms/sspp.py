"""SSPP: the semi-private learner. An exponential mechanism over a class made of public points alone.

Alon, Bassily, Moran 2019; Beimel, Nissim, Stemmer 2013; Algorithm SSPP of Nandi and Bassily. The members are one
hypothesis for each dichotomy of the public points (or a class fixed by declaration), scored on all the private
records. The result may be published and answers for ever.
"""

from __future__ import annotations

from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, Points
from pcqr.plan import PublishPlan


def sspp(
    hypotheses: HypothesisClass, X: Points, y: Labels, public: Points | None, plan: PublishPlan, entropy: Entropy
) -> Hypothesis:
    """Draw and return the hypothesis to publish: `sspp_guarantee` holds for it."""
    _check_fixed(hypotheses, has_public=public is not None)
    return hypotheses.sample(X, y, plan.inverse_temperature, public=public, entropy=entropy)


def sspp_guarantee(
    plan: PublishPlan, hypotheses: HypothesisClass, records: int, features: int, public: int | None
) -> Guarantee:
    """Pure: ε = 2η + 2λ, λ the sampler's numerical bound for `public` public points (proofs/sspp.md)."""
    _check_fixed(hypotheses, has_public=public is not None)
    error = hypotheses.log_probability_error(records, plan.inverse_temperature, features=features, public=public)
    return Guarantee(2.0 * plan.inverse_temperature + 2.0 * error, proof="proofs/sspp.md")


def _check_fixed(hypotheses: HypothesisClass, *, has_public: bool) -> None:
    if not has_public and not hypotheses.is_fixed:
        raise ParameterError(
            "public", f"public points for {type(hypotheses).__name__}, whose members are not declared", None
        )
