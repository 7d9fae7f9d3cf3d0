"""The picture of `pcqr audit`: one row a case, the exact ε against the claimed one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcqr.audit.report import Report, Row, tightest
from pcqr.drawing import (
    DOTTED,
    GRID,
    INK,
    MUTED,
    NAME,
    PAPER,
    PUBLISHED,
    SMALL,
    THIN,
    TINY,
    WARNING,
    fitted,
    note,
    picture,
    text_width,
    tint,
)

# Inches.
WIDTH, NAMES, NUMBERS, MARGIN = 9.0, 3.1, 1.6, 0.1
HEAD, ROW, FOOT = 0.65, 0.225, 0.5
COLUMNS = (0.75, 1.5)
"""Where the numbers end, from the right edge of the axes."""

# Powers of 2 of exact ε / claimed ε. ∞ has a place of its own at the right edge.
LOWEST, HIGHEST, INFINITY = -4.5, 3.6, 4.3
TICKS = {-4.0: "1/16", -3.0: "1/8", -2.0: "1/4", -1.0: "1/2", 0.0: "claim", 1.0: "2 ×", 2.0: "4 ×", 3.0: "8 ×"}
BEYOND = tint(WARNING, 0.07)


@dataclass(frozen=True)
class Line:
    """One row of the picture: `exact` ε, computed (∞ is possible), `bound`, what ε is at least by runs, or both."""

    name: str
    claimed: float
    exact: float | None
    bound: float | None
    is_bug: bool
    is_flagged: bool

    @classmethod
    def of(cls, row: Row) -> Line:
        return cls(
            row.name,
            row.claim.epsilon,
            None if row.finding is None else row.finding.epsilon,
            None if row.audited is None else row.audited.epsilon,
            row.bug is not None,
            row.is_flagged,
        )

    @property
    def colour(self) -> str:
        return WARNING if self.is_flagged else PUBLISHED


def lines_of(report: Report) -> list[Line]:
    """Return the lines of the picture: of each shipped algorithm the case nearest to its claim, and all bugs.

    Cases that only runs can judge and all that was flagged are among them.
    """
    nearest = {
        finding.name for finding in tightest(row.finding for row in report.rows if row.bug is None and row.finding)
    }
    return [
        Line.of(row)
        for row in report.rows
        if row.bug is not None or row.finding is None or row.name in nearest or row.is_flagged
    ]


def draw(path: Path, lines: Sequence[Line]) -> None:
    """Write the picture to `path`. Needs the extra `plot`."""
    shipped, bugs = [line for line in lines if not line.is_bug], [line for line in lines if line.is_bug]
    blocks = [("Shipped: nothing may pass the line", shipped), ("Broken: each must pass it", bugs)]
    blocks = [(title, block) for title, block in blocks if block]
    rows = sum(len(block) + 1 for _, block in blocks) + len(blocks) - 1
    height = HEAD + ROW * rows + FOOT
    with picture(path, WIDTH, height, layout=None) as figure:
        wide = WIDTH - NAMES - NUMBERS - 2 * MARGIN
        axes = figure.add_axes(((MARGIN + NAMES) / WIDTH, FOOT / height, wide / WIDTH, ROW * rows / height))
        _set_up(axes, rows)
        place = 0
        for title, block in blocks:
            _write(axes, place, -NAMES, title, fontsize=NAME, fontweight="bold")
            for line in block:
                place += 1
                _draw_line(axes, place, line)
            place += 2
        figure.legend(
            handles=_legend(),
            loc="upper left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=4,
            frameon=False,
            fontsize=SMALL,
            handletextpad=0.3,
            columnspacing=1.6,
        )


def _set_up(axes: Any, rows: int) -> None:
    """The common axis, below and above, the claim as a line, and what lies beyond it in another colour."""
    right = INFINITY + 0.35
    axes.set(xlim=(LOWEST, right), ylim=(rows - 0.4, -0.6), yticks=[])
    axes.set_xticks([*TICKS, INFINITY], [*TICKS.values(), "∞"])
    axes.tick_params(length=0, labelsize=SMALL, labelcolor=MUTED, labeltop=True)
    axes.spines[["top", "left", "right", "bottom"]].set_visible(False)
    axes.set_xlabel("exact ε as a multiple of the claimed ε")
    axes.axvspan(0, right, color=BEYOND, linewidth=0, zorder=0)
    axes.axvline(0, color=INK, linewidth=THIN, zorder=3)
    for inches, words in zip(COLUMNS, ("exact ε", "claimed ε"), strict=True):
        _write(axes, -1.15, inches, words, color=MUTED, ha="right")


def _draw_line(axes: Any, place: int, line: Line) -> None:
    axes.axhline(place, color=GRID, linewidth=0.7, zorder=1)
    found = line.bound if line.exact is None else line.exact
    if found:
        at = _position(found, line.claimed)
        style = "-" if line.exact is not None else DOTTED
        axes.plot((0, at), (place, place), color=line.colour, linewidth=THIN, linestyle=style, zorder=2)
    bound = LOWEST if line.bound is None else _position(line.bound, line.claimed)
    if bound > LOWEST:
        axes.plot([bound], [place], ">", markerfacecolor=PAPER, **_mark(line.colour))
    if line.exact is not None:
        axes.plot([_position(line.exact, line.claimed)], [place], "o", **_mark(line.colour))
    name, case = _told(line)
    _write(axes, place, -NAMES, name)
    taken = text_width([name], SMALL) / 72.0 + 0.07
    room = 72.0 * (NAMES - taken - 0.1)
    _write(axes, place, taken - NAMES, fitted(case, TINY, room) if case else "", fontsize=TINY, color=MUTED)
    exact = f"≥ {line.bound:.3f}" if line.exact is None else "∞" if math.isinf(line.exact) else f"{line.exact:.3f}"
    _write(axes, place, COLUMNS[0], exact, color=line.colour, fontweight="bold", ha="right")
    _write(axes, place, COLUMNS[1], f"{line.claimed:.3f}", ha="right")


def _position(epsilon: float, claimed: float) -> float:
    """On the axis; what is too small for it, 0 included, is at its left end, ∞ alone at its right."""
    if math.isinf(epsilon):
        return INFINITY
    return LOWEST if epsilon <= 0 else min(HIGHEST, max(LOWEST, math.log2(epsilon / claimed)))


def _told(line: Line) -> tuple[str, str]:
    """The algorithm, and which case of it; a bug has but its name."""
    if line.is_bug:
        return line.name, ""
    name = re.split("[:,(]", line.name)[0]
    case = line.name.removeprefix(name)
    return name, case[1:-1] if case.startswith("(") else case.lstrip(":, ")


def _write(axes: Any, place: float, inches: float, words: str, **style: Any) -> None:
    """Words in a row: so many inches left of the axes' left edge, or right of their right one."""
    edge = 0 if inches < 0 else 1
    coordinates = ("axes fraction", "data")
    note(axes, words, (edge, place), (72.0 * inches, 0), xycoords=coordinates, va="center_baseline", **style)


def _mark(colour: str) -> dict[str, Any]:
    return {"color": colour, "markersize": 6, "zorder": 4}


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D  # noqa: PLC0415

    return [
        Line2D([], [], color=INK, linewidth=THIN, label="claimed ε"),
        Line2D([], [], color=PUBLISHED, marker="o", linewidth=0, label="exact ε, claim holds"),
        Line2D([], [], color=WARNING, marker="o", linewidth=0, label="exact ε, flagged"),
        Line2D(
            [], [], color=MUTED, marker=">", markerfacecolor=PAPER, linewidth=0, label="ε is at least this, by runs"
        ),
    ]
