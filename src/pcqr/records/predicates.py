"""Public predicates: the only questions that a published tree may ask about a record.

A predicate is `x[feature] > cut` on the encoded table; a one-hot column cut at ½ reads "is this category". Where they
come from: `pcqr.hypotheses.trees.predicates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_finite, check_integer, keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.records.arrays import Points


@dataclass(frozen=True, order=True)
class Predicate(Document):
    """A question about one column of the encoded table: x[feature] > cut. Public.

    Parameters
    ----------
    feature : int
        The column, from 0.
    cut : float
        What it is compared with, finite.

    Raises
    ------
    ParameterError
        When the column is no integer ≥ 0, or the cut is not finite.

    Examples
    --------
    >>> from pcqr.hypotheses.trees import Predicate
    >>> Predicate(0, 37.5)
    Predicate(feature=0, cut=37.5)
    """

    feature: int
    cut: float

    def __post_init__(self) -> None:
        check_integer("feature", self.feature, least=0)
        check_finite("cut", self.cut)
        keep_plain(self, floats=("cut",), integers=("feature",))


Predicates = tuple[Predicate, ...]


def check_predicates(predicates: Predicates, features: int) -> None:
    """At least one, all on columns of a table with `features` of them."""
    if not predicates or not all(isinstance(predicate, Predicate) for predicate in predicates):
        raise ParameterError("predicates", "at least one Predicate", f"{len(predicates)} entries")
    if any(predicate.feature >= features for predicate in predicates):
        raise ParameterError("predicates", f"on columns 0 to {features - 1}", max(predicates).feature)


def evaluate(predicates: Sequence[Predicate], X: Points) -> NDArray[np.bool_]:
    """One column for each predicate: does it hold in the row?"""
    holds = np.empty((X.shape[0], len(predicates)), dtype=np.bool_)
    for place, predicate in enumerate(predicates):
        holds[:, place] = X[:, predicate.feature] > predicate.cut
    return holds
