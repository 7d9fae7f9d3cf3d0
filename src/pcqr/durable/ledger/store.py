"""The named points of the order in which a ledger writes, for tests that stop the process there.

creation:  "draft made" · "anchor made" · "ledger placed"
adoption:  "adoption recorded"
a turn:    "turn begun" · "entries written" · "committed" · "anchor written" · "anchor synced"
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Executable,
    Index,
    Insert,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    String,
    Table,
    and_,
    bindparam,
    delete,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from pcqr.durable.ledger.chain import Entry, Link, genesis, split
from pcqr.errors import LedgerDamaged, LedgerError, NotALedger, OtherVersion, PcqrError

CREATION = ("draft made", "anchor made", "ledger placed")
TURN = ("turn begun", "entries written", "committed", "anchor written", "anchor synced")

_watchers: list[Callable[[str], None]] = []


def reached(point: str) -> None:
    """Called by the code at each point. Does nothing unless a test watches."""
    for watcher in _watchers:
        watcher(point)


@contextmanager
def watched(watcher: Callable[[str], None]) -> Iterator[None]:
    """Call `watcher` with the name of every point that is reached inside the block."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


# ---------------------------------------------------------------------------------------------------------------------
# The tables of a ledger's database.


METADATA = MetaData()

META = Table("pcqr_meta", METADATA, Column("version", Integer, nullable=False))

LEDGERS = Table(
    "pcqr_ledgers",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("identity", String(32), nullable=False, unique=True),
    Column("purpose", String, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("indexed", BigInteger, nullable=False),
)
"""One row a ledger: the link of its last entry, the state after it, and up to which entry its keys are in the index."""

ENTRIES = Table(
    "pcqr_entries",
    METADATA,
    Column("ledger", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String, nullable=False),
    Column("keys", LargeBinary),
    Column("body", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("closing", LargeBinary),
    Column("size", Integer, nullable=False),
    sqlite_with_rowid=False,
)

INDEX = Table(
    "pcqr_index",
    METADATA,
    Column("ledger", Integer, primary_key=True, autoincrement=False),
    Column("prefix", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)
"""Which entry has a key that begins so (`prefix`): for entries up to a ledger's `indexed`."""

USAGE = Table(
    "pcqr_usage",
    METADATA,
    Column("ledger", Integer, primary_key=True, autoincrement=False),
    Column("asker", String, primary_key=True),
    Column("counts", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
"""One row an asker: what it has had of a release. Of one length, whatever the counts are."""

ASKED = Table(
    "pcqr_asked",
    METADATA,
    Column("ledger", Integer, primary_key=True, autoincrement=False),
    Column("asker", String, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", LargeBinary, nullable=False),
    Column("time", BigInteger, nullable=False),
    Index("pcqr_askers", "ledger", "seq", "asker", unique=True),
    sqlite_with_rowid=False,
)
"""The entries that each asker has asked for, in its own order, and how they were first told to it."""

REQUESTS = Table(
    "pcqr_requests",
    METADATA,
    Column("ledger", Integer, primary_key=True, autoincrement=False),
    Column("asker", String, primary_key=True),
    Column("token", LargeBinary, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("receipt", LargeBinary, nullable=False),
    Column("time", BigInteger, nullable=False),
    Index("pcqr_request_times", "ledger", "time"),
    sqlite_with_rowid=False,
)
"""Which answers a request with a token got: of one length, however many these are."""


def prefixes(keys: Sequence[bytes]) -> NDArray[np.int64]:
    """The first eight bytes of each key, as a number that a database can hold. Keys may have it in common."""
    return np.array(keys, dtype="S8").view(">i8").astype(np.int64)


def prefixes_in(keys: bytes, size: int) -> NDArray[np.int64]:
    """Those of so many keys of one length, out of their bytes in a row."""
    width = len(keys) // size
    if width < _PREFIX:
        return prefixes(split(keys, size))
    beginnings = np.frombuffer(keys, np.uint8).reshape(size, width)[:, :_PREFIX]
    return np.ascontiguousarray(beginnings).view(">i8").ravel().astype(np.int64)


VERSION = 4
"""Of the tables. A database with another version is refused."""
_PREFIX = 8


def version(connection: Connection) -> int:
    """Return which version the tables have; 0 where there are none."""
    if not inspect(connection).has_table(META.name):
        return 0
    return int(connection.execute(select(META.c.version)).scalar_one())


# ---------------------------------------------------------------------------------------------------------------------
# What a ledger asks of its database: the same statements for every store, by SQLAlchemy Core.
#
# A store says how to connect, what keeps other writers out, and what an error of its database means. Such errors may
# quote what was written: they are replaced by sentences of our own and never passed on.


Keyed = tuple[int, bytes, int]
"""An entry's number, its keys in a row, and how many these are."""
Note = tuple[Executable, Sequence[Mapping[str, object]]]
"""A statement, and the rows that it writes beside the chain."""

AT_ONCE = 512
"""Values of one look-up: databases limit the parameters of a statement."""
_PART = 16_384
_FIELDS = [column for column in ENTRIES.columns if column is not ENTRIES.c.ledger]
_BEFORE = ENTRIES.alias("before")
_ONE_EARLIER = and_(_BEFORE.c.ledger == ENTRIES.c.ledger, _BEFORE.c.seq == ENTRIES.c.seq - ENTRIES.c.size)
_IS_OURS = ENTRIES.c.ledger == bindparam("number")
_BETWEEN = and_(_IS_OURS, ENTRIES.c.seq > bindparam("after"), ENTRIES.c.seq <= bindparam("final"))
LINKED = select(*_FIELDS, _BEFORE.c.hash).select_from(ENTRIES.outerjoin(_BEFORE, _ONE_EARLIER)).where(_IS_OURS)
INDEXED = select(INDEX.c.prefix, INDEX.c.seq).where(INDEX.c.ledger == bindparam("number"))
_ALL_INDEXED = select(INDEX.c.prefix).where(INDEX.c.ledger == bindparam("number"))
_ROWS = select(*_FIELDS).where(_BETWEEN).order_by(ENTRIES.c.seq).limit(bindparam("most"))
_KEYED = select(ENTRIES.c.seq, ENTRIES.c["keys"], ENTRIES.c.size).where(_BETWEEN, ENTRIES.c["keys"].is_not(None))
_OF_KIND = select(ENTRIES.c.seq).where(_BETWEEN, ENTRIES.c.kind == bindparam("kind")).order_by(ENTRIES.c.seq)
_SNAPSHOT = select(LEDGERS.c.seq, LEDGERS.c.hash, LEDGERS.c.state, LEDGERS.c.indexed).where(
    LEDGERS.c.number == bindparam("number")
)
_HASH_AT = select(ENTRIES.c.hash).where(ENTRIES.c.ledger == bindparam("number"), ENTRIES.c.seq == bindparam("at"))
_SNAPSHOT_KEPT = _SNAPSHOT.with_for_update()
INSERT, INSERT_INDEX = insert(ENTRIES), insert(INDEX)
_MOVE = (
    update(LEDGERS)
    .where(LEDGERS.c.number == bindparam("number"))
    .values({name: bindparam(f"new_{name}") for name in ("seq", "hash", "state", "indexed")})
)


class Reader(Protocol):
    """Asks tables beside the chain."""

    def __call__(self, statement: Executable, **values: object) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Snapshot:
    """Where a ledger ends, its state there, and up to which entry its keys are in the index, as of one moment."""

    last: Link
    state: bytes = field(repr=False)
    indexed: int


class Store(ABC):
    """One ledger in one database. `place` names it in messages, without a password."""

    has_one_writer: bool
    """Does one process at a time write it, for as long as it is open?"""
    identity: str
    """Hexadecimal, once `bind` has found the ledger."""

    folder: Path | None = None
    """The directory of its file; None for a database that is elsewhere."""
    errors: tuple[type[Exception], ...] = (SQLAlchemyError, TypeError, ValueError, OverflowError)
    """What its database raises."""

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
        """Find the ledger in its database."""
        with self.reading() as connection:
            if not self._has_tables(connection):
                raise NotALedger(self.place, "does not exist: its database has no ledgers", "Create it first.")
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

    def create(self, identity: bytes, purpose: str, connection: Connection) -> Link:
        """Tables, where there are none, and a ledger with its genesis, inside the caller's transaction."""
        if not self._has_tables(connection):
            METADATA.create_all(connection, checkfirst=False)
            connection.execute(insert(META).values(version=VERSION))
        first = genesis(identity, purpose)
        row = {"name": self._name, "identity": identity.hex(), "purpose": purpose, "state": b"", "indexed": 0}
        try:
            connection.execute(insert(LEDGERS).values(seq=first.seq, hash=first.hash, **row))
        except IntegrityError:
            raise NotALedger(self.place, "exists already", "Open it, or take another name.") from None
        self._number = connection.execute(select(LEDGERS.c.number).where(LEDGERS.c.name == self._name)).scalar_one()
        self.identity = identity.hex()
        self._insert(connection, INSERT, [(self._number, *first)])
        return first.link

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One snapshot, in which nothing changes."""
        with self.explaining(), self._engine.connect() as connection:
            self._begin_reading(connection)
            connection.begin()
            yield connection

    def begin(self) -> Connection:
        """The only transaction that writes: to be committed, and ended or closed, which rolls back what was not."""
        with self.explaining():
            connection = self._writing()
            try:
                self._begin_writing(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    def commit(self, connection: Connection) -> None:
        """Of a transaction that `begin` gave."""
        connection.commit()

    def end(self, connection: Connection) -> None:
        """After a transaction that `begin` gave: what was not committed is rolled back."""
        connection.close()

    def snapshot(self, connection: Connection, *, keep: bool = False) -> Snapshot:
        """The ledger's end; with `keep`, nobody else moves it before the transaction ends."""
        ((seq, hashed, state, indexed),) = self._say(connection, _SNAPSHOT_KEPT if keep else _SNAPSHOT)
        return Snapshot(Link(seq, hashed), state, indexed)

    def hash_at(self, connection: Connection, seq: int) -> bytes | None:
        found: Sequence[tuple[bytes]] = self._say(connection, _HASH_AT, at=seq)
        return found[0][0] if found else None

    def final_seq(self, connection: Connection) -> int:
        """The largest number that an entry has."""
        asked = select(ENTRIES.c.seq).where(ENTRIES.c.ledger == self._number).order_by(ENTRIES.c.seq.desc()).limit(1)
        return int(connection.execute(asked).scalar_one_or_none() or 0)

    def rows(self, connection: Connection, after: int, final: int, most: int) -> list[Entry]:
        """The entries with numbers past `after`, in order, up to the one that ends with `final`: so many at most."""
        asked = {"number": self._number, "after": after, "final": final, "most": most}
        return [Entry(*row) for row in connection.execute(_ROWS, asked)]

    def of_kind(self, connection: Connection, kind: str, after: int, final: int) -> list[int]:
        """Return the numbers of the entries of this kind past `after`, up to `final`, in order."""
        return [seq for (seq,) in self._say(connection, _OF_KIND, kind=kind, after=after, final=final)]

    def keyed(self, connection: Connection, after: int, final: int) -> Sequence[Keyed]:
        """The keys of the entries past number `after` that have any."""
        return self._say(connection, _KEYED, after=after, final=final)

    def indexed(self, connection: Connection, prefixes: Sequence[int]) -> list[tuple[int, int]]:
        """These prefixes of keys, each with the numbers of the entries that have such a key, as the index knows it."""
        return self._looked_up(connection, INDEXED, INDEX.c.prefix, prefixes)

    def all_indexed(self, connection: Connection) -> Iterator[NDArray[np.int64]]:
        """The prefixes of all keys in the index, in parts."""
        found = self._do(connection, _ALL_INDEXED)
        while rows := found.fetchmany(_PART):
            yield np.fromiter(chain.from_iterable(rows), np.int64, len(rows))

    def linked(self, connection: Connection, seqs: Sequence[int]) -> list[tuple[Entry, bytes]]:
        """The entries with these numbers, each with the hash of the one before it (empty where there is none)."""
        rows = self._looked_up(connection, LINKED, ENTRIES.c.seq, seqs)
        return [(Entry(*fields), before or b"") for *fields, before in rows]

    def read(self, connection: Connection, statement: Executable, **values: object) -> Sequence[Any]:
        """What tables beside the chain hold."""
        with self.explaining():
            return connection.execute(statement, {"number": self._number, **values}).all()

    def note(self, connection: Connection, notes: Sequence[Note]) -> None:
        """Write beside the chain, in the caller's transaction."""
        for statement, rows in notes:
            self._do_all(connection, statement, [{"number": self._number, **row} for row in rows])

    def write(self, connection: Connection, entries: Sequence[Entry], state: bytes, indexed: int) -> None:
        """One turn, in the caller's transaction."""
        self._insert(connection, INSERT, [(self._number, *entry) for entry in entries])
        last = entries[-1]
        values = {"new_seq": last.seq, "new_hash": last.hash, "new_state": state, "new_indexed": indexed}
        self._do(connection, _MOVE, **values)

    def index(self, connection: Connection, rows: NDArray[np.int64]) -> None:
        """Put prefixes of keys, with the numbers of their entries, into the index, in the caller's transaction."""
        self._insert(connection, INSERT_INDEX, zip(repeat(self._number), *rows.T.tolist(), strict=False))

    def remove_empty(self) -> bool:
        """Remove the ledger if it has its genesis alone; says whether it did."""
        with self.begin() as connection, self.explaining():
            if self.snapshot(connection, keep=True).last.seq != 0:
                return False
            for table in (ENTRIES, INDEX):
                connection.execute(delete(table).where(table.c.ledger == self._number))
            connection.execute(delete(LEDGERS).where(LEDGERS.c.number == self._number))
            self.commit(connection)
        return True

    def close(self) -> None:
        self._engine.dispose()

    def leave(self) -> None:
        """Let go in a process that was forked, without a word to the database: its connections are the parent's."""
        for name in ("do_rollback", "do_commit", "do_close", "do_terminate"):
            setattr(self._engine.dialect, name, _do_nothing)

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Errors of the database become our own. Values of another type than a column's are such errors, too.

        The database's own error is dropped, `__context__` included: it holds the connection, and that the password.
        """
        try:
            yield
        except PcqrError:
            raise
        except self.errors as error:
            try:
                raise self.explained(error)
            except LedgerError as told:
                told.__context__ = None
                raise

    def _writing(self) -> Connection:
        """The connection for a transaction that writes."""
        return self._engine.connect()

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

    def _looked_up(
        self, connection: Connection, statement: Select[Any], column: ColumnElement[Any], values: Sequence[int]
    ) -> list[Any]:
        """What `statement` finds where `column` has one of `values`."""
        found: list[Any] = []
        for start in range(0, len(values), AT_ONCE):
            chosen = statement.where(column.in_(values[start : start + AT_ONCE]))
            found += connection.execute(chosen, {"number": self._number}).all()
        return found

    def _insert(self, connection: Connection, statement: Insert, rows: Iterable[tuple[Any, ...]]) -> None:
        names = statement.table.columns.keys()
        self._do_all(connection, statement, [dict(zip(names, row, strict=True)) for row in rows])

    def _text(self, statement: Executable) -> str:
        if statement not in self._texts:
            self._texts[statement] = str(statement.compile(dialect=self._engine.dialect))  # type: ignore[attr-defined]
        return self._texts[statement]

    def _has_tables(self, connection: Connection) -> bool:
        """Are there tables? Raise if they have another version."""
        found = version(connection)
        if found not in (0, VERSION):
            raise OtherVersion(self.place, f"has tables of version {found}, where this pcqr reads {VERSION}")
        return found != 0


def _do_nothing(_: object) -> None:
    pass


def _article(purpose: str) -> str:
    return f"{'an' if purpose[0] in 'aeiou' else 'a'} {purpose}"
