"""y as it comes, as labels 0, 1, … and their names: each label by itself, whatever the others are (proofs/table.md)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import MOST_LABELS, HypothesisClass, Labels
from pcqr.schema.cells import Cells, as_given, cells, distinct
from pcqr.schema.reading import Reading, read, text_of
from pcqr.schema.table import columns_of

LabelArray = NDArray[Any]

LONGEST_NAME = 1_000
"""An array of names has as much room for each as the longest takes."""
_ONE = "one class. Give classes=(negative, positive), such as classes=(0, 1)"
LABELS_READ = "the names of the labels, read from y because `classes` was not declared"
ZERO_AND_ONE = "that every label is 0 or 1, seen in y because `classes` was not declared"


def label_cells(y: Any) -> Cells:
    """The labels one by one. A column of a table with one column is taken, with scikit-learn's warning."""
    if y is None:
        raise DataError("y", "one label for each row of X", "None: requires y to be passed, but the target y is None")
    if hasattr(y, "__array__") and not hasattr(y, "__len__"):
        y = as_given(y, "y")
    if getattr(y, "ndim", 1) == 2:
        y = _only_column(y)
    if isinstance(y, str) or not hasattr(y, "__len__") or getattr(y, "ndim", 1) == 0:
        raise DataError("y", "one label for each row of X", "one value")
    if getattr(y, "ndim", 1) != 1:
        raise DataError("y", "one label for each row of X: y should be a 1d array", "more dimensions")
    return cells(y, "y")


def _only_column(y: Any) -> Any:
    """Return the labels of a table with one column, with scikit-learn's warning."""
    columns = columns_of(y)
    if (y.shape[1] if columns is None else len(columns)) != 1:
        raise DataError("y", "one label for each row of X: y should be a 1d array", "another number of columns")
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Give y as one column, such as y.ravel().",
        DataConversionWarning,
        stacklevel=5,  # errstate and fit stand between
    )
    return y[:, 0] if columns is None else columns[0]


def encode_labels(
    y: Cells, classes: Sequence[Any] | None, hypotheses: HypothesisClass
) -> tuple[LabelArray, Labels, tuple[str, ...]]:
    """(the names, labels as 0, 1, …, what had to be assumed public).

    A label is compared with the names by what it means (`pcqr.schema.reading`). Names come from `classes`, or from the
    class, or are the numbers 0 and 1, of no other type whatever y has, or else are read from y.
    """
    y, places = distinct(y)
    readings = _read(y)
    assumptions: tuple[str, ...] = ()
    if classes is not None:
        names: Sequence[Any] = declared(classes)
    elif hypotheses.labels > 2:  # declared with the class
        names = range(hypotheses.labels)
    else:
        is_binary = all(reading in (0.0, 1.0) for reading in readings) and not any(
            isinstance(label, str) for label in y
        )
        if len(set(readings)) < 2 and (hypotheses.several_labels or not is_binary):
            raise DataError(
                "y", "labels of two classes or more; where records of one class are all there are, declare both", _ONE
            )
        if is_binary:
            names = (0, 1)  # another label would have been taken for another name, or for a third class
            assumptions = (LABELS_READ if hypotheses.several_labels else ZERO_AND_ONE,)
        else:
            names, assumptions = _distinct(y, readings), (LABELS_READ,)
        if len(names) > 2 and not hypotheses.several_labels:
            found = "more. Only binary classification is supported. The type of the target is multiclass"
            raise DataError("y", "labels of two classes: 0 and 1, or declared as classes=(negative, positive)", found)
    place = {text_of(read(name)): place for place, name in enumerate(names)}
    labels = np.array([place.get(text_of(reading), -1) for reading in readings], dtype=np.int8)
    if (labels < 0).any():
        raise DataError("y", f"labels among classes={tuple(names)}", "other values")
    return as_array(names), labels[places], assumptions


def plain_name(name: Any) -> Any:
    """A label's name as Python has it."""
    return name.item() if isinstance(name, np.generic) else name


def as_array(names: Sequence[Any]) -> LabelArray:
    """Names of one type as numpy has it, others as they are: 1 beside "a" stays a number."""
    kinds = {np.asarray(name).dtype.kind for name in names}
    if kinds in ({"U"}, {"b"}) or kinds <= set("iuf"):
        return np.array(list(names))
    return np.array(list(names), dtype=object)


def _read(y: Sequence[Any]) -> list[Reading]:
    try:
        readings = [read(label) for label in y]
    except TypeError:
        raise DataError("y", "numbers, truth values or texts", "labels of another type") from None
    if None in readings:
        raise DataError("y", "a label in every row", "missing ones (None or NaN)")
    return readings


def declared(classes: Sequence[Any]) -> list[Any]:
    """The names in `classes`, checked."""
    allowed = f"2 to {MOST_LABELS} label names that are read as different ones, negative first"
    try:
        names = [plain_name(name) for name in classes]
        texts = {text_of(read(name)) for name in names}
    except TypeError:
        raise ParameterError("classes", allowed, classes) from None
    if len(names) > MOST_LABELS:
        raise ParameterError("classes", allowed, f"{len(names):,} names")
    if isinstance(classes, str) or len(names) < 2 or len(texts) < len(names) or None in texts:
        raise ParameterError("classes", allowed, classes)
    return names


def _distinct(y: Sequence[Any], readings: Sequence[Reading]) -> list[Any]:
    """The names that occur, in order. They depend on which labels occur, not on how often, and are assumed public."""
    if any(isinstance(reading, float) and not reading.is_integer() for reading in readings):
        raise DataError("y", "labels of some classes", "numbers with fractions. Unknown label type: continuous")
    spelling: dict[Reading, Any] = {}
    for label, reading in zip(y, readings, strict=True):
        name = str.__str__(label) if isinstance(label, str) else _plain(reading)
        known = spelling.setdefault(reading, name)
        if type(known) is not type(name):
            raise DataError("y", "labels of one type", "labels of several types")
        if known != name:  # whichever were taken, one record would rename the others
            raise DataError("y", "labels that are each spelt in one way, or declared as classes=…", "several spellings")
    if len({type(name) for name in spelling.values()}) > 1:
        raise DataError("y", "labels of one type", "labels of several types")
    if any(isinstance(name, str) and len(name) > LONGEST_NAME for name in spelling.values()):
        raise DataError("y", f"labels of at most {LONGEST_NAME:,} characters, or declared as classes=…", "longer ones")
    if len(spelling) > MOST_LABELS:  # how many is not said: they are private
        raise DataError("y", f"labels of at most {MOST_LABELS} classes", "more")
    return sorted(spelling.values())


def _plain(reading: Reading) -> Any:
    return int(reading) if isinstance(reading, float) else text_of(reading)
