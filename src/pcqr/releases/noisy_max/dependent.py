"""What answers cost on the votes that there were (after Papernot et al. 2018): a figure that is itself private.

Where nearly all teachers agree, an answer hardly depends on one of them, and costs less than in the worst case. Where
they do not, the figure is the one that so many queries have whatever the votes are, never above `guarantee_` at its δ.
How much less it is depends on the private votes: a small figure says that they agreed. So it is handed out wrapped, to
the holder of the data alone, and nothing that is promised rests on it.
Proof: proofs/dependent.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, NoReturn

import numpy as np
from scipy.special import ndtr

from pcqr.checks import check_delta
from pcqr.mechanisms.noisy_max import Counts, GaussianMax
from pcqr.privacy.accounting.renyi import renyi_epsilon
from pcqr.releases.confident.plan import ConfidentMax
from pcqr.releases.protocol.online import PrivClass

Cost = Callable[[float], float]
"""A bound on the Rényi divergence of an order, from these votes to those of any neighbour."""


class NotReleasable:
    """A figure that was computed from private votes. It is not shown, written or copied; it has to be asked for.

    Examples
    --------
    >>> from pcqr.releases.noisy_max.dependent import NotReleasable
    >>> NotReleasable(1.97)
    NotReleasable(a private figure, computed from votes: for the data holder alone)
    >>> NotReleasable(1.97).reveal_to_data_holder()
    1.97
    """

    __slots__ = ("_figure",)

    def __init__(self, figure: float) -> None:
        self._figure = figure

    def reveal_to_data_holder(self) -> float:
        """The figure. **Private**: no ε covers it, and whoever publishes it breaks the promise of the release."""
        return self._figure

    def __repr__(self) -> str:
        return f"{type(self).__name__}(a private figure, computed from votes: for the data holder alone)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A private figure is not copied, pickled or kept.")


class Step(NamedTuple):
    """One noisy look at the votes: ρ-zCDP in the worst case; on these votes all outcomes but the likeliest together
    have at most the chance e^{`log_rest`}."""

    rho: float
    log_rest: float


def dependent_epsilon(
    protocol: PrivClass, cost: Callable[[Counts], Cost], worst: Callable[[int], float], delta: float
) -> NotReleasable:
    """The least ε with P(O) ≤ e^ε·Q(O) + `delta` for all that was asked, as though it had been a list fixed beforehand.

    P is the law on the votes that there were, Q that on any neighbour's. `cost` is that of one query with such votes.
    `worst` is an ε that holds for so many queries at `delta` whatever the votes are: other accountants may find less
    than Rényi's divergences do.
    """
    check_delta(delta)
    points = [entry.point for entry in protocol.transcript]
    if not points:
        return NotReleasable(0.0)
    counted = np.asarray(protocol.labeller.counts(np.concatenate(points)))
    votes = Counter(map(tuple, counted.tolist()))
    costs = [(cost(np.array(each)), times) for each, times in votes.items()]
    figure = renyi_epsilon(lambda order: math.fsum(times * each(order) for each, times in costs), delta)
    return NotReleasable(min(figure, worst(len(points))))


def gaussian_cost(noise: GaussianMax, counts: Counts) -> Cost:
    """Of one answer by GNMax."""
    if counts.size > 2:
        step = _argmax(counts, noise.scale)
    else:
        zeros, ones = counts.tolist()
        behind = (ones - zeros + 1) // 2 if ones > zeros else (zeros - ones) // 2 + 1  # noise that turns the label
        step = Step(0.5 / noise.scale / noise.scale, _log_tail(behind, noise.scale))
    return lambda order: divergence(step, order)


def confident_cost(noise: ConfidentMax, counts: Counts) -> Cost:
    """Of one query to Confident-GNMax: its check, and its label for as much as the check is likely to be passed."""
    above, scale = noise.grid * (int(counts.max()) - noise.threshold), noise.grid * noise.check_scale
    log_fewer = _log_tail(above + 1 if above >= 0 else -above, scale)
    check = Step(0.5 / noise.check_scale / noise.check_scale, log_fewer)
    label = _argmax(noise.grid * counts, noise.grid * noise.answer_scale, noise.grid)
    log_passed = 0.0 if above >= 0 else log_fewer

    def cost(order: float) -> float:
        excess = order - 1.0
        checked, labelled = excess * divergence(check, order), excess * divergence(label, order)
        far = max(excess, math.sqrt(-log_passed / check.rho))  # μ − 1
        passed = min(checked, excess * check.rho * (1.0 + far) + log_passed * (1.0 - excess / far))
        more = -math.inf if labelled <= 0.0 else passed + labelled + math.log(-math.expm1(-labelled))
        return min((check.rho + label.rho) * order, float(np.logaddexp(checked, more)) / excess)

    return cost


def divergence(step: Step, order: float) -> float:
    """A bound on the Rényi divergence of `order` of one step, on these votes."""
    rho, log_rest = step
    worst, excess = rho * order, order - 1.0
    second = math.sqrt(max(0.0, -log_rest) / rho)
    log_other = (log_rest + rho * second) * (1.0 - 1.0 / second) if second > 1.0 else 0.0  # on a neighbour's votes
    if log_other >= 0.0 or excess > second:
        return worst
    likely = -excess * math.log(-math.expm1(log_other))
    rare = excess * rho * (second + 1.0) + log_rest * (1.0 - excess / second)
    return min(worst, float(np.logaddexp(likely, rare)) / excess)


def _argmax(counts: Counts, scale: float, unit: int = 1) -> Step:
    """A noisy argmax of integers, of which one vote is `unit`."""
    top = int(counts.argmax())
    gaps = (counts[top] - np.delete(counts, top)).tolist()
    rest = math.fsum(_tail(gap - 0.5, math.sqrt(2.0) * scale, 2) for gap in gaps)
    return Step(unit / scale * unit / scale, math.log(min(1.0, rest)))


def _log_tail(least: int, scale: float) -> float:
    """ln of a bound on P(Z ≥ `least`), Z discrete Gaussian of σ = `scale`."""
    return math.log(min(1.0, _tail(float(least), scale, 1)))


def _tail(least: float, scale: float, draws: int) -> float:
    """A bound on the chance that a sum of so many draws, of deviation `scale` in all, is at least `least` > 0.

    The smaller of two: that of sub-Gaussian noise, and that of rounded continuous noise with its distance in δ.
    """
    rounded = float(ndtr(-(least - 0.5) / scale)) + draws * draws / (16.0 * scale * scale)
    one_sided = math.exp(-least * least / (2.0 * scale * scale)) if least > 0.0 else 1.0
    return min(one_sided, rounded) if scale * scale >= 4.0 * draws else one_sided
