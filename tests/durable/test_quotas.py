"""The book: quotas and tokens hold over requests, groups, kills and processes, and are written with the answers."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, bindparam, event, select
from support.asking import GROUPS, LEFT, one_by_one, rows, started, universal, votes
from support.kept import QUERIES, fitted, in_a_fork, kept, reopened
from support.ledgers import Shelf

from pcqr import ParameterError
from pcqr.durable.ledger import Ledger
from pcqr.durable.ledger.store import REQUESTS, TURN, watched
from pcqr.durable.log import LedgerLog
from pcqr.durable.quotas import TOKEN_SECONDS, History, QuotaTable
from pcqr.errors import ReleaseError
from pcqr.hypotheses.thresholds import Threshold
from pcqr.releases.protocol.answers import Usage, keys
from pcqr.releases.protocol.log import Answered, Asked
from pcqr.releases.universal import run as unv_priv_cl
from pcqr.releases.universal.run import UnvPrivCl

FREE = Usage(None, None)
numbers = itertools.count()


@pytest.fixture
def ledger(shelf: Shelf) -> Iterator[Ledger]:
    with shelf.create() as made:
        yield made


def kinds(outcome: Answered[int]) -> list[str]:
    return [reply.kind for reply in outcome.replies]


def some(shelf: Shelf, examples: int) -> settings:
    """Fewer examples where each takes longer."""
    size = examples if "postgres" not in shelf.place() else examples // 3
    return settings(max_examples=size, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("after", [None, 4], ids=["votes", "universal"])
def test_requests_together_are_requests_one_after_the_other(
    after: int | None, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unv_priv_cl, "sspp", lambda *_: Threshold(1.5))

    @some(shelf, 18)
    @given(groups=GROUPS, remaining=LEFT)
    def check(groups: list[list[Asked]], remaining: Usage) -> None:
        name = f"n{next(numbers)}"
        anchors = (shelf.folder / f"{name} {side}" for side in "ab")
        ledgers = []
        for side, anchor in zip("ab", anchors, strict=True):
            shelf.anchor = anchor
            ledgers.append(shelf.create(name + side))
        books = [QuotaTable(each, lambda: 1_000_000) for each in ledgers]
        together, alone = (
            votes(remaining, started(remaining, each))
            if after is None
            else universal(remaining, after, started(remaining, each))
            for each in ledgers
        )
        for group in groups:
            assert together.ask_together(group, books[0]) == one_by_one(alone, group, books[1])
        assert books[0].usages() == books[1].usages()
        for asker in ("ann", "bob", None):
            outcome, expected = (quota_table.answers(asker) for quota_table in books)
            assert [(*line[:3], *line[4:]) for line in outcome] == [(*line[:3], *line[4:]) for line in expected]
        used = books[0].usages()
        assert used.get("ann", Usage(0, 0)).queries <= 4  # type: ignore[operator]
        assert used.get("bob", Usage(0, 0)).unstable <= 1  # type: ignore[operator]
        asked = (together.protocol if isinstance(together, UnvPrivCl) else together).asked
        shared = all(each.is_shared for group in groups for each in group)
        assert not shared or sum(each.queries or 0 for each in used.values()) == asked
        untimed, history = History().look(books[0])
        assert (untimed, history[-1].queries if history else 0) == (Usage(0, 0), asked)
        assert books[0].history() == books[1].history() == history
        for each in ledgers:
            each.close()

    check()


def test_an_allowance_holds_over_requests_of_one_group_and_of_many(ledger: Ledger) -> None:
    protocol, quota_table = votes(Usage(None, 9), started(Usage(None, 9), ledger)), QuotaTable(ledger)
    ann, bob = Usage(3, None), Usage(None, 1)
    outcome = protocol.ask_together(
        [
            Asked(rows(1, 2), "ann", ann),
            Asked(rows(1, 3, 4, 5), "ann", ann),
            Asked(rows(4, -1, 6), "bob", bob),
            Asked(rows(-1, 1, 2, 3), "ann", ann),
        ],
        quota_table,
    )
    assert [(kinds(each), each.stopped) for each in outcome] == [
        (["stable"] * 2, None),
        (["repeated", "stable"], "quota"),
        (["stable", "unstable"], "quota"),
        (["repeated"] * 4, None),
    ]
    assert quota_table.usages() == {"ann": Usage(3, 0), "bob": Usage(2, 1)}
    assert quota_table.usage("ann") == Usage(3, 0)
    assert quota_table.usage("nobody") == Usage(0, 0)
    (again,) = protocol.ask_together([Asked(rows(8), "ann", Usage(4, None))], quota_table)
    assert kinds(again) == ["stable"], "an allowance can be raised"
    (other,) = protocol.ask_together([Asked(rows(9), "ann", Usage(4, None))], quota_table)
    assert (kinds(other), other.stopped) == ([], "quota")


def test_what_others_have_asked_is_new_to_an_asker_who_shares_nothing(ledger: Ledger) -> None:
    """It gets the logged answers, within its own allowance, and nothing tells it that they were in the log."""
    protocol, quota_table = votes(Usage(None, 9), started(Usage(None, 9), ledger)), QuotaTable(ledger)
    (anns,) = protocol.ask_together([Asked(rows(1, -1, 2), "ann")], quota_table)
    end = ledger.last

    def bob(*values: float, most: int = 2, token: bytes | None = None) -> Asked:
        return Asked(rows(*values), "bob", Usage(most, None), token, is_shared=False)

    these = keys(rows(1, -1, 2))
    assert (quota_table.asked_before(bob(1), these), quota_table.quota(bob(1))) == (set(), Usage(2, None))
    assert len(quota_table.asked_before(Asked(rows(1), "bob"), these)) == 3, "who shares sees what is in the log"
    (outcome,) = protocol.ask_together([bob(1, -1, 1, 2, token=b"t")], quota_table)
    assert (kinds(outcome), outcome.stopped) == (["stable", "unstable", "repeated"], "quota")
    assert [reply[:2] for reply in outcome.replies[:2]] == [reply[:2] for reply in anns.replies[:2]], "decided once"
    assert ledger.last == end, "and nothing of it is in the chain again"
    assert (protocol.asked, protocol.unstable) == (3, 1)
    assert quota_table.usages() == {"ann": Usage(3, 1), "bob": Usage(2, 1)}
    assert (quota_table.asked_before(bob(1), these), quota_table.quota(bob(1))) == (set(these[:2]), Usage(0, None))
    protocol = votes(Usage(None, 9), LedgerLog(ledger))
    again, free, more = protocol.ask_together(
        [bob(1, -1, 1, 2, token=b"t"), bob(-1, 1), bob(2, 3, most=4)], quota_table
    )
    assert (again.replies, again.stopped, again.is_replay) == (outcome.replies, "quota", True)
    assert kinds(free) == ["repeated"] * 2
    assert kinds(more) == ["stable"] * 2
    assert quota_table.usage("bob") == Usage(4, 1)
    assert [(line.point.item(), line.kind) for line in quota_table.answers("bob")] == [
        (1.0, "stable"),
        (-1.0, "unstable"),
        (2.0, "stable"),
        (3.0, "stable"),
    ]
    assert [(line.asker, line.point.item()) for line in quota_table.answers(None)] == [
        *(("ann", 1.0), ("ann", -1.0), ("ann", 2.0)),
        ("bob", 3.0),
    ]
    untimed, history = History().look(quota_table)
    assert (untimed, history[-1].queries, history[-1].unstable) == (Usage(0, 0), 4, 1), "each query once"


def test_a_token_gets_the_same_reply_and_another_request_none(ledger: Ledger) -> None:
    protocol, quota_table = votes(Usage(None, 2), started(Usage(None, 2), ledger)), QuotaTable(ledger)
    asked = Asked(rows(1, -1, -2, 3), "ann", FREE, b"token")
    (first,) = protocol.ask_together([asked], quota_table)
    assert (kinds(first), first.stopped, first.is_replay) == (["stable", "unstable", "unstable"], "exhausted", False)
    protocol = votes(Usage(None, 2), LedgerLog(ledger))
    same, reused, others = protocol.ask_together(
        [asked, Asked(rows(7), "ann", FREE, b"token"), Asked(rows(1), "bob", FREE, b"token")], quota_table
    )
    assert (same.replies, same.stopped, same.is_replay) == (first.replies, "exhausted", True)
    assert (list(reused.replies), reused.stopped) == ([], "reused")
    assert kinds(others) == ["repeated"]


def test_a_reply_that_is_made_anew_from_the_log_is_the_first_one_to_the_last_count(ledger: Ledger) -> None:
    """Rows that others had asked, rows that come twice, rows beyond the plan, and counts after each of them."""
    protocol, quota_table = votes(Usage(20, 9), started(Usage(20, 9), ledger)), QuotaTable(ledger)
    protocol.ask_together([Asked(rows(1, -1), "bob")], quota_table)
    asked = Asked(rows(2, 1, -2, -2, -1, 2, 4, 6, -3), "ann", FREE, b"token")
    (first,) = protocol.ask_together([asked], quota_table)
    assert kinds(first) == ["stable", "repeated", "unstable", *["repeated"] * 3, "stable", "stable", "unstable"]
    assert [reply.is_beyond_plan for reply in first.replies] == [False] * 7 + [True] * 2
    protocol.ask_together([Asked(rows(8, -8), "bob")], quota_table)
    (again,) = protocol.ask_together([asked], quota_table)
    assert (list(again.replies), again.stopped, again.is_replay) == (list(first.replies), None, True)
    assert (protocol.spent, protocol.remaining) == (Usage(9, 4), Usage(11, 5))


def stored(ledger: Ledger) -> list[tuple[bytes, int]]:
    """The tokens that the book keeps, each with the bytes that are kept with it."""
    found = ledger.read(select(REQUESTS.c.token, REQUESTS.c.receipt).where(REQUESTS.c.ledger == bindparam("number")))
    return sorted((token, len(receipt)) for token, receipt in found)


def test_whoever_gets_nothing_new_has_nothing_stored_however_many_tokens_it_makes_up(ledger: Ledger) -> None:
    """Repeated rows are free. So are rows after the quota: neither may fill the disk."""
    protocol, quota_table = votes(Usage(None, 9), started(Usage(None, 9), ledger)), QuotaTable(ledger)
    most = Usage(3, None)
    protocol.ask_together([Asked(rows(1, -1, 2), "ann", most, b"first")], quota_table)
    kept_first = stored(ledger)
    reached: list[str] = []
    with watched(reached.append):
        for number in range(5):
            asked = [Asked(rows(*again), "ann", most, b"%d %d" % (number, len(again))) for again in ([1, -1, 2], [7])]
            repeated, refused = protocol.ask_together(asked, quota_table)
            assert kinds(repeated) == ["repeated"] * 3
            assert (kinds(refused), refused.stopped) == ([], "quota")
    assert "entries written" not in reached
    assert stored(ledger) == kept_first


def test_what_is_stored_with_a_token_does_not_grow_with_the_rows_of_its_request(ledger: Ledger) -> None:
    """One new row must not buy the place for ten thousand repeated ones."""
    protocol, quota_table = votes(Usage(None, 9), started(Usage(None, 9), ledger)), QuotaTable(ledger)
    protocol.ask_together([Asked(rows(1), "ann", FREE, b"short")], quota_table)
    protocol.ask_together([Asked(rows(*[1] * 5_000, 2), "ann", FREE, b"long")], quota_table)
    (long, size), (short, other) = stored(ledger)
    assert (long, short) == (b"long", b"short")
    assert size == other < 64


def test_tokens_expire_and_nothing_is_decided_twice(ledger: Ledger) -> None:
    now = 1_000_000
    protocol, quota_table = votes(Usage(None, 9), started(Usage(None, 9), ledger)), QuotaTable(ledger, lambda: now)
    asked = Asked(rows(1, -1), "ann", Usage(3, 2), b"token")
    (first,) = protocol.ask_together([asked], quota_table)
    now += TOKEN_SECONDS - 1
    (kept_still,) = protocol.ask_together([asked], quota_table)
    assert (kept_still.replies, kept_still.is_replay) == (first.replies, True)
    now += 1
    (later,) = protocol.ask_together([asked], quota_table)
    assert (kinds(later), later.is_replay) == (["repeated"] * 2, False)
    assert [(each.label, each.coin) for each in later.replies] == [(each.label, each.coin) for each in first.replies]
    assert (protocol.spent, quota_table.usage("ann")) == (Usage(2, 1), Usage(2, 1))
    assert stored(ledger) != [], "what is not written to is not looked through"
    (other,) = protocol.ask_together([Asked(rows(5), "ann", Usage(3, 2), b"token")], quota_table)
    assert kinds(other) == ["stable"], "the token is free again"
    assert [token for token, _ in stored(ledger)] == [b"token"]
    now += TOKEN_SECONDS
    protocol.ask_together([Asked(rows(7), "bob", FREE, b"another")], quota_table)
    assert [token for token, _ in stored(ledger)] == [b"another"], "those of everybody"
    assert protocol.spent == Usage(4, 1)


def test_a_request_that_a_publication_cut_in_two_gets_its_votes_again_and_the_rest_by_the_classifier(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unv_priv_cl, "sspp", lambda *_: Threshold(1.5))
    remaining = Usage(None, 9)
    protocol, quota_table = universal(remaining, 2, started(remaining, ledger)), QuotaTable(ledger)
    asked = Asked(rows(2, 2, 4, 6, 1), "ann", FREE, b"token")
    (first,) = protocol.ask_together([asked], quota_table)
    assert kinds(first) == ["stable", "repeated", "stable", "published", "published"]
    assert [reply.label for reply in first.replies] == [0, 0, 0, 1, 0], "the classifier says otherwise than the votes"
    before = stored(ledger)
    for _ in range(2):
        (again,) = protocol.ask_together([asked], quota_table)
        assert list(again.replies) == list(first.replies)
    (reused,) = protocol.ask_together([Asked(rows(9), "ann", FREE, b"token")], quota_table)
    assert (list(reused.replies), reused.stopped) == ([], "reused")
    for number in range(3):
        (published,) = protocol.ask_together([Asked(rows(2, 7), "ann", FREE, b"%d" % number)], quota_table)
        assert kinds(published) == ["published"] * 2
    assert stored(ledger) == before, "what is published costs nothing, and no place either"


def test_a_clock_that_goes_back_decides_nothing_twice(ledger: Ledger) -> None:
    times = iter([1_000_000, 5, 2_000_000])
    protocol, quota_table = (
        votes(Usage(None, 9), started(Usage(None, 9), ledger)),
        QuotaTable(ledger, lambda: next(times)),
    )
    asked = Asked(rows(1, -1), "ann", FREE, b"token")
    outcome = [protocol.ask_together([asked], quota_table)[0] for _ in range(3)]
    assert [[(each.label, each.coin) for each in one.replies] for one in outcome] == [[(1, None), (None, 0)]] * 3
    assert protocol.spent == Usage(2, 1)


def test_the_book_tells_who_was_told_what(ledger: Ledger) -> None:
    times = iter([100, 100, 205, 310])
    log = started(Usage(None, 9), ledger)
    protocol, quota_table = votes(Usage(None, 9), log), QuotaTable(ledger, lambda: next(times))
    assert quota_table.history() == []
    protocol.ask_together([Asked(rows(5))])
    for asked in ((1, -1), (1, 2)):
        protocol.ask_together([Asked(rows(*asked), "ann"), Asked(rows(asked[0], 5), "bob")], quota_table)
    protocol.ask_together([Asked(rows(-2))], quota_table)
    assert [
        (line.number, line.time, line.point.item(), line.label, line.kind) for line in quota_table.answers("ann")
    ] == [
        (1, 100, 1.0, 1, "stable"),
        (2, 100, -1.0, None, "unstable"),
        (3, 100, 2.0, 0, "stable"),
    ]
    bobs = [(line.number, line.point.item(), line.kind) for line in quota_table.answers("bob")]
    assert bobs == [(1, 1.0, "repeated"), (2, 5.0, "repeated")]
    everything = quota_table.answers(None)
    found = [(line.asker, line.time, line.point.item(), line.coin, line.kind) for line in everything]
    assert found == [
        (None, None, 5.0, None, "stable"),
        ("ann", 100, 1.0, None, "stable"),
        ("ann", 100, -1.0, 0, "unstable"),
        ("ann", 100, 2.0, None, "stable"),
        (None, 205, -2.0, 0, "unstable"),
    ]
    paged = [quota_table.answers(None, after=line.number, limit=1) for line in everything]
    assert [line for page in paged for line in page] != []
    assert [page[0].number for page in paged[:-1]] == [line.number for line in everything[1:]]
    assert paged[-1] == []
    assert [tuple(moment) for moment in quota_table.history()] == [(100, 4, 1), (205, 5, 2)]
    assert [tuple(moment) for moment in quota_table.history(buckets=1)] == [(205, 5, 2)]


def test_a_turn_with_nothing_new_to_record_writes_nothing(ledger: Ledger) -> None:
    protocol, quota_table = votes(Usage(None, 9), started(Usage(None, 9), ledger)), QuotaTable(ledger)
    protocol.ask_together([Asked(rows(1, -1), "ann", FREE, b"token")], quota_table)
    reached: list[str] = []
    with watched(reached.append):
        protocol.ask_together([Asked(rows(1, -1), "ann"), Asked(rows(1, -1), "ann", FREE, b"token")], quota_table)
        assert "committed" not in reached
        end = ledger.last
        protocol.ask_together([Asked(rows(1), "bob")], quota_table)
        assert "committed" in reached
        assert "anchor written" not in reached, "the chain is as it was"
    assert ledger.last == end


@given(answers=st.lists(st.sampled_from([2, 3, -1]), min_size=1, max_size=6))
def test_what_is_written_has_one_length_whatever_the_answers(answers: list[int]) -> None:
    """The rows of a turn, as they are handed to the database."""
    from pcqr.durable.quotas import QuotaRows

    class Noted:
        def __init__(self) -> None:
            self.rows: list[object] = []

        def read(self, *_: object, **__: object) -> tuple[()]:
            return ()

        def note(self, _: object, found: list[dict[str, object]]) -> None:
            self.rows += [
                [len(value) if isinstance(value, bytes) else value for value in row.values()] for row in found
            ]

    def written(values: list[int]) -> list[object]:
        transaction, asked = Noted(), Asked(rows(*range(len(values))), "ann", FREE, b"token")
        protocol = votes(Usage(None, 99))
        (outcome,) = protocol.ask_together(
            [Asked(rows(*(v * 10 + i * (1 if v > 0 else -1) for i, v in enumerate(values))))]
        )
        seqs = {bytes([i]): i for i in range(len(values))}
        page = QuotaRows(transaction, [asked], seqs, 5)  # type: ignore[arg-type]
        for key, reply in zip(seqs, outcome.replies, strict=True):
            page.answered(asked, key, reply.kind, is_logged=False)
        page.end(asked, list(seqs), outcome)
        page.write()
        return transaction.rows

    assert written(answers) == written([2] * len(answers))


@pytest.mark.parametrize("width", [1, 40, 5_000])
def test_a_long_batch_is_in_few_entries_of_limited_size_and_each_answer_has_its_place(files: Shelf, width: int) -> None:
    with files.create() as ledger:
        protocol, quota_table = votes(Usage(None, 999), started(Usage(None, 999), ledger)), QuotaTable(ledger)
        points = np.zeros((300, width))
        points[:, 0] = np.arange(-100, 200)
        protocol.ask_together([Asked(points, "ann")], quota_table)
        sizes = [entry.size for entry in ledger.entries() if entry.kind == "answers"]
        assert sum(sizes) == 300
        assert {1: 2, 40: 6, 5_000: 300}[width] == len(sizes)
        assert [entry.point[0, 0] for entry in protocol.transcript] == list(range(-100, 200))
        assert [line.point[0, 0] for line in quota_table.answers("ann", after=250)] == list(range(150, 200))
        last = quota_table.answers(None, limit=299)[-1].number
        assert [line.point[0, 0] for line in quota_table.answers(None, after=last)] == [199]
        found = protocol.log.find([row.tobytes() for row in points[::-7]])
        assert [entry.point[0, 0] for entry in found.values()] == list(range(199, -101, -7))
        assert [entry.label for entry in found.values()] == [n % 2 if n >= 0 else None for n in range(199, -101, -7)]


def test_a_book_belongs_to_its_release(files: Shelf) -> None:
    with pytest.raises(ReleaseError, match="Save it first"):
        fitted().quota_table()
    with files.create() as ledger:
        quota_table = QuotaTable(ledger)
        with pytest.raises(ParameterError, match="release in memory"):
            votes(Usage(None, 9)).ask_together([Asked(rows(1))], quota_table)
        protocol = votes(Usage(None, 9), started(Usage(None, 9), ledger))
        files.anchor = files.folder / "another anchor"
        with files.create("other") as other, pytest.raises(ParameterError, match=r"release\.quota_table"):
            protocol.ask_together([Asked(rows(1))], QuotaTable(other))
        assert protocol.asked == 0


@pytest.mark.parametrize("point", TURN)
def test_a_kill_leaves_answers_and_book_together_or_neither(point: str, tmp_path: Path) -> None:
    kept(tmp_path, "noisy max")

    def ask() -> None:
        release = reopened(tmp_path)
        asked = [
            Asked(release.points(QUERIES[i : i + 2]), "ann", Usage(5, None), b"token %d" % i) for i in range(0, 6, 2)
        ]
        bobs = Asked(release.points(QUERIES[:2]), "bob", is_shared=False)
        release.ask_together([*asked, bobs], release.quota_table())

    assert in_a_fork(ask, killed_at=point) == -signal.SIGKILL
    release = reopened(tmp_path)
    quota_table, is_there = release.quota_table(), TURN.index(point) >= TURN.index("committed")
    assert release.queries_answered_ == (5 if is_there else 0)
    assert quota_table.usage("ann") == Usage(release.queries_answered_, 0)
    assert quota_table.usage("bob") == (Usage(2, 0) if is_there else Usage(0, 0))
    assert len(quota_table.answers("bob")) == quota_table.usage("bob").queries
    (outcome,) = release.ask_together(
        [Asked(release.points(QUERIES[:2]), "ann", Usage(5, None), b"token 0")], quota_table
    )
    assert outcome.is_replay == is_there
    (outcome,) = release.ask_together([Asked(release.points(QUERIES[2:]), "ann", Usage(5, None))], quota_table)
    assert outcome.stopped == "quota"
    assert quota_table.usage("ann") == Usage(5, 0)
    assert len(quota_table.answers("ann")) == 5
    release.close()


def test_a_page_of_answers_costs_the_same_however_many_there_are(tmp_path: Path) -> None:
    """Counted in steps of SQLite's machine: a page that looked through all of the book would take minutes some day."""
    steps = itertools.count()
    kept(tmp_path)

    def watch(connection: Any, _: object) -> None:
        connection.set_progress_handler(lambda: next(steps) and 0, 100)

    event.listen(Engine, "connect", watch)
    try:
        release = reopened(tmp_path)
        quota_table, costs = release.quota_table(), []
        for start in (0.1, 0.11, 0.12, 0.13):
            points = np.linspace(start, start + 0.009, 500)[:, None]
            release.ask_together([Asked(points, "ann")], quota_table)
            before = next(steps)
            assert (
                len(quota_table.answers(None, after=5, limit=10))
                == len(quota_table.answers("ann", after=5, limit=10))
                == 10
            )
            costs.append(next(steps) - before)
        release.close()
    finally:
        event.remove(Engine, "connect", watch)
    assert costs[-1] < 2 * costs[0] + 20
