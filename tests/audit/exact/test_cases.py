"""Every shipped mechanism and algorithm keeps its word on the fast set."""

from __future__ import annotations

import math
import pickle

import pytest

from pcqr.audit.exact import Case, shipped_cases, verify
from pcqr.audit.exact.cases.mechanisms import mechanism_cases

FAST = shipped_cases()


@pytest.mark.parametrize("case", FAST, ids=lambda case: case.name)
def test_a_shipped_case_holds(case: Case) -> None:
    found = verify(case)
    assert found.passed, str(found)
    assert found.epsilon > 0 or found.curve[0][1] > 0, "neighbours differ at all"
    deltas = [delta for _, delta in found.curve]
    assert deltas == sorted(deltas, reverse=True)


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
