"""Hypotheses as values: one that could not predict cannot be made, whoever makes it."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.committees import Constant as FixedVote
from pcqr.hypotheses.finite import Member
from pcqr.hypotheses.halfspaces import Constant, Halfspace
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.trees.tree import DecisionTree

DEEP = Split(Predicate(0, 0.5), Leaf(0), Split(Predicate(2, 0.5), Leaf(0), Leaf(1)))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Stump(2, 0.5, True, 2), "feature"),
        (lambda: Stump(-1, 0.5, True, 2), "feature"),
        (lambda: Stump(0, 0.5, True, 0), "features"),
        (lambda: Halfspace((0.0, math.inf), (1.0, 1.0)), "tail"),
        (lambda: Halfspace((0.0, 0.0), (math.nan, 1.0)), "head"),
        (lambda: Halfspace((0.0, 1.0), (0.0, 1.0)), "head"),
        (lambda: Constant(-1), "label"),
        (lambda: Constant(127), "label"),
        (lambda: FixedVote(300), "label"),
        (lambda: Member(-1, Threshold(0.0)), "index"),
        (lambda: DecisionTree(Leaf(-1), 1), "label"),
        (lambda: DecisionTree(Leaf(128), 1), "label"),
        (lambda: DecisionTree(Leaf(0), 0), "features"),
        (lambda: DecisionTree(DEEP, 2), "root"),
    ],
)
def test_what_could_not_predict_cannot_be_made(make: Callable[[], Hypothesis], name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.name == name
