"""Shipped releases to be run as they are: published classifiers, and tables too large for the exact verifier.

The neighbours are declared. In each the replaced record sits where it counts: its label decides how far a vote is from
the threshold, or which hypothesis of the class is the better one, while that is still open.
"""

from __future__ import annotations

import numpy as np

from pcqr.audit.statistical.runs import Subject
from pcqr.audit.statistical.transcripts import PublishRun, Table, UniversalRun, VotesRun
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.stumps import Stumps
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.plan import Context, DrawStage, VoteStage, account
from pcqr.planning.releases import universal_guarantee

EPSILON = 1.0
"""Of everything that is published."""
LEFT, RIGHT = -1.0, 1.0
TEACHERS = 11
ENDS = np.array([[LEFT], [RIGHT]])
CORNERS = np.array([[x, y] for x in (0.0, 1.0) for y in (0.0, 1.0)])


def shipped_subjects(*, full: bool = False) -> list[Subject]:
    """One of each kind, or the `full` set."""
    subjects = [
        _published("declared stumps", Stumps(cuts=(0.0,)), None, _open_at_left(1), _open_at_left(0)),
        _published("decision trees", DecisionTrees(depth=1), CORNERS, _corners(1), _corners(0)),
        _votes(records=TEACHERS, share=1.0),
        _relabelled_votes(),
        _universal(),
    ]
    if full:
        subjects += [
            _published("thresholds on public points", Thresholds(), ENDS, _open_at_left(1), _open_at_left(0)),
            _votes(records=2 * TEACHERS, share=0.5),
        ]
    return subjects


def _open_at_left(label: int) -> Table:
    """On the left two 1s, four 0s and a record with `label`: it is open which label wins. On the right seven 1s."""
    return Table.of([LEFT] * 7 + [RIGHT] * 7, [1, 1, 0, 0, 0, 0, label] + [1] * 7)


def _corners(label: int) -> Table:
    """The four corners of the unit square, five records each: label 1 where x = 1, but for one record on the left."""
    points = np.repeat(CORNERS, 5, axis=0)
    y = (points[:, 0] == 1.0).astype(np.int8)
    y[:2], y[2] = 1, label
    return Table(points, y)


def _published(what: str, hypotheses: HypothesisClass, public: Points | None, first: Table, second: Table) -> Subject:
    """The published hypothesis itself is the outcome."""
    claim = Guarantee(EPSILON, proof="sspp")
    return Subject(f"SSPP: {what}", claim, PublishRun(hypotheses, EPSILON, public), first, second)


def _labels(ones: int, records: int) -> Table:
    return Table.of(np.arange(records), [1] * ones + [0] * (records - ones))


def _votes(*, records: int, share: float) -> Subject:
    """Teachers of a record each, their vote at the threshold; of all `records`, or of a secret `share` of them."""
    sparse_vector = OneSidedSparseVector.calibrate(4.0, 1e-3, unstable=1)
    plan = VoteStage(
        records=records,
        subsample=round(share * records),
        teachers=TEACHERS,
        inverse_temperature=None,
        sparse_vector=sparse_vector,
    )
    ones = round((TEACHERS + 2 * sparse_vector.threshold + 3) / 2 / share)
    run = VotesRun(Thresholds(), plan, np.array([[0.5]]))
    name = f"SubSamp: {TEACHERS} teachers, q = {share:g}"
    return Subject(
        name,
        account(plan, Context(Thresholds(), plan.records, 1)),
        run,
        _labels(ones, records),
        _labels(ones - 1, records),
    )


def _relabelling_plan() -> VoteStage:
    """Teachers of a record each; ĥ is drawn from the dichotomies of the two `ENDS`."""
    return VoteStage(
        records=TEACHERS,
        subsample=TEACHERS,
        teachers=TEACHERS,
        inverse_temperature=1.0,
        sparse_vector=OneSidedSparseVector.calibrate(4.0, 1e-3, unstable=1),
        public=len(ENDS),
    )


def _one_sided(label: int) -> Table:
    """All records on the right: six 1s, four 0s and one with `label`."""
    return Table.of([RIGHT] * TEACHERS, [1] * 6 + [0] * 4 + [label])


def _relabelled_votes() -> Subject:
    plan, hypotheses = _relabelling_plan(), Thresholds()
    run = VotesRun(hypotheses, plan, np.array([[RIGHT]]), public=ENDS)
    claim = account(plan, Context(hypotheses, plan.records, 1))
    return Subject(f"AgPrivCl: {TEACHERS} teachers, relabelled", claim, run, _one_sided(1), _one_sided(0))


def _universal() -> Subject:
    vote, publish, hypotheses = _relabelling_plan(), DrawStage(0.5, after_queries=1), Thresholds()
    run = UniversalRun(hypotheses, vote, publish, np.array([[RIGHT]]), public=ENDS)
    claim = universal_guarantee(vote, publish, Context(hypotheses, vote.records, 1))
    return Subject(f"UnvPrivCl: {TEACHERS} teachers, and the published", claim, run, _one_sided(1), _one_sided(0))
