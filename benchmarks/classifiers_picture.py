"""Accuracy against ε, one panel a table: what `auto` publishes, two peers by DP-SGD, and boosting without privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.leads import Peer, Runs
from benchmarks.tables import QUESTIONS
from pcqr.drawing import (
    BODY,
    DASH_DOT,
    DASHED,
    DOTTED,
    INK,
    MUTED,
    NAME,
    ON_ACCURACY,
    OTHERS,
    PLAIN,
    PUBLISHED,
    SMALL,
    THIN,
    VOTES,
    draw_without_privacy,
    entitle,
    mark_epsilons,
    mark_in_percent,
    picture,
    tidy,
)

if TYPE_CHECKING:
    from benchmarks.classifiers import Case

MARKERS = {"tree": "^", "tree and linear": "s", "tree and linear, ferns": "o"}
WORDS = {
    "tree": "one exact tree",
    "tree and linear": "a linear classifier beside a tree",
    "tree and linear, ferns": "the same, with random ferns",
}
STYLES = ((OTHERS, DASH_DOT), (VOTES, DOTTED))
"""Of the peers."""
PEERS = ("logistic regression by DP-SGD", "network by DP-SGD")
PICKED = "settings picked for each\npoint on the test rows"
NOTES = (f"public predicates; {PICKED}", f"two layers of 128; {PICKED}")
LIMIT = "on the same columns and rows"
NOTE = "δ = 10⁻⁶, replace one record.\nBars: standard error of the runs."


def draw(cases: Sequence[Case], peers: Sequence[Peer], limits: Mapping[str, float], path: Path) -> None:
    """`limits`: the accuracy of gradient boosting without privacy, by table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(case.table for case in cases))
    with picture(path, 12.5, 7.2) as figure:
        panels = figure.subplot_mosaic("abc;del", gridspec_kw={"hspace": 0.08})
        for place, name in zip("abcde", names, strict=False):
            _panel(panels[place], [case for case in cases if case.table == name], peers, limits[name])
        for place in "abcde"[len(names) :]:
            panels[place].axis("off")
        for place in "ad":
            panels[place].set_ylabel(ON_ACCURACY)
        _legend(panels["l"], {case.method for case in cases})


def _panel(axes: Any, cases: Sequence[Case], peers: Sequence[Peer], limit: float) -> None:
    name = cases[0].table
    draw_without_privacy(axes, limit)
    for peer, (colour, style) in zip(peers, STYLES, strict=True):
        _line(axes, {epsilon: runs for (table, epsilon), runs in peer.runs.items() if table == name}, colour, style)
    ours = {case.epsilon: Runs(case.accuracy, None) for case in cases}
    _line(axes, ours, PUBLISHED, "-")
    for case in cases:
        place, marker = (case.epsilon, ours[case.epsilon].mean / 100.0), MARKERS[case.method]
        axes.plot(*place, color=PUBLISHED, marker=marker, markersize=7.5, zorder=4)
    axes.margins(x=0.08, y=0.1)
    mark_epsilons(
        axes, sorted(ours.keys() | {epsilon for peer in peers for table, epsilon in peer.runs if table == name})
    )
    mark_in_percent(axes.yaxis)
    tidy(axes)
    title, _, question = QUESTIONS[name].partition(": ")
    entitle(axes, title, f"{question} ({100 * cases[0].majority:.1f} % alike) · {cases[0].records:,} records")


def _line(axes: Any, runs: Mapping[float, Runs], colour: str, style: Any) -> None:
    axes.errorbar(
        list(runs),
        [each.mean / 100.0 for each in runs.values()],
        [each.error / 100.0 for each in runs.values()],
        color=colour,
        linewidth=PLAIN,
        linestyle=style,
        elinewidth=THIN,
        capsize=2.5,
    )


def _legend(axes: Any, methods: set[str]) -> None:
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.text(0.0, 0.95, 'PrivateClassifier(method="auto")', color=PUBLISHED, fontweight="bold", fontsize=NAME)
    height = 0.95
    for method in (each for each in MARKERS if each in methods):
        height -= 0.075
        axes.plot(
            [0.0, 0.06, 0.12],
            [height] * 3,
            color=PUBLISHED,
            linewidth=PLAIN,
            marker=MARKERS[method],
            markevery=[1],
            markersize=7.5,
        )
        axes.text(0.16, height, WORDS[method], va="center", fontsize=BODY)
    height -= 0.03
    for name, note, colour, style in (
        *((name, note, *style) for name, note, style in zip(PEERS, NOTES, STYLES, strict=True)),
        ("boosting without privacy", LIMIT, INK, DASHED),
    ):
        height -= 0.1
        axes.plot([0.0, 0.12], [height] * 2, color=colour, linewidth=PLAIN, linestyle=style)
        axes.text(0.16, height, name, va="center", color=colour, fontweight="bold", fontsize=NAME)
        axes.text(0.16, height - 0.035, note, va="top", fontsize=SMALL, linespacing=1.35)
        height -= 0.05 + 0.05 * note.count("\n")
    axes.text(0.0, height - 0.07, NOTE, va="top", fontsize=SMALL, linespacing=1.35, color=MUTED)
