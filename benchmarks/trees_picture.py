"""Accuracy against ε, one panel a table, between the more common label and what models without privacy reach."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.tables import QUESTIONS
from pcqr.drawing import (
    BOLD,
    DASHED,
    INK,
    MUTED,
    NAME,
    ON_ACCURACY,
    OTHERS,
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
    from benchmarks.trees import Case

WORDS = (
    ("one published tree", PUBLISHED, "pure ε-differential privacy, one setting;\nthe mean, and every draw as a dot"),
    ("gradient boosting", INK, "without privacy, same columns"),
    ("logistic regression", OTHERS, "without privacy, same columns"),
    ("the more common label", MUTED, "the same answer for everybody"),
)


def draw(cases: Sequence[Case], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with picture(path, 11.0, 6.8) as figure:
        grid = figure.subplots(2, 3, gridspec_kw={"wspace": 0.05, "hspace": 0.08})
        panels = list(grid.flat)
        for axes, case in zip(panels, cases, strict=False):
            _panel(axes, case)
        for axes in grid[:, 0]:
            axes.set_ylabel(ON_ACCURACY)
        for axes in panels[len(cases) :]:
            axes.axis("off")
        _legend(panels[-1])


def _panel(axes: Any, case: Case) -> None:
    epsilons = np.array([float(epsilon) for epsilon in case.accuracy])
    draws = np.array(list(case.accuracy.values()))
    draw_without_privacy(axes, case.gradient_boosting)
    draw_without_privacy(axes, case.logistic_regression, colour=OTHERS)
    axes.axhline(case.majority, color=MUTED, linewidth=THIN, zorder=1)
    spread = np.exp(np.linspace(-0.11, 0.11, draws.shape[1])) if draws.shape[1] > 1 else np.ones(1)
    axes.scatter(np.outer(epsilons, spread), draws, s=13, color=PUBLISHED, alpha=0.35, linewidths=0, zorder=2)
    axes.plot(epsilons, draws.mean(axis=1), color=PUBLISHED, linewidth=BOLD, marker="o", markersize=5.5, zorder=3)
    values = [draws.min(), draws.max(), case.gradient_boosting, case.logistic_regression, case.majority]
    room = 0.07 * (max(values) - min(values))
    axes.set_ylim(min(values) - room, max(values) + room)
    mark_epsilons(axes, epsilons.tolist())
    mark_in_percent(axes.yaxis)
    tidy(axes)
    title, _, question = QUESTIONS[case.table].partition(": ")
    entitle(axes, title, f"{question} · {case.records:,} records")


def _legend(axes: Any) -> None:
    axes.axis("off")
    height = 0.94
    for name, colour, note in WORDS:
        is_private = colour == PUBLISHED
        axes.plot(
            [0.0, 0.06, 0.12],
            [height] * 3,
            color=colour,
            linewidth=BOLD if is_private else THIN,
            linestyle=DASHED if colour in (INK, OTHERS) else "-",
            marker="o" if is_private else None,
            markevery=[1],
            markersize=5.5,
        )
        axes.text(0.17, height, name, color=colour, fontweight="bold", fontsize=NAME, va="center")
        axes.text(0.17, height - 0.055, note, fontsize=SMALL, va="top", linespacing=1.35)
        height -= 0.22 + 0.075 * note.count("\n")
    axes.set(xlim=(0, 1), ylim=(0, 1))
