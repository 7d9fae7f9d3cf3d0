"""Which event tells two neighbours apart best? Chosen on runs that are then thrown away."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcqr.audit.statistical.bounds import least_epsilon

Tally = Mapping[Any, int]
"""How often each outcome was seen."""


@dataclass(frozen=True)
class Event:
    """A set of outcomes. `swapped`: it is more likely on the second neighbour than on the first."""

    outcomes: frozenset[Hashable]
    swapped: bool

    def hits(self, first: Tally, second: Tally) -> tuple[int, int]:
        """How often it happened on the neighbour where it is more likely, and on the other."""
        more, less = (second, first) if self.swapped else (first, second)
        return sum(more[o] for o in self.outcomes & more.keys()), sum(less[o] for o in self.outcomes & less.keys())

    def __str__(self) -> str:
        shown = sorted(map(str, self.outcomes))
        more = f" and {len(shown) - 2:,} more" if len(shown) > 2 else ""
        return f"{' or '.join(shown[:2])}{more}"


def best_event(first: Tally, second: Tally, delta: float, level: float) -> Event:
    """The set of outcomes with the largest `least_epsilon` on these runs, as many on either neighbour.

    Only sets {o : P(o)/Q(o) ≥ t} need to be looked at (Neyman and Pearson); the ratios are those of the counts, with
    ½ added to each, and both directions are tried. On these same runs the bound means nothing.
    """
    outcomes = sorted(first.keys() | second.keys(), key=str)
    p, q = (np.array([tally.get(o, 0) for o in outcomes], dtype=np.int64) for tally in (first, second))
    candidates = []
    for more, less, swapped in ((p, q, False), (q, p, True)):
        order = np.argsort(-(more + 0.5) / (less + 0.5), kind="stable")
        bounds = least_epsilon(more[order].cumsum(), less[order].cumsum(), int(more.sum()), delta, level)
        size = int(bounds.argmax()) + 1
        chosen = frozenset(outcomes[index] for index in order[:size])
        candidates.append((float(bounds.max()), Event(chosen, swapped)))
    return max(candidates, key=lambda candidate: candidate[0])[1]
