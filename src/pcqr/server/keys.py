"""Who asks, by which key, and how much it may have."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pcqr.errors import ParameterError, SecretError
from pcqr.files import lock, replacing
from pcqr.privacy.entropy import SystemEntropy
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import UNLIMITED

Role = Literal["asker", "holder"]


@dataclass(frozen=True)
class Asker:
    """The name of a key, what it may see, and the new queries and unstable answers that it may have in all."""

    name: str | None
    role: Role
    allowance: Usage = UNLIMITED

    @property
    def is_holder(self) -> bool:
        return self.role == "holder"


NOBODY = Asker(None, "holder")
"""Without keys everybody on this machine is the holder, and no limit but the release's own applies."""


# ---------------------------------------------------------------------------------------------------------------------
# Keys: who may ask, as what, and how much. A file that holds names, roles and hashes; the keys themselves nowhere.
#
# A key is 256 random bits, shown once when it is made. The file has its SHA-256: whoever reads the file cannot ask with
# it, and a key is found by looking its hash up, so that the time of a refusal says nothing about other keys. Nothing
# slower than SHA-256 is needed: nobody can try 2²⁵⁶ keys.
#
# A name is for ever: what was asked and used up is recorded under it, so a revoked key keeps its name from being given
# to somebody else, who would see those answers.


PREFIX = "pcqr_"
_KEY = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_VERSION = 1
_MOST = 2**63 - 1
_MOST_BYTES = 1 << 24
"""Of the file: far more than anybody needs. A larger one is no file of keys."""
_WHAT = "The file of keys"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Key:
    """One key, without the key: its name, what it may do, and the SHA-256 that it is known by."""

    name: str
    role: Role
    allowance: Usage
    digest: str
    created: int
    revoked: int | None = None
    """When, in seconds since 1970; `revoked` is None while the key is good."""

    @property
    def asker(self) -> Asker:
        """Who asks with it."""
        return Asker(self.name, self.role, self.allowance)


def default_path() -> Path:
    """Where keys are unless told otherwise: `keys.json` in the user's data directory, or in PCQR_DATA_DIR."""
    import platformdirs  # noqa: PLC0415 - whoever names the file does without

    given = os.environ.get("PCQR_DATA_DIR")
    return (Path(given) if given else platformdirs.user_data_path("pcqr")) / "keys.json"


def digest(key: str) -> str:
    """What a key is known by in the file."""
    return hashlib.sha256(key.encode()).hexdigest()


def _new_key() -> str:
    return PREFIX + base64.urlsafe_b64encode(SystemEntropy().bytes(32)).rstrip(b"=").decode()


def holds_key(text: str) -> bool:
    """Is there something in the text that has the form of a key?"""
    return _KEY.search(text) is not None


class KeyFile:
    """The file, for those who change it: each change is whole or not at all, and waits for the one before it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, name: str, role: Role, allowance: Usage) -> str:
        """Make a key, and return it: it is kept nowhere else."""
        _check_name(name)
        if role not in get_args(Role):
            raise ParameterError("--role", "asker or holder", role)
        _check_allowance(allowance)
        key = _new_key()
        with self._locked() as keys:
            if name in keys:
                state = "in use" if keys[name].revoked is None else "revoked, and what it asked is kept under its name"
                remedy = f"pcqr keys renew {name} makes another key for it"
                raise ParameterError("NAME", f"a new name: the key {name} is {state} ({remedy})", name)
            keys[name] = Key(name, role, allowance, digest(key), int(time.time()))
            self._write(keys)
        return key

    def renew(self, name: str) -> str:
        """Make another key for a name, and return it. The old one lets nobody in any more, revoked or not.

        Role and allowance stay, and so does what was used: releases count by the name.
        """
        key = _new_key()
        with self._changing(name) as keys:
            keys[name] = replace(keys[name], digest=digest(key), created=int(time.time()), revoked=None)
            self._write(keys)
        return key

    def limit(self, name: str, changes: Mapping[str, int | None]) -> Key:
        """Set what a key may have of each release in all, from the server's next request on. None: no limit.

        What was used stays used: a key whose limit is lowered below that gets nothing new.
        """
        with self._changing(name) as keys:
            allowance = replace(keys[name].allowance, **changes)
            _check_allowance(allowance)
            keys[name] = replace(keys[name], allowance=allowance)
            self._write(keys)
            return keys[name]

    def revoke(self, name: str) -> Key:
        """Let nobody in with this key any more, from the server's next request on."""
        with self._changing(name) as keys:
            if keys[name].revoked is None:
                keys[name] = replace(keys[name], revoked=int(time.time()))
                self._write(keys)
            return keys[name]

    def keys(self) -> list[Key]:
        """All keys, the revoked ones too, by name. None where there is no file."""
        return sorted(self._read().values(), key=lambda key: key.name)

    @contextmanager
    def _changing(self, name: str) -> Iterator[dict[str, Key]]:
        """All keys, the one of this name among them, while nobody else changes them."""
        _check_name(name)
        with self._locked() as keys:
            if name not in keys:
                raise ParameterError("NAME", "the name of a key (pcqr keys list)", name)
            yield keys

    @contextmanager
    def _locked(self) -> Iterator[dict[str, Key]]:
        """All keys, while nobody else changes them. The lock is a file beside the keys, which are replaced whole."""
        beside = self.path.with_name(f"{self.path.name}.lock")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        try:
            lock(descriptor, wait=True)
            yield self._read()
        finally:
            os.close(descriptor)

    def _read(self) -> dict[str, Key]:
        try:
            return read(self.path)
        except FileNotFoundError:
            return {}

    def _write(self, keys: dict[str, Key]) -> None:
        content = {"format": "pcqr keys", "version": _VERSION, "keys": [_facts_of(key) for key in keys.values()]}
        try:
            with replacing(self.path) as draft:
                descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    json.dump(content, file, indent=2)
        except OSError as error:
            raise _unwritable(self.path, error) from None


class Keyring:
    """The keys as a server has them. A changed file is noticed at the next request; a damaged one lets nobody in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] | None = ()
        """What told the file apart that was read last; None where there was none."""
        self._askers: dict[str, Asker] | None = None

    def asker(self, key: str) -> Asker | None:
        """Who asks with this key; None where it is unknown or revoked.

        Raises
        ------
        SecretError
            The file cannot be read or believed: nobody can be let in.
        """
        return self._current().get(digest(key)) if _KEY.fullmatch(key) else None

    def _current(self) -> dict[str, Asker]:
        try:
            seen = _stamp(self._path.stat())
        except OSError:
            seen = None
        if seen != self._seen:  # before it is read: what changes meanwhile is noticed next time
            self._seen, self._askers = seen, self._read()
        if self._askers is None:
            remedy = "Bring back the right file, or make new keys: pcqr keys create"
            raise SecretError(self._path, "cannot be used", remedy, what=_WHAT)
        return self._askers

    def _read(self) -> dict[str, Asker] | None:
        try:
            keys = read(self._path)
        except FileNotFoundError:
            logger.error("%s is not there: nobody is let in", _WHAT)
            return None
        except SecretError as error:
            logger.error("%s %s: nobody is let in", _WHAT, error.reason)
            return None
        return {key.digest: key.asker for key in keys.values() if key.revoked is None}


def check_keys(path: Path) -> None:
    """Raise unless the file can be believed and lets somebody in: before a server starts."""
    remedy = "Make a key: pcqr keys create NAME --role asker"
    try:
        is_good = any(key.revoked is None for key in read(path).values())
    except FileNotFoundError:
        raise SecretError(path, "is not there", remedy, what=_WHAT) from None
    if not is_good:
        raise SecretError(path, "has no key that is good", remedy, what=_WHAT)


def read(path: Path) -> dict[str, Key]:
    """All keys of the file by name. Read strictly: a file that was cut off or edited wrongly is refused as a whole."""
    try:
        with path.open("rb") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o022:
                remedy = f"Whoever can write to it can let themselves in: chmod 600 {path}"
                raise SecretError(path, "can be written by others", remedy, what=_WHAT)
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SecretError(path, f"cannot be read ({error.strerror})", "Mend that.", what=_WHAT) from None
    try:
        if len(content) > _MOST_BYTES:
            raise ValueError
        document = json.loads(content.decode("ascii"), object_pairs_hook=_without_repeats)
        if set(document) != {"format", "version", "keys"} or document["format"] != "pcqr keys":
            raise ValueError
        if type(document["version"]) is not int or document["version"] != _VERSION:
            reason = f"has version {document['version']!r:.20}, and this pcqr knows {_VERSION}"
            raise SecretError(path, reason, "Install the pcqr that wrote it.", what=_WHAT)
        keys = [_key(entry) for entry in document["keys"]]
        if len({key.name for key in keys}) < len(keys) or len({key.digest for key in keys}) < len(keys):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        remedy = "Bring back the newest copy of it, or make new keys in another file."
        raise SecretError(path, "is damaged", remedy, what=_WHAT) from None
    return {key.name: key for key in keys}


def _stamp(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino, stat.st_mode


def _facts_of(key: Key) -> dict[str, Any]:
    allowance = {"queries": key.allowance.queries, "unstable": key.allowance.unstable}
    times = {"created": key.created, "revoked": key.revoked}
    return {"name": key.name, "role": key.role, "sha256": key.digest} | allowance | times


def _key(entry: dict[str, Any]) -> Key:
    name, role, known_by = entry["name"], entry["role"], entry["sha256"]
    numbers = [entry[field] for field in ("queries", "unstable", "created", "revoked")]
    is_plain = isinstance(name, str) and isinstance(known_by, str) and isinstance(role, str) and len(entry) == 7
    if not is_plain or not _NAME.fullmatch(name) or not _DIGEST.fullmatch(known_by) or role not in get_args(Role):
        raise ValueError
    if any(number is not None and (type(number) is not int or not 0 <= number <= _MOST) for number in numbers):
        raise ValueError
    queries, unstable, created, revoked = numbers
    if created is None:
        raise ValueError
    return Key(name, role, Usage(queries, unstable), known_by, created, revoked)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A name that stands twice in an object is not for a reader to choose from."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def _check_allowance(allowance: Usage) -> None:
    for option, number in (("--queries", allowance.queries), ("--unstable", allowance.unstable)):
        if number is not None and not 0 <= number <= _MOST:
            raise ParameterError(option, "a number of at least 0, below 2**63", number)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ParameterError("NAME", "at most 64 letters a to z, digits, - . _, a letter or digit first", name)


def _unwritable(path: Path, error: OSError) -> SecretError:
    return SecretError(path, f"cannot be written ({error.strerror})", "Mend that, or name another --keys.", what=_WHAT)
