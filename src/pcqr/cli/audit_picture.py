"""The picture of `pcqr audit`: one small panel a row, δ against ε, with the claim as a point."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import Any

from pcqr.audit.exact import Finding
from pcqr.audit.report import Report, Row, tightest
from pcqr.errors import MissingExtra

INK, MUTED, GRID = "#222222", "#7a7a7a", "#e6e6e6"
HOLDS, BROKEN = "#0b6e99", "#d1603d"
FORBIDDEN = "#efefef"
COLUMNS = 8
FLOOR, CEILING = 1e-9, 1.0
"""Of δ. What is smaller, 0 included, is drawn on the floor."""
TITLE_WIDTH = 34


def draw(path: Path, report: Report) -> None:
    """Write the picture to `path`. Needs the extra `plot`.

    Shown are the zoo and, of what is shipped, the case of each algorithm that is nearest to its claim, and all that was
    flagged.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("A picture", "plot") from None
    shown = {
        finding.name for finding in tightest(row.finding for row in report.rows if row.bug is None and row.finding)
    }
    parts = {
        "Shipped: of each algorithm the case nearest to its claim. No curve may enter the grey.": [
            row for row in report.rows if row.bug is None and (row.name in shown or row.is_flagged)
        ],
        "The zoo of bugs: each must be caught.": [row for row in report.rows if row.bug is not None],
    }
    heights = [math.ceil(len(rows) / COLUMNS) for rows in parts.values()]
    figure = Figure(figsize=(2.4 * COLUMNS, 2.15 * sum(heights) + 1.6), dpi=130, layout="constrained")
    boxes: Any = figure.subfigures(len(parts), 1, height_ratios=[height + 0.3 for height in heights], hspace=0.02)
    for box, (title, rows), height in zip(boxes, parts.items(), heights, strict=True):
        box.suptitle(title, x=0.008, ha="left", color=INK, fontweight="bold", fontsize=13)
        panels = list(box.subplots(height, COLUMNS, squeeze=False).flat)
        for panel, row in zip(panels, rows, strict=False):
            _draw_row(panel, row)
        for panel in panels[len(rows) :]:
            panel.set_axis_off()
    _explain(figure)
    figure.savefig(path)


def _draw_row(axes: Any, row: Row) -> None:
    claimed, delta = row.claim.epsilon, max(row.claim.delta, FLOOR)
    colour = BROKEN if row.is_flagged else HOLDS
    bound = 0.0 if row.audited is None else row.audited.epsilon
    curve = [] if row.finding is None else _curve(row.finding)
    right = max(1.25 * claimed, 1.15 * bound, *(epsilon for epsilon, _ in curve))
    axes.fill_between([claimed, right], delta, 2.0 * CEILING, color=FORBIDDEN, linewidth=0)
    if curve:
        axes.plot([e for e, _ in curve], [max(d, FLOOR) for _, d in curve], color=colour, linewidth=1.8)
    if bound > 0:
        axes.axvline(bound, color=colour, linewidth=1.3, linestyle=(0, (1, 1.5)))
    axes.plot([claimed], [delta], "o", color=INK, markersize=5, clip_on=False, zorder=5)
    _entitle(axes, row, colour)
    axes.set_yscale("log")
    axes.set_ylim(FLOOR, 2.0 * CEILING)
    axes.set_xlim(0, right)
    axes.set_yticks([FLOOR, 1e-6, 1e-3, 1], labels=["0", "10⁻⁶", "10⁻³", "1"])
    axes.minorticks_off()
    axes.locator_params(axis="x", nbins=4)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(MUTED)
    axes.tick_params(length=0, colors=MUTED, labelsize=7)
    axes.annotate("ε", (1, 0), xycoords="axes fraction", xytext=(3, -2), textcoords="offset points", color=MUTED)
    axes.annotate("δ", (0, 1), xycoords="axes fraction", xytext=(-14, 2), textcoords="offset points", color=MUTED)
    axes.set_axisbelow(True)


def _curve(finding: Finding) -> list[tuple[float, float]]:
    """The curve with its exact point at the claimed δ, where the grid would be too coarse."""
    exact = [(finding.epsilon, finding.claimed.delta)] if math.isfinite(finding.epsilon) else []
    return sorted([*finding.curve, *exact], key=lambda point: (point[0], -point[1]))


def _entitle(axes: Any, row: Row, colour: str) -> None:
    """The name, and below it the ε that counts."""
    if row.finding is not None:
        exact = "∞" if math.isinf(row.finding.epsilon) else f"{row.finding.epsilon:.3f}"
        found = f"exact ε {exact}, claimed {row.claim.epsilon:.3f}"
    else:
        bound = 0.0 if row.audited is None else row.audited.epsilon
        found = f"ε ≥ {bound:.3f} by runs, claimed {row.claim.epsilon:.3f}"
    name = textwrap.wrap(row.name, TITLE_WIDTH, max_lines=2, placeholder=" …")
    axes.set_title("\n".join(name), loc="left", fontsize=8, color=INK, pad=14)
    axes.annotate(
        found, (0, 1), xycoords="axes fraction", xytext=(0, 4), textcoords="offset points", fontsize=7, color=colour
    )


def _explain(figure: Any) -> None:
    """One legend for all panels."""
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415

    handles = [
        Line2D([], [], color=HOLDS, linewidth=1.8, label="exact δ(ε), claim holds"),
        Line2D([], [], color=BROKEN, linewidth=1.8, label="exact δ(ε), flagged"),
        Line2D([], [], color=MUTED, linewidth=1.2, linestyle=(0, (1, 1.5)), label="ε is at least this (from runs)"),
        Line2D([], [], color=INK, marker="o", linewidth=0, markersize=5, label="claimed (ε, δ)"),
        Patch(color=FORBIDDEN, label="where no curve may go"),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=5, frameon=False, fontsize=9, labelcolor=INK)
