"""How many records are in each cell, with noise: all that is asked of private records to score a model."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.entropy import Entropy
from pcqr.mechanisms.histogram import NoisyHistogram
from pcqr.records import Persons, Records
from pcqr.records.arrays import Points


class Binning(Protocol):
    """A function from a row to one of `count` public bins: row by row, each by itself."""

    @property
    def count(self) -> int: ...

    def places(self, X: Points, /) -> NDArray[np.int64]: ...


def noisy_histogram(records: Records, binning: Binning, noise: NoisyHistogram, entropy: Entropy) -> list[int]:
    """Counts of (label, bin), label by label, then of all records whose label is the last one; with noise on each.

    The last label of `records` stands for all that are no label. Of a person one row counts, chosen by a secret coin.
    """
    if isinstance(records, Persons):
        records = records.one_each(entropy)
    known, bins = records.labels - 1, binning.count
    counts = np.zeros(known * bins + 1, dtype=np.int64)
    for X, y in records.blocks(records.point_rows):
        cells = np.where(y < known, y.astype(np.int64) * bins + binning.places(X), known * bins)
        counts += np.bincount(cells, minlength=counts.size)
    return noise.release(counts, entropy)
