"""Exact laws: of the sampler's own code path, and of the naive enumeration that it must agree with."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.privacy.noise import Chooser, log_normaliser

Pattern = tuple[int, ...]


class ScriptedChooser:
    """Follows a given prefix of choices, then always takes the first; records how many options each step had."""

    def __init__(self, script: list[int]) -> None:
        self.script = script
        self.options: list[int] = []
        self.log_probability = 0.0

    def __call__(self, log_weights: NDArray[np.float64]) -> int:
        step = len(self.options)
        index = self.script[step] if step < len(self.script) else 0
        self.options.append(log_weights.size)
        self.log_probability += float(log_weights[index]) - log_normaliser(log_weights)
        return index


def sampler_outcomes(
    hypotheses: HypothesisClass, X: ArrayLike, y: ArrayLike, eta: float, public: ArrayLike | None = None
) -> list[tuple[Hypothesis, float]]:
    """Every hypothesis that the sampler can return, with the exact log-probability of that path of choices."""
    points, labels = hypotheses.check_records(X, y)
    shown = None if public is None else hypotheses.check_points(public)
    outcomes: list[tuple[Hypothesis, float]] = []
    script: list[int] = []
    while True:
        chooser = ScriptedChooser(script)
        drawn = hypotheses._draw(points, labels, eta, shown, cast(Chooser, chooser))
        outcomes.append((drawn, chooser.log_probability))
        taken = script + [0] * (len(chooser.options) - len(script))
        while taken and taken[-1] + 1 == chooser.options[len(taken) - 1]:
            taken.pop()
        if not taken:
            return outcomes
        taken[-1] += 1
        script = taken


def sampler_law(
    hypotheses: HypothesisClass, X: ArrayLike, y: ArrayLike, eta: float, public: ArrayLike | None = None
) -> dict[Pattern, float]:
    """ln P(pattern on X), or on `public` when that is given, of the sampler's own code path."""
    where = X if public is None else public
    mass: dict[Pattern, list[float]] = defaultdict(list)
    for hypothesis, log_probability in sampler_outcomes(hypotheses, X, y, eta, public):
        mass[tuple(map(int, hypothesis.predict(where)))].append(math.exp(log_probability))
    return {pattern: math.log(math.fsum(parts)) for pattern, parts in mass.items()}


def brute_force_law(hypotheses: HypothesisClass, X: ArrayLike, y: ArrayLike, eta: float) -> dict[Pattern, float]:
    """ln P(pattern on X) from `enumerate`: weight e^{−η·mistakes} for each of its rows, rows with one pattern added."""
    rows = hypotheses.enumerate(X)
    error_counts = (rows != np.asarray(y)[None, :]).sum(axis=1)
    weights = np.exp(-eta * error_counts.astype(np.float64))
    total = math.fsum(weights)
    mass: dict[Pattern, list[float]] = defaultdict(list)
    for row, weight in zip(rows, weights, strict=True):
        mass[tuple(map(int, row))].append(float(weight))
    return {pattern: math.log(math.fsum(parts) / total) for pattern, parts in mass.items()}
