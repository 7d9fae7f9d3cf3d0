"""Plans that compose: stages, one after the other or one of several, and one fold for each fact about them.

A stage is a frozen value. It says what it is to an accountant (`Stage.event`), and `Sequence` and `Branch` say it of
their parts. `account` folds the event into a guarantee: (ε, δ), and ρ for accounts. Proof: proofs/plans.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

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
    OneOf,
    PureEvent,
    Repeated,
    ShapingEvent,
    compose,
)
from pcqr.privacy.accounting.gaussian import GAUSSIAN_OF_RANGE, fine_gaussian_epsilon
from pcqr.privacy.guarantee import Guarantee, rounded_up
from pcqr.serialization import Document

S = TypeVar("S", bound="Stage")

_FINEST = 2.0**50
"""σ where there is no noise on a grid."""

if TYPE_CHECKING:
    from pcqr.hypotheses.base import Combinatorics


@dataclass(frozen=True)
class Context:
    """The public facts that a stage's figures depend on beside its own numbers.

    Parameters
    ----------
    hypotheses : Combinatorics
        H, or what a plan needs to know of it.
    records : int
        n, the number of private records.
    features : int
        p, the columns of the encoded table.
    public : int or None, default None
        How many public points the class is made of. None: it is declared.

    Examples
    --------
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.privacy.composition import Context, account
    >>> from pcqr.releases.protocol.stages import DrawStage
    >>> context = Context(Stumps(cuts=[0.5]), records=1_000, features=1)
    >>> round(account(DrawStage(0.5), context, delta=0.0).epsilon, 6)
    1.0
    """

    hypotheses: Combinatorics
    records: int
    features: int
    public: int | None = None


class Stage(Document):
    """One step of a plan: the frozen parameters of something that looks at the private records.

    Examples
    --------
    >>> from pcqr.releases.protocol.stages import DrawStage
    >>> from pcqr.privacy.composition import Stage
    >>> from pcqr.releases.subsample.plan import VoteStage
    >>> issubclass(DrawStage, Stage), issubclass(VoteStage, Stage)
    (True, True)
    """

    def event(self, context: Context) -> Event:
        """Return what the stage is to an accountant."""
        raise NotImplementedError

    @property
    def proof(self) -> str:
        """The note in `proofs/` that proves the stage's figures."""
        return "plans"

    def words(self, context: Context) -> str:  # noqa: ARG002
        """Return what the stage does, for a model card or a dry run."""
        return type(self).__name__

    def within(self) -> Iterator[Stage]:
        """Yield the stage itself, or the stages that it is made of, in order.

        Returns
        -------
        iterator of Stage
        """
        yield self

    def longest(self) -> Iterator[Stage]:
        """Yield the stages of a run: of several options the one that takes the most time."""
        yield self

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        """Return (records, how many) of the draws and teachers that the stage needs on a table of n = `records`."""
        return ()

    @property
    def effort(self) -> float:
        """What the time of the stage grows with. Options are compared by it."""
        return 0.0


@dataclass(frozen=True)
class Sequence(Stage):
    """Stages on the same records, one after the other. Each may depend on what those before it showed.

    Parameters
    ----------
    stages : tuple of Stage
        At least two.

    Raises
    ------
    ParameterError
        When there are fewer, or one of them is no stage.

    Examples
    --------
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.privacy.composition import Context, Sequence, account
    >>> from pcqr.releases.protocol.stages import DrawStage
    >>> context = Context(Stumps(cuts=[0.5]), records=1_000, features=1)
    >>> twice = Sequence((DrawStage(0.5), DrawStage(0.25)))
    >>> round(account(twice, context, delta=0.0).epsilon, 6)
    1.5
    """

    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", _stages("stages", self.stages))

    def event(self, context: Context) -> Event:
        return Composed(tuple(stage.event(context) for stage in self.stages))

    def words(self, context: Context) -> str:
        return "; then ".join(self.steps(context))

    def steps(self, context: Context) -> tuple[str, ...]:
        """Return what each stage does, and for stages that buy predicates for others their share of μ.

        Noisy sums, selections and draws count as the Gaussian releases that dominate them. Pure releases do not count.
        The squares of the shares add up to 1.

        Parameters
        ----------
        context : Context
            The public facts that the figures depend on.

        Returns
        -------
        tuple of str
        """
        return tuple(self._step(stage, context) for stage in self.stages)

    def _step(self, stage: Stage, context: Context) -> str:
        words, event = stage.words(context), stage.event(context)
        bought = squared_mu(event) if isinstance(event, ShapingEvent) else 0.0
        if not bought:
            return words
        share = math.sqrt(bought / squared_mu(self.event(context)))
        return f"{words}, for {100.0 * share:.0f} % of the Gaussian-DP parameter μ"

    def within(self) -> Iterator[Stage]:
        return (part for stage in self.stages for part in stage.within())

    def longest(self) -> Iterator[Stage]:
        return (part for stage in self.stages for part in stage.longest())

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        return tuple(part for stage in self.stages for part in stage.work(records))

    @property
    def effort(self) -> float:
        return math.fsum(stage.effort for stage in self.stages)


@dataclass(frozen=True)
class Branch(Stage):
    """One of several stages. Which one depends on nothing but what was shown before.

    Parameters
    ----------
    options : tuple of Stage
        At least two.

    Raises
    ------
    ParameterError
        When there are fewer, or one of them is no stage.

    Examples
    --------
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.privacy.composition import Branch, Context, account
    >>> from pcqr.releases.protocol.stages import DrawStage
    >>> context = Context(Stumps(cuts=[0.5]), records=1_000, features=1)
    >>> round(account(Branch((DrawStage(0.5), DrawStage(0.25))), context, delta=0.0).epsilon, 6)
    1.0
    """

    options: tuple[Stage, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", _stages("options", self.options))

    def event(self, context: Context) -> Event:
        return OneOf(tuple(stage.event(context) for stage in self.options))

    def words(self, context: Context) -> str:
        return " or ".join(stage.words(context) for stage in self.options)

    def within(self) -> Iterator[Stage]:
        return (part for stage in self.options for part in stage.within())

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        return tuple(part for stage in self.options for part in stage.work(records))

    def longest(self) -> Iterator[Stage]:
        return max(self.options, key=lambda stage: stage.effort).longest()

    @property
    def effort(self) -> float:
        return max(stage.effort for stage in self.options)


def _stages(name: str, values: Any) -> tuple[Stage, ...]:
    stages = tuple(values)
    if len(stages) < 2 or not all(isinstance(stage, Stage) for stage in stages):
        raise ParameterError(name, "at least two stages", f"{len(stages)} values")
    return stages


def parts_of(stage: Stage, kind: type[S]) -> tuple[S, ...]:
    """Return the stages of this `kind` that `stage` is made of, those of all options included."""
    return tuple(part for part in stage.within() if isinstance(part, kind))


def account(stage: Stage, context: Context, delta: float = 0.0) -> Guarantee:
    """Return the guarantee of all that `stage` shows, with a δ of at most `delta`, and its ρ.

    Parameters
    ----------
    stage : Stage
        A stage, or a `Sequence` or `Branch` of stages.
    context : Context
        The public facts that its figures depend on.
    delta : float, default 0.0
        The most δ that noisy sums may cost. Votes have the δ of their own numbers.

    Returns
    -------
    Guarantee

    Raises
    ------
    ParameterError
        When no figure with such a δ is proved.

    Examples
    --------
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.privacy.composition import Context, account
    >>> from pcqr.releases.protocol.stages import DrawStage
    >>> print(account(DrawStage(0.5), Context(Stumps(cuts=[0.5]), records=1_000, features=1), delta=0.0))
    pure differential privacy with ε = 1.00001 under 'replace one record'
    """
    event = stage.event(context)
    stated = account_for(event, delta)
    return replace(stated, proof=stated.proof or stage.proof, rho=zcdp(event))


def account_for(event: Event, delta: float) -> Guarantee:
    """Return (ε, δ) of an event, with a δ of at most `delta` (proofs/plans.md)."""
    if isinstance(event, Guarantee):
        return event
    cost = _Cost.of(event)
    is_joint = bool(cost.sums or cost.failures or (cost.selections and delta > 0.0))
    if is_joint and cost.stated:
        raise ParameterError("stage", "one whose noisy sums stand beside draws and pure releases alone", "other stages")
    stated = sums_guarantee(cost, delta) if is_joint else cost.added_up()
    return stated.assuming(*cost.assumptions)


@dataclass(frozen=True)
class _Cost:
    """What a fold keeps of events: adds up in sequence, and is joined part by part over options."""

    sums: tuple[NoisySumsEvent, ...] = ()
    pure: tuple[float, ...] = ()
    ranges: tuple[BoundedRangeEvent, ...] = ()
    selections: tuple[tuple[float, int], ...] = ()
    """(r, how many) of releases of bounded range r whose intervals depend on those before."""
    failures: tuple[ApproximateEvent, ...] = ()
    stated: tuple[Guarantee, ...] = ()
    assumptions: tuple[str, ...] = ()
    is_adaptive: bool = False
    """May the class of a draw, or what records count in it, and so its interval, depend on the history?"""

    @classmethod
    def of(cls, event: Event) -> _Cost:
        match event:
            case ShapingEvent(part):
                return replace(cls.of(part), is_adaptive=True)
            case Composed(events):
                return reduce(cls._and_then, map(cls.of, events), cls())
            case OneOf(events):
                return reduce(cls._or_else, (cls.of(option)._unranged() for option in events))
        found = cls._of_release(event)
        if found is None:
            raise ParameterError("stage", "one whose events have a fold", type(event).__name__)
        return found

    @classmethod
    def _of_release(cls, event: Event) -> _Cost | None:
        found = None
        match event:
            case NoisySumsEvent():
                found = cls(sums=(event,))
            case PureEvent(epsilon):
                found = cls(pure=(epsilon,))
            case BoundedRangeEvent():
                found = cls(ranges=(event,), assumptions=event.by_itself.assumptions)
            case Repeated(BoundedRangeEvent() as selection, count):
                found = cls(selections=((selection.epsilon, count),))
            case ApproximateEvent():
                found = cls(failures=(event,))
            case Guarantee():
                found = cls(stated=(event,))
        return found

    def _and_then(self, other: _Cost) -> _Cost:
        return _Cost(
            self.sums + other.sums,
            self.pure + other.pure,
            self.ranges + other.ranges,
            self.selections + other.selections,
            self.failures + other.failures,
            self.stated + other.stated,
            self.assumptions + other.assumptions,
            self.is_adaptive or other.is_adaptive,
        )

    def _unranged(self) -> _Cost:
        """An option's draws as pure releases: whether one of them happens depends on the history."""
        return replace(self, pure=self.pure + tuple(event.by_itself.epsilon for event in self.ranges), ranges=())

    def _or_else(self, other: _Cost) -> _Cost:
        """What is at least as costly as each of both: one run of sums of the largest μ², and one pure release."""
        if any(cost.stated or cost.selections or cost.failures or cost.is_adaptive for cost in (self, other)):
            raise ParameterError("options", "stages of noisy sums, draws and pure releases", "other stages")
        sums = tuple(filter(None, (_together(self.sums), _together(other.sums))))
        pure = max(rounded_sum(self.pure), rounded_sum(other.pure))
        largest = (reduce(_larger, sums),) if sums else ()
        return _Cost(largest, (pure,) if pure else (), assumptions=self.assumptions + other.assumptions)

    def added_up(self) -> Guarantee:
        """Basic composition."""
        pure = (*self.pure, *(rounded_up(count * length) for length, count in self.selections))
        parts = (*self.stated, *(event.by_itself for event in self.ranges), *map(Guarantee, pure))
        first, *others = parts or (Guarantee(0.0),)  # a join of blind draws
        return first.compose(*others, proof="plans" if others else None)


def rounded_sum(figures: tuple[float, ...]) -> float:
    """Return the sum, rounded up where it is one of several numbers."""
    return math.fsum(figures) if len(figures) < 2 else rounded_up(math.fsum(figures))


def _together(sums: tuple[NoisySumsEvent, ...]) -> NoisySumsEvent | None:
    """One run of sums that is at least as costly as all of these one after the other."""
    if len(sums) < 2:
        return sums[0] if sums else None
    scale = min(run.scale for run in sums)
    multiplier = 1.0 / rounded_up(math.sqrt(math.fsum(run.squared_mu for run in sums)))
    return NoisySumsEvent(multiplier * (1.0 - 1e-12), 1, scale, sum(_draws_at(scale, run) for run in sums))


def _larger(first: NoisySumsEvent, second: NoisySumsEvent) -> NoisySumsEvent:
    costlier = first if first.squared_mu >= second.squared_mu else second
    return replace(costlier, scale=min(first.scale, second.scale), draws=max(first.draws, second.draws))


def sums_guarantee(cost: _Cost, delta: float) -> Guarantee:
    """Return the better of two figures for noisy sums and selections beside draws and pure releases.

    They are Rényi composition, and continuous noise with what the grid adds to δ: the shift is the root of the sum of
    all squared ones (proofs/linear.md, proofs/plans.md), and a selection of range r has one of r·√(π/8)
    (proofs/bounded_range.md). The interval of a draw's loss is the same whatever was released before it, as its class,
    prior and η are in the plan; where predicates or weights are released first, it may depend on them. Of several draws
    the longest is accounted as one of bounded range, the others as pure.
    """
    beside: tuple[Event, ...] = (*map(PureEvent, cost.pure), *cost.ranges, *cost.failures)
    runs = cost.sums
    selections = [Repeated(BoundedRangeEvent(length), count) for length, count in cost.selections]
    events: list[Event] = [*runs, *selections, *beside]
    stated = compose(events, delta, accountant="Rényi")
    squares = [run.squared_mu for run in runs]
    squares += [count * (GAUSSIAN_OF_RANGE * length) ** 2 for length, count in cost.selections]
    ranges = sorted(event.epsilon for event in cost.ranges)
    pure = [*cost.pure, *(each.epsilon for each in cost.failures), *ranges[:-1]]
    ranged = ranges[-1] if ranges else None
    steps, chosen = sum(run.steps for run in runs), sum(count for _, count in cost.selections)
    scale = min((run.scale for run in runs), default=_FINEST)
    draws = sum(_draws_at(scale, run) for run in runs)
    left = stated.delta - rounded_sum(tuple(each.delta for each in cost.failures))
    shift = rounded_up(math.sqrt(math.fsum(squares)))
    if left > 0.0 and shift > 0.0:
        fine = fine_gaussian_epsilon(shift, left, scale, draws, pure, ranged, is_adaptive=cost.is_adaptive)
    else:
        fine = math.inf
    if fine < stated.epsilon:
        kinds = [f"{len(pure)} pure"] * bool(pure) + ["one of bounded range"] * bool(ranges)
        exactly = f" beside {' and '.join(kinds)}, in closed form" if kinds else ""
        first = "the sums" if runs else "the selections"
        if runs and chosen:
            first = "the sums and selections"
        method = f"{first} accounted as continuous noise{exactly}, and the distance from it in δ"
        count = steps + chosen + len(beside)
        stated = replace(stated, epsilon=fine, steps=(f"{count} mechanisms on the same records, {method}",))
    if chosen:
        stated = stated.explained(f"{chosen} of them exponential mechanisms that follow one another")
    if runs:
        kind = f"{steps} of them noisy sums" if beside or chosen else "each a noisy sum"
        stated = stated.explained(f"{kind} of one bounded integer vector a record")
    return replace(stated, proof="")


def _draws_at(scale: float, run: NoisySumsEvent) -> int:
    """How many draws of `scale` ≤ σ are as far from continuous noise as all draws of `run` are: (scale/σ)² for each."""
    return run.draws if run.scale == scale else math.ceil(rounded_up(run.draws * (scale / run.scale) ** 2))


def squared_mu(event: Event) -> float:
    """Return Σμ² of the Gaussian releases that dominate noisy sums, selections and draws. Leaves out pure releases."""
    cost = _Cost.of(event)
    squares = [run.squared_mu for run in cost.sums]
    squares += [count * (GAUSSIAN_OF_RANGE * length) ** 2 for length, count in cost.selections]
    squares += [(GAUSSIAN_OF_RANGE * draw.epsilon) ** 2 for draw in cost.ranges]
    return math.fsum(squares)


def zcdp(event: Event) -> float | None:
    """Return ρ such that the event is ρ-zCDP, rounded up; None where none is proved (proofs/account.md)."""
    match event:
        case Guarantee():
            return event.rho
        case Composed(events) | OneOf(events):
            parts = [part for part in map(zcdp, events) if part is not None]
            if len(parts) < len(events):
                return None
            return max(parts) if isinstance(event, OneOf) else rounded_up(sum(parts))
        case Repeated(part, count):
            each = _rho(part)
            return None if each is None else rounded_up(count * each)
        case ShapingEvent(part):
            return zcdp(part)
    found = _rho(event)
    return None if found is None else rounded_up(found)


def _rho(event: Event) -> float | None:
    """ρ of one release, by the formula of its kind."""
    match event:
        case NoisySumsEvent(multiplier, steps):
            return steps / (2.0 * multiplier * multiplier)
        case DiscreteGaussianEvent(multiplier) | GaussianEvent(multiplier):
            return 1.0 / (2.0 * multiplier * multiplier)
        case BoundedRangeEvent(length):
            return length * length / 8.0
        case PureEvent(epsilon):
            return epsilon * epsilon / 2.0
        case ConcentratedEvent(rho):
            return rho
    return zcdp(event) if isinstance(event, Composed | OneOf | Repeated | ShapingEvent | Guarantee) else None
