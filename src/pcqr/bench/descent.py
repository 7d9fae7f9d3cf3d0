"""Settings of a network by DP-SGD, from public numbers, and its noise for replacing one record."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution as pld

from pcqr.bench.outside.replacing import largest_mu

LITTLE = 10_000
"""Below this n·ε a short descent in long steps, above a long one in short steps."""
_TOLERANCE = 0.005


def settings(records: int, epsilon: float, delta: float) -> dict[str, Any]:
    """What did well on Adult and bank in benchmarks/dp_sgd.py, whose search saw test rows: in its favour.

    Nothing here depends on a record.
    """
    little = records * epsilon < LITTLE
    per_epoch, steps = (20, 150) if little else (50, 1200)
    return {
        "per_epoch": per_epoch,
        "steps": steps,
        "clip": 1.0,
        "rate": 8e-3 if little else 2e-3,
        "noise": noise_multiplier(epsilon, delta, per_epoch, steps),
    }


def settings_for(method: str, records: int, epsilon: float, delta: float) -> dict[str, Any]:
    """What a method is handed besides the task: none has any but a network."""
    return settings(records, epsilon, delta) if method == "dp-sgd-network" else {}


@cache
def noise_multiplier(epsilon: float, delta: float, per_epoch: int, steps: int) -> float:
    """The noise in units of C: each record is in a batch with chance 1/`per_epoch`, and replacing one is (ε, δ)-DP."""

    def suffices(noise: float) -> bool:
        return _epsilon(noise, delta, per_epoch, steps, epsilon) <= epsilon

    guess = 2.0 * math.sqrt(steps) / (per_epoch * largest_mu(epsilon, delta))  # right for much noise and few records
    low, high = guess / 1.1, guess * 1.1
    while not suffices(high):
        low, high = high, 1.2 * high
    while high > (1.0 + _TOLERANCE) * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _epsilon(noise: float, delta: float, per_epoch: int, steps: int, aim: float) -> float:
    one = pld.from_gaussian_mechanism(
        noise,
        sampling_prob=1.0 / per_epoch,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
        value_discretization_interval=min(1e-3, aim / 300.0),
        use_connect_dots=True,
    )
    return float(one.self_compose(steps).get_epsilon_for_delta(delta))
