"""Hypotheses in words: names instead of feature numbers, for every kind."""

from __future__ import annotations

import pytest

from pcqr import ParameterError
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import DecisionTree
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.finite import Member
from pcqr.hypotheses.halfspaces import Constant, Halfspace
from pcqr.hypotheses.intervals import Interval
from pcqr.hypotheses.rectangles import Rectangle
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.unions import IntervalUnion
from pcqr.models import in_words

TWO = ("age", "hours")
SCHEMA = Schema((Column("age", bounds=(17, 90)), Column("sex", "categorical", ("Female", "Male"))))


@pytest.mark.parametrize(
    ("hypothesis", "columns", "first_line"),
    [
        (Stump(1, 38.5, True, 2), TWO, "if hours > 38.5:"),
        (Stump(2, 0.5, False, 4), SCHEMA, "if sex = Male:"),
        (Threshold(27.5), ("age",), "if age > 27.5:"),
        (Interval(1.0, 2.0), ("age",), "if 1 < age ≤ 2:"),
        (IntervalUnion((1.0, 2.0, 3.0)), ("age",), "if 1 < age ≤ 2 or age > 3:"),
        (Rectangle(1.0, 2.0, 0.5, 9.0), TWO, "if 1 < age ≤ 2 and 0.5 < hours ≤ 9:"),
        (Halfspace((0.0, 0.0), (1.0, -1.0)), TWO, "if (1 − 0)·(hours − 0) > (-1 − 0)·(age − 0), or both are equal"),
        (Constant(0), TWO, "always predict low"),
        (DecisionTree(Split(Predicate(0, 30.5), Leaf(0), Leaf(1)), 4), SCHEMA, "if age > 30.5:"),
        (Member(3, Constant(0)), TWO, "member 3 of the list of models"),
    ],
)
def test_every_kind(hypothesis: Hypothesis, columns: Schema | tuple[str, ...], first_line: str) -> None:
    said = in_words(hypothesis, columns, ("low", "high"))
    assert said.splitlines()[0].startswith(first_line)
    assert "feature" not in said


def test_names_must_fit() -> None:
    with pytest.raises(ParameterError, match="3 features of the schema"):
        in_words(Stump(1, 38.5, True, 2), ("a", "b", "c"))
