"""How accurate is a published decision tree on real tables, at which ε, and what does it cost to fit?

    python -m benchmarks.trees --data FOLDER [--tables adult,bank,…] [--seeds 10] [--fast] [--costs] [--redraw]

One setting for every table and every ε: `SemiPrivateLearner(DecisionTrees(), epsilon)`, pure ε-DP, replace-one. Each
accuracy is a mean ± standard deviation over draws, on test rows that no part of the fit has seen. The counts of a table
are made once and serve every draw at every ε; seconds and memory are those of one whole `fit` in a fresh process whose
kernels were compiled before. Beside the trees, without privacy and on the same encoded columns: logistic regression,
gradient boosting, and the more common label.

Randomness is seeded so that a run can be repeated; neither accuracy nor time depends on it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.accuracy import markdown, mean_and_spread, parser_of, show, wide_console, write_json
from benchmarks.pages import put_between
from benchmarks.tables import PUBLIC, QUESTIONS, TABLES, FloatArray, LabelArray, Task, load
from pcqr import SemiPrivateLearner
from pcqr.hypotheses import DecisionTrees
from pcqr.planner.request import Request
from pcqr.plotting.axes import (
    BOLD,
    DASHED,
    INK,
    MUTED,
    NAME,
    ON_ACCURACY,
    OTHERS,
    PUBLISHED,
    SMALL,
    THIN,
    draw_without_privacy,
    entitle,
    mark_epsilons,
    mark_in_percent,
    picture,
    tidy,
)
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import Chooser
from pcqr.releases.protocol.plan import Budget
from pcqr.releases.semi_private.planning import plan_semi_private

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 4.0)
SEEDS = 10
FAST_TABLES, FAST_SEEDS = ("adult", "bank"), 2
TARGETS = {"adult": {0.01: 0.800, 0.03: 0.835, 0.1: 0.844, 0.3: 0.851, 1.0: 0.853}}
"""What the project asks of the default setting (mean of 10 draws)."""

RESULTS = Path("benchmarks/results/trees.json")
PAGE = Path("docs/trees.md")
PICTURE = Path("docs/images/trees.png")


@dataclass(frozen=True)
class Cost:
    """Of one `fit`: seconds, and the peak memory of its process in MB, Python and the table (`table`) included.

    `load` is the machine's load average before it began: much above 0, and the seconds are too many.
    """

    seconds: float
    memory: float
    table: float
    load: float


@dataclass(frozen=True)
class Case:
    """One table: its sizes, the accuracies of every draw at each ε, what stands beside them, the cost of a fit."""

    table: str
    records: int
    features: int
    predicates: int
    depth: int
    accuracy: Mapping[str, Sequence[float]]
    majority: float
    logistic_regression: float
    gradient_boosting: float
    cost: Cost

    @classmethod
    def of(cls, *, cost: Mapping[str, Any], **fields: Any) -> Case:
        return cls(cost=Cost(**cost), **fields)

    def row(self) -> list[str]:
        draws = [mean_and_spread(values) for values in self.accuracy.values()]
        return [
            self.table,
            f"{self.records:,}",
            f"{self.predicates}",
            *(f"{100 * mean:.1f} ±{100 * spread:.1f}" for mean, spread in draws),
            *(f"{100 * value:.1f}" for value in (self.logistic_regression, self.gradient_boosting, self.majority)),
            f"{self.cost.seconds:.1f} s",
            f"{self.cost.memory:,.0f} MB",
        ]


def header(epsilons: Sequence[str]) -> list[str]:
    beside = ("logistic", "boosting", "majority", "fit", "memory")
    return ["table", "records", "predicates", *(f"ε = {epsilon}" for epsilon in epsilons), *beside]


def steps(task: Task, seeds: int) -> Iterator[tuple[str, Any]]:
    """The fields of the table's `Case`, as (name, value), one after another as they come to be known."""
    hypotheses = DecisionTrees().prepared(task.public, None)
    records, features = task.X.shape
    yield "records", records
    yield "features", features
    yield "predicates", len(hypotheses.predicates or ())
    yield "majority", task.majority
    yield "cost", cost_of_fit(task)

    counted = hypotheses.count(task.X, task.y)
    yield "depth", counted.counts.depth
    accuracy: dict[str, list[float]] = {}
    for epsilon in EPSILONS:
        drawn = hypotheses.draws_from(
            counted,
            inverse_temperature(hypotheses, epsilon, records, features),
            (Chooser(SeededEntropy(seed)) for seed in range(seeds)),
        )
        accuracy[f"{epsilon:g}"] = [_accuracy(tree.predict(task.X_test), task) for tree in drawn]
        yield "accuracy", accuracy
    del counted
    yield from without_privacy(task)


def inverse_temperature(hypotheses: DecisionTrees, epsilon: float, records: int, features: int) -> float:
    """The η that `SemiPrivateLearner(…, epsilon)` plans with: ε/2 less the numerical slack."""
    request = Request(records=records, features=features, hypotheses=hypotheses, budget=Budget(epsilon))
    return plan_semi_private(request).draw.inverse_temperature


def without_privacy(task: Task) -> Iterator[tuple[str, float]]:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    scaler = StandardScaler().fit(task.X)
    regression = LogisticRegression(max_iter=300, tol=1e-3).fit(scaler.transform(task.X), task.y)
    yield "logistic_regression", _accuracy(regression.predict(scaler.transform(task.X_test)), task)
    boosting = HistGradientBoostingClassifier(random_state=0).fit(task.X, task.y)
    yield "gradient_boosting", _accuracy(boosting.predict(task.X_test), task)


def _accuracy(labels: Any, task: Task) -> float:
    return float(np.mean(labels == task.y_test))


def cost_of_fit(task: Task) -> Cost:
    """One `fit` at ε = 1 in a process of its own, so that its peak is the fit's and nothing else's."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, mp_context=context) as pool:
        for name, values in (("X", task.X), ("y", task.y), ("public", task.public)):
            np.save(Path(folder) / f"{name}.npy", values)
        return pool.submit(_timed_fit, Path(folder)).result()


def _timed_fit(folder: Path) -> Cost:
    X, y, public = (np.load(folder / f"{name}.npy") for name in ("X", "y", "public"))
    load, few = os.getloadavg()[0], np.arange(64.0).reshape(-1, 1)
    _fit(few, (few[:, 0] > 20).astype(np.int8), few + 0.5)  # loads the kernels, or compiles them
    start = time.perf_counter()
    _fit(X, y, public)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if platform.system() == "Darwin" else 1024)
    return Cost(seconds, peak / 1e6, X.nbytes / 1e6, load)


def _fit(X: FloatArray, y: LabelArray, public: FloatArray) -> None:
    SemiPrivateLearner(DecisionTrees(), 1.0, entropy=0).fit(X, y, public=public)


def run(tables: Sequence[str], folder: Path, seeds: int, console: Console) -> list[Case]:
    columns = (TextColumn("{task.description:32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    cases = []
    with Progress(*columns, console=console, transient=True) as progress:
        for name in tables:
            bar = progress.add_task(f"{name}: reading", total=8 + len(EPSILONS))
            found: dict[str, Any] = {"table": name}
            for field, value in steps(load(name, folder), seeds):
                found[field] = value
                progress.update(bar, advance=1, description=f"{name}: {field.replace('_', ' ')}")
            cases.append(Case(**found))
            progress.update(bar, description=name, completed=8 + len(EPSILONS))
    return cases


def page(cases: Sequence[Case]) -> str:
    """The table of docs/trees.md, and the figures that its text speaks of."""
    depths = ", ".join(f"{case.table} {case.depth}" for case in cases)
    loads = ", ".join(f"{case.table} {case.cost.load:.1f}" for case in cases)
    return (
        f"{markdown(header(list(cases[0].accuracy)), [case.row() for case in cases])}\n\n"
        f"{''.join(map(_target, cases))}- Depths: {depths}.\n- Load averages before the fits: {loads}."
    )


def _target(case: Case) -> str:
    asked = TARGETS.get(case.table)
    if asked is None:
        return ""
    met = all(np.mean(case.accuracy[f"{epsilon:g}"]) >= least for epsilon, least in asked.items())
    words = ", ".join(f"{100 * least:.1f} at {epsilon:g}" for epsilon, least in asked.items())
    return f"- Asked of {case.table}: at least {words}: {'met' if met else '**not met**'}.\n"


# The picture -----------------------------------------------------------------------------------------------------

WORDS = (
    ("one published tree", PUBLISHED, "pure ε-differential privacy, one setting;\nthe mean, and every draw as a dot"),
    ("gradient boosting", INK, "without privacy, same columns"),
    ("logistic regression", OTHERS, "without privacy, same columns"),
    ("the more common label", MUTED, "the same answer for everybody"),
)


def draw(cases: Sequence[Case], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with picture(path, 11.0, 6.8) as figure:
        grid = figure.subplots(2, 3, gridspec_kw={"wspace": 0.05, "hspace": 0.08})
        panels = list(grid.flat)
        for axes, case in zip(panels, cases, strict=False):
            _panel(axes, case)
        for axes in grid[:, 0]:
            axes.set_ylabel(ON_ACCURACY)
        for axes in panels[len(cases) :]:
            axes.axis("off")
        _legend(panels[-1])


def _panel(axes: Any, case: Case) -> None:
    epsilons = np.array([float(epsilon) for epsilon in case.accuracy])
    draws = np.array(list(case.accuracy.values()))
    draw_without_privacy(axes, case.gradient_boosting)
    draw_without_privacy(axes, case.logistic_regression, colour=OTHERS)
    axes.axhline(case.majority, color=MUTED, linewidth=THIN, zorder=1)
    spread = np.exp(np.linspace(-0.11, 0.11, draws.shape[1])) if draws.shape[1] > 1 else np.ones(1)
    axes.scatter(np.outer(epsilons, spread), draws, s=13, color=PUBLISHED, alpha=0.35, linewidths=0, zorder=2)
    axes.plot(epsilons, draws.mean(axis=1), color=PUBLISHED, linewidth=BOLD, marker="o", markersize=5.5, zorder=3)
    values = [draws.min(), draws.max(), case.gradient_boosting, case.logistic_regression, case.majority]
    room = 0.07 * (max(values) - min(values))
    axes.set_ylim(min(values) - room, max(values) + room)
    mark_epsilons(axes, epsilons.tolist())
    mark_in_percent(axes.yaxis)
    tidy(axes)
    title, _, question = QUESTIONS[case.table].partition(": ")
    entitle(axes, title, f"{question} · {case.records:,} records")


def _legend(axes: Any) -> None:
    axes.axis("off")
    height = 0.94
    for name, colour, note in WORDS:
        is_private = colour == PUBLISHED
        axes.plot(
            [0.0, 0.06, 0.12],
            [height] * 3,
            color=colour,
            linewidth=BOLD if is_private else THIN,
            linestyle=DASHED if colour in (INK, OTHERS) else "-",
            marker="o" if is_private else None,
            markevery=[1],
            markersize=5.5,
        )
        axes.text(0.17, height, name, color=colour, fontweight="bold", fontsize=NAME, va="center")
        axes.text(0.17, height - 0.055, note, fontsize=SMALL, va="top", linespacing=1.35)
        height -= 0.22 + 0.075 * note.count("\n")
    axes.set(xlim=(0, 1), ylim=(0, 1))


def main() -> None:
    parser = parser_of("benchmarks.trees", __doc__)
    parser.add_argument("--tables", help=f"some of {','.join(TABLES)}; writes nothing unless told to")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="draws at each ε")
    parser.add_argument(
        "--fast", action="store_true", help=f"{' and '.join(FAST_TABLES)}, {FAST_SEEDS} draws; writes nothing"
    )
    parser.add_argument("--json", type=Path, help=f"where the results go ({RESULTS})")
    parser.add_argument("--costs", action="store_true", help="measure seconds and memory again, keep the accuracies")
    parser.add_argument("--redraw", action="store_true", help="show the results of an earlier run again")
    options = parser.parse_args()
    console = wide_console()
    whole = not (options.fast or options.tables)
    results = options.json or (RESULTS if whole else None)

    if options.redraw or options.costs:
        written = json.loads((options.json or RESULTS).read_text())
        seeds, cases = written["settings"]["seeds"], [Case.of(**case) for case in written["cases"]]
        if options.costs:
            with console.status("measuring fits"):
                cases = [replace(case, cost=cost_of_fit(load(case.table, options.data))) for case in cases]
    else:
        chosen = options.tables.split(",") if options.tables else FAST_TABLES if options.fast else TABLES
        seeds = FAST_SEEDS if options.fast else options.seeds
        cases = run(chosen, options.data, seeds, console)
    if results and not options.redraw:
        write_json(results, {"seeds": seeds, "public": PUBLIC}, [asdict(case) for case in cases])
    title = f"One default setting, pure ε; mean ± standard deviation of {seeds} draws, per cent"
    show(title, header(list(cases[0].accuracy)), [case.row() for case in cases], console)
    if whole:
        draw(cases, PICTURE)
        put_between(PAGE, "trees", page(cases))
        console.print(f"{PAGE}, {PICTURE}")


if __name__ == "__main__":
    main()
