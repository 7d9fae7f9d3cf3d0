"""Signals end a run where nothing is lost."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from pcqr.cli.console import Signals, Stopped


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
