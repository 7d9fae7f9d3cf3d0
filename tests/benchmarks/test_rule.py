"""The rule on other questions: none is asked twice, and regret is what `auto` loses to the best."""

from __future__ import annotations

from benchmarks.rule import METHODS, NAMES, Case, Cases, rows
from benchmarks.tables import FRESH, HELD_OUT, UNSEEN
from pcqr.planning.classifiers.rule import Choice


def test_no_question_is_asked_twice() -> None:
    assert len(set(NAMES)) == len(NAMES) == len(HELD_OUT) + len(UNSEEN) + len(FRESH)
    seen: set[tuple[str, str]] = set()
    for questions in (HELD_OUT, UNSEEN, FRESH):
        about = {(source.file, source.label) for source in questions.values()}
        assert seen.isdisjoint(about)
        seen |= about


def test_regret_is_what_auto_loses_to_the_best_of_the_three() -> None:
    accuracy: dict[Choice, tuple[float, ...]] = {"tree": (0.80, 0.82), "head": (0.85, 0.85), "auto": (0.84, 0.85)}
    cases: Cases = {
        ("loan", 0.1, method): Case("loan", 1_000, 5, 0.1, method, 0.7, accuracy[method], (1.0, 1.0), 0.0)
        for method in METHODS
    }
    cell, mean = rows(cases, UNSEEN)
    assert cell == ["loan", "0.1", "100", "70.0", "81.0", "85.0", "84.5", "0.5"]
    assert mean == ["mean regret", "", "", "", "4.00", "0.00", "0.50", ""]
    assert rows(cases, HELD_OUT) == []
