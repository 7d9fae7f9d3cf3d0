"""Sequences and branches: their events, the fold that accounts for them, and laws that any fold has to obey."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.stages import BUDGETS, COLUMNS, TREES, beside_tree, exact_delta, plan_beside_tree

from pcqr.errors import ParameterError
from pcqr.hypotheses import Stumps, Thresholds
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.privacy.accounting import (
    BoundedRangeEvent,
    Composed,
    DiscreteGaussianEvent,
    Event,
    NoisySumsEvent,
    OneOf,
    PureEvent,
    Repeated,
    compose,
)
from pcqr.privacy.accounting.compose import Choice
from pcqr.privacy.accounting.gaussian import fine_gaussian_epsilon, gaussian_delta
from pcqr.privacy.composition import Branch, Context, Sequence, Stage, account, account_for, parts_of
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.classifier.plan import LARGEST_TERM, ComparisonStage, LinearStage
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage

N, M, DELTA = 1_000, LARGEST_TERM, 1e-6
CONTEXT = Context(Stumps(cuts=[0.5]), records=N, features=1)
DRAW, OTHER = DrawStage(0.05), DrawStage(0.02)
VOTE = VoteStage(N, 500, 101, 0.3, OneSidedSparseVector.calibrate(0.9, 1e-6, 3))
COMPARISON = ComparisonStage(N, M, 80.0 * M, 0)


def linear(steps: int, multiplier: float, *, bound: int = M, dense: int = 40, ferns: int = 0) -> LinearStage:
    shape = (dense, ferns, 5, 128) if ferns else (dense, 0, 0, 256)
    return LinearStage(N, *shape, steps, bound, multiplier * 2 * bound, 0.9, 0.001)


QUIET, LOUD = linear(20, 200.0), linear(9, 60.0, ferns=10)
PILOTED = Sequence((DRAW, QUIET, LOUD, COMPARISON, Branch((QUIET, LOUD))))


def cost(stage: Stage, delta: float = DELTA, context: Context = CONTEXT) -> Guarantee:
    return account(stage, context, delta)


def pure(stage: DrawStage) -> float:
    return cost(stage).epsilon


# What stages are to an accountant -------------------------------------------------------------------------------------


def test_a_draw_is_pure_with_a_loss_in_an_interval() -> None:
    """2η + 2λ, and 2η + 4λ long: λ is the error of a log-probability."""
    event = DRAW.event(CONTEXT)
    assert isinstance(event, BoundedRangeEvent)
    assert event.stated == DRAW.guarantee(CONTEXT)
    twice = event.by_itself.epsilon - 0.1
    assert 0.0 < twice < 1e-9
    assert 0.1 + 2.0 * twice <= event.epsilon <= (0.1 + 2.0 * twice) * (1 + 1e-11)
    blind = DrawStage(0.0).event(CONTEXT)
    assert isinstance(blind, BoundedRangeEvent)
    assert (blind.epsilon, blind.by_itself.epsilon) == (0.0, 0.0)


@pytest.mark.parametrize("kind", [Sequence, Branch])
@pytest.mark.parametrize("stages", [(), (DRAW,), (DRAW, None), (DRAW, 0.5), (DRAW, DRAW.event(CONTEXT))])
def test_several_stages_are_at_least_two_and_nothing_else(kind: Any, stages: tuple[Any, ...]) -> None:
    with pytest.raises(ParameterError, match=r"(stages|options) must be at least two stages"):
        kind(stages)
    assert kind([DRAW, QUIET]) == kind((DRAW, QUIET)), "a list is copied"


# The fold by hand -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [0.01, 0.15, 0.5])
def test_on_a_fine_grid_a_draw_and_sums_are_continuous_noise_beside_a_range(eta: float) -> None:
    draw = DrawStage(eta)
    event, shift = draw.event(CONTEXT), math.sqrt(QUIET.sums.squared_mu) * (1 + 1e-12)
    assert isinstance(event, BoundedRangeEvent)
    by_hand = fine_gaussian_epsilon(shift, DELTA, QUIET.scale, QUIET.draws, [], ranged=event.epsilon)
    for order in ((draw, QUIET), (QUIET, draw)):
        stated = cost(Sequence(order))
        assert stated.epsilon == pytest.approx(by_hand, rel=1e-9)
        assert stated.delta == DELTA
        assert any("one of bounded range" in step for step in stated.steps)


@pytest.mark.parametrize("eta", [0.0, 0.1, 1.0])
def test_on_a_coarse_grid_they_are_renyi_composition(eta: float) -> None:
    coarse, draw = linear(20, 30.0, bound=1), DrawStage(eta)
    by_hand = compose([draw.event(CONTEXT), Repeated(DiscreteGaussianEvent(30.0), 20)], DELTA, accountant="Rényi")
    stated = cost(Sequence((draw, coarse)))
    assert stated.epsilon == pytest.approx(by_hand.epsilon, rel=1e-9)
    assert stated.delta == DELTA


def test_pilots_and_a_branch_are_all_sums_and_the_costlier_option() -> None:
    """No option is run beside another, and squares add up."""
    runs: list[LinearStage | ComparisonStage] = [QUIET, LOUD, COMPARISON, LOUD]
    assert LOUD.sums.squared_mu > QUIET.sums.squared_mu
    squares = math.fsum(run.sums.squared_mu for run in runs)
    scale = min(run.scale for run in runs)
    draws = sum(
        run.sums.draws * (scale / run.scale) ** 2 for run in (*runs[:3], max(QUIET, LOUD, key=lambda s: s.draws))
    )
    event = DRAW.event(CONTEXT)
    assert isinstance(event, BoundedRangeEvent)
    by_hand = fine_gaussian_epsilon(
        math.sqrt(squares) * (1 + 1e-12), DELTA, scale, math.ceil(draws) + 3, [], event.epsilon
    )
    assert cost(PILOTED).epsilon == pytest.approx(by_hand, rel=1e-6)
    assert cost(PILOTED).epsilon > cost(Sequence((DRAW, LOUD))).epsilon


def test_a_draw_that_may_not_happen_is_a_pure_release() -> None:
    """Where in its interval a loss lies could otherwise depend on what led there (proofs/plans.md)."""
    shift = math.sqrt(QUIET.sums.squared_mu) * (1 + 1e-12)
    by_hand = fine_gaussian_epsilon(shift, DELTA, QUIET.scale, QUIET.draws, [pure(DRAW)])
    as_range = cost(Sequence((QUIET, DRAW))).epsilon
    for stage in (
        Sequence((QUIET, Branch((DRAW, OTHER)))),
        Branch((Sequence((QUIET, DRAW)), OTHER)),
        Branch((QUIET, DRAW)),
        Sequence((Branch((DRAW, DRAW)), QUIET)),
    ):
        assert cost(stage).epsilon == pytest.approx(by_hand, rel=1e-9)
        assert cost(stage).epsilon > 1.001 * as_range
        assert cost(stage).delta == DELTA


def test_the_costliest_sums_are_those_of_the_most_steps_by_squared_noise() -> None:
    """9 steps at 60 cost more than 20 at 200, though fewer."""
    assert LOUD.steps < QUIET.steps
    two = cost(Branch((QUIET, LOUD))).epsilon
    assert two == pytest.approx(cost(LOUD).epsilon, rel=1e-6)
    assert two > 2 * cost(QUIET).epsilon
    for place in range(2):
        options = [QUIET, LOUD]
        options[place] = replace(options[place], scale=1.5 * options[place].scale)
        cheaper = cost(Branch(tuple(options))).epsilon
        assert (cheaper < 0.9 * two) is (options[place].ferns > 0)


def test_the_finest_grid_and_the_most_draws_of_any_option_count() -> None:
    """An option of little noise in all, on a coarse grid, is as far from continuous noise as it is."""
    coarse = replace(linear(1, 2_000.0), bound=2**4, scale=2_000.0 * 2**5)
    assert coarse.sums.squared_mu < LOUD.sums.squared_mu
    shift = math.sqrt(LOUD.sums.squared_mu) * (1 + 1e-12)
    by_hand = fine_gaussian_epsilon(shift, DELTA, coarse.scale, LOUD.draws)
    stated = cost(Branch((LOUD, coarse)))
    assert stated.epsilon == pytest.approx(by_hand, rel=1e-9)
    assert stated.epsilon > (1 + 1e-6) * cost(LOUD).epsilon


@pytest.mark.parametrize(("records", "epsilon", "delta"), BUDGETS)
def test_the_stated_figures_of_a_tree_and_sums_hold_and_are_used_up(records: int, epsilon: float, delta: float) -> None:
    """In closed form, at 400 places of the interval."""
    plan = plan_beside_tree(records, epsilon, delta)
    draw, sums = beside_tree(plan)
    assert plan.guarantee.within(epsilon, delta)
    assert (plan.guarantee.delta, plan.guarantee.proof) == (delta, "plans")
    found = exact_delta([sums], [], plan.guarantee.epsilon, ranged=2 * draw.inverse_temperature)
    assert 0.99 * delta < found <= delta


@pytest.mark.parametrize(("records", "epsilon"), [(10_000, 1.0), (100_000, 0.1)])
def test_less_noise_than_planned_is_not_within_epsilon(records: int, epsilon: float) -> None:
    draw, sums = beside_tree(plan_beside_tree(records, epsilon, DELTA))
    context = Context(TREES, records, COLUMNS)
    assert cost(Sequence((draw, sums)), DELTA, context).within(epsilon, DELTA)
    for parts in (
        (DrawStage(1.001 * draw.inverse_temperature), sums),
        (draw, replace(sums, scale=0.999 * sums.scale)),
        (draw, replace(sums, steps=sums.steps + 1)),
        (draw, sums, DrawStage(0.001 * epsilon)),
    ):
        assert not cost(Sequence(parts), DELTA, context).within(epsilon, DELTA)
    assert not cost(Sequence((draw, sums)), 0.99 * DELTA, context).within(epsilon, DELTA)


def test_a_draw_is_accounted_for_with_all_of_its_own_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A λ of 1.4 would add 2.8 to ε, and twice that to the interval."""
    monkeypatch.setattr(DrawStage, "guarantee", lambda *_: Guarantee(3.0))
    draw = DrawStage(0.1)
    event = draw.event(CONTEXT)
    assert isinstance(event, BoundedRangeEvent)
    assert event.epsilon == pytest.approx(0.2 + 2 * 2.8)
    assert cost(draw).epsilon == 3.0
    assert 5.0 < cost(Sequence((draw, QUIET))).epsilon < 6.8
    assert cost(Sequence((QUIET, Branch((draw, OTHER))))).epsilon < 3.5


# Votes ----------------------------------------------------------------------------------------------------------------


def test_votes_and_draws_add_up() -> None:
    votes, both = cost(VOTE), cost(Sequence((VOTE, DRAW)))
    assert both.epsilon == pytest.approx(votes.epsilon + pure(DRAW), rel=1e-9)
    assert both.epsilon >= votes.epsilon + pure(DRAW)
    assert both.delta == pytest.approx(votes.delta, rel=1e-9)
    assert both.rho is None
    after = cost(Sequence((VOTE, Branch((DRAW, OTHER)))))
    assert after.epsilon == pytest.approx(both.epsilon, rel=1e-9)


@pytest.mark.parametrize(
    "stage",
    [
        Branch((VOTE, DRAW)),
        Branch((DRAW, VOTE)),
        Branch((QUIET, Sequence((VOTE, DRAW)))),
        Sequence((DRAW, Branch((DRAW, VOTE)))),
        Branch((DRAW, Branch((VOTE, VOTE)))),
    ],
)
def test_options_with_votes_are_refused(stage: Stage) -> None:
    with pytest.raises(ParameterError, match="options must be stages of noisy sums, draws and pure releases"):
        cost(stage)


def test_noisy_sums_beside_votes_are_refused() -> None:
    for stage in (Sequence((VOTE, QUIET)), Sequence((QUIET, DRAW, VOTE)), Sequence((VOTE, Branch((QUIET, DRAW))))):
        with pytest.raises(ParameterError, match="noisy sums stand beside draws and pure releases alone"):
            cost(stage)


def test_what_draws_assume_is_said_of_all() -> None:
    """That public points are public, say, which no other stage needs."""
    context = Context(Thresholds(), N, 1, public=300)
    (assumed,) = {cost(DRAW, context=context).assumptions}
    for stage in (
        Sequence((DRAW, OTHER)),
        Sequence((DRAW, QUIET)),
        Branch((QUIET, DRAW)),
        Sequence((QUIET, Branch((QUIET, Sequence((DRAW, QUIET)))))),
    ):
        assert set(assumed) <= set(cost(stage, context=context).assumptions)


# Laws of the fold -----------------------------------------------------------------------------------------------------

draws = st.builds(DrawStage, st.sampled_from([0.0, 0.003, 0.02, 0.15]))
sums: st.SearchStrategy[Stage] = st.builds(
    linear,
    st.integers(1, 40),
    st.sampled_from([15.0, 40.0, 41.0, 300.0]),
    bound=st.sampled_from([1, 2**12, M]),
    dense=st.integers(1, 60),
    ferns=st.sampled_from([0, 7]),
)
leaves: st.SearchStrategy[Stage] = draws | sums | st.just(COMPARISON)


def several(part: st.SearchStrategy[Stage]) -> st.SearchStrategy[Stage]:
    some = st.lists(part, min_size=2, max_size=3).map(tuple)
    return some.map(Sequence) | some.map(Branch)


stages = st.recursive(leaves, several, max_leaves=6)
SLIP = 1e-9
"""Relative. Two figures of one law may differ by that: sums are added in another order, and solved for ε."""


def paths(event: Event, *, is_sure: bool = True) -> Iterator[tuple[Event, ...]]:
    """All that may be released, one option of each branch: a draw that another option would not make is pure."""
    match event:
        case Composed(events):
            for parts in product(*(list(paths(each, is_sure=is_sure)) for each in events)):
                yield tuple(part for found in parts for part in found)
        case OneOf(events):
            for option in events:
                yield from paths(option, is_sure=False)
        case BoundedRangeEvent() if not is_sure:
            yield (PureEvent(event.by_itself.epsilon),)
        case _:
            yield (event,)


@settings(max_examples=150, deadline=None)
@given(stage=stages)
def test_no_path_costs_more_than_the_whole(stage: Stage) -> None:
    """Of all paths through the plan, each with its own releases in a row."""
    whole = cost(stage)
    assert whole.delta <= DELTA
    for path in paths(stage.event(CONTEXT)):
        by_itself = account_for(Composed(path), DELTA)
        assert whole.epsilon >= by_itself.epsilon * (1 - SLIP)


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(stages, min_size=2, max_size=3).map(tuple))
def test_a_branch_costs_at_least_each_option_and_a_sequence_at_least_the_branch(parts: tuple[Stage, ...]) -> None:
    branch, sequence = cost(Branch(parts)), cost(Sequence(parts))
    each = [cost(part) for part in parts]
    assert branch.epsilon >= max(part.epsilon for part in each) * (1 - SLIP)
    assert sequence.epsilon >= max(part.epsilon for part in each) * (1 - SLIP)
    assert branch.rho is not None
    assert sequence.rho is not None
    rhos = [part.rho or 0.0 for part in each]
    assert branch.rho == max(rhos), "no rounding: one of them"
    assert math.fsum(rhos) <= sequence.rho <= math.fsum(rhos) * (1 + 1e-10)


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(stages, min_size=2, max_size=3).map(tuple), before=st.none() | leaves)
def test_neither_the_order_of_options_nor_of_stages_matters(parts: tuple[Stage, ...], before: Stage | None) -> None:
    """But for a relative 10⁻⁹: sums of μ² are rounded up once they are joined, in the order they come."""
    for kind in (Branch, Sequence):
        found = []
        for order in permutations(parts):
            stage: Stage = kind(order)
            found.append(cost(stage if before is None else Sequence((before, stage))))
        assert max(each.epsilon for each in found) <= min(each.epsilon for each in found) * (1 + SLIP)
        assert len({each.delta for each in found}) == 1
        rhos = [each.rho or 0.0 for each in found]
        assert max(rhos) <= min(rhos) * (1 + 1e-11)


@settings(max_examples=80, deadline=None)
@given(stage=stages, count=st.integers(2, 3))
def test_equal_options_of_several_stages_cost_what_they_cost_with_their_draws_as_pure_releases(
    stage: Stage, count: int
) -> None:
    """A draw at the top has its interval; in an option it has not. But for that, rounding alone is paid for."""
    one, many = cost(stage), cost(Branch((stage,) * count))
    assert many.epsilon >= one.epsilon * (1 - SLIP)
    assert many.rho == one.rho
    again = cost(Branch((Branch((stage,) * 2), stage)))
    assert again.epsilon == pytest.approx(many.epsilon, rel=SLIP)
    if not parts_of(stage, DrawStage) or not parts_of(stage, LinearStage) + parts_of(stage, ComparisonStage):
        assert many.epsilon == pytest.approx(one.epsilon, rel=SLIP)


@settings(max_examples=60, deadline=None)
@given(stage=stages, option=stages, more=leaves)
def test_another_option_or_another_stage_never_costs_less(stage: Stage, option: Stage, more: Stage) -> None:
    branch = cost(Branch((stage, option)))
    assert cost(Branch((stage, option, more))).epsilon >= branch.epsilon * (1 - SLIP)
    assert cost(Branch((stage, Sequence((option, more))))).epsilon >= branch.epsilon * (1 - SLIP)
    assert cost(Sequence((Branch((stage, option)), more))).epsilon >= branch.epsilon * (1 - SLIP)


# The lemma of proofs/plans.md on small laws ---------------------------------------------------------------------------


def profile(
    first: np.ndarray, other: np.ndarray, options: list[tuple[float, tuple[float, ...]]], epsilon: float
) -> float:
    """The exact δ at ε of a first release, and then option j(x) of (μ, pure ε) that it leads to, on worst laws."""
    total = 0.0
    for one, two, (mu, parts) in zip(first, other, options, strict=True):
        total += one * gaussian_delta(mu, epsilon - math.log(one / two), parts)
    return total


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    options=st.lists(
        st.tuples(st.floats(0.05, 1.5), st.lists(st.floats(0.01, 0.8), max_size=2).map(tuple)), min_size=1, max_size=3
    ),
    epsilon=st.floats(0.0, 2.0),
)
def test_whatever_leads_to_an_option_a_branch_is_dominated_by_its_join(
    seed: int, options: list[tuple[float, tuple[float, ...]]], epsilon: float
) -> None:
    rng = np.random.default_rng(seed)
    first, other = rng.dirichlet(np.ones(5), size=2) * 0.98 + 0.004
    taken = [options[place] for place in rng.integers(len(options), size=5)]  # a function of x
    join = max(mu for mu, _ in options), (max(math.fsum(parts) for _, parts in options),)
    assert profile(first, other, taken, epsilon) <= profile(first, other, [join] * 5, epsilon) * (1 + 1e-9) + 1e-15


def test_a_join_of_the_largest_mu_alone_would_not_do() -> None:
    """An option of draws beside one of sums: the profile of the sums is below that of the draws somewhere."""
    mu, epsilon = 0.3, 0.9
    assert gaussian_delta(mu, epsilon, ()) < 0.01 * math.expm1(1.0 - epsilon) / (1 + math.exp(1.0))
    stage = Branch((linear(9, 10.0), DrawStage(0.5)))
    assert cost(stage).epsilon > cost(DrawStage(0.5)).epsilon


def test_the_accountants_of_compose_refuse_a_branch() -> None:
    accountants: tuple[Choice, ...] = ("Rényi", "basic", "PLD", "best")
    for accountant in accountants:
        with pytest.raises(ParameterError):
            compose([OneOf((PureEvent(0.1), PureEvent(0.2)))], DELTA, accountant=accountant)


def test_to_compose_noisy_sums_are_their_gaussians() -> None:
    event = QUIET.sums
    assert isinstance(event, NoisySumsEvent)
    accountants: tuple[Choice, ...] = ("Rényi", "best")
    for accountant in accountants:
        together, apart = (
            compose([events], DELTA, accountant=accountant)
            for events in (event, Repeated(DiscreteGaussianEvent(200.0), 20))
        )
        assert together.epsilon == apart.epsilon


def test_draws_alone_add_up() -> None:
    stated = cost(Sequence((DRAW, OTHER, OTHER)))
    assert stated.is_pure
    assert stated.epsilon == pytest.approx(pure(DRAW) + 2 * pure(OTHER), rel=1e-9)
    assert stated.epsilon >= pure(DRAW) + 2 * pure(OTHER)
    assert cost(Branch((OTHER, DRAW))).epsilon == pure(DRAW)
    mixed = Sequence((OTHER, Branch((DRAW, Sequence((OTHER, OTHER))))))
    assert cost(mixed).epsilon == pytest.approx(pure(OTHER) + pure(DRAW), rel=1e-9)


def test_every_option_pays_for_the_largest_part_of_each_kind() -> None:
    """One option has the sums, another one the draws: whoever takes one of them is covered by both together."""
    stage = Branch((Sequence((QUIET, OTHER)), Sequence((DRAW, DRAW)), LOUD))
    shift = math.sqrt(LOUD.sums.squared_mu) * (1 + 1e-12)
    most = max(QUIET.draws, LOUD.draws)
    by_hand = fine_gaussian_epsilon(shift, DELTA, min(QUIET.scale, LOUD.scale), most, [2 * pure(DRAW)])
    assert cost(stage).epsilon == pytest.approx(by_hand, rel=1e-9)
