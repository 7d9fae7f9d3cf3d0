"""Votes that are noised for less than one teacher can change. The private data are counts of votes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.publication import PollSession
from pcqr.audit.exact.cases.tables import Table as PlainTable
from pcqr.audit.exact.samplers import Sampler
from pcqr.audit.statistical import STABLE, UNSTABLE, SparseVectorRun, Table, VotesRun
from pcqr.hypotheses.base import Labels, Points
from pcqr.hypotheses.committees import Arrays, IntArray
from pcqr.hypotheses.finite import Finite
from pcqr.hypotheses.stumps import Stump, Stumps
from pcqr.hypotheses.thresholds import Threshold, Thresholds
from pcqr.mechanisms.noisy_max import LaplaceMax
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, RunningSparseVector, SparseVector
from pcqr.mechanisms.stability import distance_to_instability
from pcqr.privacy.accounting import Repeated, compose
from pcqr.privacy.entropy import Entropy, SeededEntropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import IntegerArray, discrete_laplace, discrete_laplaces, weighted_choice
from pcqr.releases.confident.plan import ConfidentMax
from pcqr.releases.subsample.plan import VoteStage

Votes = tuple[int, int]
"""For label 0 and for label 1. One teacher that changes its mind moves both."""


@dataclass(frozen=True)
class ExponentialVote:
    """One label, drawn with P(label) ∝ e^{`rate` · votes}: (2·`rate`)-DP, since one teacher moves two counts by 1."""

    rate: float

    def __call__(self, votes: Votes, entropy: Entropy) -> str:
        return str(weighted_choice(self.rate * np.array(votes, dtype=np.float64), entropy))


@dataclass(frozen=True)
class LaplaceVote:
    """The label with the most votes after Laplace noise of this `scale` on each count: (2/`scale`)-DP."""

    scale: float

    def __call__(self, votes: Sequence[int], entropy: Entropy) -> str:
        return str(LaplaceMax(self.scale).decide(np.array(votes), entropy))


@dataclass(frozen=True)
class ConfidentVote:
    """Confident answers to queries with these votes, until one label is given."""

    noise: ConfidentMax

    def __call__(self, queries: Sequence[Sequence[int]], entropy: Entropy) -> str:
        said = ""
        for votes in queries:
            label = self.noise.decide(np.array(votes), entropy)
            said += "⊥" if label is None else str(label)
            if label is not None:
                break
        return said


@dataclass(frozen=True)
class Correction:
    """Does the noisy check let teachers correct a student who expects all votes for label 0? One query after another.

    Compared is the largest lead over what it expects or, if `is_gap`, over the votes for its label.
    """

    noise: ConfidentMax
    is_gap: bool

    def __call__(self, queries: Sequence[Sequence[int]], entropy: Entropy) -> str:
        said = ""
        for votes in queries:
            counts, teachers = np.array(votes), sum(votes)
            if self.is_gap:
                label = self.noise.decide(counts - counts[0], entropy, 0, self.noise.threshold - teachers // 2)
            else:
                label = self.noise.decide(counts, entropy, np.array([teachers, 0, 0]))
            said += "student" if label is None else "teachers"
            if label is not None:
                break
        return said


@dataclass(frozen=True)
class StableVote:
    """The sparse vector's answers to queries with these votes, whose stability is measured by `distance`."""

    sparse_vector: SparseVector
    distance: Callable[[ArrayLike], int]

    def __call__(self, queries: Sequence[Votes], entropy: Entropy) -> str:
        return SparseVectorRun(self.sparse_vector)([self.distance(votes) for votes in queries], entropy)


def gap(votes: ArrayLike) -> int:
    """Votes of the winner less those of the loser. One teacher that changes its mind moves it by 2."""
    counts = np.asarray(votes)
    return int(counts.max() - counts.min())


TEACHERS = 101
SPARSE_VECTOR = OneSidedSparseVector.calibrate(1.0, 1e-6, unstable=1)


def _at_threshold(measure: Callable[[ArrayLike], int]) -> tuple[tuple[Votes, ...], tuple[Votes, ...]]:
    """Votes that `measure` puts just above the threshold and, one teacher later, below; five times, then reversed."""
    winners = next(
        c for c in range(TEACHERS) if measure((TEACHERS - c, c)) > SPARSE_VECTOR.threshold and 2 * c > TEACHERS
    )
    above, below = (TEACHERS - winners, winners), (TEACHERS - winners + 1, winners - 1)
    return (above,) * 5 + (below,), (below,) * 5 + (above,)


CHECKS = 4
UNPAID = ConfidentMax(threshold=8, check_scale=1.0, answer_scale=10.0, grid=1)
PAID = ConfidentMax(threshold=8, check_scale=20.0, answer_scale=15.0, grid=1)
ONE_LABEL = compose([UNPAID.answer], 1e-3, accountant="Rényi")


CORRECTING = ConfidentMax(threshold=8, check_scale=4.0, answer_scale=100.0, grid=1)
FEW_CORRECTIONS = compose([Repeated(CORRECTING.check, CHECKS), CORRECTING.answer], 1e-3, accountant="Rényi")


VOTE_BUGS: Sequence[Bug] = (
    bug(
        "no ½ in the vote",
        "A label is drawn with weight e^{ε·votes}. One teacher moves two counts, so this is 2ε.",
        source="the mechanism of Dwork and Feldman 2018, as a public implementation has it",
        claim=Guarantee(1.0),
        broken=ExponentialVote(1.0),
        correct=ExponentialVote(0.5),
        neighbours=((1, 6), (2, 5)),
    ),
    bug(
        "Laplace noise for one count",
        "Every count has Laplace noise of scale 1/γ, sold as γ-DP. One teacher moves two counts, so this is 2γ.",
        source="LNMax of Papernot et al. 2017, charged γ for 2γ",
        claim=Guarantee(1.0),
        broken=LaplaceVote(1.0),
        correct=LaplaceVote(2.0),
        neighbours=((0, 12, 2), (1, 11, 2)),
    ),
    bug(
        "check not paid for",
        "Whether the teachers agree is checked in every query; only the labels are charged.",
        source="Confident-GNMax of Papernot et al. 2018, without the cost of its threshold",
        claim=ONE_LABEL,
        broken=ConfidentVote(UNPAID),
        correct=ConfidentVote(PAID),
        neighbours=(((1, 6, 3),) * CHECKS, ((1, 7, 2),) * CHECKS),
    ),
    bug(
        "lead over the student's votes",
        "Teachers correct a student where a label has many votes more than the student's own: a gap that moves by 2, "
        "with the noise for what moves by 1.",
        source="the interactive aggregator of Papernot et al. 2018, with votes for what the student expects",
        claim=FEW_CORRECTIONS,
        broken=Correction(CORRECTING, is_gap=True),
        correct=Correction(CORRECTING, is_gap=False),
        neighbours=(((4, 8, 0),) * CHECKS, ((5, 7, 0),) * CHECKS),
    ),
    bug(
        "gap of sensitivity 2",
        "Stability is measured by the gap between two counts, with the noise for a quantity that moves by 1.",
        source="Nandi and Bassily 2020, Algorithm SubSamp as printed",
        claim=SPARSE_VECTOR.guarantee,
        broken=StableVote(SPARSE_VECTOR, gap),
        correct=StableVote(SPARSE_VECTOR, distance_to_instability),
        neighbours=_at_threshold(gap),
        correct_neighbours=_at_threshold(distance_to_instability),
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# Teachers that share something: a scaler, a random stream, their records. One record then changes many votes.


COMMITTEE_SPARSE_VECTOR = OneSidedSparseVector.calibrate(1.5, 0.04, unstable=1)


def _plan(teachers: int) -> VoteStage:
    """A record for each teacher: the votes do not depend on the partition."""
    return VoteStage(
        records=teachers,
        subsample=teachers,
        teachers=teachers,
        inverse_temperature=None,
        sparse_vector=COMMITTEE_SPARSE_VECTOR,
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
    claim=COMMITTEE_SPARSE_VECTOR.guarantee,
    broken=ScaledVotes(SCALED),
    correct=ScaledVotes(SCALED, bounds=(0.0, 1.0)),
    neighbours=(_incomes(1.0), _incomes(1000.0)),
)


# ---------------------------------------------------------------------------------------------------------------------
# One random stream for all the teachers

SEED = 0
COMMITTEE = 21
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
        return VotesRun(stumps, _plan(COMMITTEE), self.queries)(table, entropy)


def _stream_neighbours() -> tuple[Table, Table, Points]:
    """Two tables and a query, made by an adversary who knows the seed.

    Teacher i takes word 2i for its bootstrap and word 2i + 1 for its feature. The second table's last record misses the
    features that are due, so its teacher takes a word more, and the later ones make features of bootstrap words. The
    query has 1 in the features that were due, and 0 elsewhere.
    """
    words = SeededEntropy(SEED).words(2 * COMMITTEE + 2) % np.uint64(FEATURES)
    due, astray = set(map(int, words[1::2])), set(map(int, words[::2]))
    query = np.zeros((1, FEATURES))
    query[0, list(due - astray)] = 1.0
    ones = np.ones((COMMITTEE, FEATURES))
    with_gaps = ones.copy()
    with_gaps[-1, list(due - astray)] = MISSING
    labels = np.ones(COMMITTEE)
    return Table.of(ones, labels), Table.of(with_gaps, labels), query


FIRST, SECOND, QUERY = _stream_neighbours()

STREAM = bug(
    "one random stream",
    "All teachers draw from one reproducible stream: a teacher that draws once more changes all later teachers.",
    caught_by="statistical",
    claim=COMMITTEE_SPARSE_VECTOR.guarantee,
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

TEACHER_BUGS: Sequence[Bug] = (SCALER, STREAM, ACROSS)


# ---------------------------------------------------------------------------------------------------------------------
# Laplace noise in floating point. The private datum is a distance to instability, published with noise.


EPSILON = 1.0


@dataclass(frozen=True)
class FloatLaplace:
    """distance + Laplace(1/ε), by the textbook's inverse distribution function, in float64.

    On the reals this is ε-DP. In float64 the sum 1 + z has no digits below 2⁻⁵³, while 0 + z has those of a small z:
    the last digit tells the two apart.
    """

    epsilon: float

    def __call__(self, distance: int, entropy: Entropy) -> str:
        uniform = (int(entropy.words(1)[0]) >> 11) * 2.0**-53 - 0.5
        if uniform == -0.5:  # the textbook's logarithm of 0
            return "infinite"
        noise = -math.copysign(math.log1p(-2.0 * abs(uniform)), uniform) / self.epsilon
        return fingerprint(float(distance) + noise)


@dataclass(frozen=True)
class IntegerLaplace:
    """distance + discrete Laplace(1/ε): the sum of integers has no last digit to speak of."""

    epsilon: float

    def __call__(self, distance: int, entropy: Entropy) -> str:
        return fingerprint(float(distance + discrete_laplace(1.0 / self.epsilon, entropy)))


def fingerprint(value: float) -> str:
    """What an attacker looks at: has the value a binary digit beyond 2⁻⁵³, and else, which integer is it near?"""
    if not (value * 2.0**53).is_integer():
        return "finer than 2^-53"
    return f"about {max(-9, min(9, round(value)))}"


FLOAT_BUGS: Sequence[Bug] = (
    bug(
        "float Laplace",
        "Textbook Laplace noise in float64: some sums are possible on one neighbour alone.",
        source="Mironov 2012",
        caught_by="statistical",
        claim=Guarantee(EPSILON),
        broken=FloatLaplace(EPSILON),
        correct=IntegerLaplace(EPSILON),
        neighbours=(0, 1),
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# Noise from buffers of random words, or of draws: what goes wrong when one runs out, or is read twice.


CLAIM = Guarantee(EPSILON)

# --------------------------------------------------------------------------------------------------------------
# A buffer that runs out


class _RunsOut(Entropy):
    """One buffer of random words and no more."""

    is_private = True

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._is_used_up = False

    def fill(self, words: NDArray[np.uint64]) -> None:
        if self._is_used_up:
            raise EOFError
        self._is_used_up = True
        self._entropy.fill(words)

    def bytes(self, count: int) -> bytes:
        raise NotImplementedError(f"{count} bytes")


def dropping_laplace(scale: float, entropy: Entropy) -> int:
    """The shipped draw, begun anew with other words where it would need more than are in the buffer.

    Those are the draws that lie too near to a border between two numbers to be told by one word, and all that are so
    large that 63 bits do not reach them.
    """
    while True:
        try:
            return discrete_laplace(scale, _RunsOut(entropy))
        except EOFError:
            continue


# --------------------------------------------------------------------------------------------------------------
# A buffer that is read twice


@dataclass(frozen=True)
class TwoWorkers:
    """Two workers publish a count each, with noise from a buffer of draws: do they see the first count as the larger?

    With `one_buffer` the second worker has a copy of the first one's buffer, as a process has that was forked off.
    """

    one_buffer: bool

    def __call__(self, counts: tuple[int, int], entropy: Entropy) -> str:
        first = self._drawn(entropy)
        second = first.copy() if self.one_buffer else self._drawn(entropy)
        return str(bool(counts[0] + first[0] > counts[1] + second[0]))

    def _drawn(self, entropy: Entropy) -> IntegerArray:
        return discrete_laplaces(1.0 / EPSILON, 2, entropy)


BUFFER_BUGS: Sequence[Bug] = (
    bug(
        "long draws are dropped",
        "A draw that needs more random words than the buffer has is replaced by another: the largest never occur.",
        claim=CLAIM,
        broken=Sampler("discrete_laplace", 1.0 / EPSILON, dropping_laplace),
        correct=Sampler("discrete_laplace", 1.0 / EPSILON),
        neighbours=(0, 1),
    ),
    bug(
        "one buffer for two workers",
        "Noise is drawn ahead, and a process that is forked off has a copy of the buffer: the same noise serves twice.",
        claim=CLAIM,
        broken=TwoWorkers(one_buffer=True),
        correct=TwoWorkers(one_buffer=False),
        neighbours=((1, 0), (0, 0)),
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# Sparse vectors that claim the guarantee of `OneSidedSparseVector` and get one thing wrong.
#
# Most are the published variants that Lyu, Su and Li 2017 took apart, turned round: in their paper the costly answer is
# "above the threshold", here it is ⊥. The private data are the queries' distances to instability.


LYU_SU_LI = "Lyu, Su and Li 2017"
EPSILON, DELTA = 1.0, 1e-6

ONE = OneSidedSparseVector.calibrate(EPSILON, DELTA, unstable=1)
FOUR = OneSidedSparseVector.calibrate(EPSILON, DELTA, unstable=4)
CHEAP_THRESHOLD = OneSidedSparseVector.calibrate(EPSILON, DELTA, unstable=1, threshold_share=0.2)
"""Most of its ε pays for ⊥, so that one ⊥ too many weighs the most."""

Distances = tuple[int, ...]


def opposed(parameters: SparseVector, stable: int, unstable: int) -> tuple[Distances, Distances]:
    """Queries at the threshold, `stable` of them one step nearer to ⊥ on the second neighbour, then the reverse.

    The event that all of the former pass and all of the latter fail makes both kinds of noise work against the claim.
    """
    low, high = parameters.threshold, parameters.threshold + 1
    return (high,) * stable + (low,) * unstable, (low,) * stable + (high,) * unstable


@dataclass(frozen=True)
class FixedQueryNoise(OneSidedSparseVector):
    """The same noise for every query."""

    noise: int = 0

    def query_noise(self, entropy: Entropy) -> int:  # noqa: ARG002
        return self.noise


class QueryNoiseReused(RunningSparseVector):
    """Draws the query noise at the start and uses it for every query."""

    def __init__(self, parameters: SparseVector, entropy: Entropy) -> None:
        noise = parameters.query_noise(entropy)
        super().__init__(FixedQueryNoise(**asdict(parameters), noise=noise), entropy)


class OneTooMany(RunningSparseVector):
    """Goes on while c ≤ E."""

    @property
    def is_exhausted(self) -> bool:
        return self.unstable_remaining < 0


class NeverHalts(RunningSparseVector):
    """Does not count its unstable answers."""

    is_exhausted = False


@dataclass(frozen=True)
class ShowsDistance:
    """With ⊥ comes the noisy distance of the test, "to say how close it was".

    It is clamped to a few values about the threshold, which reveals no more than the noisy distance itself.
    """

    parameters: OneSidedSparseVector

    def __call__(self, distances: Distances, entropy: Entropy) -> str:
        threshold = self.parameters.threshold + self.parameters.threshold_noise(entropy)
        seen = ""
        for distance in distances:
            noisy = distance + self.parameters.query_noise(entropy)
            if noisy <= threshold:
                return f"{seen}{UNSTABLE} {self._clamped(noisy)}"
            seen += STABLE
        return seen

    def _clamped(self, noisy: int) -> int:
        middle = self.parameters.threshold
        return next((value for value in (middle + 1, middle, middle - 1) if noisy >= value), middle - 2)


def _sparse_vector_bug(
    name: str,
    wrong: str,
    honest: OneSidedSparseVector,
    broken: SparseVectorRun,
    neighbours: tuple[Distances, Distances],
    source: str = "",
) -> Bug:
    return bug(
        name,
        wrong,
        source=source,
        claim=honest.guarantee,
        broken=broken,
        correct=SparseVectorRun(honest),
        neighbours=neighbours,
    )


SPARSE_VECTOR_BUGS: Sequence[Bug] = (
    _sparse_vector_bug(
        "no query noise",
        "Only the threshold is noised: two answers together tell which of two distances is larger.",
        ONE,
        SparseVectorRun(FixedQueryNoise(**asdict(ONE))),
        opposed(ONE, 1, 1),
        f"{LYU_SU_LI}, Algorithm 5",
    ),
    _sparse_vector_bug(
        "query noise reused",
        "The query noise is drawn once and kept: it moves the threshold and hides nothing.",
        ONE,
        SparseVectorRun(ONE, QueryNoiseReused),
        opposed(ONE, 1, 1),
    ),
    _sparse_vector_bug(
        "noise ignores E",
        "The query noise is scaled for one unstable answer, and four are given.",
        FOUR,
        SparseVectorRun(replace(ONE, unstable=FOUR.unstable)),
        opposed(ONE, 4, 4),
        f"{LYU_SU_LI}, Algorithm 4",
    ),
    _sparse_vector_bug(
        "never halts",
        "Unstable answers are not counted, so that any number of them can be had.",
        ONE,
        SparseVectorRun(ONE, NeverHalts),
        opposed(ONE, 3, 6),
        f"{LYU_SU_LI}, Algorithm 6",
    ),
    _sparse_vector_bug(
        "c ≤ T",
        "The loop runs while c ≤ T, which allows T + 1 unstable answers; noise was scaled for T.",
        CHEAP_THRESHOLD,
        SparseVectorRun(CHEAP_THRESHOLD, OneTooMany),
        opposed(CHEAP_THRESHOLD, 12, 2),
        "Nandi and Bassily 2020, Algorithm SubSamp as printed",
    ),
    bug(
        "shows the noisy distance",
        "With ⊥ comes the noisy distance that the test was made with. That noise is one-sided, and spent.",
        source=f"{LYU_SU_LI}, Algorithm 3",
        claim=ONE.guarantee,
        broken=ShowsDistance(ONE),
        correct=SparseVectorRun(ONE),
        neighbours=opposed(ONE, 2, 1),
    ),
)
