"""The rule on other questions: none is asked twice, runs are stored in their order, and means are those of the runs."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from types import FunctionType

import pytest

from benchmarks import r_tables, rule, tables
from benchmarks.rule import METHODS, NAMES, Case, Cases, Job, by_band, by_question
from benchmarks.tables import TABLES, Source
from pcqr.bench.tables import toy
from pcqr.releases.classifier.rule import Choice

ALL = {**tables.IN_VIEW, **r_tables.IN_VIEW, **r_tables.HELD_OUT}


def answer_of(source: Source) -> tuple[object, ...]:
    """What the label is, as far as it can be told without the file."""
    assert isinstance(source.is_one, FunctionType)
    code = source.is_one.__code__
    return source.file, source.label, code.co_code, code.co_consts, code.co_names


def test_no_question_is_asked_twice() -> None:
    assert len({*NAMES, *TABLES}) == len(NAMES) + len(TABLES), "seeds and results go by the name"
    assert set(NAMES) == ALL.keys()
    assert len({answer_of(source) for source in ALL.values()}) == len(ALL)


@pytest.mark.parametrize(("name", "source"), ALL.items(), ids=ALL)
def test_a_question_is_well_formed(name: str, source: Source) -> None:
    assert name == name.strip() != ""
    assert "," not in name, "which is between two names of --tables"
    assert "|" not in name, "which is between two cells on the page"
    assert source.label not in (*source.drop, *(source.keep or ())), "no classifier is shown its label"
    assert len(set(source.drop)) == len(source.drop)
    assert not source.drop or source.keep is None


def cells(accuracy: dict[float, tuple[float, ...]]) -> Cases:
    return {
        ("loan", epsilon, method): Case("loan", 10_000, 5, epsilon, method, 0.7, (reached, reached + 0.01))
        for epsilon, three in accuracy.items()
        for method, reached in zip(METHODS, three, strict=False)
    }


def test_means_are_by_strength_over_cells_that_all_methods_have() -> None:
    cases = cells({0.1: (0.80, 0.85, 0.83), 0.3: (0.82, 0.86), 1.0: (0.90, 0.80, 0.91)})
    assert by_band(cases, ["loan"]) == [
        ["0 to 3,000", "1", "80.50", "85.50", "83.50"],
        ["10,000 to 30,000", "1", "90.50", "80.50", "91.50"],
        ["all", "2", "85.50", "83.00", "87.50"],
    ]
    assert by_band(cases, ["cellular"]) == []


def test_a_question_has_a_row_for_each_epsilon_and_gaps_where_nothing_was_run() -> None:
    assert by_question(cells({0.3: (0.82, 0.86)}), ["cellular", "loan"]) == [
        ["loan", "0.3", "3,000", "70.0", "82.5", "86.5", ""]
    ]


def test_runs_are_stored_in_their_order_and_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "rule.json"
    monkeypatch.setattr(rule, "stored", lambda path=results: _stored(path))
    monkeypatch.setattr(rule, "store", lambda cases, path=results: _store(cases, path))
    monkeypatch.setattr(rule, "load", lambda *_given: toy())
    monkeypatch.setattr(rule, "measure", _made_up)
    given = Namespace(tables=["drama"], epsilons=[0.3], methods="tree,auto", runs=2, jobs=1, again=False)
    places = Namespace(data=tmp_path, csv=tmp_path)
    for runs in (2, 3):
        rule.run(Namespace(**vars(given) | vars(places) | {"runs": runs}))
    cases = json.loads(results.read_text(encoding="utf-8"))["cases"]
    assert [(case["method"], case["accuracy"]) for case in cases] == [
        ("tree", [0.7, 0.71, 0.72]),
        ("auto", [0.7, 0.71, 0.72]),
    ]
    rule.run(Namespace(**vars(given) | vars(places) | {"methods": "auto", "runs": 1, "again": True}))
    assert _stored(results)["drama", 0.3, "auto"].accuracy == [0.7]
    assert _stored(results)["drama", 0.3, "tree"].accuracy == [0.7, 0.71, 0.72]


_stored, _store = rule.stored, rule.store


def _made_up(job: Job, task: tables.Task) -> Case:
    return Case(job.table, task.y.size, 3, job.epsilon, job.method, 0.6, (round(0.7 + job.run / 100, 2),))


def test_where_auto_is_a_tree_it_is_the_same_tree() -> None:
    task = toy()

    def accuracies(method: Choice) -> list[float]:
        jobs = [Job("toy", 100.0 / task.y.size, method, run) for run in range(3)]
        return [rule.measure(job, task).accuracy[0] for job in jobs]

    tree, auto, linear = accuracies("tree"), accuracies("auto"), accuracies("linear")
    assert len(set(tree)) == 3, "other seeds give other trees"
    assert auto == tree != linear
