"""A log in a ledger is the log in memory: the same answers and counts, whatever is asked, and the same exact laws."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.audit.exact.adversary import conversations
from pcqr.audit.exact.cases.mechanisms import (
    ONE_SIDED,
    PAPER,
    QUERIES,
    TWICE,
    UNANIMOUS,
    VotesSession,
    ag_priv_cl_case,
    sub_samp_case,
)
from pcqr.audit.exact.cases.peers import noisy_max_case
from pcqr.audit.exact.cases.publication import DirectSession, UniversalSession, direct_case, unv_priv_cl_case
from pcqr.audit.exact.cases.tables import Place, replacing_the_last
from pcqr.audit.exact.verify import Case
from pcqr.durable.facts import State, append_answers, append_published
from pcqr.durable.ledger import create_ledger
from pcqr.durable.ledger.chain import Draft
from pcqr.durable.ledger.chain import Entry as Kept
from pcqr.durable.log import LedgerLog, move
from pcqr.errors import BudgetExhausted, OtherVersion
from pcqr.hypotheses import Stumps, Thresholds
from pcqr.hypotheses.thresholds import Threshold
from pcqr.mechanisms.noisy_max import ExponentialMax
from pcqr.privacy.entropy import Entropy, SeededEntropy
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Entry, MemoryLog
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.universal.run import UnvPrivCl


class Bytes:
    """A ledger in memory that keeps bytes alone, as a disk does."""

    is_read_only, place = False, "memory"

    def __init__(self) -> None:
        self.kept: list[Draft] = []
        self.state = b""

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Kept]:
        return {key: kept for kept in self.entries() for key in kept.each_key() if key in keys}

    def entries(self) -> Iterator[Kept]:
        return (Kept(0, draft.kind, draft.keys, draft.body, b"", None, draft.size) for draft in list(self.kept))

    @contextmanager
    def transaction(self) -> Iterator[_Turn]:
        transaction = _Turn(self)
        yield transaction
        self.kept += transaction.drafts
        self.state = transaction.state


class _Turn:
    seq = 0

    def __init__(self, ledger: Bytes) -> None:
        self.find, self.state = ledger.find, ledger.state
        self.drafts: list[Draft] = []

    def append(self, kind: str, body: bytes, *keys: bytes) -> None:
        self.drafts.append(Draft(kind, body, b"".join(keys), len(keys)))


class Branching(LedgerLog):
    """A log that the exact auditor may copy and go on with."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Branching:
        return Branching(copy.deepcopy(self.ledger, memo))


def started(remaining: Usage, ledger: Any = None) -> Any:
    """A ledger with the state of a release that has answered nothing yet."""
    ledger = Bytes() if ledger is None else ledger
    with ledger.transaction() as transaction:
        move(MemoryLog(), remaining, transaction)
    return ledger


class Scripted:
    """⊥ at negative points, else their parity. All that it remembers is `remaining`."""

    def __init__(self, remaining: Usage) -> None:
        self.remaining = remaining

    def counts(self, X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.round(X[:, :1]).astype(np.int64).repeat(2, axis=1)

    def decide(self, counts: np.ndarray[Any, Any]) -> int | None:
        vote, remaining = int(counts[0]), self.remaining
        self.remaining = Usage(
            None if remaining.queries is None else remaining.queries - 1, (remaining.unstable or 0) - (vote < 0)
        )
        return None if vote < 0 else vote % 2


@given(
    batches=st.lists(st.lists(st.integers(-4, 6), min_size=1, max_size=8), min_size=1, max_size=8),
    remaining=st.builds(Usage, st.one_of(st.none(), st.integers(1, 12)), st.integers(1, 4)),
)
def test_answers_and_counts_are_those_of_a_log_in_memory(batches: list[list[int]], remaining: Usage) -> None:
    ledger = started(remaining)
    in_memory = PrivClass(Scripted(remaining), 5, SeededEntropy(0))
    entropy = SeededEntropy(0)
    for batch in batches:
        table = np.array(batch, dtype=np.float64)[:, None]
        kept = PrivClass(Scripted(Usage(99, 99)), 5, entropy, LedgerLog(ledger))  # a new process each time
        assert in_memory.preview(table) == kept.preview(table)
        assert outcome(in_memory, table) == outcome(kept, table)
        assert in_memory.now() == kept.now()
        assert [(e.point.tolist(), e.label, e.coin) for e in in_memory.transcript] == [
            (e.point.tolist(), e.label, e.coin) for e in kept.transcript
        ]


def test_two_processes_count_from_the_ledger_and_not_from_what_they_have_seen() -> None:
    ledger = started(Usage(None, 2))
    first, second = (PrivClass(Scripted(Usage(None, 2)), 5, SeededEntropy(0), LedgerLog(ledger)) for _ in range(2))
    assert first.answer(np.array([[-1.0]])).remaining == Usage(None, 1)
    assert second.answer(np.array([[-2.0]])).remaining == Usage(None, 0)
    for online in (first, second):
        with pytest.raises(BudgetExhausted):
            online.answer(np.array([[1.0]]))


def outcome(online: PrivClass, table: np.ndarray[Any, Any]) -> object:
    try:
        return list(online.replies(table))
    except BudgetExhausted as halted:
        return str(halted), halted.answers


def test_a_turn_that_fails_leaves_no_trace_and_uses_nothing_up() -> None:
    class Breaks(Scripted):
        def decide(self, counts: np.ndarray[Any, Any]) -> int | None:
            label = super().decide(counts)
            if counts[0] == 3:
                raise KeyboardInterrupt
            return label

    ledger, remaining = started(Usage(None, 3)), Usage(None, 3)
    kept = PrivClass(Breaks(remaining), 5, SeededEntropy(0), LedgerLog(ledger))
    with pytest.raises(KeyboardInterrupt):
        list(kept.answers(np.array([[1.0], [-1.0], [-2.0], [3.0]])))
    assert kept.now() == (Usage(0, 0), remaining)
    assert not kept.transcript
    assert [answer.kind for answer in kept.answers(np.array([[-1.0], [1.0]]))] == ["unstable", "stable"]


@given(
    label=st.one_of(st.none(), st.integers(0, 126)),
    coin=st.integers(0, 126),
    asked=st.integers(0, 2**63),
    remaining=st.tuples(*(st.one_of(st.none(), st.integers(0, 2**62)) for _ in range(3))),
    published=st.booleans(),
)
def test_entries_and_states_have_one_length(
    label: int | None, coin: int, asked: int, remaining: tuple[int | None, ...], published: bool
) -> None:
    """What a turn writes must not depend on its answers."""
    transaction, point = _Turn(Bytes()), np.array([[1.5, -2.0]])
    keys = [(point + i).tobytes() for i in range(3)]
    entry = Entry(point, label, coin if label is None else None)
    append_answers(transaction, dict.fromkeys(keys, entry), dict.fromkeys(keys, bytes(32)))  # type: ignore[arg-type]
    assert len(transaction.drafts[0].body) == 3 * (2 + 16)
    state = State(Usage(asked, 3), Usage(*remaining), published)
    assert len(state.written()) == 58
    assert State.read(state.written()) == state


def test_a_published_classifier_takes_whole_pages() -> None:
    transaction = _Turn(Bytes())
    for hypothesis in (Threshold(0.5), Threshold(1 / 3)):
        append_published(transaction, hypothesis)  # type: ignore[arg-type]
    assert [len(draft.body) for draft in transaction.drafts] == [4_096] * 2


@pytest.mark.parametrize("state", [b"", bytes(58), b"\2" + bytes(57)])
def test_a_state_that_is_none_is_refused(state: bytes, tmp_path: Path) -> None:
    with create_ledger(tmp_path / "ledger", "release", tmp_path / "anchor") as ledger:
        with ledger.transaction() as transaction:
            transaction.state = state
            transaction.append("other", b"")
        with pytest.raises(OtherVersion, match="no state of a release that this pcqr reads"):
            LedgerLog(ledger).now(Scripted(Usage(1, 1)))


class KeptVotes(VotesSession):
    """Votes whose log is bytes. The labeller is made anew from its arrays before every question."""

    def __init__(self, labeller: Any, limit: int | None, entropy: Entropy, plan: VoteStage | NoisyMaxStage) -> None:
        super().__init__(labeller, QUERIES, limit, entropy)
        self._plan, self._entropy = plan, entropy
        self._arrays = labeller.arrays()
        self._protocol.log = Branching(started(labeller.remaining))

    def ask(self, query: Place) -> Hashable:
        make: Any = type(self._labeller)
        self._labeller = make.from_arrays(self._arrays, self._plan, self._entropy)
        self._protocol.labeller = self._labeller
        return super().ask(query)


class KeptUniversal(UniversalSession):
    def __init__(self, release: UnvPrivCl) -> None:
        super().__init__(release)
        release.protocol.log = Branching(started(release.protocol.remaining))


class KeptDirect(DirectSession):
    """A release by one draw, moved out of memory with its classifier."""

    def __init__(self, release: UnvPrivCl) -> None:
        super().__init__(release)
        ledger: Any = Bytes()
        with ledger.transaction() as transaction:
            move(release.protocol.log, release.protocol.remaining, transaction)  # type: ignore[arg-type]  # it is in memory
        release.protocol.log = Branching(ledger)


def laws(case: Case, keep: Callable[[Any, Entropy], Any], rounds: int) -> tuple[Any, Any]:
    """The exact laws of all conversations about two of the queries, in memory and kept."""
    table = case.neighbours[0][0]

    def start_kept(entropy: Entropy) -> Any:
        return keep(case.start(table, entropy), entropy)

    def start(entropy: Entropy) -> Any:
        return case.start(table, entropy)

    menu = case.menu[1:3]
    return conversations(start, menu, rounds, case.tape), conversations(start_kept, menu, rounds, case.tape)


def assert_equal_laws(case: Case, keep: Callable[[Any, Entropy], Any], rounds: int) -> None:
    in_memory, kept = laws(case, keep, rounds)
    assert len(in_memory.masses) > 1
    assert set(in_memory.masses) == set(kept.masses)
    for history, mass in in_memory.masses.items():
        assert kept.masses[history] == pytest.approx(mass, rel=1e-12, abs=1e-300)


NEIGHBOURS = replacing_the_last((UNANIMOUS, UNANIMOUS), ((0.0, 1), (2.0, 0)))
VOTES = {
    "one-sided": (sub_samp_case, VoteStage(3, 3, 3, None, ONE_SIDED)),
    "two unstable": (sub_samp_case, VoteStage(3, 3, 3, None, TWICE)),
    "paper": (sub_samp_case, VoteStage(3, 3, 3, None, PAPER)),
    "relabelled": (ag_priv_cl_case, VoteStage(3, 3, 3, 0.5, ONE_SIDED)),
}


@pytest.mark.parametrize("which", VOTES)
def test_the_exact_law_of_every_conversation_is_that_of_a_release_in_memory(which: str) -> None:
    make, plan = VOTES[which]
    case = make(Thresholds(), plan, NEIGHBOURS, 2)

    def keep(session: Any, entropy: Entropy) -> KeptVotes:
        return KeptVotes(session._labeller, plan.sparse_vector.queries, entropy, plan)

    assert_equal_laws(case, keep, 2)


def test_the_exact_law_of_noisy_votes_is_that_of_a_release_in_memory() -> None:
    plan = NoisyMaxStage(3, 3, 2, ExponentialMax(0.5))
    case = noisy_max_case(plan.noise, plan.queries, NEIGHBOURS)

    def keep(session: Any, entropy: Entropy) -> KeptVotes:
        return KeptVotes(session._labeller, plan.queries, entropy, plan)

    assert_equal_laws(case, keep, 3)


def test_the_exact_law_of_answers_by_one_draw_is_that_of_a_release_in_memory() -> None:
    case = direct_case(Stumps(cuts=(0.5, 1.5)), DrawStage(0.5), NEIGHBOURS)
    assert_equal_laws(case, lambda session, _: KeptDirect(session._release), 2)


def test_the_exact_law_of_a_publication_is_that_of_a_release_in_memory() -> None:
    case = unv_priv_cl_case(Thresholds(), VoteStage(3, 3, 3, 0.5, ONE_SIDED), DrawStage(1.0, 1), NEIGHBOURS, 2)
    assert_equal_laws(case, lambda session, _: KeptUniversal(session._release), 2)
