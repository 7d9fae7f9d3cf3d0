"""One wrapper for all accountants: the best valid figure, refusals with reasons, counts and loops alike."""

from __future__ import annotations

import math
from itertools import chain, repeat
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pcqr.errors import ParameterError
from pcqr.privacy.accounting import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    ConcentratedEvent,
    DiscreteGaussianEvent,
    Event,
    GaussianEvent,
    NoisySumsEvent,
    PureEvent,
    Repeated,
    ShapingEvent,
    compose,
    concentrated_epsilon,
)
from pcqr.privacy.accounting.compose import _ACCOUNTANTS, Choice
from pcqr.privacy.accounting.events import Ledger
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import Unit

ONE_OF_EACH: dict[type, Event] = {
    PureEvent: PureEvent(0.1),
    ApproximateEvent: ApproximateEvent(0.1, 1e-8),
    BoundedRangeEvent: BoundedRangeEvent(0.2),
    GaussianEvent: GaussianEvent(10.0),
    DiscreteGaussianEvent: DiscreteGaussianEvent(10.0),
    ConcentratedEvent: ConcentratedEvent(0.005),
    NoisySumsEvent: NoisySumsEvent(20.0, 3, 1e6, 60),
    Guarantee: Guarantee(0.1, 1e-8),
    Composed: Composed((PureEvent(0.1), BoundedRangeEvent(0.1))),
    Repeated: Repeated(PureEvent(0.1), 2),
    ShapingEvent: ShapingEvent(Repeated(BoundedRangeEvent(0.1), 2)),
}


@pytest.mark.parametrize("event", ONE_OF_EACH.values(), ids=lambda event: type(event).__name__)
def test_composition_by_count_is_composition_by_loop(event: Event) -> None:
    counted = compose([Repeated(event, 10)], 1e-6)
    assert counted == compose([event] * 10, 1e-6) == compose([Repeated(Composed((event,) * 5), 2)], 1e-6)
    assert counted.epsilon > 1.5 * compose([event], 1e-6).epsilon


PROMISES = st.builds(Guarantee, st.floats(0.01, 0.5), st.just(0.0) | st.floats(1e-12, 1e-9))
RELEASES = st.one_of(
    st.floats(0.01, 0.5).map(PureEvent),
    st.floats(0.01, 0.5).map(BoundedRangeEvent),
    st.builds(ApproximateEvent, st.floats(0.01, 0.5), st.floats(1e-12, 1e-9)),
    PROMISES,
    st.builds(Guarantee.amplify, PROMISES, st.floats(0.01, 1.0)),
    st.builds(Guarantee.group, PROMISES, st.integers(1, 3)),
    st.floats(2.0, 50.0).map(GaussianEvent),
    st.floats(2.0, 50.0).map(DiscreteGaussianEvent),
    st.floats(1e-4, 0.1).map(ConcentratedEvent),
)
COUNTED = st.lists(st.tuples(RELEASES, st.integers(1, 6)), min_size=1, max_size=3)


@pytest.mark.parametrize("name", _ACCOUNTANTS)
@given(counted=COUNTED, data=st.data())
@settings(max_examples=30)
def test_random_ledgers_by_count_and_by_loop(
    name: Choice, counted: list[tuple[Event, int]], data: st.DataObject
) -> None:
    """In any order and nesting; and the accountant itself gives the same when it is handed one release at a time."""
    accountant, delta = _ACCOUNTANTS[name], 1e-6
    loop = data.draw(st.permutations(list(chain.from_iterable(repeat(event, count) for event, count in counted))))
    ledger = Ledger.of(Repeated(event, count) for event, count in counted)
    assert dict(ledger.releases) == dict(Ledger.of(loop).releases)
    assert (accountant.objection(ledger, delta) is None) == (accountant.objection(Ledger.of(loop), delta) is None)
    if accountant.objection(ledger, delta) is not None:
        return
    figures = accountant.figures(ledger, delta)
    one_by_one = Ledger(tuple((release, 1) for release, count in ledger.releases for _ in range(count)))
    for other in (Ledger.of(loop), Ledger.of([Composed(tuple(loop))]), one_by_one):
        assert accountant.figures(other, delta) == pytest.approx(figures, rel=1e-3 if name == "PLD" else 1e-9)


@given(PROMISES, st.integers(1, 50), st.floats(0.01, 1.0), st.integers(1, 5))
def test_amplified_and_grouped_guarantees_are_events(promise: Guarantee, count: int, rate: float, size: int) -> None:
    epsilon, delta = promise.epsilon, promise.delta
    amplified = compose([Repeated(promise.amplify(rate), count)], 1e-6, accountant="basic")
    assert amplified.epsilon == pytest.approx(count * math.log1p(rate * math.expm1(epsilon)), rel=1e-9)
    assert amplified.delta == pytest.approx(count * rate * delta, rel=1e-9)
    grouped = compose([Repeated(promise.group(size), count)], 1e-6, accountant="basic")
    assert grouped.epsilon == pytest.approx(count * size * epsilon, rel=1e-9)
    copies = [math.exp(j * epsilon) for j in range(size)]  # one neighbour after the other
    assert grouped.delta == pytest.approx(count * delta * math.fsum(copies), rel=1e-9)


@pytest.mark.parametrize("accountant", [name for name in get_args(Choice) if name != "best"])
def test_groups_and_sub_samples_may_come_before_or_after_composition(accountant: Choice) -> None:
    """Both orders are valid and of the same size; forgetting either would show."""
    promise = Guarantee(0.1, 1e-10)
    before = compose([Repeated(promise.group(2), 40)], 1e-6, accountant=accountant)
    after = compose([Repeated(promise, 40)], 1e-7, accountant=accountant).group(2)
    assert before.epsilon == pytest.approx(after.epsilon, rel=0.3)
    assert before.epsilon > 1.9 * compose([Repeated(promise, 40)], 1e-6, accountant=accountant).epsilon
    single = compose([Repeated(promise.amplify(0.1), 40)], 1e-6, accountant=accountant)
    assert single.epsilon < 0.2 * compose([Repeated(promise, 40)], 1e-6, accountant=accountant).epsilon


@given(st.floats(1e-6, 5.0), st.integers(1, 1000))
def test_pure_composition_is_k_epsilon(epsilon: float, count: int) -> None:
    whole = compose([Repeated(PureEvent(epsilon), count)], 0.0)
    assert whole.is_pure
    assert count * epsilon <= whole.epsilon <= count * epsilon * (1.0 + 1e-11)
    assert "basic" in whole.steps[0]


EVENTS = st.lists(
    st.one_of(
        st.floats(0.01, 1.0).map(PureEvent),
        st.floats(0.01, 1.0).map(BoundedRangeEvent),
        st.builds(ApproximateEvent, st.floats(0.01, 1.0), st.floats(1e-12, 1e-9)),
        st.builds(Repeated, st.floats(0.01, 0.2).map(BoundedRangeEvent), st.integers(1, 200)),
        st.floats(1.0, 50.0).map(DiscreteGaussianEvent),
    ),
    min_size=1,
    max_size=4,
)


@given(EVENTS, st.floats(1e-8, 1e-3), st.floats(1.0, 10.0))
@settings(max_examples=50)
@example([PureEvent(1.0), *[BoundedRangeEvent(0.5)] * 2, BoundedRangeEvent(0.375)], 3.04e-4, 1.0)  # two low points
def test_more_events_cost_more_and_more_delta_less(events: list[Event], delta: float, factor: float) -> None:
    whole = compose(events, delta, accountant="Rényi").epsilon
    slack = 1e-9 * (1.0 + whole)
    assert compose([*events, PureEvent(0.1)], delta, accountant="Rényi").epsilon >= whole - slack
    assert compose(events, delta * factor, accountant="Rényi").epsilon <= whole + slack


@given(st.floats(0.02, 0.5), st.integers(2, 60), st.floats(1e-8, 1e-3))
@settings(max_examples=25, deadline=None)
def test_the_best_is_the_least(epsilon: float, count: int, delta: float) -> None:
    events = [Repeated(PureEvent(epsilon), count)]
    single = [compose(events, delta, accountant=name) for name in get_args(Choice) if name != "best"]
    best = compose(events, delta)
    assert best in single
    assert best.epsilon == min(stated.epsilon for stated in single)
    assert best.delta <= delta


def test_discrete_gaussians_are_accounted_by_zcdp_alone() -> None:
    events = [Repeated(DiscreteGaussianEvent(20.0), 100)]
    assert compose(events, 1e-6).epsilon == pytest.approx(concentrated_epsilon(100 / 800, 1e-6), rel=1e-9)
    assert compose(events, 1e-6).epsilon > compose([Repeated(GaussianEvent(20.0), 100)], 1e-6).epsilon
    with pytest.raises(ParameterError, match="no privacy loss distribution dominates DiscreteGaussianEvent"):
        compose(events, 1e-6, accountant="PLD")


def test_bounded_range_is_cheaper_than_pure() -> None:
    """ε²/8 against ε²/2: many exponential mechanisms cost about half of what pure ones do."""
    ranged, pure = (compose([Repeated(kind(0.05), 1000)], 1e-6) for kind in (BoundedRangeEvent, PureEvent))
    assert ranged.epsilon < 0.6 * pure.epsilon
    assert "Rényi" in ranged.steps[0]


def test_events_are_about_records_and_add_up_with_nothing_else() -> None:
    with pytest.raises(ParameterError, match=r"all about 'replace one record'.*replace one person"):
        compose([Repeated(Guarantee(0.1, unit=Unit.user(2)), 3)], 1e-6)


def test_approximate_events_keep_their_delta() -> None:
    events = [Repeated(ApproximateEvent(0.1, 1e-8), 50)]
    basic = compose(events, 1e-6, accountant="basic")
    assert basic.delta == pytest.approx(5e-7)
    assert compose(events, 1e-6).epsilon < basic.epsilon
    with pytest.raises(ParameterError, match=r"the events alone have δ = 5\.0"):
        compose(events, 4e-7)


@pytest.mark.parametrize("accountant", ["Rényi", "PLD"])
def test_what_approximate_events_bring_is_missing_in_the_conversion(accountant: Choice) -> None:
    approximate, pure = Repeated(ApproximateEvent(0.1, 1e-8), 50), Repeated(PureEvent(0.1), 50)
    whole = compose([approximate], 1e-6, accountant=accountant)
    assert whole.epsilon == pytest.approx(compose([pure], 5e-7, accountant=accountant).epsilon, rel=1e-5)


@pytest.mark.parametrize(
    ("events", "delta", "accountant", "name"),
    [
        ([], 1e-6, "best", "events"),
        ([GaussianEvent(1.0)], 0.0, "best", "events"),
        ([GaussianEvent(1.0)], 1e-6, "basic", "events"),
        ([PureEvent(1.0)], 1e-11, "PLD", "events"),
        ([PureEvent(200.0)], 1e-6, "PLD", "events"),
        ([Repeated(PureEvent(20.0), 100), GaussianEvent(0.5)], 1e-6, "PLD", "events"),
        ([GaussianEvent(1e-200)], 1e-6, "best", "epsilon"),
        ([BoundedRangeEvent(1e200), PureEvent(1e308)], 1e-6, "PLD", "events"),
        ([PureEvent(1.0)], 1.0, "best", "delta"),
        ([PureEvent(1.0)], float("nan"), "best", "delta"),
        ([PureEvent(1.0)], 1e-6, "moments", "accountant"),
    ],
)
def test_what_no_accountant_knows_is_refused(events: list[Event], delta: float, accountant: Choice, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        compose(events, delta, accountant=accountant)
    assert caught.value.name == name


@pytest.mark.parametrize("event", [PureEvent(1e-300), GaussianEvent(1e200), BoundedRangeEvent(0.0), PureEvent(1e300)])
def test_extreme_events_have_figures(event: Event) -> None:
    beside = PureEvent(0.5)
    assert compose([event, beside], 1e-6).epsilon >= compose([beside], 1e-6).epsilon * (1.0 - 1e-9)
