"""The stages of the private linear classifier: noisy sums of one bounded integer vector a record, and a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from pcqr.accounting import NoisySumsEvent
from pcqr.checks import check_finite, check_integer, check_positive, check_probability, keep_plain
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import MOST_LABELS
from pcqr.noise import check_scale
from pcqr.plan.composition import Context, Stage
from pcqr.records.directions import MOST_COORDINATES
from pcqr.records.feature_map import WHOLE_SHARE
from pcqr.records.ferns import MOST_DEPTH, MOST_FERNS

MapName = Literal["plain", "some ferns", "mostly ferns", "dense"]
"""The public feature maps: predicates alone, with ferns for half of the norm, with ferns for nearly all, columns."""

MOST_RECORDS, LARGEST_TERM = 2**31 - 1, 2**24
"""n and M: sums of n integers of at most M stay far within 64 bits."""


def last_quarter(steps: int) -> int:
    """How many of so many `steps` a linear classifier is the mean of: the last quarter, rounded up."""
    return -(-steps // 4)


@dataclass(frozen=True)
class LinearStage(Stage):
    """The private linear classifier over a public feature map: T noisy sums of one integer vector a record.

    Parameters
    ----------
    records : int
        n.
    dense : int
        p, the coordinates of the dense part; 0 without one.
    ferns : int
        L, the number of ferns; 0 without any.
    depth : int
        d, the predicates of a fern, which has 2^d cells; 0 without ferns.
    share : int
        How much of the squared norm is the dense part's, in 256ths: 256 without ferns, 0 without a dense part.
    steps : int
        T, the noisy sums.
    bound : int
        M, the largest norm of one record's vector, a power of two.
    scale : float
        σ of the discrete Gaussian noise on each coordinate of each sum, cells without a record included.
    momentum, step_size : float
        How a noisy sum moves the weights. They cost nothing. Both 0, for two classes and without ferns: it does not
        move them along itself, but the weights are the mean of a posterior, which public rows make possible.
    classes : int, default 2
        C. With more than two there is one block of weights for each.
    seed : int, default 0
        A public number: the coins that the ferns are made with.
    features : {"plain", "some ferns", "mostly ferns", "dense"}, default "plain"
        Which of the public feature maps it is on.
    whitening : float, default 1.0
        The power, above 0 and at most 1, by which the directions of the map are whitened once a tree is beside it.

    Attributes
    ----------
    sensitivity : int
        2M, by which one replaced record moves a sum at most.
    blocks : int
        Functions to learn: 1 for two classes, else C.
    coordinates : int
        Weights of a block, p + L·2^d.
    is_empirical_bayes : bool
        Whether the weights are the mean of a posterior.
    draws : int
        Noise drawn in the whole run, one for each weight and step.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.plan import LinearStage
    >>> stage = LinearStage(
    ...     records=10_000, dense=40, ferns=10, depth=5, share=128, steps=50, bound=2**20, scale=2.0**26, momentum=0.9,
    ...     step_size=0.001,
    ... )
    >>> stage.sensitivity == 2 * stage.bound, stage.coordinates, stage.draws
    (True, 360, 18000)
    >>> stage.sums.noise_multiplier
    32.0
    """

    records: int
    dense: int
    ferns: int
    depth: int
    share: int
    steps: int
    bound: int
    scale: float
    momentum: float
    step_size: float
    classes: int = 2
    seed: int = 0
    features: MapName = "plain"
    whitening: float = 1.0

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1, most=MOST_RECORDS)
        check_integer("dense", self.dense, least=0, most=MOST_COORDINATES)
        check_integer("ferns", self.ferns, least=0, most=MOST_FERNS)
        check_integer("depth", self.depth, least=0, most=MOST_DEPTH)
        check_integer("share", self.share, least=0, most=WHOLE_SHARE)
        check_integer("steps", self.steps, least=1)
        check_integer("bound", self.bound, least=1, most=LARGEST_TERM)
        check_integer("classes", self.classes, least=2, most=MOST_LABELS)
        check_integer("seed", self.seed, least=0)
        check_positive("scale", self.scale)
        check_probability("whitening", self.whitening, one_allowed=True)
        if self.features not in get_args(MapName):
            raise ParameterError("features", f"one of {', '.join(map(repr, get_args(MapName)))}", self.features)
        self._check_steps()
        if (self.ferns > 0) != (self.depth > 0):
            raise ParameterError("depth", "at least 1 with ferns, 0 without any", self.depth)
        if (self.dense > 0, self.ferns > 0) != (self.share > 0, self.share < WHOLE_SHARE):
            allowed = f"between 0 and {WHOLE_SHARE}, {WHOLE_SHARE} only without ferns, 0 only without a dense part"
            raise ParameterError("share", allowed, self.share)
        if int(self.bound) & (int(self.bound) - 1):
            raise ParameterError("bound", "a power of two", self.bound)
        keep_plain(
            self,
            floats=("scale", "momentum", "step_size", "whitening"),
            integers=("records", "dense", "ferns", "depth", "share", "steps", "bound", "classes", "seed"),
        )
        check_scale("scale", self.scale)

    def _check_steps(self) -> None:
        check_finite("momentum", self.momentum)
        if not 0 <= self.momentum < 1:
            raise ParameterError("momentum", "a number in [0, 1)", self.momentum)
        if self.classes != 2 or self.ferns or self.momentum:
            check_positive("step_size", self.step_size)
        check_finite("step_size", self.step_size)
        if self.step_size < 0:
            raise ParameterError("step_size", "a number ≥ 0", self.step_size)

    @property
    def sensitivity(self) -> int:
        """2M: one replaced record takes one vector out of a sum and puts another one in."""
        return 2 * self.bound

    @property
    def is_empirical_bayes(self) -> bool:
        """Are the weights the mean of a posterior, so that there are no steps?"""
        return self.step_size == 0.0

    @property
    def blocks(self) -> int:
        """Functions to learn: one for two classes, else one a class."""
        return 1 if self.classes == 2 else self.classes

    @property
    def coordinates(self) -> int:
        """Weights of a block: p, and 2^d for each fern."""
        return self.dense + (self.ferns << self.depth)

    @property
    def draws(self) -> int:
        """Noise drawn in the whole run: one draw for each weight, at every step."""
        return self.steps * self.blocks * self.coordinates

    @property
    def proof(self) -> str:
        """The note in `proofs/` that proves the stage's figures."""
        return "linear"

    @property
    def sums(self) -> NoisySumsEvent:
        """The T noisy sums to an accountant."""
        return NoisySumsEvent(self.scale / self.sensitivity, self.steps, self.scale, self.draws)

    def event(self, context: Context) -> NoisySumsEvent:  # noqa: ARG002
        return self.sums

    def words(self, context: Context) -> str:  # noqa: ARG002
        parts = [f"{self.dense:,} dense coordinates"] if self.dense else []
        parts += [f"{self.ferns:,} ferns of {self.depth} predicates"] if self.ferns else []
        how = "noisy sums and empirical Bayes" if self.is_empirical_bayes else "steps of DP gradient descent"
        return f"a linear classifier over {' and '.join(parts)}, by {self.steps:,} {how}"

    @property
    def effort(self) -> float:
        return float(self.steps * (self.dense + self.ferns))


@dataclass(frozen=True)
class ComparisonStage(Stage):
    """A noisy comparison of the errors of the two classifiers before it. It decides between two options after it.

    Parameters
    ----------
    records : int
        n.
    bound : int
        M: errors are counted in M-ths of a record, so that the noise is on as fine a grid as that of sums.
    scale : float
        σ of the discrete Gaussian noise, in M-ths of a record.
    lead : int
        By how many errors, in records, the second classifier has to lead for the second option. It may be negative.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.plan import ComparisonStage
    >>> ComparisonStage(records=10_000, bound=2**20, scale=2.0**25, lead=0).sums.noise_multiplier
    16.0
    """

    records: int
    bound: int
    scale: float
    lead: int

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1, most=MOST_RECORDS)
        check_integer("bound", self.bound, least=1, most=LARGEST_TERM)
        check_positive("scale", self.scale)
        check_scale("scale", self.scale)
        check_integer("lead", self.lead, least=-self.records, most=self.records)
        keep_plain(self, floats=("scale",), integers=("records", "bound", "lead"))

    @property
    def sums(self) -> NoisySumsEvent:
        """One number, which a replaced record moves by at most 2M."""
        return NoisySumsEvent(self.scale / (2 * self.bound), 1, self.scale, 1)

    def event(self, context: Context) -> NoisySumsEvent:  # noqa: ARG002
        return self.sums

    def words(self, context: Context) -> str:  # noqa: ARG002
        return "a noisy comparison of the errors of these two, which decides what follows"

    def option(self, lead: int) -> int:
        """Return the place of the option that a noisy `lead`, in M-ths of a record, speaks for: post-processing."""
        return int(lead >= self.bound * self.lead)
