"""Every bug is caught, every twin passes, and the twin differs from the bug in the bug alone."""

from __future__ import annotations

import math
import pickle
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pcqr.audit.broken import BROKEN, Bug, exact_case
from pcqr.audit.broken.votes import fingerprint, opposed
from pcqr.audit.exact import Finding, verify
from pcqr.audit.exact.cases.classifiers import Published, context_of
from pcqr.audit.statistical import Subject, audit
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.privacy.accounting import Composed
from pcqr.privacy.composition import Branch, Sequence, account_for
from pcqr.privacy.entropy import SeededEntropy

EXACT = [bug for bug in BROKEN if bug.caught_by == "exact"]
STATISTICAL = [bug for bug in BROKEN if bug.caught_by == "statistical"]


FOUND: dict[tuple[int, str], Finding] = {}


def exactly(subject: Subject) -> Finding:
    """Some twins are the same: each is looked at once."""
    key = id(subject.mechanism), f"{subject.claim}, {subject.first} against {subject.second}"
    if key not in FOUND:
        FOUND[key] = verify(exact_case(subject))
    return FOUND[key]


def test_every_broken_mechanism_is_there() -> None:
    assert [bug.name for bug in BROKEN] == [
        "no query noise",
        "query noise reused",
        "noise ignores E",
        "never halts",
        "c ≤ T",
        "shows the noisy distance",
        "no ½ in the vote",
        "Laplace noise for one count",
        "check not paid for",
        "lead over the student's votes",
        "gap of sensitivity 2",
        "charged for its own vote alone",
        "charged once for fresh draws",
        "one party, one point",
        "ε spent twice",
        "answers by a class of private points",
        "votes beside a draw",
        "noise for adding a record",
        "empty cells without noise",
        "vectors relative to the longest",
        "tree that is not paid for",
        "pilots that are not paid for",
        "comparison without noise",
        "comparison that is not paid for",
        "comparison of one error",
        "branch charged as its cheaper option",
        "option chosen by the records",
        "counts at leaves with noise for one",
        "counts at the leaves of the best tree",
        "shares of exact counts",
        "float Laplace",
        "long draws are dropped",
        "one buffer for two workers",
        "scaler before the split",
        "one random stream",
        "cuts across parts",
        "groups split over teachers",
        "cuts of all rows of persons",
        "weights above one",
        "counts of labels with noise for one",
        "noise for one cell",
        "bins cut by the records",
        "private value in an error",
        "type from all cells",
        "nodes without values are not cut",
        "cuts at fixed ranks",
        "cuts that are not paid for",
        "a threshold for one column",
        "counts with noise for one column",
    ]
    assert all(bug.wrong.endswith(".") for bug in BROKEN)


@pytest.mark.parametrize("bug", EXACT, ids=lambda bug: bug.name)
def test_the_exact_verifier_catches_the_bug_and_passes_the_twin(bug: Bug) -> None:
    broken, correct = exactly(bug.broken), exactly(bug.correct)
    assert not broken.passed
    assert broken.epsilon > bug.broken.claim.epsilon
    assert correct.passed


def test_the_figures_are_those_that_theory_gives() -> None:
    found = {bug.name: exactly(bug.broken).epsilon for bug in EXACT}
    for name in ("no query noise", "query noise reused", "shows the noisy distance", "private value in an error"):
        assert found[name] == math.inf
    for name in ("long draws are dropped", "one buffer for two workers", "empty cells without noise"):
        assert found[name] == math.inf
    assert found["comparison without noise"] == found["option chosen by the records"] == math.inf
    assert found["cuts across parts"] == pytest.approx(2.0, abs=1e-9), "two votes move"
    assert found["noise ignores E"] == pytest.approx(0.5 + 4 * 0.5, abs=1e-3), "e₁ + 2E·e₂ with the e₂ of one"
    assert found["never halts"] == pytest.approx(0.5 + 6 * 0.5, abs=1e-3), "e₁ + 2·6·e₂ after six"
    assert found["c ≤ T"] == pytest.approx(0.2 + 2 * 0.8, abs=1e-3), "e₁ + 2(T + 1)e₂"
    assert found["gap of sensitivity 2"] == pytest.approx(2.0, abs=0.01), "twice the claim"
    assert 1.9 < found["no ½ in the vote"] <= 2.0
    assert 1.8 < found["Laplace noise for one count"] <= 2.0
    assert 1.5 < found["ε spent twice"] <= 2.0
    assert 1.5 < found["votes beside a draw"] <= 2.0
    assert found["answers by a class of private points"] > 2.0, "the other eight records hold the cut between them"
    assert found["vectors relative to the longest"] > 6.0, "the other 59 vectors move together"
    assert found["type from all cells"] > 10.0, "the other 20 records move together"
    assert found["noise for adding a record"] > 2.0, "half the noise, twice the claim"
    assert found["one party, one point"] > 3.0, "a quarter of the noise"


def test_parts_of_a_plan_that_are_not_paid_for_are_all_that_is_wrong() -> None:
    """What each broken plan charges is within its claim, and what is true of all its parts is not."""
    bugs = {bug.name: bug for bug in BROKEN}
    for name, charged in {
        "tree that is not paid for": (1,),
        "pilots that are not paid for": (2, 3),
        "comparison that is not paid for": (0, 1, 3),
        "branch charged as its cheaper option": (0, 1, 2, 3),
    }.items():
        broken, claim = bugs[name].broken.mechanism, bugs[name].broken.claim
        assert isinstance(broken, Published)
        assert isinstance(broken.stage, Sequence)
        parts = [broken.stage.stages[place] for place in charged]
        if name.startswith("branch"):
            assert isinstance(parts[-1], Branch)
            parts[-1] = parts[-1].options[0]
        non_reentrant = Composed(tuple(part.event(context_of(broken.stage)) for part in parts))
        assert account_for(non_reentrant, claim.delta).epsilon <= claim.epsilon * (1.0 + 1e-9)
        assert broken.claimed(claim.delta).epsilon > claim.epsilon


@pytest.mark.parametrize("bug", STATISTICAL, ids=lambda bug: bug.name)
def test_the_statistical_auditor_passes_the_twin(bug: Bug) -> None:
    """That it catches the bug is seen in tests/cli/test_audit.py, which runs the whole audit."""
    (correct,) = audit([bug.correct], runs=400, level=1e-6)
    assert not correct.refutes(bug.correct.claim)


@pytest.mark.parametrize("bug", BROKEN, ids=lambda bug: bug.name)
def test_bug_and_twin_make_the_same_claim_and_can_be_sent_to_other_processes(bug: Bug) -> None:
    assert bug.broken.claim == bug.correct.claim
    for subject in (bug.broken, bug.correct):
        again = pickle.loads(pickle.dumps(subject))  # noqa: S301
        entropy = SeededEntropy(1)
        assert isinstance(again.mechanism(again.first, entropy), str)


def test_opposed_queries_are_neighbours() -> None:
    first, second = opposed(OneSidedSparseVector.calibrate(1.0, 1e-6, unstable=1), 3, 2)
    assert len(first) == len(second) == 5
    assert all(abs(a - b) == 1 for a, b in zip(first, second, strict=True))


def test_a_last_digit_is_seen() -> None:
    assert fingerprint(0.1) == "finer than 2^-53"
    assert fingerprint(1.1) == "about 1"
    assert fingerprint(2.0**-53) == "about 0"
    assert fingerprint(-1e6) == "about -9"


PAGE = (Path(__file__).parents[3] / "docs" / "audit.md").read_text(encoding="utf-8")


def test_the_page_on_the_audit_lists_every_bug() -> None:
    for bug in BROKEN:
        assert f"| {bug.name} | {bug.wrong} | {bug.source} | {bug.caught_by} |" in PAGE


def test_the_example_on_the_page_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    example = PAGE.split("```python\n")[1].split("```")[0]
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)  # the exact verifier intercepts noise in loaded modules
    exec(compile(example, "docs/audit.md", "exec"), vars(module))  # noqa: S102
    assert "holds" in capsys.readouterr().out
