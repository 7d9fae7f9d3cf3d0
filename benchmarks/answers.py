"""What an answer costs, what k teachers cost to train, and what a whole fit costs, each beside the path it replaced.

    python -m benchmarks.answers [--fast] [--redraw]

Releases are `AgnosticRelease` at ε = 2 with the operating system's randomness, queries are far from any border, so that
hardly one is unstable. Columns:

    new        median seconds of `answer` to a query that nobody has asked
    by loop    the same where the votes are counted teacher by teacher, `Members`: any class that somebody has written
    repeated   median seconds of `answer` to a query that was asked before
    predict    rows a second of `predict`, all of them new

Training and votes are timed for several numbers of teachers k; their growth is the least-squares slope of ln(seconds)
against ln(k). One `fit` of many records is taken apart.

Other work on the machine only ever adds to a time, for seconds on end. So all releases are fitted first and then asked
in turn, round after round, and the smallest of each one's rounds counts: no release is asked in a worse hour than the
others. The numbers of teachers are trained in rounds too; by loop, training takes long and is timed once. Read the
seconds on an idle machine all the same.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from sklearn.utils.validation import validate_data

from benchmarks.accuracy import markdown, show, wide_console
from benchmarks.pages import put_between
from benchmarks.samplers import FloatArray, machine, slope
from pcqr import AgnosticRelease
from pcqr.data.records import InMemory
from pcqr.datasets import adult_schema, adult_table
from pcqr.errors import PcqrWarning
from pcqr.hypotheses import DecisionTrees, HypothesisClass, Intervals, Stumps, Thresholds
from pcqr.hypotheses.base import Labels
from pcqr.hypotheses.committees import trained
from pcqr.plotting.axes import (
    BOLD,
    INK,
    MUTED,
    ON_TEACHERS,
    OTHERS,
    PUBLISHED,
    SMALL,
    SUBSAMP,
    THIN,
    VOTES,
    entitle,
    note,
    picture,
    tidy,
)
from pcqr.privacy.entropy import SystemEntropy
from pcqr.releases.base.inputs import read_points

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
        gradients = [
            *(
                slope([a.teachers for a in answers], [getattr(a, field) for a in answers])
                for field in ("new", "by_loop")
            ),
            *(
                slope([t.teachers for t in training], [getattr(t, field) for t in training])
                for field in ("seconds", "by_loop")
            ),
        ]
        rows.append([name, *(f"k^{each:.2f}" for each in gradients)])
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


# Measuring -----------------------------------------------------------------------------------------------------

LABEL_NOISE = 0.1


def by_loop(hypotheses: HypothesisClass) -> Any:
    """The same class with a `learn` of its own: whoever writes one is asked teacher by teacher."""
    kind: Any = type(hypotheses)
    twin = type(kind.__name__, (kind,), {"learn": kind.learn})
    return twin(**{field.name: getattr(hypotheses, field.name) for field in fields(kind)})


@dataclass(frozen=True)
class Case:
    """A class, the concept that is planted for it, and what is asked of its releases."""

    name: str
    hypotheses: HypothesisClass
    features: int
    target: float | None
    """Seconds of a new answer at k = 5,001."""
    target_rows: int | None
    """Rows a second of `predict`."""

    def records(self, count: int) -> tuple[FloatArray, Labels]:
        generator = np.random.default_rng(count)
        X = generator.random((count, self.features))
        y = abs(X[:, 0] - 0.5) < 0.25 if isinstance(self.hypotheses, Intervals) else X[:, 0] > 0.5
        return X, (y ^ (generator.random(count) < LABEL_NOISE)).astype(np.int8)

    def queries(self, count: int, seed: int) -> FloatArray:
        """New to every release, and far from the border: both labels, no doubt."""
        X = np.random.default_rng([count, seed]).random((count, self.features))
        X[:, 0] = np.where(X[:, 0] < 0.5, 0.1 * X[:, 0], 0.45 + 0.1 * X[:, 0])
        return X if isinstance(self.hypotheses, Intervals) else 1.5 * X

    def public(self) -> FloatArray | None:
        return np.random.default_rng(1).random((500, self.features)) if self.hypotheses.needs_public else None


CASES = (
    Case("thresholds", Thresholds(), 1, 2e-4, 20_000),
    Case("intervals", Intervals(), 1, 2e-4, 20_000),
    Case("stumps on 14 columns", Stumps(), 14, 3e-4, 10_000),
    Case("trees of depth 2", DecisionTrees(depth=2, cuts=8), 14, None, None),
)


@dataclass(frozen=True)
class Sizes:
    """How much is measured. k is odd wherever a release votes."""

    records: int
    answering: tuple[int, ...]
    training: tuple[int, ...]
    large: tuple[int, int]
    """Records and teachers of the fit that is taken apart."""
    rounds: int
    queries: int
    """New ones in every round, as are the rows."""
    rows: int
    by_loop: int
    """New queries, in every round, for a release that is asked teacher by teacher."""
    unstable: int | None = None
    """T, small where so few records would leave votes within reach of the noise. None: as planned."""
    cases: tuple[Case, ...] = CASES


WHOLE = Sizes(100_000, (2_001, 5_001, 10_001), (300, 1_000, 3_000, 10_000), (1_000_000, 10_001), 7, 500, 5_000, 3)
FAST = Sizes(20_000, (1_001, 2_001), (20, 40), (20_000, 1_001), 2, 20, 60, 2, 3, (CASES[0], CASES[2]))


def median_seconds(call: Callable[[Any], object], arguments: Iterable[Any]) -> float:
    """The median over `arguments` of the seconds of one call."""
    seconds = []
    for argument in arguments:
        start = time.perf_counter()
        call(argument)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def fitted(case: Case, hypotheses: HypothesisClass, teachers: int, sizes: Sizes) -> AgnosticRelease:
    X, y = case.records(sizes.records)
    release = AgnosticRelease(hypotheses, epsilon=EPSILON, teachers=teachers, unstable=sizes.unstable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PcqrWarning)
        return release.fit(X, y, public=case.public())


@dataclass(frozen=True, eq=False)
class Asked:
    """Two releases of as many teachers: votes from arrays, and teacher by teacher."""

    case: Case
    teachers: int
    quick: AgnosticRelease
    slow: AgnosticRelease

    @classmethod
    def made(cls, case: Case, teachers: int, sizes: Sizes) -> Asked:
        quick, slow = (fitted(case, each, teachers, sizes) for each in (case.hypotheses, by_loop(case.hypotheses)))
        for release in (quick, slow):  # kernels are compiled, tables are made
            release.predict(case.queries(3, seed=0))
            release.answer(case.queries(1, seed=1)[0])
        return cls(case, teachers, quick, slow)

    def timed(self, number: int, sizes: Sizes) -> dict[str, float]:
        """Seconds of an answer, or of a row, in this round: all of its queries are new to the releases."""
        asked, batch, block = (
            self.case.queries(count, seed=2 + 3 * number + use)
            for use, count in enumerate((sizes.queries, sizes.rows, min(256, sizes.rows)))  # 256 are counted at once
        )
        return {
            "new": median_seconds(self.quick.answer, asked),
            "by_loop": median_seconds(self.slow.answer, asked[: sizes.by_loop]),
            "repeated": median_seconds(self.quick.answer, asked),
            "row": median_seconds(self.quick.predict, [batch]) / len(batch),
            "row_by_loop": median_seconds(self.slow.predict, [block]) / len(block),
            "repeated_row": median_seconds(self.quick.predict, [batch]) / len(batch),
        }

    def answers(self, rounds: Sequence[dict[str, float]]) -> Answers:
        """The smallest of each column: what disturbs a round only adds to it."""
        best = {name: min(each[name] for each in rounds) for name in rounds[0]}
        is_target = self.teachers == 5_001
        return Answers(
            name=self.case.name,
            teachers=self.teachers,
            new=best["new"],
            by_loop=best["by_loop"],
            repeated=best["repeated"],
            rows=1.0 / best["row"],
            rows_by_loop=1.0 / best["row_by_loop"],
            repeated_rows=1.0 / best["repeated_row"],
            target=self.case.target if is_target else None,
            target_rows=self.case.target_rows if is_target else None,
        )


def measured_answers(sizes: Sizes, told: Callable[[str], None]) -> list[Answers]:
    releases = []
    for case in sizes.cases:
        for teachers in sizes.answering:
            told(f"{case.name}: releases of {teachers:,} teachers")
            releases.append(Asked.made(case, teachers, sizes))
    rounds = []
    for number in range(sizes.rounds):
        told(f"answers, round {number + 1} of {sizes.rounds}")
        rounds.append([each.timed(number, sizes) for each in releases])
    return [each.answers(times) for each, times in zip(releases, zip(*rounds, strict=True), strict=True)]


def measured_training(case: Case, sizes: Sizes) -> list[Training]:
    X, y = case.records(sizes.records)
    records, few = InMemory(X, y), InMemory(X[:10], y[:10])
    parts = [np.array_split(SystemEntropy().permutation(X.shape[0]), teachers) for teachers in sizes.training]
    quick, slow = (each.prepared(case.public(), None) for each in (case.hypotheses, by_loop(case.hypotheses)))
    for hypotheses in (quick, slow):
        trained(hypotheses, few, [np.arange(10)])  # kernels are compiled
    rounds = [
        [median_seconds(lambda each: trained(quick, records, each), [each]) for each in parts]
        for _ in range(sizes.rounds)
    ]
    once = [median_seconds(lambda each: trained(slow, records, each), [each]) for each in parts]
    return [
        Training(case.name, teachers, sizes.records, min(times), by_loop)
        for teachers, times, by_loop in zip(sizes.training, zip(*rounds, strict=True), once, strict=True)
    ]


PARTS = {
    "check of the records": ("pcqr.releases.base.inputs", "read_table"),
    "labels": ("pcqr.releases.base.inputs", "encode_labels"),
    "plan": ("pcqr.estimators.releases", "plan_agnostic"),
    "secret sub-sample": ("pcqr.releases.agnostic.run", "secret_subsample"),
    "relabelling": ("pcqr.releases.agnostic.run", "relabel"),
    "teachers": ("pcqr.releases.subsample.run", "trained"),
}
"""What a fit spends its time on, and the functions that do it."""


def measured_fit(sizes: Sizes) -> Fit:
    case, (records, teachers) = CASES[0], sizes.large
    fitted(case, case.hypotheses, 1_001, FAST)  # kernels are compiled
    X, y = case.records(records)
    spent: dict[str, float] = {}
    release = AgnosticRelease(case.hypotheses, epsilon=EPSILON, teachers=teachers)
    with taken_apart(spent):
        start = time.perf_counter()
        release.fit(X, y)
        seconds = time.perf_counter() - start
    return Fit(records, teachers, seconds, spent | {"everything else": seconds - sum(spent.values())})


@contextmanager
def taken_apart(spent: dict[str, float]) -> Iterator[None]:
    """While it lasts, the seconds of each of `PARTS` are added up in `spent`."""

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                spent[part] = spent.get(part, 0.0) + time.perf_counter() - start

        return call

    with ExitStack() as patches:
        for part, (module, name) in PARTS.items():
            target = f"{module}.{name}"
            patches.enter_context(patch(target, timed(part, getattr(__import__(module, fromlist=[name]), name))))
        yield


def measured_check(rounds: int) -> Check:
    estimator, queries = AgnosticRelease(), list(CASES[2].queries(1_000, seed=7))
    by_schema = AgnosticRelease()
    schema, table = adult_schema(), adult_table("test")
    estimator.n_features_in_, by_schema.n_features_in_ = queries[0].size, len(schema.features)
    rows = [{name: [table[name][row]] for name in schema.names} for row in range(len(queries))]
    options: Any = {"dtype": np.float64, "order": "C", "reset": False}
    times = [
        (
            median_seconds(lambda x: read_points(estimator, [list(x)], None, reset=False), queries),
            median_seconds(lambda x: validate_data(estimator, x[None, :], **options), queries),
            median_seconds(lambda x: read_points(by_schema, x, schema, reset=False), rows),
        )
        for _ in range(rounds)
    ]
    return Check(*(min(each) for each in zip(*times, strict=True)))


def run(sizes: Sizes, console: Console) -> Results:
    load = os.getloadavg()[0]
    with console.status("") as status:

        def told(words: str) -> None:
            status.update(words)

        told("one check")
        check = measured_check(sizes.rounds)
        answers = measured_answers(sizes, told)
        training = []
        for case in sizes.cases:
            told(f"{case.name}: training")
            training += measured_training(case, sizes)
        told("one large fit")
        fit = measured_fit(sizes)
        return Results(machine(), load, sizes.records, sizes.rounds, check, answers, training, fit)


# The picture -----------------------------------------------------------------------------------------------------

Curves = dict[str, list[tuple[int, float, float]]]
"""For each class the numbers of teachers, with the seconds now and teacher by teacher."""
COLOURS = (PUBLISHED, VOTES, SUBSAMP, OTHERS)
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def draw(results: Results, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    answers: Curves = {}
    training: Curves = {}
    for each in results.answers:
        answers.setdefault(each.name, []).append((each.teachers, each.new, each.by_loop))
    for one in results.training:
        training.setdefault(one.name, []).append((one.teachers, one.seconds, one.by_loop))
    with picture(path, 11.0, 4.8) as figure:
        remaining, right = figure.subplots(1, 2, gridspec_kw={"wspace": 0.06})
        _panel(remaining, answers, "One new answer", "the whole of it: check, log, votes, noise")
        _panel(right, training, "Training of k teachers", f"on {results.records:,} records")
        _legend(right, list(training))


def _panel(axes: Any, curves: Curves, title: str, words: str) -> None:
    for colour, points in zip(COLOURS, curves.values(), strict=False):
        teachers, now, before = zip(*points, strict=True)
        axes.plot(teachers, before, color=colour, linewidth=THIN, marker="o", markersize=3.5, alpha=0.45)
        axes.plot(teachers, now, color=colour, linewidth=BOLD, marker="o", markersize=5.5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    marks = sorted({teachers for points in curves.values() for teachers, _, _ in points})
    axes.set_xticks(marks, [f"{mark:,}" for mark in marks])
    axes.yaxis.set_major_formatter(lambda value, _: in_units(value))
    axes.minorticks_off()
    axes.set_xlabel(ON_TEACHERS)
    tidy(axes)
    entitle(axes, title, words)


def in_units(seconds: float) -> str:
    """Seconds as people say them: 20 µs, 1 ms, 3 s."""
    size, name = next(((size, name) for size, name in UNITS if seconds >= size * (1 - 1e-9)), UNITS[-1])
    return f"{seconds / size:,.3g} {name}"


def _legend(axes: Any, names: Sequence[str]) -> None:
    """Names in the colours of their lines, and what thick and thin mean."""
    for row, (colour, name) in enumerate(zip(COLOURS, names, strict=False)):
        note(axes, name, (1.02, 0.96 - 0.07 * row), xycoords="axes fraction", color=colour, fontweight="bold", va="top")
    for row, (words, colour) in enumerate(
        (("thick: all teachers\nas arrays", INK), ("thin: teacher\nby teacher", MUTED))
    ):
        note(axes, words, (1.02, 0.62 - 0.13 * row), xycoords="axes fraction", color=colour, fontsize=SMALL, va="top")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--fast", action="store_true", help="few records, teachers and queries; writes nothing")
    parser.add_argument("--redraw", action="store_true", help="show the results of an earlier run again")
    options = parser.parse_args(arguments)
    console = wide_console()
    results = Results.read(RESULTS) if options.redraw else run(FAST if options.fast else WHOLE, console)
    show("Answers", ANSWERS_HEADER, answer_rows(results), console)
    show("Growth with the number of teachers k", GROWTH_HEADER, growth_rows(results), console)
    show("Training of k teachers", TRAINING_HEADER, training_rows(results), console)
    show("One large fit", FIT_HEADER, fit_rows(results.fit), console)
    console.print(page_tables(results)["check"], page_tables(results)["machine"], sep="\n")
    if options.fast:
        return
    RESULTS.write_text(json.dumps(asdict(results), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, table in page_tables(results).items():
        put_between(PAGE, name, table)
    draw(results, PICTURE)
    console.print(f"{RESULTS}, {PAGE}, {PICTURE}")


if __name__ == "__main__":
    main()
