"""The benchmark of answers on few records, and docs/performance.md as the stored results have it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import answers
from benchmarks.answers import CASES, Answers, Results, Sizes
from benchmarks.answers_picture import draw, in_units
from pcqr.hypotheses.committees import trained
from pcqr.hypotheses.committees.members import Members
from pcqr.records import InMemory

ROOT = Path(__file__).parents[2]
TINY = Sizes(4_000, (501,), (5,), (4_000, 501), queries=5, rows=8, by_loop=2, unstable=1, cases=CASES[:1])


def test_the_page_has_the_tables_of_the_results() -> None:
    page = (ROOT / answers.PAGE).read_text(encoding="utf-8")
    results = Results.read(ROOT / answers.RESULTS)
    for name, table in answers.page_tables(results).items():
        assert f"<!-- {name} -->\n{table}\n<!-- end of {name} -->" in page
    assert [each.name for each in results.answers[:: len(answers.WHOLE.answering)]] == [case.name for case in CASES]


def test_a_release_is_timed_both_ways_and_its_answers_are_stable() -> None:
    """Votes are 220 from a tie at least, 129 is enough for all but a chance of 10⁻⁹: a halt would be an error here."""
    found = answers.measured_answers(CASES[0], 501, TINY)
    assert min(found.new, found.by_loop, found.repeated, found.rows, found.rows_by_loop, found.repeated_rows) > 0


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
    return Results(stored.machine, stored.load, stored.records, stored.check, [each], stored.training, stored.fit)
