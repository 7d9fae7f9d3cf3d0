"""An error message that quotes the private records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.statistical.runs import Table, VotesRun
from pcqr.errors import DataError
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.privacy.entropy import Entropy
from pcqr.releases.subsample.plan import VoteStage

PLAN = VoteStage(
    records=5,
    subsample=5,
    teachers=5,
    inverse_temperature=None,
    sparse_vector=OneSidedSparseVector.calibrate(1.0, 0.1, unstable=1),
)


@dataclass(frozen=True)
class CheckedVotes:
    """The shipped votes, after a check that the queries lie within the `bounds`, or (None) within the private range.

    The check comes before any noise is drawn, as it should. What it says is seen by whoever asks.
    """

    votes: VotesRun
    bounds: tuple[float, float] | None = None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        low, high = self.bounds or (float(table.X.min()), float(table.X.max()))
        try:
            if self.votes.queries.min() < low or self.votes.queries.max() > high:
                raise DataError("x", f"a number in [{low:g}, {high:g}]", "a number outside")
            return self.votes(table, entropy)
        except DataError as error:
            return str(error)


def _ages(oldest: float) -> Table:
    return Table.of([20.0, 30.0, 40.0, 50.0, oldest], [0, 0, 0, 1, 1])


VOTES = VotesRun(Thresholds(), PLAN, np.array([[130.0]]))

BUGS: Sequence[Bug] = (
    bug(
        "private value in an error",
        "A query out of range is refused with the range of the private records: the largest one is quoted.",
        claim=PLAN.sparse_vector.guarantee,
        broken=CheckedVotes(VOTES),
        correct=CheckedVotes(VOTES, bounds=(0.0, 120.0)),
        neighbours=(_ages(60.0), _ages(97.0)),
    ),
)
