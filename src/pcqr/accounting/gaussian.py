"""A Gaussian release beside a few pure ones: δ at every ε in closed form.

A pure ε₁-DP release is dominated by randomised response, whose privacy loss is +ε₁ or −ε₁ with odds e^{ε₁} to 1. Beside
a Gaussian release of shift μ the two losses add up, so δ is a mean of the Gaussian's own at shifted ε:

    δ(ε) = Σ_s w_s·δ_μ(ε − s·ε₁),   w_s = 1/(1 + e^{−s·ε₁}),   s = ±1,
    δ_μ(e) = Φ(μ/2 − e/μ) − e^e·Φ(−μ/2 − e/μ)   for every real e  (Balle and Wang 2018),

and likewise with 2^k terms for k pure releases. Proof: proofs/accounting.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.special import log_ndtr, ndtr

from pcqr.guarantee import rounded_up

LARGEST_EPSILON = 600.0
_NUMERICAL = 1e-11  # of Φ, relative: its own error and that of its argument (proofs/accounting.md)
_UNIT_ROUNDOFF = 2.0**-53


@np.errstate(all="ignore")  # what underflows is accounted for
def gaussian_delta(shift: float, epsilon: float, beside: Sequence[float] = ()) -> float:
    """δ at `epsilon` of a Gaussian release of μ = `shift` together with pure releases of each ε in `beside`.

    Never too small. At most 1 but for rounding; infinite where `epsilon` and `beside` add up to more than 600.
    """
    reach = epsilon + math.fsum(beside)
    if reach > LARGEST_EPSILON:
        return math.inf
    terms = []
    for losses in product(*((loss, -loss) for loss in beside)):
        weight = math.prod(1.0 / (1.0 + math.exp(-loss)) for loss in losses)
        at = (
            epsilon - math.fsum(losses) - 8.0 * _UNIT_ROUNDOFF * reach
        )  # δ_μ falls with ε: rounded towards a larger one
        terms.append(weight * _alone(shift, at))
    return rounded_up(math.fsum(terms) + sys.float_info.min)


def _alone(shift: float, at: float) -> float:
    """δ_μ(`at`), not too small by more than what underflows."""
    likely, unlikely = shift / 2.0 - at / shift, -shift / 2.0 - at / shift
    first = float(ndtr(likely)) * (1.0 + _NUMERICAL)
    second = math.exp(min(0.0, at + float(log_ndtr(unlikely)))) * (1.0 - _NUMERICAL)
    return max(0.0, first - second)
