"""Addresses of databases: the password in one serves to connect, in this process, and is shown and written nowhere."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote_plus

_PASSWORDS = ("password", "sslpassword")
"""Parameters of libpq that hold one."""
_USER = re.compile(r"(?s)(?P<user>[^:/?]*)(?::[^@]*)?@(?P<rest>.*)")
"""The beginning of an address after its "://", as SQLAlchemy reads it."""


class DatabaseAddress(os.PathLike[str]):
    """The address of a database. `os.fspath` gives it whole, text and pickles give it without a password."""

    def __init__(self, address: str) -> None:
        self._address = address

    def __fspath__(self) -> str:
        return self._address

    def __str__(self) -> str:
        return without_password(self._address)

    def __repr__(self) -> str:
        return repr(str(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatabaseAddress) and self._address == other._address

    def __hash__(self) -> int:
        return hash(self._address)

    def __reduce__(self) -> tuple[type[DatabaseAddress], tuple[str]]:
        return DatabaseAddress, (str(self),)

    def __copy__(self) -> DatabaseAddress:
        return self

    def __deepcopy__(self, _: object) -> DatabaseAddress:
        return self


def without_password(address: str) -> str:
    """Return the same address without a password: libpq then takes it from PGPASSWORD or a password file.

    Whatever could be a mistyped password goes with it. Text that is no address is returned as it is.
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        return address
    user = ""
    if found := _USER.fullmatch(rest):
        user, rest = f"{found['user']}@", re.sub(r"^[^/?]*@", "", found["rest"])
    rest, question, query = rest.partition("?")
    rest = re.sub(r":[^@]*@", "@", rest)
    kept = [part for part in query.split("&") if unquote_plus(part.partition("=")[0]) not in _PASSWORDS]
    return f"{scheme}{mark}{user}{rest}{question if any(kept) else ''}{'&'.join(kept)}"


def hidden(place: Any) -> Any:
    """Return an `DatabaseAddress` for text that has a password in it, and all else as it is."""
    return DatabaseAddress(place) if isinstance(place, str) and without_password(place) != place else place
