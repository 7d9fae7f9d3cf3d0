"""How the settings of logistic regression by DP-SGD are chosen: in its favour.

For each table and ε by itself, by accuracy on the *test* rows, which no private learner could do. First all of
`BATCHES` with both kinds of vectors at the first of `CLIPS`, then the other clipping norms with the best of these; each
with the learning rates r₀·3ᵏ, k = −1, 0, 1 and on until the best one has worse ones on both sides, and each with the
last weights and with the mean of the last half. The `FINALISTS` best settings run again on more seeds, the best of them
on fresh ones, and those are the figures: free of the luck of the search, not of its sight of the test rows. Not
searched: momentum, which is 0.9, still smaller C, and Adam.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.peers import Noises

VECTORS = ("few", "many")
BATCHES = ((1, 120), (10, 200), (100, 500))
"""(Batches an epoch, steps): full batches, a tenth and a hundredth of the records at a time."""
CLIPS = (0.5, 0.25, 1.0)
MOMENTUM = 0.9
LADDER = 3.0
RUNGS = 8
"""The most learning rates that one ladder tries."""
LARGEST_FIRST_RATE = 12.0
FINALISTS = 4


@dataclass(frozen=True)
class Seeds:
    """How many runs a setting gets in the search, how many more as a finalist, and how many the winner gets anew."""

    search: int
    final: int
    report: int

    @classmethod
    def of(cls, records: int, epsilon: float) -> Seeds:
        """Fewer on large tables, where runs differ little; more at a small ε, where they differ much."""
        if records > 100_000:
            return cls(1, 2, 5)
        return cls(4, 8, 20) if epsilon <= 0.1 else cls(2, 4, 20)


@dataclass(frozen=True)
class Setting:
    """`steps` batches, each record in each with probability q = 1/`per_epoch`; gradients are cut to norm `clip`.

    `vectors`: over few predicates or many (`benchmarks.dp_sgd`). `rate` is the learning rate for the mean gradient of a
    batch. `averaged`: the mean of the weights after each of the last half of the steps, or else the last weights.
    """

    per_epoch: int
    steps: int
    clip: float
    rate: float
    vectors: str = VECTORS[0]
    averaged: bool = False
    momentum: float = MOMENTUM

    def __str__(self) -> str:
        what = "mean" if self.averaged else "last"
        return (
            f"{self.vectors}, q 1/{self.per_epoch}, {self.steps} steps, C {self.clip:g}, rate {self.rate:.3g}, {what}"
        )


Score = Callable[[Setting, int], tuple[float, float]]
"""(accuracy of the last weights, of averaged ones) of the run of a setting with a seed."""


def starts(records: int, noises: Noises) -> list[Setting]:
    """One for all of `BATCHES` and both kinds of vectors."""
    return [
        Setting(per_epoch, steps, CLIPS[0], first_rate(records, per_epoch, steps, noises[per_epoch, steps]), vectors)
        for (per_epoch, steps), vectors in itertools.product(BATCHES, VECTORS)
    ]


def first_rate(records: int, per_epoch: int, steps: int, noise: float) -> float:
    """r₀: the noise that it leaves in each of the last weights is about 1, or it is 12 if that is less."""
    of_a_step = noise * CLIPS[0] * per_epoch / records
    return min(LARGEST_FIRST_RATE, (1.0 - MOMENTUM) / (of_a_step * math.sqrt(steps)))


@dataclass(frozen=True)
class Found:
    """The winner, its mean accuracy over all its runs so far, and the number of settings tried."""

    setting: Setting
    accuracy: float
    tried: int


@dataclass
class _Tally:
    """All runs so far."""

    score: Score
    runs: dict[Setting, list[float]] = field(default_factory=dict)

    def run(self, setting: Setting, seeds: Sequence[int]) -> None:
        """Add runs of `setting` with and without averaging, which cost no more than one of them."""
        pair = [replace(setting, averaged=averaged) for averaged in (False, True)]
        for seed in seeds:
            for each, accuracy in zip(pair, self.score(setting, seed), strict=True):
                self.runs.setdefault(each, []).append(accuracy)

    def mean(self, setting: Setting) -> float:
        return float(np.mean(self.runs[setting]))

    def best(self, number: int) -> list[Setting]:
        return sorted(self.runs, key=self.mean, reverse=True)[:number]


def search(score: Score, begin: Sequence[Setting], seeds: Seeds) -> Found:
    """The best setting found on ladders of learning rates from all of `begin`, and with other norms from the best."""
    tally = _Tally(score)
    for start in begin:
        _climb(tally, start, range(seeds.search))
    (best,) = tally.best(1)
    for clip in CLIPS[1:]:  # at the same distance that a clipped gradient goes
        _climb(tally, replace(best, clip=clip, rate=best.rate * best.clip / clip), range(seeds.search))
    finalists = tally.best(FINALISTS)
    for setting in {replace(finalist, averaged=False) for finalist in finalists}:
        tally.run(setting, range(seeds.search, seeds.search + seeds.final))
    winner = max(finalists, key=tally.mean)
    return Found(winner, tally.mean(winner), len(tally.runs))


def _climb(tally: _Tally, start: Setting, seeds: Sequence[int]) -> None:
    """Try rates next to those tried until the best of them has a neighbour on either side."""
    found: dict[int, float] = {}

    def attempt(rung: int) -> None:
        setting = replace(start, rate=start.rate * LADDER**rung)
        tally.run(setting, seeds)
        found[rung] = max(tally.mean(replace(setting, averaged=averaged)) for averaged in (False, True))

    for rung in (-1, 0, 1):
        attempt(rung)
    while len(found) < RUNGS:
        best = max(found, key=lambda rung: found[rung])
        missing = {best - 1, best + 1} - found.keys()
        if not missing:
            return
        attempt(missing.pop())
