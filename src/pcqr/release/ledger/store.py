"""What a ledger asks of its database: the same statements for every store, by SQLAlchemy Core.

A store says how to connect, what keeps other writers out, and what an error of its database means. Such errors may
quote what was written: they are replaced by sentences of our own and never passed on.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Executable, and_, bindparam, delete, insert, literal_column, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from pcqr.errors import LedgerDamaged, LedgerError, LedgerTooNew, NotALedger, PcqrError
from pcqr.release.ledger import tables
from pcqr.release.ledger.chain import Entry, Link, genesis
from pcqr.release.ledger.tables import ENTRIES, LEDGERS

Note = tuple[Executable, Sequence[Mapping[str, object]]]
"""A statement, and the rows that it writes beside the chain."""

KEYS_AT_ONCE = 512
"""Keys of one look-up: databases limit the parameters of a statement."""
_FIELDS = (ENTRIES.c.seq, ENTRIES.c.kind, ENTRIES.c.key, ENTRIES.c.body, ENTRIES.c.hash, ENTRIES.c.closing)
_BEFORE = ENTRIES.alias("before")
_ONE_EARLIER = and_(_BEFORE.c.ledger == ENTRIES.c.ledger, _BEFORE.c.seq == ENTRIES.c.seq - literal_column("1"))
_OF_THIS_LEDGER = ENTRIES.c.ledger + literal_column("0") == bindparam("number")
"""With "+ 0": SQLite expects ledgers to be short, and would read it all."""
WITH_KEYS = (
    select(*_FIELDS, _BEFORE.c.hash).select_from(ENTRIES.outerjoin(_BEFORE, _ONE_EARLIER)).where(_OF_THIS_LEDGER)
)
_FOUND = WITH_KEYS.where(ENTRIES.c.key.in_(bindparam("keys", expanding=True)))
_ROWS = (
    select(*_FIELDS)
    .where(ENTRIES.c.ledger == bindparam("number"), ENTRIES.c.seq.between(bindparam("first"), bindparam("final")))
    .order_by(ENTRIES.c.seq)
)
_SNAPSHOT = select(LEDGERS.c.seq, LEDGERS.c.hash, LEDGERS.c.state).where(LEDGERS.c.number == bindparam("number"))
_HASH_AT = select(ENTRIES.c.hash).where(ENTRIES.c.ledger == bindparam("number"), ENTRIES.c.seq == bindparam("at"))
_SNAPSHOT_KEPT = _SNAPSHOT.with_for_update()
INSERT = insert(ENTRIES)
_MOVE = (
    update(LEDGERS)
    .where(LEDGERS.c.number == bindparam("number"))
    .values(seq=bindparam("new_seq"), hash=bindparam("new_hash"), state=bindparam("new_state"))
)


class Reader(Protocol):
    """Asks tables beside the chain."""

    def __call__(self, statement: Executable, **values: object) -> Sequence[Any]: ...


class DuplicateKey(Exception):
    """An entry has the key already."""


@dataclass(frozen=True)
class Snapshot:
    """Where a ledger ends, and its state there, as of one moment."""

    last: Link
    state: bytes = field(repr=False)


class Store(ABC):
    """One ledger in one database. `place` names it in messages, without a password."""

    has_one_writer: bool
    """Does one process at a time write it, for as long as it is open?"""
    identity: str
    """Hexadecimal, once `bind` has found the ledger."""

    errors: tuple[type[Exception], ...] = (SQLAlchemyError,)
    """What its database raises."""
    clashes: tuple[type[Exception], ...] = (IntegrityError,)
    """What it raises where a number or a key is there already."""
    version = 0
    """That of its tables, once `bind` has found the ledger."""

    def __init__(self, engine: Engine, place: str, name: str, *, read_only: bool) -> None:
        self.place = place
        self._is_reader = read_only
        self._engine = engine
        self._name = name
        self._number = 0
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        """The database's own, for `leave`."""
        self._texts: dict[Executable, str] = {}
        """What every turn says, put into words once."""

    @abstractmethod
    def explained(self, error: Exception) -> LedgerError:
        """What an error of the database means, with the remedy."""

    def damaged(self) -> LedgerDamaged:
        return LedgerDamaged(
            self.place,
            "is damaged: its database is broken or cut off",
            "Bring back the newest copy: it is refused if it lacks something that was replied.",
        )

    def secure(self) -> None:  # noqa: B027 - most stores have nothing to do
        """Bring everything that was committed, by whomever, to the disk."""

    def check_in_place(self) -> None:  # noqa: B027
        """Raise if what was committed went into files that are no longer the ledger's."""

    def check_pages(self) -> None:  # noqa: B027
        """Raise if the database's own structure is damaged. May read all of it."""

    def bind(self, purpose: str) -> None:
        """Find the ledger in its database, and bring the tables up to date where they are older."""
        with self.reading() as connection:
            self.version = self._checked_version(connection)
            columns = (LEDGERS.c.number, LEDGERS.c.identity, LEDGERS.c.purpose)
            found = connection.execute(select(*columns).where(LEDGERS.c.name == self._name)).one_or_none()
        if found is None:
            raise NotALedger(self.place, "does not exist", "Create it first, or look for a misspelt name.")
        if found.purpose != purpose:
            raise NotALedger(
                self.place,
                f"is that of {_article(found.purpose)}, where that of {_article(purpose)} is wanted",
                "Name the other one.",
            )
        self._number, self.identity = found.number, found.identity
        if self.version < len(tables.MIGRATIONS) and not self._is_reader:
            with self.begin() as connection, self.explaining():
                self._begin_migrating(connection)
                tables.migrate(connection)
                connection.commit()
            self.version = len(tables.MIGRATIONS)

    def create(self, identity: bytes, purpose: str, connection: Connection) -> Link:
        """Tables, where there are none, and a ledger with its genesis, inside the caller's transaction."""
        tables.migrate(connection)
        first = genesis(identity, purpose)
        row = {"name": self._name, "identity": identity.hex(), "purpose": purpose, "state": b""}
        try:
            connection.execute(insert(LEDGERS).values(seq=first.seq, hash=first.hash, **row))
        except IntegrityError:
            raise NotALedger(self.place, "exists already", "Open it, or take another name.") from None
        self._number = connection.execute(select(LEDGERS.c.number).where(LEDGERS.c.name == self._name)).scalar_one()
        self.identity = identity.hex()
        self._insert(connection, [first])
        return first.link

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One snapshot, in which nothing changes."""
        with self.explaining(), self._engine.connect() as connection:
            self._begin_reading(connection)
            connection.begin()
            yield connection

    def begin(self) -> Connection:
        """The only transaction that writes: to be committed or closed, which rolls it back."""
        with self.explaining():
            connection = self._engine.connect()
            try:
                self._begin_writing(connection)
                connection.begin()
            except BaseException:
                connection.close()
                raise
            return connection

    def snapshot(self, connection: Connection, *, keep: bool = False) -> Snapshot:
        """The ledger's end; with `keep`, nobody else moves it before the transaction ends."""
        ((seq, hashed, state),) = self._say(connection, _SNAPSHOT_KEPT if keep else _SNAPSHOT)
        return Snapshot(Link(seq, hashed), state)

    def hash_at(self, connection: Connection, seq: int) -> bytes | None:
        found: Sequence[tuple[bytes]] = self._say(connection, _HASH_AT, at=seq)
        return found[0][0] if found else None

    def final_seq(self, connection: Connection) -> int:
        """The largest number that an entry has."""
        asked = select(ENTRIES.c.seq).where(ENTRIES.c.ledger == self._number).order_by(ENTRIES.c.seq.desc()).limit(1)
        return int(connection.execute(asked).scalar_one_or_none() or 0)

    def rows(self, connection: Connection, first: int, final: int) -> list[Entry]:
        """The entries from `first` to `final`, in order."""
        return [Entry(*row) for row in self._say(connection, _ROWS, first=first, final=final)]

    def found(self, connection: Connection, keys: Sequence[bytes]) -> list[tuple[Entry, bytes]]:
        """The entries that have one of `keys`, each with the hash of the one before it (empty where there is none)."""
        found: list[tuple[Entry, bytes]] = []
        for start in range(0, len(keys), KEYS_AT_ONCE):
            rows = self._looked_up(connection, keys[start : start + KEYS_AT_ONCE])
            found += ((Entry(*fields), before or b"") for *fields, before in rows)
        return found

    def read(self, connection: Connection, statement: Executable, **values: object) -> Sequence[Any]:
        """What tables beside the chain hold."""
        with self.explaining():
            return connection.execute(statement, {"number": self._number, **values}).all()

    def note(self, connection: Connection, notes: Sequence[Note]) -> None:
        """Write beside the chain, in the caller's transaction."""
        for statement, rows in notes:
            self._do_all(connection, statement, [{"number": self._number, **row} for row in rows])

    def write(self, connection: Connection, entries: Sequence[Entry], state: bytes) -> None:
        """One turn, in the caller's transaction. Raises `DuplicateKey`."""
        try:
            self._insert(connection, entries)
        except self.clashes:
            connection.rollback()
            is_there = self.found(connection, [entry.key for entry in entries if entry.key is not None])
            if is_there:
                raise DuplicateKey from None
            raise self.damaged() from None
        last = entries[-1]
        self._do(connection, _MOVE, new_seq=last.seq, new_hash=last.hash, new_state=state)

    def remove_empty(self) -> bool:
        """Remove the ledger if it has its genesis alone; says whether it did."""
        with self.begin() as connection, self.explaining():
            if self.snapshot(connection, keep=True).last.seq != 0:
                return False
            connection.execute(delete(ENTRIES).where(ENTRIES.c.ledger == self._number))
            connection.execute(delete(LEDGERS).where(LEDGERS.c.number == self._number))
            connection.commit()
        return True

    def close(self) -> None:
        self._engine.dispose()

    def leave(self) -> None:
        """Let go in a process that was forked, without a word to the database: its connections are the parent's."""
        for name in ("do_rollback", "do_commit", "do_close", "do_terminate"):
            setattr(self._engine.dialect, name, _do_nothing)

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Errors of the database become our own. Values of another type than a column's are such errors, too."""
        try:
            yield
        except PcqrError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise self.explained(error) from None
        except self.errors as error:
            raise self.explained(error) from None

    @abstractmethod
    def _begin_reading(self, connection: Connection) -> None: ...

    @abstractmethod
    def _begin_writing(self, connection: Connection) -> None: ...

    def _say(self, connection: Connection, statement: Executable, **values: object) -> Sequence[Any]:
        found: Sequence[Any] = self._do(connection, statement, **values).fetchall()
        return found

    def _do(self, connection: Connection, statement: Executable, **values: object) -> Any:
        return connection.exec_driver_sql(self._text(statement), {"number": self._number, **values})

    def _do_all(self, connection: Connection, statement: Executable, rows: Sequence[Mapping[str, object]]) -> None:
        connection.exec_driver_sql(self._text(statement), list(rows))

    def _looked_up(self, connection: Connection, keys: Sequence[bytes]) -> Sequence[Any]:
        return connection.execute(_FOUND, {"number": self._number, "keys": keys}).all()

    def _insert(self, connection: Connection, entries: Sequence[Entry]) -> None:
        names = ENTRIES.columns.keys()
        self._do_all(connection, INSERT, [dict(zip(names, (self._number, *entry), strict=True)) for entry in entries])

    def _text(self, statement: Executable) -> str:
        if statement not in self._texts:
            self._texts[statement] = str(statement.compile(dialect=self._engine.dialect))  # type: ignore[attr-defined]
        return self._texts[statement]

    def _begin_migrating(self, connection: Connection) -> None:  # noqa: B027
        """Keep other processes from doing the same."""

    def _checked_version(self, connection: Connection) -> int:
        found, own = tables.version(connection), len(tables.MIGRATIONS)
        if found == 0:
            raise NotALedger(self.place, "does not exist: its database has no ledgers", "Create it first.")
        if found > own:
            raise LedgerTooNew(
                self.place,
                f"was written by a newer version of pcqr: its tables are version {found}, and this pcqr knows {own}",
                "Install a newer pcqr.",
            )
        return found


def _do_nothing(_: object) -> None:
    pass


def _article(purpose: str) -> str:
    return f"{'an' if purpose[0] in 'aeiou' else 'a'} {purpose}"
