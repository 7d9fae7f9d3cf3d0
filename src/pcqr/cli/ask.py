"""`pcqr ask`: send queries to a release. An answered query is never sent or paid for again.

The release is in a directory or on a server.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pcqr import release as releases
from pcqr.cli.console import (
    BAD_INPUT,
    BUDGET_EXHAUSTED,
    FROM_OUTSIDE,
    KINDS,
    OF_QUOTA,
    STOPPED,
    Signals,
    complain,
    error_fields,
    field_table,
    naming,
    print_json,
    progress,
    reason,
)
from pcqr.cli.inputs import check_drop, read
from pcqr.cli.jobs import Ask
from pcqr.cli.releases import COLUMNS, Answers, check_part, check_replaced, files_of, found_again, part_of
from pcqr.client import Remote, connect
from pcqr.client.errors import QuotaSpent, ServiceError
from pcqr.client.wire import is_address
from pcqr.data.schema.table import unescaped
from pcqr.datasets.tables import Columns, check_suffix, read_table
from pcqr.errors import BudgetExhausted, ParameterError, PcqrError, Undecided
from pcqr.files import InUse, Journal, check_output
from pcqr.releases.protocol.answers import BatchCost, counted

BATCH = 256
UNANSWERED = "unanswered"
Spent = BudgetExhausted | QuotaSpent
SPENT = (BudgetExhausted, QuotaSpent)
Batch = Callable[[Sequence[int]], Any]
"""Some rows of the queries, as the release takes them."""
Row = tuple[str, str]
"""Label, as text, and kind."""


def run(job: Ask) -> None:
    """Open, check, ask, write, summarise. The release has each answer on disk before it is in the output."""
    out = None if job.dry_run else _checked_out(job)
    table = read(job.queries, "--queries")
    check_drop(job.drop, table, of="the queries")
    table = {name: values for name, values in table.items() if name not in job.drop}
    asked = len(next(iter(table.values()), ()))
    release = _opened(job)
    try:
        with Signals() as signals:
            batch = _batches(release, table)
            earlier = [] if out is None or job.overwrite else _earlier(out, release, batch, asked)
            cost = release.preview(batch(range(asked))) if asked else None
            refusal = None if cost is None or job.yes else _refusal(cost)
            if out is None:
                _show_cost(cost, refusal, as_json=job.as_json)
                return
            if refusal is not None:
                raise refusal
            answers, exhausted = _asked(job, out, release, batch, asked, earlier, signals)
        _summarise(job, out, release, answers, exhausted)
    finally:
        release.close()
    if exhausted is not None:
        raise typer.Exit(BUDGET_EXHAUSTED)


def _checked_out(job: Ask) -> Path:
    if job.out is None:
        raise ParameterError("--out", "given, for the answers: only --dry-run needs none", None)
    with naming(path="--out"):
        check_suffix(job.out)
    for place in (job.out, part_of(job.out)):
        check_output(place, inputs=(job.queries, *files_of(job)), overwrite=True)
    check_replaced(job.out, COLUMNS)
    check_part(job.out)
    return job.out


def _refusal(cost: BatchCost) -> Undecided | None:
    """Return why a batch needs --yes, from public numbers alone: it is expected to exhaust the release."""
    if not cost.is_exhausting:
        return None
    new = counted(cost.new, "new query", "new queries")
    reason = f"{new} are expected to exhaust the release, for everybody and for ever"
    if cost.chance_of_exhausting is None:
        reason = f"{new}, {cost.beyond_plan:,} more than planned, may exhaust the release, for everybody and for ever"
    return Undecided(
        "--yes",
        f"{reason}. Remaining: {cost.remaining}. Nothing was asked.",
        "Ask fewer rows (--dry-run says what they would use up), or add --yes to ask all of them.",
    )


def _show_cost(cost: BatchCost | None, refusal: Undecided | None, *, as_json: bool) -> None:
    """Print what a dry run has found. Exit 2 where the run would stop before it asks."""
    if as_json:
        told = None if cost is None else asdict(cost) | {"is_certain": cost.is_certain}
        facts = {"queries": 0 if cost is None else cost.requested, "cost": told, "dry_run": True}
        print_json(facts | ({} if refusal is None else {"error": error_fields(refusal)}))
    else:
        fields = {"queries": "none" if cost is None else str(cost), "dry run": "nothing was asked or written"}
        Console().print(field_table(fields))
        if refusal is not None:
            complain(str(refusal))
    if refusal is not None:
        raise typer.Exit(BAD_INPUT)


def _opened(job: Ask) -> Any:
    """The release, with one face wherever it is."""
    if job.write_off and not job.adopt:
        raise ParameterError("--write-off", "given with --adopt", "alone")
    if not is_address(job.place):
        if job.ca is not None:
            raise ParameterError("--ca", "left out for a directory", str(job.ca))
        if job.dry_run:  # reads no secret, and works beside a writer
            if job.adopt:
                raise ParameterError("--adopt", "left out with --dry-run, which records nothing", True)
            return releases.open(job.place, ledger=job.ledger, anchor=job.anchor, read_only=True)
        return releases.open(
            job.place, ledger=job.ledger, anchor=job.anchor, key=job.key, adopt=job.adopt, write_off=job.write_off
        )
    of_directories = {
        "--ledger": job.ledger,
        "--anchor": job.anchor,
        "--adopt": job.adopt or None,
        "--write-off": job.write_off or None,
    }
    for option, given in of_directories.items():
        if given is not None:
            raise ParameterError(option, "left out for a server, which has its own", str(given))
    return connect(job.place, job.key, verify=None if job.ca is None else str(job.ca))


def _asked(
    job: Ask, out: Path, release: Any, batch: Batch, asked: int, earlier: Sequence[Row], signals: Signals
) -> tuple[Answers, Spent | None]:
    """Ask all rows, with each answer on disk before it is shown. Return the answers, and what stopped them, if any."""
    try:
        journal = Journal(part_of(out))
    except InUse:
        raise ParameterError("--out", "a file that no other run is writing to", str(out)) from None
    answers, exhausted = Answers(journal), None
    try:
        with progress(hidden=job.as_json or job.show) as bar:
            answers.begin(signals, asked, show=job.show)
            task, start = bar.add_task("answering", total=asked), 0
            while start < asked:
                rows = range(start, min(asked, start + BATCH))
                given = (
                    _answered(release, batch(rows)) if exhausted is None else _answers_of_known(release, batch, rows)
                )
                try:
                    for answer in given:
                        told = earlier[start][1] if start < len(earlier) else UNANSWERED
                        label, kind = (None, UNANSWERED) if answer is None else (answer.label, answer.kind)
                        bar.update(task, completed=answers.give(label, kind if told == UNANSWERED else told))
                        start += 1
                except SPENT as error:  # the rest is looked up: a query asked before is in the log
                    exhausted = error
                    answers.give(None, UNANSWERED)
                    start += 1
            answers.finish(out, overwrite=True)
    except (*FROM_OUTSIDE, ServiceError) as cause:
        with suppress(OSError):
            journal.sync()
        complain(
            f"{reason(cause)}. {journal.lines:,} of {asked:,} answers are in {journal.path}, and the release has all "
            "that it gave. The same command goes on from there, at no cost."
        )
        raise typer.Exit(STOPPED) from None
    finally:
        journal.close()
    return answers, exhausted


def _answered(release: Any, rows: Any) -> Iterator[Any]:
    """Return the answers to some rows, without a further confirmation: the cost of all rows was checked before."""
    return release.answers(rows, confirm=True) if isinstance(release, Remote) else release.answers(rows)


def _answers_of_known(release: Any, batch: Batch, rows: Sequence[int]) -> list[Any]:
    """Return the logged answers of an exhausted release to rows that were asked before, None for the others."""
    is_known = release.asked_before(batch(rows))
    known = [row for row, found in zip(rows, is_known, strict=True) if found]
    given = iter(release.answers(batch(known)) if known else ())
    return [next(given) if found else None for found in is_known]


def _earlier(out: Path, release: Any, batch: Batch, asked: int) -> list[Row]:
    """What an earlier run of the same command has written. It must be what the release says of these queries."""
    found = _written(out)
    rows = [row for row, (_, kind) in enumerate(found) if kind != UNANSWERED]
    is_same = len(found) <= asked
    if is_same and rows:
        try:
            is_same = [_text(answer.label) for answer in _logged(release, batch, rows)] == [found[i][0] for i in rows]
        except ServiceError:
            raise
        except PcqrError:
            is_same = False
    if not is_same:
        allowed = "a new file, or the output of the same command (--overwrite: asked again, at no cost)"
        raise ParameterError("--out", allowed, f"{out}, which has other answers")
    return found


def _logged(release: Any, batch: Batch, rows: Sequence[int]) -> list[Any]:
    """The answers to rows that were asked before: nothing new is asked to find out."""
    batches = [batch(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH)]
    if any(release.preview(each).new for each in batches):
        raise ParameterError("--out", "answers of this release", "others")
    return [answer for each in batches for answer in release.answers(each)]


def _written(out: Path) -> list[Row]:
    """The rows of `out`, or of the lines beside it that a stopped run has left: a torn one does not count."""
    whole, part, lines = list[Row](), part_of(out), list[Row]()
    if out.exists():
        with naming(path="--out"):
            found = read_table(out)
        whole = [(_text(label), str(kind)) for label, kind in zip(found["label"], found["kind"], strict=True)]
    if part.exists():
        with part.open(encoding="utf-8", errors="replace", newline="") as file:
            text = file.read()
        rows = csv.reader(StringIO(text[: text.rfind("\n") + 1], newline=""))
        lines = [(unescaped(row[1]), row[2]) for row in rows if len(row) == 3][1:]
    return max((whole, lines), key=len)


def _text(label: Any) -> str:
    """As it is in a CSV file; what a Parquet file has in place of a label that is missing is not equal to itself."""
    return "" if label is None or label != label else str(label)  # noqa: PLR0124


def _batches(release: Any, table: Columns) -> Batch:
    """How rows are put to the release: by the names of its schema; or, where Python fitted it without one, as numbers.

    These are in the order of its own names, where it has any, and else in that of the file.
    """
    if release.schema_ is not None:
        return lambda rows: {name: [values[row] for row in rows] for name, values in table.items()}
    own = vars(release).pop("feature_names_in_", None)  # they are compared here, and numbers have none
    names = list(table) if own is None else [str(name) for name in own]
    if len(table) != release.n_features_in_ or set(names) != set(table):
        which = "" if own is None else f": {', '.join(map(repr, names))}"
        allowed = f"a table with the {counted(release.n_features_in_, 'column', 'columns')} of the release{which}"
        raise ParameterError(
            "--queries", f"{allowed} (--drop leaves out others)", counted(len(table), "column", "columns")
        )

    return lambda rows: [[table[name][row] for name in names] for row in rows]


def _summarise(job: Ask, out: Path, release: Any, answers: Answers, exhausted: Spent | None) -> None:
    counts, asked = Counter(answers.kinds), len(answers.kinds)
    published = getattr(release, "is_published_", None)
    if job.as_json:
        told = {
            "queries": asked,
            "counts": {kind: counts[kind] for kind in KINDS},
            "queries_answered": release.queries_answered_,
            "unstable_remaining": release.unstable_remaining_,
            "published": published,
            "out": str(out),
        }
        print_json(told | ({} if exhausted is None else {"error": error_fields(exhausted)}))
        return
    meanings = KINDS | ({UNANSWERED: OF_QUOTA} if isinstance(exhausted, QuotaSpent) else {})
    kinds = "\n".join(f"{counts[kind]:,} {meaning}" for kind, meaning in meanings.items() if counts[kind])
    fields = {counted(asked, "query", "queries"): kinds or "none", "answers": str(out)}
    if published:
        is_here = not is_address(job.place)
        place = found_again(job.place, ledger=job.ledger, anchor=job.anchor)
        fields["published"] = f"pcqr export {place} --out DIRECTORY writes the model" if is_here else job.place
    Console().print(field_table(fields))
    if exhausted is not None:
        complain(
            f"{counts[UNANSWERED]:,} of {asked:,} queries are unanswered. {_of_all(exhausted, counts[UNANSWERED])}"
        )


def _of_all(exhausted: Spent, unanswered: int) -> Spent:
    """What stopped one batch, said of the whole file: its answers are in the output."""
    if isinstance(exhausted, QuotaSpent):
        return QuotaSpent(exhausted.place, used=exhausted.used, allowance=exhausted.allowance, requested=unanswered)
    return BudgetExhausted(spent=exhausted.spent, requested=unanswered, remaining=exhausted.remaining)
