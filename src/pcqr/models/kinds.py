"""The kinds of hypotheses that a model can hold: how each is stored, read, drawn and exported.

A new kind is one more subclass of `Kind` in `KINDS`, and one more branch of `hypothesis` in the JSON Schema of its
version beside this file. A kind that is one tree under another name needs no more than its JSON and `as_tree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pcqr.data.schema import Column, Schema
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.finite import Member
from pcqr.models.kind import Kind
from pcqr.models.linear import LinearKind
from pcqr.models.regions import ConstantKind, HalfspaceKind, IntervalKind, IntervalUnionKind, RectangleKind
from pcqr.models.trees import DecisionTreeKind, ScoredTreeKind, StumpKind, ThresholdKind
from pcqr.models.vocabulary import LabelName, Vocabulary

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


# ---------------------------------------------------------------------------------------------------------------------
# A hypothesis in words, where the names of columns and labels are known.


def in_words(hypothesis: Hypothesis, columns: Schema | Sequence[str], classes: Sequence[LabelName] = (0, 1)) -> str:
    """What a hypothesis says, with the names of columns and labels. Post-processing: costs nothing.

    Parameters
    ----------
    hypothesis : Hypothesis
        What to read aloud.
    columns : Schema or sequence of str
        The schema that encodes the table, or the names of columns that are numbers as they are.
    classes : sequence of str, int or float, default (0, 1)
        The label names, in the order of the labels 0, 1, …

    Returns
    -------
    str
        Rules, as `PublishedModel.rules` writes them.

    Raises
    ------
    ParameterError
        When the columns or the names do not suit the hypothesis.

    Examples
    --------
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.models import in_words
    >>> stump = Stumps().learn([[38.5, 1], [39.1, 0], [36.6, 1], [36.9, 0]], [1, 1, 0, 0])
    >>> stump
    Stump(feature=0, cut=37.7, above=True, features=2)
    >>> print(in_words(stump, ["temperature", "smoker"], ["well", "ill"]))
    if temperature > 37.7:
        predict ill
    else:  # temperature ≤ 37.7
        predict well
    """
    if isinstance(hypothesis, Member):
        return f"member {hypothesis.index} of the list of models, counted from 0"
    schema = columns if isinstance(columns, Schema) else Schema(tuple(Column(name) for name in columns))
    words = Vocabulary(schema, tuple(classes))
    kind = kind_of(hypothesis)
    kind.check(hypothesis, words)
    return kind.aloud(hypothesis, words)
