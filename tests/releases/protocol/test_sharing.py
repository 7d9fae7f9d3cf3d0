"""Threads that ask at the same time share a turn, and nothing else: neither exceptions nor interruptions."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from support.asking import Scripted, rows, votes

from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.protocol import online as sharing
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Answered, Asked, MemoryLog, PrivLabel, Reply, Transaction
from pcqr.releases.protocol.online import Lock, PrivClass, SharedTransactions


class Calls:
    """A `serve` that writes down with whom it was called. The first call waits until so many others wait for it."""

    def __init__(self, shared: SharedTransactions, others: int) -> None:
        self.shared, self.others = shared, others
        self.served: list[list[float]] = []
        self.fails: dict[float, BaseException] = {}

    def __call__(self, asked: Sequence[Asked], _: object) -> list[Answered[int]]:
        values = [float(each.points[0, 0]) for each in asked]
        self.served.append(values)
        if len(self.served) == 1:
            wait_for(lambda: len(self.shared._waiting) > self.others)
        for value in values:
            if value in self.fails:
                raise self.fails[value]
        return [Answered([Reply(int(value), None, "stable", 0, 0, None, None, False)]) for value in values]


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20.0
    while not holds():
        assert time.monotonic() < deadline, "nobody came"
        time.sleep(0.001)


def asked_at_once(calls: Calls, books: Sequence[Any] = (None,) * 4) -> list[object]:
    """What each thread gets, or raises: the first leads, and the others come, in order, while it does."""
    found: list[object] = [None] * len(books)

    def ask(number: int) -> None:
        try:
            (told,) = calls.shared.ask([Asked(rows(number))], books[number], calls)
            found[number] = told.replies[0].label
        except BaseException as error:
            found[number] = type(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(books))]
    for number, thread in enumerate(threads):
        thread.start()
        if number < len(books) - 1:  # with the last one the first may go on
            wait_for(lambda number=number: len(calls.shared._waiting) > number)  # type: ignore[misc]
    for thread in threads:
        thread.join(20.0)
        assert not thread.is_alive()
    assert not calls.shared._waiting
    return found


def test_those_who_wait_are_served_by_one_of_them() -> None:
    calls = Calls(SharedTransactions(Lock()), 3)
    assert asked_at_once(calls) == [0, 1, 2, 3]
    assert calls.served == [[0.0], [1.0, 2.0, 3.0]]


def test_an_exception_reaches_the_thread_that_asked_for_it() -> None:
    calls = Calls(SharedTransactions(Lock()), 3)
    calls.fails = {2.0: ValueError()}
    assert asked_at_once(calls) == [0, 1, ValueError, 3]


def test_an_exception_of_one_alone_is_not_asked_for_twice() -> None:
    calls = Calls(SharedTransactions(Lock()), 0)
    calls.fails = {0.0: ValueError("no")}
    with pytest.raises(ValueError, match="no"):
        calls.shared.ask([Asked(rows(0))], None, calls)
    assert calls.served == [[0.0]]


def test_who_is_interrupted_leaves_the_others_to_themselves() -> None:
    calls = Calls(SharedTransactions(Lock()), 3)
    calls.fails = {0.0: KeyboardInterrupt()}
    assert asked_at_once(calls) == [KeyboardInterrupt, 1, 2, 3]
    assert calls.served[1] == [1.0, 2.0, 3.0]


def test_requests_with_another_book_and_too_many_rows_wait_for_the_next_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(SharedTransactions(Lock()), 4)
    assert asked_at_once(calls, [None, "a", "a", "b", "a"]) == [0, 1, 2, 3, 4]
    assert calls.served == [[0.0], [1.0, 2.0], [3.0], [4.0]]
    monkeypatch.setattr(sharing, "MOST_ROWS", 2)
    calls = Calls(SharedTransactions(Lock()), 3)
    assert asked_at_once(calls) == [0, 1, 2, 3]
    assert calls.served == [[0.0], [1.0, 2.0], [3.0]]


def test_what_asks_in_the_middle_gets_its_own_refusal() -> None:
    """A signal handler runs in the thread that holds the lock: it is refused, and what it interrupts goes on."""
    protocol = votes(Usage(None, 9))
    genuine = protocol.labeller.decide

    def interrupted(counts: Any) -> int | None:
        with pytest.raises(RuntimeError, match="in the middle"):
            protocol.answer(rows(7))
        return genuine(counts)

    protocol.labeller.decide = interrupted  # type: ignore[method-assign]
    assert protocol.answer(rows(3)).label == 1
    assert protocol.asked == 1
    assert not protocol._sharing._waiting


def test_nobody_waits_for_a_copy() -> None:
    protocol = votes(Usage(None, 9))
    protocol._sharing._waiting.append(object())  # type: ignore[arg-type]
    for twin in (copy.deepcopy(protocol), pickle.loads(pickle.dumps(protocol))):  # noqa: S301
        assert twin._sharing._lock is twin._lock
        assert not twin._sharing._waiting
        assert twin.answer(rows(2)).label == 0


class Watched(MemoryLog):
    """Counts its turns, and keeps each open for a moment, as a disk does."""

    turns = 0

    @contextmanager
    def transaction(self, labeller: PrivLabel) -> Iterator[Transaction]:
        self.turns += 1
        with super().transaction(labeller) as transaction:
            yield transaction
        time.sleep(0.005)


def test_many_threads_get_right_answers_in_few_turns_and_never_more_than_t_unstable_ones() -> None:
    log = Watched()
    protocol = PrivClass(Scripted(Usage(None, 5)), 5, SeededEntropy(0), log)
    told: list[tuple[int, list[Answered[int]]]] = []

    def ask(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for value in rng.integers(-20, 200, size=20).tolist():
            told.append((value, protocol.ask_together([Asked(rows(value))])))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()
    assert len(told) == 160
    for value, (each,) in told:
        assert each.stopped == "halted" or each.replies[0].label == (None if value < 0 else value % 2)
    assert protocol.unstable <= 5
    assert log.turns < 100, "turns were shared"


def test_who_is_never_woken_looks_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that should have woken it was interrupted once more, on its way out."""
    monkeypatch.setattr(sharing, "PATIENCE", 0.01)
    calls = Calls(SharedTransactions(Lock()), 0)
    calls.shared._waiting.append(sharing._Call([Asked(rows(5))], None))
    monkeypatch.setattr(calls.shared._waiting[0], "thread", -1)
    (told,) = calls.shared.ask([Asked(rows(1))], None, calls)
    assert told.replies[0].label == 1
    assert calls.served == [[5.0, 1.0]]
