"""One step of the linear classifier with ferns: its exact law against its claim, and later steps after any history."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from pcqr.audit.exact import verify
from pcqr.audit.exact.cases.classifiers import FERNS, TWO_PLACES, UNEVEN_FERNS, gradient_step_case, gradient_step_plan
from pcqr.audit.exact.cases.tables import Table, all_neighbours
from pcqr.audit.exact.sums import Announced, NoisySum, SumGame, SumLaw
from pcqr.audit.exact.tape import intercepted
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.privacy.accounting import DiscreteGaussianEvent
from pcqr.privacy.accounting.renyi import divergence
from pcqr.releases.classifier.descent import dp_gradient_descent

TWO = all_neighbours(2, TWO_PLACES)


def test_a_step_attains_its_sensitivity_and_its_zcdp() -> None:
    plan = gradient_step_plan(FERNS, 16, 1.0)
    case = gradient_step_case(FERNS, plan, TWO, 0.01)
    found = verify(case)
    assert found.passed
    for order, exact, claimed in found.divergences:
        assert claimed == pytest.approx(order * plan.sensitivity**2 / (2 * plan.scale**2))
        assert exact == pytest.approx(claimed, rel=1e-9)
    worst: Any = case.game(*map(case.law, (found.witness.first, found.witness.second)))
    assert math.hypot(*worst.shift) == plan.sensitivity == 32
    assert len(worst.shift) == plan.coordinates == 8, "every cell has noise"


def test_noise_below_what_is_claimed_is_refuted() -> None:
    plan = gradient_step_plan(FERNS, 16, 1.0)
    case = gradient_step_case(FERNS, plan, TWO, 0.01)
    smaller = gradient_step_case(FERNS, replace(plan, scale=0.98 * plan.scale), TWO, 0.01)
    assert not verify(replace(smaller, event=case.event)).passed
    half = gradient_step_case(FERNS, replace(plan, scale=0.5 * plan.scale), TWO, 0.01)
    assert not verify(replace(half, claimed=case.claimed, event=None)).passed


HISTORIES = [
    (first, second)
    for first in ((0,) * 6, (320, 900, -7, 8, 0, 1), (2**40, -(2**40), 0, 2**40, 5, -(2**40)))
    for second in ((0,) * 6, (-5000, 77, 1, 2, 3, -(2**20)))
]


@pytest.mark.parametrize("history", HISTORIES)
def test_later_steps_move_no_farther_whatever_the_history(history: tuple[tuple[int, ...], ...]) -> None:
    """The third sum, after two that came to anything: all that is shown is the same on all tables."""
    plan = replace(gradient_step_plan(UNEVEN_FERNS, 1024, 4.0), steps=3, momentum=0.9, step_size=1.5)

    one_sum = DiscreteGaussianEvent(plan.sums.noise_multiplier)

    def third(table: Table) -> tuple[NoisySum, LinearClassifier]:
        tape = Announced((*history, (5, 6, 7, 8, 9, 10)))
        with intercepted():
            shown = dp_gradient_descent(UNEVEN_FERNS, table.source(), plan, tape)
        assert [each.law.scale for each in tape.sums] == [plan.scale] * 3
        return tape.sums[2], shown

    for first, second in TWO:
        (one, shown), (other, also_shown) = third(first), third(second)
        assert shown == also_shown
        found = SumGame(SumLaw(one, ()), SumLaw(other, ()))
        assert sum(each**2 for each in found.shift) <= plan.sensitivity**2
        assert found.divergence(2.0) <= divergence(one_sum, 2.0) * (1.0 + 1e-9)
