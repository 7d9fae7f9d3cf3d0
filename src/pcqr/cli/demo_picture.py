"""The picture of `pcqr demo`: accuracy as the queries come in, and on everybody else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pcqr.errors import MissingExtra

if TYPE_CHECKING:
    from pcqr.cli.demo import Trace

INK, MUTED, GRID = "#222222", "#7a7a7a", "#e6e6e6"
LINES = ("#d1603d", "#0b6e99", INK, "#a0a0a0")
WIDTHS = (2.4, 2.4, 1.2, 1.2)
MAJORITY = 3
"""Which of the methods is the commoner label."""


def draw(path: Path, traces: Sequence[Trace], *, epsilon: float, delta: float, others: int) -> None:
    """Write the picture to `path`. Needs the extra `plot`."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("A picture", "plot") from None
    figure = Figure(figsize=(11.5, 4.6), dpi=160, layout="constrained")
    accuracy, bars = figure.subplots(1, 2, width_ratios=(1.75, 1))
    figure.suptitle(
        f"UCI Adult: two releases, each with ε = {epsilon:g}, δ = {delta:g}",
        x=0.01,
        ha="left",
        color=INK,
        fontweight="bold",
    )
    _draw_accuracy(accuracy, traces)
    _draw_others(bars, traces, others)
    figure.savefig(path)


def _draw_accuracy(axes: Any, traces: Sequence[Trace]) -> None:
    count = traces[0].correct.size
    asked = np.arange(1, count + 1)
    settled = count // 10  # the mean of the first few answers jumps between 0 and 1 and would hide the rest
    for trace, colour, width in zip(traces, LINES, WIDTHS, strict=True):
        axes.plot(asked[settled:], trace.running_accuracy[settled:], color=colour, linewidth=width)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.16 * (high - low))  # room for the note on publication
    _label_line_ends(axes, traces)
    for trace, colour in zip(traces, LINES, strict=True):
        if "published" in trace.kinds:
            published = trace.kinds.index("published")
            axes.axvline(published, color=colour, linewidth=1)
            axes.annotate(
                "the votes end, a tree is published:\nevery later answer is free",
                (published, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(6, -2),
                textcoords="offset points",
                va="top",
                color=colour,
                fontsize=9,
            )
    axes.set_title("Accuracy so far (no label counts as half right)", loc="left", fontsize=10, color=INK)
    axes.set_xlabel("people asked about", color=MUTED)
    axes.set_xlim(0, count)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.grid(axis="y", color=GRID)
    _clean(axes)


def _label_line_ends(axes: Any, traces: Sequence[Trace]) -> None:
    """Each line's name and accuracy at its right end, moved apart where lines end close to each other."""
    low, high = axes.get_ylim()
    gap = 0.055 * (high - low)
    order = sorted(range(len(traces)), key=lambda index: traces[index].accuracy)
    height = -np.inf
    for index in order:
        height = max(height + gap, traces[index].accuracy)
        axes.annotate(
            f"{traces[index].name}  {traces[index].accuracy:.1%}",
            (1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=LINES[index],
            fontsize=9,
            fontweight="bold" if index < 2 else "normal",
        )


def _draw_others(axes: Any, traces: Sequence[Trace], others: int) -> None:
    """A dot for each method, and how far it is from the commoner label."""
    majority = traces[MAJORITY].others
    axes.axvline(majority, color=GRID, linewidth=1.5)
    for row, (trace, colour) in enumerate(zip(traces, LINES, strict=True)):
        axes.plot((majority, trace.others), (row, row), color=colour, linewidth=1.5)
        axes.plot(trace.others, row, "o", color=colour, markersize=9)
        name = "the tree after the votes" if trace.kinds else trace.name
        axes.text(majority, row - 0.18, f"{name}  {trace.others:.1%}", va="bottom", color=colour, fontsize=9)
    highest = max(trace.others for trace in traces)
    axes.set_xlim(majority - 0.01, max(highest, majority + 0.05) + 0.01)
    axes.set_xticks(np.arange(np.ceil(50.0 * majority), np.floor(50.0 * highest) + 1.0) / 50.0)
    axes.set_ylim(len(traces) - 0.6, -0.75)
    axes.set_yticks([])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_title(f"Accuracy on {others:,} other people", loc="left", fontsize=10, color=INK)
    axes.set_xlabel("accuracy", color=MUTED)
    _clean(axes)


def _clean(axes: Any) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(MUTED)
    axes.tick_params(length=0, colors=INK)
