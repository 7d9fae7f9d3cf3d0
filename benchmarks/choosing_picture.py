"""The picture of docs/choosing.md: which estimator when.

    python -m benchmarks.choosing_picture

Needs matplotlib. Draws docs/images/choosing.png; no figure in it is measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

PICTURE = Path("docs/images/choosing.png")
INK, MUTED, QUESTION, BEST, OTHER = "#222222", "#6b6b6b", "#f2f2f2", "#d9ecf4", "#f7efdc"
EDGES = {QUESTION: "#c4c4c4", BEST: "#0b6e99", OTHER: "#9a7500"}
STYLE: Any = {"font.size": 10.5}

QUESTIONS = (
    (
        "Is something about the columns public?",
        "public rows without labels; a schema (columns,\ncategories, bounds); or the queries themselves",
    ),
    ("May a classifier be published later on?", "once the first queries have been answered"),
    ("Only single answers may leave", "the queries come one at a time"),
)
ANSWERS = (
    (
        BEST,
        "Publish at once",
        "PrivateClassifier      pcqr publish --delta",
        "answers every query, for ever; nothing else did clearly better on real tables\n"
        "pure ε, or rules to read:  SemiPrivateLearner(DecisionTrees())",
    ),
    (
        OTHER,
        "Votes, then publish",
        "UniversalRelease      pcqr answer --algorithm universal",
        "votes for the first queries, then a classifier that answers for ever",
    ),
    (
        OTHER,
        "Votes alone",
        "AgnosticRelease      pcqr answer --algorithm agnostic",
        "abstains where its teachers disagree, and halts when it has abstained T times",
    ),
)
HEIGHT, STEP, LEFT, RIGHT, WIDE_LEFT, WIDE_RIGHT = 1.45, 2.0, 0.0, 5.5, 4.4, 6.8


def draw(path: Path = PICTURE) -> None:
    with rc_context(STYLE):
        figure = Figure(figsize=(11.4, 5.6), dpi=160)
        axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
        axes.set(xlim=(-0.1, RIGHT + WIDE_RIGHT + 0.1), ylim=(-2 * STEP - 0.2, HEIGHT + 0.2))
        axes.axis("off")
        for row, ((question, detail), (colour, title, names, why)) in enumerate(zip(QUESTIONS, ANSWERS, strict=True)):
            bottom = -row * STEP
            _box(axes, LEFT, bottom, WIDE_LEFT, QUESTION)
            axes.text(LEFT + 0.2, bottom + HEIGHT - 0.28, question, va="top", color=INK, fontweight="bold")
            axes.text(LEFT + 0.2, bottom + HEIGHT - 0.70, detail, va="top", color=MUTED)
            _box(axes, RIGHT, bottom, WIDE_RIGHT, colour)
            axes.text(RIGHT + 0.2, bottom + HEIGHT - 0.16, title, va="top", color=INK, fontweight="bold", fontsize=12)
            axes.text(RIGHT + 0.2, bottom + HEIGHT - 0.53, names, va="top", color=INK, family="monospace", fontsize=9.5)
            axes.text(RIGHT + 0.2, bottom + HEIGHT - 0.87, why, va="top", color=MUTED, linespacing=1.35)
            is_last = row == len(QUESTIONS) - 1
            middle = bottom + HEIGHT / 2
            _arrow(axes, (LEFT + WIDE_LEFT, middle), (RIGHT, middle), "" if is_last else "yes")
            if not is_last:
                centre = LEFT + WIDE_LEFT / 2
                _arrow(axes, (centre, bottom), (centre, bottom - STEP + HEIGHT), "no")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)


def _box(axes: Any, left: float, bottom: float, width: float, colour: str) -> None:
    edge = EDGES[colour]
    style = "round,pad=0,rounding_size=0.12"
    axes.add_patch(
        FancyBboxPatch((left, bottom), width, HEIGHT, boxstyle=style, facecolor=colour, edgecolor=edge, linewidth=1.4)
    )


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], word: str) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.3, "shrinkA": 0})
    is_down = start[0] == end[0]
    at = ((start[0] + end[0]) / 2 + (0.14 if is_down else 0), (start[1] + end[1]) / 2 + (0 if is_down else 0.1))
    axes.text(*at, word, ha="left" if is_down else "center", va="center" if is_down else "bottom", color=INK)


if __name__ == "__main__":
    draw()
