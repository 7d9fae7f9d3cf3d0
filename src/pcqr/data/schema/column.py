"""One declared column of x, and the features that it becomes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema.cells import (
    Cells,
    Reading,
    cells,
    day_of,
    days,
    is_unicode,
    iso_date,
    mapped,
    numbers,
    read,
    text_of,
)
from pcqr.errors import DataError, ParameterError

Entries = NDArray[Any]
"""Cells of a column in few bytes: unsigned integers for categories, float64 for numbers and dates."""

ColumnKind = Literal["numeric", "categorical", "date"]
_KINDS: tuple[ColumnKind, ...] = ("numeric", "categorical", "date")


TRUTH_VALUES = ("False", "True")
"""The categories of truth values."""

_ROUNDING = 1e-9
"""How much more than 1 the shares of a column may sum to."""

_LAST_DAY = 3e6
"""Far beyond the year 9999: what lies there is shown as a number."""


class Question(NamedTuple):
    """What x[feature] > cut means in words.

    Parameters
    ----------
    holds : str
        The question when it holds.
    fails : str
        The question when it fails.

    Examples
    --------
    >>> from pcqr.data.schema import Feature
    >>> Feature("age").question(50.5)
    Question(holds='age > 50.5', fails='age ≤ 50.5')
    >>> from pcqr.data.schema import Question
    >>> Question("sex = female", "sex ≠ female").fails
    'sex ≠ female'
    """

    holds: str
    fails: str


@dataclass(frozen=True)
class Feature:
    """One column of the encoded matrix: a number, or the 0/1 answer to a question.

    Parameters
    ----------
    name : str
        What it is called in rules and pictures.
    bounds : (float, float) or None, default None
        The least and the largest number that an encoded cell can be, where they are declared.
    asks : Question or None, default None
        For a feature of zeros and ones, what a 1 means. None: a number.
    is_date : bool, default False
        Is the number one of days since 1970-01-01?

    Examples
    --------
    >>> from pcqr.data.schema import Column, Feature
    >>> Column("sex", "categorical", ["female", "male"]).features[0]
    Feature(name='sex=female', bounds=None, asks=Question(holds='sex = female', fails='sex ≠ female'), is_date=False)
    >>> born = Feature("born", is_date=True)
    >>> born.question(10_000.5).holds
    'born > 1997-05-19'
    """

    name: str
    bounds: tuple[float, float] | None = None
    asks: Question | None = None
    is_date: bool = False

    @property
    def is_indicator(self) -> bool:
        """Is it the answer, 0 or 1, to a question?"""
        return self.asks is not None

    def question(self, cut: float) -> Question:
        """x > `cut` in words.

        Parameters
        ----------
        cut : float
            Where the feature is cut. Between 0 and 1 an indicator is asked its own question.

        Returns
        -------
        Question
            How to say that it holds and that it fails.
        """
        if self.asks is None:
            shown = self.date(cut) or f"{cut:.10g}"
            return Question(f"{self.name} > {shown}", f"{self.name} ≤ {shown}")
        if 0 <= cut < 1:
            return self.asks
        return Question("always", "never") if cut < 0 else Question("never", "always")

    def date(self, value: float) -> str | None:
        """The last date that is not above `value`, so that a date is above both or neither; None if this is no date."""
        return iso_date(math.floor(value)) if self.is_date and abs(value) < _LAST_DAY else None


@dataclass(frozen=True)
class Column:
    """One column of x, declared without a look at private records.

    A *numeric* column is passed on as it is, clipped to its bounds. A *date* becomes the number of whole days since
    1970-01-01, in UTC; ISO texts, dates and time stamps of any library will do, and the time of day is left out.

    A *categorical* column becomes one 0/1 feature for each category, in the order given; with `other` one for every
    value that is not declared; and a last one for a missing value. Categories are compared by what they mean
    (`pcqr.data.schema.cells`): 3, 3.0 and "3.0" are the same category, and so are True and 1.

    What a cell becomes is a function of that cell and of this declaration alone (proofs/table.md).

    Parameters
    ----------
    name : str
        The column's name in the table.
    kind : {"numeric", "categorical", "date"}, default "numeric"
        What its cells are.
    categories : sequence of str, default ()
        The names that a cell may have; for a categorical column only.
    bounds : (low, high) or None, default None
        What numbers, or dates, are clipped to. None: they are not.
    missing : bool, default False
        May a number or a date be missing? A second feature, 0 or 1, then says where, and the number itself becomes
        `filled_with`.
    other : bool, default False
        May a category be one that is not declared?
    cuts : sequence of float, default ()
        Where predicates cut a number (age > 37.5), in ascending order; for dates, days since 1970-01-01 or ISO texts.
        Empty: at equal distances between the bounds.
    shares : sequence of float, default ()
        The estimated share of the records in each cell between the cuts, the lowest first, or of each category. What
        they lack of 1 is missing or another category. Empty: unknown.

    Raises
    ------
    ParameterError
        When a declaration contradicts itself, such as bounds for categories.

    Examples
    --------
    >>> from pcqr.data.schema import Column
    >>> age = Column("age", bounds=(18, 90), missing=True)
    >>> age.feature_names
    ('age', 'age is missing')
    >>> age.encode([25, None, 130])
    array([[25.,  0.],
           [18.,  1.],
           [90.,  0.]])
    >>> Column("job", "categorical", ["nurse", "cook"], other=True).encode(["cook", "pilot"])
    array([[0., 1., 0., 0.],
           [0., 0., 1., 0.]])
    >>> Column("income", cuts=[10_000, 40_000], shares=[0.3, 0.5, 0.2]).cuts
    (10000.0, 40000.0)
    """

    name: str
    kind: ColumnKind = "numeric"
    categories: Sequence[str] = ()
    bounds: tuple[float, float] | tuple[str, str] | None = None
    missing: bool = False
    other: bool = False
    cuts: Sequence[float] = ()
    shares: Sequence[float] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ParameterError("name of a column", "a non-empty string", self.name)
        if not is_unicode(self.name):
            raise ParameterError("name of a column", "Unicode text", self.name)
        if self.kind not in _KINDS:
            raise ParameterError(f"kind of column {self.name!r}", "'numeric', 'categorical' or 'date'", self.kind)
        for field, value, allowed in (
            ("missing", self.missing, self.kind != "categorical"),
            ("other", self.other, self.kind == "categorical"),
        ):
            if not isinstance(value, bool) or (value and not allowed):
                kinds = "numeric or a date" if field == "missing" else "categorical"
                raise ParameterError(
                    f"{field} of column {self.name!r}", f"true or false, and false unless {kinds}", value
                )
        object.__setattr__(self, "categories", self._checked_categories())
        object.__setattr__(self, "bounds", self._checked_bounds())
        object.__setattr__(self, "cuts", self._checked_cuts())
        object.__setattr__(self, "shares", self._checked_shares())

    @property
    def filled_with(self) -> float | None:
        """What a missing number becomes: the lower bound, or 0 where none is declared. None where none may be missing.

        A public constant: a mean or a median of the records would be a release.
        """
        if not self.missing:
            return None
        return 0.0 if self.limits is None else self.limits[0]

    @property
    def limits(self) -> tuple[float, float] | None:
        """`bounds` as they apply to the encoded numbers: those of a date in days since 1970-01-01."""
        if self.bounds is None:
            return None
        low, high = (day_of(bound) if self.kind == "date" else float(bound) for bound in self.bounds)
        return low, high

    @property
    def features(self) -> tuple[Feature, ...]:
        """What this column becomes, in the order of the encoded matrix."""
        name = self.name
        gap = Feature(f"{name} is missing", asks=Question(f"{name} is missing", f"{name} is not missing"))
        if self.kind != "categorical":
            number = Feature(name, self.limits, is_date=self.kind == "date")
            return (number, gap) if self.missing else (number,)
        known = (Feature(f"{name}={c}", asks=Question(f"{name} = {c}", f"{name} ≠ {c}")) for c in self.categories)
        other = Feature(f"{name} is other", asks=Question(f"{name} is other", f"{name} is not other"))
        return (*known, other, gap) if self.other else (*known, gap)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the `features`."""
        return tuple(feature.name for feature in self.features)

    @property
    def width(self) -> int:
        """How many `features` there are."""
        return len(self.categories) + self.other + 1 if self.kind == "categorical" else 1 + self.missing

    def encode(self, values: Any, *, table: str = "the table") -> NDArray[np.float64]:
        """Cells as numbers.

        Parameters
        ----------
        values : sequence, array or column of a table
            The cells.
        table : str, default "the table"
            What errors call the table that they come from.

        Returns
        -------
        ndarray of float64, shape (rows, number of features)
            One column for each of `features`.

        Raises
        ------
        DataError
            When a cell is none of what is declared. The message has no cell in it.
        """
        return self.expanded(self.compact(values, table=table))

    def compact(self, values: Any, *, table: str = "the table") -> Entries:
        """Cells checked and in few bytes: the place of a category among the features, or a number, NaN for a gap.

        A new array, whatever `values` is. Errors are those of `encode`.
        """
        what = f"column {self.name!r} of {table}"
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise DataError(what, "a sequence of values", "one value (put it in a list)")
        found = cells(values, what)
        return self._places(found, what) if self.kind == "categorical" else self._numbers(found, what)

    def expanded(self, entries: Entries, places: Sequence[int] | None = None) -> NDArray[np.float64]:
        """The features of `compact` cells, each row by itself: all of them, or those at `places`."""
        wanted = range(self.width) if places is None else places
        if self.kind == "categorical":
            hot: NDArray[np.bool_] = entries[:, None] == np.array(wanted, dtype=entries.dtype)
            return hot.astype(np.float64)
        gaps = np.isnan(entries)
        known = entries if self.filled_with is None else np.where(gaps, self.filled_with, entries)
        both = (known + 0.0, gaps)  # −0.0 becomes 0.0: equal rows become bit-equal
        return np.stack([both[place] for place in wanted], axis=1).astype(np.float64, copy=False)

    def _numbers(self, values: Cells, what: str) -> NDArray[np.float64]:
        try:
            found = days(values) if self.kind == "date" else numbers(values)
        except TypeError:
            raise DataError(what, *_EXPECTED[self.kind]) from None
        if np.isinf(found).any() or (not self.missing and np.isnan(found).any()):
            gapless = "" if self.missing else " without gaps (missing = true in the schema allows them)"
            allowed = "dates" if self.kind == "date" else "finite numbers"
            raise DataError(what, f"{allowed}{gapless}", "NaN, an infinity or a missing value")
        return found if self.limits is None else np.clip(found, *self.limits, out=found)

    def _places(self, values: Cells, what: str) -> Entries:
        place, undeclared = self._place, len(self.categories) if self.other else -1

        def code(reading: Reading) -> int:
            return place.get(text_of(reading), undeclared)

        try:
            codes = np.array(mapped(values, code), dtype=np.int64)
        except TypeError:
            raise DataError(what, "numbers, texts, truth values or dates", "a value of another type") from None
        if (codes < 0).any():
            raise DataError(
                what,
                f"one of its {len(self.categories)} declared categories, or missing",
                "a value that is not declared (declare it in the schema, or other = true for all such values)",
            )
        return codes.astype(np.min_scalar_type(self.width - 1))

    @cached_property
    def _place(self) -> Mapping[str | None, int]:
        """The place of each category among the features, by the text that it is compared by; None for a gap."""
        texts = [text_of(read(name)) for name in self.categories]
        return {text: place for place, text in enumerate(texts)} | {None: len(texts) + self.other}

    def _checked_categories(self) -> tuple[str, ...]:
        what = f"categories of column {self.name!r}"
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise ParameterError(what, "a list of names", self.categories)
        if any(isinstance(name, Mapping | Sequence | Set) and not isinstance(name, str) for name in self.categories):
            raise ParameterError(what, "a list of names", "a list that holds lists or tables")
        if self.kind != "categorical":
            if self.categories:
                raise ParameterError(what, "left out unless its kind is 'categorical'", self.categories)
            return ()
        if not self.categories and not self.other:
            raise ParameterError(what, "at least one name; they are never read off the data", self.categories)
        try:
            texts = [text_of(read(name)) for name in self.categories]
        except TypeError:
            raise ParameterError(what, "texts, numbers, truth values or dates", "a value of another type") from None
        # "3" and "3.0": one gap turns all of the first into the second. "NA": text in some tables, a gap in others.
        named, times = zip(self.categories, texts, strict=True), Counter(texts)
        if doubtful := [name for name, text in named if text is None or times[text] > 1]:
            allowed = "names that are read as different ones, and not as a gap, which has a column of its own"
            raise ParameterError(what, allowed, doubtful)
        names = tuple(map(_spelt, self.categories))
        if not all(map(is_unicode, names)):
            raise ParameterError(what, "Unicode text", self.categories)
        return names

    def _checked_bounds(self) -> tuple[float, float] | tuple[str, str] | None:
        if self.bounds is None:
            return None
        what = f"bounds of column {self.name!r}"
        if self.kind == "categorical":
            raise ParameterError(what, "left out unless its kind is 'numeric' or 'date'", self.bounds)
        pair: tuple[Any, ...] = tuple(self.bounds) if isinstance(self.bounds, list | tuple | np.ndarray) else ()
        return _dates(what, pair, self.bounds) if self.kind == "date" else _numbers(what, pair, self.bounds)

    def _checked_cuts(self) -> tuple[float, ...]:
        what, found = f"cuts of column {self.name!r}", _floats(self.cuts, dates=self.kind == "date")
        if self.kind == "categorical" and found != ():
            raise ParameterError(what, "left out unless its kind is 'numeric' or 'date'", self.cuts)
        allowed = "finite numbers in ascending order"
        if self.kind == "date":
            allowed = "dates such as '2014-05-03', or numbers of days since 1970-01-01, in ascending order"
        if found is None or any(low >= high for low, high in pairwise(found)):
            raise ParameterError(what, f"a list of different {allowed}", self.cuts)
        if self.limits is not None and not all(self.limits[0] <= cut < self.limits[1] for cut in found):
            raise ParameterError(what, "at least the lower bound, and below the upper one", self.cuts)
        return found

    def _checked_shares(self) -> tuple[float, ...]:
        what, found = f"shares of column {self.name!r}", _floats(self.shares)
        if found == ():
            return ()
        is_categorical = self.kind == "categorical"
        expected = len(self.categories) if is_categorical else len(self.cuts) + 1
        if found is None or len(found) != expected or min(found) < 0.0 or math.fsum(found) > 1.0 + _ROUNDING:
            each = "category" if is_categorical else "cell between the cuts and beyond them"
            raise ParameterError(what, f"{expected} numbers ≥ 0, one for each {each}, of a sum ≤ 1", self.shares)
        return found


_EXPECTED = {
    "numeric": (
        "numbers, or declared as texts or dates (--types column=text, or a schema: pcqr schema makes one)",
        "values that are not numbers",
    ),
    "date": ("dates, such as 2014-05-03, of the years 1 to 9999", "values that are not such dates"),
}


def _numbers(what: str, pair: tuple[Any, ...], value: object) -> tuple[float, float]:
    numeric = [bound for bound in pair if not isinstance(bound, bool) and isinstance(bound, Real)]
    if len(pair) != 2 or len(numeric) != 2:
        raise ParameterError(what, "a pair (low, high) of numbers", value)
    try:
        low, high = map(float, numeric)
    except OverflowError:
        raise ParameterError(what, "a pair of numbers that float64 can hold", "larger ones") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError(what, "a pair of finite numbers, low < high", (low, high))
    return low, high


def _floats(value: object, *, dates: bool = False) -> tuple[float, ...] | None:
    """Return finite numbers, or `dates` as days, as floats; None where something else is among them."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        return None
    try:
        found = tuple(_number(entry, is_date=dates) + 0.0 for entry in value)
    except (TypeError, OverflowError):
        return None
    return found if all(map(math.isfinite, found)) else None


def _number(entry: Any, *, is_date: bool) -> float:
    if isinstance(entry, bool) or not (is_date or isinstance(entry, Real)):
        raise TypeError
    return float(entry) if isinstance(entry, Real) else day_of(entry)


def _dates(what: str, pair: tuple[Any, ...], value: object) -> tuple[str, str]:
    try:
        found = [day_of(bound) for bound in pair]
    except TypeError:
        found = []
    if len(found) != 2 or not found[0] < found[1]:
        raise ParameterError(
            what, "a pair of dates, the earlier one first, such as '2014-05-03' and '2014-05-04'", value
        )
    low, high = (iso_date(int(day)) for day in found)
    return low, high


def _spelt(name: object) -> str:
    """A declared category as it is shown: integers keep their digits, also those beyond 2⁵³."""
    if isinstance(name, str):
        return str.__str__(name)
    return str(name) if isinstance(name, bool | int) else text_of(read(name)) or ""


# ---------------------------------------------------------------------------------------------------------------------
# A declared column as files spell it: a dict of strings, numbers and lists, in TOML or JSON.


def column_from(entry: object) -> Column:
    """The column that an entry of a file declares."""
    allowed = {field.name for field in fields(Column)}
    if not isinstance(entry, dict) or "name" not in entry or not set(entry) <= allowed:
        raise ParameterError("column of a schema", f"a table with a name and keys among {sorted(allowed)}", entry)
    return Column(**entry)


def described(column: Column) -> dict[str, Any]:
    """`column` as a dict of strings, numbers and lists. What does not apply to it is left out."""
    description: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.categories:
        description["categories"] = list(column.categories)
    if column.bounds is not None:
        description["bounds"] = list(column.bounds)
    description |= {name: list(numbers) for name in ("cuts", "shares") if (numbers := getattr(column, name))}
    return description | {flag: True for flag in ("missing", "other") if getattr(column, flag)}


def toml(value: object) -> str:
    """JSON's strings, numbers, truth values and lists are TOML's too, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
