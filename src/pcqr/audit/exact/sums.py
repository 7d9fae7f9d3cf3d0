"""The exact law of a noisy sum: integers plus independent integer noise, and all that is made of them.

A vector of noise has far too many values to walk through, and code that turns a noisy sum into floats needs plain
numbers. So the tape decides what the *noisy sum* comes to, lets the shipped code go on from there, and remembers the
sum behind it: on a table with the sum f the value r has the probability Π_j P(Z_j = r_j − f_j). What is computed from
r is the same on all tables; anything else that is shown gives itself away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from pcqr.audit.exact.adversary import Session
from pcqr.audit.exact.events import (
    Above,
    Floats,
    Integers,
    Measure,
    NoiseLaw,
    Terms,
    Unverifiable,
    probability,
    smallest_epsilon,
)
from pcqr.audit.exact.tape import Tape, intercepted
from pcqr.audit.exact.verify import Case
from pcqr.privacy.entropy import Entropy

Vector = tuple[int, ...]

_FARTHEST = 2.0**62
"""Beyond all supports."""


@dataclass(frozen=True)
class NoisySum:
    """The law of `total` + noise, every coordinate with a draw of `law` of its own."""

    total: Vector
    law: NoiseLaw


class Announced(Tape):
    """Decides what noisy sums come to: the first ones to `values`, one after another, all others to 0."""

    def __init__(self, values: Sequence[Vector] = ()) -> None:
        super().__init__()
        self.sums: list[NoisySum] = []
        """Those that were asked for so far, in order."""
        self._values = values

    def draw_vector(self, law: NoiseLaw, count: int) -> Any:
        return _Noise(self, law, (count,))

    def announce(self, total: Integers, law: NoiseLaw) -> Integers:
        if not np.issubdtype(total.dtype, np.integer):
            self._refuse(Unverifiable("Noise was added to something else than integers."))
        value = self._values[len(self.sums)] if len(self.sums) < len(self._values) else (0,) * total.size
        self.sums.append(NoisySum(tuple(total.reshape(-1).tolist()), law))
        return np.array(value, dtype=np.int64).reshape(total.shape)


class _Noise:
    """A vector of noise that has no value yet: integers that it is added to become a noisy sum."""

    __array_ufunc__ = None  # NumPy leaves the addition to this class

    def __init__(self, tape: Announced, law: NoiseLaw, shape: tuple[int, ...]) -> None:
        self._tape, self._law, self._shape = tape, law, shape

    def reshape(self, shape: tuple[int, ...]) -> _Noise:
        return _Noise(self._tape, self._law, shape)

    def __add__(self, total: Integers) -> Integers:
        return self._tape.announce(np.broadcast_to(total, self._shape), self._law)

    __radd__ = __add__


@dataclass(frozen=True)
class HalfSpace:
    """A question about a vector that is shown: does it lie beyond a plane?"""

    normal: Vector
    offset: int

    def holds(self, shown: Sequence[float]) -> bool:
        return bool(sum(a * value for a, value in zip(self.normal, shown, strict=True)) > self.offset)

    def __str__(self) -> str:
        terms = " ".join(f"{a:+d}·θ[{j}]" for j, a in enumerate(self.normal) if a)
        return f"{terms} > {self.offset}"


@dataclass(frozen=True)
class Corner:
    """A question about a vector that is shown: does each entry lie at its bound or beyond, on its own side?

    `sides` are 1 for at least, −1 for at most, 0 for entries that are not looked at.
    """

    sides: Vector
    bounds: Vector

    def holds(self, shown: Sequence[float]) -> bool:
        return all(
            side * value >= side * bound for side, bound, value in zip(self.sides, self.bounds, shown, strict=True)
        )

    def __str__(self) -> str:
        terms = (
            f"θ[{j}] {'≥' if side > 0 else '≤'} {bound}"
            for j, (side, bound) in enumerate(zip(self.sides, self.bounds, strict=True))
            if side
        )
        return " and ".join(terms)


class Shown(Session[HalfSpace]):
    """A vector, shown once; asked on which side of a plane it lies."""

    def __init__(self, run: Callable[[Any, Entropy], Sequence[float]], data: Any, entropy: Entropy) -> None:
        self.vector = tuple(run(data, entropy))

    def ask(self, query: HalfSpace) -> bool:
        return query.holds(self.vector)


@dataclass(frozen=True)
class SumLaw:
    """A noisy sum, and what is shown (`witness_words`) when it comes to each of a few values."""

    noisy: NoisySum
    witness_words: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class SumGame:
    """What can be told of two noisy sums by whoever sees them. Both directions are alike, the noise being symmetric.

    With d the difference of the two sums, an outcome z speaks for the first by (2·d·z − d²)/(2σ²), so that the best
    events are half-spaces: a·z > t, a = d divided by the greatest common divisor of its entries.
    """

    first: SumLaw
    second: SumLaw

    @property
    def truncated(self) -> float:
        """What to add to a computed δ for it to be an upper bound (proofs/audit.md)."""
        return len(self.shift) * self._law.truncated

    @cached_property
    def shift(self) -> Vector:
        """d."""
        return tuple(a - b for a, b in zip(self.first.noisy.total, self.second.noisy.total, strict=True))

    def delta_at(self, epsilon: float) -> float:
        """δ(ε) = P(a·(d + Z) > t) − e^ε·P(a·Z > t), t being where the loss exceeds ε."""
        return float(self.gains(epsilon, np.ones(1), np.ones(1))[0])

    def gains(self, epsilon: float, first: Floats, second: Floats) -> Floats:
        """The largest `first`·P(O) − e^ε·`second`·Q(O), each: of paths that are so likely, and end in these sums."""
        if self._is_open:
            return first
        if not self._divisor:
            return np.maximum(0.0, first - math.exp(epsilon) * second)
        with np.errstate(divide="ignore"):
            offsets = self._offsets(epsilon + np.log(second) - np.log(first))
        moved = sum(each * each for each in self.shift) // self._divisor
        gained = first * self._beyond(offsets - moved) - math.exp(epsilon) * second * self._beyond(offsets)
        return np.maximum(0.0, gained)

    def epsilon_at(self, delta: float, least: float = 0.0) -> float:
        """The smallest ε ≥ `least` with δ(ε) ≤ `delta`; infinite where there is none."""
        if self._is_open or delta == 0.0:
            return max(least, self.largest_loss)
        return smallest_epsilon(self.delta_at, delta, least)

    @property
    def largest_loss(self) -> float:
        """The most that an outcome can speak for the first sum."""
        return math.inf if self._is_open or self._divisor else 0.0

    def divergence(self, order: float) -> float:
        """The Rényi divergence of `order` α > 1: that of independent coordinates adds up."""
        if self._is_open:
            return math.inf
        return math.fsum(_renyi(self._law.scale, abs(each), order) for each in self.shift if each)

    def tell_tale(self, epsilon: float) -> HalfSpace | Corner:
        """The best event at ε, in terms of the noisy sum itself."""
        plane = self._plane(epsilon)
        return HalfSpace(
            plane.normal,
            plane.offset + sum(a * b for a, b in zip(plane.normal, self.second.noisy.total, strict=True)),
        )

    def _plane(self, epsilon: float) -> HalfSpace:
        """The best event at ε, the second sum being 0."""
        (offset,) = self._offsets(np.array([epsilon])).tolist()
        return HalfSpace(tuple(each // (self._divisor or 1) for each in self.shift), offset)

    def _offsets(self, losses: Floats) -> Integers:
        """Where a loss exceeds each of `losses`, the second sum being 0: beyond so much of a·z."""
        squares = sum(each * each for each in self.shift)
        offsets: Floats = np.floor((self._law.scale**2 * losses + 0.5 * squares) / (self._divisor or 1))
        return offsets.clip(-_FARTHEST, _FARTHEST).astype(np.int64)

    def _beyond(self, offsets: Integers) -> Floats:
        """P(a·Z > each of `offsets`): signs and order of the entries do not matter."""
        moved = sorted(abs(each) // self._divisor for each in self.shift if each)
        if len(moved) == 1:
            return self._law.measure.at_least(offsets + 1)
        terms: Terms = tuple(enumerate(moved))
        return np.array([probability((self._law,) * len(moved), [Above(-each, terms)]) for each in offsets.tolist()])

    @property
    def _is_open(self) -> bool:
        """Is something shown that does not follow from the noisy sum, or is the noise itself a private matter?"""
        return self.first.witness_words != self.second.witness_words or self.first.noisy.law != self.second.noisy.law

    @property
    def _law(self) -> NoiseLaw:
        return self.first.noisy.law

    @cached_property
    def _divisor(self) -> int:
        return math.gcd(*self.shift)


@dataclass(frozen=True)
class LaplaceGame(SumGame):
    """The same for discrete Laplace noise. The loss takes finitely many values, whole multiples of 1/b, b the scale.

    An entry that is moved by d speaks for the first sum by (|z| − |z − d|)/b, and losses of entries add up.
    """

    def gains(self, epsilon: float, first: Floats, second: Floats) -> Floats:
        if self._is_open:
            return first
        gained = np.outer(first, self._losses.weights) - math.exp(epsilon) * np.outer(second, self._weights_of_second)
        total: Floats = np.maximum(0.0, gained).sum(axis=1)
        return total

    @property
    def largest_loss(self) -> float:
        return math.inf if self._is_open else sum(map(abs, self.shift)) / self._law.scale

    @property
    def truncated(self) -> float:
        """Nothing is left out."""
        return 0.0

    def divergence(self, order: float) -> float:
        if self._is_open:
            return math.inf
        weights = self._losses.weights * np.exp((order - 1.0) * self._losses.support / self._law.scale)
        return math.log(math.fsum(weights)) / (order - 1.0)

    def tell_tale(self, epsilon: float) -> HalfSpace | Corner:  # noqa: ARG002
        """Where the loss is largest."""
        return Corner(tuple((each > 0) - (each < 0) for each in self.shift), self.first.noisy.total)

    @cached_property
    def _losses(self) -> Measure:
        """How likely each loss is under the first sum, in units of 1/b."""
        found = Measure(0, np.ones(1))
        for each in filter(None, map(abs, self.shift)):
            found = found.plus(_loss_of_entry(each, self._law.scale))
        return found

    @property
    def _weights_of_second(self) -> Floats:
        weights: Floats = self._losses.weights * np.exp(-self._losses.support / self._law.scale)
        return weights


def _loss_of_entry(shift: int, scale: float) -> Measure:
    """The law of |z| − |z − d| for z = d + Z, d = `shift` > 0: d where z ≥ d, −d where z ≤ 0, 2z − d between."""
    decay, weights = math.exp(-1.0 / scale), np.zeros(2 * shift + 1)
    between = np.arange(1, shift)
    weights[2 * between] = math.tanh(0.5 / scale) * np.exp(-(shift - between) / scale)
    weights[0], weights[-1] = math.exp(-shift / scale) / (1.0 + decay), 1.0 / (1.0 + decay)
    return Measure(-shift, weights)


def game_of(first: SumLaw, second: SumLaw) -> SumGame:
    """What can be told of two noisy sums with the noise that they have."""
    return (LaplaceGame if first.noisy.law.function == "discrete_laplace" else SumGame)(first, second)


@dataclass(frozen=True)
class SumCase(Case):
    """The case of a release that shows one noisy sum, or a function of it, and draws nothing else.

    `start` gives a `Shown`. An adversary may ask for any half-space; the best one is computed, so `menu` is not used.
    """

    def law(self, data: Any) -> SumLaw:
        """Let the noisy sum come to 0, and to a vector without equal entries."""
        noisy, still = self._run(data, ())
        _, moved = self._run(data, (tuple(range(1, len(noisy.total) + 1)),))
        return SumLaw(noisy, (still, moved))

    def _run(self, data: Any, values: Sequence[Vector]) -> tuple[NoisySum, tuple[float, ...]]:
        tape = Announced(values)
        with intercepted():
            shown: Any = self.start(data, tape)
        if tape.next_script() is not None or tape.laws or len(tape.sums) != 1:
            raise Unverifiable("More was drawn than the noise of one sum: the law of one sum alone is worked out here.")
        return tape.sums[0], shown.vector

    def game(self, first: SumLaw, second: SumLaw) -> SumGame:
        return game_of(first, second)

    def witness_words(self, game: SumGame, epsilon: float) -> tuple[tuple[HalfSpace | Corner, ...], tuple[bool, ...]]:
        return (game.tell_tale(epsilon),), (True,)


@lru_cache(maxsize=1 << 10)
def _renyi(scale: float, shift: int, order: float) -> float:
    """The Rényi divergence of `order` α between `shift` + Z and Z, Z a discrete Gaussian of σ = `scale`.

    Σ_z P(z)^α·Q(z)^{1−α} has terms that fall like e^{−(z−m)²/2σ²} on both sides of m = α·shift, so it is summed as far
    around m as the law itself is about 0: a relative 2·e^{−200} or less is left out.
    """
    reach = NoiseLaw("discrete_gaussian", scale).measure.weights.size // 2
    around = np.arange(-reach, reach + 1, dtype=np.float64)
    log_normaliser = np.logaddexp.reduce(-0.5 * (around / scale) ** 2)
    z = around + round(order * shift)
    logs = (-0.5 / scale**2) * (order * (z - shift) ** 2 - (order - 1.0) * z**2)
    return float(np.logaddexp.reduce(logs) - log_normaliser) / (order - 1.0)
