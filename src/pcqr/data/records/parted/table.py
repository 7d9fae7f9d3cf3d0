"""A private table in Parquet files, for `fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pcqr.data.records.parted.engine import Engine, Spool
from pcqr.data.records.parted.parquet import ParquetParts, Reading
from pcqr.data.records.parted.source import Parted
from pcqr.data.schema import Schema
from pcqr.data.schema.labels import LabelColumn


@dataclass(frozen=True)
class ParquetTable:
    """A private table that need not fit into memory: `fit(ParquetTable(…))`, without `y`.

    It is read part by part, each cell once, and kept in compact form by an engine; the release is the same, to the
    last bit, as that of the same table in memory (docs/scaling.md).

    Parameters
    ----------
    path : str or Path
        A `.parquet` file, or a folder: all such files in it and in the folders within it, in the order of their paths.
        Needs the extra `data`.
    label : str
        The column of the labels. Their names are the estimator's `classes`, or 0 and 1.
    schema : Schema or None, default None
        The declared columns. None: the `schema` of `fit`, or one made of its public rows. `PrivateClassifier` needs
        neither: the types of the files tell the kinds of the columns, and it buys the rest.
    drop : sequence of str, default ()
        Columns to leave out.
    engine : Engine or None, default None
        Who keeps the parts. None: `Spool()`, scratch files on this machine. `pcqr.data.records.Cluster(…)`: workers of
        a Dask cluster.

    Raises
    ------
    ParameterError
        When there is no such file or folder.
    DataError
        When a file is no Parquet file, the files have different columns, or there is no row.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pcqr import PrivateClassifier, Schema
    >>> from pcqr.datasets import write_table
    >>> from pcqr.data.records import ParquetTable
    >>> from pcqr.data.schema import Column
    >>> rng = np.random.default_rng(0)
    >>> ages = rng.integers(18, 90, 2_000)
    >>> classifier = PrivateClassifier(epsilon=1.0, method="tree", entropy=0)  # seeded: NOT PRIVATE
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(2):
    ...         rows = ages[part::2]
    ...         write_table(f"{folder}/{part}.parquet", {"age": rows, "ill": (rows > 60).astype(int)})
    ...     table = ParquetTable(folder, label="ill", schema=Schema((Column("age", bounds=(18, 90)),)))
    ...     classifier = classifier.fit(table)
    >>> classifier.predict({"age": [20, 85]})
    array([0, 1])
    """

    path: str | Path
    label: str
    schema: Schema | None = None
    drop: Sequence[str] = ()
    engine: Engine | None = field(default=None, repr=False)

    @cached_property
    def parts(self) -> ParquetParts:
        """What the footers of the files say."""
        return ParquetParts.of(self.path)

    def read(self, schema: Schema, names: Sequence[Any] | None, texts: Sequence[str] = ()) -> Parted:
        """Return the records, with labels of these names (None: 0 and 1). Checks every cell.

        Keeps the texts of the columns `texts`, too (`Parted.read_by`).
        """
        label = LabelColumn(self.label, None if names is None else tuple(names))
        engine = Spool() if self.engine is None else self.engine
        reading = Reading(str(self.path), schema.columns, label, tuple(texts))
        return Parted.read(engine, self.parts, reading, self.drop)
