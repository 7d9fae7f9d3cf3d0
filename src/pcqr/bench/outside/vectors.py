"""Public questions as vectors, for linear models and networks. Needs NumPy alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pcqr.bench.outside.task import Points, Task

LEAST_DEVIATION = 0.1
CAP = 4.0
CONSTANT = 3.0
"""Beside predicates in standard units: with 1 the labels' shares are learned too late. Found on Adult and bank."""

Map = Callable[[Points], Points]


def unit_vectors(task: Task) -> Map:
    """Predicates in standard units by the public rows and a constant, divided by their norm."""
    shown = task.held(task.public)
    centre, scale = shown.mean(axis=0), 1.0 / np.maximum(shown.std(axis=0), LEAST_DEVIATION)

    def vectors(X: Points) -> Points:
        entries = np.column_stack([(task.held(X) - centre) * scale, np.full(len(X), CONSTANT)])
        made: Points = entries / np.linalg.norm(entries, axis=1, keepdims=True)
        return made

    return vectors


def standard_vectors(task: Task) -> Map:
    """Columns that vary among the public rows, and predicates, in standard units by them, cut at ±`CAP`."""
    kept = np.flatnonzero(np.ptp(task.public, axis=0) > 0.0)

    def both(X: Points) -> Points:
        return np.column_stack([X[:, kept], task.held(X)])

    shown = both(task.public)
    centre, scale = shown.mean(axis=0), 1.0 / np.maximum(shown.std(axis=0), 1e-9)

    def vectors(X: Points) -> Points:
        made: Points = np.clip((both(X) - centre) * scale, -CAP, CAP)
        return made

    return vectors
