"""UCI Adult, bundled: does a person earn over 50,000 dollars a year (US census, 1994)?

Becker and Kohavi (1996), UCI Machine Learning Repository, DOI 10.24432/C5XW20, CC BY 4.0; what was changed is in
`adult.ATTRIBUTION.md` beside the data. Needs no optional dependency and no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pcqr.datasets.tables import Columns, read_table
from pcqr.schema import Schema

LABEL = "income"
SPLIT = "split"
LABEL_NAMES = ("<=50K", ">50K")
LEFT_OUT = ("fnlwgt", "education")
"""Not features by default: a survey weight, and a text that says what education-num says as a number."""

_BUNDLED = files("pcqr.datasets")


@dataclass(frozen=True)
class Dataset:
    """A binary task: encoded records, labels (1 stands for `label_names[1]`), and the schema that encoded them."""

    X_train: NDArray[np.float64]
    y_train: NDArray[np.int8]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int8]
    schema: Schema
    label_names: tuple[str, str]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.schema.feature_names


def load_adult(*, drop: Sequence[str] = LEFT_OUT) -> Dataset:
    """Adult with its own split (32,561 and 16,281 rows), y = 1 for >50K, encoded by the published schema.

    `drop` names columns to leave out; `drop=()` keeps all fourteen.
    """
    schema = adult_schema().without(*drop)
    table = _published_table()
    X = schema.encode(table, drop=(LABEL, SPLIT, *drop))
    y = np.array([label == LABEL_NAMES[1] for label in table[LABEL]], dtype=np.int8)
    train = np.array([part == "train" for part in table[SPLIT]])
    return Dataset(X[train], y[train], X[~train], y[~train], schema, LABEL_NAMES)


def adult_table(split: Literal["train", "test"]) -> Columns:
    """The records of one part as they were published, as text, with the label in column `income`."""
    table = _published_table()
    chosen = [row for row, part in enumerate(table.pop(SPLIT)) if part == split]
    return {name: [values[row] for row in chosen] for name, values in table.items()}


def adult_schema() -> Schema:
    """The fourteen columns with their published category lists and declared bounds."""
    with as_file(_BUNDLED / "adult.toml") as path:
        return Schema.from_toml(path)


def _published_table() -> Columns:
    with as_file(_BUNDLED / "adult.csv.gz") as path:
        return read_table(path)
