"""The picture of a comparison: its words can be read, however many methods there are and wherever their lines end."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from pcqr.bench.methods import KNOWN
from pcqr.bench.report import draw
from pcqr.bench.running import Cell, Run, read_results
from pcqr.plotting import axes as drawing

pytest.importorskip("matplotlib")

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "bench.json"
OWN = tuple(f"my_package.mine:Method{number}" for number in range(40))


def run(method: str, figure: float, epsilon: float = 1.0, table: str = "adult") -> Run:
    return Run(Cell(table, "f", method, epsilon, 1e-6, 20, 0), figure, figure, figure, 1.0, 80, 1.5, 0.5, 2.0, 100)


def line(method: str, first: float, last: float) -> list[Run]:
    if method in KNOWN and not KNOWN[method].uses_epsilon:
        return [run(method, last, 0.0)]
    return [run(method, first, 0.1), run(method, last)]


CASES = {
    "what is on file": read_results(RESULTS),
    "one method": line("linear", 0.8, 0.85),
    "one point": [run("linear", 0.8)],
    "one point beside what it is compared with": [run("linear", 0.8), run("boosting", 0.81, 0.0)],
    "a line just above the others": [*line("linear", 0.6, 0.86), *line("boosting", 0.0, 0.872)],
    "all end at the top": [each for name in KNOWN for each in line(name, 0.5, 0.9)],
    "all end at the bottom": [each for name in KNOWN for each in line(name, 0.9, 0.5)],
    "very many": [each for name in (*KNOWN, *OWN) for each in line(name, 0.5, 0.9)],
    "references alone": [run("boosting", 0.8, 0.0), run("majority", 0.8, 0.0)],
    "a table with a long name": [run("linear", 0.8, table="the_table_of_a_user_with_a_name_of_many_words")],
}


@pytest.mark.parametrize("case", CASES)
def test_no_words_lie_over_others_or_outside(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = _drawn(case, tmp_path, monkeypatch)
    boxes = _words(figure)
    assert all(any(run.cell.method in words for words, _ in boxes) for run in CASES[case] if run.failed is None)
    meeting = [(one, other) for (one, a), (other, b) in itertools.combinations(boxes, 2) if _meet(a, b)]
    assert meeting == []
    page = figure.bbox
    assert [words for words, box in boxes if box.x0 < page.x0 or box.x1 > page.x1] == []
    assert [words for words, box in boxes if box.y0 < page.y0 or box.y1 > page.y1] == []


@pytest.mark.parametrize("case", ["what is on file", "all end at the bottom", "very many"])
def test_names_stand_beside_their_panel(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = set(KNOWN) | set(OWN)
    for axes in _drawn(case, tmp_path, monkeypatch).axes:
        frame = axes.get_window_extent()
        beside = [(text.get_text(), text.get_window_extent()) for text in axes.texts]
        beside = [(words, box) for words, box in beside if words.split("  ")[0].split(",")[0] in names]
        assert beside
        assert [words for words, box in beside if box.x0 < frame.x1] == []
        assert [words for words, box in beside if not frame.y0 - 8 <= (box.y0 + box.y1) / 2 <= frame.y1 + 8] == []


def _drawn(case: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    saved: list[Any] = []
    monkeypatch.setattr(drawing, "save", lambda figure, _: saved.append(figure))
    draw(folder / "picture.png", CASES[case])
    saved[0].draw_without_rendering()
    return saved[0]


def _words(figure: Any) -> list[tuple[str, Any]]:
    """All but the numbers at the axes, which matplotlib places."""
    found = []
    for axes in figure.axes:
        titles = [each for each in axes.get_children() if hasattr(each, "get_text") and each not in axes.texts]
        found += [*axes.texts, *titles, axes.xaxis.label, axes.yaxis.label]
    return [(text.get_text(), text.get_window_extent()) for text in found if text.get_text()]


def _meet(one: Any, other: Any, slack: float = 1.0) -> bool:
    """Their boxes, which are wider than the letters, share more than a pixel both ways."""
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    down = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(across > slack and down > slack)
