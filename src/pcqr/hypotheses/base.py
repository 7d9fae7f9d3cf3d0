"""What a plan needs to know of a class H: public numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from pcqr.checks import check_integer, check_inverse_temperature
from pcqr.data.records import InMemory, Records
from pcqr.data.records.arrays import Labels, Points, as_labels, as_points
from pcqr.data.records.predicates import MOST_LABELS
from pcqr.data.schema import Schema
from pcqr.errors import DataError, ParameterError
from pcqr.privacy.entropy import Entropy, resolve_entropy
from pcqr.privacy.noise import Chooser
from pcqr.serialization import Document


class Combinatorics(ABC):
    """What a plan needs to know of a class H of binary classifiers: public numbers, and nothing to run."""

    features: int | None = None
    """Number of columns that the class is defined on; None for any number."""

    labels: int = 2
    """Number of classes C; labels are 0, …, C−1."""

    @property
    def largest_support(self) -> int | None:
        """The most points whose dichotomies a draw can hold in memory; None for no limit.

        A refusal must not depend on how many of the private points are distinct, so the limit is on their number.
        """
        return None

    @property
    @abstractmethod
    def vc_dimension(self) -> int:
        """VC dimension, or for stumps and finite classes a bound on it."""

    @property
    def switches(self) -> int | None:
        """For classes on the line, how often a label changes at most on the way from −∞, where it is 0, to +∞.

        A class that says so also promises that `learn`, wherever it makes no mistake, gives every x the label of a
        neighbouring record: one with no other record strictly between it and x. None for all other classes.
        """
        return None

    @property
    def boundaries(self) -> int:
        """At how many cuts a member typically changes its label. Only the planner's estimates use it, no bound."""
        return self.switches or self.vc_dimension

    @property
    def estimated_dimension(self) -> int:
        """d in the planner's estimates of how often teachers err on labels as they are. No bound uses it."""
        return self.vc_dimension

    def vc_bound(self, features: int) -> int:  # noqa: ARG002
        """A bound on the VC dimension on tables with `features` columns, where that depends on them."""
        return self.vc_dimension

    @property
    def is_fixed(self) -> bool:
        """True when the members are the same whatever the records are (declared cuts, a finite list)."""
        return False

    @property
    def log_size(self) -> float | None:
        """ln |H| for a finite class, else None."""
        return None

    @abstractmethod
    def log_growth(self, count: int, features: int = 1) -> float:
        """ln of a bound on the number of members on `count` points with `features` columns."""

    def log_rarity(self, count: int, features: int = 1) -> float:
        """ln of a bound on 1/π: a draw at η = 0 gives every dichotomy of `count` points a probability of at least π.

        `log_growth` where all members are equally likely; a class with another prior has a larger one.
        """
        return self.log_growth(count, features)

    @abstractmethod
    def log_probability_error(
        self, records: int, inverse_temperature: float, *, features: int = 1, public: int | None = None
    ) -> float:
        """A bound on |ln p̃(h) − ln p(h)|, p̃ the law that float64 arithmetic makes the sampler draw from.

        A function of public numbers: `records` = n, η = `inverse_temperature`, `features` columns and, when the
        members come from public points, their number `public`. Neighbours each move by it, so twice this is
        added to ε (proofs/weighted_choice.md).
        """


# ---------------------------------------------------------------------------------------------------------------------
# What every hypothesis class offers, and the checks that its methods share.
#
# The law of `sample` is P(h) ∝ e^{−η · mistakes(h; X, y)} over the members of the class, η = `inverse_temperature`.
# Which members there are depends on `public`:
#
# * `public=None`: one member for each dichotomy of the (private) points X. Then the draw may be used for
#   relabelling only; relabel-then-A costs 2·ln(1 + e^η) + ε_A (proofs/relabel.md).
# * `public=P`: one member for each dichotomy of the public points P, or a class fixed by declaration. The class
#   does not depend on the private data, so the drawn hypothesis itself is 2η-DP and may be published.


__all__ = [
    "LARGEST_EXPONENT",
    "MOST_LABELS",
    "Combinatorics",
    "Draw",
    "Hypothesis",
    "HypothesisClass",
    "Labels",
    "Points",
    "as_labels",
    "as_points",
    "check_label",
]

LARGEST_EXPONENT = 2.0**52
"""Largest η·n that a draw accepts: a log-weight up to here has an absolute error of at most ½."""


class Hypothesis(Document, ABC):
    """A classifier: a function from points to labels, 0 or 1 unless its class has more of them.

    Every member of a class in `pcqr.hypotheses` is one. A classifier of your own needs `predict` alone.

    `to_json` writes it down and `Hypothesis.from_json` reads one of any class; a class of your own needs a tag for that
    (`pcqr.serialization.register`). A published hypothesis is public, and so is its document. A teacher is a
    hypothesis, too: it is secret, and its document is as secret as it.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import Hypothesis
    >>> class Even(Hypothesis):
    ...     def predict(self, X):
    ...         return (np.asarray(X)[:, 0] % 2 == 0).astype(np.int8)
    >>> Even().predict([[1], [2], [4]])
    array([0, 1, 1], dtype=int8)
    """

    @abstractmethod
    def predict(self, X: ArrayLike) -> Labels:
        """The label of each row of `X`.

        Parameters
        ----------
        X : array-like of shape (rows, p)
            Points as a table of finite numbers. A vector is one column.

        Returns
        -------
        ndarray of int8, shape (rows,)
            0 or 1; trees for C labels say 0, …, C−1.

        Raises
        ------
        DataError
            When `X` is no table of finite numbers with the columns that the hypothesis asks about.
        """


@dataclass(frozen=True)
class Draw:
    """A drawn hypothesis together with the exact log-probability with which it was drawn.

    Parameters
    ----------
    hypothesis : Hypothesis
        What was drawn.
    log_probability : float
        ln P(hypothesis). **Private**: it depends on the records. It is therefore left out of the repr.

    Examples
    --------
    >>> import math
    >>> from pcqr.hypotheses import Draw, Thresholds
    >>> draw = Thresholds().draw([1.0, 2.0, 3.0], [0, 0, 1], inverse_temperature=2.0, entropy=0)  # seeded: NOT PRIVATE
    >>> isinstance(draw, Draw)
    True
    >>> draw
    Draw(hypothesis=Threshold(cut=2.5, up=True))
    >>> round(math.exp(draw.log_probability), 3)
    0.776
    """

    hypothesis: Hypothesis
    log_probability: float = field(repr=False)


class HypothesisClass(Combinatorics):
    """A class H of classifiers with an exact sampler, a deterministic learner and its combinatorics.

    The base of every class in `pcqr.hypotheses`. All offer the same methods, so a release takes any of them.

    Attributes
    ----------
    labels : int
        C, the number of labels, which are 0, …, C−1. 2 unless the class says otherwise.
    features : int or None
        p, the number of columns that the class is defined on; None for any number.
    vc_dimension : int
        d, the VC dimension; for stumps, trees and finite classes see `vc_bound`.
    is_fixed : bool
        Are the members the same whatever the records are? Then a draw may be published.
    log_size : float or None
        ln |H| for a finite class, else None.

    Examples
    --------
    Three points on a line have four dichotomies by thresholds. The learner takes the one with the fewest mistakes; the
    sampler prefers it, and the more so the larger η is.

    >>> from pcqr.hypotheses import HypothesisClass, Thresholds
    >>> hypotheses = Thresholds()
    >>> isinstance(hypotheses, HypothesisClass), hypotheses.vc_dimension
    (True, 1)
    >>> X, y = [1.0, 2.0, 3.0], [0, 0, 1]
    >>> hypotheses.enumerate(X)
    array([[0, 0, 0],
           [0, 0, 1],
           [0, 1, 1],
           [1, 1, 1]], dtype=int8)
    >>> hypotheses.learn(X, y)
    Threshold(cut=2.5, up=True)
    >>> hypotheses.sample(X, y, inverse_temperature=20.0, entropy=0)  # seeded: NOT PRIVATE
    Threshold(cut=2.5, up=True)
    """

    needs_public: ClassVar[bool] = False
    """True for a class that, unless it is fixed, has no members before public points or a schema are given."""

    several_labels: ClassVar[bool] = False
    """Can `with_labels` make it a class of any number of labels?"""

    only_learns: ClassVar[bool] = False
    """True for a class without a sampler and a VC dimension: its members teach, and nothing else."""

    def with_labels(self, labels: int) -> HypothesisClass:
        """This class for so many labels, where it can have more than two."""
        if labels != self.labels:
            raise ParameterError("classes", f"{self.labels} label names for {type(self).__name__}", f"{labels} names")
        return self

    def prepared(self, public: Points | None, schema: Schema | None) -> HypothesisClass:  # noqa: ARG002
        """This class after it has seen everything public. Only classes made of public predicates change."""
        return self

    def for_votes(self, records: int) -> HypothesisClass:  # noqa: ARG002
        """This class as the teachers of a release from n = `records` records use it. Only defaults left open change."""
        return self

    def check_work(self, parts: Sequence[tuple[int, int]], features: int) -> None:  # most classes have no limit
        """Refuse, before anything is spent, what would never end or cannot be done on p = `features` columns.

        `parts` are (records, how many draws or teachers).
        """

    @abstractmethod
    def learn(self, X: ArrayLike, y: ArrayLike) -> Hypothesis:
        """A member with the fewest mistakes on (X, y); ties are broken by a fixed order of preference.

        Without noise, so **private**: a teacher is learned like this, and its votes alone are ever used.

        Parameters
        ----------
        X, y : array-like of shape (n, p) and (n,)
            Points and their labels, integers 0, …, C−1.

        Returns
        -------
        Hypothesis

        Raises
        ------
        DataError
            When `X` or `y` cannot be used: no numbers, not finite, another width, labels that are not 0, …, C−1.
        """

    @abstractmethod
    def enumerate(self, X: ArrayLike) -> Labels:
        """One row of labels on `X` for each member of the class that `sample(X, …)` draws from. For small `X` only."""

    @abstractmethod
    def _draw(
        self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> Hypothesis:
        """Draw a member; every random choice goes through `choose`. Inputs are checked already."""

    def _draw_on(
        self, records: Records, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> Hypothesis:
        """`_draw` from a source. A class that needs sums over records alone asks for those instead."""
        held = records.gathered()
        return self._draw(held.X, held.y, inverse_temperature, public, choose)

    @final
    def draw(
        self,
        X: ArrayLike,
        y: ArrayLike,
        inverse_temperature: float,
        *,
        public: ArrayLike | None = None,
        entropy: Entropy | int | None = None,
    ) -> Draw:
        """An exact draw from P(h) ∝ e^{−η·mistakes(h; X, y)}, with its log-probability.

        Parameters
        ----------
        X, y : array-like of shape (n, p) and (n,)
            Private points and their labels, integers 0, …, C−1.
        inverse_temperature : float
            η ≥ 0. At 0 the records do not matter; the larger it is, the fewer the mistakes and the weaker the privacy.
        public : array-like of shape (M, p), optional
            Public points. Given: one member for each dichotomy of them, and the draw is 2η-DP and may be published.
            None: the members are the declared ones or, in a class that is not fixed, the dichotomies of `X` itself;
            such a draw may be used for relabelling only.
        entropy : Entropy, int or None, default None
            Where the randomness comes from: None is the operating system; an integer seeds a test, which is **not
            private**.

        Returns
        -------
        Draw
            The hypothesis, and ln P of it, which is private.

        Raises
        ------
        ParameterError
            When η is negative or so large that log-weights lose their digits (above 2⁵²/n).
        DataError
            When `X`, `y` or `public` cannot be used, or has more rows than the class can hold (`largest_support`).

        References
        ----------
        .. [1] F. McSherry, K. Talwar. Mechanism design via differential privacy. FOCS 2007.
        """
        return self.draw_on(InMemory(X, y, self.labels), inverse_temperature, public=public, entropy=entropy)

    @final
    @np.errstate(all="ignore")  # whether a float underflows depends on the records
    def draw_on(
        self,
        records: Records,
        inverse_temperature: float,
        *,
        public: ArrayLike | None = None,
        entropy: Entropy | int | None = None,
    ) -> Draw:
        """`draw` from a source of records, wherever they lie (`pcqr.data.records`)."""
        self.check_source(records)
        check_inverse_temperature(inverse_temperature)
        if inverse_temperature * records.size > LARGEST_EXPONENT:
            raise ParameterError(
                "inverse_temperature",
                f"at most 2**52 / n = {LARGEST_EXPONENT / records.size:.3g}, or log-weights lose digits in float64",
                inverse_temperature,
            )
        shown = None if public is None else self.check_points(public, name="public")
        support = records.size if shown is None else shown.shape[0]
        if self.largest_support is not None and not self.is_fixed and support > self.largest_support:
            name = "X" if shown is None else "public"
            raise DataError(
                name, f"at most {self.largest_support:,} rows for {type(self).__name__}", f"{support:,} rows"
            )
        if shown is not None and shown.shape[1] != records.width:
            raise DataError("public", f"a table with {records.width} columns", f"{shown.shape[1]} columns")
        choose = Chooser(resolve_entropy(entropy))
        hypothesis = self._draw_on(records, float(inverse_temperature), shown, choose)
        return Draw(hypothesis, choose.log_probability)

    @final
    def sample(
        self,
        X: ArrayLike,
        y: ArrayLike,
        inverse_temperature: float,
        *,
        public: ArrayLike | None = None,
        entropy: Entropy | int | None = None,
    ) -> Hypothesis:
        """The hypothesis of `draw`, without its log-probability.

        Parameters
        ----------
        X, y : array-like
            The records, as for `draw`, which also says what may go wrong.
        inverse_temperature : float
            η ≥ 0 in P(h) ∝ e^{−η·mistakes(h; X, y)}.
        public, entropy : optional
            As for `draw`.

        Returns
        -------
        Hypothesis
        """
        return self.draw(X, y, inverse_temperature, public=public, entropy=entropy).hypothesis

    @final
    def check_points(self, X: ArrayLike, *, name: str = "X") -> Points:
        """`X` as a float64 table of finite numbers with the width that the class needs. A vector is one column."""
        return as_points(X, self.features, name=name, owner=type(self).__name__)

    @final
    def check_width(self, width: int) -> None:
        """Refuse tables of another width than the class needs."""
        if self.features not in (None, width):
            allowed = f"a table with {self.features} column(s) for {type(self).__name__}"
            raise DataError("X", allowed, f"{width} columns")

    @final
    def check_source(self, records: Records) -> None:
        """Refuse records of another width, or with another number of labels, than the class has."""
        self.check_width(records.width)
        if records.labels != self.labels:
            allowed = f"records with {self.labels} labels for {type(self).__name__}"
            raise DataError("y", allowed, f"{records.labels} labels")

    @final
    def check_records(self, X: ArrayLike, y: ArrayLike) -> tuple[Points, Labels]:
        """`X` as by `check_points` and `y` as a vector of integers 0, …, C−1, one for each row; else a `DataError`."""
        points = self.check_points(X)
        labels = as_labels(y, self.labels)
        if labels.shape[0] != points.shape[0]:
            raise DataError("y", f"one label for each of the {points.shape[0]} rows of X", f"{labels.shape[0]} labels")
        return points, labels


def check_label(label: object, labels: int = MOST_LABELS) -> None:
    """A hypothesis says integers from 0 on, below `labels`."""
    check_integer("label", label, least=0)
    if label >= labels:  # type: ignore[operator]
        raise ParameterError("label", f"at most {labels - 1}", label)
