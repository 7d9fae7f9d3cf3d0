"""What it costs to relabel the records by a privately drawn ĥ before another mechanism sees them.

Relabelling is no mechanism of its own: the relabelled records must not leave, nor ĥ be used for anything else.
Only relabel-then-A has a guarantee. Beimel, Nissim and Stemmer 2015 (LabelBoost); the constant here is smaller
and tight. Proof: proofs/relabel.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

from pcqr.checks import check_inverse_temperature
from pcqr.guarantee import Guarantee, rounded_up
from pcqr.hypotheses.base import Combinatorics


def relabel_cost(inverse_temperature: float, *, fixed: bool) -> float:
    """R, what relabelling at η = `inverse_temperature` adds to the ε of what follows it.

    2η when the class is `fixed` whatever the records are, 2·ln(1 + e^η) when its members are the dichotomies of
    the private points themselves.
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
    """The guarantee of relabel-then-A, A being `inner` = (ε_A, δ_A)-DP: (R + 2λ + ε_A, δ_A); δ_A is not multiplied.

    R = `relabel_cost`; λ bounds the numerical error of the draw's log-probability on `records` rows with
    `features` columns. `public` is the number of public points whose dichotomies the class consists of, if it
    does; then, or when `hypotheses` is fixed by declaration, R = 2η.
    """
    inverse_temperature = float(inverse_temperature)
    fixed = hypotheses.is_fixed or public is not None
    error = hypotheses.log_probability_error(records, inverse_temperature, features=features, public=public)
    added = relabel_cost(inverse_temperature, fixed=fixed) + 2.0 * error
    members = "a fixed class: R = 2η" if fixed else "the dichotomies of the private points: R = 2·ln(1 + e^η)"
    step = f"relabelling by a draw over {members} = {added:.6g} at η = {inverse_temperature:.6g}"
    return replace(inner, epsilon=rounded_up(inner.epsilon + added), proof="relabel").explained(step)
