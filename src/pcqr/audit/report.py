"""The whole audit: every shipped mechanism under both auditors, and the broken ones, which must not pass."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pcqr.audit.broken import BROKEN, Bug, exact_case
from pcqr.audit.exact import Case, Finding, Session, shipped_cases, verify
from pcqr.audit.statistical import Audited, Subject, Submit, audit, here, shipped_subjects
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee

LEVEL = 1e-4
"""The chance of any false alarm in a whole table, however many rows it has: each row gets an equal share."""

Auditor = Literal["exact", "statistical"]
Stage = Callable[[str, int], Callable[[int], None]]
"""(what is being done, out of how much) → a function that hears how much more of it is done."""


@dataclass(frozen=True)
class Effort:
    """How much is done. `runs` on each neighbour where statistics decide, `witness_runs` where the law is known too.

    `thorough`: the larger set of exact cases, every one of them run as well, and all bugs; otherwise, of each
    algorithm, the case that comes nearest to its claim, and the bugs that only runs can show.
    """

    name: Literal["fast", "full"]
    runs: int
    witness_runs: int
    thorough: bool


FAST = Effort("fast", runs=1500, witness_runs=500, thorough=False)
FULL = Effort("full", runs=10_000, witness_runs=2_000, thorough=True)


@dataclass(frozen=True)
class Row:
    """One line of the table: what is claimed, and what either auditor found (None: it was not asked).

    `bug` is None for what is shipped.
    """

    name: str
    claim: Guarantee
    finding: Finding | None
    audited: Audited | None
    bug: Bug | None = None

    @property
    def flagged_by(self) -> tuple[Auditor, ...]:
        by: list[Auditor] = []
        if self.finding is not None and not self.finding.passed:
            by.append("exact")
        if self.audited is not None and self.audited.refutes(self.claim):
            by.append("statistical")
        return tuple(by)

    @property
    def is_flagged(self) -> bool:
        return bool(self.flagged_by)

    @property
    def is_as_expected(self) -> bool:
        """What is shipped passes; a bug is flagged by the auditor that must catch it."""
        return not self.is_flagged if self.bug is None else self.bug.caught_by in self.flagged_by


@dataclass(frozen=True)
class Report:
    """All rows, the effort and the seconds it took. `level` is the chance of a false alarm in all rows together."""

    rows: tuple[Row, ...]
    effort: Effort
    level: float
    seconds: float

    @property
    def refuted(self) -> tuple[Row, ...]:
        """What is shipped and does not keep its claim."""
        return tuple(row for row in self.rows if row.bug is None and not row.is_as_expected)

    @property
    def escaped(self) -> tuple[Row, ...]:
        """Bugs that were not caught: the audit itself has failed."""
        return tuple(row for row in self.rows if row.bug is not None and not row.is_as_expected)

    @property
    def passed(self) -> bool:
        return not self.refuted and not self.escaped


@dataclass(frozen=True)
class Interview:
    """A case of the exact verifier as a black box: prepared, then asked these queries one after another."""

    start: Callable[[Any, Entropy], Session[Any]]
    queries: tuple[Any, ...]

    def __call__(self, data: Any, entropy: Entropy) -> Hashable:
        session = self.start(data, entropy)
        return tuple(session.ask(query) for query in self.queries)


def make_report(effort: Effort, *, submit: Submit = here, stage: Stage = lambda *_: lambda _: None) -> Report:
    """Verify what can be computed, then audit by runs, on the worst neighbours that were found where some were."""
    started = time.monotonic()
    cases = {case.name: case for case in shipped_cases(full=effort.thorough)}
    bugs = [exact_case(bug.broken) for bug in BROKEN if bug.caught_by == "exact"]
    exact = {finding.name: finding for finding in _verified([*cases.values(), *bugs], submit, stage)}

    shipped = [exact[name] for name in cases]
    run_too = shipped if effort.thorough else tightest(shipped)
    known = {finding.name: _at_witness(cases[finding.name], finding) for finding in run_too}
    if effort.thorough:
        known |= {bug.name: bug.broken for bug in BROKEN if bug.caught_by == "exact"}
    declared = shipped_subjects(full=effort.thorough)
    unknown = {subject.name: subject for subject in declared}
    unknown |= {bug.name: bug.broken for bug in BROKEN if bug.caught_by == "statistical"}
    level = LEVEL / (len(known) + len(unknown))
    audited = {
        **_audited("where the law is known", known, effort.witness_runs, level, submit, stage),
        **_audited("where it is not", unknown, effort.runs, level, submit, stage),
    }

    rows = (
        *(Row(name, case.claimed, exact[name], audited.get(name)) for name, case in cases.items()),
        *(Row(subject.name, subject.claim, None, audited[subject.name]) for subject in declared),
        *(Row(bug.name, bug.broken.claim, exact.get(bug.name), audited.get(bug.name), bug) for bug in BROKEN),
    )
    return Report(rows, effort, LEVEL, time.monotonic() - started)


def tightest(findings: Iterable[Finding]) -> list[Finding]:
    """Of each algorithm, which is what a case's name begins with, the finding that comes nearest to its claim."""
    nearest: dict[str, Finding] = {}
    for finding in findings:
        algorithm = re.split("[:,(]", finding.name)[0]
        nearest[algorithm] = max(nearest.get(algorithm, finding), finding, key=lambda f: f.epsilon / f.claimed.epsilon)
    return list(nearest.values())


def _at_witness(case: Case, finding: Finding) -> Subject:
    """The case as a black box on the worst neighbours found."""
    worst = finding.witness
    return Subject(case.name, case.claimed, Interview(case.start, worst.queries), worst.first, worst.second)


def _verified(cases: Sequence[Case], submit: Submit, stage: Stage) -> list[Finding]:
    advance = stage("exact laws", len(cases))
    found: dict[int, Finding] = {}
    for position, finding in submit(verify, cases):
        found[position] = finding
        advance(1)
    return [found[position] for position in range(len(cases))]


def _audited(
    where: str, subjects: Mapping[str, Subject], runs: int, level: float, submit: Submit, stage: Stage
) -> dict[str, Audited]:
    advance = stage(f"runs {where}", 2 * runs * len(subjects))
    audited = audit(list(subjects.values()), runs=runs, level=level, submit=submit, advance=advance)
    return dict(zip(subjects, audited, strict=True))
