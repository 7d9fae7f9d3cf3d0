"""The public facts of a release, as they are in release.json: what was asked for, planned and promised."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from pcqr import __version__, registry
from pcqr.addresses import without_password
from pcqr.data.records.predicates import Predicate
from pcqr.data.schema import Schema
from pcqr.durable.account import Account
from pcqr.durable.ledger import Entry as Kept
from pcqr.durable.ledger import Transaction
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.estimators import is_estimator, restored, written
from pcqr.privacy.entropy import Entropy, SeededEntropy, SystemEntropy
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Entry
from pcqr.releases.protocol.plan import Plan
from pcqr.serialization import Document
from pcqr.serialization.codec import FORMAT as DOCUMENT
from pcqr.serialization.reading import parse, read_object, tag_of

if TYPE_CHECKING:
    pass


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
            raise ParameterError(_WHERE, f'a JSON object with "format": "{FORMAT}"', "another JSON value or format")
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
            what = "a source of pcqr.privacy.entropy" if isinstance(plain, Entropy) else "one that can be written down"
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


# ---------------------------------------------------------------------------------------------------------------------
# The entries and the state of a release in its ledger: all have the same length, whatever the answers were.


ANSWERS, ANNOUNCED, PUBLISHED = "answers", "announced", "published"
PUBLISHED_KEY = PUBLISHED.encode()  # no SHA-256
_DECISION = struct.Struct(">bb")
_MOST_ANSWERS, _MOST_BYTES = 256, 1 << 14
"""In one entry: whoever looks for one of its answers reads it whole."""
_STATE = struct.Struct(">BQQqqqB16s")
_STATE_VERSION = 4
_PUBLISHED_FLAG, _CAUTIOUS_FLAG, _WRITTEN_OFF_FLAG = 1, 2, 4
NOTHING = bytes(16)
"""The name of an announcement that there is none."""
_WIDTH = struct.Struct(">I")
_NONE = -1
_PAGE = 4_096


@dataclass(frozen=True)
class State:
    """The public counters of a release: what later answers depend on besides its secrets."""

    spent: Usage
    remaining: Usage
    is_published: bool = False
    is_cautious: bool = False
    """Is what will be decided announced first? Fixed when the release is kept."""
    announced: bytes = NOTHING
    """The key of the entry that announces what is being decided."""
    is_written_off: bool = False
    """Does an older copy go on in which everything counts as used? Nothing is then decided or published any more."""

    def written(self) -> bytes:
        numbers = (self.remaining.queries, self.remaining.unstable, self.remaining.labels)
        remaining = (_NONE if number is None else max(0, number) for number in numbers)
        flags = _PUBLISHED_FLAG * self.is_published | _CAUTIOUS_FLAG * self.is_cautious
        flags |= _WRITTEN_OFF_FLAG * self.is_written_off
        spent = self.spent.queries or 0, self.spent.unstable or 0
        return _STATE.pack(_STATE_VERSION, *spent, *remaining, flags, self.announced)

    @classmethod
    def read(cls, written: bytes) -> State:
        """The state that was `written`; raises ValueError for anything else."""
        try:
            version, asked, unstable, *remaining, flags, announced = _STATE.unpack(written)
        except struct.error:
            raise ValueError from None
        if version != _STATE_VERSION:
            raise ValueError
        counts = Usage(asked, unstable), Usage(*(None if number == _NONE else number for number in remaining))
        marks = bool(flags & _PUBLISHED_FLAG), bool(flags & _CAUTIOUS_FLAG)
        return cls(*counts, *marks, announced, bool(flags & _WRITTEN_OFF_FLAG))

    def written_off(self) -> State:
        """Return the state with nothing remaining and nothing announced: only logged answers are repeated."""
        numbers = (self.remaining.queries, self.remaining.unstable, self.remaining.labels)
        nothing = Usage(*(None if number is None else 0 for number in numbers))
        return replace(
            self, remaining=nothing if nothing.is_nothing else Usage(0, None), announced=NOTHING, is_written_off=True
        )


def append_answers(transaction: Transaction, answers: Mapping[bytes, Entry], digests: Mapping[bytes, bytes]) -> None:
    """Add answers to points of one width, by the bits of the points, of which `digests` are the SHA-256.

    Many are in one entry: first what was decided, then the points.
    """
    keys = list(answers)
    size = max(1, min(_MOST_ANSWERS, _MOST_BYTES // max(1, len(keys[0])))) if keys else 1
    for start in range(0, len(keys), size):
        these = keys[start : start + size]
        these_answers = [answers[key] for key in these]
        decided = [_NONE if each is None else each for one in these_answers for each in (one.label, one.coin)]
        decisions = struct.pack(f">{len(decided)}b", *decided)
        transaction.append(ANSWERS, decisions + b"".join(these), *(digests[key] for key in these))


def append_announced(transaction: Transaction, name: bytes, keys: Sequence[bytes]) -> None:
    """Add which rows are going to be decided, all of one width."""
    transaction.append(ANNOUNCED, _WIDTH.pack(len(keys[0])) + b"".join(keys), name)


def announced_in(body: bytes) -> list[bytes]:
    """The rows of such an entry."""
    (width,) = _WIDTH.unpack_from(body)
    return [body[start : start + width] for start in range(_WIDTH.size, len(body), width)]


def append_published(transaction: Transaction, hypothesis: Hypothesis) -> None:
    text = hypothesis.to_json().encode()
    transaction.append(PUBLISHED, text.ljust(-(-len(text) // _PAGE) * _PAGE), PUBLISHED_KEY)


def answer_in(kept: Kept, position: int) -> Entry:
    """The answer at a `position` of an entry with answers, from 0 on."""
    label, coin = _DECISION.unpack_from(kept.body, position * _DECISION.size)
    points = kept.size * _DECISION.size
    width = (len(kept.body) - points) // kept.size
    key = kept.body[points + position * width : points + (position + 1) * width]
    point = np.frombuffer(key, dtype="<f8")[None, :]
    return Entry(point, None if label == _NONE else label, None if coin == _NONE else coin)


def answers_in(kept: Kept) -> Iterator[tuple[int, Entry]]:
    """All answers of an entry, each with its number. None of an entry of another kind."""
    if kept.kind == ANSWERS:
        yield from ((kept.before + 1 + position, answer_in(kept, position)) for position in range(kept.size))


def digests(keys: Iterable[bytes]) -> dict[bytes, bytes]:
    """Return the keys of the ledger: digests of those of the protocol, which may be long."""
    return {key: sha256(key).digest() for key in keys}


def located(
    digests: Mapping[bytes, bytes], find: Callable[[Sequence[bytes]], Mapping[bytes, Kept]]
) -> dict[bytes, tuple[Kept, int]]:
    """Return the entries of the ledger, and the positions in them, by the keys of the protocol."""
    found = find(list(digests.values()))
    wanted = ((key, digest) for key, digest in digests.items() if digest in found) if found else ()
    return {key: (found[digest], found[digest].position(digest) or 0) for key, digest in wanted}
