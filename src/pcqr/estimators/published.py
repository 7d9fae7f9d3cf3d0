"""Estimators that publish one hypothesis at `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from pcqr.estimators.base import P, PrivateEstimator
from pcqr.estimators.labels import LabelArray, label_cells
from pcqr.hypotheses.base import Hypothesis
from pcqr.schema.cells import weights
from pcqr.schema.label_column import places_among


class PublishedEstimator(PrivateEstimator[P]):
    """Publishes one hypothesis at `fit`, and predicts by it from then on."""

    hypothesis_: Hypothesis

    @np.errstate(all="ignore")
    def predict(self, X: Any) -> LabelArray:
        """The published classifier on rows. Costs nothing, however often.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            As in `fit`.

        Returns
        -------
        ndarray of shape (rows,)
            Label names.

        Raises
        ------
        DataError
            When the rows cannot be read as those of `fit`.
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "plan_")
        return self.classes_[self.hypothesis_.predict(self._table(X, self.schema_))]

    @np.errstate(all="ignore")
    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> float:
        """Return the share of rows of `X` that `predict` gives the label in `y`. With private labels that is a release.

        Labels are compared by what they mean, as `fit` does, and no error quotes one.
        """
        check_is_fitted(self, "plan_")
        found = self.hypothesis_.predict(self._table(X, self.schema_))
        truth = places_among(self.classes_, label_cells(y))
        by_row = weights(sample_weight)
        check_consistent_length(found, truth, by_row)
        return float(np.average(found == truth, weights=by_row))
