"""Seconds against the number of teachers k, one panel for answers and one for training, both ways of doing it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcqr.drawing import (
    BOLD,
    INK,
    MUTED,
    ON_TEACHERS,
    OTHERS,
    PUBLISHED,
    SMALL,
    SUBSAMP,
    THIN,
    VOTES,
    entitle,
    note,
    picture,
    tidy,
)

if TYPE_CHECKING:
    from benchmarks.answers_page import Results

Curves = dict[str, list[tuple[int, float, float]]]
"""For each class the numbers of teachers, with the seconds now and teacher by teacher."""
COLOURS = (PUBLISHED, VOTES, SUBSAMP, OTHERS)
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def draw(results: Results, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    answers: Curves = {}
    training: Curves = {}
    for each in results.answers:
        answers.setdefault(each.name, []).append((each.teachers, each.new, each.by_loop))
    for one in results.training:
        training.setdefault(one.name, []).append((one.teachers, one.seconds, one.by_loop))
    with picture(path, 11.0, 4.8) as figure:
        left, right = figure.subplots(1, 2, gridspec_kw={"wspace": 0.06})
        _panel(left, answers, "One new answer", "the whole of it: check, log, votes, noise")
        _panel(right, training, "Training of k teachers", f"on {results.records:,} records")
        _legend(right, list(training))


def _panel(axes: Any, curves: Curves, title: str, words: str) -> None:
    for colour, points in zip(COLOURS, curves.values(), strict=False):
        teachers, now, before = zip(*points, strict=True)
        axes.plot(teachers, before, color=colour, linewidth=THIN, marker="o", markersize=3.5, alpha=0.45)
        axes.plot(teachers, now, color=colour, linewidth=BOLD, marker="o", markersize=5.5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    marks = sorted({teachers for points in curves.values() for teachers, _, _ in points})
    axes.set_xticks(marks, [f"{mark:,}" for mark in marks])
    axes.yaxis.set_major_formatter(lambda value, _: in_units(value))
    axes.minorticks_off()
    axes.set_xlabel(ON_TEACHERS)
    tidy(axes)
    entitle(axes, title, words)


def in_units(seconds: float) -> str:
    """Seconds as people say them: 20 µs, 1 ms, 3 s."""
    size, name = next(((size, name) for size, name in UNITS if seconds >= size * (1 - 1e-9)), UNITS[-1])
    return f"{seconds / size:,.3g} {name}"


def _legend(axes: Any, names: Sequence[str]) -> None:
    """Names in the colours of their lines, and what thick and thin mean."""
    for row, (colour, name) in enumerate(zip(COLOURS, names, strict=False)):
        note(axes, name, (1.02, 0.96 - 0.07 * row), xycoords="axes fraction", color=colour, fontweight="bold", va="top")
    for row, (words, colour) in enumerate(
        (("thick: all teachers\nas arrays", INK), ("thin: teacher\nby teacher", MUTED))
    ):
        note(axes, words, (1.02, 0.62 - 0.13 * row), xycoords="axes fraction", color=colour, fontsize=SMALL, va="top")
