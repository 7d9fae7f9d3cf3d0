"""A turn: what one caller reads and appends while nobody else does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Executable

from pcqr.errors import LedgerClosed, ParameterError
from pcqr.release.ledger.chain import RESERVED, Draft, Entry, Link
from pcqr.release.ledger.store import Note, Reader, Snapshot

Finder = Callable[[Sequence[bytes]], dict[bytes, Entry]]
At = Callable[[Sequence[int]], dict[int, Entry]]


class Turn:
    """What `ledger.turn()` gives. Its entries are written when the block ends, all of them or none."""

    def __init__(self, before: Snapshot, find: Finder, at: At, read: Reader, place: str) -> None:
        self.before = before
        """The ledger before this turn."""
        self.drafts: list[Draft] = []
        self.seq = before.last.seq
        """The last number by now."""
        self.notes: list[Note] = []
        """What is written beside the chain."""
        self._state = before.state
        self._find = find
        self._at = at
        self._read = read
        self._place = place
        self._keys: set[bytes] = set()
        self._absent: set[bytes] = set()
        """Keys that were looked for in vain."""
        self._is_over = False

    @property
    def last(self) -> Link:
        """The last entry before this turn."""
        return self.before.last

    @property
    def state(self) -> bytes:
        """The ledger's state: as it was, or as this turn has set it."""
        return self._state

    @state.setter
    def state(self, state: bytes) -> None:
        self._check_open()
        _check_bytes("state", state)
        self._state = state

    @property
    def is_empty(self) -> bool:
        """Has this turn nothing to write?"""
        return not self.is_chained and not self.notes

    @property
    def is_chained(self) -> bool:
        """Does this turn add to the chain?"""
        return bool(self.drafts) or self._state != self.before.state

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Entry]:
        """The entries of earlier turns that have one of `keys`, by key."""
        self._check_open()
        found = self._find(keys)
        self._absent.update(keys)
        self._absent.difference_update(found)
        return found

    def at(self, seqs: Sequence[int]) -> dict[int, Entry]:
        """Return the entries of earlier transactions with these numbers, by number."""
        self._check_open()
        return self._at(seqs)

    def append(self, kind: str, body: bytes, *keys: bytes) -> int:
        """Add an entry; returns its number. Its keys, if any, must be new to the ledger and of one length.

        An entry with several keys has a number for each, in their order: the last one is returned. A key that an
        earlier turn has is noticed at the end of the block, and nothing of this turn is then written.
        """
        self._check_open()
        if not isinstance(kind, str) or not kind or not kind.isprintable() or kind in RESERVED:
            raise ParameterError("kind", f"a printable word other than {', '.join(RESERVED)}", kind)
        _check_bytes("body", body)
        _check_bytes("key", *keys)
        if len(set(map(len, keys))) > 1:
            raise ParameterError("keys", "of one length", "some of another")
        new = set(keys)
        if len(new) < len(keys) or not new.isdisjoint(self._keys):
            raise duplicate_key()
        self._keys |= new
        self.drafts.append(Draft(kind, body, b"".join(keys) if keys else None, len(keys) or 1))
        self.seq += len(keys) or 1
        return self.seq

    def read(self, statement: Executable, **values: object) -> Sequence[Any]:
        """What tables beside the chain hold. `number` is this ledger's, in every statement."""
        self._check_open()
        return self._read(statement, **values)

    def note(self, statement: Executable, rows: Sequence[Mapping[str, object]]) -> None:
        """Write rows beside the chain when this turn is written, in the same commit. No hash covers them."""
        self._check_open()
        if rows:
            self.notes.append((statement, rows))

    def end(self) -> None:
        """Nothing can be added or asked from here on."""
        self._is_over = True

    def check_keys(self) -> None:
        """Raise if a key of this turn is that of an earlier one."""
        unknown = self._keys - self._absent
        if unknown and self._find(list(unknown)):
            raise duplicate_key()

    def _check_open(self) -> None:
        if self._is_over:
            raise LedgerClosed(self._place, "has ended this turn", "Take a new one: with ledger.turn() as turn.")


def duplicate_key() -> ParameterError:
    return ParameterError("key", "one that no entry of the ledger has", "one that an entry has")


def _check_bytes(name: str, *values: object) -> None:
    """The wording tells the type alone: what is kept may be private."""
    for value in values:
        if not isinstance(value, bytes):
            raise ParameterError(name, "bytes", type(value).__name__)
