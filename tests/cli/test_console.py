"""How commands speak and end: progress, any terminal, signals."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading

import pytest
from rich.console import Console
from rich.progress import Progress

from pcqr.cli.console import Signals, Stopped, field_table, plain_terminal, stages
from pcqr.progress import tracked


def test_stages_of_a_long_fit_are_counted_one_after_the_other() -> None:
    seen = []
    with Progress(disable=True) as bar:
        with stages(bar, "fitting"):
            assert bar.tasks[0].total is None
            for stage, parts in (("teachers", 3), ("steps", 2)):
                for _ in tracked(stage, range(parts)):
                    task = bar.tasks[0]
                    seen.append((task.description, task.completed, task.total))
        assert (bar.tasks[0].description, bar.tasks[0].finished) == ("fitting", True)
    assert seen == [("fitting: teachers", done, 3) for done in range(3)] + [
        ("fitting: steps", done, 2) for done in range(2)
    ]


def test_a_long_path_is_broken_and_not_cut() -> None:
    path = "/".join(["folder"] * 20)
    console = Console(width=40, record=True, file=None)
    with console.capture() as shown:
        console.print(field_table({"answers": path}))
    assert path in "".join(shown.get().split()).removeprefix("answers")


def test_a_terminal_that_cannot_show_a_character_gets_the_closest(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    plain_terminal()
    print("ε ≤ 10⁻⁶, e₁ = −½ … é ⊥ 漢 \udcff")
    sys.stdout.flush()
    shown = sys.stdout.buffer
    assert isinstance(shown, io.BytesIO)
    assert shown.getvalue().decode("latin-1") == "epsilon <= 10-6, e1 = -½ ... é none ? ?\n"
    sys.stderr.write("δ")
    sys.stderr.flush()


def test_streams_of_another_kind_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    plain_terminal()
    print("ε")
    assert isinstance(sys.stdout, io.StringIO)
    assert sys.stdout.getvalue() == "ε\n"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_no_help_fails_on_a_plain_terminal(encoding: str) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": "100"}
    command = [sys.executable, "-m", "pcqr", "answer", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert b"epsilon for everything" in done.stdout


def send(number: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


def test_a_signal_raises_at_once() -> None:
    with Signals(), pytest.raises(Stopped, match="SIGTERM"):
        send()


def test_a_held_signal_waits_for_the_end_of_the_block() -> None:
    done = []

    def held(signals: Signals) -> None:
        with signals.held():
            send(signal.SIGINT)
            done.append("on disk")
        done.append("not reached")

    with Signals() as signals, pytest.raises(Stopped, match="Ctrl-C"):
        held(signals)
    assert done == ["on disk"]


def test_the_outermost_block_is_what_a_signal_waits_for() -> None:
    done = []

    def held(signals: Signals) -> None:
        with signals.held():
            with signals.held():
                send()
            done.append("the answer")
            send()
            done.append("the model")

    with Signals() as signals, pytest.raises(Stopped):
        held(signals)
    assert done == ["the answer", "the model"]


def test_an_error_in_a_held_block_is_not_covered_up() -> None:
    def held(signals: Signals) -> None:
        with signals.held():
            send()
            raise OSError("full")

    with Signals() as signals, pytest.raises(OSError, match="full"):
        held(signals)


def test_those_that_come_while_it_ends_are_one_too_many() -> None:
    with Signals() as signals:
        with pytest.raises(Stopped):
            send()
        send(signal.SIGINT)
        with signals.held():
            send()


def test_it_is_no_exception_that_a_library_swallows() -> None:
    assert not issubclass(Stopped, Exception)


def test_other_threads_cannot_listen_and_do_not_fail() -> None:
    failed: list[BaseException] = []

    def enter() -> None:
        try:
            with Signals():
                pass
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert not failed
