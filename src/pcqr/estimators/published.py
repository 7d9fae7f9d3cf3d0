"""Estimators that publish one hypothesis at `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pcqr.estimators.base import P, PrivateEstimator
from pcqr.estimators.labels import LabelArray
from pcqr.hypotheses.base import Hypothesis


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
