"""Requests that are asked together get what each would get alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import LEFT, PLAIN, one_by_one, rows, universal, votes

from pcqr import ParameterError
from pcqr.algorithms import unv_priv_cl
from pcqr.algorithms.asking import Asked
from pcqr.algorithms.log import Votes
from pcqr.hypotheses.thresholds import Threshold
from pcqr.plan import Usage


@pytest.fixture(autouse=True)
def fixed_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unv_priv_cl, "sspp", lambda *_: Threshold(1.5))


GROUPS = st.lists(st.lists(PLAIN, min_size=1, max_size=5), min_size=1, max_size=4)


@given(groups=GROUPS, left=LEFT)
def test_votes_together_are_votes_one_after_the_other(groups: list[list[Asked]], left: Usage) -> None:
    together, alone = votes(left), votes(left)
    for group in groups:
        assert together.ask_together(group) == one_by_one(alone, group)
    assert together.now() == alone.now()
    assert [entry.label for entry in together.transcript] == [entry.label for entry in alone.transcript]


@given(groups=GROUPS, left=LEFT, after=st.integers(1, 6))
def test_publication_midway_is_where_it_would_be(groups: list[list[Asked]], left: Usage, after: int) -> None:
    together, alone = universal(left, after), universal(left, after)
    for group in groups:
        assert together.ask_together(group) == one_by_one(alone, group)
    assert together.published == alone.published
    assert together.protocol.now() == alone.protocol.now()


def test_a_request_that_stops_does_not_stop_the_others() -> None:
    protocol = votes(Usage(None, 1))
    first, second, third = protocol.ask_together([Asked(rows(2, -1, 4)), Asked(rows(2, 5)), Asked(rows(-1))])
    assert ([reply.kind for reply in first.replies], first.stopped) == (["stable", "unstable"], "halted")
    assert ([reply.kind for reply in second.replies], second.stopped) == (["repeated"], "halted")
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
        with pytest.raises(ParameterError, match="book"):
            protocol.ask_together([asked])
        assert protocol.ask_together([]) == []
