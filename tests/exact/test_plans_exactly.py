"""Sequences and branches against the best adaptive adversary: what it attains is at most the accounted δ.

Nothing here knows of dominating pairs or of a fold. δ is worked out from the end of a plan to its beginning, as a
function of ε on a grid: of a stage that follows it is a mean over the stage's loss, of a branch the largest over its
options, history by history. Losses are rounded down, so the figure is at most what is attained (proofs/plans.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.stats import norm

from pcqr.privacy.accounting import BoundedRangeEvent, Composed, Event, NoisySumsEvent, OneOf, PureEvent
from pcqr.privacy.accounting.gaussian import fine_gaussian_epsilon
from pcqr.privacy.composition import account_for

Floats = NDArray[np.float64]
STEP = 1e-3
LOSSES = np.arange(-5.0, 5.0 + STEP / 2, STEP)
EPSILONS = np.arange(-14.0, 14.0 + STEP / 2, STEP)
AT_THE_END = np.maximum(0.0, 1.0 - np.exp(EPSILONS))
FINE = 2.0**28


@dataclass(frozen=True)
class Sums:
    """One noisy sum of μ = `shift`, on so fine a grid that its noise is continuous."""

    shift: float
    scale: float = FINE

    @property
    def event(self) -> Event:
        return NoisySumsEvent(1.0 / self.shift, 1, self.scale, draws=70)

    def losses(self, *, swapped: bool) -> Floats:  # noqa: ARG002 - symmetric
        below = norm.cdf(np.append(LOSSES, math.inf), self.shift**2 / 2.0, self.shift)
        below[0] = 0.0
        found: Floats = np.diff(below)
        return found


@dataclass(frozen=True)
class Steps:
    """One discrete draw of noise, of a small σ = `scale`, on a number that moves by `moved`."""

    scale: float
    moved: int

    @property
    def event(self) -> Event:
        return NoisySumsEvent(self.scale / self.moved, 1, self.scale, draws=1)

    def losses(self, *, swapped: bool) -> Floats:  # noqa: ARG002 - symmetric
        z = np.arange(-int(10 * self.scale), int(10 * self.scale) + 1)
        density = np.exp(-z * z / (2.0 * self.scale**2))
        return _atoms(((z - self.moved) ** 2 - z * z) / (2.0 * self.scale**2), density / density.sum())


@dataclass(frozen=True)
class Pure:
    """Randomised response."""

    epsilon: float

    @property
    def event(self) -> Event:
        return PureEvent(self.epsilon)

    def losses(self, *, swapped: bool) -> Floats:  # noqa: ARG002 - symmetric
        likely = 1.0 / (1.0 + math.exp(-self.epsilon))
        return _atoms([self.epsilon, -self.epsilon], [likely, 1.0 - likely])


@dataclass(frozen=True)
class Draw:
    """The worst release whose losses are s and s − r, s being so large a `part` of r = `length`."""

    length: float
    part: float

    @property
    def event(self) -> Event:
        return BoundedRangeEvent(self.length)

    def losses(self, *, swapped: bool) -> Floats:
        high = self.length * (1.0 - self.part if swapped else self.part)
        likely = (math.exp(self.length) - math.exp(high)) / math.expm1(self.length)
        return _atoms([high, high - self.length], [likely, 1.0 - likely])


Leaf = Sums | Steps | Pure | Draw


@dataclass(frozen=True)
class Then:
    parts: tuple[Any, ...]

    @property
    def event(self) -> Event:
        return Composed(tuple(part.event for part in self.parts))


@dataclass(frozen=True)
class Either:
    parts: tuple[Any, ...]

    @property
    def event(self) -> Event:
        return OneOf(tuple(part.event for part in self.parts))


def then(*parts: Any) -> Then:
    return Then(parts)


def either(*parts: Any) -> Either:
    return Either(parts)


def _atoms(losses: Any, chances: Any) -> Floats:
    found = np.zeros_like(LOSSES)
    np.add.at(found, np.floor((np.asarray(losses) - LOSSES[0]) / STEP + 1e-9).astype(int), np.asarray(chances))
    return found


def followed(plan: Any, rest: Floats, *, swapped: bool) -> Floats:
    """The most that a plan and then `rest` gain at every ε."""
    match plan:
        case Then(parts):
            for part in reversed(parts):
                rest = followed(part, rest, swapped=swapped)
            return rest
        case Either(parts):
            found: Floats = np.max([followed(part, rest, swapped=swapped) for part in parts], axis=0)
            return found
    more = LOSSES.size // 2
    lower = 1.0 - np.exp(EPSILONS[0] - STEP * np.arange(more, 0, -1))
    mixed = fftconvolve(np.concatenate([lower, rest, np.zeros(more)]), plan.losses(swapped=swapped))
    clipped: Floats = mixed[2 * more : 2 * more + rest.size].clip(0.0, 1.0)
    return clipped


def attained(plan: Any, epsilon: float) -> float:
    """δ at ε of the best adversary, for the worse order of the two neighbours."""
    curves = [followed(plan, AT_THE_END, swapped=swapped) for swapped in (False, True)]
    return max(float(np.interp(epsilon, EPSILONS, curve)) for curve in curves)


TREE, WEAK = Draw(0.2, 0.5), Sums(0.1)
PLANS = {
    "pilots": then(WEAK, WEAK, Sums(0.07, FINE / 2), either(Sums(0.4), Sums(0.45, 3 * FINE))),
    "a tree and pilots": then(TREE, WEAK, WEAK, Sums(0.07), either(Sums(0.4), Sums(0.45))),
    "a tree after the branch": then(Sums(0.2), either(Sums(0.3), Pure(0.2)), Draw(0.25, 0.5)),
    "unlike options": then(Sums(0.2), either(Sums(0.4), Pure(0.5), then(Sums(0.25), Pure(0.3)))),
    "draws of options": then(Sums(0.2), either(Draw(0.5, 0.7), Draw(0.3, 0.2), Sums(0.3))),
    "draws alone as options": then(Sums(0.2), either(Draw(0.6, 0.5), Draw(0.3, 0.5))),
    "options of several sums": then(Sums(0.1), either(then(Sums(0.3, FINE / 3), Sums(0.3)), Sums(0.35))),
    "two trees": then(Draw(0.2, 0.6), Sums(0.3), Draw(0.4, 0.5)),
    "a branch in an option": then(
        Sums(0.1), either(then(Pure(0.1), Sums(0.2), either(Sums(0.3), Pure(0.4))), then(Sums(0.3), Draw(0.3, 0.5)))
    ),
    "pure options": then(Sums(0.3), either(Pure(0.2), then(Pure(0.15), Pure(0.1)))),
    "small noise": then(Steps(9.0, 2), either(Steps(30.0, 12), then(Steps(15.0, 3), Pure(0.2))), Draw(0.2, 0.5)),
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("delta", [1e-5, 1e-3, 0.05])
def test_the_best_adversary_attains_no_more_than_is_accounted(name: str, delta: float) -> None:
    stated = account_for(PLANS[name].event, delta)
    assert attained(PLANS[name], stated.epsilon) <= stated.delta == delta


@pytest.mark.parametrize("name", ["pilots", "a tree and pilots", "options of several sums"])
def test_and_nearly_as_much_where_all_options_are_sums(name: str) -> None:
    """So a figure that is two percent smaller is refuted."""
    stated = account_for(PLANS[name].event, 1e-3)
    assert attained(PLANS[name], 0.98 * stated.epsilon) > 1e-3


def test_a_branch_is_not_accounted_by_any_one_of_its_options() -> None:
    """One may be the worst after some histories, and another one after others."""
    first, options, delta = Sums(0.2), (Sums(0.3), Pure(0.464)), 2e-3
    plan = then(first, either(*options))
    by_itself = [account_for(then(first, option).event, delta).epsilon for option in options]
    assert by_itself[0] == pytest.approx(by_itself[1], rel=1e-3)
    assert attained(plan, max(by_itself)) > 1.5 * delta
    assert attained(plan, account_for(plan.event, delta).epsilon) < delta


def test_a_draw_in_an_option_does_not_keep_its_range() -> None:
    """Where its interval lies would be chosen by what was shown before."""
    plan, delta = then(Sums(0.2), either(*(Draw(0.3, part) for part in (0.2, 0.5, 0.8)))), 1e-3
    as_one_range = fine_gaussian_epsilon(0.2, delta, FINE, 140, ranged=0.3)
    assert attained(plan, as_one_range) > 1.1 * delta
    assert attained(plan, account_for(plan.event, delta).epsilon) < delta
