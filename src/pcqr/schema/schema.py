"""The columns of x together: encoding, files, and a schema from public rows."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer
from pcqr.errors import DataError, ParameterError
from pcqr.schema.cells import listed
from pcqr.schema.column import Column, Feature, Question
from pcqr.schema.public import column_from_public


class Table(Protocol):
    """Columns found by name: a dict of sequences, a pandas or Polars DataFrame, an Arrow table."""

    def __getitem__(self, name: str, /) -> Any: ...


@dataclass(frozen=True)
class Schema:
    """The columns of x, in the order in which their features stand in the encoded matrix."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns:
            raise ParameterError("columns", "at least one column", self.columns)
        if repeated := _repeated(self.names) or _repeated(self.feature_names):
            raise ParameterError("columns", "columns and features with different names", f"{listed(repeated)} twice")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns of the encoded matrix: what each is called, what it asks, its bounds."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @property
    def filled_with(self) -> dict[str, float]:
        """For each numeric or date column that may have gaps, the public constant that a missing number becomes."""
        return {column.name: column.filled_with for column in self.columns if column.filled_with is not None}

    def question(self, feature: int, cut: float) -> Question:
        """The predicate x[`feature`] > `cut` on the encoded matrix, and its negation, in words.

        A missing number counts as what `filled_with` says, here as everywhere.
        """
        return self.features[feature].question(cut)

    def encode(self, table: Table, *, drop: Collection[str] = (), name: str = "the table") -> NDArray[np.float64]:
        """`table` as a float64 matrix, one row for each record and one column for each of `feature_names`.

        Columns are found by name, so their order in `table` does not matter. A column that the schema does not
        know is an error unless `drop` names it. Equal rows are encoded bit by bit the same, whatever table they
        come in. Errors call the table `name` and never carry a value of it.
        """
        present = _column_names(table, name)
        if absent := [declared for declared in self.names if declared not in present]:
            raise DataError(name, f"a table with the columns {listed(self.names)}", f"one without {listed(absent)}")
        if unknown := [found for found in present if found not in self.names and found not in drop]:
            raise DataError(
                name,
                "a table with the columns of the schema alone",
                f"also {listed(unknown)}: drop or declare what is extra",
            )
        encoded = np.empty((0, 0))
        start = 0
        for column in self.columns:  # one block at a time: two copies of a large table may not fit
            block = column.encode(table[column.name], table=name)
            if start == 0:
                encoded = np.empty((block.shape[0], len(self.features)))
            if block.shape[0] != encoded.shape[0]:
                raise DataError(name, "a table with columns of one length", "columns of different lengths")
            encoded[:, start : start + block.shape[1]] = block
            start += block.shape[1]
        return encoded

    def without(self, *names: str) -> Schema:
        """This schema less the columns `names`."""
        if unknown := [name for name in names if name not in self.names]:
            raise ParameterError("names", f"among {listed(self.names)}", unknown)
        return Schema(tuple(column for column in self.columns if column.name not in names))

    @classmethod
    def from_public(cls, rows: Table, *, drop: Collection[str] = (), most_categories: int = 100) -> Schema:
        """A schema made of public rows. **Calling this declares that `rows` are public**: never pass private records.

        A column of numbers becomes numeric, with the smallest and the largest public number as its bounds (none where
        they are equal), and may have gaps whether or not the public rows have any: private records can be incomplete
        where public ones were not, and a refusal then would say so. A column of dates becomes a date in the same way;
        ISO texts are dates. Any other column becomes categorical, with the categories that occur in the rows, at most
        the `most_categories` most common ones (every one that at least 1 % of the rows have, as it stands), and
        `other` for all that do not: private records may have them too. Truth values have both categories. A column
        goes by its type; one without (a list, as CSV files give, or pandas' `object`) goes by its values. Only values
        that occur are read: the categories of a pandas, Polars or Arrow dictionary type may stem from a larger table.
        `drop` names columns to leave out, such as labels.
        """
        check_integer("most_categories", most_categories, least=1)
        names = [name for name in _column_names(rows, "public rows") if name not in drop]
        return cls(tuple(column_from_public(name, rows[name], most_categories) for name in names))

    @classmethod
    def from_toml(cls, path: str | Path) -> Schema:
        """Read `[[columns]]` tables, each with `name`, `kind` and, where they apply, the other fields of `Column`."""
        return cls._from_file(path, tomllib.loads, "TOML")

    @classmethod
    def from_json(cls, path: str | Path) -> Schema:
        """Read what `to_json` wrote."""
        return cls._from_file(path, json.loads, "JSON")

    def to_json(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def to_toml(self, path: str | Path) -> None:
        Path(path).write_text(
            "\n".join(
                "[[columns]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in column.items())
                for column in self.to_dict()["columns"]
            ),
            encoding="utf-8",
        )

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
            if not isinstance(description, dict):
                raise ParameterError("schema", "one list named 'columns'", type(description).__name__)
            return cls.from_dict(description)
        except OSError as error:
            raise ParameterError("schema", "a file that can be read", f"{path} ({error.strerror})") from None
        except ParameterError:
            raise
        except RecursionError:
            raise ParameterError("schema", f"a {language} file", f"{path} (nested too deeply)") from None
        except ValueError as error:  # both parsers' errors, text that is not UTF-8, integers too long to be shown
            raise ParameterError("schema", f"a {language} file", f"{path} ({error})") from None


def _column_from(entry: object) -> Column:
    allowed = {field.name for field in fields(Column)}
    if not isinstance(entry, dict) or "name" not in entry or not set(entry) <= allowed:
        raise ParameterError("column of a schema", f"a table with a name and keys among {sorted(allowed)}", entry)
    return Column(**entry)


def _described(column: Column) -> dict[str, Any]:
    description: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.categories:
        description["categories"] = list(column.categories)
    if column.bounds is not None:
        description["bounds"] = list(column.bounds)
    return description | {flag: True for flag in ("missing", "other") if getattr(column, flag)}


def _toml(value: object) -> str:
    """JSON's strings, numbers, truth values and lists are TOML's too, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def has_columns(table: Any) -> bool:
    """Has `table` columns with names: is it a mapping, a pandas or Polars frame, or an Arrow table?"""
    return any(hasattr(table, its) for its in ("keys", "column_names", "get_columns"))


def _column_names(table: Any, what: str) -> list[str]:
    """The names of the columns in their order: dicts and pandas give `keys()`, Arrow `column_names`."""
    if not has_columns(table):
        raise DataError(
            what, "columns with names: a dict of sequences, a data frame or an Arrow table", "something else"
        )
    if hasattr(table, "keys"):
        present = list(table.keys())
    else:
        present = list(table.column_names if hasattr(table, "column_names") else table.columns)
    if repeated := _repeated(present):
        raise DataError(what, "a table whose columns have different names", f"{listed(repeated)} more than once")
    return present


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
