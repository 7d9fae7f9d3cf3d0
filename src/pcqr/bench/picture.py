"""Accuracy against ε, one panel a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pcqr.bench.methods import Method
from pcqr.bench.report import Summary, summaries
from pcqr.bench.runs import Run
from pcqr.bench.tables import QUESTIONS
from pcqr.drawing import (
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
