from __future__ import annotations

from dataclasses import dataclass, replace

from pcqr.checks import check_integer, check_inverse_temperature, check_teachers, keep_plain
from pcqr.errors import ParameterError
from pcqr.mechanisms.relabelling import relabel_guarantee
from pcqr.mechanisms.sparse_vector import SparseVector
from pcqr.privacy.composition import Context, Stage
from pcqr.privacy.guarantee import Guarantee, rounded_up
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.plan import QueryPlan


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
    >>> from pcqr.releases.subsample.plan import VoteStage
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
    def remaining(self) -> Usage:
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


@dataclass(frozen=True, kw_only=True)
class VotingPlan(QueryPlan):
    """The plan of a release that answers by votes alone: prepare, then test votes for stability or add noise to them.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    vote : VoteStage or NoisyMaxStage
        The sub-sample, the relabelling, the teachers and the sparse vector; or teachers and the noise on their votes.

    Attributes
    ----------
    tested : VoteStage
        The vote, where its stability is tested.
    votes : int
        How many of the planned queries are put to the vote.
    expected_answers : float or None
        How many of them are expected to end in a label.

    Examples
    --------
    >>> from pcqr import SubsampleAggregate
    >>> from pcqr.releases.subsample.plan import VotingPlan
    >>> plan = SubsampleAggregate(queries=20, teachers=499).plan(records=5_000, features=1)
    >>> isinstance(plan, VotingPlan), plan.votes, plan.vote.teachers
    (True, 20, 499)
    >>> plan.guarantee.within(plan.epsilon, plan.delta)
    True
    """

    vote: VoteStage | NoisyMaxStage

    @property
    def tested(self) -> VoteStage:
        """The vote of a plan that tests votes for stability; ParameterError for a plan that adds noise to votes."""
        if not isinstance(self.vote, VoteStage):
            raise ParameterError("plan", "a test of stability", type(self.vote).__name__)
        return self.vote

    @property
    def remaining(self) -> Usage:
        return self.vote.remaining

    @property
    def votes(self) -> int:
        """How many of the planned queries are put to the vote: all of them, unless a classifier is published."""
        return self.queries

    @property
    def expected_answers(self) -> float | None:
        """The expected number of labels from these `votes`. With the same records, ε, δ and kind of vote it never falls
        as more queries are planned.
        """
        return None if self.prediction is None else self.votes * (1.0 - self.prediction.unanswered_share)

    @property
    def stages(self) -> Stage:
        return self.vote
