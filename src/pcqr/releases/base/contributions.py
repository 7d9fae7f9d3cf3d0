"""Who is behind each row: the ids that `fit` gets as `groups`, each read by itself (proofs/user_level.md)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from pcqr.checks import check_integer, check_positive
from pcqr.data.records import GroupedRecords, Records
from pcqr.data.records.counting import IntArray
from pcqr.data.records.user_level import WHOLE, ByLabel, Weighted
from pcqr.data.schema.cells import MISSING_TEXTS, Cells, cells, distinct, read, text_of, weights
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.releases.classifier.descent import on_the_grid

ContributionBound = Literal["all rows", "weights", "weights, then all rows", "one row"]
BOUNDED: dict[ContributionBound, str] = {
    "all rows": "a record is a person here: n counts persons, and all rows of one go to one teacher",
    "weights": "a record is a person here: n counts persons, and all rows of one count at most as one record together",
    "weights, then all rows": (
        "a record is a person here: n counts persons, all rows of one count at most as one record together in the "
        "draw that relabels, and teachers get all of them"
    ),
    "one row": "a record is a person here: n counts persons, and one row of each is chosen by a secret coin",
}
"""How the rows of a person are bounded, as a step of its guarantee (proofs/user_level.md)."""
WEIGHED: tuple[ContributionBound, ...] = ("weights", "weights, then all rows")
"""Where rows have weights, so that `Groups.rows` has an effect."""
_ALLOWED = "the id of a person for each row of X"
_DIGITS = 2_000
"""A number of more digits is no id. Texts that are read as numbers have fewer, and Python spells out 4,300."""
_LIMIT = 10**_DIGITS
_NUMBER = re.compile(r"[+-]?(\d{1,1000}(\.\d{0,1000})?|\.\d{1,1000})([eE][+-]?\d{1,3})?", flags=re.ASCII)
"""A number, as it is spelt in a column of numbers that has become one of texts."""


@dataclass(frozen=True)
class Groups:
    """Whose each row is, and how many rows of somebody may count: `fit(X, y, groups=Groups(ids, rows=3))`.

    With `rows` = b a person of r rows counts as min(r, b)/b in the sums that trees and linear classifiers are made of.
    With b = 1, as for ids alone, everybody counts the same, and a classifier aims at few errors a person. A larger b
    comes nearer to few errors a row, with more noise: those who have one row count 1/b. The guarantee is the same.

    Parameters
    ----------
    ids : array-like of shape (n,)
        The id of a person for each row.
    rows : int, default 1
        b, at most 64. Public: do not choose it by the private records.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import Groups, PrivateClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, public, visitors = rng.normal(size=(5_000, 2)), rng.normal(size=(200, 2)), rng.integers(0, 2_000, size=5_000)
    >>> classifier = PrivateClassifier(epsilon=1.0, method="tree", entropy=0)  # seeded: NOT PRIVATE
    >>> classifier = classifier.fit(X, X[:, 0] > 0.5, public=public, groups=Groups(visitors, rows=2))
    >>> classifier.guarantee_.adjacency
    'replace one person, with all rows'
    """

    ids: Any
    rows: int = 1


class UnitIds:
    """Whose the rows of a table are: each its own record where `groups` is None, else those of persons. **Private.**

    Raises
    ------
    DataError
        When an id is missing, or cannot be one. Neither which one nor how many there are is said.
    """

    def __init__(self, groups: Any) -> None:
        given = groups if isinstance(groups, Groups) else Groups(groups)
        if given.ids is None and groups is not None:  # a column that is not there, say: not rows without persons
            raise DataError("groups", _ALLOWED, "none")
        check_integer("rows", given.rows, least=1, most=WHOLE)
        self._numbers, self.rows = None if given.ids is None else unit_numbers(given.ids), given.rows

    def check_lengths(self, table: Any, labels: Cells) -> None:
        """Refuse what has another length than the table. Where rows are persons', how many there are is private."""
        if self._numbers is None:
            check_consistent_length(table, labels)
            return
        for name, found in (("y", len(labels)), ("groups", self._numbers.size)):
            if found != table.shape[0]:
                raise DataError(name, "as long as X", "another number of rows")

    def count(self, table: Any) -> int:
        """n, which is public: the number of records, or of persons."""
        return int(table.shape[0]) if self._numbers is None else 1 + int(self._numbers.max())

    def grouped(self, rows: Records, shares: NDArray[np.float64] | None = None) -> Records:
        """The records that algorithms see. `shares` say what each row counts, from 0 to 1."""
        if self._numbers is not None:
            return GroupedRecords(rows, self._numbers, self.rows, shares)
        return rows if shares is None else Weighted(rows, by_row=shares)


def weighs_rows(hypotheses: HypothesisClass) -> bool:
    """Is a draw from the class made by exact sums over rows, so that rows can have weights?

    The members of such a class never come from records. Those of `Finite` may be anybody's: what they say of a row may
    depend, by rounding, on how many rows they are asked about, and that is private here.
    """
    return isinstance(hypotheses, DecisionTrees)


def unit_numbers(groups: Any) -> IntArray:
    """For each row the number of its person, 0, …, N−1. Rows belong together where their ids are read as equal."""
    if isinstance(groups, str | bytes) or not hasattr(groups, "__len__") or getattr(groups, "ndim", 1) != 1:
        raise DataError("groups", f"{_ALLOWED}, in a list, an array or a column", "something else")
    kept, places = distinct(cells(groups, "groups"))
    ids = [_id(value) for value in kept]
    if not ids or None in ids:
        raise DataError("groups", _ALLOWED, "a missing one")
    numbers: dict[str | None, int] = {}
    unit = np.array([numbers.setdefault(each, len(numbers)) for each in ids], dtype=np.int64)
    return unit[places]


def _id(value: Any) -> str | None:
    """The text by which an id is compared; None where it is missing. Whole numbers keep all their digits."""
    kind = type(value)
    if issubclass(kind, str):
        text = str.__str__(value).strip()
        if text in MISSING_TEXTS:
            return None
        return (_whole(Decimal(text)) if _NUMBER.fullmatch(text) else None) or text
    try:
        if (whole := _whole(value)) is not None:
            return whole
        reading = read(value)
    except (TypeError, ValueError):
        raise DataError("groups", f"numbers below 10^{_DIGITS}, texts or dates as ids of persons", "others") from None
    if isinstance(reading, float):
        if not math.isfinite(reading):
            return None
        return str(int(reading)) if reading.is_integer() else repr(reading)
    return text_of(reading)


def _whole(number: Any) -> str | None:
    """Return all digits of a whole number, None for anything else.

    Raises ValueError for one that is too long to be spelt out: a decimal of a few bytes may have a billion digits.
    """
    kind = type(number)
    if issubclass(kind, Decimal):
        return _whole_decimal(number)
    if issubclass(kind, np.generic):
        return str(int(number)) if number.dtype.kind in "iu" else None  # a duration is an integer to numpy
    if kind is Fraction:
        return _whole(number.numerator) if number.denominator == 1 else None
    if not issubclass(kind, int):
        return None
    found = int.__index__(number)
    if not -_LIMIT < found < _LIMIT:
        raise ValueError
    return str(found)


def _whole_decimal(number: Decimal) -> str | None:
    sign, digits, exponent = Decimal.as_tuple(number)
    if not isinstance(exponent, int):  # NaN or infinite
        return None
    if not any(digits):
        return "0"
    if len(digits) + exponent > _DIGITS:
        raise ValueError
    spelt = "".join(map(str, digits))
    if exponent < 0:
        if len(digits) <= -exponent or spelt[exponent:].strip("0"):
            return None
        spelt = spelt[:exponent]
    return "-" * sign + (spelt + "0" * max(exponent, 0)).lstrip("0")


# ---------------------------------------------------------------------------------------------------------------------
# What a record counts: `class_weight` and `sample_weight`, as scikit-learn has them, read and bounded.
#
# Weights of labels are public, and weights of rows are private: part of the record (proofs/weights.md).


ClassWeight = Literal["balanced"] | Mapping[Any, float] | None
_WEIGHTS_ALLOWED = "None, 'balanced', or a mapping from labels to positive numbers"


def check_class_weight(class_weight: Any) -> None:
    """Raise unless it is what `class_weight` may be. Labels are compared with names later (`declared_weights`)."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping) or not class_weight:
        raise ParameterError("class_weight", _WEIGHTS_ALLOWED, class_weight)
    for weight in class_weight.values():
        check_positive("class_weight", weight)


def declared_weights(class_weight: Any, names: Sequence[Any]) -> ByLabel | None:
    """Return what a record of each of the labels `names` counts, in 64ths; None where nothing is declared.

    Labels that the mapping does not name have the weight 1.
    """
    check_class_weight(class_weight)
    if not isinstance(class_weight, Mapping):
        return None
    places = {text_of(read(name)): place for place, name in enumerate(names)}
    found = [1.0] * len(names)
    for label, weight in class_weight.items():
        place = places.get(_text(label))
        if place is None:
            raise ParameterError("class_weight", f"weights of the labels {list(names)}", label)
        found[place] = float(weight)
    return on_the_grid(found)


def _text(label: Any) -> str | None:
    try:
        return text_of(read(label))
    except TypeError:
        return None


def row_shares(sample_weight: Any, bound: float) -> NDArray[np.float64] | None:
    """Return `sample_weight` cut to `bound` and divided by it; None where there is none. No error quotes one."""
    check_positive("weight_bound", bound)
    found = weights(sample_weight)
    if found is None:
        return None
    if found.ndim != 1 or not (found >= 0.0).all():  # NaN is neither
        raise DataError("sample_weight", "numbers ≥ 0, none of them missing", "others")
    if not found.any():
        raise DataError("sample_weight", "weights, at least one of them above 0", "zeros alone")
    return np.minimum(found, float(bound)) / float(bound)


def in_words(by_label: ByLabel, names: Sequence[Any], *, is_balanced: bool) -> str:
    """Return what was done to labels, as a step of a guarantee. Public."""
    origin = "by noisy counts of the labels" if is_balanced else "as declared"
    told = ", ".join(f"{name} {weight}" for name, weight in zip(names, by_label, strict=True))
    return (
        f"records count by their label, {origin}, in {WHOLE}ths of a record: {told}. Labels and probabilities are "
        "about weighted records"
    )


def weights_of(by_label: ByLabel | None, names: Sequence[Any]) -> dict[Any, float]:
    """Return the weight of each label by its name."""
    shares = [WHOLE] * len(names) if by_label is None else by_label
    return {name: weight / WHOLE for name, weight in zip(names, shares, strict=True)}
