"""What only a server has: several writers, restarts, restored databases, passwords."""

from __future__ import annotations

import os
import pickle
import re
import signal
import time

import pytest
from support import postgres
from support.ledgers import Shelf, add, bodies
from support.unprivileged import in_a_process

from pcqr.durable.ledger import create_ledger, open_ledger
from pcqr.durable.ledger import store as points
from pcqr.durable.ledger.opening import written_place
from pcqr.errors import (
    LedgerClosed,
    LedgerDamaged,
    LedgerInUse,
    LedgerRolledBack,
    LedgerUnwritable,
    NotALedger,
    ParameterError,
)


class Stop(Exception):
    pass


def stop_when_committed(point: str) -> None:
    if point == "committed":
        raise Stop


def schema_of(shelf: Shelf) -> str:
    found = re.search(r"search_path%3D(\w+)", shelf.place())
    assert found
    return found[1]


def test_processes_take_turns(tables: Shelf) -> None:
    """Each adds one to a number in the state. A lost update, or a turn within a turn, would show."""

    def count() -> str:
        with tables.open() as ledger:
            for _ in range(10):
                with ledger.transaction() as transaction:
                    number = int(transaction.state or b"0") + 1
                    transaction.append("count", b"%d" % number)
                    transaction.state = b"%d" % number
        return "done"

    tables.create().close()
    children = []
    for _ in range(3):
        if (pid := os.fork()) == 0:
            try:
                os._exit(0 if count() == "done" else 1)
            finally:
                os._exit(1)
        children.append(pid)
    assert count() == "done"
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0, 0, 0]
    with tables.open() as ledger:
        assert bodies(ledger) == [b"%d" % number for number in range(1, 41)]
        assert ledger.state == b"40"
        ledger.verify()


def test_nothing_is_shown_before_the_anchor_has_reached_it_whoever_wrote_it(tables: Shelf) -> None:
    """One writer stops between commit and anchor. Another one that shows the entry confirms it first."""
    for look in ("find", "state", "transaction"):
        ledger_anchor = tables.folder / look
        with (
            create_ledger(tables.place(look), "release", ledger_anchor) as one,
            open_ledger(tables.place(look), "release", ledger_anchor) as other,
        ):
            before = ledger_anchor.read_bytes()
            with pytest.raises(Stop), points.watched(stop_when_committed):
                add(one, b"one", state=b"1")
            assert ledger_anchor.read_bytes() == before
            if look == "find":
                assert other.find([b"one"])[b"one"].body == b"one"
            elif look == "state":
                assert other.state == b"1"
            else:
                with other.transaction() as transaction:
                    assert transaction.find([b"one"])[b"one"].body == b"one"
            assert b"%020d" % 1 in ledger_anchor.read_bytes()


def test_a_database_that_was_restored_under_its_writers_is_noticed(
    tables: Shelf, postgres_server: postgres.Server
) -> None:
    schema = schema_of(tables)
    names = ("pcqr_ledgers", "pcqr_entries", "pcqr_index")
    with tables.create() as ledger:
        add(ledger, b"one")
        for name in names:
            postgres_server.run(f"CREATE TABLE {schema}.{name}_backup AS SELECT * FROM {schema}.{name}")
        add(ledger, b"two")
        for name in names:
            postgres_server.run(f"DELETE FROM {schema}.{name}")
            postgres_server.run(f"INSERT INTO {schema}.{name} SELECT * FROM {schema}.{name}_backup")
        for use in (lambda: add(ledger, b"three"), lambda: ledger.state, lambda: ledger.find([b"one"]), ledger.verify):
            with pytest.raises(LedgerRolledBack, match=r"ends at entry 1 .* lacks entry 2 "):
                use()
        for read_only in (False, True):
            with pytest.raises(LedgerRolledBack):
                tables.open(read_only=read_only)
        with tables.open(adopt=True, write_off=lambda state, _: state + b"nothing left") as written_off:
            assert [(each.entries, each.lost) for each in written_off.adoptions] == [(1, 1)]
            assert written_off.state.endswith(b"nothing left")
            with pytest.raises(LedgerRolledBack):
                add(ledger, b"three")  # a process that knew more still refuses
    tables.open().close()


def test_of_two_databases_that_go_on_from_one_copy_only_one_replies(
    tables: Shelf, postgres_server: postgres.Server
) -> None:
    """Both are open when the copies part: the second one to confirm finds an anchor that is not in its own line."""
    schema = schema_of(tables)
    with tables.create() as ledger:
        add(ledger, b"one")
        postgres_server.run(f"CREATE SCHEMA {schema}_copy")
        for name in ("pcqr_meta", "pcqr_ledgers", "pcqr_entries", "pcqr_index"):
            postgres_server.run(f"CREATE TABLE {schema}_copy.{name} (LIKE {schema}.{name} INCLUDING ALL)")
            postgres_server.run(f"INSERT INTO {schema}_copy.{name} SELECT * FROM {schema}.{name}")
        with open_ledger(tables.place().replace(schema, f"{schema}_copy"), "release", tables.anchor) as copy:
            add(ledger, b"two")
            with pytest.raises(LedgerRolledBack, match="the other one has moved on"):
                add(copy, b"2")
            with pytest.raises(LedgerClosed):
                add(copy, b"3")
        add(ledger, b"three")
        assert bodies(ledger) == [b"one", b"two", b"three"]


def test_ledgers_share_a_database_and_nothing_else(tables: Shelf) -> None:
    with (
        create_ledger(tables.place("one"), "release", tables.folder / "1") as one,
        create_ledger(tables.place("two"), "account", tables.folder / "2") as two,
    ):
        add(one, b"same", state=b"1")
        add(two, b"same", b"other")
        assert (bodies(one), bodies(two), one.state, two.state) == ([b"same"], [b"same", b"other"], b"1", b"")
        assert one.find([b"other"]) == {}
        one.verify()
        two.verify()
    with pytest.raises(NotALedger, match="does not exist"):
        tables.open("three")


def test_a_turn_of_a_process_that_is_killed_ends_with_it(tables: Shelf) -> None:
    tables.create().close()
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        with tables.open() as ledger, ledger.transaction() as transaction:
            transaction.append("answer", b"never", b"never")
            os.write(writing, b"in")
            time.sleep(60)
        os._exit(0)
    assert os.read(reading, 2) == b"in"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)
    with tables.open() as ledger:
        add(ledger, b"one")
        assert bodies(ledger) == [b"one"]


def test_who_waits_too_long_for_a_turn_is_told(tables: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcqr.durable.ledger.postgres.PATIENCE", 1)
    with tables.create() as one, tables.open() as other:
        with one.transaction() as transaction:
            transaction.append("answer", b"one")
            with pytest.raises(LedgerInUse, match="turn of another process that did not end within 1 second"):
                add(other, b"two")
        add(other, b"two")
        assert other.last.seq == 2


def test_a_server_that_stops_is_an_unknown_outcome_within_a_turn_and_none_before(
    tables: Shelf, postgres_server: postgres.Server
) -> None:
    with tables.create() as ledger:
        add(ledger, b"one")
        postgres_server.stop("immediate")
        postgres_server.start("fsync=off")
        with pytest.raises(LedgerUnwritable, match="may forget what was replied: its server has fsync switched off"):
            tables.open()
        tables.open(read_only=True).close()
        postgres_server.stop()
        try:
            with pytest.raises(LedgerUnwritable, match="cannot be reached"):
                tables.open()
        finally:
            postgres_server.start("synchronous_commit=off")
        with pytest.raises(LedgerUnwritable, match=r"cannot be reached.*open the ledger again, and read it"):
            add(ledger, b"two")
        add(ledger, b"two")
        with pytest.raises(LedgerUnwritable, match="cannot be reached"), ledger.transaction() as transaction:  # noqa: PT012
            transaction.append("answer", b"three")
            postgres_server.stop("immediate")
            postgres_server.start()
        with pytest.raises(LedgerClosed, match="Open it again, and read"):
            _ = ledger.state
    with tables.open() as ledger:
        assert bodies(ledger) == [b"one", b"two"]


def test_a_table_that_was_edited_is_refused(tables: Shelf, postgres_server: postgres.Server) -> None:
    with tables.create() as ledger:
        add(ledger, b"secret")
        postgres_server.run(f"UPDATE {schema_of(tables)}.pcqr_entries SET body = 'x' WHERE seq = 1")
        with pytest.raises(LedgerDamaged, match="broken at entry 1") as refusal:
            ledger.find([b"secret"])
        postgres_server.run(f"DROP TABLE {schema_of(tables)}.pcqr_entries")
        with pytest.raises(LedgerDamaged, match="its database is broken"):
            ledger.find([b"secret"])
        assert "secret" not in str(refusal.value)


def test_a_password_is_shown_nowhere(tables: Shelf) -> None:
    place = tables.place().replace(f"{postgres.OWNER}@", f"{postgres.OWNER}:swordfish@")
    with create_ledger(place, "release", tables.anchor) as ledger:
        assert "swordfish" not in repr(ledger) + ledger.place
        assert b"swordfish" not in pickle.dumps(ledger)
        with pickle.loads(pickle.dumps(ledger)) as twin:  # noqa: S301
            assert twin.identity == ledger.identity
    for wrong in (
        "postgresql://u:swordfish@/d?host=/nowhere",
        "mysql://u:swordfish@h/d",
        "x://u:swordfish@h:port/d",
        "postgresql://u@/d?host=/nowhere&password=swordfish",
        "postgresql://u@/d?host=/nowhere&sslpassword=swordfish",
        "postgresql://u@/d?host=/nowhere&Password=swordfish",
        "postgresql://u?x:swordfish@/d",
    ):
        with pytest.raises((LedgerUnwritable, ParameterError)) as refusal:
            open_ledger(wrong, "release", tables.anchor)
        assert "swordfish" not in str(refusal.value)
        assert refusal.value.__context__ is None


def test_an_address_without_its_password_leaves_room_for_another() -> None:
    """Asterisks in its place would be tried, and what the environment or a file of the user's says would not."""
    for given in ("postgresql://u:swordfish@h/d?ledger=a", "postgresql://u@h/d?ledger=a&password=swordfish"):
        assert written_place(given) == "postgresql://u@h/d?ledger=a"


def test_only_the_parent_hears_of_a_forked_process(tables: Shelf) -> None:
    """A socket that the child closed politely would end the parent's connection."""
    with tables.create() as ledger:
        for number in range(3):
            add(ledger, b"%d" % number)
            assert in_a_process(lambda: ledger.last.seq) == str(number + 1)


@pytest.mark.parametrize(
    ("user", "password", "database", "reason"),
    [
        (postgres.GUARDED, "swordfish", "postgres", "the password is wrong, or the server does not know this user"),
        (postgres.GUARDED, None, "postgres", "the server wants a password, and none was given"),
        (postgres.GUARDED, postgres.PASSWORD, "elsewhere", "the server has no such database"),
        ("stranger", None, "postgres", "the server refuses this user"),
    ],
)
def test_a_connection_that_the_server_refuses_is_told_by_its_reason(
    tables: Shelf, postgres_server: postgres.Server, user: str, password: str | None, database: str, reason: str
) -> None:
    postgres_server.guard()
    given = user if password is None else f"{user}:{password}"
    place = tables.place().replace(f"{postgres.OWNER}@/postgres", f"{given}@/{database}")
    with pytest.raises(LedgerUnwritable, match=reason) as refusal:
        open_ledger(place, "release", tables.anchor)
    assert "cannot be reached" not in str(refusal.value)
    assert refusal.value.__context__ is refusal.value.__cause__ is None  # the driver's error has the password in it
    assert "swordfish" not in str(refusal.value)
    assert postgres.PASSWORD not in str(refusal.value)
    if "password" in reason:
        assert "PGPASSWORD" in refusal.value.remedy
