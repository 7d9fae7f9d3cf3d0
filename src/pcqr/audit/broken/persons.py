"""Persons whose rows are treated as though each were somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.committees import PollSession
from pcqr.audit.exact.cases.persons import Person, PersonTable
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


BUGS: Sequence[Bug] = (
    bug(
        "groups split over teachers",
        "Rows are shared out to teachers one by one: somebody with two rows is heard by two of them, and is charged "
        "for one.",
        claim=Guarantee(1.0, unit=PERSON),
        broken=PersonPoll(1.0, together=False),
        correct=PersonPoll(1.0, together=True),
        neighbours=(_visits(1), _visits(0)),
    ),
)
