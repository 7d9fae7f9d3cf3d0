"""The parameters of one stage of an algorithm: what is drawn, how often and with how much noise.

A stage is frozen and checks itself when it is made, so that whoever holds one holds numbers that mean something. The
algorithms trust it: each computes its own guarantee from its stages. An inverse temperature η may be 0: the draw then
does not look at the records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcqr.accounting import DiscreteGaussianEvent
from pcqr.checks import (
    check_delta,
    check_finite,
    check_integer,
    check_inverse_temperature,
    check_positive,
    check_teachers,
    keep_plain,
)
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import LARGEST_EXPONENT
from pcqr.hypotheses.trees.weighted import MOST_LOG_TREES
from pcqr.mechanisms.sparse_vector import SparseVector
from pcqr.noise import check_scale

MOST_LINEAR_RECORDS, LARGEST_LINEAR_TERM = 2**31 - 1, 2**24
"""n and M of a `DescentStage`: sums of n integers of at most M stay far within 64 bits. Trees count no more records."""


@dataclass(frozen=True)
class VoteStage(Document):
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
    def sampling_rate(self) -> float:
        return self.subsample / self.records

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.subsample // self.teachers


@dataclass(frozen=True)
class DrawStage(Document):
    """publish: the exponential mechanism at η = `inverse_temperature` over a class fixed by public points.

    `after_queries` = m_o votes come first; their queries are the public points. 0: public points are at hand.
    """

    inverse_temperature: float
    after_queries: int = 0

    def __post_init__(self) -> None:
        check_inverse_temperature(self.inverse_temperature)
        check_integer("after_queries", self.after_queries, least=0)
        keep_plain(self, floats=("inverse_temperature",), integers=("after_queries",))


@dataclass(frozen=True)
class DescentStage(Document):
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
        check_integer("records", self.records, least=1, most=MOST_LINEAR_RECORDS)
        check_integer("predicates", self.predicates, least=1)
        check_integer("steps", self.steps, least=1)
        check_integer("bound", self.bound, least=1, most=LARGEST_LINEAR_TERM)
        check_integer("classes", self.classes, least=2)
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
class BoostingStage(Document):
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

    def __post_init__(self) -> None:
        for name in ("records", "predicates", "depth", "rounds"):
            check_integer(name, getattr(self, name), least=1)
        check_integer("offered", self.offered, least=1, most=self.predicates)
        check_integer("seed", self.seed, least=0)
        check_positive("step", self.step)
        check_inverse_temperature(self.inverse_temperature)
        if self.delta != 0:
            check_delta(self.delta)
        leaves = 2.0 ** min(self.depth, 64)  # of a deeper tree there are too many in any case
        if (leaves - 1) * math.log(self.offered) + leaves * math.log(3.0) > MOST_LOG_TREES:
            raise ParameterError("depth", f"such that a round has at most e^{MOST_LOG_TREES:g} trees", self.depth)
        _check_exponent(self.inverse_temperature, self.records)
        keep_plain(
            self,
            floats=("step", "inverse_temperature", "delta"),
            integers=("records", "predicates", "offered", "depth", "rounds", "seed"),
        )


@dataclass(frozen=True)
class CountedStage(Document):
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
        _check_descent(self.linear)
        check_positive("count", self.count)
        check_integer("fewest", self.fewest, least=1)
        _check_draws(self.linear.records, self.depth, self.tree)
        keep_plain(self, floats=("count", "tree"), integers=("fewest", "depth"))


@dataclass(frozen=True)
class ComparedStage(Document):
    """A tree of `depth` at η = `tree`, a `linear` classifier, and a choice between the two at η = `comparison`."""

    tree: float
    depth: int
    linear: DescentStage
    comparison: float

    def __post_init__(self) -> None:
        _check_descent(self.linear)
        _check_draws(self.linear.records, self.depth, self.tree, self.comparison)
        keep_plain(self, floats=("tree", "comparison"), integers=("depth",))


def _check_descent(linear: object) -> None:
    if not isinstance(linear, DescentStage):
        raise ParameterError("linear", "a DescentStage", linear)


def _check_draws(records: int, depth: int, *inverse_temperatures: float) -> None:
    """A part of a run that cannot be drawn must be found out before another part is."""
    check_integer("depth", depth, least=1)
    for eta in inverse_temperatures:
        check_inverse_temperature(eta)
        _check_exponent(eta, records)


def _check_exponent(inverse_temperature: float, records: int) -> None:
    if inverse_temperature * records > LARGEST_EXPONENT:
        raise ParameterError("inverse_temperature", "at most 2**52 / n", inverse_temperature)
