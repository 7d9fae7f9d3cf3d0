"""How often an estimator and its clones were fitted: all that can be seen of a search or a cross-validation.

A search clones an estimator and fits every clone, each time a release of its own. Clones and their original share one
counter, and nothing else: no table is remembered, and nothing is counted across estimators or processes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

from sklearn.base import BaseEstimator

from pcqr.errors import FittedAgain


@dataclass
class _Fits:
    count: int = 0


class CountedCopies(BaseEstimator):  # type: ignore[misc]
    """An estimator that knows how often it and its clones were fitted."""

    _fits: _Fits

    def __sklearn_clone__(self) -> Self:
        copy: Self = super().__sklearn_clone__()
        copy._fits = self._shared_fits()
        return copy

    def _count_fit(self) -> None:
        """One more release is about to be drawn. Says so, once, when it is the second."""
        fits = self._shared_fits()
        fits.count += 1
        if fits.count == 2:
            warnings.warn(
                "This estimator, or a copy of it, was fitted before. Every fit is a release of its own: where two of "
                "them share records, their ε and δ add up. Cross-validation, parameter searches and "
                "CalibratedClassifierCV fit many: an account (account=NAME) counts all of them, and public rows can "
                "choose parameters at no cost. What a search, a calibrator or a threshold learns from the labels "
                "beside these fits has no noise: give it labels that are public. "
                "Bagging also repeats records: one that is k times in what a fit gets has k·ε by that fit alone.",
                FittedAgain,
                stacklevel=4,
            )

    def _share_fits(self, other: CountedCopies) -> None:
        """Count fits of another estimator as fits of this one."""
        other._fits = self._shared_fits()

    def _shared_fits(self) -> _Fits:
        if "_fits" not in vars(self):
            self._fits = _Fits()
        return self._fits
