"""What may happen to files: copies, cuts, edits, rot. Refusals with remedies, no new count."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.ledgers import Shelf, add, bodies
from support.unprivileged import in_a_process

from pcqr.durable.ledger import create_ledger, open_ledger
from pcqr.durable.ledger import reading as keys
from pcqr.durable.ledger import store as points
from pcqr.durable.ledger.chain import Link
from pcqr.durable.ledger.sqlite import PAGES_IN_LOG, SqliteStore
from pcqr.errors import (
    LedgerClosed,
    LedgerDamaged,
    LedgerError,
    LedgerInUse,
    LedgerRolledBack,
    LedgerUnwritable,
    NotALedger,
    ParameterError,
)


class Stop(Exception):
    pass


def edit(path: str, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_second_writer_is_refused_and_a_reader_is_not(files: Shelf) -> None:
    link = files.folder / "link"
    with files.create() as ledger:
        link.symlink_to(files.place())
        for place in (files.place(), link, f"sqlite:///{files.place()}"):
            with pytest.raises(LedgerInUse, match=r"open for writing already.*Only one may"):
                open_ledger(place, "release", files.anchor)
            open_ledger(place, "release", files.anchor, read_only=True).close()
        add(ledger, b"one")
    with open_ledger(link, "release", files.anchor) as again:
        add(again, b"two")


def test_a_copy_beside_the_running_original_is_refused(files: Shelf) -> None:
    """Its lock file is another one. The anchor is the same, and the original holds it."""
    with files.create() as ledger:
        add(ledger, b"one")
        for name in ("ledger", "ledger-wal"):
            shutil.copy(files.folder / name, files.folder / name.replace("ledger", "copy"))
        with pytest.raises(LedgerInUse, match="or a copy of it"):
            files.open("copy")
        add(ledger, b"two")


def test_of_two_copies_the_first_to_go_on_is_the_ledger(files: Shelf) -> None:
    with files.create() as ledger:
        add(ledger, b"one")
    shutil.copy(files.place(), files.place("copy"))
    with files.open("copy") as copy:
        add(copy, b"two")
    for read_only in (False, True):
        with pytest.raises(LedgerRolledBack, match=r"lacks entry 2 .*Bring back the newest copy"):
            files.open(read_only=read_only)
    with files.open("copy") as copy:
        assert bodies(copy) == [b"one", b"two"]


def test_an_older_copy_is_refused_and_the_newest_one_opens(files: Shelf) -> None:
    with files.create() as ledger:
        add(ledger, b"one")
    shutil.copy(files.place(), files.place("backup"))
    with files.open() as ledger:
        add(ledger, b"two")
    shutil.move(files.place(), files.place("newest"))
    shutil.copy(files.place("backup"), files.place())
    for adopt in (False, True):
        with pytest.raises(LedgerRolledBack):
            files.open(adopt=adopt)
    shutil.copy(files.place("newest"), files.place())
    with files.open() as ledger:
        assert bodies(ledger) == [b"one", b"two"]


def test_a_copy_that_has_lost_its_log_mode_goes_on(files: Shelf) -> None:
    """Tools of SQLite's make such copies: VACUUM INTO, for one."""
    with files.create() as ledger:
        add(ledger, b"one")
    with closing(sqlite3.connect(files.place())) as plain:
        plain.execute("VACUUM INTO ?", (str(files.place("copy")),))
        plain.execute("PRAGMA journal_mode = DELETE")
    for name in ("copy", "ledger"):
        shutil.copy(files.place(name), files.place("again"))
        shutil.copy(files.anchor, files.folder / "anchor before")
        with open_ledger(files.place("again"), "release", files.folder / "anchor before") as again:
            add(again, b"two")
            assert bodies(again) == [b"one", b"two"]
        (files.folder / "anchor before").unlink()


@pytest.mark.parametrize("keeps_log", [True, False])
def test_the_log_beside_the_file_belongs_to_it(files: Shelf, keeps_log: bool) -> None:
    """A process that dies leaves its last turns in the -wal file. Without that file they are gone, which is noticed."""

    def die() -> None:
        with files.open() as ledger:
            add(ledger, b"one")
            os._exit(0)

    files.create().close()
    in_a_process(die)
    assert (files.folder / "ledger-wal").stat().st_size > 0
    if not keeps_log:
        (files.folder / "ledger-wal").unlink()
        with pytest.raises(LedgerRolledBack):
            files.open()
    else:
        with files.open() as again:
            assert bodies(again) == [b"one"]


@pytest.mark.parametrize("cut", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_log_that_was_cut_is_refused_and_one_with_rubbish_behind_it_is_not(files: Shelf, cut: float) -> None:
    def die() -> None:
        with files.open() as ledger:
            for number in range(5):
                add(ledger, b"%d" % number)
            os._exit(0)

    files.create().close()
    in_a_process(die)
    log = files.folder / "ledger-wal"
    whole = log.read_bytes()
    log.write_bytes(whole[: int(cut * len(whole))])
    with pytest.raises(LedgerRolledBack):
        files.open()
    log.write_bytes(whole + b"rubbish" * 1000)
    with files.open() as again:
        assert again.last.seq == 5


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE pcqr_entries SET body = x'00' WHERE seq = 3", "broken at entry 3"),
        ("UPDATE pcqr_entries SET keys = x'00' WHERE seq = 3", "broken at entry 3"),
        ("UPDATE pcqr_entries SET size = 2 WHERE seq = 3", "broken at entry [23]"),
        ("UPDATE pcqr_entries SET size = 'text' WHERE seq = 3", "is damaged"),
        ("UPDATE pcqr_entries SET kind = 'other' WHERE seq = 3", "broken at entry 3"),
        ("UPDATE pcqr_entries SET closing = x'00' WHERE seq = 3", "broken at entry 3"),
        ("UPDATE pcqr_entries SET closing = NULL WHERE seq = 3", "broken at entry 3"),
        ("UPDATE pcqr_entries SET hash = x'00' WHERE seq = 3", "broken at entry 3"),
        ("UPDATE pcqr_entries SET body = 'text' WHERE seq = 3", "is damaged"),
        ("UPDATE pcqr_entries SET body = 17 WHERE seq = 3", "is damaged"),
        ("UPDATE pcqr_entries SET body = x'00' WHERE seq = 0", "broken at entry 0"),
        ("DELETE FROM pcqr_entries WHERE seq = 3", "broken at entry 3"),
        ("DELETE FROM pcqr_entries WHERE seq = 0", "broken at entry 0"),
        ("DELETE FROM pcqr_entries", "is damaged|lacks"),
        ("DELETE FROM pcqr_entries WHERE seq = 5", "lacks entry 5|broken at entry 5"),
        ("UPDATE pcqr_ledgers SET state = x'00'", "broken at entry 5"),
        ("UPDATE pcqr_ledgers SET seq = 4", "broken at entry 5"),
        ("UPDATE pcqr_ledgers SET hash = x'00'", "broken at entry 5"),
        ("UPDATE pcqr_ledgers SET identity = printf('%032x', 1)", "belongs to another ledger|is not there"),
        ("INSERT INTO pcqr_entries VALUES (1, 6, 'answer', NULL, x'00', x'00', NULL, 1)", "broken at entry 6"),
        ("DROP TABLE pcqr_entries", "is damaged"),
        ("DROP TABLE pcqr_ledgers", "is damaged"),
        ("DROP TABLE pcqr_meta", "does not exist"),
        ("DELETE FROM pcqr_meta", "is damaged"),
        ("DELETE FROM pcqr_ledgers", "does not exist"),
    ],
)
def test_an_edited_ledger_is_refused(files: Shelf, statement: str, message: str) -> None:
    with files.create() as ledger:
        for number in range(5):
            add(ledger, b"secret-%d" % number, state=b"secret")
    edit(files.place(), statement)
    for read_only in (False, True):
        with pytest.raises(LedgerError, match=message) as refusal:
            files.open(read_only=read_only)
        assert "secret" not in str(refusal.value)


def test_an_edit_long_ago_is_noticed_when_it_is_read_and_by_a_check_of_everything(
    files: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pcqr.durable.ledger.reading.CHECKED_AT_LEAST", 2)
    with files.create() as ledger:
        for number in range(9):
            add(ledger, b"%d" % number)
    edit(files.place(), "UPDATE pcqr_entries SET body = x'00' WHERE seq = 3")
    with files.open() as ledger:
        for look in (lambda: list(ledger.entries()), lambda: ledger.find([b"2"]), ledger.verify):
            with pytest.raises(LedgerDamaged, match="broken at entry 3"):
                look()
        with pytest.raises(LedgerDamaged, match="broken at entry 3"), ledger.transaction() as transaction:
            transaction.find([b"2"])
        assert [entry.body for entry in ledger.entries(after=3)] == [b"%d" % number for number in range(3, 9)]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM pcqr_index WHERE seq = 1",
        "UPDATE pcqr_index SET prefix = prefix + 1 WHERE seq = 1",
        "UPDATE pcqr_index SET seq = 2 WHERE seq = 1",
        "UPDATE pcqr_ledgers SET indexed = 5",
        "DROP TABLE pcqr_index",
    ],
)
def test_an_index_without_one_of_its_keys_is_found_by_a_check_of_everything(
    files: Shelf, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is not found would be asked, and paid for, again."""
    monkeypatch.setattr(keys, "MOST_RECENT", 2)
    with files.create() as ledger:
        for number in range(5):
            add(ledger, b"%d" % number)
        ledger.verify()
    edit(files.place(), statement)
    with files.open() as ledger, pytest.raises(LedgerDamaged, match="its database is broken"):
        ledger.verify()


def test_rot_is_refused_or_does_no_harm(files: Shelf) -> None:
    """Some bytes of the file are changed: what opens and passes a check of everything is what was written."""
    with files.create() as ledger:
        for number in range(4):
            add(ledger, bytes(500) + b"%d" % number, state=b"%d" % number)
        written = list(ledger.entries())
    path = Path(files.place())
    whole, outcomes = path.read_bytes(), Counter[str]()

    @settings(max_examples=80)
    @given(st.integers(0, len(whole) - 1), st.binary(min_size=1, max_size=300), st.booleans())
    def rot(start: int, rotten: bytes, is_cut: bool) -> None:
        path.write_bytes(whole[:start] + rotten + (b"" if is_cut else whole[start + len(rotten) :]))
        for end in ("-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
        try:
            with files.open() as ledger:
                ledger.verify()
                assert (list(ledger.entries()), ledger.state) == (written, b"3")
            outcomes["no harm"] += 1
        except LedgerError as error:
            outcomes[type(error).__name__] += 1

    rot()
    assert outcomes["LedgerDamaged"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty: its creation was broken off"),
        (b"SQLite format 2\0", "is no ledger"),
        (b"a,b\n1,2\n", "is no ledger"),
    ],
)
def test_what_is_no_ledger_is_left_alone(files: Shelf, content: bytes, message: str) -> None:
    path = Path(files.place())
    path.write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(NotALedger, match=message):
            files.open(read_only=read_only)
    assert path.read_bytes() == content
    assert list(files.folder.iterdir()) == [path]


def test_another_database_is_no_ledger(files: Shelf) -> None:
    edit(files.place(), "CREATE TABLE patients (name)")
    with pytest.raises(NotALedger, match="has no ledgers"):
        files.open()


def test_a_file_with_two_names_is_refused(files: Shelf) -> None:
    files.create().close()
    (files.folder / "twin").hardlink_to(files.place())
    with pytest.raises(LedgerError, match=r"second name \(a hard link\)"):
        files.open("twin")


@pytest.mark.parametrize("point", points.CREATION)
def test_a_creation_that_fails_leaves_nothing_or_a_whole_ledger(files: Shelf, point: str) -> None:
    def stop(reached: str) -> None:
        if reached == point:
            raise Stop

    with pytest.raises(Stop), points.watched(stop):
        files.create()
    remaining = {path.name for path in files.folder.rglob("*") if path.is_file()}
    if point == "ledger placed":
        assert "ledger" in remaining
    else:
        assert remaining == set()
        files.create().close()


def test_a_ledger_is_whole_before_it_has_its_name(files: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite may fail to bring the log into the file when it is closed: for want of room, or because of a reader."""
    readers = []
    create = SqliteStore.create

    def watched(store: SqliteStore, *given: Any) -> Link:
        readers.append(sqlite3.connect(store.path))
        readers[-1].execute("SELECT * FROM sqlite_master").fetchall()
        return create(store, *given)

    monkeypatch.setattr(SqliteStore, "create", watched)
    with files.create() as ledger:
        assert len(readers) == 1
        add(ledger, b"one")
        ledger.verify()
    readers[0].close()


def test_what_opens_and_closes_the_file_beside_a_writer_leaves_it_its_locks(files: Shelf) -> None:
    """A process that closes a file loses all its locks on it; others then take its database to be nobody's."""

    def is_free() -> bool:
        with Path(files.place()).open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x4000_0002)  # those who have SQLite's file open
            except OSError:
                return False
        return True

    with files.create() as ledger:
        add(ledger, b"one")
        assert in_a_process(is_free) == "False"
        files.open(read_only=True).close()
        with suppress(LedgerInUse):
            files.open()
        assert in_a_process(is_free) == "False"
    assert in_a_process(is_free) == "True"


@pytest.mark.parametrize("gone", ["ledger", "ledger-wal", "replaced"])
def test_a_ledger_that_is_moved_under_its_writer_does_not_go_on(files: Shelf, gone: str) -> None:
    with files.create() as ledger:
        add(ledger, b"one")
        if gone == "replaced":
            shutil.copy(files.place(), files.place("copy"))
            os.replace(files.place("copy"), files.place())  # noqa: PTH105
        else:
            (files.folder / gone).rename(files.folder / "elsewhere")
        with pytest.raises(LedgerUnwritable, match=r"while it was open.*Open the ledger again, and read it"):
            add(ledger, b"two")
        with pytest.raises(LedgerClosed):
            add(ledger, b"three")


def test_somebody_who_locks_the_database_is_waited_for_and_then_named(
    files: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pcqr.durable.ledger.sqlite.PATIENCE", 0.05)
    with files.create() as ledger:
        other = sqlite3.connect(files.place(), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerInUse, match="locked by another program"):
            add(ledger, b"one")
        other.execute("ROLLBACK")
        other.close()
        add(ledger, b"one")
        assert bodies(ledger) == [b"one"]


def test_a_writer_keeps_no_lock_between_turns_and_its_log_short(files: Shelf) -> None:
    """Its connection stays open from turn to turn, those that write nothing or are broken off among them."""
    place = files.place()
    log = Path(f"{place}-wal")
    with files.create() as ledger:
        for number in range(90):
            with suppress(KeyError), ledger.transaction() as transaction:
                transaction.append("note", bytes(200_000))
                if number % 3 == 0:
                    raise KeyError
            with ledger.transaction() as transaction:
                assert transaction.last.seq == ledger.last.seq == number - number // 3
        assert log.stat().st_size < (PAGES_IN_LOG + 100) * 4_120 < 60 * 200_000
        with closing(sqlite3.connect(place, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
    assert not log.exists()


def test_the_anchor_cannot_be_the_ledger(files: Shelf) -> None:
    for name in ("ledger", "ledger-wal", "ledger-shm", "ledger.lock"):
        with pytest.raises(ParameterError, match="anchor must be another file than the ledger"):
            create_ledger(files.folder / "ledger", "release", files.folder / "." / name)
    assert not (files.folder / "ledger").exists()
