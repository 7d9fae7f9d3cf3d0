"""What a fitted learner has to say about the model that it published. Public facts alone."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

import pcqr
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses import Halfspaces, Intervals, Rectangles, Stumps, Thresholds, UnionsOfIntervals
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.models.linear_tree import asked_of_columns
from pcqr.models.provenance import Provenance
from pcqr.plan import (
    AskedPlan,
    AskedStage,
    ContestStage,
    CountedPlan,
    CountedStage,
    DrawPlan,
    LinearPlan,
    LinearStage,
    PilotedPlan,
    PilotedStage,
    Plan,
    StackedStage,
    UniversalPlan,
)
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import PredicateVectors
from pcqr.schema import Column, Schema

_CLASSES: dict[type[HypothesisClass], str] = {
    Thresholds: "thresholds",
    Intervals: "intervals",
    Stumps: "decision stumps",
    Rectangles: "axis-aligned rectangles",
    Halfspaces: "half-planes",
}


class Learner(Protocol):
    """A fitted estimator that has published a hypothesis."""

    hypotheses_: HypothesisClass
    classes_: Any
    schema_: Schema | None
    guarantee_: Guarantee
    plan_: Any
    n_features_in_: int
    n_records_: int
    n_public_: int | None

    @property
    def hypothesis_(self) -> Hypothesis: ...


def check_published(learner: Learner) -> None:
    """Raise unless the learner is of a kind that publishes; whether it has done so yet, its `hypothesis_` says."""
    if inspect.getattr_static(learner, "hypothesis_", None) is None:
        raise ParameterError(
            "learner",
            "a PrivateClassifier, a SemiPrivateLearner, or a UniversalRelease that has published",
            type(learner).__name__,
        )


def made_of(plan: object, hypotheses: HypothesisClass, records: int) -> str:
    """What a plan makes its classifier of, for a reader."""
    if isinstance(plan, Plan) and plan.origin is not None:
        return plan.origin[0]
    settings = _settings(plan)
    return _class_in_words(hypotheses, records) if settings is None else _in_words(settings)


def provenance_of(learner: Learner) -> Provenance:
    settings = _settings(learner.plan_)
    is_tree = isinstance(learner.hypothesis_, DecisionTree)  # whose file has no settings
    drawn = learner.plan_ if isinstance(learner.plan_, DrawPlan) else None
    return Provenance(
        hypotheses=made_of(learner.plan_, learner.hypotheses_, learner.n_records_),
        records=learner.n_records_,
        public_rows=_public_rows(learner),
        predicates=_predicates(learner),
        inverse_temperature=None if drawn is None else drawn.publish.inverse_temperature,
        numerical_slack=None if drawn is None else _numerical_slack(learner, drawn),
        versions=current_versions(),
        settings=() if settings is None or is_tree else tuple(_flat(settings).items()),
    )


def _predicates(learner: Learner) -> tuple[Predicate, ...] | None:
    """The questions that the plan is for: a linear classifier has its own; where a question decided, those of the tree."""
    published = learner.hypothesis_
    if isinstance(published, LinearClassifier) and not isinstance(learner.plan_, AskedPlan | CountedPlan):
        dense = published.feature_map.dense
        return asked_of_columns(published, dense.predicates) if isinstance(dense, PredicateVectors) else None
    return getattr(learner.hypotheses_, "predicates", None)


def current_versions() -> tuple[tuple[str, str], ...]:
    return (("pcqr", pcqr.__version__), ("numpy", np.__version__), ("python", platform.python_version()))


def plain_schema(learner: Learner) -> Schema:
    """Numbers as they are, for a learner that had a table of numbers: named as its frame was, else x0, x1, …"""
    names = getattr(learner, "feature_names_in_", None)
    if names is None:
        names = [f"x{place}" for place in range(learner.n_features_in_)]
    return Schema(tuple(Column(str(name)) for name in names))


Settings = LinearStage | AskedStage | ContestStage | StackedStage | PilotedStage | CountedStage


_STAGES: dict[type, str] = {
    LinearPlan: "linear",
    PilotedPlan: "piloted",
    AskedPlan: "asked",
    CountedPlan: "counted",
}
"""The stage of each plan that is not one draw."""


def _settings(plan: object) -> Any:
    """The stage with the numbers of a plan that is not one draw, else None."""
    if isinstance(plan, Plan) and plan.origin is not None:
        return plan.origin[1]
    stage = _STAGES.get(type(plan))
    return None if stage is None else getattr(plan, stage)


def _flat(settings: Any) -> dict[str, Any]:
    """By name, with those of a part beside those of the whole: parts give their names, and several are numbered."""
    return dict(_named(asdict(settings)))


def _named(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _named(value, f"{prefix}{name}_")
        elif isinstance(value, tuple | list):
            for place, part in enumerate(value):
                yield from _named(part, f"{prefix}{name}_{place}_")
        else:
            yield prefix + name, value


def _in_words(settings: Settings) -> str:
    """What the settings make."""
    match settings:
        case PilotedStage():
            most = max(settings.linears, key=lambda linear: linear.ferns)
            ferns = f"up to {most.ferns} ferns of up to {most.depth} questions"
            return f"linear classifiers with {ferns}, as two pilots compare privately"
        case AskedStage():
            tree = f"trees of depth {settings.depth}"
            return f"{tree}, or linear classifiers over {settings.linear.dense} dense coordinates, by a private question about trees"
        case ContestStage():
            tree = f"trees of depth {settings.depth}"
            return f"{tree}, or linear classifiers over {_parts(settings.linear)}, as a pilot compares with trees"
        case StackedStage():
            return f"linear classifiers over up to {_parts(settings.linear)} beside a tree of depth {settings.depth}"
        case CountedStage():
            rare = f"a tree of depth {settings.depth} where one label is rare"
            careful = f"a linear classifier over {settings.careful.dense} dense coordinates where one is uncommon"
            return f"{rare}, {careful}, by a private count; else {_in_words(settings.otherwise)}"
    way = (
        "noisy sums and what public rows make of them"
        if settings.is_empirical_bayes
        else "steps of noisy gradient descent"
    )
    return f"linear classifiers over {_parts(settings)}, by {settings.steps} {way}"


def _parts(linear: LinearStage) -> str:
    """What a linear classifier has weights for."""
    parts = [f"{linear.dense} dense coordinates"] if linear.dense else []
    parts += [f"{linear.ferns} ferns of {linear.depth} questions"] if linear.ferns else []
    return " and ".join(parts)


def _class_in_words(hypotheses: HypothesisClass, records: int) -> str:
    """What `hypotheses` is, for a reader of the model."""
    if isinstance(hypotheses, UnionsOfIntervals):
        return f"unions of at most {hypotheses.r} intervals"
    if not isinstance(hypotheses, DecisionTrees):
        return _CLASSES.get(type(hypotheses), type(hypotheses).__name__)
    depth = hypotheses.depth_for(records) if hypotheses.is_fixed else hypotheses.depth
    size = "" if depth is None else f" of depth {depth}"
    asked = "" if hypotheses.predicates is None else f" over {len(hypotheses.predicates)} public predicates"
    stop = f", stopping prior {hypotheses.stop:g}" if hypotheses.stop else ""
    return f"decision trees{size}{asked}{stop}"


def _public_rows(learner: Learner) -> int | None:
    """How many public rows shaped the class. None for a class that was made of past queries."""
    declared = learner.hypotheses_.is_fixed and not learner.hypotheses_.needs_public
    if declared:
        return 0
    return None if isinstance(learner.plan_, UniversalPlan) else learner.n_public_ or 0


def _numerical_slack(learner: Learner, plan: DrawPlan) -> float:
    """2λ of the draw, from public numbers: what is in ε beside 2η or, where ε also paid for votes, the bound itself."""
    eta = plan.publish.inverse_temperature
    if not isinstance(plan, UniversalPlan):
        return max(0.0, learner.guarantee_.epsilon - 2.0 * eta)
    return 2.0 * learner.hypotheses_.log_probability_error(
        learner.n_records_,
        eta,
        features=learner.n_features_in_,
        public=plan.publish.after_queries + (plan.vote.public or 0),
    )
