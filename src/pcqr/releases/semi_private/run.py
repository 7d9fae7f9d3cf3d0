"""SSPP: the semi-private learner. An exponential mechanism over a class made of public points alone.

Alon, Bassily, Moran 2019; Beimel, Nissim, Stemmer 2013; Algorithm SSPP of Nandi and Bassily. The members are one
hypothesis for each dichotomy of the public points (or a class fixed by declaration), scored on all the private
records. The result may be published and answers for ever.
"""

from __future__ import annotations

from pcqr.data.records import Records
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Points
from pcqr.mechanisms.exponential import exponential_mechanism
from pcqr.privacy.entropy import Entropy
from pcqr.releases.protocol.stages import DrawStage


def sspp(
    hypotheses: HypothesisClass, records: Records, public: Points | None, plan: DrawStage, entropy: Entropy
) -> Hypothesis:
    """Draw and return the hypothesis to publish. `DrawStage.guarantee` holds for it."""
    eta = plan.inverse_temperature
    return exponential_mechanism(hypotheses, records, eta, public=public, entropy=entropy).hypothesis
