"""Weights that let a record count more than one; counts of labels with too little noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.classifiers import Counted, counted
from pcqr.audit.exact.cases.tables import Table
from pcqr.audit.exact.cases.weights import LabelCounts, WeightedTable
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.plan import ClassCountsStage, Context, account
from pcqr.records.counting import IntArray
from pcqr.records.weighted import Weighted


class TwiceWeighted(Weighted):
    """Records of which each counts twice its weight: weights that have the mean 1, say, and not at most 1."""

    def _weights(self) -> IntArray:
        return 2 * super()._weights()


@dataclass(frozen=True)
class TwiceWeightedTable(WeightedTable):
    def source(self, labels: int = 2) -> Weighted:  # type: ignore[override]  # asked as any other
        return TwiceWeighted(Table.source(self, labels), self.by_label[:labels], np.array(self.weights))


COUNTED = counted(0.5, 4.0)
RECORDS = ((1.0, 0), (1.0, 0)), ((1.0, 0), (1.0, 1))
SPREAD = ((1.0, 1), (1.0, 1)), ((1.0, 1), (1.0, 2))
"""With three labels, of which the second becomes the third."""

HALF_THE_NOISE = ClassCountsStage(1.0, classes=3)
COUNTS = ClassCountsStage(2.0, classes=3)


def _tables(kind: type[WeightedTable]) -> tuple[WeightedTable, WeightedTable]:
    return kind(RECORDS[0], (1.0, 1.0)), kind(RECORDS[1], (1.0, 1.0))


BUGS: Sequence[Bug] = (
    bug(
        "weights above one",
        "Weights are divided by their mean and not by a bound: a record of a large one counts as two, and is charged "
        "for one.",
        claim=COUNTED.claimed(2),
        broken=Counted(COUNTED.stage),
        correct=COUNTED,
        neighbours=_tables(TwiceWeightedTable),
        correct_neighbours=_tables(WeightedTable),
    ),
    bug(
        "counts of labels with noise for one",
        "Counts of three labels have noise for one count that moves by 1. A record that has another label leaves one "
        "count and enters another.",
        claim=account(COUNTS, Context(Thresholds(), 2, 1)),
        broken=LabelCounts(HALF_THE_NOISE),
        correct=LabelCounts(COUNTS),
        neighbours=(Table(SPREAD[0]), Table(SPREAD[1])),
    ),
)
