"""The stages of classifiers that are published at once: a descent, rounds of boosting, a choice between two.

They check themselves as all stages do (`pcqr.plan.stages`).
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
    keep_plain,
)
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import LARGEST_EXPONENT
from pcqr.hypotheses.trees.weighted import MOST_LOG_TREES
from pcqr.noise import check_scale
from pcqr.plan.head import HeadStage

MOST_LINEAR_RECORDS, LARGEST_LINEAR_TERM = 2**31 - 1, 2**24
"""n and M of a `DescentStage`: sums of n integers of at most M stay far within 64 bits. Trees count no more records."""


@dataclass(frozen=True)
class DescentStage(Document):
    """A linear classifier by noisy gradient descent: T sums of one integer vector a record.

    Parameters
    ----------
    records : int
        n.
    predicates : int
        B, the public predicates.
    steps : int
        T, the noisy sums.
    bound : int
        M, the largest norm of one record's vector.
    scale : float
        σ of the discrete Gaussian noise on each coordinate of each sum.
    momentum, step_size : float
        How a noisy sum moves the weights. They cost nothing.
    classes : int, default 2
        C. With more than two there is one block of weights for each.

    Attributes
    ----------
    sensitivity : int
        2M, by which one replaced record moves a sum at most.
    blocks : int
        Linear functions to learn: 1 for two classes, else C.
    draws : int
        Noise drawn in the whole run, T·(B + 1) for each block.
    event : DiscreteGaussianEvent
        What one of the sums is to an accountant.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.plan import DescentStage
    >>> stage = DescentStage(
    ...     records=10_000, predicates=40, steps=50, bound=2**20, scale=2.0**26, momentum=0.9, step_size=0.001
    ... )
    >>> stage.sensitivity == 2 * stage.bound, stage.draws
    (True, 2050)
    >>> stage.event
    DiscreteGaussianEvent(noise_multiplier=32.0)
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
    """Boost: J trees, each an exact draw from records weighted by the trees before.

    Parameters
    ----------
    records : int
        n.
    predicates : int
        B, the public predicates.
    offered : int
        B' ≤ B, how many of them a round offers: public choices, made by `seed` alone.
    depth : int
        D of each tree.
    rounds : int
        J, the number of trees.
    step : float
        a, the weight of each tree.
    inverse_temperature : float
        η of each draw.
    delta : float
        δ that the guarantee of all rounds together may use.
    seed : int, default 0
        A public number.

    Raises
    ------
    ParameterError
        When a number is outside its range, or a round has more trees than float64 can weigh.

    Examples
    --------
    >>> from pcqr.algorithms.boosting import boosting_guarantee
    >>> from pcqr.plan import BoostingStage
    >>> stage = BoostingStage(
    ...     records=50_000, predicates=40, offered=9, depth=2, rounds=20, step=0.3, inverse_temperature=0.02, delta=1e-6
    ... )
    >>> round(boosting_guarantee(stage).epsilon, 3)
    0.382
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
    """A noisy count of the labels; then a head if the rarer one has enough records, else a tree. For two classes.

    Parameters
    ----------
    count : float
        ε of the count.
    fewest : int
        The records of the rarer label, by the noisy count, from which on there is a head.
    tree : float
        η of the tree's draw.
    depth : int
        D of the tree.
    head : HeadStage
        The descent.

    Raises
    ------
    ParameterError
        When a number is outside its range, or the head has more than two classes.

    Examples
    --------
    >>> from pcqr.plan import CountedStage, HeadStage
    >>> head = HeadStage(10_000, 40, 0, 0, 256, 50, 2**20, 2.0**27, 0.9, 0.001)
    >>> CountedStage(count=0.02, fewest=560, tree=0.49, depth=3, head=head).head.dense
    40
    """

    count: float
    fewest: int
    tree: float
    depth: int
    head: HeadStage

    def __post_init__(self) -> None:
        if not isinstance(self.head, HeadStage) or self.head.classes != 2:
            raise ParameterError("head", "a HeadStage for 2 classes", self.head)
        check_positive("count", self.count)
        check_integer("fewest", self.fewest, least=1)
        _check_draws(self.head.records, self.depth, self.tree)
        keep_plain(self, floats=("count", "tree"), integers=("fewest", "depth"))


@dataclass(frozen=True)
class ComparedStage(Document):
    """A tree, a linear classifier, and a private choice of the better one.

    Parameters
    ----------
    tree : float
        η of the tree's draw.
    depth : int
        D of the tree.
    linear : DescentStage
        The descent.
    comparison : float
        η of the choice between the two.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.plan import ComparedStage, DescentStage
    >>> linear = DescentStage(
    ...     records=10_000, predicates=40, steps=50, bound=2**20, scale=2.0**27, momentum=0.9, step_size=0.001
    ... )
    >>> ComparedStage(tree=0.05, depth=3, linear=linear, comparison=0.025).comparison
    0.025
    """

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
    if float(inverse_temperature) * float(records) > LARGEST_EXPONENT:  # NumPy's integers would overflow
        raise ParameterError("inverse_temperature", "at most 2**52 / n", inverse_temperature)
