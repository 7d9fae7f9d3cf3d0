"""Which algorithm? Every one planned for the same request, what is proved of it beside what is expected of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from pcqr import registry
from pcqr.checks import check_integer
from pcqr.errors import InfeasiblePlan, MissingParameters, ParameterError
from pcqr.hypotheses.base import Combinatorics
from pcqr.planner import expectation as model
from pcqr.planner.request import NO_PINS, Demand, Request
from pcqr.planner.search import Knobs
from pcqr.releases.agnostic.planning import plan_agnostic, plan_direct
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.protocol.plan import Aim, Budget, Plan, Prediction
from pcqr.releases.semi_private.plan import PublishedPlan
from pcqr.releases.semi_private.planning import plan_semi_private
from pcqr.releases.subsample.plan import VotingPlan
from pcqr.releases.subsample.planning import plan_subsample
from pcqr.releases.universal.plan import ClassifierPlan, UniversalPlan
from pcqr.releases.universal.planning import plan_universal

_TIE = 0.005  # expected excess errors that differ by less are taken to be equal
_COIN = 0.49


@dataclass(frozen=True)
class Option:
    """One algorithm for a request, by its name in `pcqr.registry`.

    `plan` is None where there is none; `objection` then says why and what would help.
    `proved` bounds the excess error but for β (None: nothing is proved at this n). `expected` is a model's estimate.
    The two are never mixed.
    """

    algorithm: str
    plan: Plan | None
    proved: float | None = None
    expected: Prediction | None = None
    objection: str | None = None


@dataclass(frozen=True)
class Recommendation:
    """The option to take and a sentence that says why. None where nothing can run.

    Only what a command can run is recommended; `python` is what would do better, for those who work in Python.
    """

    option: Option | None
    reason: str
    python: Option | None = None


@np.errstate(all="ignore")
def compare(request: Request, start: Knobs | None = None) -> tuple[Option, ...]:
    """All algorithms that can be planned for one request, calibrated. `start` is where to begin the search for a proof.

    In the order of the registry, backwards: the simplest come first.
    """
    planned = [algorithm for algorithm in registry.algorithms() if algorithm.planner is not None]
    return tuple(_option(algorithm, request, start) for algorithm in reversed(planned))


def estimator_of(option: Option) -> str:
    """The name of the estimator that runs an option."""
    return registry.algorithm(option.algorithm).estimator_name


def recommend(options: Sequence[Option], alpha: float) -> Recommendation:
    """The least expected excess error among what a command can run, and of that among what is proved to stay within α.

    Near ties go to what can be published and applied for ever, then to what abstains instead of guessing.
    """
    possible = [option for option in options if option.plan is not None and option.expected is not None]
    if not possible:
        return Recommendation(None, "No algorithm can answer at these numbers.")
    if min(_excess(option) for option in possible) >= _COIN:
        return Recommendation(None, "No algorithm is expected to do better than a coin at these numbers.")
    overall = _best(possible, alpha)
    commanded = [option for option in possible if _entry(option).option is not None]
    best = _best(commanded, alpha) if commanded and min(map(_excess, commanded)) < _COIN else None
    python = None if overall is best else overall
    return Recommendation(best, _reason(best, possible, alpha, python), python)


def _best(pool: Sequence[Option], alpha: float) -> Option:
    pool = [option for option in pool if _is_proved(option, alpha)] or pool
    least = min(map(_excess, pool))
    near = (option for option in pool if _excess(option) <= least + _TIE)
    return min(near, key=lambda option: registry.algorithms().index(_entry(option)))


def _entry(option: Option) -> registry.Algorithm:
    return registry.algorithm(option.algorithm)


def _parameter(option: Option) -> str:
    """Return the strength of the option, by the kind of votes of its plan."""
    is_noisy = isinstance(option.plan, VotingPlan) and isinstance(option.plan.vote, NoisyMaxStage)
    return registry.algorithm("noisy max").recommended_because if is_noisy else _entry(option).recommended_because


def _is_proved(option: Option, alpha: float) -> bool:
    return option.proved is not None and option.proved <= alpha


def _excess(option: Option) -> float:
    return math.inf if option.expected is None else option.expected.excess_error


def _reason(best: Option | None, possible: Sequence[Option], alpha: float, python: Option | None) -> str:
    in_python = ""
    if python is not None:
        proof = ", and is proved to stay within α" if _is_proved(python, alpha) else ""
        in_python = (
            f" In Python, {estimator_of(python)} does better (expected excess error "
            f"{_excess(python):.2g}{proof}): {_parameter(python)}."
        )
    if best is None:
        return f"No command is expected to do better than a coin at these numbers.{in_python}"
    others = [option for option in possible if option is not best]
    beside = ""
    if others:
        next_best = min(others, key=_excess)
        beside = f" (expected excess error {_excess(best):.2g}, {next_best.algorithm} {_excess(next_best):.2g})"
    proof = (
        "its excess error is proved to stay within α"
        if _is_proved(best, alpha)
        else f"no command is proved to stay within α = {alpha:.4g} here, so this rests on the model"
    )
    return f"{best.algorithm}: {_parameter(best)}{beside}; {proof}.{in_python}"


def _option(algorithm: registry.Algorithm, request: Request, start: Knobs | None) -> Option:
    try:
        plan: Plan = registry.resolve(algorithm.planner)(request, start)
    except (InfeasiblePlan, ParameterError) as error:
        return Option(algorithm.name, None, objection=str(error))
    expected = plan.prediction if algorithm.expected is None else registry.resolve(algorithm.expected)(request, plan)
    return Option(algorithm.name, plan, plan.proved, expected)


# The planners that the registry names: calibrated, each from a request and where a search for a proof may begin.


def plan_sub_samp(request: Request, start: Knobs | None) -> VotingPlan:  # noqa: ARG001 - nothing is certified
    return plan_subsample(request, "calibrated", "auto")


def plan_ag_priv_cl(request: Request, start: Knobs | None) -> VotingPlan | ClassifierPlan:
    if request.hypotheses.is_fixed and request.pins == NO_PINS:
        return plan_direct(request)
    return plan_agnostic(request, "calibrated", start, "auto")


def plan_unv_priv_cl(request: Request, start: Knobs | None) -> UniversalPlan:
    return plan_universal(request, "calibrated", start)


def plan_sspp(request: Request, start: Knobs | None) -> PublishedPlan:  # noqa: ARG001 - nothing is searched for
    if request.public is None and not request.hypotheses.is_fixed:
        raise InfeasiblePlan("There are no public points to make a class of.", "public unlabelled points (--public P)")
    return plan_semi_private(request)


def sspp_expected(request: Request, plan: PublishedPlan) -> Prediction:
    return Prediction(0.0, model.published_excess(request, plan.draw, request.public), 0.0)


def unv_priv_cl_expected(request: Request, plan: UniversalPlan) -> Prediction | None:
    """Votes for the first m_o of m queries, the published classifier for the rest."""
    votes = plan.prediction
    if votes is None:
        return None
    after = plan.publish.after_queries
    share = min(1.0, after / request.queries)
    published = model.published_excess(request, plan.publish, after + (request.public or 0))
    return replace(
        votes,
        unanswered_share=share * votes.unanswered_share,
        excess_error=share * votes.excess_error + (1.0 - share) * published,
        unstable_share=share * votes.unstable_share,
        unanswered_range=None,  # measured for votes alone
        unstable_range=None,
    )


# ---------------------------------------------------------------------------------------------------------------------
# A question to the planner: what is known, and what is asked for.


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
