"""The benchmark of answers on few records, and docs/performance.md as the stored results have it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from benchmarks import answers
from benchmarks.answers import CASES, Answers, Asked, Results, Sizes, draw, in_units
from pcqr.data.records import InMemory
from pcqr.hypotheses.committees import Members, trained

ROOT = Path(__file__).parents[2]
TINY = Sizes(
    4_000, (501, 401), (5, 7), (4_000, 501), rounds=3, queries=5, rows=8, by_loop=2, unstable=1, cases=CASES[:1]
)


def test_the_page_has_the_tables_of_the_results() -> None:
    page = (ROOT / answers.PAGE).read_text(encoding="utf-8")
    results = Results.read(ROOT / answers.RESULTS)
    for name, table in answers.page_tables(results).items():
        assert f"<!-- {name} -->\n{table}\n<!-- end of {name} -->" in page
    assert [each.name for each in results.answers[:: len(answers.WHOLE.answering)]] == [case.name for case in CASES]


def test_a_release_is_timed_both_ways_and_its_answers_are_stable() -> None:
    """Votes are 220 from a tie at least, 129 is enough for all but a chance of 10⁻⁹: a halt would be an error here."""
    release = Asked.made(CASES[0], 501, TINY)
    first, second = (release.timed(number, TINY) for number in range(2))
    assert min(*first.values(), *second.values()) > 0
    assert release.quick.queries_answered_ == 3 + 1 + 2 * (TINY.queries + TINY.rows), "every round asks what is new"
    assert release.slow.queries_answered_ == 3 + 1 + 2 * (TINY.by_loop + TINY.rows)


def test_releases_are_asked_in_turn_and_the_smallest_of_their_rounds_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disturbance of one round, for every release, changes nothing. Neither does one of two rounds in a row."""
    asked: list[tuple[int, int]] = []

    def timed(self: Asked, number: int, _: Sizes) -> dict[str, float]:
        asked.append((number, self.teachers))
        seconds = self.teachers * (1.0 if number == 2 else 7.0)
        return dict.fromkeys(("new", "by_loop", "repeated", "row", "row_by_loop", "repeated_row"), seconds)

    monkeypatch.setattr(Asked, "timed", timed)
    monkeypatch.setattr(Asked, "made", lambda case, teachers, _: Asked(case, teachers, Mock(), Mock()))
    found = answers.measured_answers(TINY, lambda _: None)
    assert asked == [(number, teachers) for number in range(3) for teachers in TINY.answering]
    assert [(each.teachers, each.new, each.by_loop, each.repeated) for each in found] == [
        (teachers, teachers, teachers, teachers) for teachers in TINY.answering
    ]
    assert [1.0 / each.rows for each in found] == pytest.approx(TINY.answering)


def test_training_is_timed_in_rounds_and_by_loop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([5.0, 7.0, 4.0, 8.0, 6.0, 6.0, 50.0, 70.0])
    monkeypatch.setattr(answers, "median_seconds", lambda *_: next(seconds))
    found = answers.measured_training(CASES[0], TINY)
    assert [(each.teachers, each.seconds, each.by_loop) for each in found] == [(5, 4.0, 50.0), (7, 6.0, 70.0)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_replaced_path_is_the_loop_with_the_same_votes(case: answers.Case) -> None:
    hypotheses = case.hypotheses.prepared(case.public(), None)
    X, y = case.records(300)
    records, parts = InMemory(X, y), np.array_split(np.arange(300), 11)
    quick, slow = (trained(each, records, parts) for each in (hypotheses, answers.by_loop(hypotheses)))
    assert isinstance(slow, Members)
    queries = case.queries(20, seed=1)
    assert quick.counts(queries).tolist() == slow.counts(queries).tolist()


def test_the_parts_of_a_fit_add_up() -> None:
    fit = answers.measured_fit(TINY)
    assert set(answers.PARTS) < set(fit.parts)
    assert sum(fit.parts.values()) == pytest.approx(fit.seconds)
    assert min(fit.parts.values()) > 0


def test_what_is_asked_for_and_missed_is_said() -> None:
    met = Answers("thresholds", 5_001, 1e-4, 0.1, 2e-5, 3e4, 1e3, 1e5, 2e-4, 20_000)
    assert answers.answer_rows(_results(met))[0][-1] == "200 µs, 50 µs repeated, 20,000 rows/s: met"
    for field, value in (("new", 3e-4), ("repeated", 6e-5), ("rows", 1e4)):
        missed = Answers(**(vars(met) | {field: value}))
        assert answers.answer_rows(_results(missed))[0][-1].endswith("**not met**")


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    draw(Results.read(ROOT / answers.RESULTS), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    assert [in_units(value) for value in (2.0, 1e-3, 3e-5)] == ["2 s", "1 ms", "30 µs"]


def _results(each: Answers) -> Results:
    stored = Results.read(ROOT / answers.RESULTS)
    return replace(stored, answers=[each])
