"""Slow learners, written from the words of each `learn`: all members in order of preference, the first of the best."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Iterable
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, Points
from pcqr.hypotheses.cuts import midpoint_cuts
from pcqr.hypotheses.intervals import Interval, Intervals
from pcqr.hypotheses.stumps import Stump, Stumps
from pcqr.hypotheses.thresholds import Threshold, Thresholds
from pcqr.hypotheses.unions import IntervalUnion, UnionsOfIntervals


@singledispatch
def slowly_learned(hypotheses: HypothesisClass, X: Points, y: Labels) -> Hypothesis:
    """What `hypotheses.learn(X, y)` must be."""
    raise NotImplementedError(type(hypotheses))


@slowly_learned.register
def _(hypotheses: Thresholds, X: Points, y: Labels) -> Hypothesis:
    cuts = edges(X[:, 0])
    mirrors = [Threshold(cut, up=False) for cut in cuts[1:-1]] if hypotheses.direction == "both" else []
    return first_of_the_best([*(Threshold(cut) for cut in cuts), *mirrors], X, y)


@slowly_learned.register
def _(hypotheses: Intervals, X: Points, y: Labels) -> Hypothesis:  # noqa: ARG001
    ends = edges(X[:, 0])
    intervals = [Interval(low, high) for right, high in enumerate(ends) for low in ends[:right]]
    return first_of_the_best([Interval(0.0, 0.0), *intervals], X, y)


@slowly_learned.register
def _(hypotheses: UnionsOfIntervals, X: Points, y: Labels) -> Hypothesis:
    places = edges(X[:, 0])[:-1]
    unions = [
        IntervalUnion(switches)
        for count in range(min(2 * hypotheses.r, len(places)) + 1)
        for switches in sorted(itertools.combinations(places, count), key=lambda switches: switches[::-1])
    ]
    return first_of_the_best(unions, X, y)


@slowly_learned.register
def _(hypotheses: Stumps, X: Points, y: Labels) -> Hypothesis:
    features = X.shape[1]
    best = first_of_the_best([Stump(0, cut, True, features) for cut in (math.inf, -math.inf)], X, y)
    for feature, above in itertools.product(range(features), (True, False)):
        stumps = [Stump(feature, cut, above, features) for cut in cuts_of(hypotheses, feature, X)]
        error_counts = [wrong(stump, X, y) for stump in stumps]
        if stumps and min(error_counts) < wrong(best, X, y):
            runs = itertools.groupby(stumps, key=lambda stump: wrong(stump, X, y) == min(error_counts))
            run = next(list(members) for is_best, members in runs if is_best)
            best = run[(len(run) - 1) // 2]
    return best


def cuts_of(hypotheses: Stumps, feature: int, X: Points) -> list[float]:
    if hypotheses.cuts is None:
        return edges(X[:, feature])[1:-1]
    return np.array(hypotheses.cuts if hypotheses.features is None else hypotheses.cuts[feature]).tolist()  # type: ignore[no-any-return]


def edges(values: Points) -> list[float]:
    """−∞, a cut between any two neighbouring values, +∞."""
    distinct = np.array(sorted(set(values.tolist())))
    return [-math.inf, *midpoint_cuts(distinct).tolist(), math.inf]


def wrong(hypothesis: Hypothesis, X: Points, y: Labels) -> int:
    return int((hypothesis.predict(X) != y).sum())


def first_of_the_best(members: Iterable[Hypothesis], X: Points, y: Labels) -> Hypothesis:
    return min(members, key=lambda member: wrong(member, X, y))


class Odd(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says what its part has most of, and misbehaves on parts with a first record of positive first feature."""

    def __init__(self, how: str = "raise") -> None:
        self.how = how

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Odd:
        self.bad_, self.label_ = bool(X[0, 0] > 0), np.bincount(y).argmax()
        if self.bad_ and self.how == "raise":
            raise ValueError("a private value: 0.731")
        if self.how == "warn":
            warnings.warn("a private value: 0.731", stacklevel=1)
        self.drawn_ = (np.random.random(3 if self.bad_ else 1)[-1], random.random()) if self.how == "draw" else None  # noqa: NPY002, S311
        return self

    def predict(self, X: NDArray[np.float64]) -> Any:
        if self.how == "warn":
            warnings.warn("a private value: 0.731", stacklevel=1)
        if self.bad_ and self.how == "raise when asked":
            raise ValueError("a private value: 0.731")
        if self.drawn_ is not None:
            return np.full(len(X), int(sum(self.drawn_) > 1.0))
        return np.full(len(X), 7 if self.bad_ and self.how == "another label" else self.label_)
