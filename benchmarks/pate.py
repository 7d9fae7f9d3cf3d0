"""PATE beside us: what its published runs cost, and what it gives on MNIST and Adult with small teachers.

    python -m benchmarks.pate accounting
    python -m benchmarks.pate mnist --data mnist.parquet --features out/mnist-scattering.npz [--runs 5]
    python -m benchmarks.pate adult [--runs 10]

**accounting.** ε of runs that the papers report, without a look at the votes: as their authors add up, by Rényi
composition, and as `guarantee_` states it. What was published beside it depends on the votes, which are private.

**mnist.** 60,000 private images, 250 teachers. The first 9,000 test images are public without their labels, 640 of them
are asked. A student learns from the labels that came back, alone or with the 9,000 images beside them; it is scored on
the 1,000 last test images, which nobody has seen, and on all that were not asked. `--features` is what
examples/mnist.py keeps: a public function of one image each, here in the 100 main directions of the public images.

**adult.** 32,561 private records, 1,500 distinct queries from the test part, 2,000 public rows. PATE as published, PATE
as our planner sets it up, and ours, all at the ε and δ of the first. A query without a label is a coin in *all
queries*. A student, a forest, learns from the labels; what is published needs none. Both are scored on test rows not
asked.

Seeds make a run repeatable (NOT PRIVATE). Results are stored after every run, and a later call goes on where the last
one stopped. Writes three tables of docs/comparison.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.accuracy import markdown, mean_and_spread, read_cases, write_json
from benchmarks.pages import put_between
from pcqr.mechanisms.noisy_max import GaussianMax, LaplaceMax
from pcqr.privacy.accounting import Repeated, compose
from pcqr.releases.confident.plan import ConfidentMax, ConfidentMaxStage
from pcqr.releases.confident.run import confident_max_guarantee
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.noisy_max.run import noisy_max_guarantee

RESULTS, PAGE = Path("benchmarks/results/pate.json"), Path("docs/comparison.md")
TEACHERS = 250
LAPLACE = 20.0
"""1/γ of LNMax, γ = .05."""
RUNS = {"mnist": 5, "adult": 10}
METHODS: Mapping[str, Sequence[tuple[str, str]]] = {
    "mnist": (
        ("Confident-GNMax", "logistic, pixels"),
        ("Confident-GNMax", "logistic, scattering"),
        ("Confident-GNMax", "scikit-learn, scattering"),
        ("GNMax, σ = 40", "logistic, scattering"),
        ("LNMax, γ = 0.05", "logistic, scattering"),
        ("`PrivateClassifier`", "–"),
    ),
    "adult": (
        *(("Confident-GNMax, as published", teacher) for teacher in ("tree", "logistic")),
        *(("Confident-GNMax, planned", teacher) for teacher in ("tree", "logistic")),
        *(("Confident-GNMax, labels not capped", teacher) for teacher in ("tree", "logistic")),
        *(("noisy max, planned", teacher) for teacher in ("tree", "logistic")),
        *(("SubSamp, 251 teachers", teacher) for teacher in ("tree", "logistic")),
        *(("SubSamp, planned", teacher) for teacher in ("tree", "logistic")),
        ("AgPrivCl, planned", "tree of depth 2"),
        ("UnvPrivCl, planned", "tree of depth 2"),
        ("`PrivateClassifier`", "–"),
    ),
}
"""What is run on each table: methods, and kinds of teachers."""


# What published runs cost ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """A run of a paper: asked, answered, its noise, and what was printed, † recalled and not read, ‡ read as quoted."""

    paper: int
    data: str
    labels: int
    asked: int
    answered: int
    noise: ConfidentMax | GaussianMax | LaplaceMax
    delta: float
    printed: str
    mark: str = ""


PUBLISHED = (
    Published(2018, "MNIST", 10, 640, 286, ConfidentMax(200, 150.0, 40.0), 1e-5, "1.97"),
    Published(2018, "SVHN", 10, 8_500, 3_098, ConfidentMax(300, 200.0, 40.0), 1e-6, "4.96"),
    Published(2018, "Adult", 2, 1_500, 524, ConfidentMax(300, 200.0, 40.0), 1e-5, "1.90", "†"),
    Published(2018, "its labels alone, MNIST", 10, 286, 286, GaussianMax(40.0), 1e-5, "–"),
    Published(2017, "MNIST", 10, 100, 100, LaplaceMax(LAPLACE), 1e-5, "2.04"),
    Published(2017, "MNIST", 10, 1_000, 1_000, LaplaceMax(LAPLACE), 1e-5, "8.03", "‡"),
    Published(2017, "SVHN", 10, 1_000, 1_000, LaplaceMax(LAPLACE), 1e-6, "8.19"),
    Published(2017, "Adult", 2, 500, 500, LaplaceMax(LAPLACE), 1e-5, "2.66", "‡"),
)
ACCOUNTING = (
    *("paper", "data", "mechanism", "asked / answered", "δ"),
    *("ε, as the authors count", "ε, Rényi", "ε, `guarantee_`", "ε printed, from the votes"),
)


def costs(run: Published) -> tuple[float, float, float]:
    """ε without a look at the votes: as the authors' code adds up, by Rényi composition, by `guarantee_`.

    Their Rényi divergence of order α is α·ρ: 1/(2σ₁²) for a check, 1/σ₂² for a label, (2γ)²/2 for an answer of LNMax.
    At the best α it is turned into ρ + 2√(ρ·ln(1/δ)).
    """
    noise = run.noise
    if isinstance(noise, ConfidentMax):
        rho = run.asked / (2.0 * noise.check_scale**2) + run.answered / noise.answer_scale**2
        steps = [Repeated(noise.check, run.asked), Repeated(noise.answer, run.answered)]
        confident = ConfidentMaxStage(TEACHERS, TEACHERS, run.asked, run.answered, noise, run.labels)
        stated = confident_max_guarantee(confident, run.delta)
    else:
        one = 1.0 / noise.scale**2 if isinstance(noise, GaussianMax) else 2.0 / noise.scale**2
        rho = run.answered * one
        answers = NoisyMaxStage(TEACHERS, TEACHERS, run.answered, noise, run.labels)
        steps, stated = [Repeated(answers.answer, run.answered)], noisy_max_guarantee(answers, run.delta)
    formula = rho + 2.0 * math.sqrt(-rho * math.log(run.delta))
    return formula, compose(steps, run.delta, accountant="Rényi").epsilon, stated.epsilon


def words(noise: ConfidentMax | GaussianMax | LaplaceMax) -> str:
    match noise:
        case ConfidentMax():
            return f"Confident-GNMax, {noise.threshold} / {noise.check_scale:g} / {noise.answer_scale:g}"
        case GaussianMax():
            return f"GNMax, σ = {noise.scale:g}"
        case LaplaceMax():
            return f"LNMax, γ = {1 / noise.scale:g}"


def accounting_rows() -> list[tuple[str, ...]]:
    return [
        (
            *(str(run.paper), run.data, words(run.noise), f"{run.asked:,} / {run.answered:,}", f"{run.delta:g}"),
            *(f"{epsilon:.2f}" for epsilon in costs(run)),
            run.printed + run.mark,
        )
        for run in PUBLISHED
    ]


# What it gives --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One release: labels given and right, of so many queries; scores of what was learned from them, by name."""

    table: str
    method: str
    teacher: str
    seed: int
    teachers: int | None
    epsilon: float
    delta: float
    asked: int
    answered: int
    right: int
    students: dict[str, float]

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.table, self.method, self.teacher, self.seed


@dataclass(frozen=True)
class Cell:
    """The runs of one method with one kind of teachers."""

    runs: Sequence[Run]

    @property
    def answered(self) -> tuple[float, float]:
        return mean_and_spread([run.answered / run.asked for run in self.runs])

    @property
    def right(self) -> tuple[float, float]:
        return mean_and_spread([run.right / run.answered for run in self.runs if run.answered])

    @property
    def with_coins(self) -> tuple[float, float]:
        """Accuracy on all queries, a coin between two labels for those without one."""
        return mean_and_spread([(run.right + 0.5 * (run.asked - run.answered)) / run.asked for run in self.runs])

    def student(self, name: str) -> str:
        found = [run.students[name] for run in self.runs if name in run.students]
        return percent(mean_and_spread(found)) if found else "–"


def percent(share: tuple[float, float]) -> str:
    return f"{100 * share[0]:.1f} ± {100 * share[1]:.1f} %"


def stored(path: Path = RESULTS) -> list[Run]:
    return read_cases(path, Run)


def store(runs: Sequence[Run]) -> None:
    order = [(table, *named) for table, methods in METHODS.items() for named in methods]
    ordered = sorted(runs, key=lambda run: (order.index(run.key[:3]), run.seed))
    write_json(RESULTS, {"teachers": TEACHERS}, list(map(asdict, ordered)))


def cells(runs: Sequence[Run], table: str) -> list[Cell]:
    """In the order of `METHODS`."""
    own = [[run for run in runs if run.key[:3] == (table, *named)] for named in METHODS[table]]
    return [Cell(found) for found in own if found]


MNIST = (
    *("method", "teachers", "ε", "asked", "answered", "of these right"),
    *("student alone", "with public images", "alone, on all not asked", "with public images, on all not asked"),
)
ADULT = ("method", "teachers", "k", "ε", "answered", "of these right", "all queries", "student or published")


def mnist_rows(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    names = ("alone, held out", "spread, held out", "alone, not asked", "spread, not asked")
    made = []
    for cell in cells(runs, "mnist"):
        first = cell.runs[0]
        given = ("–", "–", "–") if not first.asked else (str(first.asked), percent(cell.answered), percent(cell.right))
        scores = [cell.student(name) for name in names]
        made.append((first.method, first.teacher, f"{first.epsilon:.2f}", *given, *scores))
    return made


def adult_rows(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    return [
        (
            *(cell.runs[0].method, cell.runs[0].teacher, f"{cell.runs[0].teachers or '–'}"),
            *(f"{cell.runs[0].epsilon:.2f}", percent(cell.answered), percent(cell.right), percent(cell.with_coins)),
            cell.student("not asked"),
        )
        for cell in cells(runs, "adult")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["accounting", "mnist", "adult"])
    parser.add_argument("--data", type=Path, help="MNIST as a Parquet file")
    parser.add_argument("--features", type=Path, help="an .npz file with the array `features`, training part first")
    parser.add_argument("--runs", type=int, help="seeds of every method")
    options = parser.parse_args()
    runs, count = stored(), options.runs or RUNS.get(options.part, 0)
    if options.part != "accounting":
        from benchmarks import pate_trials  # noqa: PLC0415

        trials: Any = pate_trials.Digits(options.data, options.features) if options.part == "mnist" else None
        trials = trials or pate_trials.Incomes()
        done = {run.key for run in runs}
        for seed in range(count):
            for method, teacher in trials.methods:
                if (options.part, method, teacher, seed) not in done and seed < trials.most(method):
                    runs.append(trials.perform(method, teacher, seed))
                    print(*asdict(runs[-1]).values(), sep="  ", flush=True)
                    store(runs)
    put_between(PAGE, "accounting", markdown(ACCOUNTING, accounting_rows()))
    put_between(PAGE, "mnist", markdown(MNIST, mnist_rows(runs)))
    put_between(PAGE, "adult", markdown(ADULT, adult_rows(runs)))


if __name__ == "__main__":
    main()
