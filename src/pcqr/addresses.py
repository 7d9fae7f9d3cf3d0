"""Addresses of databases, whose passwords serve to connect and are shown and written nowhere."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote_plus

_LIBPQ = """host hostaddr port dbname user passfile service options connect_timeout application_name
    fallback_application_name client_encoding target_session_attrs load_balance_hosts channel_binding require_auth
    requirepeer keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout gssencmode krbsrvname
    gsslib gssdelegation sslmode sslnegotiation sslcompression sslcert sslkey sslcertmode sslrootcert sslcrl sslcrldir
    sslsni ssl_min_protocol_version ssl_max_protocol_version"""
_SHOWN = {"ledger", *_LIBPQ.split()}
"""Parameters of an address that hold no secret: ours, and those of libpq. Any other may be a mistyped password."""
_SECRET = re.compile(r"(?is)[\s&;?#,]*\w*(pass(word|wd|phrase)?|pwd|pw|secret)\W*=.*")
"""What looks like a password in the middle of something else, and all that comes after it."""
_USER = re.compile(r"(?s)(?P<user>[^:/?]*)(?::[^@]*)?@(?P<rest>.*)")
"""The beginning of an address after its "://", as SQLAlchemy reads it."""
_MISTYPED = re.compile(r"(?i)\s*postgres(ql)?(\+\w+)?([:;,.]/*|//)(?=.*@)|(?=[^:/\\@\s]{2,}:[^@]*@)")
"""The beginning of an address whose "://" is misspelt, or which begins with user:password@."""
_WORDS = re.compile(r"[^/]*\w\s*=")
"""The beginning of libpq's other form of an address: host=… user=… password=…"""


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
        beginning = _MISTYPED.match(address)
        if beginning is None:
            return _SECRET.sub("", address) if _WORDS.match(address) else address
        mark, rest = beginning[0], address[beginning.end() :]
        scheme = ""
    user = ""
    if found := _USER.fullmatch(rest):
        user, rest = re.sub(r"(?is)%3a.*", "", found["user"]) + "@", re.sub(r"^[^/?]*@", "", found["rest"])
    rest, question, query = rest.partition("?")
    host, slash, database = rest.partition("/")
    host, database = re.sub(r"(?s):.*@", "@", host), re.sub(r"(?s):.*", "", database)
    rest = _SECRET.sub("", f"{host}{slash}{database}")
    user = _SECRET.sub("@", user)
    kept = [part for part in query.split("&") if _is_shown(unquote_plus(part))]
    return f"{scheme}{mark}{user}{rest}{question if kept else ''}{'&'.join(kept)}"


def hidden(place: Any) -> Any:
    """Return a `DatabaseAddress` for text that has a password in it, and all else as it is."""
    return DatabaseAddress(place) if isinstance(place, str) and without_password(place) != place else place


def _is_shown(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name in _SHOWN and _SECRET.search(value) is None
