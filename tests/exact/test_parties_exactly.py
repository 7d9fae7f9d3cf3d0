"""Students of soft votes: over all tiny tables and their neighbours, from the records to the integers before noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pcqr.audit.exact import verify
from pcqr.audit.exact.cases.peers import student_case
from pcqr.audit.exact.cases.tables import LINE, Record, Table, all_neighbours
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.vectors import ColumnVectors
from pcqr.hypotheses import HypothesisClass, LogisticTeachers, Stumps, Thresholds
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.multiparty.plan import PartiesStage
from pcqr.releases.multiparty.run import curvature_of, unit_vectors, whole_weights
from pcqr.releases.subsample.run import Teachers

FEATURES = FeatureMap(ColumnVectors((1.0,), (64.0,), 1, constant=64), None, 256)
POINTS = np.array([[-1.0], [0.5], [1.0], [1.5], [3.0]])
VECTORS = unit_vectors(FEATURES, POINTS)


def stage(records: int, parties: int, penalty: float) -> PartiesStage:
    return PartiesStage(records, parties, 5, 2, penalty, curvature_of(VECTORS), 50, scale=1.0, grid=2**12)


@pytest.mark.parametrize(
    "hypotheses", [Thresholds(), Stumps(), LogisticTeachers()], ids=lambda each: type(each).__name__
)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_neighbour_of_any_table_is_farther_than_the_sensitivity(hypotheses: HypothesisClass, seed: int) -> None:
    """One seed, one partition: the proof holds for each of them."""
    plan, farthest = stage(3, 3, 0.7), 0.0
    places: tuple[Record, ...] = (LINE[0], LINE[1], LINE[-2], LINE[-1])
    found: dict[Table, np.ndarray] = {}
    for pair in all_neighbours(3, places):
        for table in pair:
            if table not in found:
                teachers = Teachers(hypotheses, table.source(), plan.parties, SeededEntropy(seed))
                found[table] = whole_weights(VECTORS, teachers.counts(POINTS), plan)
        first, second = (found[table] for table in pair)
        farthest = max(farthest, math.sqrt(float(((first - second) ** 2).sum())))
    assert 0.25 * plan.sensitivity < farthest <= plan.sensitivity


def test_all_points_count_for_one_party() -> None:
    """Noise for 1/(λPM) would be refuted by these two."""
    plan = stage(3, 3, 0.7)
    constant = [np.tile(votes, (5, 1)) for votes in ((1, 2), (2, 1))]
    first, second = (whole_weights(VECTORS, counts, plan) for counts in constant)
    assert math.sqrt(float(((first - second) ** 2).sum())) > 2.0 * plan.sensitivity / 5


def test_the_exact_law_of_what_is_published_keeps_the_claim_and_half_the_noise_does_not() -> None:
    case = student_case(2, 2)
    assert verify(case).passed
    quiet = replace(case, claimed=replace(case.claimed, epsilon=0.5 * case.claimed.epsilon))
    assert not verify(quiet).passed
