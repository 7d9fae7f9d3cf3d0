"""The exact law of choices, and of one noisy sum where they lead to one.

A question that decides between a tree and a linear classifier is of this kind: what is drawn before the sum is walked through as
ever, and the sum has a law in closed form. It has one coordinate that records move, the last: in all others it is 0 on
every table, so that noise has the same law there and is let come to 0. Where a sum comes first and all else follows
from it, as in a contest that a pilot begins, it is walked through value by value. (A sum that always comes last may
have several coordinates: drawn.py.)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pcqr.audit.exact.events import Unverifiable
from pcqr.audit.exact.integers import Integers, NoiseLaw
from pcqr.audit.exact.sessions import Conversations, History
from pcqr.audit.exact.sums import Announced, NoisySum, Vector
from pcqr.audit.exact.verify import Case
from pcqr.audit.exact.walk import intercepted, walk

Values = tuple[int | None, ...]
"""What sums came to, in order."""


@dataclass(frozen=True)
class TurningCase(Case):
    """The case of a release that draws by choice and then shows something, or one noisy sum.

    An outcome is what is shown (the sum being 0) and what the sums came to. Were the former not a function of choices
    and of sums that are walked through alone, it would differ between tables, and the loss would be infinite.
    """

    walked: ClassVar[int] = 0
    """Sums that come before everything else, and are walked through."""

    def law(self, given: Any) -> Conversations:
        masses: defaultdict[History, float] = defaultdict(float)
        truncated = 0.0
        with intercepted():
            for before in self._beginnings(given):
                for tape, _ in walk(lambda before=before: (Followed(before), None)):  # type: ignore[misc]
                    shown = self.start(given, tape).ask(None)
                    tape.check(self.walked)
                    tape.check_last()
                    truncated = max(truncated, tape.truncated + math.fsum(each.law.truncated for each in tape.sums))
                    mass = tape.mass
                    for values, chance in _came_to(tape.sums, before):
                        masses[((0, (shown, *values)),)] += mass * chance
        return Conversations(dict(masses), 1, truncated)

    def _beginnings(self, given: Any) -> Iterator[tuple[Vector, ...]]:
        """All that the sums which are walked through can come to."""
        found: list[tuple[Vector, ...]] = [()]
        for _ in range(self.walked):
            found = [(*before, value) for before in found for value in self._next(given, before)]
        yield from found

    def _next(self, given: Any, before: tuple[Vector, ...]) -> Iterator[Vector]:
        """All that the sum after those that came to `before` can come to."""
        tape = Followed(before)
        self.start(given, tape).ask(None)
        if len(tape.sums) <= len(before):
            raise Unverifiable("A sum was to be walked through that was not drawn.")
        noisy = tape.sums[len(before)]
        for value, _ in _law(noisy):
            yield (*noisy.total[:-1], value)


@dataclass(frozen=True)
class PilotCase(TurningCase):
    """The case of a release that begins with one noisy sum, that of a pilot: shown, and all else may depend on it."""

    walked: ClassVar[int] = 1


class Followed(Announced):
    """Remembers what was drawn before each sum."""

    def __init__(self, values: Sequence[Vector]) -> None:
        super().__init__(values)
        self._before: list[int] = []

    def announce(self, total: Integers, law: NoiseLaw) -> Integers:
        self._before.append(self._drawn)
        return super().announce(total, law)

    def check(self, walked: int) -> None:
        """Refuse what cannot be followed, `walked` sums being gone through value by value."""
        if len(self.sums) < walked or any(self._before[:walked]):
            self._refuse(Unverifiable("Something was drawn before a sum that is walked through, or in its place."))
        if len(self.sums) > walked + 1:
            self._refuse(Unverifiable("More than one sum was drawn: no other number of them is followed here."))
        if any(drawn < self._drawn for drawn in self._before[walked:]):
            self._refuse(Unverifiable("Something was drawn after a sum, and may depend on what it came to."))

    def check_last(self) -> None:
        """Refuse sums of which records move another coordinate than the last."""
        if any(any(each.total[:-1]) for each in self.sums):
            self._refuse(Unverifiable("Records move more than one coordinate of a sum."))

    @property
    def _drawn(self) -> int:
        """Choices and noises so far, sums left out."""
        return len(self._taken) + len(self.laws)


def _came_to(sums: Sequence[NoisySum], before: Sequence[Vector]) -> Iterator[tuple[Values, float]]:
    """What the sums came to, and how likely that is: the first ones to `before`, and one after them to anything."""
    known = tuple(value[-1] for value in before)
    chance = math.prod(_chance(noisy, value) for noisy, value in zip(sums, known, strict=False))
    for value, likely in _law(sums[-1]) if len(sums) > len(known) else [(None, 1.0)]:
        yield (*known, value), chance * likely


def _chance(noisy: NoisySum, value: int) -> float:
    """That the last coordinate of a noisy sum comes to `value`."""
    law = noisy.law.measure
    return float(law.weights[value - noisy.total[-1] - law.low])


def _law(noisy: NoisySum) -> list[tuple[int, float]]:
    """What the last coordinate of a noisy sum can come to, and how likely that is."""
    law = noisy.law.measure
    return list(zip((law.support + noisy.total[-1]).tolist(), law.weights.tolist(), strict=True))
