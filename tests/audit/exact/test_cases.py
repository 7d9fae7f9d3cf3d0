"""Every shipped mechanism and algorithm keeps its word on the fast set."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from support.frozen import audited, differences, frozen

from pcqr.audit.exact import Case, shipped_cases, verify
from pcqr.audit.exact.cases.mechanisms import mechanism_cases
from pcqr.audit.exact.cases.publication import KINDS, poll_case
from pcqr.hypotheses import committees as kinds
from pcqr.hypotheses.committees import trained
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.subsample.run import Teachers

FAST = shipped_cases()
FROZEN = frozen()["audit"]


@pytest.mark.parametrize("case", FAST, ids=lambda case: case.name)
def test_a_shipped_case_holds(case: Case) -> None:
    found = verify(case)
    assert found.passed, str(found)
    assert found.epsilon > 0 or found.curve[0][1] > 0, "neighbours differ at all"
    deltas = [delta for _, delta in found.curve]
    assert deltas == sorted(deltas, reverse=True)
    assert differences(FROZEN.get(case.name, {}), audited(found)) == [], "the figures that tests/frozen.json has of it"


def test_names_tell_cases_apart_and_the_full_set_is_larger() -> None:
    full = shipped_cases(full=True)
    for cases in (FAST, full):
        assert len({case.name for case in cases}) == len(cases)
    assert len(full) > len(FAST)
    assert pickle.dumps(full), "so that other processes can share the work"


def test_relabelling_attains_its_cost() -> None:
    (case,) = [
        case
        for case in mechanism_cases(full=False)
        if case.name.startswith("Relabel alone: Thresholds(direction='up'), n = 41")
    ]
    found = verify(case)
    assert found.epsilon == pytest.approx(1.94815, abs=5e-6)
    assert found.epsilon == pytest.approx(2 * math.log1p(math.exp(0.5)), abs=1e-5)


def test_every_kind_of_committee_is_walked() -> None:
    assert {kind.name for kind in KINDS} == kinds._HOMES.keys()
    for kind in KINDS:
        table, _ = kind.neighbours(4)[0]
        teachers = Teachers(kind.hypotheses, table.source(kind.hypotheses.labels), 2, SeededEntropy(0))
        assert teachers.committee.kind == kind.name


def test_a_vote_too_many_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of committee, its votes counted twice: what moves by 1 moves by 2."""
    for kind in KINDS:
        case = poll_case(kind.name, kind.hypotheses, 2, kind.neighbours(3), kind.menu)
        assert verify(case).epsilon == pytest.approx(1.0, abs=1e-9)
        table, _ = kind.neighbours(4)[0]
        committee = type(trained(kind.hypotheses, table.source(kind.hypotheses.labels), [np.arange(4)]))
        counts = committee.counts
        monkeypatch.setattr(committee, "counts", lambda self, X, counts=counts: 2 * counts(self, X) - 2)
        found = verify(case)
        monkeypatch.undo()
        assert not found.passed
        assert found.epsilon == pytest.approx(2.0, abs=1e-9)
