"""Requests that are asked together get what each would get alone."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import LEFT, PLAIN, one_by_one, rows, universal, votes

from pcqr import ParameterError
from pcqr.hypotheses.thresholds import Threshold
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Asked, Votes
from pcqr.releases.universal import run as unv_priv_cl


@pytest.fixture(autouse=True)
def fixed_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unv_priv_cl, "sspp", lambda *_: Threshold(1.5))


GROUPS = st.lists(st.lists(PLAIN, min_size=1, max_size=5), min_size=1, max_size=4)


@given(groups=GROUPS, remaining=LEFT)
def test_votes_together_are_votes_one_after_the_other(groups: list[list[Asked]], remaining: Usage) -> None:
    together, by_itself = votes(remaining), votes(remaining)
    for group in groups:
        assert together.ask_together(group) == one_by_one(by_itself, group)
    assert together.now() == by_itself.now()
    assert [entry.label for entry in together.transcript] == [entry.label for entry in by_itself.transcript]


@given(groups=GROUPS, remaining=LEFT, after=st.integers(1, 6))
def test_publication_midway_is_where_it_would_be(groups: list[list[Asked]], remaining: Usage, after: int) -> None:
    together, by_itself = universal(remaining, after), universal(remaining, after)
    for group in groups:
        assert together.ask_together(group) == one_by_one(by_itself, group)
    assert together.published == by_itself.published
    assert together.protocol.now() == by_itself.protocol.now()


def test_where_a_classifier_follows_the_votes_no_reply_says_that_queries_end() -> None:
    remaining, before = Usage(5, 3), rows(2, -1, 4)
    assert [reply.remaining for reply in votes(remaining).ask_together([Asked(before)])[0].replies] == [
        *(Usage(4, 3), Usage(3, 2), Usage(2, 2))
    ]
    (told,) = universal(remaining, 2).ask_together([Asked(before)])
    assert [reply.remaining for reply in told.replies] == [Usage(None, 3), Usage(None, 2), Usage(None, 0)]
    assert [reply.kind for reply in told.replies] == ["stable", "unstable", "published"]


def test_a_request_that_stops_does_not_stop_the_others() -> None:
    protocol = votes(Usage(None, 1))
    first, second, third = protocol.ask_together([Asked(rows(2, -1, 4)), Asked(rows(2, 5)), Asked(rows(-1))])
    assert ([reply.kind for reply in first.replies], first.stopped) == (["stable", "unstable"], "exhausted")
    assert ([reply.kind for reply in second.replies], second.stopped) == (["repeated"], "exhausted")
    assert ([reply.kind for reply in third.replies], third.stopped) == (["repeated"], None)


def test_votes_of_all_requests_are_counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol, counted = votes(Usage(None, 9)), []
    genuine = protocol.labeller.counts

    def counts(X: np.ndarray) -> Votes:
        counted.append(X[:, 0].tolist())
        return genuine(X)

    monkeypatch.setattr(protocol.labeller, "counts", counts)
    protocol.ask_together([Asked(rows(1, 2)), Asked(rows(2, 3)), Asked(rows(1))])
    assert counted == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("asked", [Asked(rows(1), "ann", Usage(3, None)), Asked(rows(1), token=b"once")])
def test_allowances_and_tokens_need_a_book(asked: Asked) -> None:
    for protocol in (votes(Usage(None, 9)), universal(Usage(None, 9), 3)):
        with pytest.raises(ParameterError, match="quota_table"):
            protocol.ask_together([asked])
        assert protocol.ask_together([]) == []


def test_what_tells_requests_apart_are_the_bits_of_their_points() -> None:
    """A token sent again with other rows is another request; −0 and 0 are one number."""
    plain = Asked(rows(1, 0)).content
    assert plain == sha256(rows(1, 0).tobytes()).digest()
    assert plain == Asked(rows(1, -0.0), "ann", token=b"once").content
    assert plain != Asked(rows(1, 2)).content
