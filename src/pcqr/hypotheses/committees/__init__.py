"""Teachers by the thousand: a class trains them in one pass and holds them as arrays."""

from pcqr.hypotheses.committees.training import (
    Committee,
    TeachesInBulk,
    TeachesWithCoins,
    committee_from_arrays,
    trained,
)

__all__ = ["Committee", "TeachesInBulk", "TeachesWithCoins", "committee_from_arrays", "trained"]
