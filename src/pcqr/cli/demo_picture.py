"""The picture of `pcqr demo`: accuracy as the queries come in, and how the answers came about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pcqr.errors import MissingExtra

if TYPE_CHECKING:
    from pcqr.cli.demo import Trace

INK, MUTED, GRID = "#222222", "#7a7a7a", "#e6e6e6"
LINES = ("#0b6e99", "#d1603d", INK, "#a0a0a0")
WIDTHS = (2.4, 2.4, 1.2, 1.2)
BARS = {
    "stable": ("#0b6e99", "votes"),
    "published": ("#8cc5de", "published classifier"),
    "repeated": ("#b9b9b9", "repeated"),
    "unstable": ("#f0b79f", "unstable"),
    "unanswered": ("#d1603d", "unanswered"),
}


def draw(path: Path, traces: Sequence[Trace], *, epsilon: float, delta: float) -> None:
    """Write the picture to `path`. Needs the extra `plot`."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("A picture", "plot") from None
    figure = Figure(figsize=(11.5, 4.6), dpi=160, layout="constrained")
    accuracy, kinds = figure.subplots(1, 2, width_ratios=(1.75, 1))
    figure.suptitle(
        f"UCI Adult, decision stumps, ε = {epsilon:g}, δ = {delta:g}", x=0.01, ha="left", color=INK, fontweight="bold"
    )
    _draw_accuracy(accuracy, traces)
    _draw_kinds(kinds, [trace for trace in traces if trace.kinds])
    figure.savefig(path)


def _draw_accuracy(axes: Any, traces: Sequence[Trace]) -> None:
    count = traces[0].correct.size
    asked = np.arange(1, count + 1)
    settled = count // 20  # the mean of the first few answers jumps between 0 and 1 and would hide the rest
    for trace, colour, width in zip(traces, LINES, WIDTHS, strict=True):
        axes.plot(asked[settled:], trace.running_accuracy[settled:], color=colour, linewidth=width)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.16 * (high - low))  # room for the note on publication
    _label_line_ends(axes, traces)
    published = traces[0].kinds.index("published") if "published" in traces[0].kinds else None
    if published is not None:
        axes.axvline(published, color=LINES[0], linewidth=1)
        axes.annotate(
            "classifier published:\nevery later answer is free",
            (published, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(6, -2),
            textcoords="offset points",
            va="top",
            color=LINES[0],
            fontsize=9,
        )
    axes.set_title("Accuracy so far (no label counts as half right)", loc="left", fontsize=10, color=INK)
    axes.set_xlabel("queries asked", color=MUTED)
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
            fontweight="bold" if index == 0 else "normal",
        )


def _draw_kinds(axes: Any, traces: Sequence[Trace]) -> None:
    rows = np.arange(len(traces))
    left = np.zeros(len(traces), dtype=np.int64)
    for kind, (colour, meaning) in BARS.items():
        widths = np.array([trace.counts[kind] for trace in traces])
        if not widths.any():
            continue
        axes.barh(rows, widths, left=left, color=colour, label=meaning, height=0.36)
        for row, width in enumerate(widths):
            if width > 0.08 * traces[0].correct.size:
                ink = "white" if colour in LINES else INK
                axes.text(left[row] + width / 2, row, f"{width:,}", ha="center", va="center", color=ink)
        left += widths
    for row, trace in enumerate(traces):
        axes.text(0, row - 0.25, trace.name, va="bottom", color=LINES[row], fontsize=9, fontweight="bold")
    axes.set_ylim(len(traces) - 0.7, -0.6)
    axes.set_yticks([])
    axes.set_title("How the answers came about", loc="left", fontsize=10, color=INK)
    axes.set_xlabel("queries", color=MUTED)
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.16), ncols=3, frameon=False, fontsize=9, columnspacing=1.2)
    _clean(axes)


def _clean(axes: Any) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(MUTED)
    axes.tick_params(length=0, colors=INK)
