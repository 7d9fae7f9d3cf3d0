"""Where a release is served, and the key that opens it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pcqr.errors import ParameterError, SecretError

VARIABLE = "PCQR_KEY"
"""Where a key is looked for if nothing is said."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_KEY = re.compile(r"[!-~]{1,256}")
_MOST_KEY_BYTES = 4096
_ALLOWED = "http(s)://HOST[:PORT]/NAME, without a password, a key or a question mark"


@dataclass(frozen=True)
class Address:
    """One thing that a server has: the server's own address, `server`, and the `name` of the release or model.

    Examples
    --------
    >>> from pcqr.client.address import Address
    >>> Address.read("https://data.example.org:8443/pcqr/hospital")
    Address(server='https://data.example.org:8443/pcqr', name='hospital')
    """

    server: str
    name: str

    @classmethod
    def read(cls, url: str) -> Address:
        """The address that is spelt so. What looks like a secret in it is refused, and not repeated."""
        if not isinstance(url, str) or any(ord(letter) <= 32 or ord(letter) == 127 for letter in url):
            raise ParameterError("url", _ALLOWED, "something else")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ParameterError("url", _ALLOWED, "something else") from None
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise ParameterError("url", _ALLOWED, "one with more in it (a key is named by key=…, or set as PCQR_KEY)")
        path, _, name = parts.path.rstrip("/").rpartition("/")
        name = unquote(name)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError("url", _ALLOWED, url)
        if name and not _NAME.fullmatch(name):
            raise ParameterError("url", f"{_ALLOWED}; a NAME has letters, digits, dots, dashes, underscores", url)
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return cls(f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{path}", name)

    def __str__(self) -> str:
        return f"{self.server}/{self.name}"

    @property
    def is_encrypted(self) -> bool:
        return self.server.startswith("https:")

    @property
    def is_loopback(self) -> bool:
        """Is it this machine?"""
        host = urlsplit(self.server).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")


def is_address(place: str) -> bool:
    """Is `place` spelt as an address, not as a directory?"""
    return place.lower().startswith(("http://", "https://"))


def read_api_key(source: str | None) -> str | None:
    """The key of a server, from the variable PCQR_KEY or from where `source` says: file:PATH or env:NAME."""
    if source is None:
        text = os.environ.get(VARIABLE)
        return None if text is None else _checked(text, f"env:{VARIABLE}")
    kind, _, where = source.partition(":") if isinstance(source, str) else ("", "", "")
    if kind not in ("file", "env") or not where:
        raise ParameterError("key", f"file:PATH, env:NAME or None (the variable {VARIABLE})", "something else")
    if kind == "env":
        text = os.environ.get(where)
        if text is None:
            raise SecretError(source, "is not set", "Set that variable, or name another one.", what="The key")
        return _checked(text, source)
    try:
        with Path(where).open("rb") as file:
            content = file.read(_MOST_KEY_BYTES)
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
        raise SecretError(source, why, "Name a file that holds the key.", what="The key") from None
    return _checked(content.decode("ascii", "replace"), source)


def _checked(text: str, source: str) -> str:
    key = text.strip()
    if not _KEY.fullmatch(key):
        raise SecretError(source, "is not one line of visible letters", "It was printed by: pcqr keys", what="The key")
    return key
