"""The parameters of a published student of soft votes, and the whole plan."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcqr.checks import check_integer, check_positive, keep_plain
from pcqr.data.records.vectors import MOST_COORDINATES
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import MOST_LABELS
from pcqr.privacy.accounting import DiscreteGaussianEvent
from pcqr.privacy.composition import Context, Stage
from pcqr.privacy.guarantee import rounded_up
from pcqr.privacy.noise import check_scale
from pcqr.releases.protocol.answers import counted
from pcqr.releases.protocol.plan import Plan

MOST_POINTS = 2**20
"""M: the error of a sum over so many points is bounded (proofs/parties.md)."""
LARGEST_PENALTY = 2.0**60
_LARGEST_WHOLE = 2.0**60
_SLIP = 2.0**-50


@dataclass(frozen=True)
class PartiesStage(Stage):
    """Vote on M public points, learn from the shares of the votes, add noise to the weights, publish.

    Parameters
    ----------
    records : int
        n.
    parties : int
        P ≤ n, the teachers, each on records of its own.
    points : int
        M, the public points that they vote on.
    coordinates : int
        d, the length of a point's public vector φ, ‖φ‖ ≤ 1.
    penalty : float
        λ: (λ/2)·‖w‖² is added to the mean loss of a point.
    curvature : float
        g, at least the largest eigenvalue of the mean of φφᵀ over the points.
    steps : int
        T, the steps of gradient descent.
    scale : float
        σ of the discrete Gaussian noise on each weight, in units of 1/`grid`.
    grid : int
        Into how many parts the weight 1 is divided, a power of two.
    labels : int, default 2
        C ≥ 2.

    Attributes
    ----------
    sensitivity : float
        S, by which one replaced record moves all weights together at most, in units of 1/`grid` (proofs/parties.md).
    release : DiscreteGaussianEvent
        What the release is to an accountant.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.multiparty.plan import PartiesStage
    >>> stage = PartiesStage(
    ...     records=30_000, parties=300, points=2_000, coordinates=100, penalty=0.01, curvature=0.25, steps=200,
    ...     scale=2.0**20, grid=2**20,
    ... )
    >>> round(stage.sensitivity / stage.grid, 3), round(stage.release.noise_multiplier, 3)  # √g/(λP) = 1/6
    (0.167, 6.0)
    """

    records: int
    parties: int
    points: int
    coordinates: int
    penalty: float
    curvature: float
    steps: int
    scale: float
    grid: int
    labels: int = 2

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_integer("parties", self.parties, least=1, most=self.records)
        check_integer("points", self.points, least=1, most=MOST_POINTS)
        check_integer("coordinates", self.coordinates, least=1, most=MOST_COORDINATES)
        check_integer("steps", self.steps, least=1)
        check_integer("grid", self.grid, least=1)
        check_integer("labels", self.labels, least=2, most=MOST_LABELS)
        for name in ("penalty", "curvature", "scale"):
            check_positive(name, getattr(self, name))
        keep_plain(
            self,
            floats=("penalty", "curvature", "scale"),
            integers=("records", "parties", "points", "coordinates", "steps", "grid", "labels"),
        )
        if self.grid & (self.grid - 1):
            raise ParameterError("grid", "a power of two", self.grid)
        if self.curvature > 1.0 + 2.0**-20:
            raise ParameterError("curvature", "at most 1, as vectors of length 1 have it", self.curvature)
        if self.penalty > LARGEST_PENALTY:
            raise ParameterError("penalty", "at most 2⁶⁰: with more all weights are 0 but for the noise", self.penalty)
        if self.slip > 0.5 or 2.0 * self.grid / self.penalty > _LARGEST_WHOLE:
            raise ParameterError("penalty", "so large that all weights can be computed on this grid", self.penalty)
        check_scale("scale", self.scale)

    @property
    def blocks(self) -> int:
        """K, the functions to learn: one for two labels, else one a label."""
        return 1 if self.labels == 2 else self.labels

    @property
    def numbers(self) -> int:
        """d·K, the weights: as many draws of noise."""
        return self.coordinates * self.blocks

    @property
    def smoothness(self) -> float:
        """L, no less than the curvature of the whole objective anywhere: steps of 1/L contract."""
        steepest = 0.25 if self.blocks == 1 else 0.5
        return rounded_up(self.penalty + steepest * self.curvature)

    @property
    def slip(self) -> float:
        """η: no gradient is computed with a larger error."""
        return _SLIP * (self.points + (self.coordinates + 5.0) / self.penalty + 2.0 * self.blocks + 30.0)

    @property
    def sensitivity(self) -> float:
        """S = grid·(√(k·g)/(λP) + 2η/λ) + √(dK), k = 1 for two labels and 2 for more."""
        moved = math.sqrt((1.0 if self.blocks == 1 else 2.0) * self.curvature) / self.parties
        return rounded_up(self.grid * (moved + 2.0 * self.slip) / self.penalty + math.sqrt(self.numbers))

    @property
    def release(self) -> DiscreteGaussianEvent:
        """What the release is to an accountant."""
        return DiscreteGaussianEvent(self.scale / self.sensitivity)

    def event(self, context: Context) -> DiscreteGaussianEvent:  # noqa: ARG002
        return self.release

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        return ((-(-self.records // self.parties), self.parties),)

    def words(self, context: Context) -> str:  # noqa: ARG002
        votes = f"{counted(self.parties, 'party', 'parties')} on {counted(self.points, 'public row')}"
        made = f"linear classifiers over {self.coordinates} dense coordinates"
        return f"{made}, by the soft votes of {votes}, with noise on the weights"


@dataclass(frozen=True, kw_only=True)
class PartiesPlan(Plan):
    """The plan of a published student of soft votes.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        As for every plan.
    student : PartiesStage
        The teachers, the student and its noise.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import MultipartyClassifier
    >>> public = np.random.default_rng(0).normal(size=(200, 2))
    >>> plan = MultipartyClassifier(parties=250).plan(records=5_000, public=public)
    >>> type(plan).__name__, plan.student.parties, plan.student.points
    ('PartiesPlan', 250, 200)
    """

    student: PartiesStage

    @property
    def stages(self) -> Stage:
        return self.student
