"""SQLite: a ledger in one file, with one writer. WAL, full sync; mode 0600, and so are SQLite's files beside it."""

from __future__ import annotations

import ctypes
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Engine,
    Executable,
    Insert,
    Select,
    bindparam,
    create_engine,
    event,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from pcqr.durable.ledger.anchor import NewAnchor
from pcqr.durable.ledger.chain import Link
from pcqr.durable.ledger.store import AT_ONCE, Store, reached
from pcqr.errors import LedgerError, LedgerInUse, LedgerUnwritable, NotALedger
from pcqr.files import InUse, lock, sync_directory, unlock

NAME = "main"
PATIENCE = 30.0
"""Seconds to wait for somebody else's lock on the database, such as a tool that makes a copy."""
CACHE_KIB, READING_KIB = 32 * 1024, 2 * 1024
"""What the connection that writes keeps of the database in memory, and what each of those that read keeps."""
PAGES_IN_LOG = 2_000
"""The log is brought into the database after so many pages, and then written over: to make it longer takes longer.

The writer does so itself, at the end of a turn. A second connection that did so while the writer begins the log anew
could damage the database: a bug of SQLite until 3.51.3 (https://sqlite.org/wal.html#walresetbug).
"""
ROWS = 64
"""Rows of one insertion: in one by one the index would take twice as long."""
STEP = 20
"""Look-ups are of so many values, or a multiple: statements for few different numbers, as each has its price."""
_REOPEN = "Whether the last turn was recorded is not known. Open the ledger again, and read it."


class SqliteStore(Store):
    """The ledger in the file at `path`, which exists. A writer keeps others out for as long as it is open."""

    has_one_writer = True
    errors = (*Store.errors, sqlite3.Error)

    def __init__(self, path: Path, *, read_only: bool = False, place: str | None = None) -> None:
        self.path = path
        self.folder = path.parent
        self.place = place or str(path)
        self._lock: int | None = None
        self._writer: Connection | None = None
        self._is_forked = False
        """Is this a forked process? The transaction is then its parent's, to be ended there alone."""
        self._check_file()
        self._log = path.with_name(f"{path.name}-wal")
        if not read_only:
            if not os.access(path, os.W_OK):
                raise LedgerUnwritable(
                    self.place, "cannot be written: no permission, or a read-only disk", "Mend that first."
                )
            self._lock = self._locked()
        self._stat = path.stat()
        self._files = str(path), str(self._log)
        super().__init__(_engine(self._connector(read_only)), self.place, NAME, read_only=read_only)

    @classmethod
    def make(cls, path: Path, identity: bytes, purpose: str, anchor: NewAnchor) -> None:
        """Put a new ledger at `path`, whole or not at all; its anchor is made before it has its name."""
        if not path.parent.is_dir():
            raise LedgerUnwritable(
                str(path), "cannot be created: its directory does not exist", "Create the directory first."
            )
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise NotALedger(str(path), "cannot be created: there is a file already", "Take another path.") from None
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            draft = folder / path.name
            first = _drafted(draft, identity, purpose, str(path))
            reached("draft made")
            anchor.make(first)
            draft.replace(path)
            sync_directory(path.parent)
            reached("ledger placed")
        except BaseException:
            if path.stat().st_size == 0:
                path.unlink()
                anchor.undo()
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def secure(self) -> None:
        """What a killed process has written may be in the system's memory alone: the checkpoint syncs it.

        A copy that a tool of SQLite's has made may have lost its log, and gets one again.
        """
        with self.explaining(), self._engine.connect() as connection:
            try:
                for pragma in ("journal_mode = WAL", "wal_checkpoint(PASSIVE)"):
                    connection.connection.cursor().execute(f"PRAGMA {pragma}")  # not in a transaction
            except sqlite3.Error as error:
                raise self.explained(error) from None

    def check_in_place(self) -> None:
        """SQLite goes on writing to files that were removed or replaced under it. What it writes there is lost."""
        try:
            is_there = os.path.samestat(self._stat, os.stat(self._files[0]))  # noqa: PTH116 - every turn does so
            os.stat(self._files[1])  # noqa: PTH116
        except OSError:
            is_there = False
        if not is_there:
            raise LedgerUnwritable(
                self.place, "was moved, removed or replaced, or its -wal file was, while it was open", _REOPEN
            )

    def check_pages(self) -> None:
        with self.reading() as connection:
            if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() != "ok":
                raise self.damaged()

    def explained(self, error: Exception) -> LedgerError:
        code = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerInUse(
                self.place,
                "is locked by another program",
                "Wait until it is done, or close it: a tool that shows or copies databases, perhaps.",
            )
        if code in (0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT):
            return self.damaged()  # a row or a table is missing, a value has another type, or a number is there already
        reasons = {
            sqlite3.SQLITE_FULL: "cannot be written: the disk is full",
            sqlite3.SQLITE_READONLY: "cannot be written: its file, its directory or its disk is read-only",
            sqlite3.SQLITE_CANTOPEN: "cannot be opened: its file or its directory is missing or not permitted",
            sqlite3.SQLITE_IOERR: "cannot be read or written: the disk is full or has failed",
        }
        reason = reasons.get(code, f"cannot be used: SQLite gives up with error {code}")
        return LedgerUnwritable(self.place, reason, f"Mend that first. {_REOPEN}")

    def remove_empty(self) -> bool:
        is_gone = super().remove_empty()
        if is_gone:
            for end in ("", "-wal", "-shm", ".lock"):
                self.path.with_name(f"{self.path.name}{end}").unlink(missing_ok=True)
        return is_gone

    def commit(self, connection: Connection) -> None:
        if not self._is_forked:
            _begun(connection).commit()

    def end(self, connection: Connection) -> None:
        if not self._is_forked:
            _begun(connection).rollback()

    def close(self) -> None:
        if self._writer is not None and not self._writer.closed:
            with suppress(SQLAlchemyError):
                self._writer.invalidate()  # the pool would not close it: it was never given back
                self._writer.close()
        with suppress(SQLAlchemyError):
            super().close()
        if self._lock is not None:
            unlock(self._lock)
            os.close(self._lock)
            self._lock = None

    def leave(self) -> None:
        """SQLite must not even close a connection in a forked process: this one is never freed."""
        super().leave()
        self._is_forked = True
        for connection in list(self._connections):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _writing(self) -> Connection:
        """One and the same for all turns: it alone writes, and brings the log into the database."""
        if self._writer is None or self._writer.closed:
            self._writer = self._engine.connect()
            with self.explaining():
                _plain(self._writer).execute(f"PRAGMA cache_size = -{CACHE_KIB}").fetchall()
        return self._writer

    def _begin_reading(self, connection: Connection) -> None:
        """The engine says so: see `_engine`."""

    def _begin_writing(self, connection: Connection) -> None:
        _plain(connection).execute("BEGIN IMMEDIATE")

    # What every turn says, its beginning and its end too, without SQLAlchemy in between: that takes longer than SQLite.

    def _do(self, connection: Connection, statement: Executable, **values: object) -> sqlite3.Cursor:
        return _plain(connection).execute(self._text(statement), {"number": self._number, **values})

    def _do_all(self, connection: Connection, statement: Executable, rows: Sequence[Mapping[str, object]]) -> None:
        _plain(connection).executemany(self._text(statement), rows)

    def _insert(self, connection: Connection, statement: Insert, rows: Iterable[tuple[Any, ...]]) -> None:
        plain, waiting = _plain(connection), iter(rows)
        while part := tuple(islice(waiting, ROWS)):
            plain.execute(_positional(statement, len(part)), tuple(chain.from_iterable(part)))

    def _looked_up(
        self, connection: Connection, statement: Select[Any], column: ColumnElement[Any], values: Sequence[int]
    ) -> list[Any]:
        found: list[Any] = []
        for start in range(0, len(values), AT_ONCE):
            part = values[start : start + AT_ONCE]
            size = -(-len(part) // STEP) * STEP
            wanted = (self._number, *part, *repeat(part[-1], size - len(part)))
            found += _plain(connection).execute(_listing(statement, column, size), wanted)
        return found

    def _connector(self, read_only: bool) -> Callable[[], sqlite3.Connection]:
        """Connections to the file. Where there is no log, nor the right to make one, it is read as it lies there."""
        name = _address(self.path, mode="ro" if read_only else "rw")
        if read_only and not self._log.exists() and not os.access(self.path.parent, os.W_OK):
            name += "&immutable=1"

        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(
                name, PATIENCE, isolation_level=None, check_same_thread=False, factory=_Connection, uri=True
            )
            for pragma in _PRAGMAS if not read_only else ():
                connection.execute(f"PRAGMA {pragma}").fetchall()
            self._connections.add(connection)
            return connection

        return connect

    def _check_file(self) -> None:
        place = self.place
        try:
            found = self.path.stat()
            if not self.path.is_file():
                raise IsADirectoryError
            is_database = _is_database(self.path)
        except (FileNotFoundError, NotADirectoryError):
            raise NotALedger(place, "does not exist", "Create it first, or look for a misspelt path.") from None
        except OSError:
            raise LedgerUnwritable(place, "cannot be read: no permission, or no file", "Mend that first.") from None
        if not found.st_size or not is_database:
            how = "is no ledger" if found.st_size else "is empty: its creation was broken off, or it was emptied"
            raise NotALedger(place, how, "Bring back the right file; or create a ledger under another name.")
        if found.st_nlink > 1:
            raise LedgerError(
                place, "has a second name (a hard link), and would be damaged by two writers", "Remove the other name."
            )

    def _locked(self) -> int:
        """The open lock file beside the ledger. It stays when the ledger is closed: its name is what is agreed on."""
        beside = self.path.with_name(f"{self.path.name}.lock")
        try:
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError:
            raise LedgerUnwritable(
                self.place, f"cannot be written: {beside} cannot be made", "Its directory must be writable."
            ) from None
        try:
            lock(descriptor)
        except InUse:
            os.close(descriptor)
            raise LedgerInUse(
                self.place,
                "is open for writing already, in this process or another",
                "Only one may write. Close it there, or wait until that process ends; it can be read meanwhile.",
            ) from None
        return descriptor


def _address(path: Path, *, mode: str) -> str:
    return f"file:{quote(str(path))}?mode={mode}"


def _is_database(path: Path) -> bool:
    """Has the file SQLite's beginning? SQLite itself looks: where a process closes a file, it loses its locks on it."""
    try:
        with closing(sqlite3.connect(f"{_address(path, mode='ro')}&immutable=1", uri=True)) as connection:
            connection.execute("PRAGMA schema_version")
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CANTOPEN:
            raise PermissionError from None
        return error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_NOTADB  # what else is wrong with it is said later
    return True


class _Connection(sqlite3.Connection):
    """sqlite3's own cannot be referred to weakly."""


_PRAGMAS = (
    "synchronous = FULL",
    "fullfsync = ON",
    "checkpoint_fullfsync = ON",
    f"cache_size = -{READING_KIB}",
    f"wal_autocheckpoint = {PAGES_IN_LOG}",
    "trusted_schema = OFF",
)


_POSITIONS = sqlite.dialect(paramstyle="qmark")


@cache
def _positional(statement: Insert, rows: int) -> str:
    """The insertion of so many rows."""
    beginning, values = str(statement.compile(dialect=_POSITIONS)).split(" VALUES ")
    return f"{beginning} VALUES {', '.join([values] * rows)}"


@cache
def _listing(statement: Select[Any], column: ColumnElement[Any], size: int) -> str:
    """The look-up of so many values."""
    values: list[BindParameter[int]] = [bindparam(f"value_{number}") for number in range(size)]
    return str(statement.where(column.in_(values)).compile(dialect=_POSITIONS))


def _plain(connection: Connection) -> sqlite3.Connection:
    found: sqlite3.Connection = connection.connection.driver_connection  # type: ignore[assignment]
    return found


def _begun(connection: Connection) -> Connection | sqlite3.Connection:
    """Who is to end the transaction of a turn: SQLAlchemy, if it has come to know of it, which then ends SQLite's."""
    return connection if connection.in_transaction() else _plain(connection)


def _drafted(draft: Path, identity: bytes, purpose: str, place: str) -> Link:
    """A ledger with its genesis, whole in one file."""
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as plain:
            (mode,) = plain.execute("PRAGMA journal_mode = WAL").fetchone()
    except sqlite3.Error:
        mode = "none"
    if mode != "wal":
        raise LedgerUnwritable(
            place, "cannot be created: its disk is full, or has not what SQLite's log needs", "Take another disk."
        )
    store = SqliteStore(draft, place=place)
    try:
        with store.begin() as connection, store.explaining():
            first = store.create(identity, purpose, connection)
            store.commit(connection)
        store.secure()  # it gets its name without the log, and SQLite does not say so where closing fails to empty that
    except LedgerUnwritable as error:
        raise LedgerUnwritable(place, error.reason, "Mend that first. No ledger was made.") from None
    finally:
        store.close()
    return first


def _engine(connect: Callable[[], sqlite3.Connection]) -> Engine:
    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, hide_parameters=True, paramstyle="named")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:  # sqlite3 itself would begin late, or not at all
        plain = _plain(connection)
        if not plain.in_transaction:  # else it is a turn, in which something is asked by way of SQLAlchemy
            plain.execute("BEGIN")

    return engine
