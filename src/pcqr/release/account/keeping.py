"""The ledger behind an account: where a new one may be, where one is, and open for a moment."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pcqr.addresses import DatabaseAddress, without_password
from pcqr.errors import AccountReplaced, AnchorMissing, LedgerInUse, LedgerRolledBack, LedgerUnconfirmed, ParameterError
from pcqr.release.account import places

if TYPE_CHECKING:
    from pcqr.release.ledger import Ledger
    from pcqr.release.ledger.opening import WriteOff

PURPOSE = "account"
PATIENCE = 60.0
"""Seconds for which a charge waits while other processes are charging."""


@contextmanager
def ledger_at(
    where: DatabaseAddress | Path,
    anchor: str | Path | None,
    *,
    identity: str | None = None,
    writing: bool = False,
    adopt: bool = False,
    write_off: WriteOff | None = None,
) -> Iterator[Ledger]:
    """The ledger, open for a moment. Whoever wants to write waits while others do.

    Raises `AccountReplaced` where an `identity` is given and another ledger is there.
    """
    from pcqr.release.ledger import open_ledger  # noqa: PLC0415 - SQLAlchemy is slow to import

    until = time.monotonic() + PATIENCE
    while True:
        try:
            how = {"adopt": adopt, "read_only": not writing}
            ledger = open_ledger(where, PURPOSE, anchor=anchor, **how, write_off=write_off)
            break
        except AnchorMissing as error:
            name = places.name_of(where)
            adopting = f"To adopt it: pcqr account adopt {name}, or Account.open(…, adopt=True)."
            raise AnchorMissing(error.place, error.reason, f"{error.remedy} {adopting}") from None
        except LedgerRolledBack as error:
            name = places.name_of(where)
            lost = f"pcqr account adopt {name} --write-off, or Account.open(…, adopt=True, write_off=True)"
            remedy = f"If that is lost, go on with this older copy, with everything counted as spent: {lost}."
            raise LedgerRolledBack(error.place, error.reason, f"{error.remedy} {remedy}") from None
        except LedgerUnconfirmed:  # the last writer was killed: the next one confirms what is there
            writing = True
        except LedgerInUse:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
    with ledger:
        if identity not in (None, ledger.identity):
            raise AccountReplaced(places.name_of(where))
        yield ledger


def new_place(place: str | os.PathLike[str]) -> DatabaseAddress | Path:
    where = places.found(place)
    if isinstance(where, Path):
        if os.path.lexists(where):
            raise ParameterError("account", f"a new one: there is something at {where}", os.fspath(place))
        if where.parent == places.directory():
            places.make_directory()
    return where


def existing_place(place: str | os.PathLike[str]) -> DatabaseAddress | Path:
    where = places.found(place)
    if isinstance(where, Path) and not os.path.lexists(where):
        raise missing(place)
    return where


def missing(place: str | os.PathLike[str]) -> ParameterError:
    """What is said where there is no account: how to make one."""
    name, where = without_password(os.fspath(place)), places.found(place)
    return ParameterError(
        "account",
        f"one that exists (there is nothing at {where}). If it was there, bring it back: a new one would count from "
        f"nothing. To make it: pcqr account create {name} --epsilon … --delta …, or Account.create in Python",
        name,
    )
