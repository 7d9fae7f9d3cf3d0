"""`pcqr audit`: one real fast run, what it says when something is wrong, and its JSON."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pcqr.audit import report
from pcqr.audit.broken import BROKEN
from pcqr.audit.exact import Case, Finding, Witness, shipped_cases, verify
from pcqr.audit.report import FAST, Report, Row, make_report, tightest
from pcqr.audit.statistical import Audited, Event, shipped_subjects
from pcqr.cli import audit
from pcqr.cli.main import app
from pcqr.privacy.guarantee import Guarantee

CLAIM = Guarantee(1.0, 1e-6)
BUG = BROKEN[0]


def finding(epsilon: float, name: str = "shipped") -> Finding:
    curve = ((0.0, 0.5), (2.0, 0.1))
    return Finding(name, CLAIM, epsilon, 0.1 if epsilon > 1.0 else 1e-7, Witness(0, 1, (None,), ("s",)), curve, 0.0)


def audited(epsilon: float) -> Audited:
    return Audited(epsilon, level=1e-6, runs=100, hits=30, others=1, event=Event(frozenset({"s"}), False))


def row(exact: float | None, bound: float | None, *, bug: bool = False) -> Row:
    return Row(
        BUG.name if bug else "shipped",
        CLAIM,
        None if exact is None else finding(exact),
        None if bound is None else audited(bound),
        BUG if bug else None,
    )


def made(monkeypatch: pytest.MonkeyPatch, *rows: Row) -> None:
    """The audit will find these rows."""

    def fake(effort: report.Effort, **_: Any) -> Report:
        return Report(rows, effort, level=1e-4, seconds=1.0)

    monkeypatch.setattr(audit, "make_report", fake)


def invoke(tmp_path: Path, *options: str) -> Any:
    return CliRunner().invoke(app, ["audit", "--out", str(tmp_path / "out"), *options])


@pytest.mark.slow
def test_the_fast_audit_passes_what_is_shipped_and_catches_every_bug(tmp_path: Path) -> None:
    """`make test` has its parts: every shipped case in tests/audit/exact, every bug in tests/audit/broken."""
    result = invoke(tmp_path, "--json")
    assert result.exit_code == 0, result.output
    described = json.loads(result.stdout)
    assert described["passed"] is True
    assert described["refuted"] == described["escaped"] == []
    assert described["effort"]["name"] == "fast"
    rows = {row["name"]: row for row in described["rows"]}
    for bug in BROKEN:
        assert bug.caught_by in rows[bug.name]["flagged_by"]
    shipped = [row for row in described["rows"] if row["part"] == "shipped"]
    algorithms = ("StabilityTest", "OneSided", "Paper", "Relabel", "SubSamp", "AgPrivCl", "SSPP", "UnvPrivCl")
    linear = ("Step of a linear classifier", "Linear classifier beside a tree")
    for algorithm in (*algorithms, *linear, "Pilots", "Noisy max"):
        assert any(row["name"].startswith(algorithm) and row["audited"] for row in shipped), algorithm
    for row in shipped:
        assert not row["flagged"]
        assert row["exact"] or row["audited"]
        if row["name"].startswith(linear):
            assert all(each["exact"] <= each["claimed"] * (1 + 1e-9) for each in row["exact"]["renyi"])
            assert len(row["exact"]["renyi"]) > 3
    assert math.fsum(row["audited"]["level"] for row in described["rows"] if row["audited"]) == pytest.approx(
        described["level"]
    )
    assert Path(described["picture"]).read_bytes().startswith(b"\x89PNG")


def test_a_small_audit_runs_from_the_cases_to_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each kind of row one that is quick, in the processes and with the runs that the fast audit has."""
    names = (
        "Relabel alone: Thresholds(direction='up'), n = 41",
        "StabilityTest(ε = 1",
        "Step of a linear classifier: 2 classes, p = 2, 3",
    )
    cases = tuple(c for c in shipped_cases() if c.name.startswith(names) and not c.name.endswith("weighted"))
    bugs = tuple(bug for bug in BROKEN if bug.name in ("float Laplace", "shows the noisy distance"))
    subjects = [subject for subject in shipped_subjects() if subject.name.startswith("SubSamp")]
    monkeypatch.setattr(report, "shipped_cases", lambda **_: cases)
    monkeypatch.setattr(report, "shipped_subjects", lambda **_: subjects)
    monkeypatch.setattr(report, "BROKEN", bugs)
    result = invoke(tmp_path, "--json")
    assert result.exit_code == 0, result.output
    described = json.loads(result.stdout)
    assert (described["passed"], described["refuted"], described["escaped"]) == (True, [], [])
    rows = {row["name"]: row for row in described["rows"]}
    assert list(rows) == [*(c.name for c in cases), *(s.name for s in subjects), *(b.name for b in bugs)]
    assert len(cases) == 3
    assert {bug.caught_by for bug in bugs} == {"exact", "statistical"}
    for bug in bugs:
        assert bug.caught_by in rows[bug.name]["flagged_by"]
    assert all(rows[case.name]["exact"] and rows[case.name]["audited"] for case in cases)
    assert len(rows[cases[-1].name]["exact"]["renyi"]) > 3
    assert rows[subjects[0].name]["audited"]["runs"] == FAST.runs
    assert math.fsum(row["audited"]["level"] for row in described["rows"] if row["audited"]) == pytest.approx(
        described["level"]
    )
    assert Path(described["picture"]).read_bytes().startswith(b"\x89PNG")


def test_a_refuted_claim_is_reported_and_exits_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(monkeypatch, row(1.5, 0.0), row(math.inf, None, bug=True))
    result = invoke(tmp_path)
    assert result.exit_code == 1
    assert "shipped reveals more than it claims" in " ".join(result.stderr.split())
    assert "audit itself" not in result.stderr
    assert "flagged (exact)" in result.stdout
    assert "∞" in result.stdout


def test_an_escaped_bug_has_its_own_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(monkeypatch, row(0.9, 0.5), row(0.9, 0.5, bug=True))
    result = invoke(tmp_path)
    assert result.exit_code == 1
    assert "The audit itself has failed: the bug 'no query noise' was not caught" in " ".join(result.stderr.split())
    assert "ESCAPED" in result.stdout


def test_the_json_says_the_same_and_is_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(monkeypatch, row(0.9, 1.1), row(math.inf, None, bug=True))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = invoke(tmp_path, "--json", "--full")
    assert result.exit_code == 1
    described = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert described["effort"]["name"] == "full"
    assert described["picture"] is None
    shipped, bug = described["rows"]
    assert (shipped["flagged_by"], shipped["expected"], shipped["as_expected"]) == (["statistical"], "pass", False)
    assert (bug["flagged_by"], bug["expected"], bug["as_expected"]) == (["exact"], "flagged", True)
    assert bug["exact"]["epsilon"] == "infinity"
    assert bug["audited"] is None
    assert bug["bug"]["source"] == BUG.source
    assert described["refuted"] == ["shipped"]


def test_a_bug_caught_by_the_wrong_auditor_has_escaped() -> None:
    assert not row(0.9, 2.0, bug=True).is_as_expected, "the exact verifier should have seen it"
    assert row(2.0, 0.0, bug=True).is_as_expected


def test_every_row_has_a_name_of_its_own() -> None:
    """The report is put together by names: a second row of the same name would vanish."""
    names = [case.name for case in shipped_cases(full=True)]
    names += [subject.name for subject in shipped_subjects(full=True)]
    names += [bug.name for bug in BROKEN]
    assert len(set(names)) == len(names)


def test_the_tightest_case_of_each_algorithm_is_run() -> None:
    found = [finding(0.2, "A: x"), finding(0.9, "A, y: z"), finding(0.5, "B(1)"), finding(0.4, "A(2)")]
    assert [f.name for f in tightest(found)] == ["A, y: z", "B(1)"]


def test_a_shipped_mechanism_that_breaks_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken mechanism in the place of a shipped one, through the whole audit, with few runs of anything else."""
    broken = Case.once(
        "Shipped: broken", BUG.broken.claim, [(BUG.broken.first, BUG.broken.second)], BUG.broken.mechanism
    )
    assert not verify(broken).passed
    monkeypatch.setattr(report, "shipped_cases", lambda **_: (broken,))
    monkeypatch.setattr(report, "shipped_subjects", lambda **_: [])
    monkeypatch.setattr(report, "BROKEN", ())
    described = make_report(replace(FAST, runs=10, witness_runs=2000))
    assert [row.name for row in described.refuted] == ["Shipped: broken"]
    assert described.refuted[0].flagged_by == ("exact", "statistical")
    assert not described.passed


def test_an_unusable_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert "--out must be a directory" in result.stderr


def test_a_second_audit_replaces_the_picture_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(monkeypatch, row(0.5, 0.4), row(2.5, 2.1, bug=True))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "audit.png").write_text("the first")
    (tmp_path / "out" / "other.png").write_text("of somebody else")
    assert invoke(tmp_path).exit_code == 0
    assert (tmp_path / "out" / "audit.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "other.png").read_text() == "of somebody else"
    assert len(list((tmp_path / "out").iterdir())) == 2
