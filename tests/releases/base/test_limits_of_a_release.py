"""What the plan paid for is all that a fitted release gives: queries, unstable answers, records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pcqr import AgnosticRelease, NoisyMaxAggregate, SubsampleAggregate
from pcqr.data.records import InMemory
from pcqr.errors import BudgetExhausted
from pcqr.hypotheses import Thresholds
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector, SparseVector
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.base.inputs import FitContext, FitInputs, PublicInfo
from pcqr.releases.protocol.plan import Aim, Budget
from pcqr.releases.semi_private.estimator import DECIMAL_CUTS
from pcqr.releases.subsample.plan import VoteStage, VotingPlan

X = np.linspace(0.0, 1.0, 600)[:, None]
Y = (X[:, 0] > 0.5).astype(np.int8)
FAR = np.array([[0.01], [0.02], [0.03], [0.97], [0.98]])


@pytest.mark.parametrize(("release", "eta"), [(SubsampleAggregate, None), (AgnosticRelease, 4.0)])
@pytest.mark.parametrize("mode", ["paper", "calibrated"])
def test_paper_mode_stops_hard_after_the_planned_queries(release: type[Any], eta: float | None, mode: Any) -> None:
    """There the number of queries enters δ. In calibrated mode it enters no figure, and asking goes on."""
    vectors: dict[str, SparseVector] = {
        "paper": PaperSparseVector(threshold=5, scale=0.2, unstable=2, queries=3, slack=1e-6),
        "calibrated": OneSidedSparseVector(threshold=5, threshold_scale=0.2, query_scale=0.2, unstable=2),
    }
    vote = VoteStage(600, 500, 61, eta, vectors[mode])
    plan = VotingPlan(mode=mode, vote=vote, budget=Budget(1.0, 1e-6), aim=Aim(3, 0.1, 0.1), guarantee=Guarantee(1.0))
    estimator = release(Thresholds())
    context = FitContext(Thresholds(), PublicInfo(600, 1, None, None))
    estimator._start(context, FitInputs(InMemory(X, Y)), plan, SeededEntropy(0))
    if mode == "calibrated":
        assert len(list(estimator._protocol.answers(FAR))) == 5
    else:
        with pytest.raises(BudgetExhausted) as halted:
            list(estimator._protocol.answers(FAR))
        assert len(halted.value.answers) == 3


def test_a_noisy_majority_gives_as_many_answers_as_are_paid_for() -> None:
    release = NoisyMaxAggregate(Thresholds(), epsilon=4.0, queries=3, entropy=1).fit(X, Y)
    with pytest.raises(BudgetExhausted) as halted:
        release.predict(FAR)
    assert len(halted.value.answers) == 3
    assert release.plan_.vote.queries == 3


def test_a_plan_is_for_the_records_that_there_are() -> None:
    release = AgnosticRelease(Thresholds(), epsilon=4.0, queries=20, entropy=1, classes=(0, 1)).fit(X, Y)
    assert release.plan_.vote.records == release.n_records_ == 600
    assert release.plan_.guarantee == release.guarantee_
    assert replace(release.guarantee_, is_private=True) == release.plan(600, 1).guarantee


def test_cuts_that_need_no_public_points_are_round_numbers() -> None:
    decades = [float(f"{digit}e{power}") for power in range(-3, 6) for digit in (1, 2, 5)]
    assert pytest.approx(sorted([*decades, 0.0, *(-cut for cut in decades)]), rel=1e-15) == DECIMAL_CUTS
