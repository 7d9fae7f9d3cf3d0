"""What private predicates get in a plan, and by themselves."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pcqr.data.schema.raw import RawColumn
from pcqr.errors import InfeasiblePlan
from pcqr.hypotheses import Thresholds
from pcqr.privacy.accounting.gaussian import GAUSSIAN_OF_RANGE
from pcqr.privacy.composition import Context, account
from pcqr.releases.classifier.predicates import (
    FAILING,
    MOST_CATEGORIES,
    Purchase,
    plan_private_schema,
    predicates_recipe,
    predicates_stage,
    widest_schema,
)

CONTEXT = Context(Thresholds(), 32_561, 1)


@pytest.mark.parametrize(("size", "levels"), [(1_200, 2), (4_999, 2), (5_000, 3), (10**6, 3)])
def test_levels_follow_from_n_times_epsilon(size: int, levels: int) -> None:
    found = predicates_recipe(size, 1.0)
    assert found is not None
    assert found.levels == levels
    assert predicates_recipe(size, 1.0) == predicates_recipe(10 * size, 0.1)
    assert predicates_recipe(1_199, 1.0) is None
    assert predicates_recipe(799, 1.0, has_texts=True) is None
    assert predicates_recipe(800, 1.0, has_texts=True) == predicates_recipe(1_200, 1.0)


@pytest.mark.parametrize("size", [2_000, 20_000])
def test_what_may_be_bought_at_most_is_a_function_of_the_recipe(size: int) -> None:
    """Each cell between cuts is cut into parts, 16 cells in all; `MOST_CATEGORIES` texts."""
    recipe = predicates_recipe(size, 1.0)
    assert recipe is not None
    assert recipe.parts * (recipe.cuts_a_number + 1) == 16
    assert recipe.parts == {2: 4, 3: 2}[recipe.levels]
    purchase = Purchase(
        recipe, (RawColumn("age", "numeric"), RawColumn("born", "date"), RawColumn("job", "categorical"))
    )
    age, born, job = widest_schema(purchase).columns
    assert len(age.cuts) == len(born.cuts) == 15
    assert (age.missing, born.missing) == (True, True)
    assert len(job.categories) == MOST_CATEGORIES
    assert (purchase.numeric, purchase.categorical) == (2, 1)
    squares = recipe.cuts**2 + recipe.counts**2
    assert purchase.remaining == pytest.approx(math.sqrt(1.0 - squares - recipe.categories**2))
    assert replace_columns(purchase, "numeric").remaining == pytest.approx(math.sqrt(1.0 - squares))
    assert replace_columns(purchase, "categorical").remaining == pytest.approx(math.sqrt(1.0 - recipe.categories**2))


def replace_columns(purchase: Purchase, kind: str) -> Purchase:
    return Purchase(purchase.recipe, tuple(column for column in purchase.columns if column.kind == kind))


def test_shares_of_mu_are_those_of_the_recipe() -> None:
    recipe = predicates_recipe(32_561, 0.3)
    assert recipe is not None
    stage = predicates_stage(recipe, 32_561, 6, 7, mu=0.1, delta=1e-6)
    assert math.sqrt(18) * GAUSSIAN_OF_RANGE * stage.selection == pytest.approx(0.25 * 0.1)
    assert stage.counts == pytest.approx(math.sqrt(12) / 0.01)
    assert stage.categories == pytest.approx(math.sqrt(14) / 0.033)
    assert stage.failure <= FAILING * 1e-6
    assert stage.failure == pytest.approx(FAILING * 1e-6, rel=1e-4)


@pytest.mark.parametrize(("numeric", "categorical"), [(6, 7), (6, 0), (0, 7), (1, 1)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_alone_they_keep_epsilon_and_delta_and_use_them_up(numeric: int, categorical: int, epsilon: float) -> None:
    stage, guarantee = plan_private_schema(32_561, numeric, categorical, epsilon, 1e-6)
    assert guarantee == account(stage, CONTEXT, 1e-6)
    assert guarantee.within(epsilon, 1e-6)
    assert guarantee.epsilon == pytest.approx(epsilon, rel=1e-4)
    assert (stage.levels > 0) == (numeric > 0)
    assert (stage.categories is None) == (categorical == 0)
    if stage.counts is not None:
        dearer = replace(stage, counts=stage.counts * 0.99)
        assert account(dearer, CONTEXT, 1e-6).epsilon > epsilon


def test_where_cuts_would_be_noise_nothing_is_planned() -> None:
    with pytest.raises(InfeasiblePlan, match="n·ε is below 480"):
        plan_private_schema(4_799, 6, 7, 0.1, 1e-6)
