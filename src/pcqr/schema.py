"""What is known about x without looking at the private data: the columns, their categories, their bounds.

A schema is declared (in Python, TOML or JSON) by somebody who knows what the columns mean. Nothing in it is ever
read off private records: a category list or a range computed from them is itself a release that nobody paid for.

Encoding acts on each record alone, so neighbouring tables stay neighbours: one record replaced is one row of the
matrix replaced, and no guarantee changes.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError, ParameterError

ColumnKind = Literal["numeric", "categorical"]


class Table(Protocol):
    """A mapping from column name to values. A dict of lists is one; so is a pandas DataFrame."""

    def keys(self) -> Iterable[Any]: ...

    def __getitem__(self, name: str, /) -> Any: ...


@dataclass(frozen=True)
class Column:
    """One column of x.

    A *numeric* column is passed on as it is, clipped to `bounds` = (low, high) where they are declared.
    A *categorical* column becomes one 0/1 feature for each of its declared `categories`, in the order given, and a
    last one for a missing value. Categories are compared by their text: 3, 3.0 and "3" are the same category.
    """

    name: str
    kind: ColumnKind = "numeric"
    categories: Sequence[str] = ()
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ParameterError("name of a column", "a non-empty string", self.name)
        if self.kind not in ("numeric", "categorical"):
            raise ParameterError(f"kind of column {self.name!r}", "'numeric' or 'categorical'", self.kind)
        object.__setattr__(self, "categories", self._checked_categories())
        object.__setattr__(self, "bounds", self._checked_bounds())

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features that this column becomes."""
        if self.kind == "numeric":
            return (self.name,)
        return (*(f"{self.name}={category}" for category in self.categories), f"{self.name} is missing")

    def encode(self, values: Any, *, table: str = "the table") -> NDArray[np.float64]:
        """`values` as a float64 matrix with one column for each of `feature_names`; errors speak of `table`."""
        what = f"column {self.name!r} of {table}"
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise DataError(what, "a sequence of values", "one value (put it in a list)")
        return self._numbers(values, what) if self.kind == "numeric" else self._one_hot(values, what)

    def _numbers(self, values: Any, what: str) -> NDArray[np.float64]:
        try:
            raw = np.asarray(values)
            if raw.ndim != 1 or raw.dtype.kind not in "biufOUST":  # dates and complex numbers would be cast too
                raise TypeError
            numbers = raw.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(
                what,
                "numbers without gaps, or declared as categorical with its categories",
                "values that are not numbers (or are missing)",
            ) from None
        if not np.isfinite(numbers).all():
            raise DataError(what, "finite numbers without gaps", "NaN, an infinity or a missing value")
        if self.bounds is not None:
            numbers = np.clip(numbers, *self.bounds)
        return (numbers + 0.0).reshape(-1, 1)  # + 0.0 turns −0.0 into 0.0: equal rows become bit-equal

    def _one_hot(self, values: Any, what: str) -> NDArray[np.float64]:
        position: dict[str | None, int] = {category: i for i, category in enumerate(self.categories)}
        position[None] = len(self.categories)
        codes = np.array([position.get(_category(value), -1) for value in values], dtype=np.int64)
        if (codes < 0).any():
            raise DataError(
                what,
                f"one of its {len(self.categories)} declared categories, or missing",
                "a value that is not declared (declare it in the schema if it is a legitimate one)",
            )
        return np.eye(len(position))[codes]

    def _checked_categories(self) -> tuple[str, ...]:
        what = f"categories of column {self.name!r}"
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise ParameterError(what, "a list of names", self.categories)
        names = tuple(_category(category) for category in self.categories)
        if self.kind == "numeric":
            if names:
                raise ParameterError(what, "left out unless its kind is 'categorical'", self.categories)
            return ()
        if not names:
            raise ParameterError(what, "at least one name; they are never read off the data", self.categories)
        known = tuple(name for name in names if name is not None)
        if len(set(known)) < len(names):
            raise ParameterError(what, "different names, none of them missing", self.categories)
        return known

    def _checked_bounds(self) -> tuple[float, float] | None:
        if self.bounds is None:
            return None
        what = f"bounds of column {self.name!r}"
        if self.kind != "numeric":
            raise ParameterError(what, "left out unless its kind is 'numeric'", self.bounds)
        try:
            low, high = (float(bound) for bound in self.bounds)
        except (TypeError, ValueError):
            raise ParameterError(what, "a pair (low, high) of numbers", self.bounds) from None
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ParameterError(what, "a pair of finite numbers, low < high", self.bounds)
        return low, high


@dataclass(frozen=True)
class Schema:
    """The columns of x, in the order in which their features stand in the encoded matrix."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns:
            raise ParameterError("columns", "at least one column", self.columns)
        if repeated := _repeated(self.names) or _repeated(self.feature_names):
            raise ParameterError("columns", "columns and features with different names", f"{_listed(repeated)} twice")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns of the encoded matrix."""
        return tuple(name for column in self.columns for name in column.feature_names)

    def encode(self, table: Table, *, drop: Collection[str] = (), name: str = "the table") -> NDArray[np.float64]:
        """`table` as a float64 matrix, one row for each record and one column for each of `feature_names`.

        Columns are found by name, so their order in `table` does not matter. A column that the schema does not
        know is an error unless `drop` names it. Equal rows are encoded bit by bit the same, whatever table they
        come in. Errors call the table `name` and never carry a value of it.
        """
        present = list(table.keys())
        if repeated := _repeated(present):
            raise DataError(name, "a table whose columns have different names", f"{_listed(repeated)} more than once")
        if absent := [declared for declared in self.names if declared not in present]:
            raise DataError(name, f"a table with the columns {_listed(self.names)}", f"one without {_listed(absent)}")
        if unknown := [found for found in present if found not in self.names and found not in drop]:
            raise DataError(
                name,
                "a table with the columns of the schema alone",
                f"also {_listed(unknown)}: drop or declare what is extra",
            )
        blocks = [column.encode(table[column.name], table=name) for column in self.columns]
        if len({block.shape[0] for block in blocks}) > 1:
            raise DataError(name, "a table with columns of one length", "columns of different lengths")
        return np.hstack(blocks)

    def without(self, *names: str) -> Schema:
        """This schema less the columns `names`."""
        if unknown := [name for name in names if name not in self.names]:
            raise ParameterError("names", f"among {_listed(self.names)}", unknown)
        return Schema(tuple(column for column in self.columns if column.name not in names))

    @classmethod
    def from_toml(cls, path: str | Path) -> Schema:
        """Read `[[columns]]` tables, each with `name`, `kind` and, where they apply, `categories` or `bounds`."""
        return cls._from_file(path, tomllib.loads, "TOML")

    @classmethod
    def from_json(cls, path: str | Path) -> Schema:
        """Read what `to_json` wrote."""
        return cls._from_file(path, json.loads, "JSON")

    def to_json(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> Schema:
        """The schema that `to_dict` describes: {"columns": [{"name": …, "kind": …, …}, …]}."""
        columns = description.get("columns")
        if set(description) != {"columns"} or not isinstance(columns, list):
            raise ParameterError("schema", "one list named 'columns'", sorted(map(str, description)))
        return cls(tuple(_column_from(entry) for entry in columns))

    def to_dict(self) -> dict[str, Any]:
        """A description made of dicts, lists, strings and numbers. What does not apply to a column is left out."""
        return {"columns": [_described(column) for column in self.columns]}

    @classmethod
    def _from_file(cls, path: str | Path, parse: Callable[[str], Any], language: str) -> Schema:
        try:
            description = parse(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ParameterError("schema", "a file that can be read", f"{path} ({error.strerror})") from None
        except ValueError as error:  # both parsers' errors, and text that is not UTF-8
            raise ParameterError("schema", f"a {language} file", f"{path} ({error})") from None
        if not isinstance(description, dict):
            raise ParameterError("schema", "one list named 'columns'", type(description).__name__)
        return cls.from_dict(description)


def _column_from(entry: object) -> Column:
    allowed = {"name", "kind", "categories", "bounds"}
    if not isinstance(entry, dict) or "name" not in entry or not set(entry) <= allowed:
        raise ParameterError("column of a schema", f"a table with a name and keys among {sorted(allowed)}", entry)
    return Column(**entry)


def _described(column: Column) -> dict[str, Any]:
    description: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.categories:
        description["categories"] = list(column.categories)
    if column.bounds is not None:
        description["bounds"] = list(column.bounds)
    return description


def _category(value: object) -> str | None:
    """The text that `value` is compared by; None when it is missing (None, NaN, pandas' NA and NaT)."""
    if isinstance(value, str):
        return str(value)
    if value is None or _differs_from_itself(value):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))  # pandas turns integers with gaps into floats
    return str(value)


def _differs_from_itself(value: Any) -> bool:
    try:
        return bool(value != value)  # noqa: PLR0124
    except TypeError:  # pandas.NA has no truth value
        return True


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _listed(names: Iterable[object]) -> str:
    return ", ".join(repr(name) for name in names)
