"""Every random number that a privacy proof speaks of, exact: integer noise (laws) and the weighted choice (choice)."""

from pcqr.noise.choice import UNIT_ROUNDOFF as UNIT_ROUNDOFF
from pcqr.noise.choice import Chooser as Chooser
from pcqr.noise.choice import FloatArray as FloatArray
from pcqr.noise.choice import log_normaliser as log_normaliser
from pcqr.noise.choice import shifted as shifted
from pcqr.noise.choice import weighted_choice as weighted_choice
from pcqr.noise.laws import LARGEST_SCALE as LARGEST_SCALE
from pcqr.noise.laws import IntegerArray as IntegerArray
from pcqr.noise.laws import check_scale as check_scale
from pcqr.noise.laws import discrete_gaussian as discrete_gaussian
from pcqr.noise.laws import discrete_gaussians as discrete_gaussians
from pcqr.noise.laws import discrete_laplace as discrete_laplace
from pcqr.noise.laws import discrete_laplaces as discrete_laplaces
from pcqr.noise.laws import geometric as geometric
from pcqr.noise.laws import geometrics as geometrics
from pcqr.noise.laws import sech_squared as sech_squared
from pcqr.noise.laws import sech_squareds as sech_squareds
