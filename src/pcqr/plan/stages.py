"""The parameters of one stage of the papers' algorithms: votes, and a draw that is published.

A stage is frozen and checks itself when it is made, so that whoever holds one holds numbers that mean something. The
algorithms trust it. An inverse temperature η may be 0: the draw then does not look at the records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pcqr.accounting import BoundedRangeEvent, DiscreteGaussianEvent, Event, PureEvent, Repeated, ShapingEvent
from pcqr.checks import check_integer, check_inverse_temperature, check_positive, check_teachers, keep_plain
from pcqr.documents.codec import later
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee, rounded_up
from pcqr.hypotheses.base import MOST_LABELS
from pcqr.hypotheses.naming import name_of
from pcqr.mechanisms.exponential import exponential_guarantee
from pcqr.mechanisms.noisy_max import NoisyMax
from pcqr.mechanisms.relabelling import relabel_guarantee
from pcqr.mechanisms.sparse_vector import SparseVector
from pcqr.noise import check_scale
from pcqr.plan.answers import Usage
from pcqr.plan.composition import Context, Stage


@dataclass(frozen=True)
class VoteStage(Stage):
    """Prepare and vote: sub-sample n' of n, relabel at η, partition, k teachers, sparse vector.

    Parameters
    ----------
    records : int
        n, the number of private records.
    subsample : int
        n' ≤ n, the records of the secret sub-sample.
    teachers : int
        k ≤ n', odd.
    inverse_temperature : float or None
        η of the relabelling. None: nothing is relabelled.
    sparse_vector : SparseVector
        The stability test of the votes: T = `sparse_vector.unstable`, w = `sparse_vector.threshold`.
    copies : int or None, default None
        The paper re-samples S'' with replacement before the partition, and its guarantee allows for that many copies of
        one record. None: S'' itself is partitioned.
    public : int or None, default None
        How many public points the relabelling's class is made of. None: it is made of the private points, or declared.

    Attributes
    ----------
    sampling_rate : float
        q = n'/n.
    teacher_records : int
        ⌊n'/k⌋, the records that every teacher has at least.

    Raises
    ------
    ParameterError
        When a number is outside its range, or there are copies or public points and nothing is relabelled.

    Examples
    --------
    >>> from pcqr.mechanisms import OneSidedSparseVector
    >>> from pcqr.plan import VoteStage
    >>> vector = OneSidedSparseVector.calibrate(epsilon=0.8, delta=1e-6, unstable=5)
    >>> stage = VoteStage(
    ...     records=10_000, subsample=2_000, teachers=499, inverse_temperature=0.14, sparse_vector=vector
    ... )
    >>> stage.sampling_rate, stage.teacher_records
    (0.2, 4)
    """

    records: int
    subsample: int
    teachers: int
    inverse_temperature: float | None
    sparse_vector: SparseVector
    copies: int | None = None
    public: int | None = None

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_integer("subsample", self.subsample, least=1, most=self.records)
        check_teachers(self.teachers, most=self.subsample)
        if not isinstance(self.sparse_vector, SparseVector):
            raise ParameterError("sparse_vector", "a sparse vector of pcqr.mechanisms", self.sparse_vector)
        if self.inverse_temperature is not None:
            check_inverse_temperature(self.inverse_temperature)
        for name in ("copies", "public"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), least=1)
                if self.inverse_temperature is None:
                    raise ParameterError(name, "None where nothing is relabelled", getattr(self, name))
        keep_plain(
            self,
            floats=("inverse_temperature",),
            integers=("records", "subsample", "teachers", "copies", "public"),
        )

    @property
    def left(self) -> Usage:
        """What a new release may answer before it halts."""
        return Usage(self.sparse_vector.queries, self.sparse_vector.unstable)

    @property
    def sampling_rate(self) -> float:
        """q = n'/n."""
        return self.subsample / self.records

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.subsample // self.teachers

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        teachers = (-(-self.subsample // self.teachers), self.teachers)
        return (teachers,) if self.inverse_temperature is None else (teachers, (self.subsample, 1))

    def event(self, context: Context) -> Guarantee:
        """Return the guarantee of all answers: votes, relabelling if there is any, amplified by the secret sub-sample.

        ε = ln(1 + q(e^{R+ε_A} − 1)), δ = q·δ_A (proofs/sub_samp.md, proofs/ag_priv_cl.md).
        """
        votes, eta = self.votes_guarantee, self.inverse_temperature
        if eta is None:
            return votes.amplify(self.sampling_rate, proof="sub_samp")
        relabelled = relabel_guarantee(
            votes, context.hypotheses, self.subsample, eta, context.features, public=self.public
        )
        return relabelled.amplify(self.sampling_rate, proof="ag_priv_cl")

    @property
    def votes_guarantee(self) -> Guarantee:
        """The guarantee of teachers and sparse vector with respect to the records that the teachers are trained on.

        Without replacement one record touches one teacher: the sparse vector's own guarantee. With replacement (the
        paper) a record is copied r ~ Binomial(n', 1/n') times: group privacy for r ≤ `copies`, and the exact
        P(r > `copies`) is added to δ (proofs/sub_samp.md).
        """
        inner = self.sparse_vector.guarantee
        if self.copies is None:
            return inner
        grouped = inner.group(self.copies, proof="sub_samp")
        from scipy.stats import binom  # noqa: PLC0415 (half of the time that the import of pcqr would take)

        overflow = float(binom.sf(self.copies, self.subsample, 1.0 / self.subsample))
        step = f"re-sampling with replacement: group privacy for {self.copies} copies of a record"
        return replace(grouped, delta=rounded_up(grouped.delta + overflow)).explained(step)


@dataclass(frozen=True)
class NoisyMaxStage(Stage):
    """Vote: n records in k parts, m queries answered by noisy majorities, each paid for.

    Parameters
    ----------
    records : int
        n.
    teachers : int
        k ≤ n. It may be even: `ExponentialMax` breaks ties by a fair coin, the others by the order of the labels.
    queries : int
        m, the answers that are paid for.
    noise : GaussianMax, LaplaceMax or ExponentialMax
        How one answer is drawn.
    labels : int, default 2
        C ≥ 2, the labels that are voted on.

    Attributes
    ----------
    answer : Event
        What one answer is to an accountant.
    teacher_records : int
        ⌊n/k⌋, the records that every teacher has at least.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.mechanisms.noisy_max import GaussianMax
    >>> from pcqr.plan import NoisyMaxStage
    >>> NoisyMaxStage(records=5_000, teachers=247, queries=50, noise=GaussianMax(40.0)).teacher_records
    20
    """

    records: int
    teachers: int
    queries: int
    noise: NoisyMax
    labels: int = later(2)

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_integer("teachers", self.teachers, least=1, most=self.records)
        check_integer("queries", self.queries, least=1)
        check_integer("labels", self.labels, least=2)
        if not isinstance(self.noise, NoisyMax):
            raise ParameterError("noise", "a noisy majority of pcqr.mechanisms.noisy_max", self.noise)
        keep_plain(self, integers=("records", "teachers", "queries", "labels"))

    @property
    def left(self) -> Usage:
        """What a new release may answer before it halts. No answer is ⊥."""
        return Usage(self.queries, None)

    @property
    def answer(self) -> DiscreteGaussianEvent | PureEvent | BoundedRangeEvent:
        """What one answer is to an accountant."""
        return self.noise.event(self.teachers, self.labels)

    def event(self, context: Context) -> Repeated:  # noqa: ARG002
        return Repeated(self.answer, self.queries)

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        return ((-(-self.records // self.teachers), self.teachers),)

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.records // self.teachers


@dataclass(frozen=True)
class DrawStage(Stage):
    """Publish: the exponential mechanism over a class fixed by public points or by declaration.

    Parameters
    ----------
    inverse_temperature : float
        η ≥ 0 in P(h) ∝ e^{−η·mistakes(h)}. At 0 the draw does not look at the records.
    after_queries : int, default 0
        m_o, the votes that come first; their queries are the public points. 0: public points are at hand.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.plan import DrawStage
    >>> DrawStage(inverse_temperature=0.5)
    DrawStage(inverse_temperature=0.5, after_queries=0)
    """

    inverse_temperature: float
    after_queries: int = 0

    def __post_init__(self) -> None:
        check_inverse_temperature(self.inverse_temperature)
        check_integer("after_queries", self.after_queries, least=0)
        keep_plain(self, floats=("inverse_temperature",), integers=("after_queries",))

    @property
    def proof(self) -> str:
        """The note in `proofs/` that proves the stage's figures."""
        return "sspp"

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        return ((records, 1),)

    def words(self, context: Context) -> str:
        return f"a draw from {name_of(context.hypotheses, context.records)}"

    def event(self, context: Context) -> Event:
        """Return the draw's event: pure, ε = 2η + 2λ, with a loss in an interval of length 2η + 4λ.

        λ bounds the numerical error of a log-probability (proofs/sspp.md, proofs/accounting.md). The interval does not
        depend on what was shown before as long as the class does not. Votes, whose queries may make the class, compose
        with it by its ε alone.
        """
        eta, drawn = self.inverse_temperature, self.guarantee(context)
        slack = rounded_up(drawn.epsilon - 2.0 * eta)
        return BoundedRangeEvent(rounded_up(2.0 * eta + 2.0 * slack), drawn)

    def guarantee(self, context: Context) -> Guarantee:
        """Return the guarantee of the draw by itself."""
        stated = exponential_guarantee(
            context.hypotheses,
            records=context.records,
            inverse_temperature=self.inverse_temperature,
            features=context.features,
            public=context.public,
        )
        return replace(stated, proof="sspp")


@dataclass(frozen=True)
class LeafCountsStage(Stage):
    """Noisy counts of each label in each leaf of the tree that was drawn before: the tree's probabilities.

    Parameters
    ----------
    scale : float
        b of the discrete Laplace noise, P(z) ∝ e^{−|z|/b}, in records. A replaced record moves two counts by 1 each.

    Raises
    ------
    ParameterError
        When the scale is not allowed.

    Examples
    --------
    >>> from pcqr.plan import LeafCountsStage
    >>> round(LeafCountsStage(scale=40.0).epsilon, 6)
    0.05
    """

    scale: float

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        check_scale("scale", self.scale)
        keep_plain(self, floats=("scale",))

    @property
    def epsilon(self) -> float:
        """2/b, rounded up."""
        return rounded_up(2.0 / self.scale)

    @property
    def proof(self) -> str:
        """The note in `proofs/` that proves the stage's figures."""
        return "leaf_counts"

    def words(self, context: Context) -> str:  # noqa: ARG002
        return "noisy counts of each label in each leaf of the tree, for its probabilities"

    def event(self, context: Context) -> Event:  # noqa: ARG002
        return PureEvent(self.epsilon)


@dataclass(frozen=True)
class ClassCountsStage(Stage):
    """Noisy counts of all labels but the first, by which every stage after it weighs records ("balanced").

    The count of the first label is what is left of n. A replaced record moves one count by 1 where there are two
    labels, and at most two counts by 1 each where there are more.

    Parameters
    ----------
    scale : float
        b of the discrete Laplace noise, P(z) ∝ e^{−|z|/b}, in records.
    classes : int, default 2
        C, the number of labels.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.plan import ClassCountsStage
    >>> round(ClassCountsStage(scale=200.0).epsilon, 6), round(ClassCountsStage(scale=200.0, classes=3).epsilon, 6)
    (0.005, 0.01)
    """

    scale: float
    classes: int = 2

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        check_scale("scale", self.scale)
        check_integer("classes", self.classes, least=2, most=MOST_LABELS)
        keep_plain(self, floats=("scale",), integers=("classes",))

    @property
    def moved(self) -> int:
        """How many counts a replaced record moves by 1, at most."""
        return min(self.classes - 1, 2)

    @property
    def epsilon(self) -> float:
        """1/b for two labels, 2/b for more, rounded up."""
        return rounded_up(self.moved / self.scale)

    @property
    def proof(self) -> str:
        """The note in `proofs/` that proves the stage's figures."""
        return "weights"

    def words(self, context: Context) -> str:  # noqa: ARG002
        return "noisy counts of the labels, by which records are weighed"

    def event(self, context: Context) -> Event:  # noqa: ARG002
        """Return a pure release. The interval of a draw after it may depend on it: records have its weights then."""
        return ShapingEvent(PureEvent(self.epsilon))
