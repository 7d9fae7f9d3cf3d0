"""SSPP: the semi-private learner. An exponential mechanism over a class made of public points alone.

Alon, Bassily, Moran 2019; Beimel, Nissim, Stemmer 2013; Algorithm SSPP of Nandi and Bassily. The members are one
hypothesis for each dichotomy of the public points (or a class fixed by declaration), scored on all the private
records. The result may be published and answers for ever.
"""

from __future__ import annotations

from dataclasses import replace

from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee, rounded_up
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


def check_slack_of(slack: float, tree: float, hypotheses: Combinatorics, records: int, features: int) -> None:
    """Raises unless the ε of a draw at η = `tree` from a fixed class is within 2η + `slack`: that is, 2λ ≤ `slack`."""
    if (least := slack_of(tree, hypotheses, records, features)) > slack:
        raise ParameterError("slack", f"at least {least:.3g} for these trees", slack)


def slack_of(tree: float, hypotheses: Combinatorics, records: int, features: int) -> float:
    """2λ, rounded up: what the ε of a draw at η = `tree` from a fixed class has beside 2η."""
    drawn = sspp_guarantee(DrawStage(tree), hypotheses, records, features, None)
    return rounded_up(drawn.epsilon - 2.0 * tree)
