"""Accuracy against ε, one panel a table: what `auto` publishes, DP-SGD tuned in its favour, and the common label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from benchmarks.tables import QUESTIONS
from benchmarks.trees_picture import BOOSTING, INK, PALE, STYLE, TREE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from benchmarks.classifiers import Case

MARKERS = {"tree": "^", "linear": "s", "compared": "D", "boosted": "o"}
WORDS = {
    "tree": "one exact tree",
    "linear": "a linear classifier",
    "compared": "the better of these two, privately",
    "boosted": "boosted exact trees",
}


def draw(cases: Sequence[Case], path: Path) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 (after the backend is chosen)

    names = list(dict.fromkeys(case.table for case in cases))
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(2, 3, figsize=(12.0, 7.2), layout="constrained")
        panels = list(grid.flat)
        for axes, name in zip(panels, names, strict=False):
            _panel(axes, [case for case in cases if case.table == name])
        for axes in panels[len(names) :]:
            axes.axis("off")
        _legend(panels[-1])
        figure.set_layout_engine("constrained", h_pad=0.13, w_pad=0.1)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160, facecolor="white")
        plt.close(figure)


def _panel(axes: Axes, cases: Sequence[Case]) -> None:
    epsilons = [case.epsilon for case in cases]
    ours = [100 * float(np.mean(case.accuracy)) for case in cases]
    peer = [100 * float(np.mean(case.peer)) for case in cases]
    axes.plot(epsilons, peer, color=BOOSTING, linewidth=1.6, linestyle=(0, (5, 3)), marker=".", zorder=2)
    axes.plot(epsilons, ours, color=TREE, linewidth=2.2, zorder=3)
    for case, value in zip(cases, ours, strict=True):
        axes.plot(case.epsilon, value, color=TREE, marker=MARKERS[case.method], markersize=7.5, zorder=4)
    axes.axhline(100 * cases[0].majority, color=PALE, linewidth=1.6, linestyle=(0, (5, 3)), zorder=1)
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.margins(y=0.12)
    axes.yaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g %%"))
    axes.tick_params(length=3, color=PALE)
    axes.set_xlabel("ε")
    title, _, question = QUESTIONS[cases[0].table].partition(": ")
    axes.set_title(title, loc="left", fontsize=12.5, fontweight="bold", pad=20)
    axes.text(0, 1.02, f"{question} · {cases[0].records:,} records", transform=axes.transAxes, color=PALE, fontsize=9.5)


def _legend(axes: Axes) -> None:
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.text(0.0, 0.95, 'PrivateClassifier(method="auto")', color=TREE, fontweight="bold", fontsize=12)
    for height, (method, marker) in zip((0.86, 0.79, 0.72, 0.65), MARKERS.items(), strict=True):
        axes.plot(
            [0.0, 0.06, 0.12], [height] * 3, color=TREE, linewidth=2.2, marker=marker, markevery=[1], markersize=7.5
        )
        axes.text(0.17, height, WORDS[method], va="center", fontsize=10.5, color=INK)
    axes.plot(
        [0.0, 0.06, 0.12], [0.54] * 3, color=BOOSTING, linewidth=1.6, linestyle=(0, (5, 3)), marker=".", markevery=[1]
    )
    axes.text(0.17, 0.54, "DP-SGD (Opacus)", va="center", color=BOOSTING, fontweight="bold", fontsize=12)
    note = "logistic regression on the same predicates;\nsettings picked for each point on the test rows"
    axes.text(0.17, 0.49, note, va="top", fontsize=9.5, linespacing=1.35)
    axes.plot([0.0, 0.12], [0.29] * 2, color=PALE, linewidth=1.6, linestyle=(0, (5, 3)))
    axes.text(0.17, 0.29, "the more common label", va="center", color=PALE, fontweight="bold", fontsize=12)
    axes.text(0.17, 0.18, "δ = 10⁻⁶, replace one record; test rows", va="top", fontsize=9.5)
