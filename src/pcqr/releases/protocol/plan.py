"""What a user asks for: a privacy budget, an accuracy to aim at, and parameters that are not left to the planner."""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass
from functools import cache
from types import UnionType
from typing import ClassVar, Literal, get_args, get_type_hints

from pcqr.checks import check_delta, check_integer, check_positive, check_probability, check_teachers, keep_plain
from pcqr.errors import ParameterError
from pcqr.privacy.composition import Stage
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import USER, Unit, check_proved
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.stages import DrawStage
from pcqr.serialization import Document


@dataclass(frozen=True)
class Budget(Document):
    """(ε, δ): the most that everything which a plan releases may cost together.

    Parameters
    ----------
    epsilon : float
        ε > 0.
    delta : float, default 0.0
        δ, at least 0 and below 1. 0 asks for pure privacy.

    Raises
    ------
    ParameterError
        When ε or δ is outside its range.

    Examples
    --------
    >>> from pcqr.releases.protocol.plan import Budget
    >>> print(Budget(1.0, 1e-6))
    ε = 1.0, δ = 1e-06
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        if self.delta != 0:
            check_delta(self.delta)
        keep_plain(self, floats=("epsilon", "delta"))

    def __str__(self) -> str:
        return f"ε = {self.epsilon}, δ = {self.delta}"


@dataclass(frozen=True)
class Aim(Document):
    """The accuracy that is aimed at: an error of at most γ + α but for a chance β, γ the best error of the class.

    Parameters
    ----------
    queries : int or None
        m, the number of queries that it is about. None where any number of them will be answered: by a classifier that
        is published at once.
    alpha : float
        α, the excess error, above 0 and below 1.
    beta : float
        β, the chance of a larger one, above 0 and below 1.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.protocol.plan import Aim
    >>> Aim(queries=300, alpha=0.1, beta=0.05)
    Aim(queries=300, alpha=0.1, beta=0.05)
    """

    queries: int | None
    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if self.queries is not None:
            check_integer("queries", self.queries, least=1)
        check_probability("alpha", self.alpha)
        check_probability("beta", self.beta)
        keep_plain(self, floats=("alpha", "beta"), integers=("queries",))


@dataclass(frozen=True)
class Pins:
    """Parameters that the user fixes. None means: choose for me.

    Parameters
    ----------
    teachers : int or None, default None
        k, odd.
    unstable : int or None, default None
        T, the unstable answers that may be given.
    sampling_rate : float or None, default None
        q, the share of the records in the secret sub-sample.
    inverse_temperature : float or None, default None
        η of the relabelling.
    publish_share : float or None, default None
        The share of ε for the classifier that a universal release publishes.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.protocol.plan import Pins
    >>> Pins(teachers=499).unstable is None
    True
    """

    teachers: int | None = None
    unstable: int | None = None
    sampling_rate: float | None = None
    inverse_temperature: float | None = None
    publish_share: float | None = None

    def __post_init__(self) -> None:
        if self.teachers is not None:
            check_teachers(self.teachers)
        if self.unstable is not None:
            check_integer("unstable", self.unstable, least=1)
        if self.sampling_rate is not None:
            check_probability("sampling_rate", self.sampling_rate, one_allowed=True)
        if self.inverse_temperature is not None:
            check_positive("inverse_temperature", self.inverse_temperature)
        if self.publish_share is not None:
            check_probability("publish_share", self.publish_share)
        keep_plain(
            self,
            floats=("sampling_rate", "inverse_temperature", "publish_share"),
            integers=("teachers", "unstable"),
        )


# ---------------------------------------------------------------------------------------------------------------------
# What is expected of a plan.


@dataclass(frozen=True)
class Prediction(Document):
    """What the planner expects, from public numbers: a model's estimate, not a bound and not a measurement.

    Parameters
    ----------
    unanswered_share : float
        The share of the planned queries that get no label, those after a halt included.
    excess_error : float
        The error beyond γ, a coin counted where there is no label.
    unstable_share : float
        The chance that one query is unstable while the release goes on.
    unanswered_range, unstable_range : (float, float) or None, default None
        The shares with the model as far off, to either side, as it was on real tables (docs/planning.md). None: nobody
        measured.

    Examples
    --------
    >>> from pcqr import SubsampleAggregate
    >>> from pcqr.releases.protocol.plan import Prediction
    >>> plan = SubsampleAggregate(queries=20, teachers=499).plan(records=5_000, features=1)
    >>> isinstance(plan.prediction, Prediction), 0 <= plan.prediction.unstable_share <= 1
    (True, True)
    """

    unanswered_share: float
    excess_error: float
    unstable_share: float
    unanswered_range: tuple[float, float] | None = None
    unstable_range: tuple[float, float] | None = None


Mode = Literal["paper", "calibrated"]


Vote = Literal["auto", "stability", "noisy max"]


@cache
def _parts(plan: type[Plan]) -> dict[str, tuple[type, ...]]:
    """Return the fields that hold the budget, the guarantee or a stage, and the classes that each may have."""
    hints = get_type_hints(plan).items()
    kinds = {name: get_args(hint) if isinstance(hint, UnionType) else (hint,) for name, hint in hints}
    return {name: parts for name, parts in kinds.items() if all(map(_is_part, parts))}


def _is_part(kind: object) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or kind is Stage)


@dataclass(frozen=True, kw_only=True)
class Plan(Document):
    """What was decided before the private data was touched. Every whole plan is one.

    Parameters
    ----------
    mode : {"paper", "calibrated"}
        Whose constants it has.
    budget : Budget
        (ε, δ) as asked for.
    guarantee : Guarantee
        What the stages really cost. It is within the budget: no other plan can be made.
    aim : Aim or None, default None
        The accuracy that was aimed at; None where nobody aimed at one.
    prediction : Prediction or None, default None
        What is expected. None in paper mode and for what is published at once.
    proved : float or None, default None
        A bound on the excess error but for a chance β. None: nothing is proved at this n. Privacy is proved always.

    Attributes
    ----------
    certified : bool
        Is the proved bound at most α?
    epsilon, delta : float
        Those of the budget.

    Raises
    ------
    ParameterError
        When the guarantee exceeds the budget or is about another unit than the record or the person, or a part is none
        of what it should be.

    Examples
    --------
    >>> from pcqr import Guarantee, Plan
    >>> from pcqr.releases.protocol.plan import Budget
    >>> plan = Plan(mode="calibrated", budget=Budget(1.0, 1e-6), guarantee=Guarantee(0.9))
    >>> plan.epsilon, plan.certified
    (1.0, False)
    >>> Plan(mode="calibrated", budget=Budget(0.5), guarantee=Guarantee(0.9))
    Traceback (most recent call last):
        ...
    pcqr.errors.ParameterError: guarantee must be within ε = 0.5, δ = 0.0; received "pure differential privacy
    with ε = 0.9 under 'replace one record'".
    """

    mode: Mode
    budget: Budget
    guarantee: Guarantee
    aim: Aim | None = None
    prediction: Prediction | None = None
    proved: float | None = None
    certified: bool = field(init=False)
    units: ClassVar[tuple[Unit, ...]] = (USER,)
    """Units other than the record that plans of this kind have a proof for."""

    def __post_init__(self) -> None:
        for name, kinds in _parts(type(self)).items():  # type: ignore[arg-type]  # a class can be hashed
            if not isinstance(getattr(self, name), kinds):
                raise ParameterError(name, " or ".join(f"a {kind.__name__}" for kind in kinds), getattr(self, name))
        if self.mode not in get_args(Mode):
            raise ParameterError("mode", f"one of {', '.join(map(repr, get_args(Mode)))}", self.mode)
        check_proved(self.guarantee.unit, *self.units)
        if not self.guarantee.within(self.epsilon, self.delta):
            raise ParameterError("guarantee", f"within {self.budget}", str(self.guarantee))
        if self.proved is not None and (self.aim is None or not self.proved >= 0):
            raise ParameterError("proved", "a number ≥ 0 with an aim, else None", self.proved)
        keep_plain(self, floats=("proved",))
        is_certified = self.aim is not None and self.proved is not None and self.proved <= self.aim.alpha
        object.__setattr__(self, "certified", is_certified)

    @property
    def epsilon(self) -> float:
        """ε of the budget."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """δ of the budget."""
        return self.budget.delta

    @property
    def stages(self) -> Stage:
        """All that will look at the private records: a stage, or a `Sequence` or `Branch` of stages."""
        raise NotImplementedError

    @property
    def draw(self) -> DrawStage:
        """The draw of a plan that is one draw; ParameterError for other plans."""
        if not isinstance(self.stages, DrawStage):
            raise ParameterError("plan", "one draw", type(self.stages).__name__)
        return self.stages


@dataclass(frozen=True, kw_only=True)
class QueryPlan(Plan):
    """A plan for answers to queries, one by one. It cannot be made without a number of them.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.

    Attributes
    ----------
    queries : int
        m, the planned number of queries.

    Examples
    --------
    >>> from pcqr import Guarantee
    >>> from pcqr.releases.protocol.plan import Aim, Budget, QueryPlan
    >>> plan = QueryPlan(
    ...     mode="calibrated", budget=Budget(1.0, 1e-6), guarantee=Guarantee(0.9), aim=Aim(300, 0.1, 0.05)
    ... )
    >>> plan.queries
    300
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        _planned(self.aim)

    @property
    def queries(self) -> int:
        """m, the planned number of queries."""
        return _planned(self.aim)

    @property
    def remaining(self) -> Usage:
        """What a release with this plan may answer before it halts, at first. None: without end, without ⊥."""
        return Usage(None, None)


def _planned(aim: Aim | None) -> int:
    if aim is None or aim.queries is None:
        raise ParameterError("aim", "one with a number of queries", aim)
    return aim.queries
