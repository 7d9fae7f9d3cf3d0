"""Bundled data sets, and tables from local files.

Examples
--------
>>> from pcqr.datasets import BUNDLED
>>> [(bundled.name, bundled.rows) for bundled in BUNDLED]
[('adult', '32,561 train + 16,281 test')]
"""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.datasets.adult import Dataset, adult_schema, adult_table, load_adult
from pcqr.datasets.tables import read_table, write_table


@dataclass(frozen=True)
class Bundled:
    """What `pcqr datasets` says about a data set that comes with pcqr.

    Parameters
    ----------
    name : str
        What it is called.
    loader : str
        The function that loads it.
    rows : str
        How many rows, in words.
    task : str
        What is to be predicted.
    source : str
        Who published it.
    licence : str
        Under which terms.

    Examples
    --------
    >>> from pcqr.datasets import BUNDLED, Bundled
    >>> isinstance(BUNDLED[0], Bundled), BUNDLED[0].licence
    (True, 'CC BY 4.0')
    """

    name: str
    loader: str
    rows: str
    task: str
    source: str
    licence: str


BUNDLED = (
    Bundled(
        name="adult",
        loader="pcqr.datasets.load_adult",
        rows="32,561 train + 16,281 test",
        task="does a person earn over 50,000 dollars a year (US census, 1994)?",
        source="Becker and Kohavi (1996), UCI Machine Learning Repository, DOI 10.24432/C5XW20",
        licence="CC BY 4.0",
    ),
)

__all__ = ["BUNDLED", "Bundled", "Dataset", "adult_schema", "adult_table", "load_adult", "read_table", "write_table"]
