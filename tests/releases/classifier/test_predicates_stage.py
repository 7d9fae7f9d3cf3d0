"""The stage of private predicates: what it is to an accountant, and the chance that a rare category is shown."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pcqr import PrivateClassifier
from pcqr.audit.exact.events import NoiseLaw
from pcqr.errors import ParameterError
from pcqr.hypotheses import Stumps
from pcqr.mechanisms.halving import halving_error
from pcqr.privacy.accounting import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    NoisySumsEvent,
    Repeated,
    ShapingEvent,
)
from pcqr.privacy.accounting.gaussian import GAUSSIAN_OF_RANGE, fine_gaussian_epsilon
from pcqr.privacy.composition import Context, Sequence, account
from pcqr.releases.classifier.plan import LeafCountsStage, PredicatesStage, gaussian_tail
from pcqr.releases.classifier.predicates import predicates_recipe
from pcqr.releases.protocol.stages import DrawStage

STAGE = PredicatesStage(10_000, 6, 2, 3, 0.02, counts=100.0, categories=60.0, threshold=380.0)
CONTEXT = Context(Stumps(cuts=[0.5]), 10_000, 1)


def test_its_events_are_those_of_the_note() -> None:
    event = STAGE.event(CONTEXT)
    assert isinstance(event, ShapingEvent)
    assert isinstance(event.event, Composed)
    selections, counts, categories, failure = event.event.events
    assert isinstance(selections, Repeated)
    assert selections.count == 6 * 3
    assert isinstance(selections.event, BoundedRangeEvent)
    assert selections.event.epsilon == pytest.approx(0.02, rel=1e-9)
    stated = 0.02 + 4 * halving_error(10_000, 3, 0.02)
    assert stated < selections.event.epsilon <= stated * (1 + 2e-11)
    for sums, sigma, columns in ((counts, 100.0, 6), (categories, 60.0, 2)):
        assert isinstance(sums, NoisySumsEvent)
        assert sums.noise_multiplier == pytest.approx(sigma / math.sqrt(2 * columns))
        assert (sums.steps, sums.scale, sums.draws) == (1, sigma * 2**20, 2 * columns)
    assert failure == ApproximateEvent(2 * STAGE.failure, STAGE.failure)


def test_noise_is_never_stated_larger_than_it_is() -> None:
    """Replacing a record moves 2p counts by 1 each: σ/√(2p), rounded down."""
    for columns in range(1, 60):
        event = replace(STAGE, numeric=columns, categorical=columns).event(CONTEXT)
        assert isinstance(event.event, Composed)
        for sums, sigma in zip(event.event.events[1:3], (STAGE.counts, STAGE.categories), strict=True):
            assert isinstance(sums, NoisySumsEvent)
            assert Fraction(sums.noise_multiplier) ** 2 * 2 * columns <= Fraction(sigma or 0.0) ** 2
            assert sums.noise_multiplier == pytest.approx((sigma or 0.0) / math.sqrt(2 * columns))


def test_the_chance_of_a_rare_category_is_rounded_up() -> None:
    at = (STAGE.least_count - STAGE.bound - 1) / ((STAGE.categories or math.nan) * STAGE.bound)
    assert 0.0 < STAGE.categorical * gaussian_tail(at) < STAGE.failure


def test_together_they_cost_about_the_square_root_of_a_sum_of_squares() -> None:
    stated = account(replace(STAGE, selection=0.005), CONTEXT, 1e-6)
    assert stated.proof == "predicates"
    assert stated.rho is None
    mu = math.sqrt(18 * (GAUSSIAN_OF_RANGE * 0.005) ** 2 + 12 / 100.0**2 + 4 / 60.0**2)
    remaining = 1e-6 - STAGE.failure
    by_hand = fine_gaussian_epsilon(mu, remaining, 60.0 * 2**20, 16, (2 * STAGE.failure,))
    assert stated.epsilon == pytest.approx(by_hand, rel=1e-6)
    cuts_alone = replace(STAGE, categorical=0, counts=None, categories=None, threshold=None)
    assert account(cuts_alone, CONTEXT, 1e-6).rho == pytest.approx(18 * 0.02**2 / 8)


@pytest.mark.parametrize(("sigma", "threshold", "bound"), [(1.5, 4.0, 1), (1.5, 4.3, 8), (4.0, 9.0, 3)])
def test_a_category_of_one_record_is_shown_as_seldom_as_stated(sigma: float, threshold: float, bound: int) -> None:
    stage = PredicatesStage(10, 0, 3, 0, 0.0, None, sigma, threshold, bound)
    law = NoiseLaw("discrete_gaussian", sigma * bound).measure
    exact = float(law.at_least(np.array([stage.least_count - bound]))[0])
    assert stage.least_count == math.ceil(threshold * bound)
    assert 3 * exact <= stage.failure
    assert bound == 1 or stage.failure <= 3 * exact * 2.0


def test_a_chance_that_underflows_is_not_stated_as_none() -> None:
    stage = replace(STAGE, categories=1.0, threshold=60.0)
    assert gaussian_tail(59.0 - 1 / 2**20) == 0.0
    assert 0.0 < stage.failure < 1e-300
    assert repr(ApproximateEvent(2 * stage.failure, stage.failure)) in repr(stage.event(CONTEXT))


WRONG = {
    "selection": {"selection": 0.0},
    "selection must": {"selection": "much"},
    "categorical": {"categorical": -1, "categories": None, "threshold": None},
    "levels must": {"levels": 1, "numeric": 0, "counts": None},
    "counts must": {"counts": 2.0**31},
    "levels": {"numeric": 0, "counts": None},
    "counts": {"levels": 0, "selection": 0.0},
    "threshold": {"threshold": None},
    "categories": {"categorical": 0},
    "bound": {"bound": 2**21},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_contradicts_itself_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        replace(STAGE, **WRONG[name])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="threshold"):
        replace(STAGE, threshold=1.0)
    with pytest.raises(ParameterError, match="threshold"):
        replace(STAGE, threshold=1e308)
    with pytest.raises(ParameterError, match="selection"):  # with it the weights of all cuts may underflow
        replace(STAGE, selection=1e308)


def test_one_level_is_enough_and_what_is_not_bought_has_no_figure() -> None:
    assert replace(STAGE, levels=1).levels == 1
    cuts = replace(STAGE, categorical=0, counts=None, categories=None, threshold=None)
    assert (cuts.least_count, cuts.failure, cuts.words(CONTEXT)) == (
        0,
        0.0,
        "private cuts of 6 numeric columns, 7 each",
    )
    names = replace(STAGE, numeric=0, levels=0, selection=0.0, counts=None)
    assert names.words(CONTEXT) == "private categories of 2 text columns"
    assert names.failure == STAGE.failure


def test_its_words_say_what_is_bought() -> None:
    assert STAGE.words(CONTEXT) == (
        "private cuts of 6 numeric columns, 7 each, and private categories of 2 text columns"
    )


@pytest.mark.parametrize("times", [1, 3])
def test_a_plan_says_for_which_share_of_mu(times: int) -> None:
    """By hand: a selection or a draw of range r has μ = r·√(π/8), sums have Δ/σ, and squares add up."""
    draw = DrawStage(0.1)
    ranged = draw.event(CONTEXT)
    assert isinstance(ranged, BoundedRangeEvent)
    selections = 6 * STAGE.levels * STAGE.selection**2 * math.pi / 8.0
    sums = 2.0 * 6 / (STAGE.counts or math.inf) ** 2 + 2.0 * 2 / (STAGE.categories or math.inf) ** 2
    bought, rest = selections + sums, times * ranged.epsilon**2 * math.pi / 8.0
    pure = LeafCountsStage(100.0)
    first, *others = Sequence((STAGE, *[draw] * times, pure)).steps(CONTEXT)
    share = 100.0 * math.sqrt(bought / (bought + rest))
    assert first == f"{STAGE.words(CONTEXT)}, for {share:.0f} % of the Gaussian-DP parameter μ"
    assert others == [*[draw.words(CONTEXT)] * times, pure.words(CONTEXT)]
    assert Sequence((draw, pure)).words(CONTEXT) == f"{draw.words(CONTEXT)}; then {pure.words(CONTEXT)}"


def test_the_share_is_that_of_the_recipe() -> None:
    """A linear classifier alone has what the recipe leaves it."""
    plan = PrivateClassifier(1.0, 1e-6, method="linear", classes=(0, 1)).plan(30_000, 4)
    assert isinstance(plan.stages, Sequence)
    recipe = predicates_recipe(30_000, 1.0)
    assert recipe is not None
    share = math.sqrt(1.0 - recipe.remaining(has_texts=False) ** 2)
    (first, *_) = plan.stages.steps(CONTEXT)
    assert first.endswith(f"7 each, for {100 * share:.0f} % of the Gaussian-DP parameter μ")
