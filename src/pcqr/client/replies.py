"""What a server says, read strictly: a reply that is not what the contract has is refused and never half believed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pcqr.client.errors import BadReply, quoted
from pcqr.documents.reading import read_count, read_flag, read_list, read_number, read_text
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import MOST_LABELS
from pcqr.plan import BatchCost, Kind, Usage
from pcqr.schema import Schema
from pcqr.schema.description import column_from
from pcqr.unit import PERSON, PRESENCE, RECORD, Unit

MOST_COLUMNS = 100_000
_KINDS: tuple[Kind, ...] = get_args(Kind)
_COLUMN = ("name", "kind", "categories", "bounds", "missing", "other")


@contextmanager
def believing(place: str) -> Iterator[None]:
    """Within, a value that the contract does not have becomes a `BadReply` of the server at `place`."""
    try:
        yield
    except ParameterError as error:
        told = quoted(str(error)).rstrip(".")
        raise BadReply(place, f"sent a reply that is none: {told}", "Is it a pcqr server of this version?") from None


@dataclass(frozen=True)
class Facts:
    """What is served, in public facts. `planned` is m; None for a model, which any number of rows may be put to.

    A request takes `most_rows`. The model of the planner expects `unstable_share` of the queries to be unstable, with
    `unstable_range` where it was measured; after `publishes_after` of them a classifier is published.
    """

    name: str
    kind: Literal["release", "model"]
    algorithm: str
    guarantee: Guarantee
    schema: Schema | None
    features: int
    classes: tuple[Any, ...]
    state: Literal["open", "published", "halted"]
    spent: Usage
    left: Usage
    planned: int | None
    on_unstable: Literal["abstain", "random"]
    shows_classifier: bool
    most_rows: int
    unstable_share: float | None
    unstable_range: tuple[float, float] | None
    publishes_after: int | None


@dataclass(frozen=True)
class Given:
    """One row of a reply: a label or none, the coin that stands in for none, and how it came about."""

    label: Any
    coin: Any
    kind: Kind


@dataclass(frozen=True)
class Batch:
    """A reply to several rows: their answers, and what was spent and left when the last one had been given."""

    given: tuple[Given, ...]
    spent: Usage
    left: Usage


def facts_of(value: Any) -> Facts:
    """What `/v1/releases/NAME` says."""
    entries = _object(value, "the reply")
    kind = _choice(entries, "kind", ("release", "model"))
    is_release = kind == "release"
    columns = entries.get("columns")
    schema = None if columns is None else _schema(columns)
    features = read_count(_needed(entries, "features"), "features")
    if schema is not None:
        features = len(schema.features)
    planned = entries.get("planned_queries")
    expectation = _object(entries.get("expectation") or {}, "expectation")
    between = _two_numbers(expectation, "unstable_range")
    shares = _number(expectation, "unstable_share"), *(between or ())
    if any(share is not None and not 0 <= share <= 1 for share in shares):
        raise ParameterError("expectation", "shares from 0 to 1", "others")
    publish = _object(_object(entries.get("plan") or {}, "plan").get("publish") or {}, "plan.publish")
    return Facts(
        name=read_text(_needed(entries, "name"), "name"),
        kind=kind,
        algorithm=read_text(entries.get("algorithm") or "", "algorithm"),
        guarantee=_guarantee(_needed(entries, "guarantee")),
        schema=schema,
        features=features,
        classes=_classes(_needed(entries, "classes")),
        state=_choice(entries, "state", ("open", "published", "halted")),
        spent=usage_of(_needed(entries, "spent"), "spent") if is_release else Usage(0, 0),
        left=usage_of(_needed(entries, "left"), "left") if is_release else Usage(None, None),
        planned=None if planned is None else read_count(planned, "planned_queries"),
        on_unstable=_choice(entries, "on_unstable", ("abstain", "random")) if is_release else "abstain",
        shows_classifier=entries.get("shows_classifier") is not False,
        most_rows=max(1, read_count(_needed(entries, "most_rows"), "most_rows")),
        unstable_share=shares[0],
        unstable_range=between,
        publishes_after=read_count(publish["after_queries"], "after_queries") if "after_queries" in publish else None,
    )


def usage_of(value: Any, where: str) -> Usage:
    """Queries and unstable answers; null where there is no limit."""
    entries = _object(value, where)

    def count(name: str) -> int | None:
        found = entries.get(name)
        return None if found is None else read_count(found, f"{where}.{name}")

    return Usage(count("queries"), count("unstable"), count("labels"))


def batch_of(value: Any, rows: int, classes: Sequence[Any], *, is_release: bool) -> Batch:
    """What `/ask` says of so many rows."""
    entries = _object(value, "the reply")
    given = given_of(_needed(entries, "answers"), "answers", classes)
    if len(given) != rows:
        raise ParameterError("answers", f"a list of {rows}", f"one of {len(given)}")
    if not is_release:
        return Batch(given, Usage(0, 0), Usage(None, None))
    return Batch(given, usage_of(_needed(entries, "spent"), "spent"), usage_of(_needed(entries, "left"), "left"))


def given_of(value: Any, where: str, classes: Sequence[Any]) -> tuple[Given, ...]:
    """Answers, each with a label among `classes` or none."""
    return tuple(_given(entry, f"{where}[{i}]", classes) for i, entry in enumerate(read_list(value, where)))


def cost_of(value: Any, rows: int | None = None) -> BatchCost:
    """Return the cost in a reply of `/preview`, which must be about so many rows (None: any number)."""
    entries = _object(value, "the reply")

    def count(name: str) -> int:
        return read_count(_needed(entries, name), name)

    cost = BatchCost(
        **{name: count(name) for name in ("requested", "repeated", "new", "published", "certain", "beyond_plan")},
        left=usage_of(_needed(entries, "left"), "left"),
        expected_unstable=_number(entries, "expected_unstable"),
        chance_of_halting=_number(entries, "chance_of_halting"),
        unstable_range=_two_numbers(entries, "unstable_range"),
        quota=None if entries.get("quota") is None else usage_of(entries["quota"], "quota"),
        chance_of_exhausting=_number(entries, "chance_of_exhausting"),
    )
    rows = cost.requested if rows is None else rows
    if cost.requested != rows or cost.certain > rows:
        raise ParameterError("requested", f"{rows}, the rows that were sent", cost.requested)
    return cost


def known_of(value: Any, rows: int) -> list[bool]:
    """Which of so many rows `/preview` says were asked before."""
    known = read_list(_needed(_object(value, "the reply"), "known"), "known")
    if len(known) != rows or not all(isinstance(each, bool) for each in known):
        raise ParameterError("known", f"true or false for each of {rows} rows", "something else")
    return known


def _given(value: Any, where: str, classes: Sequence[Any]) -> Given:
    entries = _object(value, where)
    kind = _choice(entries, "kind", _KINDS, f"{where}.kind")
    label, coin = (_label(entries.get(name), f"{where}.{name}", classes) for name in ("label", "coin"))
    if label is None and kind in ("stable", "published"):
        raise ParameterError(f"{where}.label", f"a label, where the answer is {kind}", None)
    return Given(label, coin, kind)


def _label(value: Any, where: str, classes: Sequence[Any]) -> Any:
    """A name among the classes, of the same type (1 is not True), or none."""
    if value is None:
        return None
    for name in classes:
        if type(name) is type(value) and name == value:
            return name
    raise ParameterError(where, "one of the names of the labels", "another value")


def _classes(value: Any) -> tuple[Any, ...]:
    names = tuple(read_list(value, "classes"))
    if not 1 <= len(names) <= MOST_LABELS or any(not isinstance(name, str | int | float | bool) for name in names):
        raise ParameterError("classes", f"a list of 1 to {MOST_LABELS} names", "another list")
    return names


def _schema(value: Any) -> Schema:
    listed = read_list(value, "columns")
    if not 1 <= len(listed) <= MOST_COLUMNS:
        raise ParameterError("columns", f"1 to {MOST_COLUMNS:,} columns", f"{len(listed)}")
    told = [_object(entry, f"columns[{i}]") for i, entry in enumerate(listed)]
    return Schema(tuple(column_from(_column(entry)) for entry in told))


def _column(entry: dict[str, Any]) -> dict[str, Any]:
    """What declares a column. Any category may be missing: that is not declared."""
    kept = {name: entry[name] for name in _COLUMN if entry.get(name) is not None}
    if kept.get("kind") == "categorical":
        kept.pop("missing", None)
    return kept


def _guarantee(value: Any) -> Guarantee:
    entries = _object(value, "guarantee")

    def texts(name: str) -> tuple[str, ...]:
        return tuple(
            read_text(entry, f"guarantee.{name}") for entry in read_list(entries.get(name, []), f"guarantee.{name}")
        )

    charged = entries.get("is_charged")
    return Guarantee(
        epsilon=read_number(_needed(entries, "epsilon"), "guarantee.epsilon"),
        delta=read_number(_needed(entries, "delta"), "guarantee.delta"),
        proof=read_text(entries.get("proof", ""), "guarantee.proof"),
        assumptions=texts("assumptions"),
        is_private=read_flag(_needed(entries, "is_private"), "guarantee.is_private"),
        unit=_unit(read_text(_needed(entries, "unit"), "guarantee.unit")),
        steps=texts("steps"),
        is_charged=None if charged is None else read_flag(charged, "guarantee.is_charged"),
    )


def _unit(words: str) -> Unit:
    """The unit whose adjacency is said so."""
    for unit in (PRESENCE, PERSON):
        if words == unit.adjacency:
            return unit
    rows = re.search(r"at most ([0-9,]{1,20}) row", words)
    unit = RECORD if rows is None else Unit.person(int(rows[1].replace(",", "") or "0"))
    if unit.adjacency != words:
        raise ParameterError("guarantee.unit", f"{RECORD.adjacency!r} or another adjacency of pcqr", "something else")
    return unit


def _number(entries: dict[str, Any], name: str) -> float | None:
    return None if entries.get(name) is None else read_number(entries[name], name)


def _two_numbers(entries: dict[str, Any], name: str) -> tuple[float, float] | None:
    if entries.get(name) is None:
        return None
    found = [read_number(each, name) for each in read_list(entries[name], name)]
    if len(found) != 2:
        raise ParameterError(name, "a list of two numbers", f"{len(found)}")
    return found[0], found[1]


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ParameterError(where, "an object", type(value).__name__)
    return value


def _needed(entries: dict[str, Any], name: str) -> Any:
    if name not in entries:
        raise ParameterError(name, "there", "nothing")
    return entries[name]


def _choice(entries: dict[str, Any], name: str, among: Sequence[Any], where: str = "") -> Any:
    value = entries.get(name)
    if not isinstance(value, str) or value not in among:
        raise ParameterError(where or name, f"one of {', '.join(among)}", "something else")
    return value
