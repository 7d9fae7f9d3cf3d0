"""The shipped samplers of noise: the law that each of them draws from, found by walking, and what it gives away.

All other cases take noise to have the laws of `integers.py`. Here the compiled samplers themselves are walked through
(words.py, races.py): their laws are compared with those, and 0 or 1 is shown with such noise added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from pcqr import noise
from pcqr.accounting.events import Event
from pcqr.audit.exact.integers import NoiseLaw
from pcqr.audit.exact.races import keeps_draws_in_progress, race_law, with_coin
from pcqr.audit.exact.sessions import Conversations, Once
from pcqr.audit.exact.verify import Case
from pcqr.audit.exact.words import Attempts, Counted, Draw
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.noise.blocks import GAUSSIAN, GEOMETRIC, Blocks, blocks

FALL = 55.0
"""Draws are looked at as far as their chance is e^{−FALL} of the largest: well beyond the 63 bits of a first word."""

MOST_MISSING = 2.0**-45
"""More than may be left open: a few of 2⁶³ words at each border."""


MOST_ITEMS = 16
"""Geometric draws that one of the sech² law takes on average, at most (`pcqr.noise.laws`: 14)."""


class SampledLaw(NamedTuple):
    """What a sampler draws: z with the chance `masses[z]`. `missing` bounds the chance of what was not followed."""

    masses: dict[int, float]
    missing: float


@dataclass(frozen=True)
class Sampler:
    """A sampler of the law with this `name` in `pcqr.noise`, at this scale: the shipped one unless a `draw` is given.

    As a mechanism it shows a count with noise added, and what lies beyond all that is looked at as the furthest of it.
    """

    name: str
    scale: float
    draw: Draw | None = None

    def __call__(self, count: int, entropy: Entropy) -> str:
        return str(max(-self.reach, min(self.reach, count + self._draw(self.scale, entropy))))

    @property
    def reach(self) -> int:
        """The largest magnitude that is looked at."""
        return math.floor(self.scale * (math.sqrt(2.0 * FALL) if self._power == GAUSSIAN else FALL))

    @property
    def width(self) -> int:
        """Of a block: 1 where the place in the table is the draw itself."""
        return 1 << self._table.bits

    @cached_property
    def law(self) -> SampledLaw:
        """Of one draw: that of an attempt, given that it is not refused."""
        counted = self._counted
        masses = _normalised(counted)
        within = {z: mass for z, mass in masses.items() if abs(z) <= self.reach}
        missing = float(counted.missing) + math.fsum(masses[z] for z in masses.keys() - within.keys())
        if self._is_of_races:
            return SampledLaw(race_law(masses, self.reach), MOST_ITEMS * missing)
        return SampledLaw(within, missing)

    @property
    def bias(self) -> float:
        """The largest relative difference between the chance of a draw and the one that all other cases go by."""
        law, stated = self.law, NoiseLaw(self.name, self.scale).measure
        drawn = range(max(stated.low, -self.reach), self.reach + 1)
        if law.missing > MOST_MISSING or law.masses.keys() - drawn:
            return math.inf
        if self._is_of_races and not keeps_draws_in_progress(self.scale, self._counted.examples):
            return math.inf
        return max(abs(law.masses.get(z, 0.0) / float(stated.weights[z - stated.low]) - 1.0) for z in drawn)

    @cached_property
    def _counted(self) -> Counted:
        draw = with_coin if self._is_of_races else self._draw
        return Attempts(draw, self.scale, self._table).counted()

    @property
    def _draw(self) -> Draw:
        shipped: Draw = getattr(noise, self.name)
        return self.draw or shipped

    @property
    def _table(self) -> Blocks:
        return blocks(self._power, self.scale)

    @property
    def _power(self) -> int:
        return GAUSSIAN if self.name == "discrete_gaussian" else GEOMETRIC

    @property
    def _is_of_races(self) -> bool:
        return self.name == "sech_squared"


def _normalised(counted: Counted) -> dict[int, float]:
    total = sum(counted.kept.values())
    return {z: count / total for z, count in counted.kept.items()}


@dataclass(frozen=True)
class SamplerCase(Case):
    """The case of a count that is shown with noise added: its law is that of the sampler, walked through."""

    sampler: Sampler = field(kw_only=True)

    @classmethod
    def of(cls, name: str, claimed: Guarantee, sampler: Sampler, event: Event | None = None) -> SamplerCase:
        """For counts that differ by 1."""
        return cls(name, claimed, [(0, 1)], partial(Once, sampler), event=event, sampler=sampler)

    def law(self, given: int) -> Conversations:
        """Of all that is shown short of either end, where draws come together that are not looked at."""
        masses, missing = self.sampler.law
        inside = {given + z: mass for z, mass in masses.items() if abs(given + z) < self.sampler.reach}
        outside = math.fsum(mass for z, mass in masses.items() if given + z not in inside)
        return Conversations({((0, str(shown)),): mass for shown, mass in inside.items()}, 1, missing + outside)

    @property
    def bias(self) -> float:
        return self.sampler.bias
