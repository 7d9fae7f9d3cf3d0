"""The guarantee of a model, as its file says it and as it stands under its picture."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pcqr.checks import check_integer, check_inverse_temperature
from pcqr.data.records.predicates import Predicate
from pcqr.data.schema import Schema
from pcqr.errors import ParameterError
from pcqr.models.effects import Effects
from pcqr.models.kinds import kind_named
from pcqr.models.pictures import Caption
from pcqr.models.trees import describe_predicate, restore_predicate
from pcqr.models.vocabulary import Vocabulary, checked_classes, printable
from pcqr.privacy.guarantee import Guarantee, assumed
from pcqr.privacy.unit import RECORD, USER
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
        raise ParameterError("model", f'a JSON object with "format": "{FORMAT}"', "something else")
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
