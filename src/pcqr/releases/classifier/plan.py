from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from pcqr.checks import check_finite, check_integer, check_positive, check_probability, keep_plain
from pcqr.data.records.feature_map import MOST_DEPTH, MOST_FERNS, WHOLE_SHARE
from pcqr.data.records.vectors import MOST_COORDINATES
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import MOST_LABELS
from pcqr.mechanisms.halving import halving_error
from pcqr.privacy.accounting import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    Event,
    NoisySumsEvent,
    PureEvent,
    Repeated,
    ShapingEvent,
)
from pcqr.privacy.accounting.gaussian import LARGEST_EPSILON
from pcqr.privacy.composition import Context, Stage
from pcqr.privacy.guarantee import positive, rounded_up
from pcqr.privacy.noise import check_scale
from pcqr.releases.protocol.answers import counted


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
    >>> from pcqr.releases.classifier.plan import LeafCountsStage
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
    >>> from pcqr.releases.classifier.plan import ClassCountsStage
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


# ---------------------------------------------------------------------------------------------------------------------
# The stages of the private linear classifier: noisy sums of one bounded integer vector a record, and a comparison.


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
    >>> from pcqr.releases.classifier.plan import LinearStage
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
    >>> from pcqr.releases.classifier.plan import ComparisonStage
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


# ---------------------------------------------------------------------------------------------------------------------
# The stage of private predicates: cuts of numeric columns, counts between them, categories of text columns.


MOST_LEVELS = 8
GRID = 2**20
"""Noise on counts is drawn on so fine a grid, in parts of a record, that it is as good as continuous noise."""
LARGEST_THRESHOLD = 2.0**63
"""Noisy counts, in parts of a record, are less."""


@dataclass(frozen=True)
class PredicatesStage(Stage):
    """Private cuts of numeric columns, by halving, and private categories of text columns, by noisy counts.

    Parameters
    ----------
    records : int
        n.
    numeric : int
        p, the columns of numbers and dates.
    categorical : int
        p_c, the columns of texts.
    levels : int
        L, how often a column is halved: 2^L − 1 cuts. 0: no cuts.
    selection : float
        ε₀, the range of the loss of one level of one column. 0 without cuts.
    counts : float or None
        σ of the noise on the records between two cuts, in records. None: they are not counted.
    categories : float or None
        σ of the noise on the records of each category, in records. None: no categories.
    threshold : float or None
        τ, the noisy count from which on a category is shown, in records. None: no categories.
    bound : int, default 1_048_576
        M: counts are in M-ths of a record, so that the noise is on as fine a grid.

    Attributes
    ----------
    failure : float
        f, a bound on the chance that a category of one record is shown. The stage is (2f, f)-DP for such categories.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.classifier.plan import PredicatesStage
    >>> stage = PredicatesStage(
    ...     10_000, numeric=6, categorical=2, levels=3, selection=0.02, counts=100.0, categories=60.0, threshold=380.0
    ... )
    >>> stage.failure < 1e-9
    True
    """

    records: int
    numeric: int
    categorical: int
    levels: int
    selection: float
    counts: float | None
    categories: float | None
    threshold: float | None
    bound: int = GRID

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1, most=MOST_RECORDS)
        check_integer("numeric", self.numeric, least=0)
        check_integer("categorical", self.categorical, least=0)
        check_integer("levels", self.levels, least=0, most=MOST_LEVELS)
        check_integer("bound", self.bound, least=1, most=GRID)
        check_finite("selection", self.selection)
        if (self.selection > 0.0) != (self.levels > 0) or not 0.0 <= self.selection <= LARGEST_EPSILON:
            allowed = f"a number > 0 and at most {LARGEST_EPSILON:g} with levels, 0 without any"
            raise ParameterError("selection", allowed, self.selection)
        if self.levels > 0 and self.numeric == 0:
            raise ParameterError("levels", "0 without a numeric column", self.levels)
        if self.counts is not None and self.levels == 0:
            raise ParameterError("counts", "None without cuts", self.counts)
        for name in ("counts", "categories"):
            scale = getattr(self, name)
            if scale is not None:
                check_positive(name, scale)
                check_scale(name, scale * self.bound)
        keep_plain(
            self,
            floats=("selection", "counts", "categories", "threshold"),
            integers=("records", "numeric", "categorical", "levels", "bound"),
        )
        self._check_threshold()

    def _check_threshold(self) -> None:
        if (self.categories is None) != (self.threshold is None):
            raise ParameterError("threshold", "a number with noise on categories, None without", self.threshold)
        if self.threshold is None:
            return
        check_positive("threshold", self.threshold)
        if self.threshold * self.bound > LARGEST_THRESHOLD:
            raise ParameterError("threshold", f"at most {LARGEST_THRESHOLD / self.bound:g}", self.threshold)
        if self.categorical == 0:
            raise ParameterError("categories", "None without a text column", self.categories)
        if self.failure > 0.5:
            raise ParameterError("threshold", "so high that `failure` is at most ½", self.threshold)

    @property
    def least_count(self) -> int:
        """⌈τM⌉, the noisy count of a category that is shown, in M-ths of a record."""
        return 0 if self.threshold is None else math.ceil(self.threshold * self.bound)

    @property
    def failure(self) -> float:
        """p_c·Φ̄((⌈τM⌉ − M − 1)/(σ_c·M)), rounded up, also where it underflows."""
        if self.categories is None:
            return 0.0
        at = (self.least_count - self.bound - 1) / (self.categories * self.bound)
        return rounded_up(self.categorical * positive(gaussian_tail(at)))

    @property
    def proof(self) -> str:
        """The note in `proofs/` that proves the stage's figures."""
        return "predicates"

    def words(self, context: Context) -> str:  # noqa: ARG002
        cuts = f"private cuts of {counted(self.numeric, 'numeric column')}, {(1 << self.levels) - 1} each"
        names = f"private categories of {counted(self.categorical, 'text column')}"
        parts = [cuts] * (self.levels > 0) + [names] * (self.categories is not None)
        return ", and ".join(parts) or "no private predicates"

    def event(self, context: Context) -> ShapingEvent:  # noqa: ARG002
        """Return selections, noisy sums, and what may fail, in this order, as far as there are any."""
        found: list[Event] = []
        if self.levels:
            error = halving_error(self.records, self.levels, self.selection)
            selection = BoundedRangeEvent(rounded_up(self.selection + 4.0 * error))
            found.append(Repeated(selection, self.numeric * self.levels))
        if self.counts is not None:
            found.append(self._sums(self.counts, self.numeric))
        if self.categories is not None:
            found.append(self._sums(self.categories, self.categorical))
            found.append(ApproximateEvent(2.0 * self.failure, self.failure))
        return ShapingEvent(Composed(tuple(found)))

    def _sums(self, scale: float, columns: int) -> NoisySumsEvent:
        """Noise on counts of which a replaced record moves two a column, by 1 each."""
        moved = 2 * columns
        multiplier = scale / rounded_up(math.sqrt(moved))
        return NoisySumsEvent(multiplier, 1, scale * self.bound, moved)


def gaussian_tail(at: float) -> float:
    """Return Φ̄(`at`), the chance that a standard Gaussian is larger."""
    return 0.5 * math.erfc(at / math.sqrt(2.0))
