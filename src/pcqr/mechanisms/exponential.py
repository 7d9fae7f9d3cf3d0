"""The exponential mechanism over a class that the private records have no part in choosing.

McSherry and Talwar 2007. The drawn hypothesis is releasable. Proof: proofs/exponential.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from pcqr.checks import check_inverse_temperature, check_positive
from pcqr.entropy import Entropy, resolve_entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee, rounded_up
from pcqr.hypotheses.base import Combinatorics, Hypothesis, HypothesisClass

PUBLIC_POINTS = "the public points are known to all and hold nothing private"


@dataclass(frozen=True)
class Selection:
    """A released hypothesis and the guarantee under which it was drawn."""

    hypothesis: Hypothesis
    guarantee: Guarantee


def exponential_mechanism(
    hypotheses: HypothesisClass,
    X: ArrayLike,
    y: ArrayLike,
    inverse_temperature: float,
    *,
    public: ArrayLike | None = None,
    entropy: Entropy | int | None = None,
) -> Selection:
    """Draw h with P(h) ∝ e^{−η · mistakes(h; X, y)}, η = `inverse_temperature`; (2η + 2λ)-DP, pure.

    The class is either fixed by declaration or consists of one member for each dichotomy of the `public` points;
    λ is its bound on the numerical error of the log-probability. `inverse_temperature_for` turns ε into η.
    """
    points, labels = hypotheses.check_records(X, y)
    shown = None if public is None else hypotheses.check_points(public, name="public")
    source = resolve_entropy(entropy)
    guarantee = exponential_guarantee(
        hypotheses,
        records=points.shape[0],
        inverse_temperature=inverse_temperature,
        features=points.shape[1],
        public=None if shown is None else shown.shape[0],
    )
    hypothesis = hypotheses.sample(points, labels, inverse_temperature, public=shown, entropy=source)
    return Selection(hypothesis, guarantee.drawn_with(private_entropy=source.is_private))


def exponential_guarantee(
    hypotheses: Combinatorics,
    *,
    records: int,
    inverse_temperature: float,
    features: int,
    public: int | None = None,
) -> Guarantee:
    """(2η + 2λ, 0), from public numbers alone: η = `inverse_temperature`, `public` = the number of public points."""
    check_inverse_temperature(inverse_temperature)
    inverse_temperature = float(inverse_temperature)
    _check_class(hypotheses, public)
    error = hypotheses.log_probability_error(records, inverse_temperature, features=features, public=public)
    assumed = () if public is None else (PUBLIC_POINTS,)
    step = f"exponential mechanism over a fixed class: 2η + 2λ, η = {inverse_temperature:.6g}, λ = {error:.3g}"
    return Guarantee(
        epsilon=rounded_up(2.0 * (inverse_temperature + error)),
        proof="exponential",
        assumptions=assumed,
        steps=(step,),
    )


def inverse_temperature_for(
    hypotheses: Combinatorics, epsilon: float, *, records: int, features: int, public: int | None = None
) -> float:
    """The η whose `exponential_guarantee` stays within `epsilon`: ε/2 less the numerical error λ.

    λ does not decrease in η, so λ at η = ε/2 is enough to set aside.
    """
    check_positive("epsilon", epsilon)
    epsilon = float(epsilon)
    _check_class(hypotheses, public)
    error = hypotheses.log_probability_error(records, epsilon / 2.0, features=features, public=public)
    eta = epsilon / 2.0 - error
    eta -= rounded_up(epsilon) - epsilon  # what `exponential_guarantee` rounds up
    if eta <= 0:
        raise ParameterError("epsilon", f"above {2.0 * error:.3g}, the numerical error of the draw", epsilon)
    return eta


def _check_class(hypotheses: Combinatorics, public: int | None) -> None:
    if not hypotheses.is_fixed and public is None:
        raise ParameterError(
            "public", f"given: the members of {type(hypotheses).__name__} would else be read off the records", public
        )
