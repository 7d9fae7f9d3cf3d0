"""Which ledgers open, on every store: those with their anchor, of the right purpose and a known version."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.ledgers import Shelf, add, bodies

from pcqr.durable.ledger import create_ledger, open_ledger
from pcqr.durable.ledger import store as tables
from pcqr.durable.ledger.anchor import BLOCK, slot
from pcqr.durable.ledger.chain import Link
from pcqr.errors import (
    AnchorMissing,
    LedgerClosed,
    LedgerError,
    LedgerRolledBack,
    NotALedger,
    OtherVersion,
    ParameterError,
)


def test_without_its_anchor_a_ledger_is_refused_until_a_person_adopts_it(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        add(ledger, b"one", state=b"1")
    shelf.anchor.unlink()
    with pytest.raises(AnchorMissing, match=r"is not there.*adopt it"):
        shelf.open()
    with shelf.open(read_only=True) as reader:
        assert (bodies(reader), reader.is_confirmed) == ([b"one"], False)
    with shelf.open(adopt=True) as adopted:
        one, decision = adopted.entries()
        assert (one.body, decision.kind, adopted.state) == (b"one", "adopted", b"1")
        assert b"adopted" in decision.body
        add(adopted, b"two")
    with shelf.open(adopt=True) as again:
        assert [entry.kind for entry in again.entries()] == ["answer", "adopted", "answer"]


def test_adopting_writes_over_no_file_and_leaves_no_entry_when_it_is_refused(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        add(ledger, b"one")
    shelf.anchor.write_bytes(b"notes of mine")
    with pytest.raises(LedgerError, match="there is something already"):
        shelf.open(adopt=True)
    assert shelf.anchor.read_bytes() == b"notes of mine"
    shelf.anchor.unlink()
    with shelf.open(adopt=True) as adopted:
        assert [entry.kind for entry in adopted.entries()] == ["answer", "adopted"]


def test_an_empty_ledger_can_be_discarded_with_its_anchor_and_another_one_be_made(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        identity = ledger.identity
        assert ledger.discard()
        with pytest.raises(LedgerClosed):
            add(ledger, b"one")
    assert not shelf.anchor.exists()
    with pytest.raises(NotALedger):
        shelf.open()
    with shelf.create() as ledger:
        assert ledger.identity != identity
        add(ledger, b"one")
        assert not ledger.discard()
    with shelf.open() as again:
        assert bodies(again) == [b"one"]


def test_nothing_is_adopted_while_there_is_an_anchor(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        identity = ledger.identity
        add(ledger, b"one")
    shelf.anchor.rename(shelf.folder / "moved")
    with create_ledger(shelf.place("other"), "release", shelf.anchor) as other:
        add(other, b"other")
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        shelf.open(adopt=True)
    with open_ledger(shelf.place(), "release", shelf.folder / "moved") as again:
        assert again.identity == identity


def test_a_ledger_for_another_purpose_is_refused(shelf: Shelf) -> None:
    shelf.create(purpose="account").close()
    for read_only in (False, True):
        with pytest.raises(NotALedger, match="is that of an account, where that of a release is wanted"):
            shelf.open(read_only=read_only)
    with pytest.raises(ParameterError, match="account or release"):
        shelf.create("third", purpose="diary")


def test_what_does_not_exist_is_not_opened_and_what_exists_not_created(shelf: Shelf) -> None:
    with pytest.raises(NotALedger, match="does not exist"):
        shelf.open()
    shelf.create().close()
    with pytest.raises(NotALedger, match=r"there is a file already|exists already"):
        create_ledger(shelf.place(), "release", shelf.folder / "second anchor")
    assert not (shelf.folder / "second anchor").exists()
    shelf.open().close()


def test_tables_of_another_version_are_refused(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tables, "VERSION", 3)
        shelf.create().close()
    for read_only in (False, True):
        with pytest.raises(OtherVersion, match="another version of pcqr: it has tables of version 3"):
            shelf.open(read_only=read_only)
    with pytest.raises((OtherVersion, NotALedger), match=r"tables of version 3|a file already"):
        create_ledger(shelf.place(), "release", shelf.folder / "second anchor")


def test_a_clock_that_goes_back_changes_nothing(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    with shelf.create() as ledger:
        add(ledger, b"one")
    monkeypatch.setattr("time.time", lambda: 0.0)
    os.utime(shelf.anchor, (0, 0))
    with shelf.open() as again:
        add(again, b"two")
        assert bodies(again) == [b"one", b"two"]


def test_where_the_anchor_is_by_default(tmp_path: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PCQR_STATE_DIR", str(tmp_path / "state"))
    with create_ledger(shelf.place("plain"), "account") as ledger:
        add(ledger, b"one")
        assert (tmp_path / "state" / "anchors" / ledger.identity).is_file()
    with open_ledger(shelf.place("plain"), "account") as again:
        assert bodies(again) == [b"one"]
    monkeypatch.setenv("PCQR_STATE_DIR", str(tmp_path / "elsewhere"))
    with pytest.raises(AnchorMissing):
        open_ledger(shelf.place("plain"), "account")


def test_a_ledger_that_lacks_its_anchor_is_refused(shelf: Shelf) -> None:
    """An anchor that is ahead, whatever became of the ledger."""
    with shelf.create() as ledger:
        add(ledger, b"one", b"two")
        identity = ledger.identity
    for ahead in (Link(3, bytes(32)), Link(2, bytes(32)), Link(1, bytes(32)), Link(10**15, bytes(32))):
        shelf.anchor.write_bytes(2 * slot(identity, ahead).ljust(BLOCK))
        for read_only in (False, True):
            with pytest.raises(LedgerRolledBack, match=r"an older copy.*spend the same budget twice"):
                shelf.open(read_only=read_only)
