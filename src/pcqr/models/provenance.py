"""What a model comes from, in public facts: its guarantee, as its file says it and as it stands under its picture."""

from __future__ import annotations

import inspect
import json
import math
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import pcqr
from pcqr.checks import check_integer, check_inverse_temperature
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column, Schema
from pcqr.errors import ParameterError
from pcqr.hypotheses import name_of
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models.effects import Effects
from pcqr.models.kinds import kind_named
from pcqr.models.linear import predicates_of_columns
from pcqr.models.pictures import Caption
from pcqr.models.trees import describe_predicate, restore_predicate
from pcqr.models.vocabulary import Vocabulary, checked_classes, printable
from pcqr.privacy.composition import Context, Sequence, parts_of
from pcqr.privacy.guarantee import Guarantee, assumed
from pcqr.privacy.unit import RECORD, USER
from pcqr.releases.classifier.plan import LeafCountsStage
from pcqr.releases.protocol.plan import Plan
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.universal.plan import UniversalPlan
from pcqr.serialization.reading import parse, read_count, read_list, read_number, read_object, read_setting, read_text

if TYPE_CHECKING:
    from pcqr.models.published import PublishedModel

UNITS = (RECORD, USER)
"""Whom a published model protects."""


def describe_guarantee(guarantee: Guarantee, newest: int) -> dict[str, Any]:
    """All versions so far, up to the `newest`, say the adjacency in words: that of records, or of persons."""
    if guarantee.unit not in UNITS:
        raise ParameterError("guarantee.unit", f"RECORD or USER in a model file of version {newest}", guarantee.unit)
    return guarantee.facts()


def caption(title: str, guarantee: Guarantee) -> Caption:
    """What stands around a picture: its title, the promise and what it takes to be public."""
    promised = str(replace(guarantee, assumptions=(), is_charged=None))
    lines = (printable(line) for each in guarantee.assumptions for line in assumed([each]))
    return Caption(title, (promised[0].upper() + promised[1:], *lines), warning=not guarantee.is_private)


# ---------------------------------------------------------------------------------------------------------------------
# Where a model comes from, in public facts alone.


@dataclass(frozen=True)
class Provenance:
    """Where a model comes from: the class that it was drawn from, or the steps that made it. A function of no record.

    None stands for unknown.

    Parameters
    ----------
    hypotheses : str, default ""
        In words: the class that it was drawn from or, with `settings`, the steps that made it.
    records : int or None, default None
        n, which is public: neighbours have the same n.
    public_rows : int or None, default None
        How many public rows shaped the class; 0 where everything was declared.
    predicates : tuple of Predicate or None, default None
        The B questions that the model may ask.
    inverse_temperature : float or None, default None
        η of the draw, P(h) ∝ e^{−η·mistakes(h)}.
    numerical_slack : float or None, default None
        The share of ε set aside for the draw's float64 arithmetic, 2λ in 2η + 2λ (proofs/sspp.md); it is inside ε, not
        on top.
    versions : tuple of (str, str), default ()
        The packages, with their versions, that made it.
    settings : tuple of (str, float), default ()
        The numbers of the plan of a kind that is not one draw, by name (`pcqr.plan`).

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.models import Provenance
    >>> Provenance(hypotheses="thresholds", records=1_000, public_rows=11, inverse_temperature=0.5).records
    1000
    """

    hypotheses: str = ""
    records: int | None = None
    public_rows: int | None = None
    predicates: tuple[Predicate, ...] | None = None
    inverse_temperature: float | None = None
    numerical_slack: float | None = None
    versions: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        for name, count, least in (("records", self.records, 1), ("public_rows", self.public_rows, 0)):
            if count is not None:
                check_integer(name, count, least=least)
        if self.inverse_temperature is not None:
            check_inverse_temperature(self.inverse_temperature)
        if self.numerical_slack is not None and not 0 <= self.numerical_slack < math.inf:
            raise ParameterError("numerical_slack", "a finite number ≥ 0", self.numerical_slack)

    @property
    def making(self) -> str:
        """How `hypotheses` is to be introduced."""
        return "Made by" if self.settings else "Drawn from"

    def describe(self, words: Vocabulary, version: int) -> dict[str, Any]:
        """As a dict for a file of this `version`; settings came with version 2."""
        asked = self.predicates
        described: dict[str, Any] = {
            "hypotheses": self.hypotheses,
            "records": self.records,
            "public_rows": self.public_rows,
            "predicates": None if asked is None else [describe_predicate(predicate, words) for predicate in asked],
            "inverse_temperature": self.inverse_temperature,
            "numerical_slack": self.numerical_slack,
            "versions": dict(self.versions),
        }
        return described if version == 1 else described | {"settings": dict(self.settings)}

    @classmethod
    def restore(cls, value: object, where: str, words: Vocabulary, version: int) -> Provenance:
        """What `describe` described; anything else is refused with its place."""
        keys = ("hypotheses", "records", "public_rows", "predicates", "inverse_temperature", "numerical_slack")
        fields = read_object(value, where, (*keys, "versions") if version == 1 else (*keys, "versions", "settings"))

        def optional(key: str, read: Any) -> Any:
            return None if fields[key] is None else read(fields[key], f"{where}.{key}")

        def predicates(entries: object, path: str) -> tuple[Predicate, ...]:
            return tuple(
                restore_predicate(read_object(entry, f"{path}[{i}]", ("feature", "above")), f"{path}[{i}]", words)
                for i, entry in enumerate(read_list(entries, path))
            )

        def named(key: str, read: Any) -> Any:
            found = fields.get(key, {})
            entries = read_object(found, f"{where}.{key}", found if isinstance(found, dict) else ("pcqr",))
            return tuple((name, read(entry, f"{where}.{key}.{name}")) for name, entry in entries.items())

        return cls(
            hypotheses=read_text(fields["hypotheses"], f"{where}.hypotheses"),
            records=optional("records", read_count),
            public_rows=optional("public_rows", read_count),
            predicates=optional("predicates", predicates),
            inverse_temperature=optional("inverse_temperature", read_number),
            numerical_slack=optional("numerical_slack", read_number),
            versions=named("versions", read_text),
            settings=named("settings", read_setting),
        )


# ---------------------------------------------------------------------------------------------------------------------
# A model as JSON and back: what `model.json` holds.


FORMAT, VERSIONS = "pcqr-model", (1, 3, 4, 5)
DROPPED = 2
"""The version of linear and boosted models, which were dropped before the first version of pcqr."""
WITH_EFFECTS = 4
"""The version whose models have a key for their main effects."""
_KEYS = ("format", "version", "kind", "classes", "schema", "hypothesis", "guarantee", "provenance")


def written(model: PublishedModel) -> str:
    """See `PublishedModel.to_json`."""
    document = {
        "format": FORMAT,
        "version": model.kind.version,
        "kind": model.kind.name,
        "classes": list(model.classes),
        "schema": model.schema.to_dict(),
        "hypothesis": model.kind.describe(model.hypothesis, model.vocabulary),
        "guarantee": describe_guarantee(model.guarantee, VERSIONS[-1]),
        "provenance": model.provenance.describe(model.vocabulary, model.kind.version),
    }
    if model.kind.version == WITH_EFFECTS:
        document["effects"] = None if model.effects is None else model.effects.describe()
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def restored(text: str) -> dict[str, Any]:
    """The arguments of the `PublishedModel` that `written` wrote; see `PublishedModel.from_json`."""
    document = parse(text, "model")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ParameterError("model", f'a JSON object with "format": "{FORMAT}"', "another JSON value or format")
    version = document.get("version")
    if type(version) is not int or version not in VERSIONS:
        raise ParameterError(
            "model.version",
            f"{', '.join(map(str, VERSIONS[:-1]))} or {VERSIONS[-1]}, which this pcqr reads",
            f"{version}, of the linear and boosted models that pcqr had before its first version"
            if version == DROPPED
            else version,
        )
    read_object(document, "model", (*_KEYS, "effects") if version == WITH_EFFECTS else _KEYS)
    kind = kind_named(document["kind"], version)
    classes = checked_classes(read_list(document["classes"], "model.classes"))
    if not isinstance(document["schema"], dict):
        raise ParameterError("model.schema", "an object with the key columns", type(document["schema"]).__name__)
    words = Vocabulary(Schema.from_dict(document["schema"]), classes)
    effects = document.get("effects")
    return {
        "hypothesis": kind.restore(document["hypothesis"], "model.hypothesis", words),
        "classes": classes,
        "schema": words.schema,
        "guarantee": Guarantee.from_facts(document["guarantee"], "model.guarantee"),
        "provenance": Provenance.restore(document["provenance"], "model.provenance", words, version),
        "effects": None if effects is None else Effects.restore(effects, "model.effects", words),
    }


# ---------------------------------------------------------------------------------------------------------------------
# What a fitted learner has to say about the model that it published. Public facts alone.


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
        return predicates_of_columns(published, dense.predicates) if isinstance(dense, PredicateVectors) else None
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
