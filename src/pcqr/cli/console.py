"""How every command speaks, and how it ends: errors, progress, JSON, fields, signals."""

from __future__ import annotations

import atexit
import codecs
import io
import json
import os
import signal
import sys
import threading
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from pcqr.errors import MissingExtra, ParameterError, PcqrError, PcqrWarning, WeakGuarantee
from pcqr.files import check_outside_releases, replacing
from pcqr.progress import Progress as Told
from pcqr.progress import reporting as listening

# ---------------------------------------------------------------------------------------------------------------------
# Signals that ask a run to end: they end it where nothing is lost, and the run says what was kept.


STOPPED = 4
"""Exit code: a signal, a full disk or a closed pipe ended the run before its time."""

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is unknown to Windows


class Stopped(BaseException):
    """A signal asked for the end. Like KeyboardInterrupt no `Exception`: no library swallows it."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__("Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name)


FROM_OUTSIDE = (Stopped, KeyboardInterrupt, OSError, MemoryError)
"""What can end a run without a fault of pcqr."""


def reason(cause: BaseException) -> str:
    """Why a run ended, without a value of any table."""
    if isinstance(cause, Stopped | KeyboardInterrupt):
        return f"Stopped by {cause if isinstance(cause, Stopped) else 'Ctrl-C'}"
    if isinstance(cause, PcqrError):
        return str(cause).rstrip(".")
    if isinstance(cause, BrokenPipeError):
        return "Nobody reads the output any more"
    if isinstance(cause, MemoryError):
        return "Not enough memory"
    return getattr(cause, "strerror", None) or type(cause).__name__


class Signals:
    """A context in which a signal raises `Stopped`. Within `held()` the signal waits for the end of that block.

    Only the first signal counts: a later one (an impatient Ctrl-C) does not interrupt the run while it ends. Signals
    that were ignored before stay ignored (`nohup`). In any thread but the main one, the context does nothing.
    """

    def __init__(self) -> None:
        self._is_held = False
        self._is_ending = False
        self._waiting: int | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @contextmanager
    def held(self) -> Iterator[None]:
        """What must not be cut in two: an answer on its way to disk and to the user. May be nested."""
        outer, self._is_held = self._is_held, True
        try:
            yield
        finally:
            self._is_held = outer
        if self._waiting is not None and not outer:
            self._end(self._waiting)

    def _received(self, number: int, _: FrameType | None) -> None:
        if self._is_held:
            self._waiting = number
        else:
            self._end(number)

    def _end(self, number: int) -> None:
        if not self._is_ending:
            self._is_ending = True
            raise Stopped(number)


# ---------------------------------------------------------------------------------------------------------------------
# What a command has opened for all of its run is closed at its end, however it ends.


_open: ContextVar[ExitStack | None] = ContextVar("pcqr_open", default=None)


@contextmanager
def to_the_end() -> Iterator[None]:
    """A run: what is handed to `at_the_end` within it is called when it is over."""
    with ExitStack() as stack:
        before = _open.set(stack)
        try:
            yield
        finally:
            _open.reset(before)


def at_the_end(close: Callable[[], None]) -> None:
    """Call `close` when the run is over; outside of any, when the process ends."""
    stack = _open.get()
    if stack is None:
        atexit.register(close)
    else:
        stack.callback(close)


KINDS = {
    "stable": "answered by the votes",
    "published": "answered by the published classifier",
    "repeated": "asked before, answered from the log at no cost",
    "unstable": "unstable: the votes were too close to call",
    "unanswered": "unanswered: the release was exhausted",
}
OF_QUOTA = "unanswered: the key has used up what it may ask"
"""Unanswered, while the release goes on for others."""
TOGETHER = (
    "the anchor {anchor} is on the volume of the ledger: restored together, both are old, and nothing notices. "
    "Keep it on another volume (--anchor, PCQR_STATE_DIR)."
)
"""Said where the anchor of a release or an account would be restored with its ledger."""


# ---------------------------------------------------------------------------------------------------------------------
# How every command speaks: errors, progress, JSON, fields.
#
# Results go to standard output. Errors and progress go to standard error, so that `--json` output can be piped.


_PLAIN = {
    **{"ε": "epsilon", "δ": "delta", "ρ": "rho", "η": "eta", "α": "alpha", "β": "beta", "θ": "theta", "λ": "lambda"},
    **{"μ": "mu", "γ": "gamma", "Σ": "sum ", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∞": "infinity", "√": "sqrt "},
    **{"·": "*", "×": "x", "±": "+-", "−": "-", "–": "-", "—": "-", "…": "...", "→": "->", "∈": "in", "⊥": "none"},
    **{"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "′": "'", "°": " degrees ", "†": "+", "¼": "1/4", "½": "1/2"},
}
"""What stands for a character on a terminal that cannot show it."""
_ON_PLAIN_TERMINALS = "pcqr.plain"

BAD_INPUT = 2
BUDGET_EXHAUSTED = 3


def plain_terminal() -> None:
    """Write the closest ASCII text instead of a character that the terminal cannot show."""
    codecs.register_error(_ON_PLAIN_TERMINALS, _closest)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ON_PLAIN_TERMINALS)


def _closest(error: UnicodeError) -> tuple[str, int]:
    """Return plain characters for those that could not be encoded, as `codecs.register_error` wants it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    plain = (_plain_character(character) for character in error.object[error.start : error.end])
    return "".join(plain), error.end


def _plain_character(character: str) -> str:
    """Return the closest ASCII text: ² is 2, ₁ is 1, é is e, and "?" where nothing is close."""
    named = _PLAIN.get(character)
    if named is not None:
        return named
    parts = unicodedata.normalize("NFKD", character)
    return "".join(part if part.isascii() else _PLAIN.get(part, "") for part in parts) or "?"


@contextmanager
def reporting(*, as_json: bool) -> Iterator[None]:
    """Turn every `PcqrError` into one line on standard error (or one JSON object) and exit code 2.

    A signal, a full disk or a closed pipe is one line too. Other exceptions are faults of pcqr and keep their plain
    traceback, which shows code but never local values.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", PcqrWarning)
            warnings.simplefilter("ignore", WeakGuarantee)  # the promise that each command prints says it in full
            warnings.showwarning = _show_warning  # put back by catch_warnings
            yield
    except PcqrError as error:
        if as_json:
            print_json({"error": error_fields(error)})
        else:
            complain(str(error))
        raise typer.Exit(BAD_INPUT) from None
    except FROM_OUTSIDE as cause:
        if isinstance(cause, BrokenPipeError):
            give_up_output()
        complain(f"{reason(cause)}. The run did not come to its end.")
        raise typer.Exit(STOPPED) from None


@contextmanager
def naming(**options: str) -> Iterator[None]:
    """Have errors about a parameter speak of the option, or argument, that it was given by."""
    try:
        yield
    except ParameterError as error:
        if error.name not in options:
            raise
        raise ParameterError(options[error.name], error.allowed, error.received) from None


def error_fields(error: PcqrError) -> dict[str, Any]:
    """The one JSON shape of an error: its type, its message and its fields (answers so far are in the output)."""
    fields = {name: _plain(value) for name, value in vars(error).items() if name != "answers"}
    return {"type": type(error).__name__, "message": str(error)} | fields


def complain(message: str) -> None:
    Console(stderr=True).print(f"Error: {message}", style="bold red", soft_wrap=True, markup=False, highlight=False)


def fail(message: str, cause: BaseException, *, as_json: bool, **document: Any) -> None:
    """Say why a run ended early: as one JSON object with `document` in it, or in words, then what is in `document`."""
    if isinstance(cause, BrokenPipeError):
        give_up_output()
        as_json = False
    if as_json:
        typer.echo(json.dumps({"error": {"type": type(cause).__name__, "message": message}} | document, indent=2))
        return
    complain(message)
    for value in document.values():
        typer.echo(json.dumps(value, indent=2))


def warn(message: str) -> None:
    """For the data holder's eyes: standard error, never a result."""
    Console(stderr=True).print(f"Warning: {message}", style="yellow", soft_wrap=True, markup=False, highlight=False)


def warn_if_together(anchor: Path, *, is_apart: bool) -> None:
    """Warn if the anchor is on the volume of its ledger, so that both would be restored together."""
    if not is_apart:
        warn(TOGETHER.format(anchor=anchor))


def give_up_output() -> None:
    """Nobody reads standard output any more: what is still to be written there goes nowhere, without a complaint."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """In place of `warnings.showwarning`: the message without the place in the code that gave it."""
    warn(str(message))


def print_json(value: Mapping[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))


def make_directory(out: Path) -> None:
    """Make the directory of `--out` if it does not exist. Raise if it is in a release."""
    check_outside_releases(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError("--out", "a directory that can be written to", f"{out} ({error.strerror})") from None


def draw_into(path: Path, draw: Callable[[Path], None]) -> tuple[Path | None, str]:
    """Draw a picture, whole or not at all: where it is, and a sentence that says so. None without matplotlib."""
    try:
        with replacing(path) as draft:
            draw(draft)
    except MissingExtra as missing:
        return None, f"No picture. {missing}"
    return path, f"Picture: {path}"


@contextmanager
def progress(*, hidden: bool) -> Iterator[Progress]:
    """A progress bar on standard error, where that is a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=hidden or not console.is_terminal, transient=True) as bar:
        yield bar


@contextmanager
def stages(bar: Progress, work: str) -> Iterator[None]:
    """A line in the bar for the long computation in this block: its stages, counted, with the time that is left."""
    task = bar.add_task(work, total=None)

    def show(reached: Told) -> None:
        if reached.done == 0:
            bar.reset(task, total=reached.total, description=f"{work}: {reached.stage}")
        bar.update(task, completed=reached.done)

    with listening(show):
        yield
    bar.update(task, description=work, total=1, completed=1)


def field_table(fields: Mapping[str, str]) -> Table:
    """Names on the left, what they say on the right."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(overflow="fold")  # a long path is broken, not cut
    for name, value in fields.items():
        table.add_row(name, Text(value))
    return table


def open_table(columns: Iterable[str], *, title: str | None = None, flush_left: int | None = None) -> Table:
    """Return a table without lines, whose first `flush_left` columns are flush left; by default all are."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if flush_left is None or place < flush_left else "right")
    return table


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)
