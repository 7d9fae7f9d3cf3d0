"""The peer of a published classifier: logistic regression by DP-SGD, as Opacus has it, tuned in its favour.

    python -m benchmarks.dp_sgd --data FOLDER [--tables adult,bank,…] [--epsilons .1,1]

Needs `pip install pcqr[bench]` (PyTorch and Opacus). The peer reads what `pcqr.algorithms.linear` reads: the unit
vectors φ/‖φ‖ over the same public predicates, in units that the same public rows give. Per-example clipping, Poisson
sampling and noise are Opacus's own (`PrivacyEngine.make_private`; "ghost" clipping, which is the fast one).

Noise. Opacus accounts for adding or removing a record. Replacing one moves a clipped sum by up to 2C instead of C, so
the noise here is 2σC, σ being what Opacus asks for at (ε, δ): the accountant "prv" where batches are sampled, with an
error of one per cent of ε, and "gdp" where nothing is sampled: there it is a bound, and the lower one of the two.
Without sampling, doubling is exact. With it, it is right to first order in the sampling rate q: with noise s·C, the
squares of the privacy loss add up over steps as the χ²-divergence of (1−q)·N(0, s²) + q·N(1, s²) from the same with
N(−1, s²), which is 4 sinh(1/s²)·q² ≈ 4q²/s²; a record that is added and counts double costs (e^{4/s²} − 1)·q² ≈ 4q²/s².
The second is the larger one where s is small, by a quarter at s = 3: `noise` is stored for the reader to see.

Tuning. For each table and ε by itself, by accuracy on the *test* rows, which no private learner could do. First all of
`BATCHES` that keep within `ROW_VISITS` at the first of `CLIPS`, then the other clipping norms with the best of these;
each with the learning rates r₀·3ᵏ, k = −1, 0, 1 and on until the best one has worse ones on both sides, and each with
the last weights and with the mean of the last half. The `FINALISTS` best settings run again on more seeds, the best of
them on fresh ones, and those are the figures: free of the luck of the search, not of its sight of the test rows. The
winner's figure in the search is stored beside them. Not searched: momentum, which is 0.9, still smaller C, and Adam.

Results are stored after every ε, one line a table and ε; a later run replaces the lines that it makes anew.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.accuracy import mean_and_spread, show, wide_console, write_json
from benchmarks.tables import TABLES, FloatArray, Task, load
from pcqr.hypotheses import DecisionTrees
from pcqr.records.features import UNIT, LinearFeatures
from pcqr.records.predicates import evaluate

DELTA = 1e-6
EPSILONS = (0.03, 0.1, 0.3, 1.0, 4.0)
BATCHES = ((1, 120), (10, 200), (100, 500))
"""(Batches an epoch, steps): full batches, a tenth and a hundredth of the records at a time."""
CLIPS = (0.5, 0.25, 1.0)
MOMENTUM = 0.9
LADDER = 3.0
RUNGS = 8
"""The most learning rates that one ladder tries."""
ROW_VISITS = 10_000_000
"""Settings for which an expected q·n·steps is more than this are left out: covertype's and flights' full batches."""
FINALISTS = 4
RESULTS = Path("benchmarks/results/dp_sgd.json")

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Seeds:
    """How many runs a setting gets in the search, how many more as a finalist, and how many the winner gets anew."""

    search: int
    final: int
    report: int

    @classmethod
    def of(cls, records: int, epsilon: float) -> Seeds:
        """Fewer on large tables, where runs are slow and differ little; more at a small ε, where they differ much."""
        if records > 100_000:
            return cls(1, 2, 5)
        return cls(4, 8, 20) if epsilon <= 0.1 else cls(2, 4, 20)


@dataclass(frozen=True)
class Setting:
    """`steps` batches, each record in each with probability q = 1/`per_epoch`; gradients are cut to norm `clip`.

    `rate` is the learning rate for the mean gradient of a batch. `averaged`: the mean of the weights after each of the
    last half of the steps, or else the last weights.
    """

    per_epoch: int
    steps: int
    clip: float
    rate: float
    averaged: bool = False
    momentum: float = MOMENTUM

    def __str__(self) -> str:
        what = "mean" if self.averaged else "last"
        return f"q 1/{self.per_epoch}, {self.steps} steps, C {self.clip:g}, rate {self.rate:.3g}, {what}"


Score = Callable[[Setting, int], tuple[float, float]]
"""(accuracy of the last weights, of averaged ones) of the run of a setting with a seed."""


@dataclass(frozen=True)
class Case:
    """One table at one ε: the winner's setting, its accuracies on fresh seeds and their mean in the search.

    `noise` is the standard deviation of the noise in units of C, `tried` the number of settings, `seconds` those of all
    runs and `fit_seconds` those of one of the winner's, `load` the machine's load average before.
    """

    table: str
    epsilon: float
    records: int
    setting: Setting
    noise: float
    accuracy: Sequence[float]
    searched: float
    tried: int
    seconds: float
    fit_seconds: float
    load: float

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Case:
        return cls(**{**fields, "setting": Setting(**fields["setting"])})

    @property
    def key(self) -> tuple[str, float]:
        return self.table, self.epsilon

    @property
    def standard_error(self) -> float:
        return mean_and_spread(self.accuracy)[1] / math.sqrt(len(self.accuracy))

    def row(self) -> list[str]:
        return [
            self.table,
            f"{self.epsilon:g}",
            f"{100 * mean_and_spread(self.accuracy)[0]:.2f} ±{100 * self.standard_error:.2f}",
            f"{len(self.accuracy)}",
            f"{100 * self.searched:.2f}",
            f"{self.setting}",
            f"{self.tried}",
            f"{self.fit_seconds:.1f} s",
        ]


HEADER = ("table", "ε", "accuracy", "runs", "in the search", "winner of the search", "tried", "one fit")


@dataclass(frozen=True)
class Peer:
    """DP-SGD on one table."""

    task: Task
    vectors: Vectors
    test_vectors: Vectors

    @classmethod
    def of(cls, task: Task) -> Peer:
        predicates = DecisionTrees().prepared(task.public, None).predicates or ()
        features = LinearFeatures.of(predicates, task.X.shape[1], task.public)
        return cls(task, unit_vectors(features, task.X), unit_vectors(features, task.X_test))

    def answers(self, epsilon: float, setting: Setting, seed: int) -> NDArray[np.bool_]:
        """Which of the test rows one private run of `setting` labels 1."""
        noise = noise_multiplier(epsilon, setting.per_epoch, setting.steps)
        weights = descend(self.vectors, self.task.y, setting, noise, seed)[setting.averaged]
        labels: NDArray[np.bool_] = self.test_vectors @ weights > 0.0
        return labels

    def accuracies(self, epsilon: float, setting: Setting, seeds: Sequence[int]) -> list[float]:
        answers = (self.answers(epsilon, setting, seed) for seed in seeds)
        return [float(np.mean(labels == self.task.y_test)) for labels in answers]

    def tune(self, epsilon: float) -> Found:
        """The best setting of the search, by accuracy on the test rows."""
        starts = [
            Setting(per_epoch, steps, CLIPS[0], self._first_rate(epsilon, per_epoch, steps))
            for per_epoch, steps in affordable(self.task.y.size)
        ]
        seeds = Seeds.of(self.task.y.size, epsilon)
        return search(lambda setting, seed: self._both(epsilon, setting, seed), starts, seeds)

    def _both(self, epsilon: float, setting: Setting, seed: int) -> tuple[float, float]:
        noise = noise_multiplier(epsilon, setting.per_epoch, setting.steps)
        last, mean = descend(self.vectors, self.task.y, setting, noise, seed)
        return self._score(last), self._score(mean)

    def _score(self, weights: Vectors) -> float:
        return float(np.mean((self.test_vectors @ weights > 0.0) == self.task.y_test))

    def _first_rate(self, epsilon: float, per_epoch: int, steps: int) -> float:
        """r₀: the noise that it leaves in each of the last weights is about 1, or it is 12 if that is less."""
        noise = noise_multiplier(epsilon, per_epoch, steps) * CLIPS[0] * per_epoch / self.task.y.size
        return min(12.0, (1.0 - MOMENTUM) / (noise * math.sqrt(steps)))


def unit_vectors(features: LinearFeatures, X: FloatArray) -> Vectors:
    """φ/‖φ‖ of each row."""
    holds = evaluate(features.predicates, X)
    entries = np.where(holds, np.array(features.holding, np.float32), np.array(features.failing, np.float32))
    entries = np.append(entries, np.full((holds.shape[0], 1), UNIT, np.float32), axis=1)
    vectors: Vectors = entries / np.linalg.norm(entries, axis=1, keepdims=True)
    return vectors


def affordable(records: int) -> list[tuple[int, int]]:
    return [(per_epoch, steps) for per_epoch, steps in BATCHES if records * steps <= ROW_VISITS * per_epoch]


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


def search(score: Score, starts: Sequence[Setting], seeds: Seeds) -> Found:
    """The best setting found on ladders of learning rates from all `starts`, and with other norms from the best one."""
    tally = _Tally(score)
    for start in starts:
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


@cache
def noise_multiplier(epsilon: float, per_epoch: int, steps: int) -> float:
    """2σ: the noise in units of C for replace-one at (ε, `DELTA`), sampling with q = 1/`per_epoch`."""
    from opacus.accountants.utils import get_noise_multiplier  # noqa: PLC0415

    options = {"accountant": "gdp"} if per_epoch == 1 else {"accountant": "prv", "eps_error": 0.01 * epsilon}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gdp's, that sampling is approximated: here is none
        sigma: float = get_noise_multiplier(
            target_epsilon=epsilon,
            target_delta=DELTA,
            sample_rate=1.0 / per_epoch,
            steps=steps,
            epsilon_tolerance=0.002 * epsilon,
            **options,
        )
    return 2.0 * sigma


class _Rows:
    """A data set for PyTorch that hands out a batch at once: vectors and labels, none for an empty batch."""

    def __init__(self, vectors: Any, labels: Any) -> None:
        self._vectors, self._labels = vectors, labels

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, position: int) -> tuple[Any, Any]:
        return self._vectors[position], self._labels[position]

    def __getitems__(self, positions: Sequence[int]) -> tuple[Any, Any]:
        if len(positions) == len(self):  # sampled without replacement: these are all, and in order
            return self._vectors, self._labels
        chosen = np.array(positions, dtype=np.int64)
        return self._vectors[chosen], self._labels[chosen]


def _as_it_is(batch: Any) -> Any:
    return batch


def descend(
    vectors: Vectors, labels: NDArray[np.int8], setting: Setting, noise: float, seed: int
) -> tuple[Vectors, Vectors]:
    """(last weights, mean of the last half) of logistic regression by Opacus with noise of `noise`·C in each step."""
    import torch  # noqa: PLC0415
    from opacus import PrivacyEngine  # noqa: PLC0415

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = torch.nn.Linear(vectors.shape[1], 1, bias=False)  # φ has a constant
    torch.nn.init.zeros_(model.weight)
    rows = _Rows(torch.from_numpy(vectors), torch.from_numpy(labels.astype(np.float32)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus's, that its random numbers are not secure: here they need not be
        private, optimizer, criterion, batches = PrivacyEngine(accountant="prv").make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=setting.rate, momentum=setting.momentum),
            criterion=torch.nn.BCEWithLogitsLoss(),
            data_loader=torch.utils.data.DataLoader(
                rows, batch_size=math.ceil(len(rows) / setting.per_epoch), collate_fn=_as_it_is
            ),
            noise_multiplier=noise,
            max_grad_norm=setting.clip,
            grad_sample_mode="ghost",
        )
        if not math.isclose(batches.sample_rate, 1.0 / setting.per_epoch):
            raise AssertionError(f"Opacus samples with {batches.sample_rate}, not with 1/{setting.per_epoch}.")
        total, step = torch.zeros_like(model.weight), 0
        while step < setting.steps:
            for batch, wanted in batches:
                optimizer.zero_grad()
                criterion(private(batch)[:, 0], wanted).backward()
                optimizer.step()
                step += 1
                if 2 * step > setting.steps:
                    total += model.weight.detach()
                if step == setting.steps:
                    break
    mean = total / math.ceil(setting.steps / 2)
    return model.weight.detach().numpy()[0].copy(), mean.numpy()[0]


def measure(peer: Peer, epsilon: float) -> Case:
    """Tune at `epsilon`, then run the winner on seeds that the search has not seen."""
    load_before, start, task = os.getloadavg()[0], time.perf_counter(), peer.task
    found = peer.tune(epsilon)
    begun = time.perf_counter()
    accuracy = peer.accuracies(epsilon, found.setting, range(1_000, 1_000 + Seeds.of(task.y.size, epsilon).report))
    end = time.perf_counter()
    return Case(
        table=task.name,
        epsilon=epsilon,
        records=task.y.size,
        setting=found.setting,
        noise=noise_multiplier(epsilon, found.setting.per_epoch, found.setting.steps),
        accuracy=accuracy,
        searched=found.accuracy,
        tried=found.tried,
        seconds=end - start,
        fit_seconds=(end - begun) / len(accuracy),
        load=load_before,
    )


def stored() -> dict[tuple[str, float], Case]:
    if not RESULTS.exists():
        return {}
    cases = [Case.read(fields) for fields in json.loads(RESULTS.read_text(encoding="utf-8"))["cases"]]
    return {case.key: case for case in cases}


def store(cases: Mapping[tuple[str, float], Case]) -> list[Case]:
    ordered = sorted(cases.values(), key=lambda case: (TABLES.index(case.table), case.epsilon))
    settings = {"delta": DELTA, "batches": BATCHES, "clips": CLIPS, "ladder": LADDER, "row_visits": ROW_VISITS}
    write_json(RESULTS, settings, [asdict(case) for case in ordered])
    return ordered


def run(tables: Sequence[str], epsilons: Sequence[float], folder: Path, console: Console) -> list[Case]:
    cases = stored()
    for name in tables:
        peer = Peer.of(load(name, folder))
        for epsilon in epsilons:
            case = measure(peer, epsilon)
            console.print("  ".join(case.row()), highlight=False)
            cases[case.key] = case
            store(cases)
    return store(cases)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dp_sgd", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the Parquet files")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in EPSILONS))
    given = parser.parse_args()
    console = wide_console()
    epsilons = [float(epsilon) for epsilon in given.epsilons.split(",")]
    cases = run(given.tables.split(","), epsilons, given.data, console)
    show(f"DP-SGD, δ = {DELTA:g}; per cent, mean ± standard error", HEADER, [case.row() for case in cases], console)


if __name__ == "__main__":
    main()
