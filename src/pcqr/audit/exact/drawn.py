"""The exact law of a choice, and of one noisy sum that always comes after it.

A linear classifier beside a tree is of this kind: the tree is drawn, and a noisy sum follows, whose length and law may depend on the
tree. All that is drawn before the sum is walked through. Given that, what tells two tables apart is on which side of a
plane the sum lies (sums.py), so it may have several coordinates, and noise of any scale:

    δ(ε) = Σ over ways b of the largest P(b)·P_b(O) − e^ε·Q(b)·Q_b(O),   O a half-space.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcqr.audit.exact.curves import smallest_epsilon
from pcqr.audit.exact.events import Unverifiable
from pcqr.audit.exact.integers import Integers, NoiseLaw
from pcqr.audit.exact.sums import HalfSpace, NoisySum, SumGame, SumLaw
from pcqr.audit.exact.turns import Followed
from pcqr.audit.exact.verify import Case
from pcqr.audit.exact.walk import intercepted, walk

Way = tuple[Hashable, Hashable]
"""What is shown when the sum comes to 0, and to a vector without equal entries."""


@dataclass(frozen=True)
class DrawnLaw:
    """How likely each way is, and the sum that it leads to."""

    masses: dict[Way, float]
    sums: dict[Way, NoisySum]
    truncated: float


@dataclass(frozen=True)
class DrawnGame:
    """What can be told of two such laws by whoever sees the way and the sum."""

    first: DrawnLaw
    second: DrawnLaw

    @property
    def truncated(self) -> float:
        """What to add to a computed δ for it to be an upper bound (proofs/audit.md)."""
        return max(self.first.truncated, self.second.truncated)

    def delta_at(self, epsilon: float) -> float:
        """δ(ε), the larger of the two directions."""
        return max(math.fsum(self._gains(epsilon, *pair).values()) for pair in self._directions)

    def epsilon_at(self, delta: float, least: float = 0.0) -> float:
        """The smallest ε ≥ `least` with δ(ε) ≤ `delta`; infinite where there is none."""
        return smallest_epsilon(self.delta_at, delta, least) if delta > 0.0 else math.inf

    def divergence(self, order: float) -> float:
        """The Rényi divergence of `order` α > 1, the larger of the two directions."""
        return max(_renyi(p, q, order) for p, q in self._directions)

    def tell_tale(self, epsilon: float) -> tuple[Way, HalfSpace]:
        """The way that gains most at ε, and the plane beyond which its sum speaks for the first table."""
        gains, p, q = max(
            ((self._gains(epsilon, *pair), *pair) for pair in self._directions), key=lambda each: sum(each[0].values())
        )
        way = max(gains, key=lambda each: gains[each])
        if _is_apart(way, p, q):
            return way, HalfSpace((0,) * len(p.sums[way].total), -1)
        return way, _game(way, p, q).tell_tale(epsilon + math.log(q.masses[way] / p.masses[way]))

    @property
    def _directions(self) -> tuple[tuple[DrawnLaw, DrawnLaw], tuple[DrawnLaw, DrawnLaw]]:
        return (self.first, self.second), (self.second, self.first)

    def _gains(self, epsilon: float, p: DrawnLaw, q: DrawnLaw) -> dict[Way, float]:
        return {way: _gain(way, p, q, epsilon) for way in p.masses}


@dataclass(frozen=True)
class DrawnCase(Case):
    """The case of a release that draws by choice, and then always makes one noisy sum.

    What is shown is looked at with two values of the sum, and both are part of an outcome. Were it not a function of
    choices and of the sum, it would differ between tables, and the loss would be infinite.
    """

    def law(self, given: Any) -> DrawnLaw:
        masses: dict[Way, float] = {}
        sums: dict[Way, NoisySum] = {}
        truncated = 0.0
        with intercepted():
            for still, moved in zip(self._ways(given, Followed), self._ways(given, _Moved), strict=True):
                (shown, tape), (also_shown, _) = still, moved
                way, (noisy,) = (shown, also_shown), tape.sums
                if sums.setdefault(way, noisy) != noisy:
                    raise Unverifiable("Ways that look alike lead to different sums: their law is a mixture.")
                masses[way] = masses.get(way, 0.0) + tape.mass
                truncated = max(truncated, tape.truncated + len(noisy.total) * noisy.law.truncated)
        return DrawnLaw(masses, sums, truncated)

    def _ways(self, given: Any, kind: type[Followed]) -> Iterator[tuple[Hashable, Followed]]:
        """What is shown on each way, and the tape of it."""
        for tape, _ in walk(lambda: (kind(()), None)):
            shown = self.start(given, tape).ask(None)
            tape.check(0)
            if not tape.sums:
                raise Unverifiable("No sum was drawn on one of the ways.")
            yield shown, tape

    def game(self, first: DrawnLaw, second: DrawnLaw) -> DrawnGame:
        return DrawnGame(first, second)

    def told(self, game: DrawnGame, epsilon: float) -> tuple[tuple[Any, ...], tuple[Hashable, ...]]:
        (shown, _), plane = game.tell_tale(epsilon)
        return (None,), (f"{shown} if the sum came to 0, and it came to θ with {plane}",)


class _Moved(Followed):
    """Lets a sum come to 1, 2, 3 and so on."""

    def announce(self, total: Integers, law: NoiseLaw) -> Integers:
        super().announce(total, law)
        return np.arange(1, total.size + 1).reshape(total.shape)


def _game(way: Way, p: DrawnLaw, q: DrawnLaw) -> SumGame:
    return SumGame(SumLaw(p.sums[way], ()), SumLaw(q.sums[way], ()))


def _is_apart(way: Way, p: DrawnLaw, q: DrawnLaw) -> bool:
    """Does the way itself, or the length of its sum, tell that it is not the second law?"""
    return not q.masses.get(way) or len(p.sums[way].total) != len(q.sums[way].total)


def _gain(way: Way, p: DrawnLaw, q: DrawnLaw, epsilon: float) -> float:
    if _is_apart(way, p, q):
        return p.masses[way]
    return _game(way, p, q).gain(epsilon, p.masses[way], q.masses[way])


def _renyi(p: DrawnLaw, q: DrawnLaw, order: float) -> float:
    """ln Σ_b P(b)^α·Q(b)^{1−α}·e^{(α−1)·D_b} / (α − 1), D_b that of the sums."""
    if any(_is_apart(way, p, q) for way, mass in p.masses.items() if mass):
        return math.inf
    logs = [
        order * math.log(mass) - (order - 1.0) * (math.log(q.masses[way]) - _game(way, p, q).divergence(order))
        for way, mass in p.masses.items()
        if mass
    ]
    return float(np.logaddexp.reduce(logs)) / (order - 1.0)
