"""Accuracy against ε, one panel a table, between the more common label and what models without privacy reach."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from benchmarks.tables import QUESTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from benchmarks.trees import Case

INK, PALE = "#22303c", "#8a97a3"
TREE, BOOSTING, REGRESSION = "#1b7f8c", "#d1603d", "#c9a227"
WORDS = (
    (
        "one published tree",
        TREE,
        "pure ε-differential privacy, one setting;\nthe mean, and every draw as a dot",
    ),
    ("gradient boosting", BOOSTING, "no privacy, same columns"),
    ("logistic regression", REGRESSION, "no privacy, same columns"),
    ("the more common label", PALE, "the same answer for everybody"),
)
STYLE: Any = {
    "font.size": 10.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": PALE,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(cases: Sequence[Case], path: Path) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 (after the backend is chosen)

    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(
            2, 3, figsize=(12.0, 7.2), layout="constrained", gridspec_kw={"wspace": 0.06, "hspace": 0.1}
        )
        panels = list(grid.flat)
        for axes, case in zip(panels, cases, strict=False):
            _panel(axes, case)
        for axes in grid[:, 0]:
            axes.set_ylabel("accuracy on test rows", color=PALE)
        for axes in panels[len(cases) :]:
            axes.axis("off")
        _legend(panels[-1])
        figure.set_layout_engine("constrained", h_pad=0.13, w_pad=0.1)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160, facecolor="white")
        plt.close(figure)


def _panel(axes: Axes, case: Case) -> None:
    epsilons = np.array([float(epsilon) for epsilon in case.accuracy])
    draws = 100 * np.array(list(case.accuracy.values()))
    beside = ((case.gradient_boosting, BOOSTING), (case.logistic_regression, REGRESSION), (case.majority, PALE))
    for value, colour in beside:
        axes.axhline(100 * value, color=colour, linewidth=1.6, linestyle=(0, (5, 3)), zorder=1)
    spread = np.exp(np.linspace(-0.11, 0.11, draws.shape[1])) if draws.shape[1] > 1 else np.ones(1)
    axes.scatter(np.outer(epsilons, spread), draws, s=13, color=TREE, alpha=0.38, linewidths=0, zorder=2)
    axes.plot(epsilons, draws.mean(axis=1), color=TREE, linewidth=2.2, marker="o", markersize=5.5, zorder=3)
    values = [draws.min(), draws.max(), *(100 * value for value, _ in beside)]
    room = 0.07 * (max(values) - min(values))
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_ylim(min(values) - room, max(values) + room)
    axes.yaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g %%"))
    axes.tick_params(length=3, color=PALE)
    axes.set_xlabel("ε")
    title, _, question = QUESTIONS[case.table].partition(": ")
    axes.set_title(title, loc="left", fontsize=12.5, fontweight="bold", pad=20)
    axes.text(0, 1.02, f"{question} · {case.records:,} records", transform=axes.transAxes, color=PALE, fontsize=9.5)


def _legend(axes: Axes) -> None:
    axes.axis("off")
    height = 0.92
    for name, colour, note in WORDS:
        private = colour == TREE
        axes.plot(
            [0.0, 0.06, 0.12],
            [height] * 3,
            color=colour,
            linewidth=2.2 if private else 1.6,
            linestyle="-" if private else (0, (5, 3)),
            marker="o" if private else None,
            markevery=[1],
            markersize=5.5,
        )
        axes.text(0.17, height, name, color=colour, fontweight="bold", fontsize=12, va="center")
        axes.text(0.17, height - 0.055, note, fontsize=9.5, va="top", linespacing=1.35)
        height -= 0.22 + 0.075 * note.count("\n")
    axes.set(xlim=(0, 1), ylim=(0, 1))
