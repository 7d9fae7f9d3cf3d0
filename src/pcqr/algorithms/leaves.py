"""A run that takes one of several ways, by what it released before: the worst of them, and the sum of their δ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from pcqr.guarantee import Guarantee, rounded_up

_ROUNDING = 1e-9  # relative: sums of δ are rounded up


def shares(delta: float, first: float) -> tuple[float, float]:
    """`delta` in two parts, the `first` a share of it, that add up to no more than δ after rounding."""
    return first * delta, (1.0 - first) * delta * (1.0 - _ROUNDING)


def worst_leaf(leaves: Mapping[str, Guarantee], *, proof: str) -> Guarantee:
    """The guarantee of a run that ends in one of `leaves`, each with all that led there (proofs/counted.md).

    Which one is a function of what was released on the way. ε is the largest, and all δ add up.
    """
    worst = max(leaves.values(), key=lambda leaf: leaf.epsilon)
    delta = math.fsum(leaf.delta for leaf in leaves.values())
    steps = tuple(f"where it is {name}: {step}" for name, leaf in leaves.items() for step in leaf.steps)
    every = replace(worst, delta=rounded_up(delta), steps=steps, proof=proof)
    return every.assuming(*(assumption for leaf in leaves.values() for assumption in leaf.assumptions))
