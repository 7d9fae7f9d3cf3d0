"""The tables of a ledger's database, and how they come about: numbered migrations, each in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    inspect,
    select,
    text,
    update,
)

from pcqr.release.ledger.chain import split

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


def _create_tables(connection: Connection) -> None:
    """As they were in version 1: an entry has one key, or none."""
    first = MetaData()
    META.to_metadata(first)
    Table(
        "pcqr_ledgers",
        first,
        Column("number", Integer, primary_key=True),
        Column("name", String, nullable=False, unique=True),
        Column("identity", String(32), nullable=False, unique=True),
        Column("purpose", String, nullable=False),
        Column("seq", BigInteger, nullable=False),
        Column("hash", LargeBinary, nullable=False),
        Column("state", LargeBinary, nullable=False),
    )
    Table(
        "pcqr_entries",
        first,
        Column("ledger", Integer, primary_key=True, autoincrement=False),
        Column("seq", BigInteger, primary_key=True, autoincrement=False),
        Column("kind", String, nullable=False),
        Column("key", LargeBinary),
        Column("body", LargeBinary, nullable=False),
        Column("hash", LargeBinary, nullable=False),
        Column("closing", LargeBinary),
        Index("pcqr_keys", "key", "ledger", unique=True),
        sqlite_with_rowid=False,
    )
    first.create_all(connection, checkfirst=False)
    connection.execute(insert(META).values(version=0))


def _create_book(connection: Connection) -> None:
    METADATA.create_all(connection, [USAGE, ASKED, REQUESTS], checkfirst=False)


def _create_index(connection: Connection) -> None:
    """Entries with many keys, and an index that is written in bulk. A process that knows neither stops at `keys`."""
    for change in (
        'pcqr_entries RENAME COLUMN "key" TO keys',
        "pcqr_entries ADD COLUMN size INTEGER NOT NULL DEFAULT 1",
        "pcqr_ledgers ADD COLUMN indexed BIGINT NOT NULL DEFAULT 0",
    ):
        connection.execute(text(f"ALTER TABLE {change}"))
    METADATA.create_all(connection, [INDEX], checkfirst=False)
    keyed = select(ENTRIES.c["keys"], ENTRIES.c.ledger, ENTRIES.c.seq).where(ENTRIES.c["keys"].is_not(None))
    found = connection.execute(keyed.order_by(ENTRIES.c["keys"]).execution_options(yield_per=_AT_ONCE))
    for rows in found.partitions():
        numbered = zip(rows, prefixes([key for key, *_ in rows]).tolist(), strict=True)
        connection.execute(
            insert(INDEX), [{"ledger": ledger, "prefix": number, "seq": seq} for (_, ledger, seq), number in numbered]
        )
    connection.execute(text("DROP INDEX pcqr_keys"))
    connection.execute(update(LEDGERS).values(indexed=LEDGERS.c.seq))


def _create_receipts(connection: Connection) -> None:
    """Earlier versions kept whole replies. A request that is sent again gets its answers from the chain."""
    connection.execute(text("DROP TABLE pcqr_requests"))
    METADATA.create_all(connection, [REQUESTS], checkfirst=False)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_create_tables, _create_book, _create_index, _create_receipts)
"""The n-th, counted from 0, brings a database from version n to version n + 1."""
_AT_ONCE = 10_000
_PREFIX = 8


def version(connection: Connection) -> int:
    """Which version the tables have; 0 where there are none."""
    if not inspect(connection).has_table(META.name):
        return 0
    return int(connection.execute(select(META.c.version)).scalar_one())


def migrate(connection: Connection) -> None:
    """Bring the tables up to date, inside the caller's transaction."""
    for number in range(version(connection), len(MIGRATIONS)):
        MIGRATIONS[number](connection)
        connection.execute(update(META).values(version=number + 1))
