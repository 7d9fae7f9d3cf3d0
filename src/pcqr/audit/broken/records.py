"""A table whose columns have types that were chosen from all cells: one record changes how the others are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.classifiers import Counted, counted
from pcqr.audit.exact.cases.predicates import cuts_stage
from pcqr.audit.exact.cases.publication import PollSession
from pcqr.audit.exact.cases.records import LabelCounts, TreeOnCutsOfUsers, User, UserTable, WeightedTable
from pcqr.audit.exact.cases.tables import NUMBER, PLAN, SCHEMA, TREES, RawTable, Table, published_tree
from pcqr.audit.exact.events import in_full
from pcqr.audit.exact.sums import HalfSpace
from pcqr.data.records import InMemory
from pcqr.data.records.counting import IntArray
from pcqr.data.records.user_level import Weighted
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.privacy.composition import Context, account
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import discrete_gaussians
from pcqr.privacy.unit import USER
from pcqr.releases.classifier.plan import ClassCountsStage
from pcqr.releases.multiparty.plan import PartiesStage
from pcqr.releases.multiparty.run import parties_guarantee, whole_weights
from pcqr.releases.semi_private.run import sspp


def tree_on_spelt_cells(table: RawTable, entropy: Entropy) -> str:
    """The shipped draw after an encoding that spells every cell as the type of its column has it.

    As a float 2⁵³ + 1 is spelt 2⁵³: with one gap in the column nobody has the declared number any more.
    """
    cells = table.columns["customer"]
    missing = np.isnan(cells)
    known = np.array([not gap and str(int(cell)) == str(NUMBER) for cell, gap in zip(cells, missing, strict=True)])
    encoded = np.column_stack((known, ~known & ~missing, missing)).astype(np.float64)
    return in_full(sspp(TREES, InMemory(encoded, table.labels), None, PLAN, entropy))


def _customers(last: int | None) -> RawTable:
    return RawTable((*((NUMBER, 1),) * 20, (last, 0)))


TABLE_BUGS: Sequence[Bug] = (
    bug(
        "type from all cells",
        "A column's type is chosen from all cells: one gap makes floats of the integers, and large ones other numbers.",
        source="an early version of this library",
        claim=account(PLAN, Context(TREES, 21, len(SCHEMA.features))),
        broken=tree_on_spelt_cells,
        correct=partial(published_tree, SCHEMA),
        neighbours=(_customers(NUMBER), _customers(None)),
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# Weights that let a record count more than one; counts of labels with too little noise.


class TwiceWeighted(Weighted):
    """Records of which each counts twice its weight: weights that have the mean 1, say, and not at most 1."""

    def _weights(self) -> IntArray:
        return 2 * super()._weights()


@dataclass(frozen=True)
class TwiceWeightedTable(WeightedTable):
    def source(self, labels: int = 2) -> Weighted:  # type: ignore[override]  # asked as any other
        return TwiceWeighted(Table.source(self, labels), self.by_label[:labels], np.array(self.weights))


COUNTED = counted(0.5, 4.0)
RECORDS = ((1.0, 0), (1.0, 0)), ((1.0, 0), (1.0, 1))
SPREAD = ((1.0, 1), (1.0, 1)), ((1.0, 1), (1.0, 2))
"""With three labels, of which the second becomes the third."""

HALF_THE_NOISE = ClassCountsStage(1.0, classes=3)
COUNTS = ClassCountsStage(2.0, classes=3)


def _tables(kind: type[WeightedTable]) -> tuple[WeightedTable, WeightedTable]:
    return kind(RECORDS[0], (1.0, 1.0)), kind(RECORDS[1], (1.0, 1.0))


WEIGHT_BUGS: Sequence[Bug] = (
    bug(
        "weights above one",
        "Weights are divided by their mean and not by a bound: a record of a large one counts as two, and is charged "
        "for one.",
        claim=COUNTED.claimed(2),
        broken=Counted(COUNTED.stage),
        correct=COUNTED,
        neighbours=_tables(TwiceWeightedTable),
        correct_neighbours=_tables(WeightedTable),
    ),
    bug(
        "counts of labels with noise for one",
        "Counts of three labels have noise for one count that moves by 1. A record that has another label leaves one "
        "count and enters another.",
        claim=account(COUNTS, Context(Thresholds(), 2, 1)),
        broken=LabelCounts(HALF_THE_NOISE),
        correct=LabelCounts(COUNTS),
        neighbours=(Table(SPREAD[0]), Table(SPREAD[1])),
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# Persons whose rows are treated as though each were somebody else's.


@dataclass(frozen=True)
class UserPoll:
    """The shipped votes for 1 at a place, with noise for one vote; the parts are of persons, or of their rows."""

    place: float
    together: bool

    def __call__(self, table: UserTable, entropy: Entropy) -> str:
        given = table if self.together else table.as_rows()
        return str(PollSession(Thresholds(), 2, (self.place,), given, entropy).ask(self.place))


HEALTHY: User = ((0.0, 0), (0.0, 0))


def _visits(label: int) -> UserTable:
    """Somebody with two rows on the left, and somebody with two on the right."""
    return UserTable.of((HEALTHY, ((1.0, label), (1.0, label))))


def _often(place: float) -> UserTable:
    """Two persons with four rows each: one in the middle, one at this place."""
    return UserTable.of((((1.0, 0),) * 4, ((place, 0),) * 4))


ON_CUTS = TreeOnCutsOfUsers(cuts_stage(2, 1, 1.0), 3)

USER_BUGS: Sequence[Bug] = (
    bug(
        "groups split over teachers",
        "Rows are given to teachers one by one: a person with two rows reaches two teachers, and is charged for one.",
        claim=Guarantee(1.0, unit=USER),
        broken=UserPoll(1.0, together=False),
        correct=UserPoll(1.0, together=True),
        neighbours=(_visits(1), _visits(0)),
    ),
    bug(
        "cuts of all rows of persons",
        "Cuts are drawn from all rows, and paid for as if each person had one row: a person with many rows moves the "
        "middle by as many.",
        claim=ON_CUTS.claimed.at_user_level("records are persons"),
        broken=replace(ON_CUTS, of_all_rows=True),
        correct=ON_CUTS,
        neighbours=(_often(0.0), _often(2.0)),
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# A published student with noise for less than a party can do to it. The private data are votes on public points.


Votes = tuple[int, ...]
"""For label 1, on each public point."""


@dataclass(frozen=True)
class NoisyStudent:
    """The shipped student of votes on points that all have φ = 1, with the noise of `plan`: beyond `plane` or not?"""

    plan: PartiesStage
    plane: HalfSpace

    def __call__(self, votes: Votes, entropy: Entropy) -> str:
        ones = np.array(votes, dtype=np.int64)
        counts = np.stack([self.plan.parties - ones, ones], axis=1)
        whole = whole_weights(np.ones((ones.size, 1)), counts, self.plan).reshape(-1)
        noisy = whole + discrete_gaussians(self.plan.scale, whole.size, entropy)
        return "beyond" if self.plane.holds(list(noisy)) else "not beyond"


PARTIES, POINTS = 10, 4
NOISE = 4.0
DRAFT = PartiesStage(
    PARTIES, PARTIES, POINTS, coordinates=1, penalty=2.0, curvature=1.0, steps=20, scale=1.0, grid=2**10
)
PARTY_PLAN = replace(DRAFT, scale=NOISE * DRAFT.sensitivity)
CLAIM = parties_guarantee(PARTY_PLAN, 1e-6)
AS_IF_ONE_POINT = replace(PARTY_PLAN, scale=PARTY_PLAN.scale / POINTS)
FIRST, SECOND = (6,) * POINTS, (5,) * POINTS
"""One party changes its mind about every point."""


def _at_its_worst(plan: PartiesStage) -> NoisyStudent:
    """With the plane beyond which a weight speaks for the first neighbour by the ε that is to be found.

    With a quarter of the noise that is about four times the claim. The second neighbour's weight is 0, or nearly.
    """
    shift = DRAFT.sensitivity
    loss = CLAIM.epsilon * PARTY_PLAN.scale / plan.scale
    return NoisyStudent(plan, HalfSpace((1,), math.floor(plan.scale**2 * loss / shift + shift / 2.0)))


PARTY_BUGS: Sequence[Bug] = (
    bug(
        "one party, one point",
        "The noise of a student of soft votes is divided by the number of public points, as if a party could move one "
        "of them; a record can change its party's votes on all of them.",
        source="the sensitivity 1/(λPM) that a careless reading of Hamm, Cao and Belkin 2016 gives",
        claim=CLAIM,
        broken=_at_its_worst(AS_IF_ONE_POINT),
        correct=_at_its_worst(PARTY_PLAN),
        neighbours=(FIRST, SECOND),
    ),
)
