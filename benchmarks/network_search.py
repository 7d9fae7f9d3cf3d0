"""How the settings of a network by DP-SGD are chosen: in its favour. This file needs NumPy alone.

For each table and ε by itself, by accuracy on the *test* rows, which no private learner could do: `STARTS`, then
neighbours of the best so far, one change at a time, until none is better, `MOST` are tried or the time for it is over.
Both the last weights and the mean of the last half of the steps count. The `FINALISTS` best run again on `FINAL_SEEDS`,
and the best of them on `REPORT_SEEDS`, which nothing was chosen by: those are the figures. All cells take turns, so
that a run that ends early has tried about as much for each of them.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import Bits, Noises

INPUTS = ("both", "predicates", "columns")
PER_EPOCH = (1, 10, 20, 50, 100)
STEPS = (150, 300, 600, 1200, 2400, 4800)
CLIPS = (0.25, 0.5, 1.0, 2.0, 4.0)
ACTIVATIONS = ("relu", "tanh")
LADDER = 2.0
"""From one learning rate to the next."""
SGD_RATE = 50.0
"""A first guess at SGD's learning rate times C, for one of Adam's."""
MOST = 24
FINALISTS = 3
SEARCH_SEEDS = (0, 1)
"""At ε up to .1, where runs differ much; above, the first of them."""
FINAL_SEEDS = (2, 3, 4)
REPORT_SEEDS = (1_000, 1_001, 1_002, 1_003, 1_004)


@dataclass(frozen=True)
class Setting:
    """`steps` batches, each record in each with probability 1/`per_epoch`; gradients are cut to norm `clip`.

    `inputs`: standardised columns, the public predicates that pcqr's classifiers ask, or both. `rate` is the learning
    rate for the mean gradient of a batch.
    """

    inputs: str = "both"
    per_epoch: int = 20
    steps: int = 600
    clip: float = 1.0
    rate: float = 2e-3
    optimizer: str = "adam"
    activation: str = "relu"

    def __str__(self) -> str:
        return (
            f"{self.inputs}, q 1/{self.per_epoch}, {self.steps} steps, C {self.clip:g}, "
            f"{self.optimizer} {self.rate:.3g}, {self.activation}"
        )

    def neighbours(self) -> Iterator[Setting]:
        """All settings that differ in one choice, those first that matter most."""
        yield replace(self, rate=self.rate * LADDER)
        yield replace(self, rate=self.rate / LADDER)
        for steps in _beside(STEPS, self.steps):
            yield replace(self, steps=steps)
        for per_epoch in _beside(PER_EPOCH, self.per_epoch):
            yield replace(self, per_epoch=per_epoch)
        for inputs in INPUTS:
            yield replace(self, inputs=inputs)
        for activation in ACTIVATIONS:
            yield replace(self, activation=activation)
        for clip in _beside(CLIPS, self.clip):  # Adam's steps are as long whatever C is, those of SGD grow with it
            yield replace(self, clip=clip, rate=self.rate * (self.clip / clip if self.optimizer == "sgd" else 1.0))
        if self.optimizer == "adam":
            yield replace(self, optimizer="sgd", rate=self.rate * SGD_RATE / self.clip)
        else:
            yield replace(self, optimizer="adam", rate=self.rate * self.clip / SGD_RATE)


def _beside(values: Sequence[Any], value: Any) -> list[Any]:
    place = values.index(value)
    return [values[other] for other in (place + 1, place - 1) if 0 <= other < len(values)]


_LITTLE = Setting(steps=150, rate=1.6e-2)
STARTS_FOR_LITTLE: tuple[Setting, ...] = (
    replace(_LITTLE, rate=8e-3, activation="tanh"),
    _LITTLE,
    replace(_LITTLE, inputs="predicates"),
    replace(_LITTLE, inputs="columns"),
    replace(_LITTLE, optimizer="sgd", rate=0.05),
    replace(_LITTLE, per_epoch=50, steps=600, rate=4e-3),
)
STARTS: tuple[Setting, ...] = (
    Setting(rate=4e-3),
    Setting(inputs="columns", per_epoch=50, steps=1200),
    Setting(inputs="predicates", steps=300, rate=4e-3),
    Setting(per_epoch=50, steps=1200, activation="tanh"),
    Setting(steps=300, optimizer="sgd", rate=0.1),
    Setting(per_epoch=50, steps=2400, clip=0.5),
)
LITTLE = 10_000
"""Below this n·ε the search begins with `STARTS_FOR_LITTLE`."""


@dataclass(frozen=True)
class Job:
    """One run: a cell (a table at an ε), a setting and a seed; `keep`: store which test rows were right."""

    path: str
    epsilon: float
    setting: Setting
    noise: float
    seed: int
    keep: bool = False

    @property
    def cell(self) -> tuple[str, float]:
        return Path(self.path).stem, self.epsilon


@dataclass(frozen=True)
class Run:
    """What became of a job: accuracy of the last weights and of their mean; of both, which test rows were right."""

    table: str
    epsilon: float
    setting: Setting
    noise: float
    seed: int
    accuracy: tuple[float, float]
    seconds: float
    right: tuple[str, ...] = ()

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Run:
        tuples = {name: tuple(fields[name]) for name in ("accuracy", "right")}
        return cls(**{**fields, **tuples, "setting": Setting(**fields["setting"])})


def packed(right: Bits) -> str:
    return base64.b64encode(np.packbits(right).tobytes()).decode()


Candidate = tuple[Setting, int]
"""A setting with its last weights (0) or with their mean (1)."""


@dataclass
class Cell:
    """The search for one table and ε: what ran, and which job is next."""

    path: str
    epsilon: float
    noises: Noises
    starts: Sequence[Setting]
    runs: dict[tuple[Setting, int], Run] = field(default_factory=dict)
    asked: set[tuple[Setting, int]] = field(default_factory=set)

    @property
    def seeds(self) -> Sequence[int]:
        return SEARCH_SEEDS if self.epsilon <= 0.1 else SEARCH_SEEDS[:1]

    @property
    def tried(self) -> int:
        return sum(seed == SEARCH_SEEDS[0] for _, seed in self.asked)

    def add(self, run: Run) -> None:
        self.runs[run.setting, run.seed] = run
        self.asked.add((run.setting, run.seed))

    def search(self) -> Job | None:
        """The next new setting, if one is left: the first ones, then neighbours of the best."""
        near = (setting for best, _ in self.leaders(1) for setting in best.neighbours())
        for setting in (*self.starts, *near):
            new = (setting, self.seeds[0]) not in self.asked
            if (setting.per_epoch, setting.steps) not in self.noises or (new and self.tried >= MOST):
                continue
            for seed in self.seeds:
                if (setting, seed) not in self.asked:
                    return self._job(setting, seed)
        return None

    def finish(self) -> Job | None:
        """The next run of a finalist, or of the winner once all of those are there."""
        for setting, _ in self.leaders(FINALISTS):
            for seed in FINAL_SEEDS:
                if (setting, seed) not in self.asked:
                    return self._job(setting, seed)
        winner = self.winner()
        for seed in REPORT_SEEDS if winner else ():
            if winner and (winner[0], seed) not in self.asked:
                return self._job(winner[0], seed, keep=True)
        return None

    def leaders(self, number: int) -> list[Candidate]:
        """The best by the runs of the search."""
        done = [setting for setting, seed in self.runs if seed == self.seeds[-1] and (setting, 0) in self.runs]
        tried = [(setting, which) for setting in done for which in (0, 1)]
        return sorted(tried, key=lambda candidate: self.mean(candidate, self.seeds), reverse=True)[:number]

    def winner(self) -> Candidate | None:
        """The best finalist by all its runs, once they are there."""
        finalists = self.leaders(FINALISTS)
        if not finalists or any((setting, seed) not in self.runs for setting, _ in finalists for seed in FINAL_SEEDS):
            return None
        return max(finalists, key=self.mean)

    def report(self) -> list[Run]:
        """The winner's runs on fresh seeds, all of them or none."""
        winner = self.winner()
        runs = [self.runs.get((winner[0], seed)) for seed in REPORT_SEEDS] if winner else []
        return [run for run in runs if run] if all(runs) else []

    def mean(self, candidate: Candidate, seeds: Sequence[int] = ()) -> float:
        """Over `seeds`, or over those of the search and of finalists."""
        setting, which = candidate
        return float(np.mean([self.runs[setting, s].accuracy[which] for s in seeds or (*self.seeds, *FINAL_SEEDS)]))

    def _job(self, setting: Setting, seed: int, keep: bool = False) -> Job:
        self.asked.add((setting, seed))
        noise = self.noises[setting.per_epoch, setting.steps]
        return Job(self.path, self.epsilon, setting, noise, seed, keep)


def next_job(cells: Sequence[Cell], searching: bool) -> Job | None:
    """In the search, of the cell for which the fewest settings were tried; later one cell is finished after another."""
    searches = (cell.search() for cell in sorted(cells, key=lambda cell: cell.tried) if searching)
    finishes = (cell.finish() for cell in cells)
    return next((job for job in itertools.chain(searches, finishes) if job is not None), None)
