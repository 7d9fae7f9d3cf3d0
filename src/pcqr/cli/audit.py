"""`pcqr audit`: is what is installed as private as it says, and would this audit notice if it were not?"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pcqr.audit.report import FAST, FULL, Report, Row, make_report
from pcqr.audit.statistical import processes
from pcqr.cli.console import complain, draw_into, make_directory, print_json, progress
from pcqr.cli.jobs import Audit
from pcqr.plotting.pictures import draw_audit as draw
from pcqr.plotting.pictures import lines_of

WORKERS = 2
FILE_WIDTH = 140
"""Of the tables where the output goes to a file."""
FLAGGED = 1
"""Exit code: something shipped was flagged, or a bug escaped."""


def run(job: Audit) -> None:
    make_directory(job.out)
    with progress(hidden=job.as_json) as bar, processes(WORKERS) as submit:

        def stage(description: str, total: int) -> Any:
            task = bar.add_task(description, total=total)
            return lambda done: bar.advance(task, done)

        report = make_report(FULL if job.full else FAST, submit=submit, stage=stage)
    picture, notice = draw_into(job.out / "audit.png", lambda draft: draw(draft, lines_of(report)))
    if job.as_json:
        print_json(summary(report) | {"picture": None if picture is None else str(picture)})
    else:
        _print(report, notice)
    if not report.passed:
        for message in _complaints(report):
            complain(message)
        raise typer.Exit(FLAGGED)


def summary(report: Report) -> dict[str, Any]:
    """The report as plain values: the JSON of docs/audit.md."""
    return {
        "passed": report.passed,
        "effort": asdict(report.effort),
        "level": report.level,
        "seconds": round(report.seconds, 1),
        "refuted": [row.name for row in report.refuted],
        "escaped": [row.name for row in report.escaped],
        "rows": [_row(row) for row in report.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    finding, audited, bug = row.finding, row.audited, row.bug
    return {
        "name": row.name,
        "part": "shipped" if bug is None else "broken",
        "claim": {"epsilon": row.claim.epsilon, "delta": row.claim.delta, "proof": row.claim.proof},
        "exact": None
        if finding is None
        else {
            "epsilon": _number(finding.epsilon),
            "delta": finding.delta,
            "passed": finding.passed,
            "witness": str(finding.witness),
            "curve": [list(point) for point in finding.curve],
            "bias": _number(finding.bias),
            "renyi": [
                {"order": order, "exact": _number(exact), "claimed": claimed}
                for order, exact, claimed in finding.divergences
            ],
        },
        "audited": None
        if audited is None
        else {
            "epsilon": audited.epsilon,
            "level": audited.level,
            "runs": audited.runs,
            "hits": audited.hits,
            "others": audited.others,
            "event": str(audited.event),
        },
        "flagged": row.is_flagged,
        "flagged_by": list(row.flagged_by),
        "expected": "pass" if bug is None else "flagged",
        "as_expected": row.is_as_expected,
        "bug": None if bug is None else {"wrong": bug.wrong, "source": bug.source, "caught_by": bug.caught_by},
    }


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "infinity"  # JSON has no infinity


def _complaints(report: Report) -> list[str]:
    refuted = [
        f"{row.name} reveals more than it claims. Please report this as a privacy bug." for row in report.refuted
    ]
    escaped = [
        f"The audit itself has failed: the bug {row.name!r} was not caught. Its other verdicts mean little."
        for row in report.escaped
    ]
    return refuted + escaped


def _print(report: Report, notice: str) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    console.print(_table("Shipped: must pass", [row for row in report.rows if row.bug is None]))
    console.print(_table("Broken mechanisms: must be flagged", [row for row in report.rows if row.bug is not None]))
    shipped = sum(row.bug is None for row in report.rows)
    runs = sum(2 * row.audited.runs for row in report.rows if row.audited is not None)
    console.print(
        f"{shipped} shipped rows, {len(report.refuted)} flagged; {len(report.rows) - shipped} bugs, "
        f"{len(report.escaped)} escaped. {runs:,} runs of the real code; {report.seconds:.0f} s.\n"
        f"exact ε: computed from the law of everything shown, at the claimed δ, for the worst neighbours and queries "
        f"searched. audited: a lower bound on ε from runs; the chance that any of the bounds in these tables is too "
        f"high is at most {report.level:g}.",
        highlight=False,
    )
    console.print(notice, highlight=False, markup=False, soft_wrap=True)


def _table(title: str, rows: list[Row]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("", overflow="fold")
    for column in ("claimed ε", "δ", "exact ε", "audited"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        exact = None if row.finding is None else row.finding.epsilon
        bound = None if row.audited is None else row.audited.epsilon
        table.add_row(
            Text(row.name),
            f"{row.claim.epsilon:.3f}",
            f"{row.claim.delta:.2g}",
            "–" if exact is None else "∞" if math.isinf(exact) else f"{exact:.3f}",
            "–" if bound is None else f"≥ {bound:.3f}",
            _verdict(row),
        )
    return table


def _verdict(row: Row) -> Text:
    told = f"flagged ({', '.join(row.flagged_by)})" if row.is_flagged else "passes"
    if row.bug is not None and not row.is_as_expected:
        told = f"ESCAPED the {row.bug.caught_by} auditor"
    return Text(told, style="green" if row.is_as_expected else "bold red")
