"""The rule on other questions: none is asked twice, and regret is what `auto` loses to the best."""

from __future__ import annotations

import json
from pathlib import Path
from types import FunctionType

import pytest

from benchmarks import r_tables, rule
from benchmarks.rule import METHODS, NAMES, Case, Cases, by_strength, rows
from benchmarks.tables import FRESH, HELD_OUT, TABLES, UNSEEN, WIDER, Source, Task
from pcqr.bench.tables import toy
from pcqr.planning.classifiers.rule import Choice

ALL = (HELD_OUT, UNSEEN, FRESH, WIDER, r_tables.QUESTIONS, r_tables.LATER, r_tables.LAST)


def answer_of(source: Source) -> tuple[object, ...]:
    """What the label is, as far as it can be told without the file."""
    assert isinstance(source.is_one, FunctionType)
    code = source.is_one.__code__
    return source.file, source.label, code.co_code, code.co_consts, code.co_names


def test_no_question_is_asked_twice() -> None:
    names = [name for questions in ALL for name in questions]
    assert len({*names, *TABLES}) == len(names) + len(TABLES), "seeds and results go by the name"
    assert [*NAMES, *r_tables.QUESTIONS, *r_tables.LATER, *r_tables.LAST] == names
    answers = [answer_of(source) for questions in ALL for source in questions.values()]
    assert len(set(answers)) == len(answers)
    seen: set[tuple[str, str]] = set()
    for questions in (HELD_OUT, UNSEEN, FRESH):
        about = {(source.file, source.label) for source in questions.values()}
        assert seen.isdisjoint(about)
        seen |= about


@pytest.mark.parametrize(("name", "source"), [pair for questions in ALL for pair in questions.items()])
def test_a_question_is_well_formed(name: str, source: Source) -> None:
    assert name == name.strip() != ""
    assert "," not in name, "which is between two names of --tables"
    assert "|" not in name, "which is between two cells on the page"
    assert source.label not in (*source.drop, *(source.keep or ())), "no classifier is shown its label"
    assert len(set(source.drop)) == len(source.drop)
    assert not source.drop or source.keep is None


def test_regret_is_what_auto_loses_to_the_best_of_the_three() -> None:
    accuracy: dict[Choice, tuple[float, ...]] = {"tree": (0.80, 0.82), "linear": (0.85, 0.85), "auto": (0.84, 0.85)}
    cases: Cases = {
        ("loan", 0.1, method): Case("loan", 1_000, 5, 0.1, method, 0.7, accuracy[method], (1.0, 1.0), 0.0)
        for method in METHODS
    }
    cell, mean = rows(cases, UNSEEN)
    assert cell == ["loan", "0.1", "100", "70.0", "81.0", "85.0", "84.5", "0.5"]
    assert mean == ["mean regret", "", "", "", "4.00", "0.00", "0.50", ""]
    assert rows(cases, HELD_OUT) == []


def test_regret_is_summed_up_by_strength() -> None:
    accuracy = {0.1: (0.80, 0.85, 0.83), 1.0: (0.90, 0.80, 0.91)}
    cases: Cases = {
        ("loan", epsilon, method): Case("loan", 10_000, 5, epsilon, method, 0.7, (reached,), (1.0,), 0.0)
        for epsilon, three in accuracy.items()
        for method, reached in zip(METHODS, three, strict=True)
    }
    assert by_strength(cases, UNSEEN) == [
        ["0 to 1,200", "1", "5.00", "0.00", "2.00", "1"],
        ["8,000 to 30,000", "1", "1.00", "11.00", "0.00", "0"],
        ["from 3,000 on", "1", "1.00", "11.00", "0.00", "0"],
        ["from 8,000 on", "1", "1.00", "11.00", "0.00", "0"],
        ["all", "2", "3.00", "5.50", "1.00", "1"],
    ]
    assert by_strength(cases, HELD_OUT) == []


def test_a_later_run_keeps_what_it_does_not_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made_up(task: Task, epsilon: float, method: Choice, runs: int) -> Case:
        return Case("drama", task.y.size, 3, epsilon, method, 0.6, [0.7] * runs, [1.0] * runs, 0.0)

    monkeypatch.setattr(rule, "measure", made_up)
    monkeypatch.chdir(tmp_path)
    rule.PAGE.parent.mkdir()
    rule.PAGE.write_text(
        "before\n<!-- r-tables -->\n<!-- end of r-tables -->\n<!-- sum -->\n<!-- end of sum -->\nafter\n",
        encoding="utf-8",
    )
    options = rule.parser_for("benchmarks.r_tables", "A line.", r_tables.QUESTIONS)
    options.add_argument("--data", type=Path, default=tmp_path)
    for given in (["--methods", "tree,auto"], ["--methods", "linear", "--runs", "1"]):
        rule.compare(
            options.parse_args(["--tables", "drama", "--epsilons", ".3", *given]),
            lambda _name, _folder: toy(),
            {r_tables.MARK: r_tables.QUESTIONS},
            r_tables.RESULTS,
            {"sum": r_tables.QUESTIONS},
        )
        cases = json.loads(r_tables.RESULTS.read_text(encoding="utf-8"))["cases"]
        lines = rule.PAGE.read_text(encoding="utf-8").splitlines()
        assert (lines[0], lines[-1]) == ("before", "after")
        assert sum(line.startswith("| drama | 0.3 | 3,600 |") for line in lines) == 1
    assert [(case["method"], len(case["accuracy"])) for case in cases] == [("tree", 2), ("linear", 1), ("auto", 2)]
    assert sum(line.startswith("| mean regret |") for line in lines) == 1
    assert "| all | 1 | 0.00 | 0.00 | 0.00 | 0 |" in lines


def test_where_auto_is_a_tree_it_is_the_same_tree() -> None:
    task = toy()
    tree, auto, linear = (rule.measure(task, 30.0 / task.y.size, method, 3) for method in ("tree", "auto", "linear"))
    assert len(set(tree.accuracy)) == 3, "other seeds give other trees"
    assert auto.accuracy == tree.accuracy != linear.accuracy
