"""Plans and answers: the frozen parameters that an algorithm runs with, and what it says.

A plan is made from public numbers alone (see `pcqr.planning`) and never changes while a release lives. The
algorithms trust it: they compute their own guarantee from it, and the estimators check that guarantee against
what the user asked for before any noise is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from pcqr.accounting import DiscreteGaussianEvent
from pcqr.checks import check_finite, check_integer, check_inverse_temperature, check_positive, keep_plain
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import LARGEST_EXPONENT
from pcqr.mechanisms.noisy_max import NoisyMax
from pcqr.mechanisms.sparse_vector import SparseVector
from pcqr.noise import check_scale

Mode = Literal["paper", "calibrated"]
Kind = Literal["stable", "unstable", "published", "repeated"]
L = TypeVar("L")

MOST_LINEAR_RECORDS, LARGEST_LINEAR_TERM = 2**31 - 1, 2**24
"""n and M of a `LinearPlan`: sums of n integers of at most M stay far within 64 bits. Trees count no more records."""


@dataclass(frozen=True)
class Usage:
    """A number of queries and, among them, of unstable answers. `queries` is None where it has no limit."""

    queries: int | None
    unstable: int

    def __str__(self) -> str:
        unstable = counted(self.unstable, "unstable answer")
        if self.queries is not None:
            return f"{counted(self.queries, 'query', 'queries')} and {unstable}"
        return f"{unstable} and any number of stable ones" if self.unstable else unstable


def counted(number: int, one: str, many: str | None = None) -> str:
    """`number` with its noun, as one says it: 1 query, 2,000 queries."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


@dataclass(frozen=True)
class Answer(Generic[L]):
    """One answer: `label` (None stands for ⊥), how it came about, and what has been spent and is left.

    `beyond_plan` is True past the planned number of queries: privacy holds, the accuracy bound was for fewer.
    """

    label: L | None
    kind: Kind
    spent: Usage
    remaining: Usage
    beyond_plan: bool = False


@dataclass(frozen=True, kw_only=True)
class BatchCost:
    """What a batch of queries will cost, said before it is sent. It holds as long as nobody asks in between.

    The `requested` rows are `repeated` (asked before, or earlier in the batch: free), `new` (one vote each, at most
    one unstable answer each) or `published` (answered by the published classifier: free; should the unstable answers
    run out first, there will be more of these). ε and δ were charged at fit: the batch adds `epsilon` = `delta` = 0.

    The first `certain` rows get an answer, a label or ⊥, whatever the votes say: of `left`, each new query takes at
    most one unstable answer. `beyond_plan` counts new queries past the planned number.

    `expected_unstable` answers and `chance_of_halting` (that some row stays unanswered) come from the planner's model:
    estimates, not bounds, and None where there is no model. A chance that the counts alone settle is exactly 0 or 1.
    `unstable_range` is `expected_unstable` with the model as far off, to either side, as it was on real tables.
    """

    requested: int
    repeated: int
    new: int
    published: int
    certain: int
    left: Usage
    beyond_plan: int
    expected_unstable: float | None
    chance_of_halting: float | None
    unstable_range: tuple[float, float] | None = None
    epsilon: float = 0.0
    delta: float = 0.0

    @property
    def is_certain(self) -> bool:
        """Will every row be answered, whatever the votes say?"""
        return self.certain == self.requested

    @property
    def is_refused(self) -> bool:
        """Will some row stay unanswered, whatever the votes say?"""
        short = self.left.queries is not None and self.left.queries < self.new
        return not self.is_certain and (short or self.left.unstable == 0)

    def __str__(self) -> str:
        kinds = [counted(self.new, "new query", "new queries")]
        kinds += [f"{self.repeated:,} repeated, from the log at no cost"] if self.repeated else []
        kinds += [f"{self.published:,} for the published classifier, at no cost"] if self.published else []
        lines = [
            f"{counted(self.requested, 'row')}: {'; '.join(kinds)}.",
            "The batch adds nothing to ε and δ: all of it is charged once, at fit.",
            (f"Left: {self.left}. " if self.new else "") + self._certainty(),
        ]
        if self.expected_unstable is not None and self.new and not self.is_refused:
            lines.append(
                "The planner's model, an estimate and not a bound, expects about "
                f"{self.expected_unstable:,.1f} unstable answers{self._range()}{self._halting()}."
            )
        if self.beyond_plan:
            lines.append(f"Beyond the number for which accuracy was planned: {self.beyond_plan:,} of the new queries.")
        return "\n".join(lines)

    def _certainty(self) -> str:
        if self.is_certain:
            return "Every row will be answered."
        surely = "no row" if not self.certain else "the first " + counted(self.certain, "row").removeprefix("1 ")
        if self.is_refused:
            return f"The release will halt before the last row; certain to be answered: {surely}."
        return f"An unstable answer takes one of them, a stable one none; certain to be answered: {surely}."

    def _range(self) -> str:
        if self.unstable_range is None:
            return ""
        least, most = self.unstable_range
        return f" ({least:,.1f} to {most:,.1f}, as far off as it was on real tables)"

    def _halting(self) -> str:
        if self.is_certain or self.chance_of_halting is None:
            return ""
        chance = self.chance_of_halting
        shown = "below 0.001" if chance < 0.001 else "above 0.999" if chance > 0.999 else f"of {chance:.2g}"
        return f", and a chance {shown} that the release halts before the last row"


@dataclass(frozen=True)
class VotePlan:
    """prepare + vote: sub-sample n' of n, relabel at η (None: no relabelling), partition, k teachers, sparse vector.

    `copies`: the paper re-samples S'' with replacement before the partition, and its guarantee allows for that many
    copies of one record. None: S'' itself is partitioned. `public`: how many public points the relabelling's class is
    made of; None: of the private points, or declared.
    """

    records: int
    subsample: int
    teachers: int
    inverse_temperature: float | None
    sparse_vector: SparseVector
    copies: int | None = None
    public: int | None = None

    @property
    def sampling_rate(self) -> float:
        return self.subsample / self.records

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.subsample // self.teachers


@dataclass(frozen=True)
class NoisyMaxPlan:
    """vote, the peers' way: partition the n records into k parts, answer m = `queries` queries by noisy majorities."""

    records: int
    teachers: int
    queries: int
    noise: NoisyMax

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.records // self.teachers


@dataclass(frozen=True)
class PublishPlan:
    """publish: the exponential mechanism at η = `inverse_temperature` over a class fixed by public points.

    `after_queries` = m_o votes come first; their queries are the public points. 0: public points are at hand.
    """

    inverse_temperature: float
    after_queries: int = 0


@dataclass(frozen=True)
class LinearPlan:
    """A linear classifier by noisy gradient descent on n = `records` records and B = `predicates` public predicates.

    T = `steps` sums of one integer vector a record, each vector of norm at most M = `bound`, each sum with discrete
    Gaussian noise of σ = `scale` on its coordinates. `momentum` and `step_size` say how a noisy sum moves the weights;
    they cost nothing. With more than two `classes` there is one block of weights for each.
    """

    records: int
    predicates: int
    steps: int
    bound: int
    scale: float
    momentum: float
    step_size: float
    classes: int = 2

    def __post_init__(self) -> None:
        for name, least in (("records", 1), ("predicates", 1), ("steps", 1), ("bound", 1), ("classes", 2)):
            check_integer(name, getattr(self, name), least=least)
        for name, most in (("records", MOST_LINEAR_RECORDS), ("bound", LARGEST_LINEAR_TERM)):
            if getattr(self, name) > most:
                raise ParameterError(name, f"at most {most:,}", getattr(self, name))
        check_positive("scale", self.scale)
        check_positive("step_size", self.step_size)
        check_finite("momentum", self.momentum)
        if not 0 <= self.momentum < 1:
            raise ParameterError("momentum", "a number in [0, 1)", self.momentum)
        keep_plain(
            self,
            floats=("scale", "momentum", "step_size"),
            integers=("records", "predicates", "steps", "bound", "classes"),
        )
        check_scale("scale", self.scale)

    @property
    def sensitivity(self) -> int:
        """2M: one replaced record takes one vector out of a sum and puts another one in."""
        return 2 * self.bound

    @property
    def blocks(self) -> int:
        """Linear functions to learn: one for two classes, else one a class against the rest."""
        return 1 if self.classes == 2 else self.classes

    @property
    def draws(self) -> int:
        """Noise drawn in the whole run: T·(B + 1) for each block."""
        return self.steps * (self.predicates + 1) * self.blocks

    @property
    def event(self) -> DiscreteGaussianEvent:
        """What one of the T noisy sums is to an accountant: all of them have zCDP T/(2·multiplier²)."""
        return DiscreteGaussianEvent(self.scale / self.sensitivity)


@dataclass(frozen=True)
class CountedPlan:
    """A noisy count of the labels for ε = `count`; if the rarer one has `fewest` records, `linear`, else a tree.

    The tree has `depth` and is drawn at η = `tree`. The step size of `linear` is for labels that are equally common; it
    shrinks with the root of their spread, as the noisy count has it.
    """

    count: float
    fewest: int
    tree: float
    depth: int
    linear: LinearPlan

    def __post_init__(self) -> None:
        check_positive("count", self.count)
        check_integer("fewest", self.fewest, least=1)
        _check_draws(self.linear.records, self.depth, self.tree)
        keep_plain(self, floats=("count", "tree"), integers=("fewest", "depth"))


@dataclass(frozen=True)
class ComparedPlan:
    """A tree of `depth` at η = `tree`, a `linear` classifier, and a choice between the two at η = `comparison`."""

    tree: float
    depth: int
    linear: LinearPlan
    comparison: float

    def __post_init__(self) -> None:
        _check_draws(self.linear.records, self.depth, self.tree, self.comparison)
        keep_plain(self, floats=("tree", "comparison"), integers=("depth",))


def _check_draws(records: int, depth: int, *inverse_temperatures: float) -> None:
    """A part of a run that cannot be drawn must be found out before another part is."""
    check_integer("depth", depth, least=1)
    for eta in inverse_temperatures:
        check_inverse_temperature(eta)
        if eta * records > LARGEST_EXPONENT:
            raise ParameterError("inverse_temperature", "at most 2**52 / n", eta)


@dataclass(frozen=True)
class BoostingPlan:
    """boost: J = `rounds` trees of `depth`, each drawn at η = `inverse_temperature` and each with the weight `step`.

    For n = `records` rows and B = `predicates` public predicates. A round offers `offered` of them, public choices made
    by `seed` alone. `delta` is what the guarantee of all rounds together may use.
    """

    records: int
    predicates: int
    offered: int
    depth: int
    rounds: int
    step: float
    inverse_temperature: float
    delta: float
    seed: int = 0


@dataclass(frozen=True)
class Prediction:
    """What the planner expects, from public numbers: a model's estimate, not a bound and not a measurement.

    `unanswered_share` of the planned queries get no label, those after a halt included; `unstable_share` is the chance
    that one query is unstable while the release goes on. The ranges say how far off the model was on real tables
    (docs/planning.md); None: nobody measured.
    """

    unanswered_share: float
    excess_error: float
    unstable_share: float
    unanswered_range: tuple[float, float] | None = None
    unstable_range: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What was decided before the private data was touched. `prediction` is None in paper mode and for SSPP.

    `proved` bounds the excess error but for β (None: nothing is proved at this n), and `certified` says that the bound
    is at most α. Privacy is proved always.
    """

    mode: Mode
    epsilon: float
    delta: float
    queries: int
    alpha: float
    beta: float
    guarantee: Guarantee
    prediction: Prediction | None = None
    proved: float | None = None
    certified: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "certified", self.proved is not None and self.proved <= self.alpha)

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        """(records, how many) of the draws and teachers that the plan needs on a table of n = `records`."""
        return ()


@dataclass(frozen=True, kw_only=True)
class VotingPlan(Plan):
    """SubSamp and AgPrivCl: prepare and vote."""

    vote: VotePlan

    @property
    def votes(self) -> int:
        """How many of the planned queries are put to the vote: all of them, unless a classifier is published."""
        return self.queries

    @property
    def expected_answers(self) -> float | None:
        """How many of these `votes` are expected to end in a label. With the same records, ε and δ it never falls as
        more queries are planned.
        """
        return None if self.prediction is None else self.votes * (1.0 - self.prediction.unanswered_share)

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        teachers = (-(-self.vote.subsample // self.vote.teachers), self.vote.teachers)
        relabelling = () if self.vote.inverse_temperature is None else ((self.vote.subsample, 1),)
        return (*super().work(records), teachers, *relabelling)


@dataclass(frozen=True, kw_only=True)
class NoisyVotingPlan(Plan):
    """The per-query noisy majority: vote, each answer paid for."""

    vote: NoisyMaxPlan

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        return (*super().work(records), (-(-self.vote.records // self.vote.teachers), self.vote.teachers))


@dataclass(frozen=True, kw_only=True)
class PublishingPlan(Plan):
    """SSPP: publish at once."""

    publish: PublishPlan

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        return (*super().work(records), (records, 1))


@dataclass(frozen=True, kw_only=True)
class LinearPublishingPlan(Plan):
    """Publish a linear classifier at once."""

    linear: LinearPlan


@dataclass(frozen=True, kw_only=True)
class BoostedPublishingPlan(Plan):
    """Publish boosted trees at once."""

    boosting: BoostingPlan


@dataclass(frozen=True, kw_only=True)
class CountedPublishingPlan(Plan):
    """Publish a tree or a linear classifier at once, by a private count of the rarer label."""

    counted: CountedPlan


@dataclass(frozen=True, kw_only=True)
class ComparedPublishingPlan(Plan):
    """Publish a tree or a linear classifier at once, by a private comparison."""

    compared: ComparedPlan


PublishedPlan = (
    PublishingPlan | LinearPublishingPlan | CountedPublishingPlan | ComparedPublishingPlan | BoostedPublishingPlan
)


@dataclass(frozen=True, kw_only=True)
class UniversalPlan(VotingPlan, PublishingPlan):
    """UnvPrivCl: prepare, vote, publish."""

    @property
    def votes(self) -> int:
        return self.publish.after_queries
