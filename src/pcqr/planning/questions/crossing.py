"""How much can be asked of n records: where a function that grows nearly as a power crosses n, in few evaluations.

What n records are enough for is found from below, as an evaluation is a search of its own (`fewest_records`) and not
exact: the answer is a demand that was tried and found to need no more than n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_CLOSE = 1.03
"""The search ends when what is too hard is less than so many times what is not,"""
_USED = 0.985
"""or when so much of the n records is needed."""
_NEARLY, _EASED = 3.0, 0.95
"""A start that needs less than so many times n is eased in proportion, and by so much more, and tried again."""
_LEAST_SLOPE, _SHORT, _EDGE = 0.1, 0.01, 0.1
"""A secant is at least so steep, aims so much short of ln n, and stays off both ends by this share of what is left."""


def hardest_demand(
    needed: Callable[[float], float], available: int, starts: Sequence[float], limit: float, rounds: int
) -> float | None:
    """About the largest demand u ≤ `limit` with `needed`(u) ≤ n = `available`; None if no start has enough.

    `needed` grows with u, nearly as a power of it, and is ∞ where nothing is enough: secants between logarithms find
    the crossing in a few `rounds` from the first of `starts` that n is enough for.
    """
    bracket = _first_bracket(needed, available, starts)
    if bracket is None:
        return None
    for _ in range(rounds):
        if bracket.easy >= limit or bracket.is_close:
            break
        demand = min(bracket.crossing(), limit)
        bracket.narrow(demand, needed(demand))
    return bracket.easy


def _first_bracket(needed: Callable[[float], float], available: int, starts: Sequence[float]) -> _Bracket | None:
    waiting, tried = list(starts), dict[float, float]()
    while waiting:
        easy = waiting.pop(0)
        at_easy = tried[easy] = needed(easy)
        if at_easy <= available:
            known = {demand: at for demand, at in tried.items() if demand >= easy and math.isfinite(at)}
            hard = min((demand for demand in tried if demand > easy), default=math.inf)
            return _Bracket(available, easy, hard, known)
        if at_easy < _NEARLY * available and easy in starts and easy > min(starts):
            waiting.insert(0, max(min(starts), _EASED * easy * available / at_easy))
    return None


@dataclass
class _Bracket:
    """Where the crossing lies: n = `available` records are enough for u = `easy`, and not for u = `hard`."""

    available: int
    easy: float
    hard: float
    known: dict[float, float]
    """The records that demands need, ln of which is nearly linear in ln u: `easy` and harder ones."""

    @property
    def is_close(self) -> bool:
        return self.hard < _CLOSE * self.easy or self.known[self.easy] > _USED * self.available

    def narrow(self, demand: float, needed: float) -> None:
        """Take in that `demand` needs so many records."""
        if needed > self.available:
            self.hard = demand
        else:
            self.easy = demand
        if math.isfinite(needed):
            self.known[demand] = needed

    def crossing(self) -> float:
        """Where ln(needed) as a function of ln u crosses ln(n), kept off the ends of what is left: (easy, hard).

        By the secant through the two `known` points next to it; without a `hard` end yet a little farther, so as to
        find one; with one a little less far, since the search for the fewest records is not exact.
        """
        near = sorted(self.known.items(), key=lambda point: abs(math.log(point[1] / self.available)))[:2]
        slope = 1.0
        if len(near) > 1:
            (u, at_u), (v, at_v) = near
            slope = max(_LEAST_SLOPE, math.log(at_u / at_v) / math.log(u / v))
        aim = math.log(self.available / near[0][1])
        if math.isinf(self.hard):
            return _CLOSE * max(near[0][0] * math.exp(aim / slope), self.easy)
        if max(self.known) <= self.easy:
            return math.sqrt(self.easy * self.hard)  # nothing is known of the hard side
        demand = near[0][0] * math.exp((aim - _SHORT) / slope)
        edge = math.pow(self.hard / self.easy, _EDGE)
        return min(max(demand, self.easy * edge), self.hard / edge)
