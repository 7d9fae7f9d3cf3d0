"""Points and labels in memory: a float64 table of finite numbers, and integers 0, …, C−1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.errors import DataError

Points = NDArray[np.float64]
Labels = NDArray[np.int8]


def as_points(X: ArrayLike, features: int | None = None, *, name: str = "X", owner: str = "the class") -> Points:
    """`X` as a C-ordered float64 table of finite numbers, with `features` columns if that is not None."""
    points = _numbers(X)
    if points is None:
        raise DataError(name, "a table of numbers", "values that are not numbers")
    if points.ndim == 1:
        points = points.reshape(-1, 1)
    if points.ndim != 2 or points.shape[0] == 0 or points.shape[1] == 0:
        raise DataError(name, "a table with at least one row and one column", f"shape {points.shape}")
    if features is not None and points.shape[1] != features:
        raise DataError(name, f"a table with {features} column(s) for {owner}", f"{points.shape[1]} columns")
    if not np.isfinite(points).all():
        raise DataError(name, "finite numbers", "NaN or infinity")
    # −0.0 becomes 0.0, so that equal points have equal bits; tables are large, so no copy is made for nothing.
    return points + 0.0 if (np.signbit(points) & (points == 0)).any() else points


def _numbers(X: ArrayLike) -> Points | None:
    """Return `X` as float64, None if that fails. Drop numpy's error, which quotes a cell."""
    try:
        raw = np.asanyarray(X)
        if raw.dtype.kind in "mM" or isinstance(raw, np.ma.MaskedArray):
            return None
        return np.ascontiguousarray(raw, dtype=np.float64)
    except Exception:
        return None


def as_labels(y: Any, labels: int = 2) -> Labels:
    """`y` as a vector of integers 0, …, `labels`−1."""
    try:
        values = np.asarray(y)
    except Exception:
        values = np.empty(0, dtype=object)
    if values.ndim != 1:
        raise DataError("y", "a vector of labels", f"shape {values.shape}")
    if values.dtype.kind not in "biuf" or not np.isin(values, np.arange(labels)).all():
        allowed = "labels that are 0 or 1" if labels == 2 else f"labels that are integers from 0 to {labels - 1}"
        raise DataError("y", allowed, "other values")
    return values.astype(np.int8)
