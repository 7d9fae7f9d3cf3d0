"""What a model needs to know of the kind of hypothesis that it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.data.records.predicates import Predicate
from pcqr.data.schema import Schema
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, Points
from pcqr.models.effects import Effects
from pcqr.models.graph import Graph
from pcqr.models.pictures import Caption
from pcqr.models.vocabulary import Vocabulary

H = TypeVar("H", bound=Hypothesis)

ONE_DRAW = (
    "No probabilities: it gives labels, and nothing in it is calibrated.",
    "It is one random draw. Another run on the same records gives another model; which questions it asks says "
    "little about which matter, and nothing about causes.",
)
"""What a reader must not take a single drawn hypothesis for."""
ROUNDED = "Numbers are rounded for reading; the JSON has all digits."


SHARES_AT_LEAVES = (
    "Its probabilities are shares of noisy counts in each leaf, drawn towards those of the whole table where a leaf "
    "has few records. The leaf's label is always ahead. Check them against labelled rows of your own.",
    ONE_DRAW[1],
)
"""The same for a tree with probabilities."""


class Kind(ABC, Generic[H]):
    """One kind of hypothesis. `name` is its name in JSON, `title` its name for people, after "a".

    `version` is the version of the JSON that it is written in, `limits` what a reader of the card must not take the
    model for.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    hypothesis: ClassVar[type[Hypothesis]]
    version: ClassVar[int]
    limits: ClassVar[tuple[str, ...]]

    def holds(self, hypothesis: object) -> bool:
        """Is the hypothesis of this kind?"""
        return isinstance(hypothesis, self.hypothesis)

    @abstractmethod
    def check(self, hypothesis: H, words: Vocabulary) -> None:
        """Raise unless the hypothesis speaks of features and labels that `words` knows."""

    def limits_of(self, hypothesis: H) -> tuple[str, ...]:  # noqa: ARG002
        """The limits, and what else is to be said of this one."""
        return self.limits

    @abstractmethod
    def describe(self, hypothesis: H, words: Vocabulary) -> dict[str, Any]:
        """The value of "hypothesis" in JSON."""

    @abstractmethod
    def restore(self, value: object, where: str, words: Vocabulary) -> H:
        """The hypothesis that `describe` described; errors say `where` in the document."""

    @abstractmethod
    def cuts(self, hypothesis: H) -> Iterable[Predicate]:
        """The questions that it asks of features: a reader must be able to tell their cuts apart."""

    def aloud(self, hypothesis: H, words: Vocabulary, *, flat: bool = False) -> str:
        """The rules for people: numbers have as few digits as tell them apart."""
        spoken = words.rounding(self.cuts(hypothesis))
        told = self.rules(hypothesis, spoken, flat=flat)
        return told if flat or told == self.rules(hypothesis, words, flat=flat) else f"{told}\n\n{ROUNDED}"

    @abstractmethod
    def rules(self, hypothesis: H, words: Vocabulary, *, flat: bool) -> str: ...

    @abstractmethod
    def draw(self, hypothesis: H, words: Vocabulary, path: Path, caption: Caption) -> None: ...

    @abstractmethod
    def add_labels(self, hypothesis: H, graph: Graph) -> str:
        """Add the nodes that compute int64 labels 0, 1, … from the encoded table; return their name."""


class ScoredKind(Kind[H]):
    """A score decides between two labels, or one score a label, and there are probabilities and main effects.

    All of them are post-processing: it costs nothing to show them.
    """

    @abstractmethod
    def scores(self, hypothesis: H, points: Points) -> NDArray[np.float64]:
        """How far each of `points` is from the boundary, positive for label 1; or one column for each label."""

    @abstractmethod
    def probabilities(self, hypothesis: H, points: Points) -> NDArray[np.float64]:
        """How likely the model takes each label to be: one column a label, rows that add up to 1."""

    @abstractmethod
    def effects(self, hypothesis: H, schema: Schema, points: Points | None) -> Effects | None:
        """How the score moves with each column over public points or, without any, over made-up ones.

        None where rules say all that there is to say.
        """


def with_prior(
    probabilities: ArrayLike, prior: Sequence[float], weighted: Sequence[float] | None = None
) -> NDArray[np.float64]:
    """Return what `predict_proba` would be among records whose labels have other shares. Costs nothing.

    With `class_weight` or `sample_weight`, probabilities are about weighted records. Each probability is
    multiplied by `prior`/`weighted` of its label, and rows add up to 1 again. Records of one label are taken to be
    alike under both shares.

    Parameters
    ----------
    probabilities : array-like of shape (rows, C)
        What `predict_proba` gave.
    prior : sequence of C floats
        The shares of the labels, in their order, among the records to speak of: declared, up to a common factor. Not
        to be counted among private records. 1/w of the weights w of the labels undoes these weights.
    weighted : sequence of C floats or None, default None
        Their shares among the weighted records, up to a common factor. None: the same for all, as "balanced" aims at.

    Returns
    -------
    ndarray of shape (rows, C)

    Raises
    ------
    ParameterError
        When there is not one positive number for each label.

    Examples
    --------
    Half of the weight is on a label that 2 of 100 people have.

    >>> from pcqr.models import with_prior
    >>> with_prior([[0.5, 0.5], [0.1, 0.9]], prior=(0.98, 0.02)).round(3)
    array([[0.98 , 0.02 ],
           [0.845, 0.155]])
    """
    found = np.array(probabilities, dtype=np.float64)
    if found.ndim != 2:
        raise ParameterError("probabilities", "one column for each label, as `predict_proba` gives", "something else")
    for name, shares in (("prior", prior), ("weighted", weighted)):
        if shares is not None:
            factors = np.array(shares, dtype=np.float64)
            if factors.shape != found.shape[1:] or not (np.isfinite(factors) & (factors > 0.0)).all():
                raise ParameterError(name, f"{found.shape[1]} positive numbers, one for each label", shares)
            found *= factors if name == "prior" else 1.0 / factors
    found /= found.sum(axis=1, keepdims=True)
    return found
