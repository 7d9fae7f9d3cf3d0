"""Which algorithm? Every one planned for the same request, what is proved of it beside what is expected of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcqr import registry
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.plan import (
    ClassifierPlan,
    DrawStage,
    NoisyMaxStage,
    Plan,
    Prediction,
    PublishedPlan,
    UniversalPlan,
    VotingPlan,
)
from pcqr.planning import plan_agnostic, plan_semi_private, plan_subsample, plan_universal
from pcqr.planning.expected import model
from pcqr.planning.releases import plan_direct
from pcqr.planning.request import NO_PINS, Request
from pcqr.planning.search.knobs import Knobs

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


def _strength(option: Option) -> str:
    """Return the strength of the option, by the kind of votes of its plan."""
    is_noisy = isinstance(option.plan, VotingPlan) and isinstance(option.plan.vote, NoisyMaxStage)
    return registry.algorithm("noisy max").strength if is_noisy else _entry(option).strength


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
            f"{_excess(python):.2g}{proof}): {_strength(python)}."
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
    return f"{best.algorithm}: {_strength(best)}{beside}; {proof}.{in_python}"


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
    return Prediction(0.0, published_excess(request, plan.draw, request.public), 0.0)


def unv_priv_cl_expected(request: Request, plan: UniversalPlan) -> Prediction | None:
    """Votes for the first m_o of m queries, the published classifier for the rest."""
    votes = plan.prediction
    if votes is None:
        return None
    after = plan.publish.after_queries
    share = min(1.0, after / request.queries)
    published = published_excess(request, plan.publish, after + (request.public or 0))
    return replace(
        votes,
        unanswered_share=share * votes.unanswered_share,
        excess_error=share * votes.excess_error + (1.0 - share) * published,
        unstable_share=share * votes.unstable_share,
        unanswered_range=None,  # measured for votes alone
        unstable_range=None,
    )


def published_excess(request: Request, publish: DrawStage, public: int | None) -> float:
    """The expected excess error of a published hypothesis: what the draw costs, and what the cover misses.

    About (ln|H| + 1)/(ηn) and, for a class that is made of P = `public` points, b/(2P) for b cuts.
    """
    hypotheses = request.hypotheses
    members = hypotheses.log_growth(public or request.records, request.features)
    missed = 0.0 if public is None else 0.5 * hypotheses.boundaries / public
    return min(1.0, model.relabel_excess(members, publish.inverse_temperature, request.records) + missed)
