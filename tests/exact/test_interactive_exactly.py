"""Interactive answers: the exact law of whole runs, with a student that learns from them, against the claim."""

from __future__ import annotations

import pytest

from pcqr.audit.exact import Case, verify
from pcqr.audit.exact.cases.peers import CORRECTED, interactive_case
from pcqr.privacy.accounting import compose
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.confident.plan import ConfidentMax, ConfidentMaxStage
from pcqr.releases.interactive.plan import PupilStage
from pcqr.releases.interactive.run import interactive_max_guarantee

DELTA = 1e-3


def stage(asked: int, answered: int, noise: ConfidentMax) -> ConfidentMaxStage:
    return ConfidentMaxStage(100, 4, asked, answered, noise, 3)


def case(plan: ConfidentMaxStage, claimed: Guarantee | None = None, lead: int = 2) -> Case:
    stated = interactive_max_guarantee(plan, DELTA) if claimed is None else claimed
    return interactive_case("run", stated, CORRECTED, plan, PupilStage(lead, 0.5, 1), plan.asked)


@pytest.mark.parametrize(("asked", "answered", "scales"), [(2, 1, (0.5, 4.0)), (2, 2, (1.0, 1.0))])
def test_runs_keep_their_claim(asked: int, answered: int, scales: tuple[float, float]) -> None:
    finding = verify(case(stage(asked, answered, ConfidentMax(3, *scales, grid=1))))
    assert finding.passed, str(finding)
    assert finding.curve[0][1] > 0.05, "neighbours differ at all"


def test_checks_that_are_not_paid_for_are_refuted() -> None:
    plan = stage(2, 1, ConfidentMax(3, 0.4, 4.0, grid=1))
    assert not verify(case(plan, compose([plan.noise.answer], DELTA, accountant="Rényi"))).passed
