"""What a plan is made from: public numbers, checked once, with one wording for every mistake."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypedDict

from pcqr.checks import check_delta, check_integer, keep_plain
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import LARGEST_EXPONENT, Combinatorics
from pcqr.privacy.composition import Context
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import RECORD, Unit, check_proved
from pcqr.releases.protocol.answers import counted
from pcqr.releases.protocol.plan import Aim, Budget, Mode, Pins

NO_PINS = Pins()


class Promise(TypedDict):
    """The fields that all plans have."""

    mode: Mode
    budget: Budget
    aim: Aim | None
    guarantee: Guarantee


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What is asked of any number of records: p = `features` columns, the class, a budget, an aim, and pins.

    `aim` is None where nobody aims at an accuracy. `public` is the number of public points at hand; None: there are
    none. `unit` is whom privacy protects.
    """

    features: int
    hypotheses: Combinatorics
    budget: Budget
    aim: Aim | None = None
    pins: Pins = NO_PINS
    public: int | None = None
    unit: Unit = RECORD

    def __post_init__(self) -> None:
        check_proved(self.unit)
        if self.aim is not None and self.aim.queries is not None:
            check_delta(self.budget.delta)  # answers to queries, one by one, are not pure
        if not isinstance(self.hypotheses, Combinatorics):
            raise ParameterError("hypotheses", "a class from pcqr.hypotheses", self.hypotheses)
        check_integer("features", self.features, least=1)
        if self.public is not None:
            check_integer("public", self.public, least=1)
        keep_plain(self, integers=("features", "public"))

    @property
    def epsilon(self) -> float:
        """ε of the budget."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """δ of the budget."""
        return self.budget.delta

    @property
    def queries(self) -> int:
        """m. ParameterError where no number of queries was asked for: votes cannot be planned then."""
        if self.aim is None or self.aim.queries is None:
            raise ParameterError("queries", "an integer ≥ 1", None)
        return self.aim.queries

    @property
    def alpha(self) -> float:
        """α. ParameterError where nobody aims at an accuracy."""
        return self._aimed("alpha").alpha

    @property
    def beta(self) -> float:
        """β. ParameterError where nobody aims at an accuracy."""
        return self._aimed("beta").beta

    @property
    def is_pinned(self) -> bool:
        """Did the user fix anything that the planner would choose, or bring public points for the relabelling?"""
        return self.pins != NO_PINS or self.public is not None

    def but(self, **changes: Any) -> Self:
        """The same with some numbers changed, by name: its own, or those of its budget, its aim and its pins."""
        parts = {"budget": self.budget, "aim": self.aim, "pins": self.pins}
        for name, part in parts.items():
            inner = () if part is None else (field.name for field in fields(part))
            if own := {key: changes.pop(key) for key in inner if key in changes}:
                changes[name] = replace(part, **own)  # type: ignore[type-var]
        return replace(self, **changes)

    def on(self, records: int) -> Request:
        """The same, asked of n = `records` records."""
        own = {field.name: getattr(self, field.name) for field in fields(Demand)}
        return Request(records=records, **own)

    def promise(self, guarantee: Guarantee, mode: Mode = "calibrated") -> Promise:
        """What a plan with this `guarantee` starts from."""
        return {"mode": mode, "budget": self.budget, "aim": self.aim, "guarantee": guarantee}

    def _aimed(self, name: str) -> Aim:
        if self.aim is None:
            raise ParameterError(name, "a number in (0, 1)", None)
        return self.aim


@dataclass(frozen=True, kw_only=True)
class Request(Demand):
    """All that `fit` knows before it looks at a record: public numbers, checked once.

    Parameters
    ----------
    records : int
        n, the number of private records.
    features : int
        p, the columns of the table once it is encoded.
    hypotheses : HypothesisClass
        H, or what a plan needs to know of it.
    budget : Budget
        (ε, δ), the most that everything may cost together.
    aim : Aim or None, default None
        m queries and the accuracy (α, β). None where nobody aims at an accuracy.
    pins : Pins, default Pins()
        What the user fixes of that which the planner would choose.
    public : int or None, default None
        The number of public points at hand; None: there are none.
    unit : Unit, default RECORD
        Whom privacy protects. Only the record has proofs.

    Raises
    ------
    ParameterError
        When a number is outside its range, or answers to queries are asked for with δ = 0.

    Examples
    --------
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.releases.protocol.plan import Aim, Budget
    >>> from pcqr.planner.request import Request
    >>> request = Request(
    ...     records=10_000, features=1, hypotheses=Thresholds(), budget=Budget(1.0, 1e-6), aim=Aim(20, 0.1, 0.05)
    ... )
    >>> request.queries, request.epsilon
    (20, 1.0)
    >>> request.but(epsilon=0.5, teachers=199).budget
    Budget(epsilon=0.5, delta=1e-06)
    """

    records: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("records", self.records, least=1)
        keep_plain(self, integers=("records",))

    @property
    def context(self) -> Context:
        """The public facts that the figures of stages depend on."""
        return Context(self.hypotheses, self.records, self.features, self.public)

    def check_epsilon(self) -> None:
        """Raise where ε is so large that draws from so many records would lose their digits: before any is charged."""
        if self.epsilon * self.records > LARGEST_EXPONENT:
            largest = LARGEST_EXPONENT / self.records
            raise ParameterError(
                "epsilon", f"at most 2**52 / n = {largest:.3g} for {counted(self.records, 'record')}", self.epsilon
            )
