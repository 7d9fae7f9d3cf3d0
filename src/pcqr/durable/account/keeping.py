"""The ledger behind an account: where a new one may be, where one is, and open for a moment."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pcqr.addresses import DatabaseAddress, without_password
from pcqr.errors import (
    AccountReplaced,
    AnchorMissing,
    LedgerInUse,
    LedgerRolledBack,
    LedgerUnconfirmed,
    LedgerUnwritable,
    ParameterError,
)

if TYPE_CHECKING:
    from pcqr.durable.ledger import Ledger
    from pcqr.durable.ledger.opening import WriteOff


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
    from pcqr.durable.ledger import open_ledger  # noqa: PLC0415 - SQLAlchemy is slow to import

    until = time.monotonic() + PATIENCE
    while True:
        try:
            how = {"adopt": adopt, "read_only": not writing}
            ledger = open_ledger(where, PURPOSE, anchor=anchor, **how, write_off=write_off)
            break
        except AnchorMissing as error:
            name = name_of(where)
            adopting = f"To adopt it: pcqr account adopt {name}, or Account.open(…, adopt=True)."
            raise AnchorMissing(error.place, error.reason, f"{error.remedy} {adopting}") from None
        except LedgerRolledBack as error:
            name = name_of(where)
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
            raise AccountReplaced(name_of(where))
        yield ledger


def new_place(place: str | os.PathLike[str]) -> DatabaseAddress | Path:
    where = found(place)
    if isinstance(where, Path):
        if os.path.lexists(where):
            raise ParameterError("account", f"a new one: there is something at {where}", os.fspath(place))
        if where.parent == directory():
            make_directory()
    return where


def existing_place(place: str | os.PathLike[str]) -> DatabaseAddress | Path:
    where = found(place)
    if isinstance(where, Path) and not os.path.lexists(where):
        raise missing(place)
    return where


def missing(place: str | os.PathLike[str]) -> ParameterError:
    """What is said where there is no account: how to make one."""
    name, where = without_password(os.fspath(place)), found(place)
    return ParameterError(
        "account",
        f"one that exists (there is nothing at {where}). If it was there, bring it back: a new one would count from "
        f"nothing. To make it: pcqr account create {name} --epsilon … --delta …, or Account.create in Python",
        name,
    )


# ---------------------------------------------------------------------------------------------------------------------
# Where accounts are: by a name, in the user's data directory; by a path; or by the address of a database.


SUFFIX = ".account"
_NAME = re.compile(r"[^\W_][\w.-]*")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""What Windows does not take as the name of a file."""
_SQLITE = "sqlite:///"
_LONGEST, _LONGEST_PATH = 100, 1_000


def directory() -> Path:
    """Where accounts with a name are: the user's data directory, or PCQR_DATA_DIR."""
    import platformdirs  # noqa: PLC0415 - whoever keeps nothing does without

    given = os.environ.get("PCQR_DATA_DIR")
    return (Path(given) if given else platformdirs.user_data_path("pcqr")) / "accounts"


def found(place: str | os.PathLike[str]) -> DatabaseAddress | Path:
    """The file, or the address of a database, that a name, a path or an address stands for.

    A path has a separator in it or ends in .account; an address has "://" in it; all else is a name.
    """
    text = os.fspath(place)
    if "\0" in text or len(text) > _LONGEST_PATH:
        raise ParameterError("account", "a name or a path", f"{without_password(text)[:_LONGEST]}…")
    if text.startswith(_SQLITE):
        return Path(text.removeprefix(_SQLITE)).absolute()
    if "://" in text:
        return DatabaseAddress(text)
    if not isinstance(place, Path) and without_password(text) != text:
        allowed = "a name, a path or an address, postgresql://USER@HOST/DATABASE?ledger=NAME"
        raise ParameterError("account", allowed, text)
    is_path = isinstance(place, os.PathLike) or any(mark in text for mark in ("/", os.sep)) or text.endswith(SUFFIX)
    if is_path:
        return Path(text).expanduser().absolute()
    if not _NAME.fullmatch(text) or _RESERVED.fullmatch(text) or len(text) > _LONGEST:
        raise ParameterError("account", "a name (letters, digits, - . _, a letter or digit first) or a path", text)
    return directory() / f"{text}{SUFFIX}"


def make_directory() -> None:
    """Make it, for this user alone, unless it is there."""
    try:
        directory().mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        remedy = "Mend that, or name another one by PCQR_DATA_DIR."
        raise LedgerUnwritable(str(directory()), f"cannot be made ({error.strerror})", remedy) from None


def name_of(place: str | os.PathLike[str]) -> str:
    """What a person calls the account that is there: its name where `found` finds it by that, else the place."""
    where = found(place)
    if isinstance(where, Path) and where.suffix == SUFFIX and where.parent == directory():
        return where.name.removesuffix(SUFFIX)
    return str(where)


def all_names() -> list[str]:
    """The names of all accounts that have one."""
    return sorted(path.name.removesuffix(SUFFIX) for path in directory().glob(f"*{SUFFIX}"))
