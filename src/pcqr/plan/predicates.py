"""The stage of private predicates: cuts of numeric columns, counts between them, categories of text columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcqr.accounting import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    Event,
    NoisySumsEvent,
    Repeated,
    ShapingEvent,
)
from pcqr.accounting.gaussian import LARGEST_EPSILON
from pcqr.checks import check_finite, check_integer, check_positive, keep_plain
from pcqr.errors import ParameterError
from pcqr.guarantee import positive, rounded_up
from pcqr.mechanisms.halving import halving_error
from pcqr.noise import check_scale
from pcqr.plan.answers import counted
from pcqr.plan.composition import Context, Stage
from pcqr.plan.linear import MOST_RECORDS

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
    >>> from pcqr.plan import PredicatesStage
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
