"""The audit's picture: one row a case, on the right side of the claim, and every word can be read."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.audit import kept_lines
from pcqr.audit.broken import BROKEN
from pcqr.audit.exact import Finding, Witness
from pcqr.audit.report import FAST, Report, Row
from pcqr.audit.statistical import Audited, Event
from pcqr.plotting import axes as drawing
from pcqr.plotting.axes import PUBLISHED, WARNING
from pcqr.plotting.pictures import HIGHEST, INFINITY, LOWEST, Line, _described, _position, lines_of
from pcqr.plotting.pictures import draw_audit as draw
from pcqr.privacy.guarantee import Guarantee

ROOT = Path(__file__).parents[2]
HOLDS = Line("SubSamp, Renyi: Thresholds, n = 3", 2.0, 1.0, 0.5, is_bug=False, is_flagged=False)
BY_RUNS = Line("SSPP: declared stumps", 1.0, None, 0.25, is_bug=False, is_flagged=False)
BUG = Line("no query noise", 1.0, math.inf, None, is_bug=True, is_flagged=True)


def drawn(lines: list[Line], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    figures: list[Any] = []
    monkeypatch.setattr(drawing, "save", lambda figure, _: figures.append(figure))
    draw(tmp_path / "audit.png", lines)
    return figures[0]


def row(name: str, exact: float | None, bound: float | None = None, *, bug: bool = False) -> Row:
    claim = Guarantee(1.0, 1e-6)
    witness = Witness(0, 1, (None,), ("s",))
    finding = None if exact is None else Finding(name, claim, exact, 2e-6 if exact > 1 else 0.0, witness, (), 0.0)
    audited = None if bound is None else Audited(bound, 1e-6, 100, 30, 1, Event(frozenset({"s"}), False))
    return Row(name, claim, finding, audited, BROKEN[0] if bug else None)


def test_a_row_says_what_is_exact_and_what_is_claimed(tmp_path: Path) -> None:
    draw(tmp_path / "audit.svg", [HOLDS, BY_RUNS, BUG])
    written = (tmp_path / "audit.svg").read_text(encoding="utf-8")
    for words in ("SubSamp", "1.000", "2.000", "SSPP", "declared stumps", "≥ 0.250", "no query noise", "∞"):
        assert f"<!-- {words} -->" in written, words


def test_marks_stand_where_the_ratio_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (axes,) = drawn([HOLDS, BY_RUNS, BUG], tmp_path, monkeypatch).axes
    marks = {
        (line.get_marker(), round(float(line.get_ydata()[0]))): (float(line.get_xdata()[0]), line.get_color())
        for line in axes.lines
        if line.get_marker() in ("o", ">")
    }
    assert marks == {
        ("o", 1): (-1.0, PUBLISHED),
        (">", 1): (-2.0, PUBLISHED),
        (">", 2): (-2.0, PUBLISHED),
        ("o", 5): (INFINITY, WARNING),
    }


def test_every_place_is_on_the_axis() -> None:
    assert _position(1.0, 1.0) == 0.0
    assert _position(0.0, 1.0) == _position(1e-9, 1.0) == LOWEST
    assert _position(1e9, 1.0) == HIGHEST < _position(math.inf, 1.0) == INFINITY


def test_the_nearest_of_each_algorithm_all_bugs_and_all_flagged_are_shown() -> None:
    rows = (
        *(row("A: far", 0.2), row("A: near", 0.9), row("A: broken", 1.5), row("A: escaped runs", 0.1, 1.2)),
        *(row("B: runs alone", None, 0.3), row("no query noise", math.inf, bug=True)),
    )
    shown = lines_of(Report(rows, FAST, 1e-4, 1.0))
    assert [line.name for line in shown] == [*("A: broken", "A: escaped runs", "B: runs alone", "no query noise")]
    assert [line.colour for line in shown] == [WARNING, WARNING, PUBLISHED, WARNING]
    unbroken = lines_of(Report((rows[0], rows[1], rows[5]), FAST, 1e-4, 1.0))
    assert [line.name for line in unbroken] == ["A: near", "no query noise"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("StabilityTest(ε = 1, δ = 1e-06)", ("StabilityTest", "ε = 1, δ = 1e-06")),
        ("Relabel alone: Thresholds(direction='up'), n = 4", ("Relabel alone", "Thresholds(direction='up'), n = 4")),
        ("SubSamp, Paper: Thresholds", ("SubSamp", "Paper: Thresholds")),
    ],
)
def test_a_case_is_told_by_its_algorithm_first(name: str, told: tuple[str, str]) -> None:
    assert _described(replace(HOLDS, name=name)) == told
    assert _described(replace(BUG, name=name)) == (name, "")


def test_no_word_of_the_stored_picture_is_cut_or_covers_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = drawn(kept_lines(ROOT), tmp_path, monkeypatch)
    figure.canvas.draw()
    (axes,) = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert len(boxes) > 100
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)
    plot = axes.get_window_extent()
    assert all(box.x1 <= plot.x0 or box.x0 >= plot.x1 for box in boxes), "a name runs into the marks"
    heights = [(box.x0, box.x1, box.y0 + 0.2 * box.height, box.y1 - 0.2 * box.height) for box in boxes]
    for (left, right, low, high), (other_left, other_right, other_low, other_high) in itertools.combinations(
        heights, 2
    ):
        assert right <= other_left or other_right <= left or high <= other_low or other_high <= low


def test_what_is_stored_is_what_the_page_shows() -> None:
    lines = kept_lines(ROOT)
    assert sorted(line.name for line in lines if line.is_bug) == sorted(bug.name for bug in BROKEN)
    assert all(line.is_flagged == line.is_bug for line in lines)
    assert {line.exact for line in lines} >= {None, math.inf}
