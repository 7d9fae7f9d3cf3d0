"""The parameters of one stage of an algorithm: what is drawn, how often and with how much noise.

The algorithms trust them: each computes its own guarantee from its stages.
"""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.accounting import DiscreteGaussianEvent
from pcqr.checks import check_finite, check_integer, check_inverse_temperature, check_positive, keep_plain
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import LARGEST_EXPONENT
from pcqr.mechanisms.noisy_max import NoisyMax
from pcqr.mechanisms.sparse_vector import SparseVector
from pcqr.noise import check_scale

MOST_LINEAR_RECORDS, LARGEST_LINEAR_TERM = 2**31 - 1, 2**24
"""n and M of a `DescentStage`: sums of n integers of at most M stay far within 64 bits. Trees count no more records."""


@dataclass(frozen=True)
class VoteStage:
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
class NoisyMaxStage:
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
class DrawStage:
    """publish: the exponential mechanism at η = `inverse_temperature` over a class fixed by public points.

    `after_queries` = m_o votes come first; their queries are the public points. 0: public points are at hand.
    """

    inverse_temperature: float
    after_queries: int = 0


@dataclass(frozen=True)
class DescentStage:
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
class BoostingStage:
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
class CountedStage:
    """A noisy count of the labels for ε = `count`; if the rarer one has `fewest` records, `linear`, else a tree.

    The tree has `depth` and is drawn at η = `tree`. The step size of `linear` is for labels that are equally common; it
    shrinks with the root of their spread, as the noisy count has it.
    """

    count: float
    fewest: int
    tree: float
    depth: int
    linear: DescentStage

    def __post_init__(self) -> None:
        check_positive("count", self.count)
        check_integer("fewest", self.fewest, least=1)
        _check_draws(self.linear.records, self.depth, self.tree)
        keep_plain(self, floats=("count", "tree"), integers=("fewest", "depth"))


@dataclass(frozen=True)
class ComparedStage:
    """A tree of `depth` at η = `tree`, a `linear` classifier, and a choice between the two at η = `comparison`."""

    tree: float
    depth: int
    linear: DescentStage
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
