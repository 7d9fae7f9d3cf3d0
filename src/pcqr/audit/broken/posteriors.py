"""Answers by draws of an ε-DP posterior, more of them than were paid for. The private data are tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.tables import Table, as_points
from pcqr.entropy import Entropy
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.exponential import exponential_guarantee
from pcqr.peers.gibbs.algorithm import GibbsLabels
from pcqr.peers.gibbs.plan import GibbsStage

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
