"""A hypothesis in words, where the names of columns and labels are known."""

from __future__ import annotations

from collections.abc import Sequence

from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.finite import Member
from pcqr.models.kinds import kind_of
from pcqr.models.vocabulary import LabelName, Vocabulary
from pcqr.schema import Column, Schema


def in_words(hypothesis: Hypothesis, columns: Schema | Sequence[str], classes: Sequence[LabelName] = (0, 1)) -> str:
    """What `hypothesis` says: "if age > 27.5: …" where its repr has "feature=0". Post-processing: costs nothing.

    `columns`: the schema that encodes the table, or the names of columns that are numbers as they are; `classes`: the
    label names, in the order of the labels 0, 1, …
    """
    if isinstance(hypothesis, Member):
        return f"member {hypothesis.index} of the list of models, counted from 0"
    schema = columns if isinstance(columns, Schema) else Schema(tuple(Column(name) for name in columns))
    words = Vocabulary(schema, tuple(classes))
    kind = kind_of(hypothesis)
    kind.check(hypothesis, words)
    return kind.rules(hypothesis, words, flat=False)
