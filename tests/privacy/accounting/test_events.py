"""Events are checked values, and a ledger does not care whether they came by a loop, by a count or nested."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pcqr.errors import ParameterError
from pcqr.privacy.accounting import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    ConcentratedEvent,
    DiscreteGaussianEvent,
    Event,
    GaussianEvent,
    PureEvent,
    Repeated,
)
from pcqr.privacy.accounting.events import Ledger
from pcqr.privacy.guarantee import Guarantee


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: PureEvent(-0.1), "epsilon"),
        (lambda: PureEvent(float("nan")), "epsilon"),
        (lambda: BoundedRangeEvent(float("inf")), "epsilon"),
        (lambda: ApproximateEvent(1.0, 1.0), "delta"),
        (lambda: ApproximateEvent(1.0, -1e-9), "delta"),
        (lambda: GaussianEvent(0.0), "noise_multiplier"),
        (lambda: DiscreteGaussianEvent(-1.0), "noise_multiplier"),
        (lambda: ConcentratedEvent(0.0), "rho"),
        (lambda: Repeated(PureEvent(1.0), 0), "count"),
        (lambda: Repeated(PureEvent(1.0), 2.0), "count"),  # type: ignore[arg-type]
        (lambda: Ledger.of([0.5]), "events"),  # type: ignore[list-item]
    ],
)
def test_what_is_no_event_is_refused_by_name(make: Callable[[], object], name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.name == name


def test_a_ledger_counts_nested_events() -> None:
    pure, gauss = PureEvent(0.1), GaussianEvent(3.0)
    nested: list[Event] = [Repeated(Composed((pure, Repeated(gauss, 3))), 4), pure]
    assert Ledger.of(nested).releases == ((pure, 5), (gauss, 12))
    assert Ledger.of(nested).count == 17


def test_what_a_guarantee_assumes_is_kept_and_a_seed_is_not_forgotten() -> None:
    seeded = Guarantee(0.1, 1e-9).assuming("the class is public").drawn_with(private_entropy=False)
    ledger = Ledger.of([PureEvent(1.0), Repeated(seeded, 2)])
    assert ledger.assumptions == ("the class is public",)
    assert not ledger.is_private
    assert dict(ledger.releases)[ApproximateEvent(0.1, 1e-9)] == 2


def test_as_many_releases_as_float64_can_count_are_taken_and_no_more() -> None:
    assert Ledger.of([Repeated(Repeated(PureEvent(0.1), 2**23), 2**30)]).count == 2**53
    with pytest.raises(ParameterError, match="count"):
        Ledger.of([Repeated(PureEvent(0.1), 2**53 + 1)])
