"""A whole comparison: which runs are made, what is written about them, and the picture."""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from pcqr import DataError, ParameterError
from pcqr.bench import report as comparing
from pcqr.bench.methods import ENVIRONMENTS, KNOWN, NotInstalled, chosen, install, named, python_of
from pcqr.bench.report import Comparison, draw, markdown, summaries
from pcqr.bench.running import Cell, Run, Runs, read_results, write_results
from pcqr.bench.tables import toy
from pcqr.plotting import axes as drawing

TOY = toy()
SOURCE = "--tables toy"


class FakeBench:
    """Makes up runs, and remembers which."""

    made: ClassVar[list[Cell]] = []
    failed: ClassVar[dict[str, str]] = {}

    def __init__(self, *_: Any) -> None: ...

    def put(self, task: Any) -> None: ...

    def run(self, _: Any, method: Any, cell: Cell) -> Run:
        self.made.append(cell)
        if method.name in self.failed:
            return Run(cell, failed=self.failed[method.name])
        share = 0.5 if method.kind == "one at a time" else 1.0
        figure = 0.7 + 0.1 * min(1.0, cell.epsilon) + 0.01 * cell.seed
        score = figure if share == 1.0 else figure - 0.1
        return Run(cell, figure, figure + 0.05, score, share, 10 if share < 1 else 80, 1.5, 0.5, 2.0, 100)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    monkeypatch.setattr(comparing, "Bench", FakeBench)
    monkeypatch.setattr(FakeBench, "made", [])
    monkeypatch.setattr(FakeBench, "failed", {})
    return FakeBench.made


def comparison(folder: Path, *names: str, **others: Any) -> Comparison:
    settings: dict[str, Any] = {"epsilons": [0.1, 1.0], "delta": 1e-6, "queries": 20, "seeds": [0, 1]}
    settings |= {"environments": folder, "time_limit": 60.0}
    return Comparison(chosen(names or ("linear", "subsamp", "majority"), ()), **(settings | others))


def go(one: Comparison, folder: Path) -> list[Run]:
    return one.made([(TOY, SOURCE)], Runs(folder), lambda *_: None)


def test_every_combination_is_run_once_and_what_uses_no_epsilon_once_a_seed(made: list[Cell], tmp_path: Path) -> None:
    found = go(comparison(tmp_path), tmp_path)
    assert len(made) == len(found) == len(set(made)) == 2 * (2 + 2 + 1)
    assert {cell.epsilon for cell in made if cell.method == "majority"} == {0.0}


def test_a_second_start_makes_only_what_is_missing(made: list[Cell], tmp_path: Path) -> None:
    first = go(comparison(tmp_path, seeds=[0]), tmp_path)
    made.clear()
    second = go(comparison(tmp_path), tmp_path)
    assert {cell.seed for cell in made} == {1}
    assert first == [run for run in second if run.cell.seed == 0]
    made.clear()
    go(comparison(tmp_path, delta=1e-7), tmp_path)
    assert len(made) == 10  # another δ, other runs
    made.clear()
    go(comparison(tmp_path, again=True), tmp_path)
    assert len(made) == 10


def test_failures_are_kept_and_tried_again_on_request_or_with_more_time(
    made: list[Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeBench, "failed", {"linear": "stopped after 60 s", "subsamp": "RuntimeError"})
    go(comparison(tmp_path), tmp_path)
    made.clear()
    go(comparison(tmp_path), tmp_path)
    assert made == []
    go(comparison(tmp_path, time_limit=90.0), tmp_path)
    assert {cell.method for cell in made} == {"linear"}
    made.clear()
    go(comparison(tmp_path, retry=True), tmp_path)
    assert {cell.method for cell in made} == {"linear", "subsamp"}


def test_a_missing_environment_is_not_kept(made: list[Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeBench, "failed", {"linear": "not installed: pcqr bench --install dpmm"})
    found = go(comparison(tmp_path, "linear"), tmp_path)
    assert not any(run.has_begun for run in found)
    made.clear()
    go(comparison(tmp_path, "linear"), tmp_path)
    assert len(made) == 4


def test_results_are_written_and_read_again(made: list[Cell], tmp_path: Path) -> None:
    found = go(comparison(tmp_path), tmp_path)
    write_results(tmp_path / "results.json", found)
    assert read_results(tmp_path / "results.json") == found
    assert sorted(Runs(tmp_path).all(), key=repr) == sorted(found, key=repr)
    assert all(run.command.startswith("pcqr bench --tables toy --epsilons ") for run in found)
    assert made


@pytest.mark.parametrize(
    ("answered", "of_these", "rows", "score"),
    [
        (1.0, 0.8, 20, 0.7),
        (1.0, 0.8, 80, 0.7),  # all test rows were labelled; what is on file is of the queries
        (0.5, 0.8, 20, 0.65),
        (0.0, None, 20, 0.5),
        (0.5, 0.8, 80, None),  # nobody knows which of the queries have no label
        (None, None, None, None),
    ],
)
def test_older_files_have_a_score_where_they_say_it(
    answered: float | None, of_these: float | None, rows: int | None, score: float | None, tmp_path: Path
) -> None:
    cell = Cell("toy", "f", "subsamp", 1.0, 1e-6, 20, 0)
    fields = asdict(Run(cell, 0.75, of_these, None, answered, rows))
    del fields["score"]
    stored = {"format": 1, "runs": [fields | {"accuracy_queries": None if rows is None else 0.7}]}
    (tmp_path / "old.json").write_text(json.dumps(stored), encoding="utf-8")
    (found,) = read_results(tmp_path / "old.json")
    assert found.score == (None if score is None else pytest.approx(score))
    write_results(tmp_path / "new.json", [found])
    assert read_results(tmp_path / "new.json") == [found]


def test_scores_that_say_nothing_new_are_not_shown(made: list[Cell], tmp_path: Path) -> None:
    assert "On the queries alone" not in markdown(go(comparison(tmp_path, "linear"), tmp_path))
    assert made


def test_a_file_that_is_no_run_is_refused(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    cell = Cell("toy", "f", "linear", 1.0, 1e-6, 20, 0)
    for content in ("{", "{}", json.dumps({"format": 99}), json.dumps({"format": 1, "cell": {}})):
        (tmp_path / "runs" / cell.file).write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match="a run that this version of pcqr has stored"):
            runs.find(cell)


def test_files_of_cells_have_readable_names_of_their_own() -> None:
    cell = Cell("my table/../x", "f", "a.b:C", 0.1, 1e-6, 20, 3)
    assert cell.file.endswith("-f068bfe2b0.json")  # what was stored before is found again
    assert len({cell.file, replace(cell, public_rows=0).file, replace(cell, public_rows=30).file}) == 3
    assert cell.file.startswith("my_table_.._x_a.b_C_0.1_3-")
    assert "/" not in cell.file
    assert replace(cell, fingerprint="g").file != cell.file


def test_the_page_says_means_spreads_shares_and_failures(
    made: list[Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeBench, "failed", {"auto": "RuntimeError"})
    found = go(comparison(tmp_path, "linear", "subsamp", "majority", "auto"), tmp_path)
    page = markdown(found)
    assert "| linear (ours) | 71.5 ±0.7 | 80.5 ±0.7 | 2.0 | 100 | 2 |" in page
    assert "| subsamp (ours) | 71.5 ±0.7 (76.5 on 50 %) |" in page
    assert "| majority (not private) | 70.5 ±0.7 |  |" in page
    assert "- auto: RuntimeError" in page
    assert "On the queries alone" in page
    assert "| linear (ours) | 71.5 ±0.5 | 80.5 ±0.5 |" in page  # standard errors of two runs
    assert "| subsamp (ours) | 61.5 ±0.5 | 70.5 ±0.5 |" in page
    assert [each.method.name for each in summaries(found)][:2] == ["auto", "auto"]
    assert made


def test_the_picture_is_drawn_also_of_nothing(made: list[Cell], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(tmp_path / "some.png", go(comparison(tmp_path), tmp_path))
    draw(tmp_path / "none.png", [])
    assert (tmp_path / "some.png").stat().st_size > (tmp_path / "none.png").stat().st_size > 0
    assert made


def test_methods_are_found_by_name_once_and_own_ones_come_besides() -> None:
    assert [each.name for each in chosen((), ())] == list(KNOWN)
    assert [each.name for each in chosen(("linear", "linear"), ("a.b:C",))] == ["linear", "a.b:C"]
    assert named("a.b:C").family == "own"
    for wrong in ("linears", "a.b", ":C", "a:b:c", "a b:C"):
        with pytest.raises(ParameterError, match="--methods must be of auto, tree, linear"):
            named(wrong)


def test_pcqrs_own_environment_will_do_where_it_has_these_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = dict(pin.split("==") for pin in ENVIRONMENTS["opacus"]) | {"torch": "2.13.0+cpu"}
    monkeypatch.setattr("pcqr.bench.methods.version", here.__getitem__)
    assert python_of("opacus", tmp_path) == Path(sys.executable)
    here["opacus"] = "1.5.0"
    assert python_of("opacus", tmp_path) is None


def test_an_environment_counts_once_it_is_whole_and_of_these_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("venv.create", lambda place, **_: place.mkdir(parents=True))
    status, lines = [1], list[list[str]]()

    def pip(line: list[str], **_: Any) -> Any:
        lines.append(line)
        return SimpleNamespace(returncode=status[0])

    monkeypatch.setattr("subprocess.run", pip)
    with pytest.raises(NotInstalled, match="pip ended with status 1"):
        install("dpmm", tmp_path)
    assert python_of("dpmm", tmp_path) is None
    status[0] = 0
    install("dpmm", tmp_path)
    assert python_of("dpmm", tmp_path) is not None
    assert lines[-1][-len(ENVIRONMENTS["dpmm"]) :] == list(ENVIRONMENTS["dpmm"])
    (tmp_path / "dpmm" / "installed.txt").write_text("dpmm==0.0.1", encoding="utf-8")
    assert python_of("dpmm", tmp_path) is None
    with pytest.raises(ParameterError, match="--install must be one of opacus"):
        install("numpy", tmp_path)


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
