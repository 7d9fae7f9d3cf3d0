"""The picture of `pcqr demo`: accuracy as the queries come in, and on everybody else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pcqr.drawing import (
    BODY,
    BOLD,
    DASHED,
    GRID,
    INK,
    MUTED,
    PUBLISHED,
    THIN,
    TITLE,
    VOTES,
    entitle,
    in_powers,
    mark_in_percent,
    note,
    picture,
    spread_out,
    tidy,
)

if TYPE_CHECKING:
    from pcqr.cli.demo import Trace

COLOURS = (PUBLISHED, VOTES, INK, MUTED)
STYLES: Any = ({"linewidth": BOLD}, {"linewidth": BOLD}, {"linewidth": THIN, "linestyle": DASHED}, {"linewidth": THIN})
MAJORITY = 3
"""Which of the methods is the commoner label."""


def draw(path: Path, traces: Sequence[Trace], *, epsilon: float, delta: float, others: int) -> None:
    """Write the picture to `path`. Needs the extra `plot`."""
    with picture(path, 11.0, 4.6) as figure:
        accuracy, bars = figure.subplots(1, 2, width_ratios=(1.55, 1))
        title = f"UCI Adult: two releases, each with ε = {epsilon:g}, δ = {in_powers(delta)}"
        figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE, fontweight="bold")
        _draw_accuracy(accuracy, traces)
        _draw_others(bars, traces, others)


def _draw_accuracy(axes: Any, traces: Sequence[Trace]) -> None:
    count = traces[0].correct.size
    asked = np.arange(1, count + 1)
    settled = count // 10  # the mean of the first few answers jumps between 0 and 1 and would hide the rest
    for trace, colour, style in zip(traces, COLOURS, STYLES, strict=True):
        axes.plot(asked[settled:], trace.running_accuracy[settled:], color=colour, **style)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.16 * (high - low))  # room for the note on publication
    _label_line_ends(axes, traces)
    for trace, colour in zip(traces, COLOURS, strict=True):
        if "published" in trace.kinds:
            published = trace.kinds.index("published")
            axes.axvline(published, color=colour, linewidth=THIN)
            words = "the votes end, a tree is published:\nevery later answer is free"
            note(axes, words, (published, 1), (6, -2), xycoords=("data", "axes fraction"), va="top", color=colour)
    entitle(axes, "Accuracy so far", "a query without a label counts as half right")
    axes.set(xlim=(0, count), xlabel="people asked about", ylabel="accuracy so far")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    mark_in_percent(axes.yaxis)
    tidy(axes)


def _label_line_ends(axes: Any, traces: Sequence[Trace]) -> None:
    """Each line's name and accuracy at its right end, moved apart where lines end close to each other."""
    low, high = axes.get_ylim()
    heights = spread_out([trace.accuracy for trace in traces], 0.065 * (high - low))
    for trace, colour, height in zip(traces, COLOURS, heights, strict=True):
        note(
            axes,
            f"{trace.name}  {100 * trace.accuracy:.1f} %",
            (1, height),
            (6, 0),
            xycoords=("axes fraction", "data"),
            va="center",
            color=colour,
            fontweight="bold" if colour in (PUBLISHED, VOTES) else "normal",
        )


def _draw_others(axes: Any, traces: Sequence[Trace], others: int) -> None:
    """A dot for each method, and how far it is from the commoner label."""
    majority = traces[MAJORITY].others
    axes.axvline(majority, color=GRID, linewidth=1.5)
    for row, (trace, colour, style) in enumerate(zip(traces, COLOURS, STYLES, strict=True)):
        axes.plot((majority, trace.others), (row, row), color=colour, **style)
        axes.plot(trace.others, row, "o", color=colour, markersize=8)
        name = "the tree after the votes" if trace.kinds else trace.name
        words = f"{name}  {100 * trace.others:.1f} %"
        axes.text(majority, row - 0.17, words, va="bottom", color=colour, fontsize=BODY)
    highest = max(trace.others for trace in traces)
    axes.set_xlim(majority - 0.01, max(highest, majority + 0.05) + 0.01)
    axes.set_ylim(len(traces) - 0.6, -0.75)
    axes.set_yticks([])
    mark_in_percent(axes.xaxis)
    entitle(axes, "Everybody else", f"accuracy on {others:,} people not asked about")
    axes.set_xlabel("accuracy")
    tidy(axes, grid=None)
