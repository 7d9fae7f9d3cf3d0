"""Scores of a model whose histogram tells more of a record than it pays for."""

from __future__ import annotations

from collections.abc import Sequence

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.scores import Cut, Scored
from pcqr.audit.exact.cases.tables import Record, Table
from pcqr.guarantee import Guarantee
from pcqr.mechanisms.histogram import NoisyHistogram

EVEN: tuple[Record, ...] = ((0.0, 0),) * 3 + ((1.0, 0),) * 3
LEFT, RIGHT = Table((*EVEN, (0.0, 0))), Table((*EVEN, (1.0, 0)))
"""The median is 0 on the left and 1 on the right: with it as the cut, all who have a 1 change the bin."""

BUGS: Sequence[Bug] = (
    bug(
        "noise for one cell",
        "A count moves by 1, so the noise has scale 1/ε. A replaced record moves two of them.",
        claim=Guarantee(1.0),
        broken=Scored(NoisyHistogram(1.0), Cut(0.5)),
        correct=Scored(NoisyHistogram(2.0), Cut(0.5)),
        neighbours=(LEFT, RIGHT),
    ),
    bug(
        "bins cut by the records",
        "The bins have as many records each: they are cut at a quantile of the scored records themselves.",
        claim=Guarantee(1.0),
        broken=Scored(NoisyHistogram(2.0), None),
        correct=Scored(NoisyHistogram(2.0), Cut(0.5)),
        neighbours=(LEFT, RIGHT),
    ),
)
