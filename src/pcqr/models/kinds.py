"""The kinds of hypotheses that a model can hold: how each is stored, read, drawn and exported.

A new kind is one more subclass of `Kind` in `KINDS`, and one more branch of `hypothesis` in the JSON Schema of its
version beside this file. A kind that is one tree under another name needs no more than its JSON and `as_tree`.
"""

from __future__ import annotations

from typing import Any

from pcqr.errors import ParameterError
from pcqr.models.kind import Kind
from pcqr.models.linear import LinearKind
from pcqr.models.regions import ConstantKind, HalfspaceKind, IntervalKind, IntervalUnionKind, RectangleKind
from pcqr.models.trees import DecisionTreeKind, ScoredTreeKind, StumpKind, ThresholdKind

KINDS: tuple[Kind[Any], ...] = (
    DecisionTreeKind(),
    ScoredTreeKind(),
    StumpKind(),
    ThresholdKind(),
    LinearKind(),
    IntervalKind(),
    IntervalUnionKind(),
    RectangleKind(),
    HalfspaceKind(),
    ConstantKind(),
)


def kind_of(hypothesis: object) -> Kind[Any]:
    for kind in KINDS:
        if kind.holds(hypothesis):
            return kind
    raise ParameterError(
        "hypothesis", f"a {' or '.join(dict.fromkeys(kind.title for kind in KINDS))}", type(hypothesis).__name__
    )


def kind_named(name: object, version: int) -> Kind[Any]:
    """The kind called `name` in files of this `version`."""
    known = [kind for kind in KINDS if kind.version == version]
    for kind in known:
        if kind.name == name:
            return kind
    raise ParameterError("model.kind", f"one of {', '.join(kind.name for kind in known)} in version {version}", name)
