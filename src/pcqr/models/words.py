"""A hypothesis in words, where the names of columns and labels are known."""

from __future__ import annotations

from collections.abc import Sequence

from pcqr.data.schema import Column, Schema
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.finite import Member
from pcqr.models.kinds import kind_of
from pcqr.models.vocabulary import LabelName, Vocabulary


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
