"""Teachers by the thousand: a class trains them in one pass and holds them as arrays."""

from pcqr.hypotheses.committees.base import Arrays, Committee, TeachesInBulk
from pcqr.hypotheses.committees.members import Members
from pcqr.hypotheses.committees.training import trained

__all__ = ["Arrays", "Committee", "Members", "TeachesInBulk", "trained"]
