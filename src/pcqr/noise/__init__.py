"""Every random number that a privacy proof speaks of, exact: integer noise (laws) and the weighted choice (choice)."""

from pcqr.noise.choice import (
    UNIT_ROUNDOFF,
    Chooser,
    FloatArray,
    log_normaliser,
    shifted,
    weighted_choice,
)
from pcqr.noise.laws import (
    LARGEST_SCALE,
    IntegerArray,
    check_scale,
    discrete_gaussian,
    discrete_gaussians,
    discrete_laplace,
    discrete_laplaces,
    geometric,
    geometrics,
    sech_squared,
    sech_squareds,
)

__all__ = [
    "LARGEST_SCALE",
    "UNIT_ROUNDOFF",
    "Chooser",
    "FloatArray",
    "IntegerArray",
    "check_scale",
    "discrete_gaussian",
    "discrete_gaussians",
    "discrete_laplace",
    "discrete_laplaces",
    "geometric",
    "geometrics",
    "log_normaliser",
    "sech_squared",
    "sech_squareds",
    "shifted",
    "weighted_choice",
]
