"""A cautious release: what a crash breaks off was announced, and counts as unstable."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kept import ESTIMATORS, HARD, QUERIES, fitted, in_a_fork, reopened

from pcqr.durable.facts import NOTHING, State
from pcqr.durable.ledger import create_ledger
from pcqr.durable.log import LedgerLog, move
from pcqr.errors import BudgetExhausted, ParameterError
from pcqr.privacy.entropy import SystemEntropy
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import MemoryLog
from pcqr.releases.protocol.online import PrivClass

Table = np.ndarray[Any, Any]
VOTES = sorted(set(ESTIMATORS) - {"universal"})


def saved(folder: Path, name: str = "agnostic") -> Any:
    return fitted(name).save(folder / "release", anchor=folder / "anchor", cautious=True)


@pytest.mark.parametrize("name", VOTES)
def test_without_crashes_it_answers_and_counts_as_any_other(name: str, tmp_path: Path) -> None:
    release = saved(tmp_path, name)
    first = [(answer.label, answer.kind) for answer in release.answers(QUERIES[:6])]
    assert [label for label, _ in first] == [release.answer(x).label for x in QUERIES[:6]]
    assert release.queries_answered_ == 6
    unstable = sum(kind == "unstable" for _, kind in first)
    assert release.unstable_answers_ == unstable
    release.close()
    again = reopened(tmp_path)
    assert again.queries_answered_ == 6
    assert {again.answer(x).kind for x in QUERIES[:6]} == {"repeated"}
    assert again._votes.log.state.announced == NOTHING
    again.close()


@pytest.mark.parametrize("time", [1, 2])
@pytest.mark.parametrize("point", ["entries written", "committed"])
def test_what_is_killed_before_its_second_commit_is_unstable_for_ever(point: str, time: int, tmp_path: Path) -> None:
    """The first turn announces, the second decides."""
    saved(tmp_path).close()
    T = reopened(tmp_path, read_only=True).unstable_remaining_
    rows = QUERIES[:2]
    assert len(rows) < T
    assert in_a_fork(lambda: reopened(tmp_path).predict(rows), killed_at=point, time=time) == -9
    release = reopened(tmp_path)
    answers = list(release.answers([*rows, *QUERIES[2:4]]))
    if (point, time) == ("entries written", 1):  # not even announced
        assert [answer.kind for answer in answers[:2]] != ["repeated"] * 2
    elif (point, time) == ("committed", 2):
        assert [answer.kind for answer in answers[:2]] == ["repeated"] * 2
        assert release.unstable_remaining_ == T - release.unstable_answers_
    else:
        assert [(answer.label, answer.kind) for answer in answers[:2]] == [(None, "repeated")] * 2
        assert release.unstable_answers_ >= 2
        assert release.unstable_remaining_ == T - release.unstable_answers_
    assert release.queries_answered_ == 4
    release._votes.log.ledger.verify()
    release.close()


def test_a_batch_larger_than_what_is_left_halts_the_release(tmp_path: Path) -> None:
    saved(tmp_path).close()
    T = reopened(tmp_path, read_only=True).unstable_remaining_
    assert in_a_fork(lambda: reopened(tmp_path).predict(QUERIES), killed_at="entries written", time=2) == -9
    assert len(QUERIES) > T
    release = reopened(tmp_path)
    with pytest.raises(BudgetExhausted):
        release.answer(HARD[0])
    assert (release.unstable_answers_, release.unstable_remaining_) == (T, 0)
    release.close()


def test_rows_that_were_settled_are_not_announced_again_and_a_second_crash_settles_the_others(tmp_path: Path) -> None:
    saved(tmp_path).close()
    for rows in (QUERIES[:1], QUERIES[:2]):
        assert in_a_fork(lambda rows=rows: reopened(tmp_path).predict(rows), killed_at="entries written", time=2) == -9  # type: ignore[misc]
    release = reopened(tmp_path)
    assert [(answer.label, answer.kind) for answer in release.answers(QUERIES[:2])] == [(None, "repeated")] * 2
    assert release.unstable_answers_ == release.queries_answered_ == 2
    release.close()


class Counted:
    """⊥ at negative points, broken off at points of 5 and more. Remembers how often it has ever said ⊥."""

    def __init__(self, remaining: Usage, said: list[int]) -> None:
        self.remaining, self.said = remaining, said

    def counts(self, X: Table) -> Table:
        return np.round(X[:, :1]).astype(np.int64).repeat(2, axis=1)

    def decide(self, counts: Table) -> int | None:
        vote, remaining = int(counts[0]), self.remaining
        if vote >= 5:
            raise KeyboardInterrupt
        assert remaining.unstable is not None
        self.remaining = Usage(None, remaining.unstable - (vote < 0))
        if vote < 0:
            self.said.append(vote)
        return None if vote < 0 else vote % 2


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(-9, 6), min_size=1, max_size=6), min_size=1, max_size=8),
    st.integers(1, 4),
    st.booleans(),
)
def test_even_turns_that_are_broken_off_say_no_more_than_t_times_that_something_is_unstable(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], unstable: int, restarts: bool
) -> None:
    folder, remaining, said = tmp_path_factory.mktemp("cautious"), Usage(None, unstable), list[int]()
    with create_ledger(folder / "ledger", "release", folder / "anchor") as ledger:
        with ledger.transaction() as transaction:
            move(MemoryLog(), remaining, transaction, is_cautious=True)
        log = LedgerLog(ledger)
        for batch in batches:
            log = LedgerLog(ledger) if restarts else log
            protocol = PrivClass(Counted(remaining, said), 99, SystemEntropy(), log)
            with suppress(KeyboardInterrupt, BudgetExhausted):
                list(protocol.answers(np.array(batch, dtype=np.float64)[:, None]))
        state = log.state
        assert len(said) <= unstable
        assert (state.spent.unstable or 0) + (state.remaining.unstable or 0) <= unstable
        assert state.is_cautious


def test_a_state_comes_back_whole() -> None:
    for state in (
        State(Usage(3, 1), Usage(None, 2), False, True, b"0123456789abcdef"),
        State(Usage(0, 0), Usage(5, None), True),
    ):
        assert State.read(state.written()) == state


def test_where_it_cannot_be_kept_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="universal"):
        saved(tmp_path, "universal")
    with pytest.raises(ParameterError, match="several processes"):
        fitted().save(tmp_path / "release", anchor=tmp_path / "anchor", ledger="postgresql://u@h/d", cautious=True)
    assert not (tmp_path / "release").exists()
