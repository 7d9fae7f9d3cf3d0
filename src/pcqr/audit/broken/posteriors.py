"""Answers by draws of an ε-DP posterior, more of them than were paid for. The private data are tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.tables import Cut, Record, Scored, Table, as_points
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.exponential import exponential_guarantee
from pcqr.mechanisms.histogram import NoisyHistogram
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.gibbs.plan import GibbsStage
from pcqr.releases.gibbs.run import GibbsLabels

PUBLIC = np.array([[0.0], [1.0], [2.0]])
QUERIES = as_points([1.0, 1.2])
ETA = 0.5


@dataclass(frozen=True)
class PosteriorAnswers:
    """The labels of two queries by a draw over public points: one draw for both, or a `fresh` one for each."""

    fresh: bool

    def __call__(self, table: Table, entropy: Entropy) -> str:
        records, rows = table.source(), len(QUERIES)
        if not self.fresh:
            drawn = Thresholds().draw_on(records, ETA, public=PUBLIC, entropy=entropy).hypothesis
            return str(drawn.predict(QUERIES).tolist())
        stage = GibbsStage(records.size, records.size, rows, ETA)
        labeller = GibbsLabels(Thresholds(), records, PUBLIC, stage, entropy)
        return str([labeller.decide(row) for row in labeller.counts(QUERIES)])


ZEROS = ((1.0, 0),) * 5

BUGS: Sequence[Bug] = (
    bug(
        "charged once for fresh draws",
        "Each query is answered by a fresh draw from a posterior, and all of them are charged as one draw is.",
        source="what Dagan and Feldman's prediction of a single query becomes when it is asked twice",
        claim=exponential_guarantee(Thresholds(), records=6, inverse_temperature=ETA, features=1, public=3),
        broken=PosteriorAnswers(fresh=True),
        correct=PosteriorAnswers(fresh=False),
        neighbours=(Table((*ZEROS, (1.0, 1))), Table((*ZEROS, (1.0, 0)))),
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# Scores of a model whose histogram tells more of a record than it pays for.


EVEN: tuple[Record, ...] = ((0.0, 0),) * 3 + ((1.0, 0),) * 3
LEFT, RIGHT = Table((*EVEN, (0.0, 0))), Table((*EVEN, (1.0, 0)))
"""The median is 0 on the left and 1 on the right: with it as the cut, all who have a 1 change the bin."""

SCORE_BUGS: Sequence[Bug] = (
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
