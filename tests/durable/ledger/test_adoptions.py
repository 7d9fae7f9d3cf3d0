"""Adoptions: what they record, for ever, and how an older copy goes on with everything written off."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from support.kept import in_a_fork
from support.ledgers import Shelf, add, bodies

from pcqr.durable.ledger import Entry, create_ledger
from pcqr.durable.ledger import chain as adoptions
from pcqr.errors import LedgerClosed, LedgerInUse, LedgerRolledBack

NOTHING_LEFT = b"nothing left"


def write_off(state: bytes, entries: Iterator[Entry]) -> bytes:
    return NOTHING_LEFT + b" of " + state + b" after " + b",".join(entry.body for entry in entries)


@pytest.fixture
def who(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adoptions, "_user", lambda: "ann")
    monkeypatch.setattr("socket.gethostname", lambda: "ward")


def roll_back(files: Shelf, act: Callable[[], None]) -> None:
    """Bring the ledger back as it was before `act`. The anchor stays."""
    older = files.folder / "older"
    shutil.copy(files.place(), older)
    act()
    for path in files.folder.glob("ledger*"):
        path.unlink()
    shutil.move(older, files.place())


def go_on(files: Shelf, *more: bytes) -> None:
    with files.open() as ledger:
        for body in more:
            add(ledger, body, state=body)


@pytest.mark.usefixtures("who")
def test_an_adoption_is_shown_for_ever_with_time_user_and_machine(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        add(ledger, b"one", state=b"1")
        assert ledger.adoptions == ()
    shelf.anchor.unlink()
    with shelf.open(adopt=True) as adopted:
        (first,) = adopted.adoptions
        assert (first.entries, first.lost, first.is_written_off, first.user, first.host) == (
            1,
            None,
            False,
            "ann",
            "ward",
        )
        assert "newest" in first.assumption
        assert first.when in first.assumption
        add(adopted, b"two")
        assert adopted.adoptions == (first,)
    shelf.anchor.unlink()
    with shelf.open(adopt=True, write_off=write_off) as again:
        assert again.state.startswith(NOTHING_LEFT)
        add(again, b"three")
        both = again.adoptions
        again.verify()
    assert [each.is_written_off for each in both] == [False, True]
    with shelf.open(read_only=True) as reader:
        assert reader.adoptions == both
        assert "user" not in first.facts(for_holder=False)
        assert first.facts(for_holder=True)["user"] == "ann"


@pytest.mark.usefixtures("who")
def test_an_older_copy_goes_on_only_when_everything_is_written_off(files: Shelf) -> None:
    with files.create() as ledger:
        add(ledger, b"one", state=b"1")
    roll_back(files, lambda: go_on(files, b"two", b"three"))
    for how in ({}, {"adopt": True}, {"write_off": write_off}, {"read_only": True}):
        with pytest.raises(LedgerRolledBack):
            files.open(**how)
    with files.open(adopt=True, write_off=write_off) as ledger:
        assert ledger.state == NOTHING_LEFT + b" of 1 after one"
        (adoption,) = ledger.adoptions
        assert (adoption.entries, adoption.lost, adoption.is_written_off) == (1, 2, True)
        add(ledger, b"four")
    with files.open(adopt=True, write_off=write_off) as again:  # nothing to adopt any more
        assert again.adoptions == (adoption,)
        assert bodies(again)[-1] == b"four"
        again.verify()


def test_what_is_newest_is_not_written_off(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        add(ledger, b"one", state=b"1")
    with shelf.open(adopt=True, write_off=write_off) as again:
        assert (again.state, again.adoptions) == (b"1", ())


def test_another_line_is_not_taken_for_an_older_copy(files: Shelf) -> None:
    """It has decided something that nobody was told of, after the point at which the other one went on."""
    with files.create() as ledger:
        add(ledger, b"one")
    shutil.copy(files.anchor, files.folder / "anchor then")
    roll_back(files, lambda: go_on(files, b"two", b"three"))
    now = files.anchor.read_bytes()
    shutil.copy(files.folder / "anchor then", files.anchor)
    go_on(files, b"other two")
    files.anchor.write_bytes(now)  # three turns: its slots hold the third and the second
    with pytest.raises(LedgerRolledBack):
        files.open(adopt=True, write_off=write_off)
    go_on_past = (b"other three", b"other four")
    shutil.copy(files.folder / "anchor then", files.anchor)
    go_on(files, *go_on_past)
    files.anchor.write_bytes(now)
    with pytest.raises(LedgerRolledBack):
        files.open(adopt=True, write_off=write_off)


def test_the_newest_copy_is_refused_once_an_older_one_was_written_off(files: Shelf) -> None:
    with files.create() as ledger:
        add(ledger, b"one")
    newest = files.folder / "newest"

    def act() -> None:
        go_on(files, b"two", b"three", b"four")
        shutil.copy(files.place(), newest)

    roll_back(files, act)
    files.open(adopt=True, write_off=write_off).close()
    shutil.copy(newest, files.place())
    with pytest.raises(LedgerRolledBack):
        files.open()


def test_nothing_is_written_off_beside_a_writer(files: Shelf) -> None:
    with files.create() as ledger:
        add(ledger, b"one")
        shutil.copy(files.place(), files.place("older"))
        add(ledger, b"two")
        with pytest.raises(LedgerInUse):
            files.open("older", adopt=True, write_off=write_off)
        add(ledger, b"three")


@pytest.mark.parametrize("point", ["adoption recorded", "anchor written", "anchor synced"])
@pytest.mark.parametrize("time", [1, 2])
def test_a_kill_in_the_middle_of_a_write_off_leaves_a_ledger_that_can_be_written_off(
    files: Shelf, point: str, time: int
) -> None:
    with files.create() as ledger:
        add(ledger, b"one", state=b"1")
    roll_back(files, lambda: go_on(files, b"two", b"three"))
    code = in_a_fork(lambda: files.open(adopt=True, write_off=write_off).close(), killed_at=point, time=time)
    assert code == (0 if (point, time) == ("adoption recorded", 2) else -9)
    with files.open(adopt=True, write_off=write_off) as ledger:
        assert ledger.state.startswith(NOTHING_LEFT)
        assert [(each.is_written_off, each.lost) for each in ledger.adoptions] == [(True, 2)]
        ledger.verify()
    files.open().close()


def test_a_reader_sees_an_adoption_up_to_its_moment_and_a_fork_reads_it(files: Shelf) -> None:
    with files.create() as ledger:
        add(ledger, b"one")
    with files.open(read_only=True) as reader:
        files.anchor.unlink()
        files.open(adopt=True).close()
        assert reader.adoptions == ()
    with files.open() as ledger:
        assert in_a_fork(lambda: ledger.adoptions[0].time) == 0
    with pytest.raises(LedgerClosed):
        _ = ledger.adoptions


def test_an_edited_adoption_is_noticed_when_it_is_read(files: Shelf) -> None:
    with files.create() as ledger:
        add(ledger, b"one")
    files.anchor.unlink()
    with files.open(adopt=True) as ledger:
        for number in range(1_200):
            add(ledger, str(number).encode())
    engine = create_engine(f"sqlite:///{files.place()}")
    with engine.begin() as connection:
        body = json.dumps({"adopted": "1999"}).encode()
        connection.execute(text("UPDATE pcqr_entries SET body = :body WHERE kind = 'adopted'"), {"body": body})
    engine.dispose()
    with files.open() as again, pytest.raises(Exception, match="is damaged"):
        _ = again.adoptions


def test_where_the_anchor_is_and_whether_it_is_apart(files: Shelf, tmp_path: Path) -> None:
    with files.create() as ledger:
        assert (ledger.anchor_path, ledger.is_apart) == (files.anchor, False)
        add(ledger, b"one")
    files.anchor.unlink()
    with files.open(read_only=True) as reader:
        assert reader.anchor_path == files.anchor
    if tmp_path.stat().st_dev != files.folder.stat().st_dev:
        with create_ledger(files.folder / "apart", "release", tmp_path / "anchor") as apart:
            assert apart.is_apart
