"""Work shared out to threads: every share once, in order, and nothing left behind."""

from __future__ import annotations

import os
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.compiled import ForkedError, in_threads

MUCH = 10**6


@given(st.integers(1, 200), st.none() | st.integers(1, 50), st.sampled_from([0, MUCH]))
def test_every_share_is_done_once_and_given_in_order(total: int, most: int | None, steps: int) -> None:
    shares = in_threads(lambda low, high: list(range(low, high)), total, steps, most)
    assert [number for share in shares for number in share] == list(range(total))
    assert all(len(share) <= (most or total) for share in shares)


def test_little_work_is_done_here_and_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    here = threading.get_ident()
    assert in_threads(lambda *_: threading.get_ident(), 1000, 1) == [here]
    assert in_threads(lambda low, high: (low, high), 0, MUCH) == [(0, 0)]
    shares = in_threads(lambda *_: threading.get_ident(), 1000, MUCH)
    assert len(shares) == 4
    assert here not in shares


def test_an_error_is_told_and_the_threads_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    before = threading.active_count()

    def fails(low: int, high: int) -> None:
        del high
        if low:
            raise ValueError("the second share")

    with pytest.raises(ValueError, match="the second share"):
        in_threads(fails, 2, MUCH)
    assert threading.active_count() == before


def test_whoever_is_another_process_now_does_not_wait_for_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a fork in the handler of a signal: of the threads only a record is there."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    process = os.getpid()
    pids = iter([process])
    monkeypatch.setattr("os.getpid", lambda: next(pids, -1))
    with pytest.raises(ForkedError):
        in_threads(lambda *_: time.sleep(0.3), 2, MUCH)
