"""Accuracy against ε, one panel a table: what `auto` publishes, and DP-SGD tuned in its favour."""

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

MARKERS = {"tree": "^", "counted": "s", "compared": "D", "boosted": "o"}
WORDS = {
    "tree": "one exact tree",
    "counted": "linear, or a tree where one label is rare",
    "compared": "linear or a tree, by a private comparison",
    "boosted": "boosted exact trees",
}
DASHED = (0, (5, 3))
PEER = "logistic regression on the same predicates;\nsettings picked for each point on the test rows"
NOTE = "δ = 10⁻⁶, replace one record.\nBars: standard error of the runs."


def draw(cases: Sequence[Case], path: Path) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 (after the backend is chosen)

    names = list(dict.fromkeys(case.table for case in cases))
    with plt.rc_context(STYLE):
        figure, panels = plt.subplot_mosaic(
            "abl;cdl", figsize=(12.5, 7.2), layout="constrained", gridspec_kw={"width_ratios": (1.0, 1.0, 0.95)}
        )
        for place, name in zip("abcd", names, strict=False):
            _panel(panels[place], [case for case in cases if case.table == name])
        _legend(panels["l"])
        figure.set_layout_engine("constrained", h_pad=0.13, w_pad=0.1)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160, facecolor="white")
        plt.close(figure)


def _panel(axes: Axes, cases: Sequence[Case]) -> None:
    epsilons = [case.epsilon for case in cases]
    for values, colour, style in (
        ([c.peer for c in cases], BOOSTING, DASHED),
        ([c.accuracy for c in cases], TREE, "-"),
    ):
        means = [100 * float(np.mean(runs)) for runs in values]
        errors = [100 * float(np.std(runs, ddof=1)) / len(runs) ** 0.5 for runs in values]
        axes.errorbar(
            epsilons, means, errors, color=colour, linewidth=1.9, linestyle=style, elinewidth=1.2, capsize=2.5
        )
        if colour == TREE:
            for case, mean in zip(cases, means, strict=True):
                axes.plot(case.epsilon, mean, color=TREE, marker=MARKERS[case.method], markersize=7.5, zorder=4)
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.margins(x=0.08, y=0.1)
    axes.yaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g %%"))
    axes.tick_params(length=3, color=PALE)
    axes.set_xlabel("ε")
    title, _, question = QUESTIONS[cases[0].table].partition(": ")
    axes.set_title(title, loc="left", fontsize=12.5, fontweight="bold", pad=20)
    words = f"{question} ({100 * cases[0].majority:.1f} % alike) · {cases[0].records:,} records"
    axes.text(0, 1.02, words, transform=axes.transAxes, color=PALE, fontsize=9).set_in_layout(False)


def _legend(axes: Axes) -> None:
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.text(0.0, 0.83, 'PrivateClassifier(method="auto")', color=TREE, fontweight="bold", fontsize=12)
    for height, (method, marker) in zip((0.78, 0.74, 0.70, 0.66), MARKERS.items(), strict=True):
        axes.plot(
            [0.0, 0.06, 0.12], [height] * 3, color=TREE, linewidth=1.9, marker=marker, markevery=[1], markersize=7.5
        )
        axes.text(0.17, height, WORDS[method], va="center", fontsize=10.5, color=INK)
    axes.plot([0.0, 0.12], [0.56] * 2, color=BOOSTING, linewidth=1.9, linestyle=DASHED)
    axes.text(0.17, 0.56, "DP-SGD (Opacus)", va="center", color=BOOSTING, fontweight="bold", fontsize=12)
    axes.text(0.17, 0.53, PEER, va="top", fontsize=9.5, linespacing=1.35)
    axes.text(0.0, 0.40, NOTE, va="top", fontsize=9.5, linespacing=1.35, color=PALE)
