"""What a mechanism is to an accountant: a frozen value, true of every pair of neighbours and of every history.

The unit of privacy is `RECORD`: neighbours differ by one replaced record. A noise multiplier is σ/Δ, Δ being the
largest change (ℓ₂ norm) that such a replacement makes: twice the bound on one record's own term, where a sum of clipped
terms is released.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pcqr.checks import check_finite, check_integer, check_positive, keep_plain
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.unit import RECORD

MOST_RELEASES = 2**53


@dataclass(frozen=True)
class PureEvent:
    """`epsilon`-DP: the privacy loss lies in [−ε, ε]."""

    epsilon: float

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)
        keep_plain(self, floats=("epsilon",))


@dataclass(frozen=True)
class ApproximateEvent:
    """(`epsilon`, `delta`)-DP, whatever the mechanism: for instance a sparse vector by its own bound."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)
        check_finite("delta", self.delta)
        if not 0 <= self.delta < 1:
            raise ParameterError("delta", "a number in [0, 1)", self.delta)
        keep_plain(self, floats=("epsilon", "delta"))


@dataclass(frozen=True)
class BoundedRangeEvent:
    """The privacy loss lies in an interval of length `epsilon` that may depend on the neighbours and on the history.

    The exponential mechanism P(h) ∝ e^{−η·mistakes(h)} over a fixed class has ε = 2η: its loss is η times a change of
    mistakes in [−1, 1], shifted by the change of the normaliser (Durfee and Rogers 2019).
    """

    epsilon: float

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)
        keep_plain(self, floats=("epsilon",))


@dataclass(frozen=True)
class GaussianEvent:
    """Continuous Gaussian noise, exact in the reals, of standard deviation `noise_multiplier` · Δ."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        keep_plain(self, floats=("noise_multiplier",))


@dataclass(frozen=True)
class DiscreteGaussianEvent:
    """Discrete Gaussian noise on a grid of integers, of parameter σ = `noise_multiplier` · Δ, one draw a coordinate.

    1/(2·multiplier²)-zCDP (Canonne, Kamath and Steinke 2020), and no more: its (ε, δ) curve is not that of the
    continuous one, so the accountant of privacy loss distributions refuses it.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        keep_plain(self, floats=("noise_multiplier",))


@dataclass(frozen=True)
class ConcentratedEvent:
    """`rho`-zCDP: the Rényi divergence of every order α > 1 is at most ρα (Bun and Steinke 2016)."""

    rho: float

    def __post_init__(self) -> None:
        check_positive("rho", self.rho)
        keep_plain(self, floats=("rho",))


Release = PureEvent | ApproximateEvent | BoundedRangeEvent | GaussianEvent | DiscreteGaussianEvent | ConcentratedEvent


@dataclass(frozen=True)
class Composed:
    """One event after the other on the same records, each allowed to depend on what came before."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))


@dataclass(frozen=True)
class Repeated:
    """`count` runs of mechanisms that `event` describes, each allowed to depend on those before."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        check_integer("count", self.count, least=1)
        keep_plain(self, integers=("count",))


Event = Release | Guarantee | Composed | Repeated


@dataclass(frozen=True)
class Ledger:
    """The releases behind events, equal ones counted together: a loop and a count are the same ledger."""

    releases: tuple[tuple[Release, int], ...]
    assumptions: tuple[str, ...] = ()
    is_private: bool = True

    @property
    def count(self) -> int:
        return sum(count for _, count in self.releases)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Ledger:
        counts: Counter[Release] = Counter()
        promises: list[Guarantee] = []
        _enter(Composed(tuple(events)), 1, counts, promises)
        return cls(
            releases=tuple(counts.items()),
            assumptions=tuple(dict.fromkeys(line for promise in promises for line in promise.assumptions)),
            is_private=all(promise.is_private for promise in promises),
        )


def _enter(event: Event, count: int, counts: Counter[Release], promises: list[Guarantee]) -> None:
    match event:
        case Composed(events):
            for part in events:
                _enter(part, count, counts, promises)
        case Repeated(part, times):
            if count * times > MOST_RELEASES:
                raise ParameterError(
                    "count", "at most 2**53 releases in all", f"about 2**{(count * times).bit_length()}"
                )
            _enter(part, count * times, counts, promises)
        case Guarantee():
            if event.unit != RECORD:
                raise ParameterError("events", f"all about '{RECORD.adjacency}'", event.adjacency)
            promises.append(event)
            _enter(ApproximateEvent(event.epsilon, event.delta), count, counts, promises)
        case ApproximateEvent(epsilon, 0.0):
            counts[PureEvent(epsilon)] += count
        case _ if isinstance(event, Release):
            counts[event] += count
        case _:
            raise ParameterError("events", "events of pcqr.accounting or guarantees", type(event).__name__)


def _check_epsilon(value: float) -> None:
    check_finite("epsilon", value)
    if value < 0:
        raise ParameterError("epsilon", "a finite number ≥ 0", value)
