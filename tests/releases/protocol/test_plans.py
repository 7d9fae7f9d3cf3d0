"""Whole plans: what they hold, what they refuse, and what is certified."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pcqr.errors import ParameterError
from pcqr.mechanisms.noisy_max import GaussianMax
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.privacy.composition import Sequence
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import Unit
from pcqr.releases.classifier.plan import LinearStage
from pcqr.releases.noisy_max.plan import NoisyMaxPlan, NoisyMaxStage
from pcqr.releases.protocol.plan import Aim, Budget
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.plan import PublishedPlan
from pcqr.releases.subsample.plan import VoteStage, VotingPlan
from pcqr.releases.universal.plan import UniversalPlan

AIM = Aim(300, 0.1, 0.05)
PROMISE: dict[str, Any] = {
    "mode": "calibrated",
    "budget": Budget(1.0, 1e-6),
    "guarantee": Guarantee(epsilon=1.0, delta=1e-6, proof="sub_samp"),
}
VOTE = VoteStage(1_000, 500, 101, 0.3, OneSidedSparseVector.calibrate(0.9, 1e-6, 3))
VOTING = VotingPlan(**PROMISE, aim=AIM, vote=VOTE)
UNIVERSAL = UniversalPlan(**PROMISE, aim=AIM, vote=VOTE, publish=DrawStage(0.2, 40))
NOISY = NoisyMaxPlan(**PROMISE, aim=AIM, vote=NoisyMaxStage(100, 31, 10, GaussianMax(5.0)))
DRAWN = PublishedPlan(**PROMISE, stage=DrawStage(0.2))
LINEAR = LinearStage(100, 6, 0, 0, 256, 5, 8, 3.0, 0.9, 0.01)
BOTH = replace(DRAWN, stage=Sequence((DrawStage(0.1), LINEAR)))


@pytest.mark.parametrize("plan", [VOTING, UNIVERSAL, NOISY, DRAWN, BOTH], ids=lambda plan: type(plan).__name__)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "literal"),
        ("budget", (1.0, 1e-6)),
        ("budget", Budget(0.999, 1e-6)),
        ("budget", Budget(1.0, 1e-7)),
        ("budget", Budget(1.0)),
        ("guarantee", None),
        ("guarantee", Guarantee(epsilon=1.001, delta=1e-6, proof="sub_samp")),
        ("guarantee", Guarantee(epsilon=1.0, delta=1e-6, proof="sub_samp", unit=Unit.user(3))),
        ("proved", -0.1),
        ("proved", float("nan")),
    ],
)
def test_a_plan_refuses_what_contradicts_itself(plan: Any, name: str, value: object) -> None:
    with pytest.raises(ParameterError):
        replace(plan, **{name: value})


@pytest.mark.parametrize("plan", [VOTING, UNIVERSAL, NOISY])
@pytest.mark.parametrize("aim", [None, Aim(None, 0.1, 0.05)])
def test_answers_one_by_one_are_planned_for_a_number_of_queries(plan: Any, aim: Aim | None) -> None:
    assert plan.queries == 300
    with pytest.raises(ParameterError, match="a number of queries"):
        replace(plan, aim=aim)


@pytest.mark.parametrize(
    ("plan", "name", "stage"),
    [
        (UNIVERSAL, "vote", NOISY.vote),
        (NOISY, "vote", VOTE),
        (UNIVERSAL, "vote", None),
        (UNIVERSAL, "publish", VOTE),
        (DRAWN, "stage", 0.2),
        (DRAWN, "stage", None),
        (DRAWN, "stage", (DrawStage(0.1), LINEAR)),
    ],
)
def test_a_plan_refuses_the_stage_of_another(plan: Any, name: str, stage: object) -> None:
    with pytest.raises(ParameterError, match=f"{name} must be a .*Stage"):
        replace(plan, **{name: stage})


def test_certified_is_what_is_proved_to_stay_within_the_aim() -> None:
    assert not VOTING.certified
    assert replace(VOTING, proved=0.1).certified
    assert not replace(VOTING, proved=0.11).certified
    assert replace(DRAWN, aim=Aim(None, 0.2, 0.05), proved=0.15).certified
    assert not DRAWN.certified
    with pytest.raises(ParameterError, match="proved must be"):
        replace(DRAWN, proved=0.01)  # of no aim, there is no β that it would be proved but for


def test_a_plan_says_what_it_may_spend() -> None:
    assert (VOTING.epsilon, VOTING.delta) == (1.0, 1e-6)


def test_a_plan_knows_all_that_looks_at_the_records() -> None:
    assert (VOTING.stages, NOISY.stages, DRAWN.stages, BOTH.stages) == (VOTE, NOISY.vote, DrawStage(0.2), BOTH.stage)
    assert UNIVERSAL.stages == Sequence((VOTE, DrawStage(0.2, 40)))


def test_the_one_draw_of_a_plan() -> None:
    assert DRAWN.draw == DrawStage(0.2)
    for stage in (BOTH.stage, LINEAR):
        with pytest.raises(ParameterError, match="plan must be one draw"):
            _ = replace(DRAWN, stage=stage).draw
