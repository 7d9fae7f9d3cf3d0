"""Do the intervals of `pcqr score` cover the truth as often as they say?

    python -m benchmarks.score [--runs 500] [--redraw]

A population is a distribution over (label, bin). For each kind of model, size n and ε its accuracy, balanced accuracy,
AUC, confusion matrix and the share of each class that is right are known; then so many times n records are drawn from
it, their histogram is released by the shipped mechanism, and every interval of `PrivateScore` is compared with the
truth. Seeded, so that it can be repeated. The table goes into docs/score.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import markdown, wide_console, write_json
from benchmarks.pages import put_between
from pcqr.mechanisms import NoisyHistogram
from pcqr.models import Estimate, PrivateScore
from pcqr.privacy.entropy import SeededEntropy

RESULTS, PAGE = Path("benchmarks/results/score.json"), Path("docs/score.md")
SIZES, EPSILONS = (200, 2_000, 50_000), (0.05, 0.3, 1.0)
BINS = 10
KINDS = ("accuracy", "balanced accuracy", "AUC", "recall", "confusion")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Population:
    """How likely each (label, bin) is. The bins of a label are as many as those of any other."""

    chances: Floats

    @property
    def labels(self) -> NDArray[np.int64]:
        """The predicted label of each bin."""
        classes, bins = self.chances.shape
        found: NDArray[np.int64] = np.arange(bins) * classes // bins
        return found

    def truth(self) -> dict[str, float]:
        """Each figure by the name that `estimates` gives it."""
        classes = range(len(self.chances))
        confusion = [[float(self.chances[c, self.labels == said].sum()) for said in classes] for c in classes]
        recall = [confusion[c][c] / float(self.chances[c].sum()) for c in classes]
        found = {"accuracy": sum(confusion[c][c] for c in classes), "balanced accuracy": float(np.mean(recall))}
        if len(classes) == 2 and self.chances.shape[1] > 2:
            negative, positive = (row / row.sum() for row in self.chances)
            found["AUC"] = float(positive @ (negative.cumsum() - negative / 2))
        found |= {f"recall {c}": recall[c] for c in classes}
        return found | {f"confusion {c} {said}": confusion[c][said] for c in classes for said in classes}


def estimates(score: PrivateScore) -> dict[str, Estimate]:
    found = {"accuracy": score.accuracy, "balanced accuracy": score.balanced_accuracy}
    if score.auc is not None:
        found["AUC"] = score.auc
    found |= {f"recall {c}": each for c, each in enumerate(score.recall)}
    return found | {f"confusion {c} {said}": e for c, row in enumerate(score.confusion) for said, e in enumerate(row)}


def _steps(rising: float, falling: float) -> Floats:
    """Chances of the bins of a probability: those of a Beta distribution, at their middles."""
    middle = (np.arange(BINS) + 0.5) / BINS
    weights: Floats = middle ** (rising - 1.0) * (1.0 - middle) ** (falling - 1.0)
    return np.asarray(weights / weights.sum())


def _two(separation: float, share: float) -> Population:
    return Population(np.stack([(1.0 - share) * _steps(1.0, separation), share * _steps(separation, 1.0)]))


def _ten(right: float) -> Population:
    chances = np.full((10, 10), 0.1 * (1.0 - right) / 9.0)
    np.fill_diagonal(chances, 0.1 * right)
    return Population(chances)


POPULATIONS: Mapping[str, Population] = {
    "a coin": _two(1.0, 0.5),
    "good": _two(4.0, 0.4),
    "nearly perfect": _two(40.0, 0.5),
    "good, a class of 1 %": _two(4.0, 0.01),
    "nearly perfect, a class of 1 %": _two(40.0, 0.01),
    "ten classes": _ten(0.85),
}


@dataclass(frozen=True)
class Coverage:
    """Of one population, size and ε: how often each interval covered, and how long it was on average."""

    population: str
    records: int
    epsilon: float
    covered: Mapping[str, float]
    length: Mapping[str, float]

    def worst(self, name: str) -> float:
        """The smallest share among the figures that begin so."""
        return min(share for figure, share in self.covered.items() if figure.startswith(name))

    def brief(self) -> Coverage:
        """What the table needs: the worst of all classes, and the lengths for accuracy alone."""
        kinds = [kind for kind in KINDS if any(figure.startswith(kind) for figure in self.covered)]
        covered = {kind: self.worst(kind) for kind in kinds}
        return replace(self, covered=covered, length={"accuracy": self.length["accuracy"]})


def measure(name: str, records: int, epsilon: float, runs: int, seed: int) -> Coverage:
    population, noise = POPULATIONS[name], NoisyHistogram.calibrate(epsilon)
    generator, entropy = np.random.default_rng(seed), SeededEntropy(seed)
    truth = population.truth()
    covered, length = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0.0)
    chances, labels = [*population.chances.ravel(), 0.0], tuple(population.labels.tolist())
    classes = tuple(range(len(population.chances)))
    for _ in range(runs):
        histogram = tuple(noise.release(generator.multinomial(records, chances), entropy))
        score = PrivateScore(histogram, records, classes, labels, noise, noise.guarantee)
        for figure, estimate in estimates(score).items():
            covered[figure] += estimate.low - 1e-12 <= truth[figure] <= estimate.high + 1e-12
            length[figure] += estimate.high - estimate.low
    return Coverage(
        name,
        records,
        epsilon,
        {figure: count / runs for figure, count in covered.items()},
        {figure: round(total / runs, 5) for figure, total in length.items()},
    )


HEADER = ["model", "n", "accuracy", "balanced", "AUC", "recall", "confusion", "± at ε = .05", "± at .3", "± at 1"]


def rows(cases: list[Coverage]) -> Iterator[list[str]]:
    """A line for each population and size: the smallest coverage at any ε, and half the lengths for accuracy."""
    for name, records in product(POPULATIONS, SIZES):
        alike = [case for case in cases if (case.population, case.records) == (name, records)]
        least = [
            f"{100 * min(case.covered[kind] for case in alike):.1f}" if kind in alike[0].covered else "–"
            for kind in KINDS
        ]
        lengths = [f"{50 * case.length['accuracy']:.1f}" for case in alike]
        yield [name, f"{records:,}", *least, *lengths]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=500)
    options.add_argument("--redraw", action="store_true", help="write the table of the stored results")
    given = options.parse_args()
    if given.redraw:
        cases = [Coverage(**fields) for fields in json.loads(RESULTS.read_text(encoding="utf-8"))["cases"]]
    else:
        asked = product(POPULATIONS, SIZES, EPSILONS)
        cases = [measure(*each, given.runs, seed) for seed, each in enumerate(asked)]
        shares = sorted(chain.from_iterable(case.covered.values() for case in cases))
        told = f"{len(shares)} intervals, covered at least {shares[0]:.3f}, {np.mean(shares):.4f} on average"
        wide_console().print(told)
        cases = [case.brief() for case in cases]
        write_json(RESULTS, {"runs": given.runs, "bins": BINS}, [asdict(case) for case in cases])
    table = markdown(HEADER, list(rows(cases)))
    wide_console().print(table)
    put_between(PAGE, "coverage", table)


if __name__ == "__main__":
    main()
