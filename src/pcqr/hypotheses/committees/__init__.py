"""Teachers by the thousand: a class trains them in one pass and holds them as arrays."""

from pcqr.hypotheses.committees.base import Committee, TeachesInBulk, TeachesWithCoins
from pcqr.hypotheses.committees.kinds import committee_from_arrays
from pcqr.hypotheses.committees.training import trained

__all__ = ["Committee", "TeachesInBulk", "TeachesWithCoins", "committee_from_arrays", "trained"]
