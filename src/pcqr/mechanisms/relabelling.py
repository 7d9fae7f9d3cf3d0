"""What it costs to relabel the records by a privately drawn ĥ before another mechanism sees them.

Relabelling is no mechanism of its own: the relabelled records must not leave, nor ĥ be used for anything else.
Only relabel-then-A has a guarantee. Beimel, Nissim and Stemmer 2015 (LabelBoost); the constant here is smaller
and tight. Proof: proofs/relabel.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

from pcqr.checks import check_inverse_temperature
from pcqr.hypotheses.base import Combinatorics
from pcqr.privacy.guarantee import Guarantee, rounded_up


def relabel_cost(inverse_temperature: float, *, fixed: bool) -> float:
    """R, what relabelling at η adds to the ε of what follows it.

    Parameters
    ----------
    inverse_temperature : float
        η ≥ 0 of the draw.
    fixed : bool
        Are the members of the class the same whatever the records are?

    Returns
    -------
    float
        2η for a fixed class; 2·ln(1 + e^η) when the members are the dichotomies of the private points themselves.

    Raises
    ------
    ParameterError
        When η is negative or not finite.

    Examples
    --------
    >>> from pcqr.mechanisms import relabel_cost
    >>> round(relabel_cost(0.2, fixed=True), 3), round(relabel_cost(0.2, fixed=False), 3)
    (0.4, 1.596)
    """
    check_inverse_temperature(inverse_temperature)
    inverse_temperature = float(inverse_temperature)
    if fixed:
        return 2.0 * inverse_temperature
    return 2.0 * (inverse_temperature + math.log1p(math.exp(-inverse_temperature)))


def relabel_guarantee(
    inner: Guarantee,
    hypotheses: Combinatorics,
    records: int,
    inverse_temperature: float,
    features: int,
    *,
    public: int | None = None,
) -> Guarantee:
    """The guarantee of relabel-then-A, A being (ε_A, δ_A)-DP: (R + 2λ + ε_A, δ_A); δ_A is not multiplied.

    R = `relabel_cost`; λ bounds the numerical error of the draw's log-probability. Proof: proofs/relabel.md.

    Parameters
    ----------
    inner : Guarantee
        (ε_A, δ_A), that of A.
    hypotheses : Combinatorics
        H, the class of the draw.
    records : int
        The rows that are relabelled: n', where there is a sub-sample.
    inverse_temperature : float
        η of the draw.
    features : int
        p, the columns of the table.
    public : int, optional
        The number of public points whose dichotomies the class consists of. Then, or when the class is fixed by
        declaration, R = 2η.

    Returns
    -------
    Guarantee

    Raises
    ------
    ParameterError
        When η is negative or not finite.

    References
    ----------
    .. [1] A. Beimel, K. Nissim, U. Stemmer. Learning privately with labeled and unlabeled examples. SODA 2015
       (LabelBoost; the constant here is smaller and tight).

    Examples
    --------
    >>> from pcqr import Guarantee
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.mechanisms import relabel_guarantee
    >>> whole = relabel_guarantee(Guarantee(0.5, 1e-6), Thresholds(), 1_000, inverse_temperature=0.1, features=1)
    >>> round(whole.epsilon, 3), whole.delta
    (1.989, 1e-06)
    """
    inverse_temperature = float(inverse_temperature)
    fixed = hypotheses.is_fixed or public is not None
    error = hypotheses.log_probability_error(records, inverse_temperature, features=features, public=public)
    added = relabel_cost(inverse_temperature, fixed=fixed) + 2.0 * error
    members = "a fixed class: R = 2η" if fixed else "the dichotomies of the private points: R = 2·ln(1 + e^η)"
    step = f"relabelling by a draw over {members} = {added:.6g} at η = {inverse_temperature:.6g}"
    return replace(inner, epsilon=rounded_up(inner.epsilon + added), proof="relabel", rho=None).explained(step)
