"""The whole comparison: which runs there are, in which order, which of them are still to be made."""

from __future__ import annotations

import math
import shlex
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pcqr import __version__
from pcqr.bench.methods import KNOWN, REPLACE, Method, named
from pcqr.bench.running import Bench, Cell, Run, Runs
from pcqr.bench.tables import QUESTIONS, Task
from pcqr.plotting.axes import (
    BOLD,
    DOTTED,
    MUTED,
    ON_ACCURACY,
    OTHERS,
    PLAIN,
    PUBLISHED,
    SUBSAMP,
    TINY,
    VOTES,
    draw_without_privacy,
    entitle,
    mark_epsilons,
    mark_in_percent,
    note,
    picture,
    spread_out,
    tidy,
)

Tell = Callable[[int, int, Run], None]
"""Called with every run: its number, the number of all runs, and the run; also with those that are on file."""


@dataclass(frozen=True)
class Comparison:
    """For each table, ε, method and seed one run; for what uses no ε one for all of them."""

    methods: Sequence[Method]
    epsilons: Sequence[float]
    delta: float
    queries: int
    seeds: Sequence[int]
    environments: Path
    time_limit: float
    public_rows: int | None = None
    again: bool = False
    retry: bool = False
    show_errors: bool = False

    def cells(self, task: Task) -> Iterator[tuple[Method, Cell]]:
        """All runs on a table, the first seed of everything first."""
        fingerprint = task.fingerprint()
        for seed in self.seeds:
            for epsilon in self.epsilons:
                for method in self.methods:
                    if method.uses_epsilon or epsilon == self.epsilons[0]:
                        used = epsilon if method.uses_epsilon else 0.0
                        settings = (used, self.delta, self.queries, seed, self.public_rows)
                        yield method, Cell(task.name, fingerprint, method.name, *settings)

    def made(self, tables: Sequence[tuple[Task, str]], runs: Runs, tell: Tell) -> list[Run]:
        """Make the runs that are missing on `tables`, each with the options that name it; those of this comparison."""
        todo = [(task, source, *each) for task, source in tables for each in self.cells(task)]
        found = []
        with tempfile.TemporaryDirectory(prefix="pcqr-bench-") as folder:
            bench = Bench(Path(folder), self.environments, self.time_limit, self.show_errors)
            put: set[str] = set()
            for number, (task, source, method, cell) in enumerate(todo, start=1):
                run = None if self.again else runs.find(cell)
                if run is None or self._is_worth_another_try(run):
                    if task.name not in put:
                        bench.put(task)
                        put.add(task.name)
                    run = self._signed(bench.run(task, method, cell), source)
                    if run.has_begun:
                        runs.store(run)
                found.append(run)
                tell(number, len(todo), run)
        return found

    def _is_worth_another_try(self, run: Run) -> bool:
        if run.failed is None:
            return False
        return self.retry or (run.was_stopped and (run.limit or 0.0) < self.time_limit)

    def _signed(self, run: Run, source: str) -> Run:
        return replace(run, limit=self.time_limit, command=self._command(run.cell, source), version=__version__)

    def _command(self, cell: Cell, source: str) -> str:
        epsilon = cell.epsilon or self.epsilons[0]
        if cell.public_rows is not None:
            source += f" --public-rows {cell.public_rows}"
        return (
            f"pcqr bench {source} --epsilons {epsilon!r} --delta {cell.delta!r} --methods {shlex.quote(cell.method)} "
            f"--queries {cell.queries} --seeds {cell.seed} --time-limit {self.time_limit:g} --again"
        )


# ---------------------------------------------------------------------------------------------------------------------
# Accuracy against ε, one panel a data set.


WIDTH, HEIGHT = 8.6, 6.4
GAP = 0.026
"""Between names at the right, as a share of the height of a panel."""
LINE = 12.0
"""Between names of families above them, in points."""
_FAMILIES = {"ours": "ours", "peer": "the systems beside us", "outside": "outside libraries", "own": "your own"}
_COLOURS = {"ours": PUBLISHED, "peer": SUBSAMP, "outside": OTHERS, "own": VOTES, "reference": MUTED}

Lines = Mapping[Method, Sequence[tuple[float, float]]]


def draw(path: Path, runs: Sequence[Run]) -> None:
    """Solid lines: all test rows. Dotted lines: queries, asked one at a time. Methods without a figure are left out.

    All words stand above a panel or at its right, so that none lies over another or over a line.
    """
    found = [each for each in summaries(runs) if each.done]
    panels = {
        table: _lines([each for each in found if each.table == table]) for table in (each.table for each in found)
    }
    names = max(map(len, panels.values()), default=0)
    with picture(path, WIDTH, HEIGHT * max(1.0, GAP * names) * max(1, len(panels))) as figure:
        axes = figure.subplots(max(1, len(panels)), 1, squeeze=False)[:, 0]
        for place, (table, lines) in zip(axes, panels.items(), strict=False):
            _panel(place, table, lines, min(GAP, 1.0 / names))


def _panel(axes: Any, table: str, lines: Lines, gap: float) -> None:
    tidy(axes)
    mark_in_percent(axes.yaxis)
    axes.set_ylabel(ON_ACCURACY)
    private = {method: points for method, points in lines.items() if method.uses_epsilon}
    if private:
        mark_epsilons(axes, sorted({epsilon for points in private.values() for epsilon, _ in points}))
    for method, points in lines.items():
        if not method.uses_epsilon:
            draw_without_privacy(axes, points[-1][1], colour=_COLOURS[method.family])
            continue
        style = {"linestyle": DOTTED} if method.kind == "one at a time" else {}
        width = BOLD if method.family == "ours" else PLAIN
        colour = _COLOURS[method.family]
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=width, marker="o", markersize=3, **style)
    _name(axes, lines, gap)
    title, _, question = QUESTIONS.get(table, table).partition(": ")
    entitle(axes, title, f"{question}; dotted: one query at a time; figures: at its largest ε".lstrip("; "))


def _name(axes: Any, lines: Lines, gap: float) -> None:
    """At the right: each line's name and last figure, moved apart where lines end close to each other, and what the
    colours mean.
    """
    low, high = axes.get_ylim()
    depths = spread_out([(high - points[-1][1]) / (high - low) for points in lines.values()], gap, highest=1.0)
    for (method, points), depth in zip(lines.items(), depths, strict=True):
        words = f"{method.name}  {100 * points[-1][1]:.1f}{'' if method.uses_epsilon else ', without privacy'}"
        style = {"color": _COLOURS[method.family], "fontsize": TINY}
        note(axes, words, (1.0, 1.0 - depth), (6, -3), xycoords="axes fraction", **style)
    families = [family for family in reversed(_FAMILIES) if any(method.family == family for method in lines)]
    for place, family in enumerate(families, start=1):
        note(axes, _FAMILIES[family], (1.0, 1.0), (6, LINE * place), xycoords="axes fraction", color=_COLOURS[family])


def _lines(found: Sequence[Summary]) -> Lines:
    lines: dict[Method, list[tuple[float, float]]] = {}
    for each in found:
        mean = each.mean()
        if mean is not None:
            lines.setdefault(each.method, []).append((each.epsilon, mean))
    return {method: sorted(points) for method, points in lines.items()}


# ---------------------------------------------------------------------------------------------------------------------
# What the runs say, as Markdown: accuracies for each data set, what did not run, and what each method is.


MINUS = "–"
ON_QUERIES = (
    "On the queries alone, the same for every method: the share of right answers, where a query without an answer "
    "counts half. Mean ± standard error over runs."
)


@dataclass(frozen=True)
class Summary:
    """All runs of a method on a table at an ε (0: for what uses none)."""

    table: str
    method: Method
    epsilon: float
    runs: Sequence[Run]

    @property
    def failed(self) -> str | None:
        """Why no run came to its end; None: one did."""
        return None if self.done else self.runs[0].failed

    @property
    def done(self) -> list[Run]:
        return [run for run in self.runs if run.failed is None]

    def mean(self, figure: str = "accuracy") -> float | None:
        values = self._values(figure)
        return statistics.fmean(values) if values else None

    def spread(self, figure: str = "accuracy") -> float | None:
        """The standard deviation over runs; None for less than two."""
        values = self._values(figure)
        return statistics.stdev(values) if len(values) > 1 else None

    def error(self, figure: str) -> float | None:
        """Return the standard error of the mean over runs, or None for fewer than two runs."""
        spread = self.spread(figure)
        return None if spread is None else spread / math.sqrt(len(self._values(figure)))

    @property
    def seconds(self) -> float:
        return statistics.fmean(run.processor_seconds or 0.0 for run in self.done)

    @property
    def megabytes(self) -> int:
        return max((run.megabytes or 0 for run in self.done), default=0)

    def _values(self, figure: str) -> list[float]:
        return [value for run in self.done if (value := getattr(run, figure)) is not None]


def summaries(runs: Iterable[Run]) -> list[Summary]:
    """One for each table, method and ε; methods in the order of the registry, a user's own first."""
    cells: dict[tuple[str, str, float], list[Run]] = {}
    for run in runs:
        cells.setdefault((run.cell.table, run.cell.method, run.cell.epsilon), []).append(run)
    found = [Summary(table, named(method), epsilon, made) for (table, method, epsilon), made in cells.items()]
    places = {name: place for place, name in enumerate(KNOWN, start=1)}
    tables = list(dict.fromkeys(each.table for each in found))
    return sorted(found, key=lambda s: (tables.index(s.table), places.get(s.method.name, 0), s.epsilon))


def markdown(runs: Sequence[Run]) -> str:
    """The whole page."""
    found = summaries(runs)
    parts = ["# pcqr bench", "", *reading(runs), ""]
    for table in dict.fromkeys(each.table for each in found):
        parts += [*section(table, [each for each in found if each.table == table]), ""]
    parts += ["## The methods", "", *methods([each.method for each in found]), ""]
    return "\n".join(parts)


def reading(runs: Sequence[Run]) -> list[str]:
    """How its tables are to be read."""
    deltas = sorted({run.cell.delta for run in runs})
    queries = sorted({run.cell.queries for run in runs})
    told = dict.fromkeys(_public(run.cell.public_rows) for run in runs if run.cell.public_rows is not None)
    return [
        *(line for words in told for line in (words, "")),
        f"Accuracy in per cent, mean ± standard deviation over runs; δ = {', '.join(f'{d:g}' for d in deltas)}. "
        "In brackets: the accuracy on the rows that got a label, and their share. A row without a label counts as the "
        "label that the method gave most often.",
        "",
        f"Methods that answer one query at a time are asked {', '.join(f'{q:,}' for q in queries)} of the test rows, "
        "others for every seed; teachers are trees of depth 2 over public predicates. All others label all test rows. "
        "Seconds are those of the processor, to train and to label; megabytes are the most that the process had, "
        "libraries and table included.",
    ]


def _public(rows: int) -> str:
    if rows:
        return f"Every method gets {rows:,} public rows without labels."
    return (
        "Nothing is public but the columns and their kinds. Our classifiers buy their predicates for a share of the "
        "budget. Methods that need more say so and are not run."
    )


def section(table: str, found: Sequence[Summary]) -> list[str]:
    """The tables of one data set."""
    title, _, question = QUESTIONS.get(table, table).partition(": ")
    lines = [f"## {title}{f': {question}' if question else ''}", "", *_matrix(found, _cell, costs=True)]
    if any(run.score != run.accuracy for each in found for run in each.done):
        lines += ["", ON_QUERIES, ""]
        lines += _matrix(found, _score, costs=False)
    failures = dict.fromkeys((each.method.name, each.failed) for each in found if each.failed is not None)
    lines += ["", *(f"- {name}: {failed}" for name, failed in failures)] if failures else []
    return lines


def _matrix(found: Sequence[Summary], cell: Callable[[Summary], str], *, costs: bool) -> list[str]:
    epsilons = sorted({each.epsilon for each in found if each.epsilon > 0})
    header = ["method", *(f"ε = {epsilon:g}" for epsilon in epsilons)]
    header += ["seconds", "MB", "runs"] if costs else []
    rows = []
    for name in dict.fromkeys(each.method.name for each in found):
        ours = {each.epsilon: each for each in found if each.method.name == name}
        if 0.0 in ours:
            row = [cell(ours[0.0]), *[""] * (len(epsilons) - 1)]
        else:
            row = [cell(ours[epsilon]) if epsilon in ours else "" for epsilon in epsilons]
        rows.append(
            [f"{name}{_mark(next(iter(ours.values())).method)}", *row, *(_costs(ours.values()) if costs else ())]
        )
    return lined(header, rows)


def _mark(method: Method) -> str:
    if method.family == "ours":
        return " (ours)"
    return f" ({method.unit})" if method.unit != REPLACE else ""


def _cell(each: Summary) -> str:
    return _described(each.mean(), each.spread()) + _answered(each)


def _score(each: Summary) -> str:
    return _described(each.mean("score"), each.error("score"))


def _described(mean: float | None, spread: float | None) -> str:
    if mean is None:
        return MINUS
    return f"{100 * mean:.1f}" + ("" if spread is None else f" ±{100 * spread:.1f}")


def _answered(each: Summary) -> str:
    share, right = each.mean("answered"), each.mean("accuracy_answered")
    if share is None or share == 1.0:
        return ""
    return f" ({MINUS if right is None else f'{100 * right:.1f}'} on {100 * share:.0f} %)"


def _costs(found: Iterable[Summary]) -> list[str]:
    done = [each for each in found if each.done]
    if not done:
        return [MINUS, MINUS, "0"]
    seconds = sorted(each.seconds for each in done)
    span = (
        _seconds(seconds[0])
        if _seconds(seconds[0]) == _seconds(seconds[-1])
        else f"{_seconds(seconds[0])} to {_seconds(seconds[-1])}"
    )
    counts = sorted({len(each.done) for each in done})
    return [
        span,
        f"{max(each.megabytes for each in done):,}",
        " to ".join(f"{n}" for n in {counts[0]: 0, counts[-1]: 0}),
    ]


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def needed(those: Iterable[Method]) -> list[str]:
    """Return what each method needs to be public besides the columns and their kinds."""
    found: dict[str, list[str]] = {}
    for each in those:
        found.setdefault(each.needs or "nothing", []).append(each.name)
    return [f"- {needs}: {', '.join(names)}" for needs, names in found.items()]


def methods(those: Iterable[Method]) -> list[str]:
    """What each is, and whom its ε protects."""
    rows = [[each.name, each.family, each.kind, each.unit, each.words] for each in dict.fromkeys(those)]
    return lined(["method", "family", "kind", "ε is for", "what it is"], rows)


def lined(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
