"""Linear classifiers over public predicates: θ·φ(x) > 0, φ the integer feature map of `pcqr.records.features`.

A classifier uses the direction φ/‖φ‖ only, so every record weighs the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, Labels
from pcqr.records.features import Floats, LinearFeatures


@dataclass(frozen=True)
class LinearHypothesis(Hypothesis):
    """Label 1 where θ·φ(x) > 0: `feature_map` is φ, `weights` is θ. Both are public."""

    feature_map: LinearFeatures
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(map(float, self.weights)))
        if len(self.weights) != self.feature_map.size or not np.isfinite(self.weights).all():
            raise ParameterError("weights", f"{self.feature_map.size} finite numbers", f"{len(self.weights)} numbers")

    def decision_function(self, X: ArrayLike) -> Floats:
        """θ·φ/‖φ‖ of each row: positive for label 1, and larger the surer."""
        return self.feature_map.margins(np.array(self.weights), self.feature_map.encode(X))

    def predict(self, X: ArrayLike) -> Labels:
        return (self.decision_function(X) > 0.0).astype(np.int8)


@dataclass(frozen=True)
class OneAgainstRest(Hypothesis):
    """The class with the largest margin, the first one of equals: `members`[c] is for class c against the rest."""

    members: tuple[LinearHypothesis, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))
        if len(self.members) < 3 or len({member.feature_map for member in self.members}) > 1:
            raise ParameterError("members", "at least 3 with one feature map", f"{len(self.members)} members")

    def decision_function(self, X: ArrayLike) -> Floats:
        """The margin of each row, one column for each class."""
        feature_map = self.members[0].feature_map
        codes = feature_map.encode(X)
        return np.stack([feature_map.margins(np.array(member.weights), codes) for member in self.members], axis=1)

    def predict(self, X: ArrayLike) -> Labels:
        labels: Labels = self.decision_function(X).argmax(axis=1).astype(np.int8)
        return labels
