"""Turns, failures, copies, restored copies, lost anchors and readers in random orders, against a list.

Keys go into the index a few at a time.
"""

from __future__ import annotations

import shutil

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.ledgers import Shelf, new_folder

from pcqr.durable.ledger import Ledger
from pcqr.durable.ledger import reading as keys
from pcqr.durable.ledger import store as points
from pcqr.errors import AnchorMissing, LedgerClosed, LedgerInUse, LedgerRolledBack, ParameterError

Line = list[tuple[bytes, bytes]]


class Stop(Exception):
    pass


class LedgerMachine(RuleBasedStateMachine):
    """The oracle is `line`: (body, state after it) of every entry that is recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = new_folder()
        self.shelf = Shelf(self.folder, f"{self.folder}/{{}}")
        self.ledger = self.shelf.create()
        self.line: Line = []
        self.copies: list[Line] = []
        self.number = 0
        self.most_recent, keys.MOST_RECENT = keys.MOST_RECENT, 3

    def teardown(self) -> None:
        keys.MOST_RECENT = self.most_recent
        self.ledger.close()
        shutil.rmtree(self.folder)

    def fresh(self) -> bytes:
        self.number += 1
        return b"%d" % self.number

    @rule(count=st.integers(1, 3), end=st.sampled_from(["", "raise", "again", *points.TURN]))
    def transaction(self, count: int, end: str) -> None:
        """A turn that ends well, or is broken off by its block, by a key that is there, or at a named point."""
        bodies, state = [self.fresh() for _ in range(count)], self.fresh()
        if end == "again" and self.line:
            bodies.append(self.line[0][0])

        def stop(point: str) -> None:
            if point == end:
                raise Stop

        def act() -> None:
            with points.watched(stop), self.ledger.transaction() as transaction:
                for body in bodies:
                    transaction.append("answer", body, body)
                transaction.state = state
                if end == "raise":
                    raise ZeroDivisionError

        try:
            act()
            is_recorded = True
        except (Stop, ZeroDivisionError, ParameterError):
            is_recorded = end in points.TURN and points.TURN.index(end) >= points.TURN.index("committed")
        if is_recorded:
            self.line += [(body, state) for body in bodies]
        if end in points.TURN[1:]:
            with pytest.raises(LedgerClosed):
                _ = self.ledger.last
            self.ledger = self.shelf.open()

    @rule()
    def reopen(self) -> None:
        with pytest.raises(LedgerInUse):
            self.shelf.open()
        self.ledger.close()
        self.ledger = self.shelf.open()

    @rule()
    def copy(self) -> None:
        self.ledger.close()
        shutil.copy(self.shelf.place(), self.shelf.place(f"copy {len(self.copies)}"))
        self.copies.append(list(self.line))
        self.ledger = self.shelf.open()

    @precondition(lambda self: self.copies)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """A copy that is as long as the ledger is the ledger. Any other one lacks something, and is refused."""
        number = data.draw(st.integers(0, len(self.copies) - 1))
        self.ledger.close()
        shutil.copy(self.shelf.place(), self.shelf.place("newest"))
        shutil.copy(self.shelf.place(f"copy {number}"), self.shelf.place())
        if self.copies[number] != self.line:
            with pytest.raises(LedgerRolledBack):
                self.shelf.open()
            with pytest.raises(LedgerRolledBack):
                self.shelf.open(read_only=True)
            shutil.copy(self.shelf.place("newest"), self.shelf.place())
        self.ledger = self.shelf.open()

    @rule()
    def lose_the_anchor(self) -> None:
        """Only here can a person decide; the decision is an entry."""
        self.ledger.close()
        self.shelf.anchor.unlink()
        with pytest.raises(AnchorMissing):
            self.shelf.open()
        self.ledger = self.shelf.open(adopt=True)
        *_, decision = self.ledger.entries()
        self.line.append((decision.body, self.line[-1][1] if self.line else b""))

    @rule()
    def read(self) -> None:
        with self.shelf.open(read_only=True) as reader:
            self.is_the_line(reader)

    @invariant()
    def the_ledger_is_the_line(self) -> None:
        self.is_the_line(self.ledger)

    def is_the_line(self, ledger: Ledger) -> None:
        assert [entry.body for entry in ledger.entries()] == [body for body, _ in self.line]
        assert ledger.state == (self.line[-1][1] if self.line else b"")
        assert ledger.last.seq == len(self.line)
        found = ledger.find([b"%d" % number for number in range(self.number + 1)])
        assert {key: entry.body for key, entry in found.items()} == {
            body: body for body, _ in self.line if body.isdigit()
        }


LedgerMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=12, deadline=None)
TestLedger = LedgerMachine.TestCase
