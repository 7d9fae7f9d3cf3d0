"""What every store promises: turns, keys, state, order, refusals."""

from __future__ import annotations

import copy
import os
import pickle
import threading

import pytest
from support.ledgers import Shelf, add, bodies
from support.unprivileged import in_a_process

from pcqr.durable.ledger import Ledger, opening
from pcqr.durable.ledger import store as points
from pcqr.errors import LedgerClosed, LedgerError, LedgerUnconfirmed, ParameterError


class Stop(Exception):
    """What tests raise at a named point of the order of writes."""


def stop_at(name: str) -> object:
    def watcher(point: str) -> None:
        if point == name:
            raise Stop

    return points.watched(watcher)


def test_entries_are_found_by_key_however_many(shelf: Shelf) -> None:
    keys = [b"%d" % number for number in range(1_234)]
    with shelf.create() as ledger:
        add(ledger, *keys)
        with ledger.transaction() as transaction:
            transaction.append("note", b"without a key")
        found = ledger.find([*keys, b"missing", keys[0]])
        assert {key: entry.body for key, entry in found.items()} == {key: key for key in keys}
        assert ledger.find([]) == {}
        with ledger.transaction() as transaction:
            assert transaction.find([b"7", b"missing"]) == {b"7": found[b"7"]}


def test_a_turn_sees_its_state_and_numbers_its_entries(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        with ledger.transaction() as transaction:
            assert (transaction.state, transaction.last.seq) == (b"", 0)
            assert [transaction.append("a", b""), transaction.append("a", b"")] == [1, 2]
            transaction.state = b"new"
            assert transaction.state == b"new"
            assert ledger.state == b""
        assert ledger.state == b"new"


def test_a_turn_that_raises_has_written_nothing(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        add(ledger, b"one", state=b"1")
        before = ledger.last
        with pytest.raises(ZeroDivisionError), ledger.transaction() as transaction:  # noqa: PT012
            transaction.append("answer", b"two", b"two")
            transaction.state = b"2"
            raise ZeroDivisionError
        assert (ledger.last, ledger.state, ledger.find([b"two"])) == (before, b"1", {})
        add(ledger, b"two", state=b"2")
    with shelf.open() as again:
        assert bodies(again) == [b"one", b"two"]


def test_an_empty_turn_leaves_no_entry_and_a_new_state_leaves_one(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        with ledger.transaction():
            pass
        assert ledger.last.seq == 0
        with ledger.transaction() as transaction:
            transaction.state = b"alone"
        assert [(entry.kind, entry.body) for entry in ledger.entries()] == [("state", b"")]
    with shelf.open() as again:
        assert again.state == b"alone"
        again.verify()


def test_a_key_is_given_once(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        add(ledger, b"secret-key")
        with pytest.raises(ParameterError, match="key must be one that no entry") as refusal:
            add(ledger, b"other", b"secret-key")
        assert "secret" not in str(refusal.value)
        with pytest.raises(ParameterError, match="key must be one that no entry"):
            add(ledger, b"same", b"same")
        assert bodies(ledger) == [b"secret-key"]
        add(ledger, b"other")


@pytest.mark.parametrize("size", [0, 1, 100_000, 3_000_000])
def test_bodies_keys_and_states_of_any_size_and_bytes(shelf: Shelf, size: int) -> None:
    content, key = bytes(range(256)) * (size // 256) + bytes(size % 256), b"\0\xff" * 16
    with shelf.create() as ledger:
        with ledger.transaction() as transaction:
            transaction.append("ключ ☃", content, key)
            transaction.state = content[:100_000]
        assert ledger.find([key])[key].body == content
    with shelf.open() as again:
        (entry,) = again.entries()
        assert (entry.kind, entry.body, entry.keys, again.state) == ("ключ ☃", content, key, content[:100_000])
        again.verify()


@pytest.mark.parametrize(
    ("kind", "body", "key"),
    [
        *((kind, b"", None) for kind in ("", "genesis", "adopted", "state", 7, "a\0b", "\ud800")),
        *(("a", body, None) for body in ("private text", None, bytearray(b"private"))),
        ("a", b"", "private text"),
    ],
)
def test_bad_entries_are_refused_without_a_word_of_what_they_hold(
    shelf: Shelf, kind: str, body: bytes, key: bytes | None
) -> None:
    with shelf.create() as ledger:
        with pytest.raises(ParameterError) as refusal, ledger.transaction() as transaction:
            transaction.append(kind, body, *([] if key is None else [key]))
        with pytest.raises(ParameterError) as second, ledger.transaction() as transaction:
            transaction.state = "private text"  # type: ignore[assignment]
        assert "private" not in str(refusal.value) + str(second.value)
        assert ledger.last.seq == 0


def test_a_turn_is_over_when_its_block_is(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        with ledger.transaction() as transaction:
            transaction.append("a", b"")
        for late in (
            lambda: transaction.append("a", b""),
            lambda: transaction.find([b""]),
            lambda: setattr(transaction, "state", b""),
        ):
            with pytest.raises(LedgerClosed, match="has ended this transaction"):
                late()
        assert ledger.last.seq == 1


def test_a_turn_within_a_turn_is_refused_and_not_waited_for(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        with ledger.transaction() as transaction:
            transaction.append("a", b"")
            with pytest.raises(LedgerError, match="in a turn of this thread already"), ledger.transaction():
                pass
            with pytest.raises(LedgerError, match="in a turn of this thread already"):
                ledger.close()
        assert ledger.last.seq == 1


def test_threads_take_turns(shelf: Shelf) -> None:
    def count(times: int) -> None:
        for _ in range(times):
            with ledger.transaction() as transaction:
                number = int(transaction.state or b"0") + 1
                transaction.append("count", b"%d" % number)
                transaction.state = b"%d" % number
            assert int(ledger.state) >= number

    with shelf.create() as ledger:
        threads = [threading.Thread(target=count, args=(10,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert bodies(ledger) == [b"%d" % number for number in range(1, 41)]


def test_another_thread_reads_during_a_turn_and_sees_nothing_of_it(shelf: Shelf) -> None:
    seen: list[object] = []
    with shelf.create() as ledger:
        add(ledger, b"one", state=b"1")
        with ledger.transaction() as transaction:
            transaction.append("answer", b"two", b"two")
            thread = threading.Thread(
                target=lambda: seen.extend([ledger.last.seq, ledger.state, ledger.find([b"two"])])
            )
            thread.start()
            thread.join()
        assert seen == [1, b"1", {}]


@pytest.mark.parametrize("point", points.TURN)
def test_a_failure_at_any_point_of_a_turn_is_seen_whole_or_not_at_all(shelf: Shelf, point: str) -> None:
    """`Stop` stands for whatever may come between: a signal, no memory. After the writing began the ledger closes."""
    with shelf.create() as ledger:
        add(ledger, b"one", state=b"1")
        with pytest.raises(Stop), stop_at(point):  # type: ignore[attr-defined]
            add(ledger, b"two", b"three", state=b"3")
        if point != "turn begun":
            for use in (lambda: ledger.last, lambda: ledger.state, lambda: ledger.find([b"one"]), ledger.verify):
                with pytest.raises(LedgerClosed, match="Open it again, and read"):
                    use()
            with pytest.raises(LedgerClosed, match="Open it again, and read"), ledger.transaction():
                pass
    was_recorded = points.TURN.index(point) >= points.TURN.index("committed")
    with shelf.open() as again:
        assert bodies(again) == [b"one", b"two", b"three"][: 3 if was_recorded else 1]
        assert again.state == (b"3" if was_recorded else b"1")
        again.verify()
        add(again, b"four")


def test_a_reader_sees_a_moment_beside_a_writer(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        add(ledger, b"one", state=b"1")
        with shelf.open(read_only=True) as reader:
            add(ledger, b"two", state=b"2")
            assert (bodies(reader), reader.state, reader.last.seq) == ([b"one"], b"1", 1)
            assert reader.find([b"one", b"two"]).keys() == {b"one"}
            assert (reader.is_read_only, reader.is_confirmed, ledger.is_read_only) == (True, True, False)
            with pytest.raises(LedgerClosed, match="for reading only"), reader.transaction():
                pass
        with shelf.open(read_only=True) as reader:
            assert bodies(reader) == [b"one", b"two"]
            reader.verify()


def test_a_reader_shows_nothing_that_was_not_confirmed(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between commit and anchor a copy without the last turn would be accepted: nobody may have seen that turn."""
    monkeypatch.setattr(opening, "PATIENCE", 0.05)
    with shelf.create() as ledger:
        add(ledger, b"one")
        with pytest.raises(Stop), stop_at("committed"):  # type: ignore[attr-defined]
            add(ledger, b"two")
    with pytest.raises(LedgerUnconfirmed, match="never confirmed"):
        shelf.open(read_only=True)
    with shelf.open() as again:
        assert bodies(again) == [b"one", b"two"]
    with shelf.open(read_only=True) as reader:
        assert bodies(reader) == [b"one", b"two"]


def test_a_copy_by_pickle_or_copy_reads_only(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        add(ledger, b"one")
        for twin in (pickle.loads(pickle.dumps(ledger)), copy.deepcopy(ledger), copy.copy(ledger)):  # noqa: S301
            with twin, pytest.raises(LedgerClosed, match="for reading only"), twin.transaction():
                pass
        with pickle.loads(pickle.dumps(ledger)) as twin:  # noqa: S301
            assert twin.find([b"one"])[b"one"].body == b"one"
        add(ledger, b"two")


def test_a_forked_process_reads_only_and_leaves_the_parent_alone(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        add(ledger, b"one")
        for inside in (False, True):
            outcome = in_a_fork(ledger, inside=inside)
            assert outcome == "LedgerClosed: [b'one']"
        assert bodies(ledger) == [b"one", b"two"]
        ledger.verify()
    with shelf.open() as again:
        assert bodies(again) == [b"one", b"two"]


def in_a_fork(ledger: Ledger, *, inside: bool) -> str:
    """What a forked process says of its try to write, and of what it reads; the fork may happen inside a turn."""

    def write_and_read() -> str:
        try:
            add(ledger, b"forked")
        except LedgerError as error:
            return f"{type(error).__name__}: {bodies(ledger)}"
        return "written"

    def end_the_turn_of_the_parent() -> str:
        block.__exit__(None, None, None)
        return "the parent's turn was written"

    if not inside:
        return in_a_process(write_and_read)
    block = ledger.transaction()
    with block as transaction:
        transaction.append("answer", b"two", b"two")
        assert in_a_process(end_the_turn_of_the_parent).startswith("LedgerClosed: ")
        return in_a_process(write_and_read)


@pytest.mark.parametrize("point", points.TURN[:-1])  # after the last one, the turn may be shown
def test_a_child_forked_inside_a_commit_neither_commits_nor_confirms_nor_replies(shelf: Shelf, point: str) -> None:
    """The child goes on in the middle of its parent's turn; the parent then breaks off."""
    parent, codes, refused = os.getpid(), list[int](), 77

    def fork(reached: str) -> None:
        if reached == point and os.getpid() == parent and (child := os.fork()):
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            raise Stop

    ledger, code = shelf.create(), 1
    add(ledger, b"one")
    try:
        with points.watched(fork):
            add(ledger, b"two")
    except Stop:
        ledger.close()
    except LedgerError:
        code = refused
    finally:
        if os.getpid() != parent:
            os._exit(code)
    assert codes == [refused], "the child may tell nothing of this turn"
    was_committed = points.TURN.index(point) >= points.TURN.index("committed")
    with shelf.open() as again:
        assert bodies(again) == ([b"one", b"two"] if was_committed else [b"one"])
        again.verify()


def test_a_closed_ledger_says_so(shelf: Shelf) -> None:
    ledger = shelf.create()
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerClosed, match=r"is closed\. Open it again"):
        _ = ledger.state
    with pytest.raises(LedgerClosed), ledger.transaction():
        pass


def test_what_is_kept_is_in_no_repr(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        with ledger.transaction() as transaction:
            transaction.append("answer", b"secret", b"secret")
            transaction.state = b"secret"
            assert "secret" not in repr(transaction)
        assert "secret" not in repr(ledger) + repr(list(ledger.entries()))
