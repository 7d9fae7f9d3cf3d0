"""The exponential mechanism over a class that the private records have no part in choosing.

McSherry and Talwar 2007. The drawn hypothesis is releasable. Proof: proofs/exponential.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from pcqr.checks import check_inverse_temperature, check_positive
from pcqr.data.records import Records
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Combinatorics, Hypothesis, HypothesisClass
from pcqr.privacy.entropy import Entropy, resolve_entropy
from pcqr.privacy.guarantee import Guarantee, rounded_up

PUBLIC_POINTS = "the public points are known to all and hold nothing private"


@dataclass(frozen=True)
class Selection:
    """A released hypothesis and the guarantee under which it was drawn.

    Parameters
    ----------
    hypothesis : Hypothesis
        What was drawn; it may be published.
    guarantee : Guarantee
        What that costs.

    Examples
    --------
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.mechanisms import Selection, exponential_mechanism
    >>> from pcqr.data.records import InMemory
    >>> drawn = exponential_mechanism(Stumps(cuts=[0.5]), InMemory([[0], [1]], [0, 1]), inverse_temperature=0.25)
    >>> isinstance(drawn, Selection), round(drawn.guarantee.epsilon, 6)
    (True, 0.5)
    """

    hypothesis: Hypothesis
    guarantee: Guarantee


def exponential_mechanism(
    hypotheses: HypothesisClass,
    records: Records,
    inverse_temperature: float,
    *,
    public: ArrayLike | None = None,
    entropy: Entropy | int | None = None,
) -> Selection:
    """Draw a hypothesis that may be published: P(h) ∝ e^{−η·mistakes(h; records)}, pure (2η + 2λ)-DP [1]_.

    λ is the class's bound on the numerical error of the log-probability. Proof: proofs/exponential.md.

    Parameters
    ----------
    hypotheses : HypothesisClass
        H, fixed by declaration, or made of the `public` points: one member for each dichotomy of them.
    records : Records
        The private records, such as `InMemory(X, y)`.
    inverse_temperature : float
        η ≥ 0; `inverse_temperature_for` turns ε into η.
    public : array-like of shape (M, p), optional
        Points that are known to all. Needed unless the class is fixed.
    entropy : Entropy, int or None, default None
        None is the operating system; an integer seeds a test, which is **not private**.

    Returns
    -------
    Selection
        The hypothesis and its guarantee.

    Raises
    ------
    ParameterError
        When the members would have to be read off the records, or η is not allowed.
    DataError
        When the records or the public points cannot be used.

    References
    ----------
    .. [1] F. McSherry, K. Talwar. Mechanism design via differential privacy. FOCS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.mechanisms import exponential_mechanism
    >>> from pcqr.data.records import InMemory
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, size=(1_000, 1))
    >>> records = InMemory(X, X[:, 0] > 6)
    >>> drawn = exponential_mechanism(
    ...     Thresholds(), records, inverse_temperature=0.5, public=np.arange(11.0), entropy=0
    ... )  # seeded: NOT PRIVATE
    >>> drawn.hypothesis
    Threshold(cut=6.5, up=True)
    >>> round(drawn.guarantee.epsilon, 6), drawn.guarantee.is_private
    (1.0, False)
    """
    shown = None if public is None else hypotheses.check_points(public, name="public")
    source = resolve_entropy(entropy)
    guarantee = exponential_guarantee(
        hypotheses,
        records=records.size,
        inverse_temperature=inverse_temperature,
        features=records.width,
        public=None if shown is None else shown.shape[0],
    )
    drawn = hypotheses.draw_on(records, inverse_temperature, public=shown, entropy=source)
    return Selection(drawn.hypothesis, guarantee.drawn_with(private_entropy=source.is_private))


def exponential_guarantee(
    hypotheses: Combinatorics,
    *,
    records: int,
    inverse_temperature: float,
    features: int,
    public: int | None = None,
) -> Guarantee:
    """What a draw costs, from public numbers alone: (2η + 2λ, 0).

    Parameters
    ----------
    hypotheses : Combinatorics
        H, or what a plan needs to know of it.
    records : int
        n, the number of private records.
    inverse_temperature : float
        η ≥ 0.
    features : int
        p, the columns of the table.
    public : int, optional
        The number of public points that the class is made of. Needed unless the class is fixed.

    Returns
    -------
    Guarantee
        Pure; λ is the class's bound on the numerical error of the draw.

    Raises
    ------
    ParameterError
        When η is not allowed, or the class is neither fixed nor made of public points.

    Examples
    --------
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.mechanisms import exponential_guarantee
    >>> print(exponential_guarantee(Thresholds(), records=1_000, inverse_temperature=0.5, features=1, public=11))
    pure differential privacy with ε = 1.00001 under 'replace one record'. Treated as public: the public points
    are known to all and hold nothing private.
    """
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
    """The η whose `exponential_guarantee` stays within ε: ε/2 less the numerical error λ.

    λ does not decrease in η, so λ at η = ε/2 is enough to set aside.

    Parameters
    ----------
    hypotheses : Combinatorics
        H, or what a plan needs to know of it.
    epsilon : float
        ε > 0.
    records : int
        n, the number of private records.
    features : int
        p, the columns of the table.
    public : int, optional
        The number of public points that the class is made of. Needed unless the class is fixed.

    Returns
    -------
    float
        η.

    Raises
    ------
    ParameterError
        When ε is not above 2λ, or the class is neither fixed nor made of public points.

    Examples
    --------
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.mechanisms import inverse_temperature_for
    >>> round(inverse_temperature_for(Thresholds(), 1.0, records=1_000, features=1, public=11), 6)
    0.5
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
