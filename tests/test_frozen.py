"""Seeded outputs, plans, guarantees and what the exact verifier finds: the numbers stay what tests/frozen.json says.

Where code moves, this test stays as it is. What stands elsewhere is not here: guarantees of single stages
(tests/releases/protocol/test_frozen_figures.py) and how documents are written (tests/serialization). All cases of the
verifier are compared where they are verified, in tests/audit/exact/test_cases.py; here one of each mechanism.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, make_dataclass

import pytest
from support.frozen import FILE, RUNS, audited, differences, figures, frozen, run

import pcqr
from pcqr.audit.exact import shipped_cases, verify

MEND = (
    "Mend the code. If a figure is to change, name it in CHANGELOG.md. Then, or where a run or a case is new: "
    "PYTHONPATH=tests python -m support.frozen --write"
)
FROZEN = frozen()
CASES = {re.split("[:,(]", case.name)[0]: case for case in reversed(shipped_cases())}
"""The first of each mechanism, which is what a name begins with."""


@pytest.mark.parametrize("name", RUNS)
def test_a_seeded_run_shows_what_it_always_did(name: str) -> None:
    assert differences(FROZEN["runs"].get(name, {}), run(name)) == [], MEND


@pytest.mark.parametrize("mechanism", CASES)
def test_the_verifier_finds_what_it_always_did(mechanism: str) -> None:
    case = CASES[mechanism]
    assert differences(FROZEN["audit"].get(case.name, {}), audited(verify(case))) == [], MEND


def test_nothing_is_missing() -> None:
    assert FROZEN["runs"].keys() == RUNS.keys(), MEND
    assert FROZEN["audit"].keys() == {case.name for case in shipped_cases()}, MEND
    assert FILE.stat().st_size < 200_000
    estimators = {name for name in pcqr.__all__ if hasattr(getattr(pcqr, name), "fit")}
    assert estimators - {"Student"} <= {name.split(":")[0] for name in RUNS}, "`transfer` makes a Student"


@dataclass(frozen=True)
class Inner:
    scale: float
    name: str = "text"
    is_on: bool = True


def test_names_of_classes_do_not_count_and_names_of_fields_do() -> None:
    outer = make_dataclass("Outer", [("parts", tuple[Inner, ...]), ("promise", pcqr.Guarantee), ("size", int)])
    other = make_dataclass("Other", [("parts", tuple[Inner, ...]), ("promise", pcqr.Guarantee), ("size", int)])
    given = ((Inner(0.5), Inner(2.0)), pcqr.Guarantee(1.0), 3)
    expected = {"parts.0.scale": 0.5, "parts.0.is_on": True, "parts.1.scale": 2.0, "parts.1.is_on": True, "size": 3}
    assert dict(figures(outer(*given))) == dict(figures(other(*given))) == expected


def test_what_has_changed_is_said_by_name() -> None:
    was = {"plan": {"teachers": 499, "scale": 0.1, "on": True}, "labels": {"first": "0 1"}, "chances": [0.5, 0.25]}
    assert differences(was, was | {"plan": {"teachers": 499, "scale": 0.1 * (1 + 1e-12), "on": True}}) == []
    now = {"plan": {"teachers": 501, "scale": 0.100001, "size": 1, "on": 1}} | {
        "labels": {"first": "0 0"},
        "chances": [0.5],
    }
    assert differences(was, now) == [
        "chances.1: was 0.25, is gone",
        "plan.size: is new, 1",
        "plan.teachers: was 499, is 501",
        "plan.scale: was 0.1, is 0.100001",
        "plan.on: was True, is 1",
        "labels.first: was '0 1', is '0 0'",
    ]
