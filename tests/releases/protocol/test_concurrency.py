"""Threads that ask at the same time get right answers, and what asks in the middle of a query is refused."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from support.asking import rows, votes

from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Answered, Asked


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


def test_many_threads_get_right_answers_and_never_more_than_t_unstable_ones() -> None:
    protocol = votes(Usage(None, 5))
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
        assert each.stopped == "exhausted" or each.replies[0].label == (None if value < 0 else value % 2)
    assert protocol.unstable <= 5
