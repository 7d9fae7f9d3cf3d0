"""The results of `benchmarks.answers`, and what docs/performance.md shows of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy import markdown
from benchmarks.samplers import slope

EPSILON = 2.0
RESULTS = Path("benchmarks/results/answers.json")
PAGE = Path("docs/performance.md")
PICTURE = Path("docs/images/performance.png")


@dataclass(frozen=True)
class Answers:
    """One release of k teachers: seconds of an answer, rows a second of `predict`."""

    name: str
    teachers: int
    new: float
    by_loop: float
    repeated: float
    rows: float
    rows_by_loop: float
    repeated_rows: float
    target: float | None
    target_rows: int | None


@dataclass(frozen=True)
class Training:
    """Seconds to train k teachers in one pass, and one by one."""

    name: str
    teachers: int
    records: int
    seconds: float
    by_loop: float


@dataclass(frozen=True)
class Fit:
    """Seconds of one `fit`, and of its parts."""

    records: int
    teachers: int
    seconds: float
    parts: dict[str, float]


@dataclass(frozen=True)
class Check:
    """Seconds to check one query of 14 columns: ours, scikit-learn's, which it used to be, and one by a schema."""

    seconds: float
    scikit_learn: float
    by_schema: float


@dataclass(frozen=True)
class Results:
    machine: str
    load: float
    records: int
    rounds: int
    """How often every release was asked in turn; the smallest of its times counts."""
    check: Check
    answers: list[Answers]
    training: list[Training]
    fit: Fit

    @classmethod
    def read(cls, path: Path) -> Results:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            fields["machine"],
            fields["load"],
            fields["records"],
            fields["rounds"],
            Check(**fields["check"]),
            [Answers(**each) for each in fields["answers"]],
            [Training(**each) for each in fields["training"]],
            Fit(**fields["fit"]),
        )


ANSWERS_HEADER = (
    "class",
    "k",
    "new",
    "by loop",
    "repeated",
    "predict, rows/s",
    "by loop",
    "repeated rows/s",
    "asked for",
)
TRAINING_HEADER = ("class", "k", "in one pass", "by loop", "ratio")
GROWTH_HEADER = ("class", "new answer", "by loop", "training", "by loop")
FIT_HEADER = ("part", "seconds")


def answer_rows(results: Results) -> list[list[str]]:
    return [
        [
            each.name,
            f"{each.teachers:,}",
            f"{1e6 * each.new:.0f} µs",
            f"{1e3 * each.by_loop:.1f} ms",
            f"{1e6 * each.repeated:.0f} µs",
            f"{each.rows:,.0f}",
            f"{each.rows_by_loop:,.0f}",
            f"{each.repeated_rows:,.0f}",
            _asked_for(each),
        ]
        for each in results.answers
    ]


def _asked_for(each: Answers) -> str:
    if each.target is None or each.target_rows is None:
        return "–"
    met = each.new <= each.target and each.rows >= each.target_rows and each.repeated <= 5e-5
    words = f"{1e6 * each.target:.0f} µs, 50 µs repeated, {each.target_rows:,} rows/s"
    return f"{words}: {'met' if met else '**not met**'}"


def training_rows(results: Results) -> list[list[str]]:
    return [
        [
            each.name,
            f"{each.teachers:,}",
            f"{1e3 * each.seconds:.1f} ms",
            f"{1e3 * each.by_loop:,.0f} ms",
            f"{each.by_loop / each.seconds:,.0f}",
        ]
        for each in results.training
    ]


def growth_rows(results: Results) -> list[list[str]]:
    rows = []
    for name in dict.fromkeys(each.name for each in results.answers):
        answers = [each for each in results.answers if each.name == name]
        training = [each for each in results.training if each.name == name]
        slopes = [
            *(
                slope([a.teachers for a in answers], [getattr(a, field) for a in answers])
                for field in ("new", "by_loop")
            ),
            *(
                slope([t.teachers for t in training], [getattr(t, field) for t in training])
                for field in ("seconds", "by_loop")
            ),
        ]
        rows.append([name, *(f"k^{each:.2f}" for each in slopes)])
    return rows


def fit_rows(fit: Fit) -> list[list[str]]:
    parts = [[part, f"{seconds:.2f}"] for part, seconds in fit.parts.items()]
    return [*parts, ["**all of it**", f"**{fit.seconds:.2f}**"]]


def page_tables(results: Results) -> dict[str, str]:
    """What stands in docs/performance.md, by the name of its place."""
    check, fit = results.check, results.fit
    return {
        "answers": markdown(ANSWERS_HEADER, answer_rows(results)),
        "growth": markdown(GROWTH_HEADER, growth_rows(results)),
        "training": markdown(TRAINING_HEADER, training_rows(results)),
        "fit": f"`fit` of {fit.records:,} records with {fit.teachers:,} teachers, thresholds:\n\n"
        + markdown(FIT_HEADER, fit_rows(fit)),
        "check": f"One query of 14 columns is checked in {1e6 * check.seconds:.0f} µs; scikit-learn's `validate_data` "
        f"takes {1e6 * check.scikit_learn:.0f} µs. As a mapping of column to value, by the schema of UCI Adult, it is "
        f"{1e6 * check.by_schema:.0f} µs: every cell is read and checked.",
        "machine": f"{results.machine}; load average {results.load:.1f} when it began. Answers and training: "
        f"n = {results.records:,}, ε = {EPSILON:g}, rounds: {results.rounds}.",
    }
