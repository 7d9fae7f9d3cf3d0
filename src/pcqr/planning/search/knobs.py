"""Pattern search over a few positive knobs: deterministic, local, and judged by nothing but its objective."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Knobs = Mapping[str, float]

COARSE, FINE = (2.0, 1.4, 1.18, 1.08), (1.25, 1.12)
_WHOLE = frozenset({"unstable", "teachers"})


def smallest(
    objective: Callable[[Knobs], float],
    starts: Sequence[Knobs],
    bounds: Mapping[str, tuple[float, float]],
    steps: tuple[float, ...] = COARSE,
) -> Knobs:
    """Knobs with a small `objective`: from the best of `starts`, move one knob at a time by a factor while that helps,
    then by a smaller one. A knob whose two `bounds` are equal stays where it is.
    """
    seen: dict[tuple[float, ...], float] = {}

    def value(knobs: Knobs) -> float:
        key = tuple(knobs.values())
        if key not in seen:
            seen[key] = objective(knobs)
        return seen[key]

    best = min(({name: _within(name, start[name], bounds[name]) for name in start} for start in starts), key=value)
    for step in steps:
        improved = True
        while improved:
            improved = False
            for name in best:
                for factor in (step, 1.0 / step):
                    moved = best | {name: _within(name, _moved(name, best[name], factor), bounds[name])}
                    if value(moved) < value(best):
                        best, improved = moved, True
                        break
    return best


def _moved(name: str, value: float, factor: float) -> float:
    """`value` times `factor`; whole numbers move by one at least, odd ones by two."""
    if name not in _WHOLE:
        return value * factor
    least = 2.0 if name == "teachers" else 1.0
    return max(value + least, value * factor) if factor > 1.0 else min(value - least, value * factor)


def _within(name: str, value: float, bounds: tuple[float, float]) -> float:
    inside = min(max(value, bounds[0]), bounds[1])
    if name == "teachers":
        return float(2 * math.floor((inside - 1.0) / 2.0) + 1)
    return float(round(inside)) if name in _WHOLE else inside
