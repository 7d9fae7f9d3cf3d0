"""Confident answers: the exact law of whole runs on neighbours, against both claims, for the best adaptive adversary.

The private data are votes, for each query that may be asked. What is walked through is the shipped code.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from pcqr.audit.exact import Case, Finding, verify
from pcqr.audit.exact.cases.peers import polled_case
from pcqr.privacy.accounting import Repeated, compose
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.confident.plan import ConfidentMax, ConfidentMaxStage
from pcqr.releases.confident.run import ConfidentVotes, confident_max_guarantee

DELTA = 1e-3
NEAR = ((3, 1, 0), (2, 2, 0))
"""Of four teachers one turns from 0 to 1: the most votes fall from three to two."""
FAR = ((0, 0, 4), (0, 1, 3))


def stage(asked: int, answered: int, noise: ConfidentMax, labels: int = 3) -> ConfidentMaxStage:
    return ConfidentMaxStage(100, 4, asked, answered, noise, labels)


def case(plan: ConfidentMaxStage, claimed: Guarantee | None = None, rounds: int | None = None) -> Case:
    """Queries of two kinds, both of which the replaced record moves; in either direction, and one query too many."""
    tables = [tuple(votes[side] for votes in (NEAR, FAR)) for side in (0, 1)]
    stated = confident_max_guarantee(plan, DELTA) if claimed is None else claimed
    return polled_case("run", stated, [(tables[0], tables[1])], plan, rounds or plan.asked + 1)


def found(plan: ConfidentMaxStage, claimed: Guarantee | None = None) -> Finding:
    return verify(case(plan, claimed))


@pytest.mark.parametrize(("asked", "answered"), [(1, 1), (2, 1), (2, 2), (3, 1)])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (3.0, 0.8), (0.5, 4.0)])
def test_runs_keep_their_renyi_claim(asked: int, answered: int, scales: tuple[float, float]) -> None:
    plan = stage(asked, answered, ConfidentMax(3, *scales, grid=1))
    finding = found(plan)
    assert finding.passed, str(finding)
    assert finding.curve[0][1] > 0.05, "neighbours differ at all"


@pytest.mark.parametrize(("asked", "answered"), [(1, 1), (2, 1), (2, 2)])
def test_runs_on_a_fine_grid_keep_the_claim_of_continuous_noise(asked: int, answered: int) -> None:
    plan = stage(asked, answered, ConfidentMax(3, 2.0, 1.5, grid=2**9), labels=2)
    stated = confident_max_guarantee(plan, DELTA)
    steps = [Repeated(plan.noise.check, asked), Repeated(plan.noise.answer, answered)]
    assert stated.epsilon < 0.97 * compose(steps, DELTA, accountant="Rényi").epsilon, "the other figure is in use"
    tables = (((3, 1), (1, 3)), ((2, 2), (0, 4)))
    finding = verify(polled_case("run", stated, [tables], plan, asked))
    assert finding.passed, str(finding)
    assert finding.epsilon > 0.3 * stated.epsilon


def test_a_check_that_is_not_paid_for_is_refuted() -> None:
    plan = stage(3, 1, ConfidentMax(3, 0.5, 4.0, grid=1))
    labels_alone = compose([Repeated(plan.noise.answer, 1)], DELTA, accountant="Rényi")
    assert not found(plan, labels_alone).passed


def test_labels_that_are_not_paid_for_are_refuted() -> None:
    plan = stage(3, 3, ConfidentMax(1, 6.0, 0.7, grid=1))
    checks_alone = compose([Repeated(plan.noise.check, 3)], DELTA, accountant="Rényi")
    assert not found(plan, checks_alone).passed
    half = compose([Repeated(plan.noise.check, 3), Repeated(replace(plan.noise, answer_scale=1.4).answer, 3)], DELTA)
    assert not found(plan, half).passed


def test_a_cap_that_does_not_hold_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels are given back whatever was decided: three are given where one was paid for."""
    plan = stage(3, 1, ConfidentMax(1, 6.0, 0.7, grid=1))
    assert found(plan).passed
    decide = ConfidentVotes.decide

    def forgetful(self: ConfidentVotes, counts: object) -> int | None:
        label = decide(self, counts)  # type: ignore[arg-type]
        self._labels_remaining = 1
        return label

    monkeypatch.setattr(ConfidentVotes, "decide", forgetful)
    assert not found(plan).passed
