"""Releases by votes and a drawn classifier: ε on each of the two, and a draw that must not answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.tables import Table as SmallTable
from pcqr.audit.statistical.runs import UNSTABLE, Table
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.stumps import Stumps
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.mechanisms.noisy_max import ExponentialMax
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.mechanisms.stability import distance_to_instability, plurality
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp
from pcqr.releases.universal.run import answered_by_draw

EPSILON, DELTA = 1.0, 1e-6
RECORDS = 201
LEFT, RIGHT = -1.0, 1.0
PUBLIC = np.array([[LEFT], [RIGHT]])


@dataclass(frozen=True)
class VoteAndPublish:
    """One vote, in which a record is a teacher and votes for its label, then SSPP on the same records.

    Votes and publication get `share` · ε each.
    """

    share: float

    @cached_property
    def sparse_vector(self) -> OneSidedSparseVector:
        return OneSidedSparseVector.calibrate(self.share * EPSILON, DELTA, unstable=1, threshold_share=0.8)

    @cached_property
    def publication(self) -> DrawStage:
        epsilon = self.share * EPSILON
        return DrawStage(inverse_temperature_for(Thresholds(), epsilon, records=RECORDS, features=1, public=2))

    def __call__(self, table: Table, entropy: Entropy) -> str:
        votes = np.bincount(table.y, minlength=2)
        is_stable = self.sparse_vector.start(entropy).is_stable(distance_to_instability(votes))
        answer = plurality(votes) if is_stable else UNSTABLE
        return f"{answer} then {sspp(Thresholds(), table.source, PUBLIC, self.publication, entropy)}"

    def table(self, label: int) -> Table:
        """Its vote is at the threshold, and the published label of LEFT is open; the record there with `label` counts.

        LEFT has four 0s, a 1 and that record; RIGHT enough 1s for the vote, and otherwise as many 0s as 1s.
        """
        lead = 2 * self.sparse_vector.threshold + 1  # of the 1s, when the label is 1: a distance of w
        left = [0, 0, 0, 0, 1, label]
        ones = (RECORDS - len(left) + lead + 2) // 2
        right = [1] * ones + [0] * (RECORDS - len(left) - ones)
        return Table.of([LEFT] * len(left) + [RIGHT] * len(right), left + right)

    @property
    def neighbours(self) -> tuple[Table, Table]:
        return self.table(1), self.table(0)


@dataclass(frozen=True)
class AnsweredByDraw:
    """Answer a query by one member of `hypotheses`, drawn as `relabel` draws ĥ, even over private points."""

    hypotheses: HypothesisClass
    inverse_temperature: float

    def __call__(self, table: SmallTable, entropy: Entropy) -> str:
        drawn = self.hypotheses.draw_on(table.source(), self.inverse_temperature, public=None, entropy=entropy)
        return str(drawn.hypothesis.predict(BETWEEN).tolist())


@dataclass(frozen=True)
class DrawnAndVoted:
    """Answer by one draw from a fixed class, and show a noisy vote of all records, too. Each costs `share` · ε."""

    share: float

    def __call__(self, table: SmallTable, entropy: Entropy) -> str:
        eta = 0.5 * self.share * EPSILON
        release = answered_by_draw(FIXED, table.source(), DrawStage(eta), 1, entropy)
        votes = np.bincount(table.labels, minlength=2)
        return f"{release.answer(BETWEEN).label}, and by vote {ExponentialMax(eta).decide(votes, entropy)}"


BETWEEN = np.array([[0.75]])
FIXED = Stumps(cuts=(0.5,))


def _at(place: float) -> SmallTable:
    """Eight 0s at 0 and one 1 at `place`: a cut between them lies midway, and shows the place."""
    return SmallTable((*(((0.0, 0),) * 8), (place, 1)))


def _agreeing(label: int) -> SmallTable:
    """Twelve 0s and one more record. That record moves the odds most where both the draw and the vote say 1."""
    return SmallTable((*(((1.0, 0),) * 12), (1.0, label)))


TWICE, HALVES = VoteAndPublish(1.0), VoteAndPublish(0.5)

BUGS: Sequence[Bug] = (
    bug(
        "ε spent twice",
        "The votes spend ε, the published classifier spends ε again on the same records, and ε is claimed.",
        source="Nandi and Bassily 2020, Algorithm UnvPrivCl as printed",
        claim=Guarantee(EPSILON, DELTA),
        broken=TWICE,
        correct=HALVES,
        neighbours=TWICE.neighbours,
        correct_neighbours=HALVES.neighbours,
    ),
    bug(
        "answers by a class of private points",
        "A hypothesis drawn over private points may only relabel. Here it answers queries, and its cut shows the "
        "points.",
        claim=Guarantee(EPSILON),
        broken=AnsweredByDraw(Thresholds(), 0.5 * EPSILON),
        correct=AnsweredByDraw(FIXED, 0.5 * EPSILON),
        neighbours=(_at(1.0), _at(2.0)),
    ),
    bug(
        "votes beside a draw",
        "One draw answers all queries and costs ε. A noisy vote beside it also costs ε, which the claim leaves out.",
        claim=Guarantee(EPSILON),
        broken=DrawnAndVoted(1.0),
        correct=DrawnAndVoted(0.5),
        neighbours=(_agreeing(0), _agreeing(1)),
    ),
)
