"""Teachers that share something: a scaler, a random stream, their records. One record then changes many votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.committees import PollSession
from pcqr.audit.exact.cases.tables import Table as PlainTable
from pcqr.audit.statistical.transcripts import Table, VotesRun
from pcqr.entropy import Entropy, SeededEntropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Labels, Points
from pcqr.hypotheses.committees.base import Arrays, IntArray
from pcqr.hypotheses.finite import Finite
from pcqr.hypotheses.stumps import Stump, Stumps
from pcqr.hypotheses.thresholds import Threshold, Thresholds
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.plan import VoteStage

SPARSE_VECTOR = OneSidedSparseVector.calibrate(1.5, 0.04, unstable=1)


def _plan(teachers: int) -> VoteStage:
    """A record for each teacher: the votes do not depend on the partition."""
    return VoteStage(
        records=teachers, subsample=teachers, teachers=teachers, inverse_temperature=None, sparse_vector=SPARSE_VECTOR
    )


# ---------------------------------------------------------------------------------------------------------------------
# A scaler fitted on all the private records, before they are split


@dataclass(frozen=True)
class ScaledVotes:
    """The shipped votes on points that were mapped to [0, 1] first: from `bounds`, or from the private range (None)."""

    votes: VotesRun
    bounds: tuple[float, float] | None = None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        low, high = self.bounds or (float(table.X.min()), float(table.X.max()))

        def scaled(X: Points) -> Points:
            return np.clip((X - low) / (high - low), 0.0, 1.0)

        run = replace(self.votes, queries=scaled(self.votes.queries))
        return run(Table(scaled(table.X), table.y), entropy)


HALVES = Finite((Threshold(0.5), Threshold(0.5, up=False)))
"""1[x > ½] and its mirror."""


def _incomes(largest: float) -> Table:
    """Six low values with label 0, and three high ones with label 1, the last of which is `largest`."""
    return Table.of([0.0] * 6 + [0.9, 0.9, largest], [0] * 6 + [1] * 3)


SCALED = VotesRun(HALVES, _plan(9), queries=np.array([[0.9]]))


SCALER = bug(
    "scaler before the split",
    "A scaler is fitted on all private records: one outlier squeezes the others together, for every teacher.",
    caught_by="statistical",
    claim=SPARSE_VECTOR.guarantee,
    broken=ScaledVotes(SCALED),
    correct=ScaledVotes(SCALED, bounds=(0.0, 1.0)),
    neighbours=(_incomes(1.0), _incomes(1000.0)),
)


# ---------------------------------------------------------------------------------------------------------------------
# One random stream for all the teachers

SEED = 0
TEACHERS = 21
FEATURES = 64
MISSING = -1.0


@dataclass(frozen=True)
class RandomStumps(Stumps):
    """A teacher bootstraps its records, draws a feature, again while that is missing somewhere, and cuts it at ½.

    The draws are reproducible: their `seed` is public, and privacy does not rest on them. With a stream of its own a
    teacher is a fixed function of its records, as the proof asks. With `shared` one stream serves all teachers, in
    turn: how much of it a teacher takes depends on its records, and all the later ones go astray.
    """

    seed: int = SEED
    shared: Entropy | None = field(default=None, compare=False)

    def learn(self, X: ArrayLike, y: ArrayLike) -> Stump:
        points, labels = self.check_records(X, y)
        stream = self.shared or SeededEntropy(self.seed)
        rows = stream.below(points.shape[0], points.shape[0])
        points, labels = points[rows], labels[rows]
        feature = _feature(stream)
        while (points[:, feature] == MISSING).any():
            feature = _feature(stream)
        candidates = [Stump(feature, 0.5, above, FEATURES) for above in (True, False)]
        return min(candidates, key=lambda stump: np.count_nonzero(stump.predict(points) != labels))


def _feature(stream: Entropy) -> int:
    return int(stream.below(FEATURES, 1)[0])


@dataclass(frozen=True)
class RandomTeachers:
    """The shipped votes of teachers that draw at random, from one stream (`one_stream`) or each from its own."""

    queries: Points
    one_stream: bool

    def __call__(self, table: Table, entropy: Entropy) -> str:
        stumps = RandomStumps(shared=SeededEntropy(SEED) if self.one_stream else None)
        return VotesRun(stumps, _plan(TEACHERS), self.queries)(table, entropy)


def _stream_neighbours() -> tuple[Table, Table, Points]:
    """Two tables and a query, made by an adversary who knows the seed.

    Teacher i takes word 2i for its bootstrap and word 2i + 1 for its feature. The second table's last record misses the
    features that are due, so its teacher takes a word more, and the later ones make features of bootstrap words. The
    query has 1 in the features that were due, and 0 elsewhere.
    """
    words = SeededEntropy(SEED).words(2 * TEACHERS + 2) % np.uint64(FEATURES)
    due, astray = set(map(int, words[1::2])), set(map(int, words[::2]))
    query = np.zeros((1, FEATURES))
    query[0, list(due - astray)] = 1.0
    ones = np.ones((TEACHERS, FEATURES))
    with_gaps = ones.copy()
    with_gaps[-1, list(due - astray)] = MISSING
    labels = np.ones(TEACHERS)
    return Table.of(ones, labels), Table.of(with_gaps, labels), query


FIRST, SECOND, QUERY = _stream_neighbours()

STREAM = bug(
    "one random stream",
    "All teachers draw from one reproducible stream: a teacher that draws once more changes all later teachers.",
    caught_by="statistical",
    claim=SPARSE_VECTOR.guarantee,
    broken=RandomTeachers(QUERY, one_stream=True),
    correct=RandomTeachers(QUERY, one_stream=False),
    neighbours=(FIRST, SECOND),
)

# ---------------------------------------------------------------------------------------------------------------------
# Teachers that are trained in bulk, and look over each other's shoulders


class CutsAcrossParts(Thresholds):
    """Sorts all records at once, and puts a cut midway between two neighbours of that order.

    Each teacher still labels its own records as its own cut did, and none of its tests would notice.
    """

    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        taught = super().learn_parts(X, y, ends)
        values, cuts = np.unique(X), taught["switches"]
        inside = np.isfinite(cuts)
        above = np.searchsorted(values, cuts[inside])
        cuts[inside] = 0.5 * (values[above - 1] + values[above])
        return taught


@dataclass(frozen=True)
class Poll:
    """The shipped votes for 1 at a place, with noise for one vote: are there more than all?"""

    hypotheses: Thresholds
    place: float

    def __call__(self, table: PlainTable, entropy: Entropy) -> str:
        return str(PollSession(self.hypotheses, 2, (self.place,), table, entropy).ask(self.place))


def _delays(longest: float) -> PlainTable:
    return PlainTable(((0.0, 0), (0.0, 0), (10.0, 1), (longest, 1)))


ACROSS = bug(
    "cuts across parts",
    "Teachers are trained in bulk, and a cut lies midway between two records, of which one is another teacher's.",
    claim=Guarantee(1.0),
    broken=Poll(CutsAcrossParts(), 4.0),
    correct=Poll(Thresholds(), 4.0),
    neighbours=(_delays(10.0), _delays(6.0)),
)

BUGS: Sequence[Bug] = (SCALER, STREAM, ACROSS)
