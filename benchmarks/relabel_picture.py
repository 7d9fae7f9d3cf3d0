"""The share of unstable queries, and of queries without a label, against m: one column an ε, one line a way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcqr.drawing import (
    BOLD,
    DASH_DOT,
    MUTED,
    NAME,
    ON_QUERIES,
    PLAIN,
    SMALL,
    SUBSAMP,
    VOTES,
    entitle,
    mark_in_percent,
    picture,
    tidy,
)

if TYPE_CHECKING:
    from benchmarks.relabel import Cell

STYLES: Mapping[str, Mapping[str, Any]] = {
    "relabelled": {"color": VOTES, "linewidth": BOLD, "marker": "o"},
    "as they are": {"color": SUBSAMP, "linewidth": BOLD, "marker": "s"},
    "same teachers": {"color": MUTED, "linewidth": PLAIN, "marker": "^", "linestyle": DASH_DOT},
}
WORDS = {
    "relabelled": "relabelled by a private tree (AgPrivCl)",
    "as they are": "labels as they are, its own number of teachers (SubSamp)",
    "same teachers": "labels as they are, teachers and T of AgPrivCl",
}
SHIFTS = {"relabelled": 0.94, "as they are": 1.0, "same teachers": 1.06}
"""Along m, so that bars can be told apart."""


def draw(cells: Mapping[tuple[float, int, str], Cell], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    epsilons = sorted({epsilon for epsilon, _, _ in cells})
    queries = sorted({m for _, m, _ in cells})
    with picture(path, 11.0, 7.0) as figure:
        figure.get_layout_engine().set(rect=(0, 0.06, 1, 0.94))
        grid = figure.subplots(2, len(epsilons), sharex=True, sharey="row", squeeze=False)
        for column, epsilon in enumerate(epsilons):
            for way, style in STYLES.items():
                own = [cells[epsilon, m, way] for m in queries]
                _line(grid[0, column], way, queries, [cell.unstable for cell in own], style)
                _line(grid[1, column], way, queries, [cell.unlabelled for cell in own], style)
            entitle(grid[0, column], f"ε = {epsilon:g}")
            grid[1, column].set_xlabel(ON_QUERIES)
        for axes in grid.flat:
            axes.set_xscale("log")
            axes.set_xticks(queries, [f"{m:,}" for m in queries])
            axes.minorticks_off()
            axes.set_ylim(bottom=0)
            mark_in_percent(axes.yaxis)
            tidy(axes)
        grid[0, 0].set_ylabel("unstable, of those decided", fontsize=NAME)
        grid[1, 0].set_ylabel("without a label, of all m", fontsize=NAME)
        lines = grid[0, 0].get_lines()
        handles = [line for line in lines if line.get_label() in WORDS]
        figure.legend(
            handles,
            [WORDS[line.get_label()] for line in handles],
            loc="lower center",
            ncols=len(handles),
            frameon=False,
            fontsize=SMALL,
        )


def _line(axes: Any, way: str, queries: list[int], shares: list[tuple[float, float]], style: Mapping[str, Any]) -> None:
    """Means with bars of one standard deviation of the runs."""
    places = [m * SHIFTS[way] for m in queries]
    means, spreads = zip(*shares, strict=True)
    axes.plot(places, means, markersize=5.5, label=way, zorder=3, **style)
    lower = [min(mean, spread) for mean, spread in shares]
    axes.errorbar(places, means, yerr=[lower, spreads], fmt="none", ecolor=style["color"], elinewidth=1.0, capsize=2)
