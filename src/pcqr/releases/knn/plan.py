"""The parameters of a run of neighbours with budgets of their own, and the whole plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pcqr.checks import check_integer, check_positive, check_probability, keep_plain
from pcqr.errors import ParameterError
from pcqr.privacy.composition import Stage
from pcqr.privacy.noise import check_scale
from pcqr.privacy.unit import PRESENCE, RECORD, Unit, check_proved
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.plan import QueryPlan

MOST_DECISIONS = 1 << 20
_LARGEST_SUM = 1 << 52


@dataclass(frozen=True)
class IndividualStage(Stage):
    """Vote, neighbour by neighbour: every record pays for what it adds, from a budget of its own.

    Numbers of votes and noise are on an integer grid, on which a record at the query weighs W. With c the noisy number
    of neighbours, W for each, the votes have noise of σ₂ = `vote_scale`·√(W·c'), c' the largest rung ≤ c of the ladder
    `least`·2^{j/2}, j = 0, 1, ….

    Parameters
    ----------
    records : int
        n.
    classes : int
        C ≥ 2.
    public : int
        The number of public rows.
    reach : int
        Neighbours are all records at least as near as the `reach`-th nearest public row.
    budget : float
        b: the squared shifts, (what it adds/σ)², that one record may pay in all.
    count_scale : float
        σ₁, of the noise on W times the number of neighbours.
    vote_scale : float
        s in σ₂.
    least : int
        ⊥ where the noisy W·(number of neighbours) is below it.
    unanswered : int
        How often ⊥ may be said: then it halts.
    limit : int
        The most decisions, at most 2²⁰.
    unit : Unit, default RECORD
        Whom the guarantee protects: RECORD, or PRESENCE, the adjacency of the papers, which is weaker.
    least_weight : float, default 0.2
        τ, what a record at the edge weighs, against one at the query.
    grid : int, default 2**26
        W.

    Attributes
    ----------
    shift : float
        μ of the one Gaussian release that all answers together cost no more than.
    ladder : tuple of int
        What the noisy number of neighbours is rounded down to. The last rung is not far above n·W.
    least_scale : float
        The smallest σ of any noise.
    draws : int
        The most draws of noise.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.knn.plan import IndividualStage
    >>> stage = IndividualStage(
    ...     records=1_000, classes=2, public=100, reach=4, budget=0.02, count_scale=2e9, vote_scale=0.5, least=10**9,
    ...     unanswered=50, limit=1_000,
    ... )
    >>> round(stage.shift, 6), stage.draws
    (0.2, 3000)
    """

    records: int
    classes: int
    public: int
    reach: int
    budget: float
    count_scale: float
    vote_scale: float
    least: int
    unanswered: int
    limit: int
    unit: Unit = RECORD
    least_weight: float = 0.2
    grid: int = 1 << 26

    def __post_init__(self) -> None:
        check_integer("grid", self.grid, least=1, most=_LARGEST_SUM)
        check_integer("records", self.records, least=1, most=_LARGEST_SUM // self.grid)
        check_integer("classes", self.classes, least=2)
        check_integer("public", self.public, least=1)
        check_integer("reach", self.reach, least=1, most=self.public)
        for name in ("budget", "count_scale", "vote_scale"):
            check_positive(name, getattr(self, name))
        check_integer("least", self.least, least=1, most=_LARGEST_SUM)
        check_integer("unanswered", self.unanswered, least=1)
        check_integer("limit", self.limit, least=1, most=MOST_DECISIONS)
        check_proved(self.unit, PRESENCE)
        if self.least_weight != 1:
            check_probability("least_weight", self.least_weight)
        integers = ("records", "classes", "public", "reach", "least", "unanswered", "limit", "grid")
        keep_plain(self, floats=("budget", "count_scale", "vote_scale", "least_weight"), integers=integers)
        check_scale("count_scale", self.count_scale)
        for rung in (0, len(self.ladder) - 1):
            check_scale("vote_scale", self.noise_at(rung))
        if not math.isfinite(self.count_cost):
            raise ParameterError("count_scale", "a number that is not tiny", self.count_scale)

    @property
    def count_cost(self) -> float:
        """κ: what being counted once costs a record."""
        share = self.grid / self.count_scale
        return share * share

    @cached_property
    def ladder(self) -> tuple[int, ...]:
        """The rungs, from `least` on: rounded up, so that they are whole."""
        reached = 2.0 * math.log2(max(1.0, self.records * self.grid / self.least))
        return tuple(math.ceil(self.least * 2.0 ** (step / 2.0)) for step in range(math.ceil(reached) + 1))

    def noise_at(self, rung: int) -> float:
        """σ₂ on this rung of the ladder. It grows from rung to rung."""
        return self.vote_scale * math.sqrt(float(self.grid * self.ladder[rung]))

    @property
    def shift(self) -> float:
        """μ = √b where a record is removed, √(2b) where it is replaced."""
        return math.sqrt((2.0 if self.unit == RECORD else 1.0) * self.budget)

    @property
    def least_scale(self) -> float:
        """The smallest σ of any noise."""
        return min(self.count_scale, self.noise_at(0))

    @property
    def draws(self) -> int:
        """One for the number of neighbours and one for each label, in each decision."""
        return (self.classes + 1) * self.limit


@dataclass(frozen=True, kw_only=True)
class IndividualPlan(QueryPlan):
    """The plan of neighbours with budgets of their own.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries. The guarantee may be about PRESENCE.
    vote : IndividualStage
        Who is a neighbour, the noise, and a record's budget.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import IndividualKNN
    >>> public = np.random.default_rng(0).normal(size=(500, 2))
    >>> plan = IndividualKNN(queries=100).plan(records=20_000, public=public)
    >>> type(plan).__name__, plan.queries, plan.remaining.unstable
    ('IndividualPlan', 100, 100)
    """

    vote: IndividualStage
    units: ClassVar[tuple[Unit, ...]] = (PRESENCE,)

    @property
    def remaining(self) -> Usage:
        """What is left before the first query."""
        return Usage(self.vote.limit, self.vote.unanswered)

    @property
    def stages(self) -> Stage:
        return self.vote
