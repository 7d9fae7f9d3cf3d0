"""Plans for what `auto` does with two classes: which stages there are, and that (ε, δ) are kept and used up."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.either import CAREFUL_MAP, COLUMNS, MAP, PREDICATES, TREES, bits, request_for

from pcqr.algorithms.counted import counted_guarantee
from pcqr.errors import ParameterError
from pcqr.plan import CountedStage, PilotedStage, StackedStage
from pcqr.planning.classifiers.asked import plan_asked
from pcqr.planning.classifiers.counted import careful_map, plan_counted
from pcqr.planning.classifiers.piloted import head_maps
from pcqr.planning.classifiers.recipes import mixed
from pcqr.planning.classifiers.rule import DROWNED, STACKED_SHARE
from pcqr.records.vectors import PredicateVectors

MAPS = CAREFUL_MAP, MAP


def plan_for(records: int, epsilon: float, delta: float = 1e-6) -> CountedStage:
    return plan_counted(request_for(records, epsilon, delta), TREES, MAPS)


@settings(max_examples=25, deadline=None)
@given(epsilon=st.floats(0.02, 20.0), delta=st.floats(1e-14, 1e-3), records=st.integers(1_000, 10**6))
def test_every_plan_keeps_epsilon_and_delta_and_uses_them_up(epsilon: float, delta: float, records: int) -> None:
    plan = plan_for(records, epsilon, delta)
    stated = counted_guarantee(plan, TREES, COLUMNS, delta)
    assert stated.within(epsilon, delta)
    assert stated.epsilon > 0.99999 * epsilon
    assert stated.delta > 0.99999 * delta


@pytest.mark.parametrize(
    ("records", "epsilon", "share"),
    [(1_000, 1.0, 0.04), (3_750, 1.0, 0.04), (30_000, 0.25, 0.02), (300_000, 0.1, 0.005)],
)
def test_the_question_has_less_of_epsilon_the_more_there_is_to_see(records: int, epsilon: float, share: float) -> None:
    assert plan_asked(request_for(records, epsilon), TREES, MAP).question == pytest.approx(share * epsilon)


def test_a_question_by_itself_has_limits() -> None:
    plan = plan_asked(request_for(2_001, 1.0), TREES, MAP)
    assert (plan.shallow, plan.few, plan.many) == (3, 420, 670)
    (known,) = head_maps(2_001, 1.0, 2, PREDICATES, COLUMNS, bits(200), None)
    assert known.dense is not None
    posterior = plan_asked(request_for(2_001, 1.0), TREES, known)
    drowned = math.floor((0.5 - DROWNED * known.dense.spread / 2_001) * 2_001)
    assert (posterior.head.is_posterior, posterior.few, posterior.many) == (True, 420, drowned)
    weak = plan_asked(request_for(2_001, 0.01), TREES, known)
    assert weak.few == weak.many == 420, "then there is a tree, whatever the answer is"
    single = plan_asked(request_for(2_001, 1.0), replace(TREES, depth=1), MAP)
    assert (single.shallow, single.depth) == (1, 1)


def test_with_ferns_pilots_choose() -> None:
    public = np.random.default_rng(0).random((200, COLUMNS))
    maps = head_maps(40_000, 1.0, 2, PREDICATES, COLUMNS, public, None)
    assert len(maps) == 3
    plan = plan_counted(request_for(40_000, 1.0), TREES, (CAREFUL_MAP, *maps))
    assert isinstance(plan.otherwise, PilotedStage)
    assert counted_guarantee(plan, TREES, COLUMNS, 1e-6).within(1.0, 1e-6)


def test_with_many_records_a_head_has_some_ferns_unasked() -> None:
    public = np.random.default_rng(0).random((200, COLUMNS))
    (some,) = head_maps(80_000, 1.0, 2, PREDICATES, COLUMNS, public, None)
    assert (some.share, some.count, some.depth) == (128, 200, 9)
    otherwise = plan_counted(request_for(80_000, 1.0), TREES, (CAREFUL_MAP, some)).otherwise
    assert isinstance(otherwise, StackedStage)
    recipe = mixed(80_000, 1.0)
    assert otherwise.head.steps == recipe.least_steps, "planned by the recipe that the map was made by"
    assert (otherwise.head.ferns, otherwise.head.dense, otherwise.whitening) == (200, COLUMNS + 2, recipe.whitening)
    firsts = [head_maps(n, 12_000.0 / n, 2, PREDICATES, COLUMNS, public, None)[0] for n in (80_000, 299_999, 300_000)]
    assert [first.share for first in firsts] == [256, 256, 96]
    (without,) = head_maps(80_000, 1.0, 2, PREDICATES, COLUMNS, None, None)
    assert without.ferns is None


def test_thresholds_are_functions_of_public_numbers() -> None:
    plan = plan_for(20_001, 0.5)
    assert (plan.count, plan.rare, plan.uneven) == (0.015, 1_120, math.ceil(0.15 * 20_001))
    last = plan.otherwise
    assert isinstance(last, StackedStage)
    assert last.depth == plan.depth == TREES.depth_for(20_001)
    assert 2 * last.tree == pytest.approx(STACKED_SHARE * 0.5, rel=1e-3)


def test_a_careful_head_goes_a_short_way() -> None:
    """τ = T·(step size)/(1 − β) is a tenth, where others go as far as noise lets them."""
    plan = plan_for(20_000, 1.0)
    way = plan.careful.steps * plan.careful.step_size / (1 - plan.careful.momentum)
    assert way == pytest.approx(0.1)
    last = plan.otherwise
    assert isinstance(last, StackedStage)
    assert last.head.steps * last.head.step_size / (1 - last.head.momentum) > 1.2 * way


def test_the_careful_map_has_few_questions_and_is_not_whitened() -> None:
    public = np.column_stack([bits(1_000), np.arange(1_000) < 20])  # a category of 2 %, less than it asks for
    found = careful_map(None, 10_000, COLUMNS + 1, public, None)
    assert found.ferns is None
    assert isinstance(found.dense, PredicateVectors)
    assert {predicate.feature for predicate in found.dense.predicates} == set(range(COLUMNS))
    assert found.dense.directions is None
    declared = careful_map(PREDICATES[:2], 10_000, COLUMNS, None, None).dense
    assert declared == PredicateVectors.of(PREDICATES[:2], COLUMNS)


def test_each_way_has_its_map() -> None:
    for count in (0, 1, 3, 5):
        with pytest.raises(ParameterError, match="maps must be that of the careful head"):
            plan_counted(request_for(10_000, 1.0), TREES, (MAP,) * count)
