"""What is known about x without looking at the private data: the columns, their categories, their bounds.

A schema is declared (in Python, TOML or JSON) by somebody who knows what the columns mean, or built by
`Schema.from_public` from rows that the caller declares public. Otherwise nothing in it is read off private records: a
category list or a range computed from them is itself a release. `Schema.private` makes such a release, with
noise. No other function of pcqr infers a schema, and a table with text and no schema is refused.

Encoding acts on each record alone, so neighbouring tables stay neighbours: one record replaced is one row of the
matrix replaced, and no guarantee changes.
"""

from __future__ import annotations

from pcqr.data.schema.column import Column, Feature, Question
from pcqr.data.schema.schema import Schema
from pcqr.data.schema.table import Table

__all__ = ["Column", "Feature", "Question", "Schema", "Table"]
