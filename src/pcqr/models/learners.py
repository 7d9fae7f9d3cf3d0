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
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree
from pcqr.models.linear_tree import asked_of_columns
from pcqr.models.provenance import Provenance
from pcqr.plan import Context, DrawStage, Plan, UniversalPlan
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import PredicateVectors
from pcqr.schema import Column, Schema


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


def provenance_of(learner: Learner) -> Provenance:
    """Return what the published model is made of: public facts alone."""
    plan: Plan = learner.plan_
    context = Context(learner.hypotheses_, learner.n_records_, learner.n_features_in_)
    draw = _draw(plan)
    has_settings = draw is None and not isinstance(learner.hypothesis_, DecisionTree)  # whose file has none
    return Provenance(
        hypotheses=(plan.stages if draw is None else draw).words(context),
        records=learner.n_records_,
        public_rows=_public_rows(learner),
        predicates=_predicates(learner),
        inverse_temperature=None if draw is None else draw.inverse_temperature,
        numerical_slack=None if draw is None else _numerical_slack(learner, draw),
        versions=current_versions(),
        settings=tuple(_named(_numbers(plan.stages))) if has_settings else (),
    )


def _draw(plan: Plan) -> DrawStage | None:
    """The draw that is published: that of a plan of one draw, or the last of a universal release."""
    if isinstance(plan.stages, DrawStage):
        return plan.stages
    return plan.publish if isinstance(plan, UniversalPlan) else None


def _predicates(learner: Learner) -> tuple[Predicate, ...] | None:
    """The public predicates: those of the linear classifier, where one is published."""
    published = learner.hypothesis_
    if isinstance(published, LinearClassifier):
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


def _numbers(stage: Any) -> dict[str, Any]:
    return asdict(stage)


def _named(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each number of a plan with its name, which begins with those of the stages it is in."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _named(value, f"{prefix}{name}_")
        elif isinstance(value, tuple | list):
            for place, part in enumerate(value, start=1):
                yield from _named(part, f"{prefix}{name}_{place}_")
        else:
            yield prefix + name, value


def _public_rows(learner: Learner) -> int | None:
    """How many public rows shaped the class. None for a class that was made of past queries."""
    declared = learner.hypotheses_.is_fixed and not learner.hypotheses_.needs_public
    if declared:
        return 0
    return None if isinstance(learner.plan_, UniversalPlan) else learner.n_public_ or 0


def _numerical_slack(learner: Learner, draw: DrawStage) -> float:
    """2λ of the draw, from public numbers: what is in ε beside 2η or, where ε also paid for votes, the bound itself."""
    eta, plan = draw.inverse_temperature, learner.plan_
    if not isinstance(plan, UniversalPlan):
        return max(0.0, learner.guarantee_.epsilon - 2.0 * eta)
    return 2.0 * learner.hypotheses_.log_probability_error(
        learner.n_records_,
        eta,
        features=learner.n_features_in_,
        public=draw.after_queries + (plan.vote.public or 0),
    )
