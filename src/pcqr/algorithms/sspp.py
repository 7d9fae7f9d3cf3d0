"""SSPP: the semi-private learner. An exponential mechanism over a class made of public points alone.

Alon, Bassily, Moran 2019; Beimel, Nissim, Stemmer 2013; Algorithm SSPP of Nandi and Bassily. The members are one
hypothesis for each dichotomy of the public points (or a class fixed by declaration), scored on all the private
records. The result may be published and answers for ever.
"""

from __future__ import annotations

from dataclasses import replace

from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Combinatorics, Hypothesis, HypothesisClass, Points
from pcqr.mechanisms.exponential import exponential_guarantee, exponential_mechanism
from pcqr.plan import DrawStage
from pcqr.records import Records


def sspp(
    hypotheses: HypothesisClass, records: Records, public: Points | None, plan: DrawStage, entropy: Entropy
) -> Hypothesis:
    """Draw and return the hypothesis to publish: `sspp_guarantee` holds for it."""
    eta = plan.inverse_temperature
    return exponential_mechanism(hypotheses, records, eta, public=public, entropy=entropy).hypothesis


def sspp_guarantee(
    plan: DrawStage, hypotheses: Combinatorics, records: int, features: int, public: int | None
) -> Guarantee:
    """Pure: ε = 2η + 2λ, λ the sampler's numerical bound for `public` public points (proofs/sspp.md)."""
    return replace(
        exponential_guarantee(
            hypotheses,
            records=records,
            inverse_temperature=plan.inverse_temperature,
            features=features,
            public=public,
        ),
        proof="sspp",
    )
