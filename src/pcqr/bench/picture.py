"""Accuracy against ε, one panel a data set."""

from __future__ import annotations

from collections.abc import Sequence
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
_FAMILIES = {"ours": "ours", "peer": "the systems beside us", "outside": "outside libraries", "own": "your own"}
_COLOURS = {"ours": PUBLISHED, "peer": SUBSAMP, "outside": OTHERS, "own": VOTES, "reference": MUTED}


def draw(path: Path, runs: Sequence[Run]) -> None:
    """Solid: all test rows; dotted: the queries of a method that answers by votes. What has no figure is left out."""
    found = [each for each in summaries(runs) if each.done]
    tables = list(dict.fromkeys(each.table for each in found))
    with picture(path, WIDTH, HEIGHT * max(1, len(tables))) as figure:
        axes = figure.subplots(max(1, len(tables)), 1, squeeze=False)[:, 0]
        for place, table in zip(axes, tables, strict=False):
            _panel(place, table, [each for each in found if each.table == table])


def _panel(axes: Any, table: str, found: Sequence[Summary]) -> None:
    lines = _lines(found)
    epsilons = sorted({epsilon for points in lines.values() for epsilon, _ in points})
    tidy(axes)
    mark_in_percent(axes.yaxis)
    if epsilons:
        mark_epsilons(axes, epsilons)
    axes.set_ylabel(ON_ACCURACY)
    for method, points in lines.items():
        style = {"linestyle": DOTTED} if method.kind == "votes" else {}
        width = BOLD if method.family == "ours" else PLAIN
        colour = _COLOURS[method.family]
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=width, marker="o", markersize=3, **style)
    for each in found:
        if each.epsilon == 0.0:
            draw_without_privacy(axes, each.mean() or 0.0, f"{each.method.name}, without privacy", colour=MUTED)
    low, high = axes.get_ylim()
    depths = spread_out([(high - points[-1][1]) / (high - low) for points in lines.values()], GAP)
    for (method, points), depth in zip(lines.items(), depths, strict=True):
        words, colour = f"{method.name}  {100 * points[-1][1]:.1f}", _COLOURS[method.family]
        note(axes, words, (1.0, 1.0 - depth), (6, -3), xycoords="axes fraction", color=colour, fontsize=TINY)
    title, _, question = QUESTIONS.get(table, table).partition(": ")
    entitle(axes, title, f"{question}; dotted: by votes, on the queries alone; figures: at its largest ε".lstrip("; "))
    families = [family for family in _FAMILIES if any(method.family == family for method in lines)]
    for place, family in enumerate(families):
        at = (0.01, 0.98 - 1.5 * GAP * place)
        note(axes, _FAMILIES[family], at, (0, -8), xycoords="axes fraction", color=_COLOURS[family])


def _lines(found: Sequence[Summary]) -> dict[Method, list[tuple[float, float]]]:
    lines: dict[Method, list[tuple[float, float]]] = {}
    for each in found:
        mean = each.mean()
        if each.epsilon > 0.0 and mean is not None:
            lines.setdefault(each.method, []).append((each.epsilon, mean))
    return {method: sorted(points) for method, points in lines.items()}
