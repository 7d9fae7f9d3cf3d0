"""Accuracy against ε, one panel a table: what `auto` publishes, DP-SGD in its favour, and boosting without privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.tables import QUESTIONS
from pcqr.drawing import (
    BODY,
    DASH_DOT,
    DASHED,
    INK,
    MUTED,
    NAME,
    ON_ACCURACY,
    OTHERS,
    PLAIN,
    PUBLISHED,
    SMALL,
    THIN,
    draw_without_privacy,
    entitle,
    mark_epsilons,
    mark_in_percent,
    picture,
    tidy,
)

if TYPE_CHECKING:
    from benchmarks.classifiers import Case

MARKERS = {"tree": "^", "counted": "s", "compared": "D", "boosted": "o"}
WORDS = {
    "tree": "one exact tree",
    "counted": "linear, or a tree where one label is rare",
    "compared": "linear or a tree, by a private comparison",
    "boosted": "boosted exact trees",
}
PEER = "logistic regression on the same predicates;\nsettings picked for each point on the test rows"
LIMIT = "on the same columns and rows"
NOTE = "δ = 10⁻⁶, replace one record.\nBars: standard error of the runs."


def draw(cases: Sequence[Case], limits: Mapping[str, float], path: Path) -> None:
    """`limits`: the accuracy of gradient boosting without privacy, by table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(case.table for case in cases))
    with picture(path, 11.5, 6.8) as figure:
        panels = figure.subplot_mosaic("abl;cdl", gridspec_kw={"width_ratios": (1.0, 1.0, 0.95), "hspace": 0.08})
        for place, name in zip("abcd", names, strict=False):
            _panel(panels[place], [case for case in cases if case.table == name], limits[name])
        for place in "ac":
            panels[place].set_ylabel(ON_ACCURACY)
        _legend(panels["l"])


def _panel(axes: Any, cases: Sequence[Case], limit: float) -> None:
    epsilons = [case.epsilon for case in cases]
    draw_without_privacy(axes, limit)
    for values, colour, style in (
        ([case.peer for case in cases], OTHERS, DASH_DOT),
        ([case.accuracy for case in cases], PUBLISHED, "-"),
    ):
        means = [float(np.mean(runs)) for runs in values]
        errors = [float(np.std(runs, ddof=1)) / len(runs) ** 0.5 for runs in values]
        axes.errorbar(
            epsilons, means, errors, color=colour, linewidth=PLAIN, linestyle=style, elinewidth=THIN, capsize=2.5
        )
        if colour == PUBLISHED:
            for case, mean in zip(cases, means, strict=True):
                axes.plot(case.epsilon, mean, color=PUBLISHED, marker=MARKERS[case.method], markersize=7.5, zorder=4)
    axes.margins(x=0.08, y=0.1)
    mark_epsilons(axes, epsilons)
    mark_in_percent(axes.yaxis)
    tidy(axes)
    title, _, question = QUESTIONS[cases[0].table].partition(": ")
    entitle(axes, title, f"{question} ({100 * cases[0].majority:.1f} % alike) · {cases[0].records:,} records")


def _legend(axes: Any) -> None:
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.text(0.0, 0.83, 'PrivateClassifier(method="auto")', color=PUBLISHED, fontweight="bold", fontsize=NAME)
    for height, (method, marker) in zip((0.78, 0.74, 0.70, 0.66), MARKERS.items(), strict=True):
        axes.plot(
            [0.0, 0.06, 0.12],
            [height] * 3,
            color=PUBLISHED,
            linewidth=PLAIN,
            marker=marker,
            markevery=[1],
            markersize=7.5,
        )
        axes.text(0.17, height, WORDS[method], va="center", fontsize=BODY)
    for height, name, note, colour, style in (
        (0.57, "DP-SGD (Opacus)", PEER, OTHERS, DASH_DOT),
        (0.42, "gradient boosting without privacy", LIMIT, INK, DASHED),
    ):
        axes.plot([0.0, 0.12], [height] * 2, color=colour, linewidth=PLAIN, linestyle=style)
        axes.text(0.17, height, name, va="center", color=colour, fontweight="bold", fontsize=NAME)
        axes.text(0.17, height - 0.03, note, va="top", fontsize=SMALL, linespacing=1.35)
    axes.text(0.0, 0.30, NOTE, va="top", fontsize=SMALL, linespacing=1.35, color=MUTED)
