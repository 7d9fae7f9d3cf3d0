"""One number of a plan varies, the others stay: what is expected of each algorithm, and what a proof needs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pcqr.planning.questions.options import compare, estimator_of
from pcqr.planning.questions.question import Question
from pcqr.planning.questions.solving import solve

Varied = Literal["epsilon", "records", "queries"]
_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_LEAST = {"epsilon": 0.0, "records": 100.0, "queries": 1.0}


@dataclass(frozen=True)
class Curves:
    """`expected`: the extra error of every estimator that has a plan at some of the places; None where it has none.

    `needed`: the fewest records for a proof, which do not depend on the records at hand; None where none are enough.
    """

    over: Varied
    at: tuple[float, ...]
    expected: dict[str, tuple[float | None, ...]]
    needed: tuple[int | None, ...] | None


@np.errstate(all="ignore")
def curves(question: Question, over: Varied) -> Curves:
    """Around `question`, in which nothing is open, with `over` from a quarter to four times what it is there."""
    asked = [replace(question, **{over: value}) for value in _places(question, over)]  # type: ignore[arg-type]
    found: list[dict[str, float]] = [
        {
            estimator_of(option): option.expected.excess_error
            for option in compare(each.request())
            if option.expected is not None
        }
        for each in asked
    ]
    names = list(dict.fromkeys(name for each in found for name in each))
    needed = None if over == "records" else tuple(fewest(each) for each in asked)
    return Curves(
        over,
        tuple(getattr(each, over) for each in asked),
        {name: tuple(each.get(name) for each in found) for name in names},
        needed,
    )


def fewest(question: Question) -> int | None:
    """The fewest records for which (α, β) is proved; None where no number of them is known to be enough."""
    solved = solve(question)
    return None if solved is None else solved.votes.plan.records


def _places(question: Question, over: Varied) -> Iterator[float]:
    centre = float(getattr(question, over))
    for factor in _FACTORS:
        if factor == 1.0 or factor * centre >= _LEAST[over]:
            yield factor * centre if over == "epsilon" else math.ceil(factor * centre)
