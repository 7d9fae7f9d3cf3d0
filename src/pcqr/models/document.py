"""A model as JSON and back: what `model.json` holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pcqr.documents.reading import parse, read_list, read_object
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.models.effects import Effects
from pcqr.models.kinds import kind_named
from pcqr.models.promise import describe_guarantee
from pcqr.models.provenance import Provenance
from pcqr.models.vocabulary import Vocabulary, checked_classes
from pcqr.schema import Schema

if TYPE_CHECKING:
    from pcqr.models.published import PublishedModel

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
