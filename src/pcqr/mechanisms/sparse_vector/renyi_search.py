"""Which noise scales give the Rényi form the smallest margin? A search on closed forms, good to about one per cent.

Nothing here is relied on for privacy: whatever parameters come out, their guarantee is computed from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from pcqr.mechanisms.sparse_vector.margin import Floats

_POINTS, _ROUNDS = 12, 5


@dataclass(frozen=True)
class Design:
    """σ, c and j of `RenyiSparseVector`, and the share of δ that goes to labels that flip."""

    threshold_scale: float
    query_rate: float
    head_start: int
    flip_share: float


def smallest_design(epsilon: float, delta: float, unstable: int, queries: int, failure: float) -> Design:
    """The design of the smallest margin, up to the grid, that is (`epsilon`, `delta`)-DP with E = `unstable`.

    Free are c, the order α, the share of δ for flips and the share of `failure` for ρ; σ is what they leave of ε.
    The margin is that of a union bound: w + (ρ's reach) + (the reach of the noise of m = `queries` queries).
    """
    confidence = math.log(1.0 / delta)
    pure, concentrated = epsilon / (2.0 * unstable), epsilon / math.sqrt(8.0 * unstable * confidence)
    boxes = [  # of c, α − 1, both shares: logarithmic, closing in on the best point
        (max(pure, concentrated) / 8.0, 4.0 * (pure + concentrated)),
        (0.02 * confidence / epsilon, 60.0 * confidence / epsilon),
        (1e-3, 0.6),
        (0.02, 0.8),
    ]
    for _ in range(_ROUNDS):
        grids = [np.geomspace(*box, _POINTS) for box in boxes]
        c, above, flips, misses = np.ix_(*grids)
        cost = unstable_cost(c, above)
        left = epsilon - unstable * cost - conversion(above, (1.0 - flips) * delta)
        sigma = np.sqrt(0.5 * (1.0 + above) / np.maximum(left, 1e-12 * epsilon))
        head_start = np.maximum(0.0, np.floor(2.0 * _arccosh_of_exp(0.495 * cost) / c) - 2.0)  # a little spared
        reach = sigma * (_upper_quantile(flips * delta) + _upper_quantile(misses * failure))
        margin = reach + 2.0 / c * np.arccosh(np.sqrt(queries / failure / (1.0 - misses))) - head_start
        best = np.unravel_index(int(np.argmin(margin)), margin.shape)
        boxes = [
            (grid[max(0, i - 1)], grid[min(_POINTS - 1, i + 1)]) for grid, i in zip(grids, map(int, best), strict=True)
        ]
    i, j, k, _ = best
    return Design(float(sigma[i, j, k, 0]), float(grids[0][i]), int(head_start[i, j, 0, 0]), float(grids[2][k]))


def unstable_cost(c: Floats, above: Floats) -> Floats:
    """What one unstable answer costs at the orders 1 + `above`, head start aside."""
    cost: Floats = 2.0 * c - np.log1p(above * -np.expm1(-2.0 * c)) / above
    return cost


def conversion(above: Floats, delta: Floats) -> Floats:
    """What the conversion to (ε, `delta`) adds at the orders 1 + `above`."""
    added: Floats = (-np.log(delta) - above * np.log1p(1.0 / above) - np.log1p(above)) / above
    return added


def _arccosh_of_exp(exponent: Floats) -> Floats:
    found: Floats = exponent + np.log1p(np.sqrt(-np.expm1(-2.0 * exponent)))
    return found


def _upper_quantile(chances: Floats) -> Floats:
    normal = NormalDist()
    return np.array([-normal.inv_cdf(chance) for chance in chances.flat]).reshape(chances.shape)
