"""A question to the planner: what is known, and what is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from pcqr.checks import check_integer
from pcqr.errors import MissingParameters, ParameterError
from pcqr.hypotheses.base import Combinatorics
from pcqr.plan import Aim, Budget
from pcqr.planning.request import Demand, Request

Unknown = Literal["records", "alpha", "queries", "epsilon", "delta", "beta"]


@dataclass(frozen=True)
class Parameter:
    """A number that a question may leave open: its symbol, its option on the command line.

    `assumed` stands for δ and β where they are not given, and for any other where it was asked for, none was found, and
    the rest is shown. `grid`: the round values that a table runs through where two numbers are open.
    """

    symbol: str
    flag: str
    assumed: float | None = None
    grid: tuple[float, ...] = ()


PARAMETERS: dict[Unknown, Parameter] = {
    "queries": Parameter("m", "--queries", 1_000, (100, 1_000, 10_000)),
    "epsilon": Parameter("ε", "--epsilon", 1.0, (0.3, 1.0, 3.0)),
    "alpha": Parameter("α", "--alpha", 0.1, (0.05, 0.1, 0.2)),
    "records": Parameter("n", "--n", None, (10**5, 10**6, 10**7)),
    "delta": Parameter("δ", "--delta", 1e-6),
    "beta": Parameter("β", "--beta", 0.05),
}
"""In the order in which one of two open numbers is chosen to run through its grid."""
SYMBOLS: dict[Unknown, str] = {name: parameter.symbol for name, parameter in PARAMETERS.items()}
ASSUMED: dict[Unknown, float] = {name: known.assumed for name, known in PARAMETERS.items() if known.assumed is not None}
_MOST_OPEN = 2


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is known; None is what is asked for. δ and β have defaults, unless `solve` asks for one of them."""

    hypotheses: Combinatorics
    features: int = 1
    records: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    queries: int | None = None
    alpha: float | None = None
    beta: float | None = None
    public: int | None = None
    solve: Unknown | None = None

    def __post_init__(self) -> None:
        if self.solve is not None and self.solve not in get_args(Unknown):
            raise ParameterError("solve", f"one of {', '.join(get_args(Unknown))}", self.solve)
        if self.solve is not None and getattr(self, self.solve) is not None:
            raise ParameterError(self.solve, "left out, since it is to be solved for", getattr(self, self.solve))
        if len(self.unknown) > _MOST_OPEN:
            raise MissingParameters([PARAMETERS[name].flag for name in self.unknown], _MOST_OPEN)
        if self.records is not None:
            check_integer("records", self.records, least=1)
        if self.alpha is not None and not 0 < self.alpha < 0.5:
            raise ParameterError("alpha", "in (0, ½): a coin has an excess error of at most ½", self.alpha)

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        names: tuple[Unknown, ...] = ("records", "alpha", "queries", "epsilon")
        asked = tuple(name for name in names if getattr(self, name) is None)
        return asked if self.solve is None or self.solve in asked else (*asked, self.solve)

    def value(self, name: Unknown) -> Any:
        """As given, or the default of δ or β. Refused where it is what is asked for."""
        value = getattr(self, name)
        if value is None and name in ("delta", "beta") and name != self.solve:
            return ASSUMED[name]
        if value is None:
            raise ParameterError(name, "known before anything is planned", None)
        return value

    def demand(self, **known: float) -> Demand:
        """What is asked of any number of records, with the values of `known` for what is unknown."""
        values: dict[str, Any] = {name: known[name] if name in known else self.value(name) for name in ASSUMED}
        budget = Budget(values["epsilon"], values["delta"])
        aim = Aim(values["queries"], values["alpha"], values["beta"])
        return Demand(features=self.features, hypotheses=self.hypotheses, budget=budget, aim=aim)

    def request(self, **known: float) -> Request:
        """The `demand` on n = `records` records, which must be known as well."""
        return self.demand(**known).on(self.value("records"))

    def assuming(self) -> Question:
        """The same question with what `ASSUMED` says in the place of unknown numbers. n stays unknown."""
        assumed = {name: ASSUMED[name] for name in self.unknown if name in ASSUMED}
        return replace(self, solve=None, **assumed)  # type: ignore[arg-type]
