"""Near records that vote and pay less than what their being there changes. The private data are tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.neighbours import AWAY, LINE_VECTORS, PUBLIC, small_stage
from pcqr.audit.exact.cases.tables import Record, Table
from pcqr.audit.exact.cases.votes import as_point
from pcqr.entropy import Entropy
from pcqr.peers.knn.algorithm import IndividualVotes, individual_guarantee
from pcqr.peers.knn.plan import IndividualStage
from pcqr.peers.knn.surroundings import Near, Surroundings, kernel
from pcqr.unit import PRESENCE


class NearestVotes(IndividualVotes):
    """Of those who have anything left, the nearest alone votes, and pays for its own vote."""

    def _voting(self, counted: Near, scale: float) -> Near:
        nearest = np.argsort(-counted.weights, kind="stable")[:1]
        return super()._voting(Near(counted.positions[nearest], counted.weights[nearest]), scale)


@dataclass(frozen=True)
class OneAnswer:
    """The answer to one query at 0."""

    stage: IndividualStage
    kind: type[IndividualVotes]

    def __call__(self, table: Table, entropy: Entropy) -> str:
        weights = kernel(self.stage.grid, self.stage.least_weight)
        surroundings = Surroundings(LINE_VECTORS, table.source(), PUBLIC, self.stage.reach, weights)
        labeller = self.kind(surroundings, self.stage, entropy)
        (near,) = labeller.counts(as_point(0.0))
        label = labeller.decide(near)
        return "⊥" if label is None else str(label)


OTHERS: tuple[Record, ...] = (*(((1.0, 0),) * 100), *(((1.0, 1),) * 100))
"""A little farther from the query than the last record, and of two minds."""
UNIT = 64
STAGE = replace(
    small_stage(len(OTHERS) + 1, budget=1.01),
    grid=UNIT,
    count_scale=20.0 * UNIT,
    vote_scale=150.0**-0.5,
    least=150 * UNIT,
    least_weight=0.98,
    unit=PRESENCE,
    limit=1,
)
"""A vote at the least number of neighbours has noise of one vote, and everybody can pay for one."""

BUGS: Sequence[Bug] = (
    bug(
        "charged for its own vote alone",
        "Of the records with anything left the nearest votes, and pays for one vote. Without it the next one votes, "
        "for another label: that is two votes.",
        source="what individual accounting of Feldman and Zrnic 2021 becomes with the k nearest neighbours",
        claim=individual_guarantee(STAGE, 0.24),
        broken=OneAnswer(STAGE, NearestVotes),
        correct=OneAnswer(STAGE, IndividualVotes),
        neighbours=(Table((*OTHERS, (0.0, 1))), Table((*OTHERS, (AWAY, 1)))),
    ),
)
