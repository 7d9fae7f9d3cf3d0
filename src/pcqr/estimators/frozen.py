"""Transformers for a pipeline before a private estimator: fitted on public rows, then never again.

A scaler, an imputer or an encoder that a pipeline fits on private records looks at all of them, and what it learns is
in every answer: no ε covers it. No estimator can see what stands before it. So the transformer is fitted here, on rows
that are free to be shown, and frozen: the pipeline's `fit` leaves it as it is, and so does `sklearn.clone`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from pcqr.errors import DataError, ParameterError

_MOST_TRIED = 64


def fitted_on_public(transformer: Any, public: Any) -> FrozenEstimator:
    """A clone of a transformer, fitted on public rows and frozen: safe before a private estimator in a pipeline.

    **Calling this declares that `public` may be shown**: never pass private records.

    The guarantee of what comes after rests on a second promise, too: `transform` treats every row by itself. It is
    tried out on pairs of public rows, whose first one must come out the same, bit for bit, whatever the second one is;
    a transformer that compares or averages the rows that it is given is refused. That is a test and no proof.

    Parameters
    ----------
    transformer : scikit-learn transformer
        It is cloned, and the clone is fitted.
    public : table or array-like of shape (rows, columns)
        At least 3 public rows.

    Returns
    -------
    sklearn.frozen.FrozenEstimator
        A transformer that neither `fit` nor `clone` changes.

    Raises
    ------
    ParameterError
        When it is no transformer, or what it makes of a row depends on the other rows.
    DataError
        When there are fewer than 3 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pcqr import fitted_on_public
    >>> scaler = fitted_on_public(StandardScaler(), np.array([[0.0], [5.0], [10.0]]))
    >>> scaler.fit([[1000.0]], None).transform([[5.0]])  # what it was fitted on stays
    array([[0.]])
    """
    if not hasattr(transformer, "transform"):
        raise ParameterError(
            "transformer", "a transformer: an object with fit and transform", type(transformer).__name__
        )
    count = len(public)
    if count < 3:
        raise DataError("public", "at least 3 rows, to see that each is transformed by itself", f"{count} rows")
    fitted = clone(transformer).fit(public)
    for row in np.unique(np.linspace(0, count - 1, _MOST_TRIED).astype(int)).tolist():
        others = (row + 1) % count, (row - 1) % count
        first, second = (_first_row(fitted.transform(_rows(public, [row, other]))) for other in others)
        if first is None or first != second:
            raise ParameterError(
                "transformer",
                "one whose transform treats every row by itself; what it makes of a row here depends on the other rows",
                type(transformer).__name__,
            )
    return FrozenEstimator(fitted)


def _rows(table: Any, places: list[int]) -> Any:
    """These rows of a frame or an array, as the same kind of table."""
    if hasattr(table, "iloc"):
        return table.iloc[places]
    return table[places] if hasattr(table, "columns") or hasattr(table, "tocsr") else np.asarray(table)[places]


def _first_row(transformed: Any) -> list[str] | None:
    """The first of two rows, cell by cell, as text that is the same for the same bits. None if they are not two."""
    dense = transformed.toarray() if hasattr(transformed, "toarray") else np.asarray(transformed)
    return [repr(cell) for cell in dense[0].tolist()] if dense.shape[0] == 2 else None
