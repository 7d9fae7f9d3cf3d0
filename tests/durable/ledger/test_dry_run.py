"""A ledger that is made up to the last step and taken back: what could go wrong is known before anything is paid."""

from __future__ import annotations

import pytest
from support.ledgers import Shelf, add, bodies

from pcqr.durable.ledger.opening import dry_run_ledger
from pcqr.errors import LedgerError


def test_a_rehearsal_leaves_nothing_and_the_ledger_can_be_made(shelf: Shelf) -> None:
    dry_run_ledger(shelf.place(), "release", shelf.anchor)
    assert not any(path.is_file() for path in shelf.folder.rglob("*"))
    with pytest.raises(LedgerError):
        shelf.open()
    with shelf.create() as ledger:
        add(ledger, b"first")
        assert bodies(ledger) == [b"first"]


def test_a_rehearsal_refuses_a_place_that_is_taken_and_leaves_it_alone(shelf: Shelf) -> None:
    with shelf.create() as ledger:
        add(ledger, b"first")
    with pytest.raises(LedgerError):
        dry_run_ledger(shelf.place(), "release", shelf.folder / "another anchor")
    assert not (shelf.folder / "another anchor").exists()
    with shelf.open() as ledger:
        assert bodies(ledger) == [b"first"]


def test_a_rehearsal_leaves_a_file_alone_that_is_where_the_anchor_should_be(shelf: Shelf) -> None:
    shelf.anchor.parent.mkdir()
    shelf.anchor.write_bytes(b"the private table")
    with pytest.raises(LedgerError, match="there is something already"):
        dry_run_ledger(shelf.place(), "release", shelf.anchor)
    assert shelf.anchor.read_bytes() == b"the private table"
