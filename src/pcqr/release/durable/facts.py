"""The public facts of a release, as they are in release.json: what was asked for, planned and promised."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pcqr import __version__, registry
from pcqr.addresses import without_password
from pcqr.documents import Document
from pcqr.documents.document import FORMAT as DOCUMENT
from pcqr.documents.reading import parse, read_object
from pcqr.documents.table import tag_of
from pcqr.entropy import Entropy, SeededEntropy, SystemEntropy
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.learners.estimators import is_estimator
from pcqr.hypotheses.learners.known import restored, written
from pcqr.plan import Plan
from pcqr.records.predicates import Predicate
from pcqr.release.account import Account
from pcqr.schema import Schema

FORMAT, VERSION = "pcqr release", 1
_WHERE = "release.json"
_CLASS, _ESTIMATOR, _MAPPING, _PREDICATE = "class", "estimator", "mapping", ("feature", "cut")


@dataclass(frozen=True)
class Facts:
    """What is public about a fitted release: enough, with its secret and its ledger, to go on with it."""

    algorithm: str
    parameters: Mapping[str, Any]
    plan: Plan
    hypotheses: HypothesisClass
    classes: tuple[Any, ...]
    records: int
    public: int | None
    features: int
    feature_names: tuple[str, ...] | None
    schema: Schema | None
    ledger: str
    """The address of a database, or the name of a file in the directory."""
    identity: str

    def to_json(self) -> str:
        described = {
            "format": FORMAT,
            "version": VERSION,
            "pcqr": __version__,
            "algorithm": self.algorithm,
            "parameters": {name: _plain(name, value) for name, value in self.parameters.items()},
            "plan": json.loads(self.plan.to_json()),
            "hypotheses": _plain("hypotheses", self.hypotheses),
            "classes": [_plain("classes", name) for name in self.classes],
            "records": self.records,
            "public": self.public,
            "features": self.features,
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "schema": None if self.schema is None else self.schema.to_dict(),
            "ledger": self.ledger,
            "identity": self.identity,
        }
        return json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Facts:
        """What `to_json` wrote; a `ParameterError` with the place for anything else."""
        found = parse(text, _WHERE)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ParameterError(_WHERE, f'a JSON object with "format": "{FORMAT}"', "something else")
        version = found.get("version")
        if type(version) is not int or version != VERSION:
            raise ParameterError(f"{_WHERE}.version", f"{VERSION}, which this pcqr reads", version)
        known = [field.name for field in fields(cls)]
        entries = read_object(found, _WHERE, ("format", "version", "pcqr", *known))
        names = entries["feature_names"]
        return cls(
            **{name: entries[name] for name in ("algorithm", "records", "public", "features", "ledger", "identity")},
            parameters={name: _restored(value) for name, value in entries["parameters"].items()},
            plan=Plan.from_json(json.dumps(entries["plan"])),
            hypotheses=_restored(entries["hypotheses"]),
            classes=tuple(entries["classes"]),
            feature_names=None if names is None else tuple(names),
            schema=None if entries["schema"] is None else Schema.from_dict(entries["schema"]),
        )


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON has it. Classes go by their name in the registry, sources of randomness by their seed."""
    plain: Any = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    match plain:
        case None | bool() | int() | float() | str():
            pass
        case list() | tuple():
            plain = [_plain(name, each) for each in plain]
        case Mapping():
            plain = {_MAPPING: [[_plain(name, key), _plain(name, each)] for key, each in plain.items()]}
        case Predicate():
            plain = {field: getattr(plain, field) for field in _PREDICATE}
        case Document() if tag_of(type(plain)) is not None and not isinstance(plain, Hypothesis):
            plain = json.loads(plain.to_json())
        case SystemEntropy():
            plain = None
        case SeededEntropy():
            plain = plain.seed
        case Account():
            plain = plain.place
        case os.PathLike():
            plain = without_password(os.fspath(plain))
        case HypothesisClass() if (family := _family(plain)) is not None:
            made: Any = plain
            parts = {part.name: _plain(name, getattr(made, part.name)) for part in fields(made) if part.init}
            plain = {_CLASS: family.name} | parts
        case _ if is_estimator(plain):
            plain = written(plain)
        case _:
            what = "a source of pcqr.entropy" if isinstance(plain, Entropy) else "one that can be written down"
            raise ParameterError(name, f"{what}, for a release that is kept", type(plain).__name__)
    return plain


def _restored(value: Any) -> Any:
    if not isinstance(value, dict):
        return tuple(map(_restored, value)) if isinstance(value, list) else value
    if set(value) == set(_PREDICATE):
        return Predicate(**value)
    if set(value) == {_MAPPING}:
        return dict(_restored(value[_MAPPING]))
    if value.get("format") == DOCUMENT:
        return Document.from_json(json.dumps(value))
    if _CLASS not in value and _ESTIMATOR in value:
        return restored(value)
    family = registry.hypothesis_class(str(value.get(_CLASS)))
    return registry.resolve(family.make)(**{name: _restored(part) for name, part in value.items() if name != _CLASS})


def _family(hypotheses: HypothesisClass) -> registry.HypothesisFamily | None:
    made = (family for family in registry.classes() if registry.resolve(family.make) is type(hypotheses))
    return next(made, None)
