"""PostgreSQL: ledgers in a database, each with any number of processes that take turns.

    postgresql://user@host/database?ledger=NAME        NAME is "main" where none is given

A turn keeps the ledger's row locked (SELECT … FOR UPDATE). The server must sync what it commits: that is asked when a
ledger is opened, and `synchronous_commit` is switched on for our own connections.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError

from pcqr.addresses import without_password
from pcqr.durable.ledger.anchor import NewAnchor
from pcqr.durable.ledger.store import Store, reached
from pcqr.errors import LedgerError, LedgerInUse, LedgerUnwritable, MissingExtra, ParameterError

NAME = "main"
PATIENCE = 60
"""Seconds to wait for the turns of others."""
_CREATION_LOCK = int.from_bytes(b"pcqr", "big")
_REOPEN = "Whether a turn that was under way was recorded is not known: open the ledger again, and read it."

_REASONS = {
    "08": "cannot be reached: the connection to the server broke, or was not made",
    "28P01": "cannot be opened: the password is wrong, or the server does not know this user",
    "no password": "cannot be opened: the server wants a password, and none was given",
    "28": "cannot be opened: the server refuses this user",
    "3D": "cannot be opened: the server has no such database",
    "25": "cannot be written: the server is read-only, a standby perhaps",
    "42501": "cannot be used: the user has not the right to do so",
    "53100": "cannot be written: the server's disk is full",
    "53": "cannot be used: the server is short of memory or connections",
    "57": "cannot be reached: the server was stopped or has broken off the connection",
}
"""By the error's code, or the beginning of it (PostgreSQL's manual, appendix A)."""


_WRONG_PASSWORD = ("28P01", "no password")
_SAID = {
    "password authentication failed": "28P01",
    "no pg_hba.conf entry": "28",
    'FATAL:  role "': "28",
    "does not exist": "3D",
    "too many": "53",
    "remaining connection slots": "53",
}
"""What a server says when it refuses a connection: libpq does not pass its code on."""


class PostgresStore(Store):
    """The ledger at `address`. Makes connections when it is first used."""

    has_one_writer = False

    def __init__(self, address: str, *, read_only: bool = False) -> None:
        url, name = parsed(address)
        shown, told = parsed(without_password(address))
        if told != name:  # ?ledger=main;password=…
            raise ParameterError("ledger", "a name in which nothing looks like a password (&password=…)", address)
        place = shown.update_query_dict({"ledger": name}).set(drivername="postgresql").render_as_string(False)
        try:
            engine = create_engine(url, hide_parameters=True)
        except ImportError:
            raise MissingExtra("A ledger in PostgreSQL", "postgres") from None
        super().__init__(engine, place, name, read_only=read_only)
        event.listen(engine, "connect", self._prepare)

    def make(self, identity: bytes, purpose: str, anchor: NewAnchor) -> None:
        """Put a new ledger into the database; its anchor is made before it is committed."""
        with self.begin() as connection, self.explaining():
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})"))
            try:
                first = self.create(identity, purpose, connection)
                reached("draft made")
                anchor.make(first)
            except BaseException:
                anchor.undo()
                raise
            self.commit(connection)
            reached("ledger placed")

    def bind(self, purpose: str) -> None:
        with self.reading() as connection:
            settings = ("fsync", "full_page_writes")
            is_off = [name for name in settings if connection.execute(text(f"SHOW {name}")).scalar_one() != "on"]
        if is_off and not self._is_reader:
            raise LedgerUnwritable(
                self.place,
                f"may forget what was replied: its server has {' and '.join(is_off)} switched off",
                "Switch that on in the server's configuration.",
            )
        super().bind(purpose)

    def explained(self, error: Exception) -> LedgerError:
        code = getattr(getattr(error, "orig", error), "sqlstate", None)
        if code is None and not hasattr(error, "orig"):
            return self.damaged()  # a row is missing, or a value has another type
        if code is None:
            code = _code_of_connection(error)
        if code in _WRONG_PASSWORD:
            return LedgerUnwritable(
                self.place, _REASONS[code], "Give the right password in PGPASSWORD or in a password file of libpq."
            )
        if code == "55P03":
            return LedgerInUse(
                self.place,
                f"is in a turn of another process that did not end within {PATIENCE} seconds",
                "Look for a process that hangs, and stop it.",
            )
        if code.startswith(("XX", "42P01", "42703", "23")):
            return self.damaged()  # 23: a number is there already
        reason = _REASONS.get(code) or _REASONS.get(code[:2]) or f"cannot be used: the server gives up ({code})"
        return LedgerUnwritable(self.place, reason, f"Mend that first. {_REOPEN}")

    def leave(self) -> None:
        """Close the inherited sockets without a word: else the server would wait for this process, too."""
        super().leave()
        for connection in list(self._connections):
            with suppress(Exception):
                os.close(connection.fileno())

    def _prepare(self, connection: Any, _: object) -> None:
        """Settings of every connection. Where the server waits for more than its own disk, it goes on doing so."""
        self._connections.add(connection)
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{PATIENCE}s'")
            if cursor.execute("SHOW synchronous_commit").fetchone() == ("off",):
                cursor.execute("SET synchronous_commit = on")
        connection.commit()

    def _begin_reading(self, connection: Connection) -> None:
        connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def _begin_writing(self, connection: Connection) -> None:
        connection.execution_options(isolation_level="READ COMMITTED")
        connection.begin()


def _code_of_connection(error: Any) -> str:
    """Return the code of an error that has none: the connection was not made, or broke. Its words are not passed on."""
    connection = getattr(error.orig, "pgconn", None)
    if connection is not None and connection.needs_password:
        return "no password"
    words = str(error.orig)
    return next((code for said, code in _SAID.items() if said in words), "08")


def parsed(address: str) -> tuple[URL, str]:
    """Return the address for SQLAlchemy, and the name of the ledger in the database. Errors do not show the address."""
    url = _url(address)
    if url.get_backend_name() != "postgresql":
        raise ParameterError(
            "ledger", "a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE?ledger=NAME", f"{url.drivername}:…"
        )
    name = url.query.get("ledger", NAME)
    if not isinstance(name, str) or not name:
        raise ParameterError("ledger", "one name at the end of the address", "several or none")
    return url.set(drivername="postgresql+psycopg").difference_update_query(["ledger"]), name


def _url(address: str) -> URL:
    try:
        return make_url(address)
    except (ArgumentError, ValueError):
        return URL.create("unreadable")
