"""The exact probability of a conjunction of comparisons between independent integer noises.

A run of a mechanism compares sums of noises and constants: d + ν > w + ρ. Each comparison is an `Above`: a constant
plus integer multiples of noises is positive. The probability that all comparisons of a run came out as they did is a
sum over the noises' supports, done one noise at a time (variable elimination): a noise that touches a single other
one turns into a factor on the latter's support. That covers every mechanism whose comparisons form a tree, and
comparisons of one pair of noises as often as one likes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache, reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

# ---------------------------------------------------------------------------------------------------------------------
# Laws on the integers: those of the noise, cut to a finite support with a stated bound on what was cut off.


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

REACH = 200.0
"""A support ends where the mass beyond is below e^{−REACH}: an event of probability e^{−60} keeps 60 good digits."""


class NoiseLaw(NamedTuple):
    """The law of one call of a noise function: its name in `pcqr.privacy.noise` and the `scale` that the caller asked
    for."""

    function: str
    scale: float

    @property
    def measure(self) -> Measure:
        return _measure(self.function, self.scale)

    @property
    def truncated(self) -> float:
        """A bound on the mass outside the support: the law of what is kept sums to at least 1 − `truncated`."""
        return 2.0 * math.exp(-REACH)


@dataclass(frozen=True, eq=False)
class Measure:
    """A finite measure on the integers `low`, `low` + 1, …: not normalised, never negative."""

    low: int
    weights: Floats

    @property
    def support(self) -> Integers:
        return np.arange(self.low, self.low + self.weights.size)

    @property
    def mass(self) -> float:
        """By halves, as NumPy adds up: off by a relative 10⁻¹⁴ at most, and far quicker than exactly."""
        return float(self.weights.sum())

    def at_least(self, t: Integers) -> Floats:
        """The mass of {z ≥ t}, for each t: sums of positive terms, smallest first in a falling tail."""
        return self._tails[np.clip(t - self.low, 0, self.weights.size)]

    @cached_property
    def _tails(self) -> Floats:
        return np.append(self.weights[::-1].cumsum()[::-1], 0.0)

    def times(self, factor: int) -> Measure:
        """The law of `factor`·z, `factor` ≠ 0."""
        if factor == 1:
            return self
        step = abs(factor)
        spread = np.zeros((self.weights.size - 1) * step + 1)
        spread[::step] = self.weights if factor > 0 else self.weights[::-1]
        high = self.low + self.weights.size - 1
        return Measure(factor * (self.low if factor > 0 else high), spread)

    def plus(self, other: Measure) -> Measure:
        """The law of the sum of two independent draws."""
        return Measure(self.low + other.low, np.convolve(self.weights, other.weights))

    def weighted(self, factors: Floats) -> Measure:
        return Measure(self.low, self.weights * factors)


def _two_sided_geometric(scale: float) -> Measure:
    """P(z) ∝ a^{|z|}, a = e^{−1/scale}."""
    reach = math.ceil(scale * REACH)
    z = np.arange(-reach, reach + 1)
    return Measure(-reach, math.tanh(0.5 / scale) * np.exp(-np.abs(z) / scale))


def _geometric(scale: float) -> Measure:
    """P(z ≥ t) = a^t, a = e^{−1/scale}."""
    z = np.arange(math.ceil(scale * REACH) + 1)
    return Measure(0, -math.expm1(-1.0 / scale) * np.exp(-z / scale))


def _gaussian(scale: float) -> Measure:
    """P(z) ∝ e^{−z²/(2·scale²)}; the normaliser is that of the support, which the mass left out does not move."""
    reach = math.ceil(scale * math.sqrt(2.0 * REACH) + 1.0)
    z = np.arange(-reach, reach + 1)
    bell = np.exp(-0.5 * (z / scale) ** 2)
    return Measure(-reach, bell / math.fsum(bell))


def _sech_squared(scale: float) -> Measure:
    """P(z ≥ t) = sech²(t / (2·scale)). Its differences as products: tanh²b − tanh²a, nothing subtracted."""
    t = np.arange(math.ceil(scale * (REACH + 1.0)) + 1)
    a, b = 0.5 * t / scale, 0.5 * (t + 1) / scale
    return Measure(0, math.sinh(0.5 / scale) / (np.cosh(a) * np.cosh(b)) * (np.tanh(a) + np.tanh(b)))


LAWS: dict[str, Callable[[float], Measure]] = {
    "discrete_laplace": _two_sided_geometric,
    "geometric": _geometric,
    "discrete_gaussian": _gaussian,
    "sech_squared": _sech_squared,
}
"""The law of each noise function of `pcqr.privacy.noise`, as proofs/noise.md has it: written down here a second
time."""


@lru_cache(maxsize=512)
def _measure(function: str, scale: float) -> Measure:
    return LAWS[function](scale)


# ---------------------------------------------------------------------------------------------------------------------
# How far apart two laws are: the hockey-stick divergence as a function of ε, and its inverse.


Law = Mapping[Hashable, float]
"""The law of an outcome. Masses add up to 1 within 10⁻¹², less what truncation left out."""

K = TypeVar("K", bound=Hashable)

LARGEST_EPSILON = 700.0
"""e^700 is a float64. Laws that differ by more are said to differ by infinity."""


def hockey_stick(p: Mapping[K, float], q: Mapping[K, float], epsilon: float) -> float:
    """max over events O of P(O) − e^ε·Q(O): the least δ for which P is (ε, δ)-close to Q. One direction."""
    factor = math.exp(epsilon)
    return math.fsum(max(0.0, mass - factor * q.get(outcome, 0.0)) for outcome, mass in p.items())


def largest_log_ratio(p: Mapping[K, float], q: Mapping[K, float]) -> float:
    """max over outcomes of |ln P − ln Q|, infinite where only one of them is possible: ε at δ = 0."""
    possible = [{outcome for outcome, mass in law.items() if mass > 0} for law in (p, q)]
    if possible[0] != possible[1]:
        return math.inf
    return max((abs(math.log(p[outcome] / q[outcome])) for outcome in possible[0]), default=0.0)


def epsilon_at(p: Mapping[K, float], q: Mapping[K, float], delta: float) -> float:
    """The smallest ε ≥ 0 at which P and Q are (ε, `delta`)-close in both directions; infinite where none is."""
    if delta == 0.0:
        return largest_log_ratio(p, q)
    return smallest_epsilon(lambda epsilon: max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)), delta)


def curve(p: Mapping[K, float], q: Mapping[K, float], epsilons: Sequence[float]) -> tuple[float, ...]:
    """δ(ε) at each of `epsilons`, the larger of the two directions."""
    return tuple(max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)) for epsilon in epsilons)


def smallest_epsilon(divergence: Callable[[float], float], delta: float, least: float = 0.0) -> float:
    """The smallest ε ≥ `least` with `divergence`(ε) ≤ `delta`, for a non-increasing divergence: bisection, from above.

    The figure returned satisfies the inequality itself; it is within 10⁻¹² of the smallest one that does.
    """
    low = high = least
    step = 0.5
    while divergence(high) > delta:
        if high >= LARGEST_EPSILON:
            return math.inf
        low, high, step = high, min(high + step, LARGEST_EPSILON), 2.0 * step
    while high - low > 1e-12 * max(1.0, high):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if divergence(middle) <= delta else (middle, high)
    return high


# ---------------------------------------------------------------------------------------------------------------------
# What an auditor sees of a published hypothesis: all of it.


def in_full(published: Any) -> str:
    """Return every field of `published`, a hypothesis of pcqr, as a text.

    Its `repr` will not do: that of a tree is short, and two trees may share it.
    """
    parts = (f"{field.name}={getattr(published, field.name)!r}" for field in fields(published))
    return f"{type(published).__name__}({', '.join(parts)})"


# ---------------------------------------------------------------------------------------------------------------------
# The exact probability of a conjunction of comparisons between independent integer noises.
#
# A run of a mechanism compares sums of noises and constants: d + ν > w + ρ. Each comparison is an `Above`: a constant
# plus integer multiples of noises is positive. The probability that all comparisons of a run came out as they did is a
# sum over the noises' supports, done one noise at a time (variable elimination): a noise that touches a single other
# one turns into a factor on the latter's support. That covers every mechanism whose comparisons form a tree, and
# comparisons of one pair of noises as often as one likes.


Terms = tuple[tuple[int, int], ...]
"""(number of the noise, its non-zero coefficient), in increasing order of numbers."""


class Above(NamedTuple):
    """The event `constant` + Σ coefficient·noise > 0."""

    constant: int
    terms: Terms


class Unverifiable(Exception):
    """The exact law of this code is out of reach here: it says what the code did that cannot be followed."""


def probability(laws: tuple[NoiseLaw, ...], events: Iterable[Above]) -> float:
    """P(all `events`) for independent noises number 0, 1, … with these `laws`.

    Every distinct question is answered once: runs that differ in their secrets often compare the same numbers.
    """
    return _probability(*_canonical(laws, events))


def measure(laws: tuple[NoiseLaw, ...], events: Sequence[Above], constant: int, terms: Terms) -> Measure:
    """The law of `constant` + Σ terms on the event that all `events` hold: its mass is their probability.

    For sums of noises that no event compares with another noise.
    """
    own = {noise for noise, _ in terms}
    touching = [event for event in events if own & {noise for noise, _ in event.terms}]
    if any(len(event.terms) > 1 for event in touching):
        raise Unverifiable("A noise was compared with another one: the law of its value is not worked out here.")
    total = Measure(constant, np.array([probability(laws, [event for event in events if event not in touching])]))
    for noise, coefficient in terms:
        total = total.plus(_restricted(laws[noise], _bounds(noise, touching)).times(coefficient))
    return total


def _canonical(laws: tuple[NoiseLaw, ...], events: Iterable[Above]) -> tuple[tuple[NoiseLaw, ...], tuple[Above, ...]]:
    """Noises that no event mentions left out, the others numbered in the order in which they are mentioned."""
    number: dict[int, int] = {}
    renamed = []
    for event in events:
        terms = [(number.setdefault(noise, len(number)), coefficient) for noise, coefficient in event.terms]
        renamed.append(Above(event.constant, tuple(sorted(terms))))
    return tuple(laws[noise] for noise in number), tuple(renamed)


@lru_cache(maxsize=1 << 16)
def _probability(laws: tuple[NoiseLaw, ...], events: tuple[Above, ...]) -> float:
    bounds = [_bounds(noise, events) for noise in range(len(laws))]
    measures = {noise: _restricted(law, bounds[noise]) for noise, law in enumerate(laws)}
    pending = _without_fresh_noise(laws, bounds, [event for event in events if len(event.terms) > 1], measures)
    while pending:
        pending = [_folded(event, pending, measures) for event in pending]
        noise, neighbour, touching = _leaf(pending)
        pending = [event for event in pending if event not in touching]
        eliminated = measures.pop(noise)
        if neighbour is None:
            measures[noise] = _inside(eliminated, tuple((event.constant, event.terms[0][1]) for event in touching))
        else:
            factor = _summed_out(eliminated, noise, measures[neighbour].support, neighbour, touching)
            measures[neighbour] = measures[neighbour].weighted(factor)
    return math.prod(left.mass for left in measures.values())


# --------------------------------------------------------------------------------------------------------------
# Comparisons of one noise with numbers

Bounds = tuple[tuple[int, int], ...]
"""(constant, coefficient) of events constant + coefficient·z > 0."""


def _bounds(noise: int, events: Iterable[Above]) -> Bounds:
    non_reentrant = {(constant, terms[0][1]) for constant, terms in events if len(terms) == 1 and terms[0][0] == noise}
    return tuple(sorted(non_reentrant))


@lru_cache(maxsize=1 << 12)
def _restricted(law: NoiseLaw, bounds: Bounds) -> Measure:
    return _inside(law.measure, bounds)


def _inside(whole: Measure, bounds: Bounds) -> Measure:
    """`whole` on those z for which all `bounds` hold, 0 elsewhere."""
    if not bounds:
        return whole
    holds = np.logical_and.reduce([constant + coefficient * whole.support > 0 for constant, coefficient in bounds])
    return whole.weighted(holds.astype(np.float64))


# --------------------------------------------------------------------------------------------------------------
# Comparisons of noises with each other


def _without_fresh_noise(
    laws: tuple[NoiseLaw, ...], bounds: list[Bounds], events: list[Above], measures: dict[int, Measure]
) -> list[Above]:
    """The bulk of the work, done at once: noises that were drawn for one comparison with a noise that is used again.

    Their factors come from a cache, since a mechanism asks for the same few comparisons again and again.
    """
    mentions = Counter(noise for event in events for noise, _ in event.terms)
    left = []
    for event in events:
        fresh = [term for term in event.terms if mentions[term[0]] == 1]
        if len(event.terms) != 2 or len(fresh) != 1:
            left.append(event)
            continue
        ((noise, coefficient),) = fresh
        ((kept, by),) = (term for term in event.terms if term not in fresh)
        del measures[noise]
        factor = _fresh_factor(laws[noise], bounds[noise], coefficient, laws[kept], by, event.constant)
        measures[kept] = measures[kept].weighted(factor)
    return left


@lru_cache(maxsize=1 << 12)
def _fresh_factor(fresh: NoiseLaw, bounds: Bounds, coefficient: int, kept: NoiseLaw, by: int, constant: int) -> Floats:
    event = Above(constant, ((0, coefficient), (1, by)))
    return _summed_out(_restricted(fresh, bounds), 0, kept.measure.support, 1, [event])


def _folded(event: Above, events: list[Above], measures: dict[int, Measure]) -> Above:
    """`event` with the noises that it alone mentions, if there are several, added up into one new noise.

    Where there are no others, one of them is kept apart: two noises are compared without adding them up.
    """
    elsewhere = {noise for other in events if other is not event for noise, _ in other.terms}
    own = [(noise, coefficient) for noise, coefficient in event.terms if noise not in elsewhere]
    if len(own) == len(event.terms):
        own = own[1:]
    if len(own) < 2:
        return event
    parts = [measures.pop(noise).times(coefficient) for noise, coefficient in own]
    total = max((*measures, *(noise for noise, _ in own))) + 1
    measures[total] = reduce(Measure.plus, parts)
    return Above(event.constant, (*(term for term in event.terms if term not in own), (total, 1)))


def _leaf(events: list[Above]) -> tuple[int, int | None, list[Above]]:
    """A noise whose events mention at most one other noise, that other one, and those events."""
    for noise in {noise for event in events for noise, _ in event.terms}:
        touching = [event for event in events if noise in dict(event.terms)]
        others = {other for event in touching for other, _ in event.terms} - {noise}
        if len(others) <= 1:
            return noise, others.pop() if others else None, touching
    raise Unverifiable("The noises of a run are compared in a circle: their joint law is not summed here.")


def _summed_out(summed: Measure, noise: int, u: Integers, neighbour: int, events: list[Above]) -> Floats:
    """For each value u of the `neighbour`: the mass of those values z of the `noise` for which all `events` hold."""
    if len(events) == 1:
        of = dict(events[0].terms)
        rest, step = events[0].constant + of[neighbour] * u, abs(of[noise])
        oriented = summed if of[noise] > 0 else summed.times(-1)
        return oriented.at_least(-rest // step + 1)  # rest + step·z > 0
    holds = np.ones((u.size, summed.weights.size), dtype=bool)
    for event in events:
        of = dict(event.terms)
        holds &= event.constant + of[neighbour] * u[:, None] + of[noise] * summed.support > 0
    factor: Floats = holds @ summed.weights
    return factor
