"""How many records are in each cell, with noise: all that is asked of private records to score a model."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records import Encoded, GroupedRecords, InMemory, Records
from pcqr.data.records.arrays import Points
from pcqr.data.schema.labels import places_among
from pcqr.data.schema.table import CompactTable, has_columns
from pcqr.durable.account import Account, AccountLike
from pcqr.errors import DataError, InfeasiblePlan, ParameterError
from pcqr.mechanisms.histogram import NoisyHistogram
from pcqr.models import PublishedModel
from pcqr.models.learners import Learner
from pcqr.models.score import Bins, PrivateScore
from pcqr.privacy.entropy import Entropy, resolve_entropy
from pcqr.privacy.guarantee import Guarantee, warn_if_weak
from pcqr.releases.base.contributions import BOUNDED, Groups, UnitIds
from pcqr.releases.base.fitting import account_for
from pcqr.releases.base.inputs import label_cells


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
