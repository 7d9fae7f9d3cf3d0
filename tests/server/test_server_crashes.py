"""A short version of `make crash` over HTTP: the server is killed under load, and nothing is lost, nor told twice."""

from __future__ import annotations

import pytest
from support.killed_server import FORGETFUL, HASTY
from support.service_crashes import RANDOM, crashes


def test_kills_of_the_server_lose_nothing() -> None:
    run = crashes(["committed", RANDOM])
    assert run.kills == {"committed": 1, RANDOM: 1}
    assert run.had_no_reply > 0
    assert all(client.done for client in run.everybody)


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (HASTY, "the ledger lacks|other counts|another reply"),
        (FORGETFUL, "another reply|charged for other answers"),  # whichever is looked at first of what was sent twice
    ],
)
def test_faults_are_found(fault: str, seen: str) -> None:
    """A test of the test above: it fails where replies come before the commit, and where tokens are forgotten."""
    with pytest.raises(AssertionError, match=seen):
        crashes(["turn begun"] * 3, fault=fault)
