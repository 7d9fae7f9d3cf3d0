"""Which process this is."""

from __future__ import annotations

import os

import pytest
from support.kept import in_a_fork

from pcqr.compiled import this_process

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def test_a_forked_process_is_another_one_whatever_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    here, pid = this_process(), os.getpid()
    assert this_process() == here

    def differs(*known: object) -> None:
        assert this_process() not in known

    assert in_a_fork(lambda: differs(here)) == 0
    monkeypatch.setattr("os.getpid", lambda: pid)
    assert in_a_fork(lambda: differs(here)) == 0

    def fork_again() -> None:
        child = this_process()
        assert in_a_fork(lambda: differs(here, child)) == 0

    assert in_a_fork(fork_again) == 0
    assert this_process() == here
