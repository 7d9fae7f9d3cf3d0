"""Teachers in a list: what they vote, and what is kept of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.committees import assert_same_votes, kept_and_read

from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import Hypothesis, Labels
from pcqr.hypotheses.committees import Constant, Members, committee_from_arrays
from pcqr.hypotheses.intervals import Interval
from pcqr.hypotheses.thresholds import Threshold

X = np.array([[0.0], [1.0], [2.0], [3.0]])
MEMBERS = Members([Threshold(0.5), Threshold(1.5, up=False), Interval(0.5, 2.5), Constant(2)], 3)


def test_documents_of_all_members_are_kept() -> None:
    assert_same_votes(kept_and_read(MEMBERS), MEMBERS, X)
    again = kept_and_read(MEMBERS)
    assert isinstance(again, Members)
    assert again.members == MEMBERS.members


class Unwritten(Hypothesis):
    def predict(self, X: Any) -> Labels:
        return np.ones(len(X), dtype=np.int8)


def test_a_member_without_a_document_votes_and_cannot_be_kept() -> None:
    members = Members([Unwritten()], 2)
    assert members.counts(X).tolist() == [[0, 1]] * 4
    with pytest.raises(ParameterError):
        members.arrays()


@pytest.mark.parametrize(
    "damage",
    [
        {"labels": np.array([3])},
        {"labels": np.array(3.0)},
        {"labels": np.array(1)},
        {"labels": np.array(-1)},
        {"labels": np.array(128)},
        {"members": np.frombuffer(b"[]", dtype=np.uint8)},
        {"members": np.frombuffer(b"{}", dtype=np.uint8)},
        {"members": np.full(100_000, ord("["), dtype=np.uint8)},
        {"members": np.array(7, dtype=np.uint8)},
        {"members": np.array([91], dtype=np.uint8)},
        {"members": np.array([255], dtype=np.uint8)},
        {"members": np.frombuffer(b"7", dtype=np.uint8)},
        {"members": np.frombuffer(b"[7]", dtype=np.uint8)},
        {"members": np.frombuffer(b'["{}"]', dtype=np.uint8)},
        {"members": np.array(["a"])},
    ],
    ids=lambda damage: str(damage)[:60],
)
def test_arrays_that_no_members_gave_are_refused_without_a_word_about_them(damage: dict[str, Any]) -> None:
    with pytest.raises(DataError) as caught:
        committee_from_arrays(MEMBERS.arrays() | damage)
    assert not any(character.isdigit() for character in str(caught.value))
    assert caught.value.__cause__ is None
