"""Every random number that a privacy proof speaks of, exact: integer noise (laws) and the weighted choice (choice)."""

from __future__ import annotations

from pcqr.privacy.noise.laws import LARGEST_SCALE as LARGEST_SCALE
from pcqr.privacy.noise.laws import UNIT_ROUNDOFF as UNIT_ROUNDOFF
from pcqr.privacy.noise.laws import Chooser as Chooser
from pcqr.privacy.noise.laws import FloatArray as FloatArray
from pcqr.privacy.noise.laws import IntegerArray as IntegerArray
from pcqr.privacy.noise.laws import check_scale as check_scale
from pcqr.privacy.noise.laws import discrete_gaussian as discrete_gaussian
from pcqr.privacy.noise.laws import discrete_gaussians as discrete_gaussians
from pcqr.privacy.noise.laws import discrete_laplace as discrete_laplace
from pcqr.privacy.noise.laws import discrete_laplaces as discrete_laplaces
from pcqr.privacy.noise.laws import geometric as geometric
from pcqr.privacy.noise.laws import geometrics as geometrics
from pcqr.privacy.noise.laws import log_normaliser as log_normaliser
from pcqr.privacy.noise.laws import sech_squared as sech_squared
from pcqr.privacy.noise.laws import sech_squareds as sech_squareds
from pcqr.privacy.noise.laws import shifted as shifted
from pcqr.privacy.noise.laws import weighted_choice as weighted_choice
