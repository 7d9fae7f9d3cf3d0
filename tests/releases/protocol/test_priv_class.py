"""The protocol owns the transcript: what it shows is a function of the answers alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.releases import Forbidden, ScriptedEntropy

from pcqr.data.records import InMemory
from pcqr.errors import BudgetExhausted
from pcqr.hypotheses import Thresholds
from pcqr.hypotheses.base import Points
from pcqr.mechanisms.sparse_vector import PaperSparseVector
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.protocol.answers import Answer, Usage
from pcqr.releases.protocol.log import Asked
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.subsample.run import sub_samp


class Scripted:
    """A labeller whose "votes" are the first coordinate of a point, rounded: ⊥ where that is negative."""

    def __init__(self, unstable: int | None, queries: int | None = None, labels: int = 2) -> None:
        self.remaining = Usage(queries, unstable)
        self.labels = labels
        self.decided = 0

    def counts(self, X: Points) -> NDArray[np.int64]:
        return np.round(X[:, :1]).astype(np.int64).repeat(self.labels, axis=1)

    def decide(self, counts: NDArray[np.int64]) -> int | None:
        assert not self.remaining.is_nothing, "a halted labeller was asked"
        return self.answer_to(int(counts[0]))

    def answer_to(self, vote: int) -> int | None:
        self.decided += 1
        queries, unstable = self.remaining.queries, self.remaining.unstable
        self.remaining = Usage(
            None if queries is None else queries - 1, None if unstable is None else unstable - (vote < 0)
        )
        return None if vote < 0 else vote % self.labels


class Counting(Scripted):
    """Remembers every row whose votes it was asked for."""

    def __init__(self, unstable: int | None) -> None:
        super().__init__(unstable)
        self.counted: list[float] = []

    def counts(self, X: Points) -> NDArray[np.int64]:
        self.counted += X[:, 0].tolist()
        return super().counts(X)


class Untouchable:
    """A labeller of which only the public count may be read."""

    remaining = Usage(None, 2)

    def counts(self, X: Points) -> NDArray[np.int64]:
        raise AssertionError(f"votes on {X.shape[0]} rows were counted")

    def decide(self, counts: NDArray[np.int64]) -> int | None:
        raise AssertionError(f"a decision was asked for ({counts})")


def protocol(unstable: int | None = 2, queries: int = 5, *, hard_stop: bool = False) -> tuple[Scripted, PrivClass]:
    labeller = Scripted(unstable, queries if hard_stop else None)
    return labeller, PrivClass(labeller, queries, SeededEntropy(0))


def point(value: float) -> Points:
    return np.array([[value]])


@given(st.lists(st.integers(-3, 4), max_size=12), st.integers(0, 2))
def test_a_query_gets_what_a_request_of_one_row_gets(values: list[int], unstable: int) -> None:
    """Coins and counts included, up to the same refusal."""
    (_, single), (_, batched) = protocol(unstable), protocol(unstable)
    for value in map(point, values):
        (answered,) = batched.ask_together([Asked(value)])
        if answered.stopped is None:
            assert [single.reply(value)] == answered.replies
        else:
            with pytest.raises(BudgetExhausted):
                single.reply(value)
    assert repr(single.transcript) == repr(batched.transcript)


def test_a_hard_stop_refuses_the_query_after_the_last() -> None:
    _, online = protocol(queries=3, hard_stop=True)
    for value in (1.0, 2.0, 3.0):
        online.answer(point(value))
    assert online.remaining.queries == 0
    assert online.answer(point(2.0)).kind == "repeated"
    with pytest.raises(BudgetExhausted):
        online.answer(point(4.0))


def test_the_last_unstable_answer_is_given_and_nothing_after_it() -> None:
    labeller, online = protocol(unstable=1)
    assert online.answer(point(-1.0)).label is None
    assert online.is_exhausted
    with pytest.raises(BudgetExhausted):
        online.answer(point(1.0))
    assert labeller.decided == 1


@given(values=st.lists(st.integers(-3, 3), min_size=1, max_size=30), unstable=st.integers(1, 4))
def test_a_batch_is_the_same_as_one_query_at_a_time(values: list[int], unstable: int) -> None:
    table = np.array(values, dtype=np.float64)[:, None]
    _, together = protocol(unstable)
    _, one_by_one = protocol(unstable)
    batch: list[Answer[int]] = []
    single: list[Answer[int]] = []
    try:
        batch.extend(together.answers(table))
    except BudgetExhausted as halted:
        batch = list(halted.answers)
    try:
        for row in table:
            single.append(one_by_one.answer(row[None, :]))
    except BudgetExhausted:
        pass
    assert batch == single


@given(values=st.lists(st.integers(-3, 3), min_size=1, max_size=60), unstable=st.integers(1, 4))
def test_the_counts_follow_from_the_transcript(values: list[int], unstable: int) -> None:
    labeller, online = protocol(unstable)
    asked: set[int] = set()
    for value in values:
        try:
            answer = online.answer(point(value))
        except BudgetExhausted:
            assert value not in asked
            continue
        assert (answer.kind == "repeated") == (value in asked)
        asked.add(value)
        negatives = sum(v < 0 for v in asked)
        assert (answer.spent.queries, answer.spent.unstable) == (len(asked), negatives)
        assert answer.remaining.unstable == unstable - negatives
    assert labeller.decided == len(asked)
    assert len(online.transcript) == len(asked)


def test_a_repeated_query_counts_no_vote() -> None:
    labeller = Counting(unstable=5)
    online = PrivClass(labeller, 9, SeededEntropy(0))
    asked = [online.answer(point(value)) for value in (1.0, -2.0, 0.0)]
    labeller.counts = Untouchable().counts  # type: ignore[method-assign]
    again = [online.answer(point(value)) for value in (1.0, -2.0, -0.0)]
    assert [answer.kind for answer in again] == ["repeated"] * 3
    assert [answer.label for answer in again] == [answer.label for answer in asked]
    assert [answer.kind for answer in online.answers(np.array([[0.0], [1.0]]))] == ["repeated"] * 2


@given(
    before=st.lists(st.integers(-3, 6), max_size=10),
    values=st.lists(st.integers(-3, 600), min_size=1, max_size=300),
)
def test_a_batch_counts_its_new_rows_alone_and_each_once(before: list[int], values: list[int]) -> None:
    labeller = Counting(unstable=99)
    online = PrivClass(labeller, 9, SeededEntropy(0))
    for value in before:
        online.answer(point(value))
    labeller.counted.clear()
    list(online.answers(np.array(values, dtype=np.float64)[:, None]))
    assert labeller.counted == [value for value in dict.fromkeys(values) if value not in before]


def test_a_halted_release_counts_no_vote() -> None:
    labeller = Counting(unstable=1)
    online = PrivClass(labeller, 9, SeededEntropy(0))
    online.answer(point(-1.0))
    labeller.counts = Untouchable().counts  # type: ignore[method-assign]
    with pytest.raises(BudgetExhausted) as caught:
        list(online.answers(np.array([[-1.0], [-1.0], [2.0], [-1.0]])))
    assert [answer.kind for answer in caught.value.answers] == ["repeated"] * 2


def test_the_rows_of_a_block_are_decided_in_one_turn_and_given_one_by_one() -> None:
    """Whoever asks meanwhile finds in the log what has not been given yet."""
    labeller = Counting(unstable=5)
    online = PrivClass(labeller, 9, SeededEntropy(0))
    batch = online.answers(np.array([[1.0], [2.0]]))
    assert next(batch).kind == "stable"
    assert online.answer(point(2.0)).kind == "repeated"
    assert next(batch).kind == "stable"
    assert (labeller.decided, online.asked) == (2, 2)


def test_a_batch_that_is_broken_off_leaves_what_was_decided_in_the_log() -> None:
    class Breaks(Counting):
        def decide(self, counts: NDArray[np.int64]) -> int | None:
            if counts[0] == 3:
                raise KeyboardInterrupt
            return super().decide(counts)

    labeller = Breaks(unstable=5)
    online = PrivClass(labeller, 9, SeededEntropy(0))
    with pytest.raises(KeyboardInterrupt):
        list(online.answers(np.array([[1.0], [-2.0], [3.0], [4.0]])))
    assert [entry.label for entry in online.transcript] == [1, None]
    assert online.spent == Usage(2, 1)
    labeller.counted.clear()
    assert [answer.kind for answer in online.answers(np.array([[-2.0], [4.0], [1.0]]))] == [
        "repeated",
        "stable",
        "repeated",
    ]
    assert labeller.counted == [4.0]


def test_a_preview_touches_neither_votes_nor_noise() -> None:
    online = PrivClass(Untouchable(), 5, Forbidden())
    told = online.preview(np.array([[1.0], [2.0], [1.0], [3.0]]), 0.1)
    assert (told.requested, told.new, told.repeated, told.certain) == (4, 3, 1, 3)
    assert told.remaining.unstable == 2
    assert online.asked == 0


@given(
    before=st.lists(st.integers(-3, 6), max_size=10),
    values=st.lists(st.integers(-3, 6), min_size=1, max_size=20),
    unstable=st.integers(1, 4),
    hard_stop=st.booleans(),
)
def test_a_preview_is_kept(before: list[int], values: list[int], unstable: int, hard_stop: bool) -> None:
    """Whatever was asked before, the batch then does what was said of it."""
    _, online = protocol(unstable, queries=6, hard_stop=hard_stop)
    for value in before:
        try:
            online.answer(point(value))
        except BudgetExhausted:
            break
    table = np.array(values, dtype=np.float64)[:, None]
    asked, told = online.asked, online.preview(table)
    assert told.remaining == online.remaining
    try:
        answers, is_whole = list(online.answers(table)), True
    except BudgetExhausted as halted:
        answers, is_whole = list(halted.answers), False
    assert len(answers) >= told.certain
    assert is_whole or not told.is_certain
    assert not (is_whole and told.is_refused)
    if is_whole:
        assert sum(answer.kind == "repeated" for answer in answers) == told.repeated
        assert online.asked - asked == told.new
        assert max(0, online.asked - 6) - max(0, asked - 6) == told.beyond_plan
    assert online.preview(table[: len(answers)]).new == 0


@pytest.mark.parametrize(
    ("queries", "reason", "remaining"),
    [
        (None, "the unstable answers are used up", "Remaining: 0 unstable answers."),
        (1, "the planned queries are used up", "Remaining: 0 queries and 1 unstable answer."),
    ],
)
def test_a_refusal_separates_spent_requested_and_left(queries: int | None, reason: str, remaining: str) -> None:
    _, online = protocol(2 if queries else 1, queries or 5, hard_stop=queries is not None)
    with pytest.raises(BudgetExhausted) as caught:
        list(online.answers(np.array([[-1.0], [2.0], [3.0]])))
    assert str(caught.value).startswith(
        f"The release is exhausted: {reason}. Spent: 1 query and 1 unstable answer. "
        "Requested: 2 more queries (1 before them was answered: see .answers). "
    )
    assert remaining in str(caught.value)


def test_the_coin_for_an_unstable_answer_is_a_fresh_fair_bit() -> None:
    """⊥ shown as a label must not favour one: the coin is the parity of a word of the source, and kept for ⊥ alone."""
    entropy = ScriptedEntropy(7, 0, 4, 1, 1)
    online = PrivClass(Scripted(5), 9, entropy)
    for value in (-1.0, 2.0, -2.0, -2.0, 3.0, -3.0):
        online.answer(point(value))
    assert [entry.coin for entry in online.transcript] == [1, None, 0, None, 1]
    assert not entropy.remaining


def test_with_more_labels_the_coin_is_any_of_them() -> None:
    entropy = ScriptedEntropy(7, 0, 4, 2, 2)
    online = PrivClass(Scripted(5, labels=3), 9, entropy)
    labels = [online.answer(point(value)).label for value in (-1.0, 2.0, -2.0, 4.0, -3.0)]
    assert labels == [None, 2, None, 1, None]
    assert [entry.coin for entry in online.transcript] == [1, None, 1, None, 2]


def test_where_no_answer_can_be_unstable_the_queries_alone_are_counted() -> None:
    _, online = protocol(None, 2, hard_stop=True)
    assert online.remaining == Usage(2, None)
    told = online.preview(np.array([[1.0], [2.0], [3.0]]), 0.5)
    assert (told.certain, told.expected_unstable, told.chance_of_halting) == (2, 0.0, 1.0)
    assert [online.answer(point(value)).remaining for value in (1.0, 2.0)] == [Usage(1, None), Usage(0, None)]
    assert online.spent == Usage(2, 0)
    with pytest.raises(BudgetExhausted, match=r"the planned queries are used up.*Remaining: 0 queries\."):
        online.answer(point(3.0))


def test_a_decision_that_is_broken_off_counts_against_the_hard_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sparse vector has counted it: a protocol that counts its log would promise a query more than there is."""
    X = np.random.default_rng(0).random((300, 1))
    vector = PaperSparseVector(threshold=3, scale=0.5, unstable=2, queries=2, slack=1e-6)
    plan = VoteStage(300, 300, 31, None, vector)
    votes = sub_samp(Thresholds(), InMemory(X, (X[:, 0] > 0.5).astype(np.int8)), plan, SeededEntropy(0))
    online = PrivClass(votes, 2, SeededEntropy(0))

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(PaperSparseVector, "query_noise", interrupted)
        with pytest.raises(KeyboardInterrupt):
            online.answer(point(0.1))
    assert online.asked == 0
    assert online.answer(point(0.9)).remaining.queries == 0
    with pytest.raises(BudgetExhausted):
        online.answer(point(0.2))


def test_a_halted_release_asks_its_labeller_nothing_more() -> None:
    """The labeller here would go on for ever: that c and a hard stop hold is the protocol's own doing."""

    class Endless(Scripted):
        def decide(self, counts: NDArray[np.int64]) -> int | None:
            return self.answer_to(int(counts[0]))

    for unstable, queries, values in ((2, None, [-1.0, -2.0]), (2, 2, [1.0, 2.0]), (None, 2, [1.0, 2.0])):
        labeller = Endless(unstable, queries)
        online = PrivClass(labeller, 9, SeededEntropy(0))
        for value in values:
            assert not online.is_exhausted
            online.answer(point(value))
        assert online.is_exhausted
        for value in (5.0, -5.0):
            with pytest.raises(BudgetExhausted):
                online.answer(point(value))
        assert labeller.decided == online.asked == 2
        assert online.answer(point(values[0])).kind == "repeated"


def test_without_a_hard_stop_the_plan_does_not_halt() -> None:
    _, online = protocol(queries=1)
    assert not online.answer(point(1.0)).beyond_plan
    assert online.answer(point(2.0)).beyond_plan
    assert online.remaining.queries is None


def test_a_logged_query_is_not_the_callers_array() -> None:
    _, online = protocol()
    x = point(1.0)
    online.answer(x)
    x[:] = 7.0
    assert online.transcript[0].point.tolist() == [[1.0]]
