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
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import RECORD

MOST_RELEASES = 2**53


@dataclass(frozen=True)
class PureEvent:
    """A release that is ε-DP: its privacy loss lies in [−ε, ε].

    Parameters
    ----------
    epsilon : float
        ε ≥ 0.

    Raises
    ------
    ParameterError
        When ε is negative or not finite.

    Examples
    --------
    >>> from pcqr.privacy.accounting import PureEvent, compose
    >>> guarantee = compose([PureEvent(0.1), PureEvent(0.2)], delta=0)
    >>> round(guarantee.epsilon, 6), guarantee.is_pure
    (0.3, True)
    """

    epsilon: float

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)
        keep_plain(self, floats=("epsilon",))


@dataclass(frozen=True)
class ApproximateEvent:
    """A release that is (ε, δ)-DP, whatever the mechanism: for instance a sparse vector by its own bound.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0.
    delta : float
        δ, at least 0 and below 1.

    Raises
    ------
    ParameterError
        When ε or δ is outside its range.

    Examples
    --------
    >>> from pcqr.privacy.accounting import ApproximateEvent, compose
    >>> guarantee = compose([ApproximateEvent(0.5, 1e-7), ApproximateEvent(0.5, 1e-7)], delta=1e-6, accountant="basic")
    >>> round(guarantee.epsilon, 6), round(guarantee.delta, 9)
    (1.0, 2e-07)
    """

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
    """A release whose privacy loss lies in an interval of length ε that may depend on the neighbours and on the
    history.

    The exponential mechanism P(h) ∝ e^{−η·mistakes(h)} over a fixed class has ε = 2η: its loss is η times a change of
    mistakes in [−1, 1], shifted by the change of the normaliser [1]_.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0, the length of the interval.
    stated : Guarantee or None, default None
        The pure guarantee of the release by itself, where it is known to be better than the length. None: the length.

    Raises
    ------
    ParameterError
        When a figure is negative or not finite.

    References
    ----------
    .. [1] D. Durfee, R. Rogers. Practical differentially private top-k selection with pay-what-you-get composition.
       NeurIPS 2019.

    Examples
    --------
    A bounded range is better than pure ε-DP once there are many draws.

    >>> from pcqr.privacy.accounting import BoundedRangeEvent, PureEvent, Repeated, compose
    >>> for event in (PureEvent(0.1), BoundedRangeEvent(0.1)):
    ...     print(type(event).__name__, round(compose([Repeated(event, 200)], delta=1e-6).epsilon, 2))
    PureEvent 7.19
    BoundedRangeEvent 3.54
    """

    epsilon: float
    stated: Guarantee | None = None

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)
        if self.stated is not None and not self.stated.is_pure:
            raise ParameterError("stated", "a pure guarantee, or None", str(self.stated))
        keep_plain(self, floats=("epsilon",))

    @property
    def by_itself(self) -> Guarantee:
        """The guarantee of the release by itself."""
        return Guarantee(self.epsilon) if self.stated is None else self.stated


@dataclass(frozen=True)
class GaussianEvent:
    """Continuous Gaussian noise, exact in the reals.

    Parameters
    ----------
    noise_multiplier : float
        σ/Δ > 0: the standard deviation over the largest change, in the ℓ₂ norm, that one replaced record makes.

    Raises
    ------
    ParameterError
        When the multiplier is not positive and finite.

    Examples
    --------
    >>> from pcqr.privacy.accounting import GaussianEvent, compose
    >>> round(compose([GaussianEvent(5.0)], delta=1e-6).epsilon, 3)
    0.834
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        keep_plain(self, floats=("noise_multiplier",))


@dataclass(frozen=True)
class DiscreteGaussianEvent:
    """Discrete Gaussian noise on a grid of integers, one draw a coordinate.

    1/(2·multiplier²)-zCDP [1]_, and no more: its (ε, δ) curve is not that of the continuous one, so the accountant of
    privacy loss distributions refuses it.

    Parameters
    ----------
    noise_multiplier : float
        σ/Δ > 0, σ the parameter of the noise and Δ the largest change, in the ℓ₂ norm, that one replaced record makes.

    Raises
    ------
    ParameterError
        When the multiplier is not positive and finite.

    References
    ----------
    .. [1] C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020.

    Examples
    --------
    >>> from pcqr.privacy.accounting import DiscreteGaussianEvent, compose
    >>> guarantee = compose([DiscreteGaussianEvent(5.0)], delta=1e-6)
    >>> round(guarantee.epsilon, 3)
    0.9
    >>> guarantee.steps
    ('1 mechanism on the same records, composed by the Rényi accountant',)
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        keep_plain(self, floats=("noise_multiplier",))


@dataclass(frozen=True)
class ConcentratedEvent:
    """A release that is ρ-zCDP: the Rényi divergence of every order α > 1 is at most ρα [1]_.

    Parameters
    ----------
    rho : float
        ρ > 0.

    Raises
    ------
    ParameterError
        When ρ is not positive and finite.

    References
    ----------
    .. [1] M. Bun, T. Steinke. Concentrated differential privacy: simplifications, extensions, and lower bounds.
       TCC 2016.

    Examples
    --------
    >>> from pcqr.privacy.accounting import ConcentratedEvent, Repeated, compose
    >>> round(compose([Repeated(ConcentratedEvent(0.001), 10)], delta=1e-6).epsilon, 3)
    0.622
    """

    rho: float

    def __post_init__(self) -> None:
        check_positive("rho", self.rho)
        keep_plain(self, floats=("rho",))


@dataclass(frozen=True)
class NoisySumsEvent:
    """T sums of integer vectors, each with discrete Gaussian noise on every coordinate.

    To the accountants of `compose` these are T discrete Gaussians. What noise on a fine grid has beside that, `scale`
    and `draws` say (proofs/fine_gaussian.md).

    Parameters
    ----------
    noise_multiplier : float
        σ/Δ > 0 of each sum.
    steps : int
        T ≥ 1. Each sum may depend on those before it.
    scale : float
        σ > 0, in units of the grid.
    draws : int
        How many draws of noise are in all sums together.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.privacy.accounting import NoisySumsEvent, compose
    >>> sums = NoisySumsEvent(noise_multiplier=100.0, steps=500, scale=1e6, draws=2_000)
    >>> round(compose([sums], delta=1e-6).epsilon, 3)
    1.014
    """

    noise_multiplier: float
    steps: int
    scale: float
    draws: int

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        check_positive("scale", self.scale)
        check_integer("steps", self.steps, least=1)
        check_integer("draws", self.draws, least=1)
        keep_plain(self, floats=("noise_multiplier", "scale"), integers=("steps", "draws"))

    @property
    def squared_mu(self) -> float:
        """μ² of continuous noise: T/(σ/Δ)²."""
        return self.steps / self.noise_multiplier**2


Release = PureEvent | ApproximateEvent | BoundedRangeEvent | GaussianEvent | DiscreteGaussianEvent | ConcentratedEvent


@dataclass(frozen=True)
class Composed:
    """One event after the other on the same records, each allowed to depend on what came before.

    Parameters
    ----------
    events : tuple of Event
        The events, in any order: they add up.

    Examples
    --------
    >>> from pcqr.privacy.accounting import Composed, PureEvent, Repeated, compose
    >>> day = Composed((PureEvent(0.01), Repeated(PureEvent(0.001), 10)))
    >>> round(compose([Repeated(day, 5)], delta=0).epsilon, 6)
    0.1
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))


@dataclass(frozen=True)
class Repeated:
    """Several runs of mechanisms that one event describes, each allowed to depend on those before.

    Parameters
    ----------
    event : Event
        What describes each run.
    count : int
        How many runs, at least 1.

    Raises
    ------
    ParameterError
        When the count is no integer ≥ 1.

    Examples
    --------
    >>> from pcqr.privacy.accounting import DiscreteGaussianEvent, Repeated, compose
    >>> round(compose([Repeated(DiscreteGaussianEvent(100.0), 500)], delta=1e-6).epsilon, 3)
    1.014
    """

    event: Event
    count: int

    def __post_init__(self) -> None:
        check_integer("count", self.count, least=1)
        keep_plain(self, integers=("count",))


@dataclass(frozen=True)
class OneOf:
    """One of several events happens. Which one depends on nothing but what was released before.

    `pcqr.privacy.composition.account` knows it; the accountants of `compose` refuse it.

    Parameters
    ----------
    events : tuple of Event
        At least one.

    Raises
    ------
    ParameterError
        When there is none.

    Examples
    --------
    >>> from pcqr.privacy.accounting import NoisySumsEvent, OneOf
    >>> few, many = (NoisySumsEvent(100.0, steps, 1e6, steps) for steps in (10, 20))
    >>> len(OneOf((few, many)).events)
    2
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))
        if not self.events:
            raise ParameterError("events", "at least one event", ())


@dataclass(frozen=True)
class ShapingEvent:
    """A release that shapes what is drawn after it: its class, by predicates, or what each record counts, by weights.

    To the accountants of `compose` it is `event`. The interval of a draw of bounded range beside it may depend on the
    history, which `pcqr.privacy.composition.account` takes into account (proofs/bounded_range.md).

    Parameters
    ----------
    event : Event
        What was released.

    Examples
    --------
    >>> from pcqr.privacy.accounting import BoundedRangeEvent, ShapingEvent, Repeated, compose
    >>> cuts = ShapingEvent(Repeated(BoundedRangeEvent(0.01), 45))
    >>> round(compose([cuts], delta=1e-6).epsilon, 3)
    0.135
    """

    event: Event


Event = Release | NoisySumsEvent | Guarantee | Composed | Repeated | OneOf | ShapingEvent


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
        case ShapingEvent(part):
            _enter(part, count, counts, promises)
        case NoisySumsEvent():
            _enter(Repeated(DiscreteGaussianEvent(event.noise_multiplier), event.steps), count, counts, promises)
        case ApproximateEvent(epsilon, 0.0):
            counts[PureEvent(epsilon)] += count
        case _ if isinstance(event, Release):
            counts[event] += count
        case _:
            raise ParameterError("events", "events of pcqr.privacy.accounting or guarantees", type(event).__name__)


def _check_epsilon(value: float) -> None:
    check_finite("epsilon", value)
    if value < 0:
        raise ParameterError("epsilon", "a finite number ≥ 0", value)
