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
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np

from pcqr.audit.exact.laws import Floats, Integers, Measure, NoiseLaw

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


def _inside(given: Measure, bounds: Bounds) -> Measure:
    """`given` on those z for which all `bounds` hold, 0 elsewhere."""
    if not bounds:
        return given
    holds = np.logical_and.reduce([constant + coefficient * given.support > 0 for constant, coefficient in bounds])
    return given.weighted(holds.astype(np.float64))


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
