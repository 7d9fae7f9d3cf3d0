"""The whole answer: what it says when things are possible, when they are not, and what it assumes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from pcqr.advice import outlook
from pcqr.advice.question import Question
from pcqr.hypotheses import Rectangles, Thresholds
from pcqr.planner.certificate import vote_excess
from pcqr.planner.certified import fewest_records

look = cache(outlook.look)
"""Several tests ask the same question."""

LINE = Question(hypotheses=Thresholds(), epsilon=1.0, queries=1_000, alpha=0.1)


def said(question: Question) -> str:
    return " ".join(look(question).notes)


def test_the_figures_of_both_modes() -> None:
    found = look(LINE)
    assert found.is_proved
    assert found.fewest is not None
    assert found.figures.n == pytest.approx(5.6e11, rel=0.01)
    assert found.records == found.fewest.plan.records < 1_300_000
    assert not found.changes
    assert [option.algorithm for option in found.options] == ["SubSamp", "noisy max", "AgPrivCl", "UnvPrivCl", "SSPP"]


def test_a_solved_alpha_is_proved_at_the_n_that_was_given() -> None:
    found = look(replace(LINE, records=3_000_000, alpha=None))
    assert found.is_proved
    assert found.fewest is not None
    assert found.records == 3_000_000
    assert vote_excess(found.fewest.plan, Thresholds(), 1, 1_000, 0.05) <= found.request.alpha < 0.1


def test_too_few_records_say_what_would_help() -> None:
    found = look(replace(LINE, records=100_000))
    assert not found.is_proved
    assert found.changes["records"] == found.fewest.plan.records  # type: ignore[union-attr]
    assert found.changes["epsilon"] > 1.0
    assert found.options


def test_two_unknowns_show_a_table_and_plan_for_its_middle() -> None:
    found = look(replace(LINE, queries=None))
    assert found.runs == "queries"
    assert [at for at, _ in found.points] == [100, 1_000, 10_000]
    assert found.request.queries == 1_000
    assert found.is_proved


def test_two_unknowns_plan_where_something_is_proved() -> None:
    """10⁵ records are too few at ε = 1 and enough at 3 or more."""
    found = look(
        Question(hypotheses=Thresholds(), records=200_000, queries=100, alpha=0.3, solve="delta", epsilon=None)
    )
    assert found.runs == "epsilon"
    assert found.solved is not None
    assert found.is_proved


def test_delta_above_one_over_n_is_warned_of_with_the_convention() -> None:
    assert "δ = 0.001 is not below 1/n = 0.001. By convention it should be far below" in said(
        replace(LINE, records=1_000, delta=1e-3)
    )
    assert "1/n" not in said(replace(LINE, delta=1e-9))


def test_the_paper_s_range_is_said() -> None:
    assert "ε < 1" in said(LINE)
    assert "ε < 1" not in said(replace(LINE, epsilon=0.9))


def test_an_epsilon_for_which_nothing_exists_gets_the_nearest_that_does() -> None:
    found = look(replace(LINE, epsilon=1e-11))
    assert found.fewest is None
    assert not found.options
    assert "records would be needed" in " ".join(found.notes)
    near = found.changes["epsilon"]
    assert near < 1e-3
    assert fewest_records(found.request.but(epsilon=near)) is not None


def test_too_few_queries_for_alpha_name_an_m_that_would_do() -> None:
    found = look(replace(LINE, queries=20, alpha=0.1))
    text = " ".join(found.notes)
    assert "Nothing can be proved for m = 20 and α = 0.1, however many records there are" in text
    queries = int(found.changes["queries"])
    assert f"m = {queries:,} queries would do, with n = " in text
    enough = fewest_records(found.request.but(queries=queries))
    assert enough is not None
    assert f"n = {enough.plan.records:,} records" in text


def test_a_class_that_cannot_be_drawn_on_many_records_says_so() -> None:
    text = said(replace(LINE, hypotheses=Rectangles(), features=2))
    assert "Rectangles can be drawn on 2,000 records at most" in text


def test_what_is_assumed_is_said() -> None:
    found = look(replace(LINE, records=1_000, alpha=None))
    assert found.solved is None
    assert "No α was found; the rest assumes α = 0.1." in found.notes
    assert found.request.alpha == 0.1


def test_public_points_are_not_used_by_the_proofs_of_votes() -> None:
    found = look(replace(LINE, records=50_000, public=1_000))
    assert "Proofs for the votes do not use public points" in " ".join(found.notes)
    assert found.recommendation.option is not None
    assert found.recommendation.option.algorithm == "UnvPrivCl"
    assert found.recommendation.python is not None
    assert found.recommendation.python.algorithm == "SSPP"


@pytest.mark.parametrize(
    "question",
    [
        replace(LINE, records=1),
        replace(LINE, epsilon=1_000.0, records=1_000),
        replace(LINE, epsilon=1.0, records=10**6, queries=10**9),
        replace(LINE, records=10_000, queries=20, beta=0.999, delta=0.5),
    ],
    ids=["n = 1", "ε = 1000", "m = 10⁹", "β = .999, δ = .5"],
)
def test_absurd_numbers_are_answered(question: Question) -> None:
    found = look(question)
    assert found.recommendation.reason
    assert found.is_proved or found.changes or found.notes
