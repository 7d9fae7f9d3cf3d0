"""What a fitted learner has to say about the model that it published. Public facts alone."""

from __future__ import annotations

import inspect
import math
import platform
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

import pcqr
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column, Schema
from pcqr.errors import ParameterError
from pcqr.hypotheses import name_of
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models.linear import asked_of_columns
from pcqr.models.provenance import Provenance
from pcqr.privacy.composition import Context, Sequence, parts_of
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.classifier.plan import LeafCountsStage
from pcqr.releases.protocol.plan import Plan
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.universal.plan import UniversalPlan

_ONE_OF = {"stages": "step", "options": "option"}


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
    stages: Any = plan.stages  # a dataclass, as every stage is
    context = Context(learner.hypotheses_, learner.n_records_, learner.n_features_in_)
    draw, is_one_draw = _draw(plan), isinstance(plan.stages, DrawStage) or isinstance(plan, UniversalPlan)
    return Provenance(
        hypotheses=name_of(learner.hypotheses_, learner.n_records_) if is_one_draw else plan.stages.words(context),
        records=learner.n_records_,
        public_rows=_public_rows(learner),
        predicates=_predicates(learner),
        inverse_temperature=None if draw is None else draw.inverse_temperature,
        numerical_slack=_numerical_slack(learner, context),
        versions=current_versions(),
        settings=tuple(_numbers(asdict(stages))) if not is_one_draw else (),
    )


def _draw(plan: Plan) -> DrawStage | None:
    """The draw that is published, with counts at its leaves or without, or the last of a universal release."""
    if isinstance(plan, UniversalPlan):
        return plan.publish
    match plan.stages:
        case DrawStage() as draw:
            return draw
        case Sequence((DrawStage() as draw, LeafCountsStage())):
            return draw
    return None


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


def _numbers(found: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield each number of a stage with its name, which begins with those of the stages it is in."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from _numbers(value, "_".join(filter(None, (name, _ONE_OF.get(key, key)))))
    elif isinstance(found, tuple | list):
        for place, part in enumerate(found, start=1):
            yield from _numbers(part, f"{name}_{place}")
    elif isinstance(found, int | float):
        yield name, found


def _public_rows(learner: Learner) -> int | None:
    """How many public rows shaped the class. None for a class that was made of past queries."""
    declared = learner.hypotheses_.is_fixed and not learner.hypotheses_.needs_public
    if declared:
        return 0
    return None if isinstance(learner.plan_, UniversalPlan) else learner.n_public_ or 0


def _numerical_slack(learner: Learner, context: Context) -> float | None:
    """Return 2λ of the draw, from public numbers: what is in ε beside 2η. None where nothing is drawn."""
    plan: Plan = learner.plan_
    if isinstance(plan, UniversalPlan):  # ε also paid for votes: the bound itself
        return 2.0 * learner.hypotheses_.log_probability_error(
            learner.n_records_,
            plan.publish.inverse_temperature,
            features=learner.n_features_in_,
            public=plan.publish.after_queries + (plan.vote.public or 0),
        )
    if isinstance(plan.stages, DrawStage):
        return max(0.0, learner.guarantee_.epsilon - 2.0 * plan.stages.inverse_temperature)
    draws = parts_of(plan.stages, DrawStage)
    slacks = [draw.guarantee(context).epsilon - 2.0 * draw.inverse_temperature for draw in draws]
    return max(0.0, math.fsum(slacks)) if draws else None
