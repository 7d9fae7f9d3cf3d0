"""The k nearest records of a secret sample vote, and the noisy majority is said: Private-kNN (Zhu et al. 2020).

A new sample for every query, each record in it by a coin of its own. Proof: proofs/private_knn.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from functools import cache

import numpy as np

from pcqr.checks import check_integer, check_positive, keep_plain, non_reentrant
from pcqr.data.records import Records
from pcqr.data.records.arrays import Points
from pcqr.data.records.vectors import DenseVectors, Vectors
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.planner.request import Request
from pcqr.privacy.accounting.renyi import renyi_epsilon
from pcqr.privacy.composition import Stage
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import check_scale, discrete_gaussians
from pcqr.releases.knn.run import Floats, squared_distances
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.plan import QueryPlan

_LARGEST_ORDER = 256
_NUMERICAL = 1e-9
_LARGEST_LOGARITHM = 700.0
_MOST_EXACT = 16
_PAIRS = ((2, 2, 1), (2, 0, 0), (1, 1, 0))
"""(‖a‖², ‖b‖², ⟨a, b⟩) of the ways in which two records can move the votes."""


@dataclass(frozen=True)
class SampledStage(Stage):
    """Vote, the k nearest of a sample: m answers, each paid for.

    Parameters
    ----------
    records : int
        n.
    classes : int
        C ≥ 2.
    neighbours : int
        k, how many of the sample vote.
    queries : int
        m, the answers that are paid for.
    chosen, out_of : int
        Each record is in a sample with the chance q = `chosen`/`out_of` < 1.
    scale : float
        σ of the noise on the votes for each label.

    Attributes
    ----------
    rate : float
        q.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.knn.sampled import SampledStage
    >>> SampledStage(58_000, 10, 140, 1_000, chosen=1, out_of=10, scale=17.0).rate
    0.1
    """

    records: int
    classes: int
    neighbours: int
    queries: int
    chosen: int
    out_of: int
    scale: float

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_integer("classes", self.classes, least=2)
        check_integer("neighbours", self.neighbours, least=1, most=self.records)
        check_integer("queries", self.queries, least=1)
        check_integer("out_of", self.out_of, least=2, most=1 << 32)
        check_integer("chosen", self.chosen, least=1, most=self.out_of - 1)
        check_positive("scale", self.scale)
        integers = ("records", "classes", "neighbours", "queries", "chosen", "out_of")
        keep_plain(self, floats=("scale",), integers=integers)
        check_scale("scale", self.scale)

    @property
    def rate(self) -> float:
        """q."""
        return self.chosen / self.out_of


class SampledVotes:
    """All records, and how many answers are left: decides one query at a time. Holds only secrets."""

    is_under_way = False

    def __init__(self, vectors: DenseVectors, records: Records, stage: SampledStage, entropy: Entropy) -> None:
        self._map, self._stage, self._entropy = vectors, stage, entropy
        self._records: Vectors = np.empty((records.size, vectors.size), dtype=np.int16)
        self._labels = np.empty(records.size, dtype=np.int8)
        self._decisions_remaining = stage.queries
        start = 0
        for X, y in records.blocks(records.point_rows):
            rows = slice(start, start + y.size)
            self._records[rows], self._labels[rows] = vectors.vectors(X), y
            start += y.size

    @property
    def remaining(self) -> Usage:
        """Decisions that are paid for and not yet begun. No answer is ever ⊥."""
        return Usage(self._decisions_remaining, None)

    @remaining.setter
    def remaining(self, remaining: Usage) -> None:
        self._decisions_remaining = remaining.queries or 0

    def counts(self, X: Points) -> Queries:
        """The queries as vectors: who votes on them is up to coins."""
        return Queries(self._map.vectors(X).astype(np.float64), self._stage.classes)

    @non_reentrant
    def decide(self, query: Floats) -> int:
        """The label with the most noisy votes: all that may be shown. RuntimeError after m decisions."""
        stage = self._stage
        if self._decisions_remaining <= 0:
            raise RuntimeError("All the answers that were paid for have been given.")
        self._decisions_remaining -= 1
        sample = np.flatnonzero(self._entropy.below(stage.out_of, stage.records) < stage.chosen)
        squares = squared_distances(self._records[sample].astype(np.float64), query[None])[:, 0]
        nearest = sample[np.argsort(squares, kind="stable")[: stage.neighbours]]
        votes = np.bincount(self._labels[nearest], minlength=stage.classes).astype(np.int64)
        noisy = votes + discrete_gaussians(stage.scale, stage.classes, self._entropy)
        best = 0
        for label in range(1, stage.classes):
            if noisy[label] > noisy[best]:
                best = label
        return best


@dataclass(frozen=True, eq=False)
class Queries:
    """Points as vectors. `shape` is that of the votes on them."""

    vectors: Floats
    labels: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.vectors.shape[0], self.labels

    def __iter__(self) -> Iterator[Floats]:
        return iter(self.vectors)


def sampled_votes(vectors: DenseVectors, records: Records, stage: SampledStage, entropy: Entropy) -> SampledVotes:
    """The records as vectors. Nothing is drawn yet."""
    for name, there, planned in (
        ("records", records.size, stage.records),
        ("labels", records.labels, stage.classes),
    ):
        if there != planned:
            raise ParameterError("plan", f"a plan for {there} {name}", f"one for {planned}")
    return SampledVotes(vectors, records, stage, entropy)


def sampled_guarantee(stage: SampledStage, delta: float) -> Guarantee:
    """m answers together, adaptively chosen queries included, at δ = `delta`: Rényi divergences of whole orders."""

    def total(order: float) -> float:
        if order > _LARGEST_ORDER:
            return stage.queries * _unsampled(stage.scale, order)
        return stage.queries * divergence_bound(stage.rate, stage.scale, math.ceil(order))

    steps = (
        f"{stage.queries} noisy majorities of the {stage.neighbours} nearest in a new secret sample of a share "
        f"q = {stage.rate:.4g}, by Rényi divergences",
    )
    return Guarantee(renyi_epsilon(total, delta), delta, proof="private_knn", steps=steps)


@cache
def divergence_bound(rate: float, scale: float, order: int) -> float:
    """D_α of one answer, α = `order` ≥ 2: the smaller of ln(H)/(α − 1) and α/σ² (proofs/private_knn.md)."""
    gain, unsampled = 1.0 / scale / scale, _unsampled(scale, order)
    if gain * order * order > _LARGEST_LOGARITHM:
        return unsampled
    stay, come = math.log1p(-rate), math.log(rate)
    moments = log_moments(scale)
    logarithms = []
    for j in range(2, order + 1):
        choices = math.lgamma(order + 1) - math.lgamma(j + 1) - math.lgamma(order - j + 1)
        moment = moments[j] if j in moments else math.log(2.0) + j * (j - 1) * gain
        logarithms.append(choices + j * come - (j - 1) * stay + moment)
    largest = max(logarithms)
    more = largest + math.log(math.fsum(math.exp(each - largest) for each in logarithms))
    logarithm = math.log1p(math.exp(more)) if more < _LARGEST_LOGARITHM else more + _NUMERICAL
    return min(unsampled, logarithm * (1.0 + _NUMERICAL) / (order - 1))


def _unsampled(scale: float, order: float) -> float:
    """α/σ²: D_α if everybody were in the sample, and a bound whatever the rate is."""
    return order / scale / scale * (1.0 + _NUMERICAL)


@cache
def log_moments(scale: float) -> dict[int, float]:
    """ln of the largest E|r_a − r_b|^j for j = 2, …, 16: exact for even j, for odd ones by Cauchy–Schwarz.

    The sums alternate and cancel: they need their 200 digits.
    """
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 200, -999_999, 999_999
        factor = (Decimal(1) / (2 * Decimal(scale) * Decimal(scale))).exp()
        powers = [Decimal(1)]
        while len(powers) <= 2 * _MOST_EXACT * _MOST_EXACT:
            powers.append(powers[-1] * factor)
        even = {}
        for j in range(2, _MOST_EXACT + 1, 2):
            sums = (
                sum((-1) ** i * math.comb(j, i) * powers[_exponent(pair, j - i, i)] for i in range(j + 1))
                for pair in _PAIRS
            )
            even[j] = float(max(sums).ln()) + _NUMERICAL
    return even | {j: (even[j - 1] + even[j + 1]) / 2.0 for j in range(3, _MOST_EXACT, 2)}


def _exponent(pair: tuple[int, int, int], i: int, j: int) -> int:
    """‖ia + jb‖² − i‖a‖² − j‖b‖² for a `pair` of (‖a‖², ‖b‖², ⟨a, b⟩): twice σ² times ln E[r_a^i·r_b^j]."""
    first, second, product = pair
    return first * i * (i - 1) + second * j * (j - 1) + 2 * product * i * j


# ---------------------------------------------------------------------------------------------------------------------
# Plans for the k nearest of a sample: noise from (ε, δ, m) for several rates, then the rate that looks farthest least.
#
# Votes are decided by k = 8σ neighbours: a lead of half of them is then about three deviations of the noise. They are
# the k/q nearest of all records, so the rate q is the one with the least σ/q. Only public numbers enter.


_OUT_OF = 1 << 16
_RATES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
_NEIGHBOURS = 8.0
_FEWEST = 10
_LEAST_SCALE, _LARGEST_SCALE = 0.5, 1e9
_PRECISION = 1e-4


@dataclass(frozen=True, kw_only=True)
class SampledPlan(QueryPlan):
    """The plan of the k nearest of a sample, each answer paid for.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    vote : SampledStage
        The sample, the neighbours and the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import PrivateKNN
    >>> public = np.random.default_rng(0).normal(size=(500, 2))
    >>> plan = PrivateKNN(queries=100).plan(records=20_000, public=public)
    >>> type(plan).__name__, plan.queries, plan.remaining.queries
    ('SampledPlan', 100, 100)
    """

    vote: SampledStage

    @property
    def remaining(self) -> Usage:
        """What is left before the first query."""
        return Usage(self.vote.queries, None)

    @property
    def stages(self) -> Stage:
        return self.vote


def plan_sampled(request: Request, neighbours: int | None = None, rate: float | None = None) -> SampledPlan:
    """The plan for m = `request.queries` answers, with k and q as they are given or else chosen."""
    if neighbours is not None:
        check_integer("neighbours", neighbours, least=1, most=request.records)
    if rate is not None and not 1.0 / _OUT_OF <= rate < 1.0:
        raise ParameterError("rate", "a number from 2**-16 to below 1", rate)
    labels = request.hypotheses
    stages = []
    for share in _RATES if rate is None else (rate,):
        chosen = min(_OUT_OF - 1, max(1, round(share * _OUT_OF)))
        classes = labels.labels if isinstance(labels, HypothesisClass) else 2
        stage = SampledStage(request.records, classes, 1, request.queries, chosen, _OUT_OF, _LARGEST_SCALE)
        scale = _least_scale(stage, request)
        k = neighbours or max(_FEWEST, math.ceil(_NEIGHBOURS * scale))
        if k <= request.records * stage.rate:
            stages.append(replace(stage, scale=scale, neighbours=k))
    if not stages:
        raise InfeasiblePlan(
            f"With n = {request.records:,} records the noise for m = {request.queries:,} queries drowns all votes.",
            "more records, a larger ε, fewer queries or fewer neighbours",
        )
    vote = min(stages, key=lambda stage: stage.neighbours / stage.rate)
    return SampledPlan(**request.promise(sampled_guarantee(vote, request.delta)), vote=vote)


def _least_scale(stage: SampledStage, request: Request) -> float:
    """The least σ, to within `_PRECISION`, with which (ε, δ) is kept; what is returned was itself found to be."""

    def is_kept(scale: float) -> bool:
        stated = sampled_guarantee(replace(stage, scale=scale), request.delta)
        return stated.within(request.epsilon, request.delta)

    low, high = _LEAST_SCALE, _LARGEST_SCALE
    if is_kept(low):
        return low
    if not is_kept(high):
        raise InfeasiblePlan(
            f"No plan keeps to ε = {request.epsilon:g}, δ = {request.delta:g}.", "a larger ε or a larger δ"
        )
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if is_kept(middle) else (middle, high)
    return high
