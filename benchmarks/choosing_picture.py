"""The picture of docs/choosing.md: which estimator when.

    python -m benchmarks.choosing_picture

Needs matplotlib. Draws docs/images/choosing.png; no figure in it is measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pcqr.plotting.axes import INK, LINE, MUTED, PUBLISHED, SMALL, THIN, TITLE, VOTES, picture, tint

PICTURE = Path("docs/images/choosing.png")
QUESTIONS = (
    (
        "A table, and a classifier may leave?",
        "only columns and their kinds have to be public;\n30 public rows, or a schema, save a share of ε",
    ),
    ("A table, and queries come one at a time?", "from one process, or over HTTP"),
    ("A learner of your own, or proved accuracy", "texts, images; a curve in one or two dimensions"),
)
ANSWERS = (
    (
        PUBLISHED,
        "Publish a classifier",
        "PrivateClassifier      pcqr publish",
        "answers every query, for ever; nothing else did clearly better on real tables\n"
        "pure ε, or rules to read:  SemiPrivateLearner(DecisionTrees())",
    ),
    (
        PUBLISHED,
        "Answer with it",
        "UniversalRelease      pcqr fit, then pcqr ask or pcqr serve",
        'the same classifier, asked one query at a time, without end;\nwith shows="answers" it is not shown',
    ),
    (
        VOTES,
        "Votes",
        "SubsampleAggregate   AgnosticRelease   pcqr answer",
        "teachers on disjoint parts of the records;\nthey pay for queries, so the number of queries is limited",
    ),
)
HEIGHT, STEP, LEFT, RIGHT, WIDE_LEFT, WIDE_RIGHT = 1.45, 2.0, 0.0, 5.5, 4.4, 6.8


def draw(path: Path = PICTURE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with picture(path, 11.0, 5.4, layout=None) as figure:
        axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
        axes.set(xlim=(-0.1, RIGHT + WIDE_RIGHT + 0.1), ylim=(-2 * STEP - 0.2, HEIGHT + 0.2))
        axes.axis("off")
        for row, ((question, detail), (colour, title, names, why)) in enumerate(zip(QUESTIONS, ANSWERS, strict=True)):
            bottom = -row * STEP
            _box(axes, LEFT, bottom, WIDE_LEFT, LINE)
            axes.text(LEFT + 0.2, bottom + HEIGHT - 0.28, question, va="top", color=INK, fontweight="bold")
            axes.text(LEFT + 0.2, bottom + HEIGHT - 0.70, detail, va="top", color=MUTED)
            _box(axes, RIGHT, bottom, WIDE_RIGHT, colour)
            axes.text(
                RIGHT + 0.2, bottom + HEIGHT - 0.16, title, va="top", color=INK, fontweight="bold", fontsize=TITLE
            )
            axes.text(
                RIGHT + 0.2, bottom + HEIGHT - 0.53, names, va="top", color=INK, family="monospace", fontsize=SMALL
            )
            axes.text(RIGHT + 0.2, bottom + HEIGHT - 0.87, why, va="top", color=MUTED, linespacing=1.35)
            is_last = row == len(QUESTIONS) - 1
            middle = bottom + HEIGHT / 2
            _arrow(axes, (LEFT + WIDE_LEFT, middle), (RIGHT, middle), "" if is_last else "yes")
            if not is_last:
                centre = LEFT + WIDE_LEFT / 2
                _arrow(axes, (centre, bottom), (centre, bottom - STEP + HEIGHT), "no")


def _box(axes: Any, remaining: float, bottom: float, width: float, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415

    style, fill = "round,pad=0,rounding_size=0.12", tint(colour, 0.12)
    axes.add_patch(
        FancyBboxPatch(
            (remaining, bottom), width, HEIGHT, boxstyle=style, facecolor=fill, edgecolor=colour, linewidth=THIN
        )
    )


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], word: str) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": THIN, "shrinkA": 0})
    is_down = start[0] == end[0]
    at = ((start[0] + end[0]) / 2 + (0.14 if is_down else 0), (start[1] + end[1]) / 2 + (0 if is_down else 0.1))
    axes.text(*at, word, ha="left" if is_down else "center", va="center" if is_down else "bottom", color=INK)


if __name__ == "__main__":
    draw()
