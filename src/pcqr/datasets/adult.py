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

from pcqr.data.schema import Schema
from pcqr.datasets.tables import Columns, read_table

LABEL = "income"
SPLIT = "split"
LABEL_NAMES = ("<=50K", ">50K")
LEFT_OUT = ("fnlwgt", "education")
"""Not features by default: a survey weight, and a text that says what education-num says as a number."""

_BUNDLED = files("pcqr.datasets")


@dataclass(frozen=True)
class Dataset:
    """A binary task: encoded records, their labels, and the schema that encoded them.

    Parameters
    ----------
    X_train, X_test : ndarray of float64, shape (rows, p)
        Encoded records, in two parts.
    y_train, y_test : ndarray of int8, shape (rows,)
        Their labels; 1 stands for `label_names[1]`.
    schema : Schema
        What encoded them.
    label_names : (str, str)
        What the labels 0 and 1 are called.

    Examples
    --------
    >>> from pcqr import Schema
    >>> from pcqr.datasets import Dataset
    >>> from pcqr.data.schema import Column
    >>> import numpy as np
    >>> X, y = np.array([[25.0], [61.0]]), np.array([0, 1], dtype=np.int8)
    >>> Dataset(X, y, X, y, Schema((Column("age"),)), ("well", "ill")).feature_names
    ('age',)
    """

    X_train: NDArray[np.float64]
    y_train: NDArray[np.int8]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int8]
    schema: Schema
    label_names: tuple[str, str]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of the encoded tables."""
        return self.schema.feature_names


def load_adult(*, drop: Sequence[str] = LEFT_OUT) -> Dataset:
    """UCI Adult with its own split (32,561 and 16,281 rows), y = 1 for >50K, encoded by the published schema.

    Parameters
    ----------
    drop : sequence of str, default ("fnlwgt", "education")
        Columns to leave out; `()` keeps all fourteen.

    Returns
    -------
    Dataset

    Raises
    ------
    ParameterError
        When there is no such column.

    References
    ----------
    .. [1] B. Becker, R. Kohavi. Adult. UCI Machine Learning Repository, 1996. DOI 10.24432/C5XW20. CC BY 4.0.

    Examples
    --------
    >>> from pcqr.datasets import load_adult
    >>> adult = load_adult()
    >>> adult.X_train.shape, adult.X_test.shape, adult.label_names
    ((32561, 95), (16281, 95), ('<=50K', '>50K'))
    >>> adult.feature_names[:2]
    ('age', 'workclass=Private')
    """
    schema = adult_schema().without(*drop)
    table = _published_table()
    X = schema.encode(table, drop=(LABEL, SPLIT, *drop))
    y = np.array([label == LABEL_NAMES[1] for label in table[LABEL]], dtype=np.int8)
    train = np.array([part == "train" for part in table[SPLIT]])
    return Dataset(X[train], y[train], X[~train], y[~train], schema, LABEL_NAMES)


def adult_table(split: Literal["train", "test"]) -> Columns:
    """The records of one part as they were published, as text.

    Parameters
    ----------
    split : {"train", "test"}
        Which part.

    Returns
    -------
    dict of list
        Columns by name; the label is in `income`.

    Examples
    --------
    >>> from pcqr.datasets import adult_table
    >>> table = adult_table("test")
    >>> table["age"][0], table["occupation"][0], table["income"][0]
    ('25', 'Machine-op-inspct', '<=50K')
    """
    table = _published_table()
    chosen = [row for row, part in enumerate(table.pop(SPLIT)) if part == split]
    return {name: [values[row] for row in chosen] for name, values in table.items()}


def adult_schema() -> Schema:
    """The fourteen columns of UCI Adult with their published category lists and declared bounds.

    Returns
    -------
    Schema

    Examples
    --------
    >>> from pcqr.datasets import adult_schema
    >>> adult_schema().names[:3], adult_schema().columns[0].bounds
    (('age', 'workclass', 'fnlwgt'), (17.0, 90.0))
    """
    with as_file(_BUNDLED / "adult.toml") as path:
        return Schema.from_toml(path)


def _published_table() -> Columns:
    with as_file(_BUNDLED / "adult.csv.gz") as path:
        return read_table(path)
