"""The tables of a ledger's database, and how they come about: numbered migrations, each in one transaction."""

from __future__ import annotations

from collections.abc import Callable

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
    update,
)

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
)
"""One row a ledger: the link of its last entry, and the state after it."""

ENTRIES = Table(
    "pcqr_entries",
    METADATA,
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
    Column("told", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
"""What a request with a token got."""


def _create_tables(connection: Connection) -> None:
    METADATA.create_all(connection, [META, LEDGERS, ENTRIES], checkfirst=False)
    connection.execute(insert(META).values(version=0))


def _create_book(connection: Connection) -> None:
    METADATA.create_all(connection, [USAGE, ASKED, REQUESTS], checkfirst=False)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_create_tables, _create_book)
"""The n-th, counted from 0, brings a database from version n to version n + 1."""
WITH_BOOK = 2
"""The version from which on there is a book beside the chain."""


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
