"""What `answer` and `publish` read alike: labels, schemas, and rows that are called public but are private."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.cli.console import warn
from pcqr.datasets.tables import Columns, read_table
from pcqr.errors import DataError, ParameterError
from pcqr.schema import Column, Schema
from pcqr.schema.cells import category
from pcqr.schema.overlap import coinciding_rows, is_mostly_private

Labels = NDArray[np.int8]


def read(path: Path, option: str) -> Columns:
    """The table in the file that `option` names."""
    with naming(option):
        return read_table(path)


@contextmanager
def naming(option: str) -> Iterator[None]:
    """Errors about a path speak of the option that it was given by."""
    try:
        yield
    except ParameterError as error:
        if error.name != "path":
            raise
        raise ParameterError(option, error.allowed, error.received) from None


def label_names(declared: str | None, *, most: int) -> tuple[str, ...] | None:
    """The names that --labels declares, 2 to `most` of them; None where it is not given."""
    if declared is None:
        return None
    names = tuple(name.strip() for name in declared.split(","))
    allowed = (
        "two different names, 'negative,positive'" if most == 2 else f"2 to {most} different names, 'first,second,…'"
    )
    if not 2 <= len(names) <= most or len({category(name) for name in names} - {None}) < len(names):
        raise ParameterError("--labels", allowed, declared)
    if not all(map(str.isprintable, names)):
        raise ParameterError("--labels", f"{allowed}, on one line", declared)
    return names


def labels_of(private: Columns, name: str, declared: tuple[str, ...] | None) -> Labels:
    """0, 1, … for each private record: its place among the declared names, or its value where that is 0 or 1.

    Names that were not declared are never read off the records: they would be published without being paid for.
    """
    check_label(private, name)
    if declared is not None:
        places = _encoded(Column(name, "categorical", declared), private[name])
        allowed = f"one of {', '.join(declared)} in every row, as --labels says"
        if places is not None and places[:, : len(declared)].any(axis=1).all():
            chosen: Labels = np.argmax(places, axis=1).astype(np.int8)
            return chosen
    else:
        numbers = _encoded(Column(name), private[name])
        allowed = "0 or 1 in every row; declare other names, which are then public, with --labels 'first,second'"
        if numbers is not None and np.isin(numbers, (0.0, 1.0)).all():
            return numbers[:, 0].astype(np.int8)
    raise DataError(f"label column {name!r}", allowed, "other values, or missing ones")


def check_label(columns: Collection[str], name: str) -> None:
    if name not in columns:
        # The columns are not listed: in a file without a header they are a private record.
        raise ParameterError("--label", f"the name of one of the {len(columns)} columns in the first line", name)


def check_drop(drop: Sequence[str], *tables: Collection[str]) -> None:
    for name in drop:
        if not any(name in table for table in tables):
            raise ParameterError("--drop", "the name of a column of one of the files", name)


def declared_schema(path: Path) -> Schema:
    return Schema.from_json(path) if path.suffix.lower() == ".json" else Schema.from_toml(path)


def check_public(
    shown: NDArray[np.float64], private: NDArray[np.float64], *, option: str, path: Path, surely_public: bool
) -> None:
    """Refuse rows of which more than half are private ones; warn the data holder of fewer.

    That rows coincide is a fact about the private records that nobody pays for. How many do is not said, and the
    refusal is for the data holder, as every other one is (V10, V29). `surely_public` rows are not compared at all.
    """
    if surely_public:
        return
    found = coinciding_rows(shown, private)
    if is_mostly_private(found, shown):
        raise DataError(
            option,
            "rows that are free to be shown, not private ones (should they be public and coincide because few "
            "different rows are possible: --surely-public)",
            f"{path}, more than half of whose rows are rows of the private file",
        )
    if found:
        share = next(word for limit, word in _SHARES if found <= limit * len(shown))
        warn(
            f"{share} of the rows of {path} are rows of the private file as well. That may be chance; but what is "
            "released can show them, so they must be public. This says something about your private records: keep it "
            "to yourself."
        )


_SHARES = ((0.01, "A few"), (0.1, "Some"), (0.5, "Many"))


def _encoded(column: Column, values: Sequence[Any]) -> NDArray[np.float64] | None:
    try:
        return column.encode(values)
    except DataError:
        return None
