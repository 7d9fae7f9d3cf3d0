"""Persons whose rows are treated as though each were somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.committees import PollSession
from pcqr.audit.exact.cases.persons import Person, PersonTable, TreeOnCutsOfPersons
from pcqr.audit.exact.cases.predicates import cuts_stage
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.unit import PERSON


@dataclass(frozen=True)
class PersonPoll:
    """The shipped votes for 1 at a place, with noise for one vote; the parts are of persons, or of their rows."""

    place: float
    together: bool

    def __call__(self, table: PersonTable, entropy: Entropy) -> str:
        given = table if self.together else table.as_rows()
        return str(PollSession(Thresholds(), 2, (self.place,), given, entropy).ask(self.place))


HEALTHY: Person = ((0.0, 0), (0.0, 0))


def _visits(label: int) -> PersonTable:
    """Somebody with two rows on the left, and somebody with two on the right."""
    return PersonTable.of((HEALTHY, ((1.0, label), (1.0, label))))


def _often(place: float) -> PersonTable:
    """Two persons with four rows each: one in the middle, one at this place."""
    return PersonTable.of((((1.0, 0),) * 4, ((place, 0),) * 4))


ON_CUTS = TreeOnCutsOfPersons(cuts_stage(2, 1, 1.0), 3)

BUGS: Sequence[Bug] = (
    bug(
        "groups split over teachers",
        "Rows are given to teachers one by one: a person with two rows reaches two teachers, and is charged for one.",
        claim=Guarantee(1.0, unit=PERSON),
        broken=PersonPoll(1.0, together=False),
        correct=PersonPoll(1.0, together=True),
        neighbours=(_visits(1), _visits(0)),
    ),
    bug(
        "cuts of all rows of persons",
        "Cuts are drawn from all rows, and paid for as if each person had one row: a person with many rows moves the "
        "middle by as many.",
        claim=ON_CUTS.claimed.for_persons("records are persons"),
        broken=replace(ON_CUTS, of_all_rows=True),
        correct=ON_CUTS,
        neighbours=(_often(0.0), _often(2.0)),
    ),
)
