"""Finite classes: any fixed list of fitted, public models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from pcqr.checks import check_integer
from pcqr.data.records import InMemory, Records
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, Points, as_points
from pcqr.hypotheses.cuts import IntArray, log_weights
from pcqr.privacy.noise import UNIT_ROUNDOFF, Chooser


@runtime_checkable
class Predictor(Protocol):
    """What a member must offer: `predict`, from a table to one label 0 or 1 a row, as scikit-learn's classifiers do."""

    def predict(self, X: Any, /) -> Any: ...


@dataclass(frozen=True)
class Member(Hypothesis):
    """Number `index` of a finite class, behind the same checks as every other hypothesis."""

    index: int
    predictor: Predictor = field(repr=False)

    def __post_init__(self) -> None:
        check_integer("index", self.index, least=0)

    def predict(self, X: ArrayLike) -> Labels:
        """1 where the model says 1, else 0. A row on which it fails is labelled 0: an error would speak of records."""
        points = as_points(X)
        try:
            return self._ask(points)
        except Exception:
            return np.concatenate([self._ask_one(row[None, :]) for row in points])

    def _ask(self, X: Points) -> Labels:
        labels = np.asarray(self.predictor.predict(X.copy()))  # a copy: some models transform in place
        positive: Labels = (labels.reshape(X.shape[0]) == 1).astype(np.int8)
        return positive

    def _ask_one(self, x: Points) -> Labels:
        try:
            return self._ask(x)
        except Exception:
            return np.zeros(1, dtype=np.int8)


@dataclass(frozen=True)
class Finite(HypothesisClass):
    """The class {h₀, …, h_{|H|−1}} of the given models.

    The law is over their indices, so a model that is listed twice counts twice. Two things are taken on trust
    (proofs/finite.md): the members were made without the private records, and each labels a row without regard to the
    other rows, so that replacing one record moves its mistakes by at most 1. The drawn hypothesis is then 2η-DP and may
    be published.

    Parameters
    ----------
    members : sequence of fitted models
        Whatever has a scikit-learn `predict` with the labels 0 and 1.

    Raises
    ------
    ParameterError
        When there is no member, one has no `predict`, or its `classes_` are not among 0 and 1.

    Examples
    --------
    Which of two rules that were known beforehand is the better one?

    >>> from pcqr.hypotheses import Finite, Thresholds
    >>> rules = [Thresholds().learn([1.0, 3.0], [0, 1]), Thresholds().learn([5.0, 9.0], [0, 1])]
    >>> hypotheses = Finite(rules)
    >>> X, y = [1.0, 4.0, 6.0, 8.0], [0, 0, 0, 1]
    >>> hypotheses.learn(X, y)
    Member(index=1)
    >>> hypotheses.sample(X, y, inverse_temperature=10.0, entropy=0)  # seeded: NOT PRIVATE
    Member(index=1)
    """

    members: Sequence[Predictor]

    def __post_init__(self) -> None:
        if not isinstance(self.members, Sequence) or not self.members:
            raise ParameterError("members", "a list of at least one fitted model", self.members)
        for index, member in enumerate(self.members):
            if not isinstance(member, Predictor) or isinstance(member, type):
                raise ParameterError(f"members[{index}]", "a fitted model with a predict method", member)
            names = getattr(member, "classes_", None)
            if names is not None and not set(np.asarray(names).tolist()) <= {0, 1}:
                raise ParameterError(f"members[{index}].classes_", "among 0 and 1", names)
        object.__setattr__(self, "members", tuple(self.members))

    @property
    def vc_dimension(self) -> int:
        """⌊log₂ |H|⌋, a bound: shattering d points takes 2^d members."""
        return len(self.members).bit_length() - 1

    @property
    def is_fixed(self) -> bool:
        return True

    @property
    def log_size(self) -> float:
        return math.log(len(self.members))

    def log_growth(self, count: int, features: int = 1) -> float:  # noqa: ARG002
        """ln |H| whatever the points are."""
        return self.log_size

    def log_probability_error(
        self,
        records: int,
        inverse_temperature: float,
        *,
        features: int = 1,  # noqa: ARG002
        public: int | None = None,  # noqa: ARG002
    ) -> float:
        """2τ for the one choice, τ = `UNIT_ROUNDOFF`·η·n: a log-weight is η times an integer ≤ n, the largest is 0."""
        return 2.0 * UNIT_ROUNDOFF * inverse_temperature * records

    def learn(self, X: ArrayLike, y: ArrayLike) -> Member:
        """The fewest mistakes; ties go to the lowest index."""
        return self._member(int(np.argmin(self._error_counts(InMemory(X, y, self.labels)))))

    def enumerate(self, X: ArrayLike) -> Labels:
        """One row a member, in their order."""
        points = self.check_points(X)
        return np.stack([self._member(index).predict(points) for index in range(len(self.members))])

    def _draw(self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser) -> Member:
        return self._draw_on(InMemory(X, y, self.labels), inverse_temperature, public, choose)

    def _draw_on(
        self,
        records: Records,
        inverse_temperature: float,
        public: Points | None,  # noqa: ARG002
        choose: Chooser,
    ) -> Member:
        if records.whole != 1:  # a member may round what it says by the number of rows, which is private there
            raise ParameterError("records", "of a finite class one row of each person: `one_each`", "persons")
        return self._member(choose(log_weights(self._error_counts(records), inverse_temperature)))

    def _member(self, index: int) -> Member:
        return Member(index, self.members[index])

    def _error_counts(self, records: Records) -> IntArray:
        """Mistakes of each member: O(n·|H|) time. A model that is listed several times, for a prior, is asked once."""
        asked = {id(member): self._member(index) for index, member in enumerate(self.members)}
        error_counts = dict(zip(asked, records.error_counts(tuple(asked.values())), strict=True))
        return np.array([error_counts[id(member)] for member in self.members], dtype=np.int64)
