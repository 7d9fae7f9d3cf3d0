"""Answers on their way to a file: on disk before they are shown, and kept however the run ends.

While a run goes on, its answers are in `FILE.part.csv` beside the output, a line for each query. When the last query
has been asked, the output takes its place. So the output is always whole, and what a stopped run has given is in a
file that any program reads. Nothing else is written there: no record, no vote, no time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EEXIST
from pathlib import Path
from typing import Any

import typer

from pcqr.cli.console import complain, give_up_output, print_json
from pcqr.cli.stopping import FROM_OUTSIDE, STOPPED, Signals, reason
from pcqr.datasets.tables import table_size, write_table
from pcqr.errors import OutputExists, ParameterError, PcqrError
from pcqr.files import InUse, check_output, real
from pcqr.journal import Journal
from pcqr.schema.spreadsheets import csv_line

COLUMNS = ("row", "label", "kind")
WAIT = 0.05
"""Seconds for which answers may wait to be shown, so that one wait for the disk serves several."""


@dataclass(frozen=True)
class Price:
    """What a run costs, whole, whatever becomes of it."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"ε = {self.epsilon:.12g} and δ = {self.delta:.12g}"

    @property
    def again(self) -> str:
        return f"A new run is a new release and costs {self} again."


def part_of(out: Path) -> Path:
    """Where the answers are while they come: beside the file that `out` is, or points to."""
    place = real(out) if out.is_symlink() else out
    return place.with_name(f"{place.name}.part.csv")


def check_answers(out: Path, inputs: Sequence[Path], price: Price, *, overwrite: bool) -> None:
    """Raise unless the answers may go to `out`: it is no input and, but for `overwrite`, does not exist."""
    for place in (out, part_of(out)):
        check_output(place, inputs=inputs, overwrite=True)
    if os.path.lexists(out) and not overwrite:
        raise OutputExists(out, _rows_in(out), cost=price.again)
    check_replaced(out, COLUMNS)
    check_part(out)


def check_replaced(out: Path, columns: Sequence[str], *, what: str = "answers") -> None:
    """Raise unless `out` does not exist, is empty, or begins with `columns`, as the table of an earlier run does."""
    if not out.exists() or not out.stat().st_size:
        return
    try:
        found = table_size(out)[0]
    except PcqrError:
        found = ()
    if tuple(found[: len(columns)]) != tuple(columns):
        allowed = f"a new file, or, with --overwrite, one with {what} of an earlier run"
        raise ParameterError("--out", allowed, f"{out}, which holds something else")


def check_part(out: Path) -> None:
    """Raise if the file beside `--out` that holds the answers during a run is a file of another kind."""
    part, header = part_of(out), ",".join(COLUMNS).encode()
    if part.exists():
        with part.open("rb") as file:
            begins = file.read(len(header))
        if not header.startswith(begins):
            raise ParameterError("--out", f"another file: {part.name} beside it would be replaced", str(out))


class Answers:
    """The answers of one run, in the order of the queries."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.asked = 0
        self.labels: list[Any] = []
        self.kinds: list[str] = []
        self.finished: Path | None = None
        self.beside = ""
        """What else was kept, to be said when the run ends early."""
        self.charged: Callable[[], str] = str
        """What the run has been charged so far, in a sentence, to be said then, too."""
        self._signals = Signals()
        self._show = False

    def begin(self, signals: Signals, asked: int, *, show: bool) -> None:
        """The release is fitted: what comes now is paid for."""
        self._signals, self.asked, self._show = signals, asked, show
        self.journal.begin(header := ",".join(COLUMNS))
        if show:
            typer.echo(header)

    def give(self, label: Any, kind: str) -> int:
        """One more answer, whatever it is: written at once, shown when it is on disk. Returns how many are there."""
        with self._signals.held():
            self.labels.append(label)
            self.kinds.append(kind)
            self.journal.append(csv_line((len(self.kinds), label, kind)))
            if self.journal.age >= WAIT:
                self._sync()
        return self.journal.lines

    def finish(self, out: Path, *, overwrite: bool) -> None:
        """Every query was asked: the output takes the place of the lines."""
        with self._signals.held():
            self._sync()
            if os.path.lexists(out) and not overwrite:
                raise FileExistsError(EEXIST, f"{out} has appeared meanwhile")
            if out.name.lower().endswith(".csv"):
                self.journal.become(out)
            else:
                table = (range(1, self.asked + 1), self.labels, self.kinds)
                write_table(out, dict(zip(COLUMNS, table, strict=True)))
                self.journal.remove()
            self.finished = out

    def _sync(self) -> None:
        for line in self.journal.sync():
            if self._show:
                typer.echo(line)


@contextmanager
def answers_beside(out: Path, price: Price, *, overwrite: bool, as_json: bool) -> Iterator[Answers]:
    """The answers that will be in `out`. Should the block end early, say in a sentence what was kept, and exit."""
    try:
        journal = Journal(part_of(out))
    except InUse:
        raise ParameterError("--out", "a file that no other run is writing to", str(out)) from None
    except OSError as error:
        told = f"{out} ({error.strerror})"
        raise ParameterError("--out", "a file in an existing directory that can be written to", told) from None
    answers = Answers(journal)
    try:
        if os.path.lexists(out) and not overwrite:  # another run may have finished since that was checked
            raise OutputExists(out, _rows_in(out), cost=price.again)
        remains = journal.remains()
        if (remains.lines or remains.is_torn) and not overwrite:
            torn = ", and a torn line that does not count" if remains.is_torn else ""
            holds = f"{remains.lines:,} answers that a run gave before it was stopped{torn}"
            raise OutputExists(part_of(out), holds, cost=price.again)
        yield answers
    except BaseException as cause:
        is_refusal = isinstance(cause, PcqrError) and not journal.has_begun
        if is_refusal or isinstance(cause, typer.Exit):
            raise
        with suppress(OSError):
            journal.sync()
        _say_what_was_kept(answers, price, cause, as_json=as_json)
        if isinstance(cause, FROM_OUTSIDE):
            raise typer.Exit(STOPPED) from None
        raise  # a fault of pcqr
    finally:
        journal.close()


def _say_what_was_kept(answers: Answers, price: Price, cause: BaseException, *, as_json: bool) -> None:
    given, path = answers.journal.lines, answers.journal.path
    if answers.finished is not None:
        kept = f"All {answers.asked:,} answers are in {answers.finished}."
    elif not answers.journal.has_begun:
        kept = "No answer was given, and nothing is written."
    elif given == answers.asked:
        kept = f"All {given:,} answers are in {path}."
    else:
        kept = f"{given:,} of {answers.asked:,} answers were given and are in {path}. {price.again}"
    message = f"{reason(cause)}. {kept}{answers.beside} {answers.charged()}".rstrip()
    if isinstance(cause, BrokenPipeError):
        give_up_output()
        complain(message)
    elif as_json:
        fields = {"type": type(cause).__name__, "message": message, "given": given, "asked": answers.asked}
        print_json({"error": fields | {"file": str(answers.finished or path)}})
    else:
        complain(message)


def _rows_in(out: Path) -> str:
    try:
        return f"{table_size(out)[1]:,} rows"
    except PcqrError:
        return ""
