"""Releases by votes and a drawn classifier: ε on each of the two, and a draw that must not answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.tables import Cut, Record, Scored, as_points
from pcqr.audit.exact.cases.tables import Table as SmallTable
from pcqr.audit.statistical import UNSTABLE, Table, VotesRun
from pcqr.errors import DataError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.stumps import Stumps
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.exponential import exponential_guarantee, inverse_temperature_for
from pcqr.mechanisms.histogram import NoisyHistogram
from pcqr.mechanisms.noisy_max import ExponentialMax
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, RunningSparseVector
from pcqr.mechanisms.stability import distance_to_instability, plurality
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.gibbs.plan import GibbsStage
from pcqr.releases.gibbs.run import GibbsLabels
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp
from pcqr.releases.subsample.plan import VoteStage
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
        is_stable = RunningSparseVector(self.sparse_vector, entropy).is_stable(distance_to_instability(votes))
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

UNIVERSAL_BUGS: Sequence[Bug] = (
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


# ---------------------------------------------------------------------------------------------------------------------
# Answers by draws of an ε-DP posterior, more of them than were paid for. The private data are tables.


PLACES = np.array([[0.0], [1.0], [2.0]])
QUERIES = as_points([1.0, 1.2])
ETA = 0.5


@dataclass(frozen=True)
class PosteriorAnswers:
    """The labels of two queries by a draw over public points: one draw for both, or a `fresh` one for each."""

    fresh: bool

    def __call__(self, table: SmallTable, entropy: Entropy) -> str:
        records, rows = table.source(), len(QUERIES)
        if not self.fresh:
            drawn = Thresholds().draw_on(records, ETA, public=PLACES, entropy=entropy).hypothesis
            return str(drawn.predict(QUERIES).tolist())
        stage = GibbsStage(records.size, records.size, rows, ETA)
        labeller = GibbsLabels(Thresholds(), records, PLACES, stage, entropy)
        return str([labeller.decide(row) for row in labeller.counts(QUERIES)])


ZEROS = ((1.0, 0),) * 5

POSTERIOR_BUGS: Sequence[Bug] = (
    bug(
        "charged once for fresh draws",
        "Each query is answered by a fresh draw from a posterior, and all of them are charged as one draw is.",
        source="what Dagan and Feldman's prediction of a single query becomes when it is asked twice",
        claim=exponential_guarantee(Thresholds(), records=6, inverse_temperature=ETA, features=1, public=3),
        broken=PosteriorAnswers(fresh=True),
        correct=PosteriorAnswers(fresh=False),
        neighbours=(SmallTable((*ZEROS, (1.0, 1))), SmallTable((*ZEROS, (1.0, 0)))),
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# Scores of a model whose histogram tells more of a record than it pays for.


EVEN: tuple[Record, ...] = ((0.0, 0),) * 3 + ((1.0, 0),) * 3
MORE_ZEROS, MORE_ONES = SmallTable((*EVEN, (0.0, 0))), SmallTable((*EVEN, (1.0, 0)))
"""The median is 0 on the left and 1 on the right: with it as the cut, all who have a 1 change the bin."""

SCORE_BUGS: Sequence[Bug] = (
    bug(
        "noise for one cell",
        "A count moves by 1, so the noise has scale 1/ε. A replaced record moves two of them.",
        claim=Guarantee(1.0),
        broken=Scored(NoisyHistogram(1.0), Cut(0.5)),
        correct=Scored(NoisyHistogram(2.0), Cut(0.5)),
        neighbours=(MORE_ZEROS, MORE_ONES),
    ),
    bug(
        "bins cut by the records",
        "All bins hold equally many records: they are cut at a quantile of the scored records themselves.",
        claim=Guarantee(1.0),
        broken=Scored(NoisyHistogram(2.0), None),
        correct=Scored(NoisyHistogram(2.0), Cut(0.5)),
        neighbours=(MORE_ZEROS, MORE_ONES),
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# An error message that quotes the private records.


PLAN = VoteStage(
    records=5,
    subsample=5,
    teachers=5,
    inverse_temperature=None,
    sparse_vector=OneSidedSparseVector.calibrate(1.0, 0.1, unstable=1),
)


@dataclass(frozen=True)
class CheckedVotes:
    """The shipped votes, after a check that the queries lie within the `bounds`, or (None) within the private range.

    The check comes before any noise is drawn, as it should. What it says is seen by whoever asks.
    """

    votes: VotesRun
    bounds: tuple[float, float] | None = None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        low, high = self.bounds or (float(table.X.min()), float(table.X.max()))
        try:
            if self.votes.queries.min() < low or self.votes.queries.max() > high:
                raise DataError("x", f"a number in [{low:g}, {high:g}]", "a number outside")
            return self.votes(table, entropy)
        except DataError as error:
            return str(error)


def _ages(oldest: float) -> Table:
    return Table.of([20.0, 30.0, 40.0, 50.0, oldest], [0, 0, 0, 1, 1])


VOTES = VotesRun(Thresholds(), PLAN, np.array([[130.0]]))

MESSAGE_BUGS: Sequence[Bug] = (
    bug(
        "private value in an error",
        "A query out of range is refused with the range of the private records: the largest one is quoted.",
        claim=PLAN.sparse_vector.guarantee,
        broken=CheckedVotes(VOTES),
        correct=CheckedVotes(VOTES, bounds=(0.0, 120.0)),
        neighbours=(_ages(60.0), _ages(97.0)),
    ),
)
