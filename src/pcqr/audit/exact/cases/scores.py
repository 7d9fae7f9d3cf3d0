"""A model scored on private records: its noisy histogram, as far as a few marks tell of every count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.algorithms.score import Binning, noisy_histogram
from pcqr.audit.exact.cases.tables import Pairs, Place, Record, Table, replacing_the_last
from pcqr.audit.exact.verify import Case
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.histogram import NoisyHistogram
from pcqr.models import PublishedModel
from pcqr.models.score import Bins
from pcqr.records.arrays import Points
from pcqr.schema import Column, Schema

MARKS = (0, 2)
"""A count that moves by 1 between them is told apart best by what lies beyond: noise falls off evenly there."""
NO_CLASS = 2
"""The label of a record whose label is none of the two classes."""
MODEL = PublishedModel(Thresholds().learn([0.0, 1.0], [0, 1]), (0, 1), Schema((Column("x"),)), Guarantee(0.0))


@dataclass(frozen=True)
class Cut:
    """Two bins, on either side of a cut."""

    at: float
    count: int = 2

    def places(self, X: Points) -> NDArray[np.int64]:
        return (X[:, 0] > self.at).astype(np.int64)


@dataclass(frozen=True)
class Scored:
    """Between which marks each noisy count lies. `binning` None: the cut is the median of the records' own values."""

    noise: NoisyHistogram
    binning: Binning | None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        binning = Cut(float(np.median(table.points))) if self.binning is None else self.binning
        shown = noisy_histogram(table.source(NO_CLASS + 1), binning, self.noise, entropy)
        return "".join(_between(count) for count in shown)


def _between(count: int) -> str:
    for mark, told in zip(MARKS, "-·", strict=True):
        if count <= mark:
            return told
    return "+"


def score_cases(*, full: bool) -> Iterator[Case]:
    common: tuple[Record, ...] = ((0.0, 0), (1.0, 1))
    places: tuple[Place, ...] = (0.0, 1.0)
    lasts: list[Record] = [(x, label) for x in places for label in range(NO_CLASS + 1)]
    pairs: Pairs = replacing_the_last(common, lasts if full else lasts[:4])
    for scale in (1.0, 8.0) if full else (2.0,):
        noise = NoisyHistogram(scale)
        name = f"Score: n = {len(common) + 1}, 2 labels and no label, 2 bins, s = {scale:g}"
        yield Case.once(name, noise.guarantee, pairs, Scored(noise, Bins(MODEL, 2)))
