"""A turn: what one caller reads and appends while nobody else does."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from sqlalchemy import Executable
from sqlalchemy.exc import SQLAlchemyError

from pcqr.durable.ledger.anchor import Anchor
from pcqr.durable.ledger.chain import ADOPTED, RESERVED, STATE, Adoption, Draft, Entry, Link, chained, read_adoption
from pcqr.durable.ledger.reading import Keys, check_all, contains, entries_at, rolled_back, walk
from pcqr.durable.ledger.store import Note, Reader, Snapshot, Store, reached
from pcqr.errors import LedgerClosed, LedgerError, LedgerUnwritable, ParameterError
from pcqr.files import on_one_volume

if TYPE_CHECKING:
    from sqlalchemy import Connection, Executable


Finder = Callable[[Sequence[bytes]], dict[bytes, Entry]]
At = Callable[[Sequence[int]], dict[int, Entry]]


class Transaction:
    """What `ledger.transaction()` gives. Its entries are written when the block ends, all of them or none."""

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
            raise LedgerClosed(
                self._place, "has ended this transaction", "Begin a new one: with ledger.transaction() as transaction."
            )


def duplicate_key() -> ParameterError:
    return ParameterError("key", "one that no entry of the ledger has", "one that an entry has")


def _check_bytes(name: str, *values: object) -> None:
    """The wording tells the type alone: what is kept may be private."""
    for value in values:
        if not isinstance(value, bytes):
            raise ParameterError(name, "bytes", type(value).__name__)


# ---------------------------------------------------------------------------------------------------------------------
# The ledger: turns, reading, and the order of writes (proofs/ledger.md).


_UNKNOWN = (
    "Whether this turn was recorded is not known, and nothing of it was replied. Open the ledger again, and read it."
)

_abandoned: list[Connection] = []
_opened: weakref.WeakSet[Ledger] = weakref.WeakSet()


class Ledger:
    """An append-only log: what was once replied is in every ledger that opens. Made by `create_ledger`, `open_ledger`.

    Threads may share it. A process that was forked, and a copy by `pickle` or `copy`, can read and take no turns.
    """

    def __init__(
        self,
        store: Store,
        anchor: Anchor | None,
        anchor_path: Path,
        reopen: Callable[[], Ledger],
        elsewhere: Callable[[], Ledger],
        bound: Snapshot | None,
    ) -> None:
        self.identity = store.identity
        self._store = store
        self._anchor = anchor
        self.anchor_path = anchor_path
        """Where its anchor is, or would be if there were one."""
        self._reopen = reopen
        """How a forked process, or a copy in this one, opens it for reading."""
        self._elsewhere = elsewhere
        """How a pickled copy does: without a password."""
        self._bound = bound
        """For a reader: the moment that it shows. None for a writer."""
        self._keys = Keys()
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._why_closed: tuple[str, str] | None = None
        self._is_fork = False
        self._is_stale = False
        """Are its connections those of the process from which this one was forked?"""
        self._adoptions: tuple[int, tuple[Adoption, ...]] = 0, ()
        """Up to which entry they were looked for, and those that were found."""
        _opened.add(self)

    @property
    def place(self) -> str:
        """Where it is, without a password."""
        return self._store.place

    @property
    def is_read_only(self) -> bool:
        return self._bound is not None

    @property
    def is_confirmed(self) -> bool:
        """Was there an anchor to compare with? Only a reader goes without."""
        return self._anchor is not None

    @property
    def is_apart(self) -> bool:
        """Would the anchor stay as it is if the volume of the ledger were restored? A database is elsewhere."""
        folder = self._store.folder
        return folder is None or not on_one_volume(folder, self.anchor_path)

    @property
    def adoptions(self) -> tuple[Adoption, ...]:
        """Every adoption of a copy of this ledger, in order."""
        store, end = self._reader(), self._snapshot().last.seq
        after, found = self._adoptions
        if after < end:
            with store.reading() as connection:
                seqs = store.of_kind(connection, ADOPTED, after, end)
                entries = entries_at(store, connection, set(seqs))
            found += tuple(read_adoption(entries[seq]) for seq in seqs)
            self._adoptions = end, found
        return found

    @property
    def last(self) -> Link:
        """The last entry."""
        return self._snapshot().last

    @property
    def state(self) -> bytes:
        """The state after the last turn."""
        return self._snapshot().state

    def entries(self, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries with numbers past `after`, in order, at most `limit` of them, each compared with its hash."""
        return walk(self._reader(), after, self.last.seq, limit)

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Entry]:
        """The entries that have one of `keys`, by key."""
        store, anchored = self._reader(), self._anchored
        with store.reading() as connection:
            end = self._bound or self._end(connection, anchored)
            found = self._found(connection, keys, end)
        self._confirm(end.last)
        return found

    def at(self, seqs: Sequence[int]) -> dict[int, Entry]:
        """The entries with these numbers, which were read from a table beside the chain, by number."""
        with self._reader().reading() as connection:
            return self._at(connection, seqs)

    def read(self, statement: Executable, **values: object) -> Sequence[Any]:
        """What tables beside the chain hold. `number` is this ledger's, and `final` the last entry to be shown."""
        store, anchored = self._reader(), self._anchored
        with store.reading() as connection:
            end = self._bound or self._end(connection, anchored)
            found = store.read(connection, statement, final=end.last.seq, **values)
        self._confirm(end.last)
        return found

    def verify(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Check the whole chain and the database's own structure. Raises `LedgerDamaged` with the first broken entry.

        `progress`, where it is given, is called with the number of entries that were checked, and of all.
        """
        end = self._snapshot()
        self._store.check_pages()
        check_all(self._store, end, progress)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Read and append while nobody else does, in this process or another.

        When the block is left without an error, what was appended is on disk and confirmed: it may be shown. When the
        block raises, nothing was written. When the end of the block raises `LedgerUnwritable`, the outcome is not
        known, and the ledger has closed itself.
        """
        self._check_writable()
        self._check_no_transaction()
        with self._lock:
            self._owner = threading.get_ident()
            try:
                self._check_writable()
                yield from self._taken()
            finally:
                self._owner = None

    def discard(self) -> bool:
        """Remove the ledger and its anchor, and close it, if it has no entry: nothing was ever replied from it."""
        self._check_writable()
        self._check_no_transaction()
        with self._lock:
            is_gone = self._store.remove_empty()
            if is_gone and self._anchor is not None:
                self._anchor.remove()
                self._shut("was removed", "Create another one.")
        return is_gone

    def close(self) -> None:
        """Let others write. Everything that was replied is on disk already."""
        self._check_no_transaction()
        with self._lock:
            self._shut("is closed", "Open it again.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.identity} at {self.place}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, in this process or another, reads: two writers would be two counts of one budget."""
        return self._elsewhere, ()

    def __copy__(self) -> Ledger:
        return self._reopen()

    def __deepcopy__(self, _: object) -> Ledger:
        return self._reopen()

    def _taken(self) -> Iterator[Transaction]:
        connection = self._store.begin()
        try:
            with self._store.explaining():
                before = self._end(connection, self._anchored, keep=True)
            reached("turn begun")
            transaction = Transaction(
                before,
                partial(self._found_in_transaction, connection, before),
                partial(self._at, connection),
                partial(self._store.read, connection),
                self.place,
            )
            try:
                yield transaction
            finally:
                transaction.end()
            self._check_writable()  # not in a process that was forked inside the block
            transaction.check_keys()
            if transaction.is_empty:
                self._store.end(connection)
                self._confirm(before.last)
            else:
                self._record(connection, transaction)
        finally:
            self._give_back(connection)

    def _record(self, connection: Connection, transaction: Transaction) -> None:
        """Ledger commit → anchor → reply."""
        drafts = transaction.drafts or ([Draft(STATE, b"", None)] if transaction.is_chained else [])
        entries = chained(transaction.last, bytes.fromhex(self.identity), drafts, transaction.state)
        try:
            with self._store.explaining():
                if entries:
                    indexed = self._keys.index(self._store, connection, entries, transaction.before)
                    self._store.write(connection, entries, transaction.state, indexed)
                self._store.note(connection, transaction.notes)
                reached("entries written")
                self._store.commit(connection)
            reached("committed")
            self._store.check_in_place()
            self._confirm(entries[-1].link if entries else transaction.last)
            if entries:
                self._keys.committed(transaction.last, entries, indexed)
        except BaseException as error:
            self._shut("closed itself when a turn failed", "Open it again, and read what was recorded.")
            if isinstance(error, OSError):
                self._unwritable(f"cannot be confirmed: its anchor cannot be written ({error.strerror})")
            raise

    def _give_back(self, connection: Connection) -> None:
        """Roll back what was not committed."""
        if self._is_stale:
            _abandoned.append(connection)  # it is the parent's: neither a word through it, nor its end
            return
        with suppress(SQLAlchemyError):
            if self._why_closed is None:
                self._store.end(connection)
            else:
                connection.invalidate()  # its pool is gone: nobody else would close it
                connection.close()

    def _confirm(self, link: Link) -> None:
        """Nothing is shown before the anchor has reached it."""
        if self._bound is not None or self._anchor is None or link.seq <= self._anchor.link.seq:
            return
        self._anchor.advance(link, partial(contains, self._store))

    @property
    def _anchored(self) -> Link | None:
        """What was confirmed. To be asked before a snapshot is taken, which must then contain it."""
        return self._anchor.link if self._anchor is not None else None

    def _end(self, connection: Connection, anchored: Link | None, *, keep: bool = False) -> Snapshot:
        """A snapshot that contains `anchored`: a database may be brought back in time while a ledger in it is open."""
        end = self._store.snapshot(connection, keep=keep)
        if anchored not in (None, end.last) and self._store.hash_at(connection, anchored.seq) != anchored.hash:
            raise rolled_back(self.place, anchored, end.last)
        return end

    def _snapshot(self) -> Snapshot:
        store, anchored = self._reader(), self._anchored
        if self._bound is not None:
            return self._bound
        with store.reading() as connection:
            end = self._end(connection, anchored)
        self._confirm(end.last)
        return end

    def _found(self, connection: Connection, keys: Sequence[bytes], end: Snapshot) -> dict[bytes, Entry]:
        with self._store.explaining():
            return self._keys.find(self._store, connection, keys, end)

    def _found_in_transaction(self, connection: Connection, end: Snapshot, keys: Sequence[bytes]) -> dict[bytes, Entry]:
        if self._store.has_one_writer:
            with self._store.explaining():
                keys = self._keys.may_contain(self._store, connection, keys, end)
        return self._found(connection, keys, end) if keys else {}

    def _at(self, connection: Connection, seqs: Sequence[int]) -> dict[int, Entry]:
        with self._store.explaining():
            return entries_at(self._store, connection, set(seqs))

    def _reader(self) -> Store:
        if self._why_closed is not None:
            raise LedgerClosed(self.place, *self._why_closed)
        if self._is_stale:
            reader = self._reopen()
            self._store, self._anchor, self._bound = reader._store, reader._anchor, self._bound or reader._bound
            self._is_stale = False
        return self._store

    def _check_writable(self) -> None:
        if self._why_closed is not None:
            raise LedgerClosed(self.place, *self._why_closed)
        if self._is_fork:
            raise LedgerClosed(
                self.place, "was opened by the process from which this one was forked", "Only that one writes it."
            )
        if self._bound is not None:
            raise LedgerClosed(self.place, "is open for reading only", "Open it for writing.")

    def _check_no_transaction(self) -> None:
        if self._owner == threading.get_ident():
            raise LedgerError(self.place, "is in a turn of this thread already", "End that turn first.")

    def _shut(self, reason: str, remedy: str) -> None:
        if self._why_closed is None:
            self._why_closed = reason, remedy
            if not self._is_stale:
                self._store.close()
                if self._anchor is not None:
                    self._anchor.close()

    def _unwritable(self, reason: str) -> NoReturn:
        raise LedgerUnwritable(self.place, reason, _UNKNOWN) from None

    def _after_fork(self) -> None:
        if self._why_closed is None and not self._is_stale:
            self._is_fork = self._is_stale = True
            self._lock, self._keys = threading.Lock(), Keys()
            self._store.leave()
            if self._anchor is not None:
                self._anchor.leave()


def _leave_all() -> None:
    for ledger in list(_opened):
        ledger._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
