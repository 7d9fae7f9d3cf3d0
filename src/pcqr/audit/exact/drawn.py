"""The exact law of choices and noisy sums, one after the other: published classifiers are of this kind.

A tree may be drawn first. Then come pilots, each a noisy sum, and a comparison that decides what follows. One more
noisy sum comes last. Choices are walked through, and so are the values of all sums but the last, of which records move
one coordinate each. Given all of this, what tells two tables apart is on which side of a plane the last sum lies
(sums.py), so it may have several coordinates, and noise of any scale:

    δ(ε) = Σ over paths b of the largest P(b)·P_b(O) − e^ε·Q(b)·Q_b(O),   O a half-space.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from pcqr.audit.exact.events import Floats, Integers, NoiseLaw, Unverifiable, smallest_epsilon
from pcqr.audit.exact.sums import Announced, Corner, HalfSpace, NoisySum, SumGame, SumLaw, game_of
from pcqr.audit.exact.tape import intercepted, walk
from pcqr.audit.exact.verify import Case


class Path(NamedTuple):
    """What the sums before the last came to, and what is shown at a value of the last one, or at two of them."""

    values: tuple[int, ...]
    shown: tuple[Hashable, ...]


@dataclass(frozen=True)
class DrawnLaw:
    """How likely each path is, and the last sum that it leads to."""

    masses: dict[Path, float]
    sums: dict[Path, NoisySum]
    truncated: float


@dataclass(frozen=True)
class _Pair:
    """The paths that lead to the same two last sums under both laws, and how likely they are under each."""

    game: SumGame
    paths: Sequence[Path]
    first: Floats
    second: Floats

    @property
    def largest_loss(self) -> float:
        return float((np.log(self.first) - np.log(self.second)).max()) + self.game.largest_loss

    def gains(self, epsilon: float) -> Floats:
        return self.game.gains(epsilon, self.first, self.second)


@dataclass(frozen=True)
class _Direction:
    """One law against the other: the pairs of last sums, and the paths that one of the two laws does not have."""

    pairs: Sequence[_Pair]
    apart: dict[Path, float]

    def delta_at(self, epsilon: float) -> float:
        return math.fsum((*self.apart.values(), *(float(pair.gains(epsilon).sum()) for pair in self.pairs)))

    @property
    def largest_loss(self) -> float:
        """The most that any path and its last sum can speak for the first law."""
        return math.inf if self.apart else max(pair.largest_loss for pair in self.pairs)

    def divergence(self, order: float) -> float:
        """ln Σ_b P(b)^α·Q(b)^{1−α}·e^{(α−1)·D_b} / (α − 1), D_b that of the sums."""
        if self.apart:
            return math.inf
        logs = [
            order * np.log(pair.first) - (order - 1.0) * (np.log(pair.second) - pair.game.divergence(order))
            for pair in self.pairs
        ]
        return float(np.logaddexp.reduce(np.concatenate(logs))) / (order - 1.0)

    def tell_tale(self, epsilon: float, lengths: dict[Path, int]) -> tuple[Path, HalfSpace | Corner]:
        """Return the path that gains most at ε, and where its last sum speaks for the first law."""
        found: list[tuple[float, Path, HalfSpace | Corner]] = [
            (mass, path, HalfSpace((0,) * lengths[path], -1)) for path, mass in self.apart.items()
        ]
        for pair in self.pairs:
            gains = pair.gains(epsilon)
            best = int(gains.argmax())
            at = epsilon + math.log(pair.second[best] / pair.first[best])
            found.append((float(gains[best]), pair.paths[best], pair.game.tell_tale(at)))
        _, path, plane = max(found, key=lambda each: each[0])
        return path, plane


@dataclass(frozen=True)
class DrawnGame:
    """What can be told of two such laws by whoever sees the path and the last sum."""

    first: DrawnLaw
    second: DrawnLaw

    @property
    def truncated(self) -> float:
        """What to add to a computed δ for it to be an upper bound (proofs/audit.md)."""
        return max(self.first.truncated, self.second.truncated)

    def delta_at(self, epsilon: float) -> float:
        """δ(ε), the larger of the two directions."""
        return max(direction.delta_at(epsilon) for direction in self._directions)

    def epsilon_at(self, delta: float, least: float = 0.0) -> float:
        """The smallest ε ≥ `least` with δ(ε) ≤ `delta`; infinite where there is none."""
        if delta > 0.0:
            return smallest_epsilon(self.delta_at, delta, least)
        return max(least, *(direction.largest_loss for direction in self._directions))

    def divergence(self, order: float) -> float:
        """The Rényi divergence of `order` α > 1, the larger of the two directions."""
        return max(direction.divergence(order) for direction in self._directions)

    def tell_tale(self, epsilon: float) -> tuple[Path, HalfSpace | Corner]:
        """The path that gains most at ε, and where its last sum speaks for the first table."""
        lengths = {path: len(noisy.total) for law in (self.first, self.second) for path, noisy in law.sums.items()}
        best = max(self._directions, key=lambda direction: direction.delta_at(epsilon))
        return best.tell_tale(epsilon, lengths)

    @cached_property
    def _directions(self) -> tuple[_Direction, _Direction]:
        return _direction(self.first, self.second), _direction(self.second, self.first)


def _direction(p: DrawnLaw, q: DrawnLaw) -> _Direction:
    apart: dict[Path, float] = {}
    alike: defaultdict[tuple[NoisySum, NoisySum], list[Path]] = defaultdict(list)
    for path, mass in p.masses.items():
        if mass and _is_apart(path, p, q):
            apart[path] = mass
        elif mass:
            alike[p.sums[path], q.sums[path]].append(path)
    pairs = [
        _Pair(
            game_of(SumLaw(one, ()), SumLaw(other, ())),
            paths,
            np.array([p.masses[path] for path in paths]),
            np.array([q.masses[path] for path in paths]),
        )
        for (one, other), paths in alike.items()
    ]
    return _Direction(pairs, apart)


def _is_apart(path: Path, p: DrawnLaw, q: DrawnLaw) -> bool:
    """Does the path itself, or the length of its last sum, tell that it is not the second law?"""
    return not q.masses.get(path) or len(p.sums[path].total) != len(q.sums[path].total)


@dataclass(frozen=True)
class DrawnCase(Case):
    """The case of a release that makes choices and noisy sums, and nothing after the last sum but a function of it.

    On every path there are as many sums: `walked`, and one more. What they come to is part of an outcome. So is what is
    shown when the last one comes to 1, 2, 3, …; and to 0, where no sum is walked through and paths are few. Were it no
    function of choices and of sums, it would differ between tables, and the loss would be infinite.

    Sums that are walked through take values of at most `farthest`. What lies beyond is counted in what is truncated.
    """

    walked: int = 0
    farthest: int = 0

    def law(self, data: Any) -> DrawnLaw:
        masses: dict[Path, float] = {}
        sums: dict[Path, NoisySum] = {}
        truncated = 0.0
        with intercepted():
            for shown, tape in self._paths(data):
                path, noisy = Path(tuple(tape.values), shown), tape.sums[-1]
                if sums.setdefault(path, noisy) != noisy:
                    raise Unverifiable("Paths that look alike lead to different sums: their law is a mixture.")
                masses[path] = masses.get(path, 0.0) + tape.mass
                truncated = max(truncated, tape.truncated + len(noisy.total) * noisy.law.truncated)
        return DrawnLaw(masses, sums, truncated)

    def _paths(self, data: Any) -> Iterator[tuple[tuple[Hashable, ...], Followed]]:
        """What is shown on each path, and the tape of it."""
        kinds = (_Moved,) if self.walked else (_Moved, Followed)
        for walks in zip(*(self._walk(data, kind) for kind in kinds), strict=True):
            yield tuple(shown for shown, _ in walks), walks[0][1]

    def _walk(self, data: Any, kind: type[Followed]) -> Iterator[tuple[Hashable, Followed]]:
        for tape, _ in walk(lambda: (kind(self.walked, self.farthest), None)):
            shown = self.start(data, tape).ask(None)
            tape.check()
            yield shown, tape

    def game(self, first: DrawnLaw, second: DrawnLaw) -> DrawnGame:
        return DrawnGame(first, second)

    def witness_words(self, game: DrawnGame, epsilon: float) -> tuple[tuple[Any, ...], tuple[Hashable, ...]]:
        path, plane = game.tell_tale(epsilon)
        before = f"sums came to {', '.join(map(str, path.values))}, " if path.values else ""
        return (None,), (f"{before}{path.shown[0]} if the last sum came to 1, 2, …, and it came to θ with {plane}",)


class Followed(Announced):
    """Takes values of the `walked` sums that come first as choices; lets one more come to 0, and nothing follow it."""

    def __init__(self, walked: int = 0, farthest: int = 0) -> None:
        super().__init__()
        self.values: list[int] = []
        """What the last coordinate of each sum that is walked through came to, in order."""
        self._walked, self._farthest = walked, farthest
        self._before_last: int | None = None
        self._left_out = 0.0

    def announce(self, total: Integers, law: NoiseLaw) -> Integers:
        if len(self.sums) > self._walked:
            self._refuse(Unverifiable(f"More than one sum was drawn after the {self._walked} that are walked through."))
        found = super().announce(total, law)
        if len(self.sums) > self._walked:
            self._before_last = self._drawn
            return self.last(found)
        if any(self.sums[-1].total[:-1]):
            self._refuse(Unverifiable("Records move more than one coordinate of a sum that is walked through."))
        found.flat[-1] = self._value(int(total.flat[-1]), law)
        return found

    def last(self, still: Integers) -> Integers:
        """What the last sum comes to, `still` being 0."""
        return still

    def _value(self, total: int, law: NoiseLaw) -> int:
        """One of the values of `total` + noise, among the same ones on all tables."""
        chances, left_out = _values(total, law, self._farthest)
        self.values.append(self.choose(chances) - self._farthest)
        self._left_out += left_out
        return self.values[-1]

    def check(self) -> None:
        """Refuse a run without a last sum, or with something after it."""
        if self._before_last is None:
            self._refuse(Unverifiable("No last sum was drawn on one of the paths."))
        if self._before_last < self._drawn:
            self._refuse(Unverifiable("Something was drawn after the last sum, and may depend on what it came to."))

    @property
    def truncated(self) -> float:
        """A bound on the probability that noise of this run, the last sum's left out, is outside of what was kept."""
        return super().truncated + self._left_out

    @property
    def _drawn(self) -> int:
        """Choices and noises so far, sums left out."""
        return len(self._taken) + len(self.laws)


class _Moved(Followed):
    """Lets the last sum come to 1, 2, 3 and so on."""

    def last(self, still: Integers) -> Integers:
        return np.arange(1, still.size + 1).reshape(still.shape)


@lru_cache(maxsize=1 << 8)
def _values(total: int, law: NoiseLaw, farthest: int) -> tuple[tuple[float, ...], float]:
    """The chances of all values of `total` + noise from −`farthest` to `farthest`; a bound on that of all others."""
    measure = law.measure
    chances = np.zeros(2 * farthest + 1)
    places = np.arange(-farthest, farthest + 1) - total - measure.low
    there = (places >= 0) & (places < measure.weights.size)
    chances[there] = measure.weights[places[there]]
    below, above = (measure.times(sign).at_least(np.array([farthest + 1 - sign * total]))[0] for sign in (-1, 1))
    return tuple(chances.tolist()), float(below + above) + law.truncated
