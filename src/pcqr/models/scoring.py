"""How many records are in each cell, with noise: all that is asked of private records to score a model."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer
from pcqr.data.records import Encoded, GroupedRecords, InMemory, Records
from pcqr.data.records.arrays import Points
from pcqr.data.schema.labels import places_among
from pcqr.data.schema.table import CompactTable, has_columns
from pcqr.durable.account import Account, AccountLike
from pcqr.errors import DataError, InfeasiblePlan, ParameterError
from pcqr.mechanisms.histogram import NoisyHistogram
from pcqr.models.provenance import Learner
from pcqr.models.published import PublishedModel
from pcqr.models.vocabulary import LabelName
from pcqr.privacy.entropy import Entropy, resolve_entropy
from pcqr.privacy.guarantee import Guarantee, warn_if_weak
from pcqr.releases.base.contributions import BOUNDED, Groups, UnitIds
from pcqr.releases.base.fitting import account_for
from pcqr.releases.base.inputs import label_cells

# ---------------------------------------------------------------------------------------------------------------------
# Estimates with intervals from noisy counts: noise and sampling together. Public numbers in, public numbers out.
#
# The formulas, and what they are for: proofs/score.md, "Intervals".


Floats = NDArray[np.float64]

LEVEL = 0.95
"""What is stated of an interval."""
_QUANTILE = 2.1
"""Wider than the 1.96 of `LEVEL`: variances are estimated from noisy counts (docs/score.md has what comes of it)."""


@dataclass(frozen=True)
class Estimate:
    """An estimate of a population's figure, with an interval that covers noise and sampling.

    Parameters
    ----------
    value : float
        The estimate.
    low, high : float
        The ends of the 95 % interval. 0 and 1 where the noise leaves nothing to be said.

    Examples
    --------
    >>> from pcqr.models import Estimate
    >>> print(Estimate(0.8312, 0.801, 0.8587))
    0.831 (0.801 to 0.859)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class _Ends:
    """A ratio and the ends of its interval, which may lie outside [0, 1]."""

    value: float
    low: float
    high: float

    def cut(self) -> Estimate:
        """Move the estimate into [0, 1], its interval with it, and cut that."""
        value = min(max(self.value, 0.0), 1.0)
        moved = value - self.value
        return Estimate(value, max(0.0, self.low + moved), min(1.0, self.high + moved))


_NOTHING_KNOWN = _Ends(0.5, 0.0, 1.0)


class Intervals:
    """Intervals for ratios of counts, of which only noisy ones are known.

    `noisy` are the counts of n = `records` in all cells, each with independent noise of this `variance`.
    """

    def __init__(self, noisy: Sequence[int], records: int, variance: float) -> None:
        counts = np.array(noisy, dtype=np.float64)
        self.counts: Floats = counts + (records - counts.sum()) / counts.size
        """They sum to n: its share of the noise is known, and taken off."""
        self._variance = variance

    def share(self, part: NDArray[np.bool_]) -> Estimate:
        """The share of all records that are in the cells of `part`."""
        return self._ratio(part, np.ones_like(part)).cut()

    def share_of(self, part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> Estimate:
        """The share of the records in `whole` that are in `part`, which is within it."""
        return self._ratio(part, whole).cut()

    def mean_share(self, parts: Sequence[NDArray[np.bool_]], wholes: Sequence[NDArray[np.bool_]]) -> Estimate:
        """The mean of the shares `share_of`, of wholes that have no cell in common."""
        each = [self._ratio(part, whole) for part, whole in zip(parts, wholes, strict=True)]
        add = math.fsum if any(ends is _NOTHING_KNOWN for ends in each) else _root_of_squares
        value = math.fsum(ends.value for ends in each)
        low = value - add([ends.value - ends.low for ends in each])
        high = value + add([ends.high - ends.value for ends in each])
        return _Ends(value / len(each), low / len(each), high / len(each)).cut()

    def area(self, negative: slice, positive: slice) -> Estimate:
        """The chance that a positive is in a later bin than a negative, half of that in the same one counted: AUC."""
        n0, n1 = self.counts[negative], self.counts[positive]
        before, after = np.cumsum(n0) - 0.5 * n0, np.cumsum(n1[::-1])[::-1] - 0.5 * n1
        negatives, positives = float(n0.sum()), float(n1.sum())
        if min(negatives, positives) <= 0.0:
            return _NOTHING_KNOWN.cut()
        above, below = np.zeros_like(self.counts), np.zeros_like(self.counts)
        above[negative], above[positive] = after, before
        below[negative], below[positive] = positives, negatives
        extremes = [(side, whole) for whole in (negatives, positives) for side in (0.0, whole)]
        return self._interval(float(n1 @ before), negatives * positives, above, below, extremes).cut()

    def _ratio(self, part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> _Ends:
        within = float(self.counts[part].sum()), float(self.counts[whole].sum())
        return self._interval(*within, part.astype(np.float64), whole.astype(np.float64), [(0.0, 1.0), (1.0, 1.0)])

    def _interval(
        self, above: float, below: float, rising: Floats, falling: Floats, extremes: Sequence[tuple[float, float]]
    ) -> _Ends:
        """Every t with (`above` − t·`below`)² ≤ q²·V(t), V the variance of that difference.

        `rising` and `falling` are the gradients of `above` and `below` by the counts; `extremes` those of records that
        were not met.
        """
        if below <= 0.0:
            return _NOTHING_KNOWN
        value = above / below
        variance = (
            _by_powers(np.maximum(self.counts, 0.0), rising, falling)
            + self._variance * _by_powers(np.ones_like(rising), rising - rising.mean(), falling - falling.mean())
            + _QUANTILE**2 * _by_powers(np.ones(len(extremes)), *map(np.array, zip(*extremes, strict=True)))
        )
        spread = _QUANTILE**2 * self._widened(rising - value * falling, float(variance @ (1.0, value, value**2)))
        square, middle = below**2 - spread * variance[2], 2.0 * above * below + spread * variance[1]
        if square <= 0.0:
            return _NOTHING_KNOWN
        root = math.sqrt(max(0.0, middle**2 - 4.0 * square * (above**2 - spread * variance[0])))
        return _Ends(value, float((middle - root) / (2.0 * square)), float((middle + root) / (2.0 * square)))

    def _widened(self, gradient: Floats, variance: float) -> float:
        """By how much the square of the quantile grows: noise has heavier tails than a Gaussian of its variance."""
        gradient = gradient - gradient.mean()
        kurtosis = (3.0 + 1.0 / self._variance) * self._variance**2 * float((gradient**4).sum()) / variance**2
        return (1.0 + (_QUANTILE**2 - 3.0) * min(kurtosis, 3.0) / 24.0) ** 2


def _by_powers(weights: Floats, rising: Floats, falling: Floats) -> Floats:
    """Return the coefficients of 1, t and t² in Σ weights·(rising − t·falling)²."""
    return np.array([weights @ rising**2, -2.0 * (weights @ (rising * falling)), weights @ falling**2])


def _root_of_squares(distances: Sequence[float]) -> float:
    return math.sqrt(math.fsum(distance**2 for distance in distances))


# ---------------------------------------------------------------------------------------------------------------------
# What a model is worth on private records: estimates that follow from one noisy histogram. Public facts alone.


BINS = 10
"""Bins of a probability, unless declared."""
MOST_BINS = 100

ASSUMPTIONS = (
    "none of these records is among those that the model was fitted on (nobody can see that in a table)",
    "they are independent draws from the population that the estimates are about",
)
"""What the estimates rest on. The guarantee does not."""


@dataclass(frozen=True)
class Bins:
    """The public bins of a model: its labels or, for two classes, equal steps of its probability of the second.

    Parameters
    ----------
    model : PublishedModel
        What says a label and a probability of a row.
    count : int
        How many bins.

    Attributes
    ----------
    are_labels : bool
        Is the bin nothing but the predicted label?
    """

    model: PublishedModel
    count: int

    @classmethod
    def of(cls, model: PublishedModel, bins: int | None) -> Self:
        """Return as many bins as were declared; None: those that suit the model."""
        labels = len(model.classes)
        if labels > 2 or not hasattr(model, "predict_proba"):
            if bins is not None:
                what = "more than two classes" if labels > 2 else "no probabilities"
                raise ParameterError("bins", f"None for a model with {what}: its labels are the bins", bins)
            return cls(model, labels)
        count = BINS if bins is None else bins
        check_integer("bins", count, least=2, most=MOST_BINS)
        if count % 2:
            raise ParameterError("bins", "an even number: half of them for each predicted label", count)
        return cls(model, int(count))

    @property
    def are_labels(self) -> bool:
        return self.count == len(self.model.classes)

    def places(self, X: Points) -> NDArray[np.int64]:
        """The bin of each encoded row. A bin belongs to one predicted label, whatever the probability is."""
        labels: NDArray[np.int64] = self.model.hypothesis.predict(X).astype(np.int64)
        if self.are_labels:
            return labels
        half = self.count // 2
        chances = np.nan_to_num(self.model.predict_proba(X)[:, 1], nan=0.5)
        steps: NDArray[np.int64] = np.floor(chances * self.count).astype(np.int64)
        return steps.clip(labels * half, labels * half + half - 1)

    def labels(self) -> NDArray[np.int64]:
        """The predicted label that each bin belongs to."""
        return np.arange(self.count) * len(self.model.classes) // self.count


@dataclass(frozen=True, repr=False)
class PrivateScore:
    """How good a model is, from one noisy histogram of private records. Intervals cover noise and sampling.

    Every interval is made to cover the figure of the population in 95 % of all runs, each by itself (docs/score.md).
    Where the noise leaves nothing to be said, it is the whole of [0, 1].

    Parameters
    ----------
    histogram : tuple of int
        What was released: noisy counts of (label, bin), label by label, then of the records whose label is no class.
    records : int
        n, the number of records, or of persons.
    classes : tuple
        The label names of the model.
    bin_labels : tuple of int
        The predicted label of each bin, as its place among the classes. The bins of probabilities are equal steps.
    noise : NoisyHistogram
        The noise on every count.
    guarantee : Guarantee
        What is promised to the scored records.

    Attributes
    ----------
    accuracy : Estimate
        The chance that the predicted label is right.
    balanced_accuracy : Estimate
        The mean of `recall`.
    recall : tuple of Estimate
        For each class the chance that one of its records is given its label.
    confusion : tuple of tuple of Estimate
        For each class and each predicted label the share of all records.
    other : Estimate
        The share of the records whose label is missing or no class of the model. They count as wrong.
    auc : Estimate or None
        The area under the ROC curve of the binned probabilities. None for labels alone.
    assumptions : tuple of str
        What the estimates, not the guarantee, rest on.

    See Also
    --------
    pcqr.private_score : makes it.

    Examples
    --------
    >>> from pcqr.mechanisms import NoisyHistogram
    >>> from pcqr.models import PrivateScore
    >>> noise = NoisyHistogram.calibrate(epsilon=1.0)
    >>> score = PrivateScore((310, 42, 55, 590, 3), 1_000, ("no", "yes"), (0, 1), noise, noise.guarantee)
    >>> print(score.accuracy)
    0.900 (0.879 to 0.921)
    >>> score.auc is None  # labels alone
    True
    """

    histogram: tuple[int, ...]
    records: int
    classes: tuple[LabelName, ...]
    bin_labels: tuple[int, ...]
    noise: NoisyHistogram
    guarantee: Guarantee

    def __post_init__(self) -> None:
        if len(self.histogram) != len(self.classes) * len(self.bin_labels) + 1:
            raise ParameterError("histogram", "a count for each class and bin, and one more", len(self.histogram))

    @property
    def accuracy(self) -> Estimate:
        """The chance that the predicted label is right."""
        return self._intervals.share(np.logical_or.reduce(self._right))

    @property
    def balanced_accuracy(self) -> Estimate:
        """The mean of `recall`."""
        return self._intervals.mean_share(self._right, self._classes)

    @property
    def recall(self) -> tuple[Estimate, ...]:
        """For each class the chance that one of its records is given its label."""
        pairs = zip(self._right, self._classes, strict=True)
        return tuple(self._intervals.share_of(right, whole) for right, whole in pairs)

    @property
    def confusion(self) -> tuple[tuple[Estimate, ...], ...]:
        """For each class and each predicted label the share of all records."""
        labels = range(len(self.classes))
        return tuple(tuple(self._intervals.share(self._cells(true, said)) for said in labels) for true in labels)

    @property
    def other(self) -> Estimate:
        """The share of the records whose label is missing or no class of the model."""
        return self._intervals.share(np.arange(len(self.histogram)) == len(self.histogram) - 1)

    @property
    def auc(self) -> Estimate | None:
        """The area under the ROC curve of the binned probabilities."""
        bins = len(self.bin_labels)
        if len(self.classes) != 2 or bins == 2:
            return None
        return self._intervals.area(slice(bins), slice(bins, 2 * bins))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the estimates, not the guarantee, rest on."""
        return ASSUMPTIONS

    def facts(self) -> dict[str, Any]:
        """All of it by name, as JSON has it."""
        auc = self.auc
        return {
            "records": self.records,
            "classes": list(self.classes),
            "level": LEVEL,
            "accuracy": asdict(self.accuracy),
            "balanced_accuracy": asdict(self.balanced_accuracy),
            "recall": [asdict(each) for each in self.recall],
            "confusion": [[asdict(each) for each in row] for row in self.confusion],
            "other": asdict(self.other),
            "auc": None if auc is None else asdict(auc),
            "histogram": list(self.histogram),
            "bin_labels": list(self.bin_labels),
            "noise_scale": self.noise.scale,
            "assumptions": list(self.assumptions),
            "guarantee": self.guarantee.facts(),
        }

    def to_json(self) -> str:
        """All of it as JSON.

        Returns
        -------
        str
        """
        return json.dumps(self.facts(), ensure_ascii=False, indent=2)

    def lines(self) -> dict[str, str]:
        """The estimates in words, by name."""
        names = [str(name) for name in self.classes]
        lines = {"accuracy": str(self.accuracy), "balanced accuracy": str(self.balanced_accuracy)}
        if self.auc is not None:
            lines["AUC"] = f"{self.auc}, of {len(self.bin_labels)} bins"
        for name, right, row in zip(names, self.recall, self.confusion, strict=True):
            said = "\n".join(f"predicted {label}: {each}" for label, each in zip(names, row, strict=True))
            lines[f"label {name}"] = f"right: {right}\n{said}"
        return lines | {"another label, or none": str(self.other)}

    def __repr__(self) -> str:
        figures = replace(self.guarantee, assumptions=(), is_charged=None)
        return f"<PrivateScore: accuracy {self.accuracy}, of {self.records:,} {figures.unit.plural}. {figures}>"

    def _repr_html_(self) -> str:
        """Return the guarantee and the estimates, for a notebook."""
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(told).replace(chr(10), '<br>')}</td></tr>"
            for name, told in self.lines().items()
        )
        return f'<p class="pcqr-guarantee">{escape(str(self.guarantee))}</p><table>{rows}</table>'

    @cached_property
    def _intervals(self) -> Intervals:
        return Intervals(self.histogram, self.records, self.noise.variance)

    def _cells(self, true: int, said: int | None = None) -> NDArray[np.bool_]:
        """Which cells are of records of class `true` and, if it is given, in bins of the label `said`."""
        bins = np.array(self.bin_labels)
        found = np.zeros(len(self.histogram), dtype=np.bool_)
        found[true * bins.size : (true + 1) * bins.size] = True if said is None else bins == said
        return found

    @cached_property
    def _right(self) -> Sequence[NDArray[np.bool_]]:
        return [self._cells(label, label) for label in range(len(self.classes))]

    @cached_property
    def _classes(self) -> Sequence[NDArray[np.bool_]]:
        return [self._cells(label) for label in range(len(self.classes))]


# ---------------------------------------------------------------------------------------------------------------------
# How many records are in each cell, with noise: all that is asked of private records to score a model.


class Binning(Protocol):
    """A function from a row to one of `count` public bins: row by row, each by itself."""

    @property
    def count(self) -> int: ...

    def places(self, X: Points, /) -> NDArray[np.int64]: ...


def noisy_histogram(records: Records, binning: Binning, noise: NoisyHistogram, entropy: Entropy) -> list[int]:
    """Counts of (label, bin), label by label, then of all records whose label is the last one; with noise on each.

    The last label of `records` stands for all that are no label. Of a person one row counts, chosen by a secret coin.
    """
    if isinstance(records, GroupedRecords):
        records = records.one_each(entropy)
    known, bins = records.labels - 1, binning.count
    counts = np.zeros(known * bins + 1, dtype=np.int64)
    for X, y in records.blocks(records.point_rows):
        cells = np.where(y < known, y.astype(np.int64) * bins + binning.places(X), known * bins)
        counts += np.bincount(cells, minlength=counts.size)
    return noise.release(counts, entropy)


# ---------------------------------------------------------------------------------------------------------------------
# How good a published model is on private records that it was not fitted on. Proof: proofs/score.md.


FEWEST = 10
"""n·ε below which nothing is scored: no interval would be much shorter than [0, 1]."""


def private_score(
    model: PublishedModel | Learner,
    X: Any,
    y: Any,
    epsilon: float,
    *,
    bins: int | None = None,
    groups: Any = None,
    account: AccountLike | None = None,
    entropy: Entropy | int | None = None,
) -> PrivateScore:
    """Score a published model on private records, with ε-differential privacy: accuracy, confusion matrix and AUC.

    The records must be others than those that the model was fitted on: on those a model looks better than it is. That
    cannot be checked here. For privacy they may be the same ones. Both ε then add up, as they do on one account.

    Parameters
    ----------
    model : PublishedModel, PrivateClassifier, SemiPrivateLearner or UniversalRelease
        The model, or a fitted estimator that has published one.
    X : table or array-like of shape (n, columns)
        The private records, as `predict` of the model takes them. n is public.
    y : array-like of shape (n,)
        Their labels. One that is missing or no class of the model counts as wrong.
    epsilon : float
        ε of all that is shown, pure.
    bins : int or None, default None
        How many equal bins the model's probabilities have: an even number, at most 100. AUC is that of these bins.
        None: 10 for two classes and a model with probabilities, else its labels are the bins, and there is no AUC.
    groups : array-like of shape (n,), Groups or None, default None
        Whose each row is, as in `fit`. One row of each person counts, by a secret coin, and n counts persons.
    account : Account, str, path or None, default None
        The account that is charged before anything is drawn. None: nothing is remembered.
    entropy : Entropy, int or None, default None
        Where the randomness comes from. An integer seeds a test, which is **not private**.

    Returns
    -------
    PrivateScore
        Estimates with intervals that cover noise and sampling.

    Raises
    ------
    ParameterError
        When a parameter is not allowed.
    DataError
        When the records cannot be read as those of the model, or no label is one of its classes.
    InfeasiblePlan
        When n·ε is below 10.
    AccountExhausted
        When the account has no room for it. Nothing was drawn or charged then.

    Warns
    -----
    WeakGuarantee
        When ε is so large that the guarantee says little.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import PrivateClassifier, private_score
    >>> rng = np.random.default_rng(0)
    >>> X, held_out, public = (rng.normal(size=(size, 2)) for size in (5_000, 2_000, 200))
    >>> truth = lambda X: (X[:, 0] > 0.5).astype(int)
    >>> classifier = PrivateClassifier(epsilon=1.0, method="tree", entropy=0)  # seeded: NOT PRIVATE
    >>> classifier = classifier.fit(X, truth(X), public=public)
    >>> score = private_score(classifier, held_out, truth(held_out), epsilon=0.5, entropy=0)
    >>> score.guarantee.within(0.5, 0.0), score.accuracy.low > 0.9
    (True, True)
    """
    scoring = Scoring.of(model, epsilon, bins)
    return scoring.run(X, y, groups=groups, account=account, entropy=entropy)


@dataclass
class Scoring:
    """What will be done to score a model: public things alone, until it is run.

    `has_spent` says whether ε was spent. None: the run was interrupted while it charged an account.
    """

    model: PublishedModel
    bins: Bins
    noise: NoisyHistogram
    has_spent: bool | None = False

    @classmethod
    def of(cls, model: PublishedModel | Learner, epsilon: float, bins: int | None) -> Scoring:
        if not isinstance(model, PublishedModel) and not hasattr(model, "fit"):
            raise ParameterError(
                "model", "a PublishedModel, or a fitted estimator that has published", type(model).__name__
            )
        published = model if isinstance(model, PublishedModel) else PublishedModel.from_learner(model)
        return cls(published, Bins.of(published, bins), NoisyHistogram.calibrate(epsilon))

    def guarantee(self, records: int, *, user_level: bool) -> Guarantee:
        """Return what is promised to n = `records` records or persons, or refuse so few."""
        found = self.noise.guarantee
        if records * found.epsilon < FEWEST * (1.0 - 1e-9):
            enough = math.ceil(FEWEST / found.epsilon * (1.0 - 1e-9))
            raise InfeasiblePlan(
                f"With n = {records:,} and ε = {found.epsilon:g} a score would be noise: n·ε is below {FEWEST}.",
                f"n ≥ {enough:,} at this ε, or ε ≥ {FEWEST / max(records, 1):.2g} at this n",
            )
        return found.at_user_level(BOUNDED["one row"]) if user_level else found

    def expected(self, records: int) -> float:
        """Return about half the length of the interval of an accuracy of .8: noise and sampling."""
        cells = len(self.model.classes) * self.bins.count + 1
        right = self.bins.count
        noise = self.noise.variance * right * (cells - right) / cells
        return min(1.0, 2.0 * math.sqrt(0.16 / records + noise / records**2))

    @np.errstate(all="ignore")  # whether a float underflows depends on the records
    def run(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        account: AccountLike | None = None,
        entropy: Entropy | int | None = None,
        drop: Collection[str] = (),
        name: str = "X",
    ) -> PrivateScore:
        """Read, check, charge, count. Columns in `drop` are no features. Errors call the table `name`."""
        if isinstance(groups, Groups) and groups.rows != 1:
            raise ParameterError("groups.rows", "1 for private_score, which weighs no rows", groups.rows)
        source = resolve_entropy(entropy)
        charged = account_for(account, source)
        table = self._table(X, drop, name)
        cells, whose = label_cells(y), UnitIds(groups)
        whose.check_lengths(table, cells)
        labels = self._labels(places_among(self.model.classes, cells))
        records = whose.grouped(_records(table, labels, 1 + len(self.model.classes)))
        guarantee = self.guarantee(records.size, user_level=groups is not None)
        guarantee = guarantee.drawn_with(private_entropy=source.is_private)
        warn_if_weak(guarantee, records.size)
        self._charge(charged, guarantee, records.size)
        histogram = noisy_histogram(records, self.bins, self.noise, source)
        return PrivateScore(
            tuple(histogram),
            records.size,
            self.model.classes,
            tuple(self.bins.labels().tolist()),
            self.noise,
            guarantee.charged(to_account=charged is not None),
        )

    def _table(self, X: Any, drop: Collection[str], name: str) -> Points | CompactTable:
        if isinstance(X, CompactTable):
            if X.columns != self.model.schema.columns:
                raise DataError("X", "a table that was read by the model's schema", "one that another schema has read")
            return X
        return self.model.schema.compact(X, drop=drop, name=name) if has_columns(X) else self.model.points(X)

    def _labels(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels 0, …, C−1, and C for all that are none. Refuses a table without any: they are spelt otherwise."""
        if places.size and (places < 0).all():
            raise DataError("y", f"labels among {list(self.model.classes)}, the classes of the model", "none of them")
        return np.where(places < 0, len(self.model.classes), places)

    def _charge(self, account: Account | None, guarantee: Guarantee, records: int) -> None:
        """Before anything is drawn."""
        if account is not None:
            self.has_spent = None
            account.charge(guarantee, "private_score", model=self.model.kind.title, records=records)
        self.has_spent = True


def _records(table: Points | CompactTable, labels: NDArray[np.int64], count: int) -> Encoded | InMemory:
    return Encoded(table, labels, count) if isinstance(table, CompactTable) else InMemory(table, labels, count)
