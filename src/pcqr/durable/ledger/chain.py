"""Adoptions: decisions of a person to go on with a copy of a ledger."""

from __future__ import annotations

import getpass
import json
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from pcqr.privacy.guarantee import COPY


@dataclass(frozen=True)
class Adoption:
    """One adoption, as the entry in the ledger has it."""

    time: str
    """When, in UTC, by the clock of that machine."""
    entries: int
    """How many entries the copy had."""
    lost: int | None
    """How many more the anchor had known, which the copy lacks. None: there was no anchor to say."""
    is_written_off: bool
    """Was everything that may have been used since the copy was made counted as used?"""
    user: str | None
    host: str | None
    """Who, and on which machine: for the data holder. None where the system did not say."""

    @property
    def assumption(self) -> str:
        """The assumption on which the guarantee rests after this adoption."""
        if self.is_written_off:
            return (
                f"{COPY}{self.when}, with all that it lacks written off, was an older one, not one that went on apart"
            )
        return f"{COPY}{self.when}, without its anchor, was the newest one"

    @property
    def when(self) -> str:
        return f"{self.time.removesuffix('+00:00').replace('T', ' ')} UTC"

    def __str__(self) -> str:
        by = f" by {self.user or 'somebody'} on {self.host or 'some machine'}"
        lost = "what it lacks is not known" if self.lost is None else f"it lacks {self.lost:,} that were replied"
        what = "all that may have been used since is written off" if self.is_written_off else "taken as the newest copy"
        return f"{self.when}{by}, at entry {self.entries:,} ({lost}): {what}"

    def facts(self, *, for_holder: bool) -> dict[str, Any]:
        """Return the adoption for JSON. Without `for_holder` it has the time and the kind alone."""
        public: dict[str, Any] = {"time": self.time, "written_off": self.is_written_off}
        own = {"entries": self.entries, "lost": self.lost, "user": self.user, "host": self.host}
        return public | (own if for_holder else {})


def adoption_body(anchor: Link | None, *, is_written_off: bool) -> bytes:
    """Return the body of an adoption's entry: time, user, machine, and the position of the anchor."""
    facts = {
        "adopted": datetime.now(UTC).isoformat(timespec="seconds"),
        "user": _user(),
        "host": socket.gethostname() or None,
        "known": None if anchor is None else anchor.seq,
        "written_off": is_written_off,
    }
    return json.dumps(facts).encode()


def read_adoption(entry: Entry) -> Adoption:
    """Return the adoption in an entry."""
    facts = json.loads(entry.body)
    known, before = facts["known"], entry.before
    return Adoption(
        time=facts["adopted"],
        entries=before,
        lost=None if known is None else max(0, known - before),
        is_written_off=facts["written_off"],
        user=facts["user"],
        host=facts["host"],
    )


def _user() -> str | None:
    """Return the name of this process's user, from the system and not from a variable of the environment."""
    with suppress(ImportError, KeyError):
        import pwd  # noqa: PLC0415 - not on Windows

        return pwd.getpwuid(os.getuid()).pw_name
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return None


# ---------------------------------------------------------------------------------------------------------------------
# The chain: which bytes a hash covers, and how entries follow from one another (proofs/ledger.md).


TAG = b"pcqr ledger 1"
BEFORE_ALL = bytes(32)
"""What stands where the hash before the genesis would be."""
GENESIS, ADOPTED, STATE = "genesis", "adopted", "state"
_eight = struct.Struct(">Q").pack
RESERVED = (GENESIS, ADOPTED, STATE)
"""Kinds that the ledger itself writes: its beginning, a person's decision, a turn that changed the state alone."""


@dataclass(frozen=True, slots=True)
class Link:
    """A place in the chain: the number of an entry, and the hash that covers it and all before it."""

    seq: int
    hash: bytes

    def __str__(self) -> str:
        return f"entry {self.seq:,} ({self.hash.hex()[:12]}…)"


class Draft(NamedTuple):
    """What a caller appends, before it has numbers and a hash. Its contents may be private: `repr` is silent."""

    kind: str
    body: bytes
    keys: bytes | None
    size: int = 1

    def __repr__(self) -> str:
        return f"Draft(kind={self.kind!r})"


class Entry(NamedTuple):
    """One entry of the log. `closing`, in the last entry of a turn, is SHA-256 of the state after it.

    An entry with `size` keys has as many numbers, of which `seq` is the last; `keys` are its keys, of one length, one
    after the other. An entry without keys has one number.

    Contents may be private: `repr` shows number, kind and hash alone. Fields are in the order of the table's columns.
    """

    seq: int
    kind: str
    keys: bytes | None
    body: bytes
    hash: bytes
    closing: bytes | None = None
    size: int = 1

    @property
    def link(self) -> Link:
        return Link(self.seq, self.hash)

    @property
    def before(self) -> int:
        """The number before its first."""
        return self.seq - self.size

    def each_key(self) -> list[bytes]:
        return [] if self.keys is None else split(self.keys, self.size)

    def position(self, key: bytes) -> int | None:
        """The place of `key` among its keys, from 0 on; None where it is not there."""
        if self.keys is None or len(key) * self.size != len(self.keys):
            return None
        if not key:
            return 0
        start = self.keys.find(key)
        while start % len(key) and start >= 0:  # the end of one key and the beginning of the next
            start = self.keys.find(key, start + 1)
        return start // len(key) if start >= 0 else None

    def __repr__(self) -> str:
        return f"Entry(seq={self.seq!r}, kind={self.kind!r}, hash={self.hash!r})"


class BrokenChain(Exception):
    """The entry `seq` is missing, or its hash does not cover what it holds."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        super().__init__(seq)


def split(keys: bytes, size: int) -> list[bytes]:
    """So many keys of one length, out of their bytes in a row."""
    width = len(keys) // size
    return [keys[start : start + width] for start in range(0, len(keys), width)] if width else [keys] * size


def digest(state: bytes) -> bytes:
    return sha256(state).digest()


def hashed(
    previous: bytes,
    identity: bytes,
    seq: int,
    kind: str,
    keys: bytes | None,
    body: bytes,
    closing: bytes | None,
    size: int = 1,
) -> bytes:
    """hash_n. Every field has its length before it, so that no two entries have the same bytes.

    Without keys `size` is 1.
    """
    mark = b"\1" if size == 1 else b"\2" + _eight(size)
    own, end = b"" if keys is None else mark + keys, closing or b""
    parts = (
        *(previous, _named(identity), _eight(seq), _kind(kind)),
        *(_eight(len(own)), own, _eight(len(body)), body, _eight(len(end)), end),
    )
    return sha256(b"".join(parts)).digest()


@lru_cache(maxsize=16)
def _named(identity: bytes) -> bytes:
    """The first two fields, which all entries of a ledger share, and the length of the third."""
    return _eight(len(TAG)) + TAG + _eight(len(identity)) + identity + _eight(8)


@lru_cache(maxsize=16)
def _kind(kind: str) -> bytes:
    name = kind.encode()
    return _eight(len(name)) + name


def genesis(identity: bytes, purpose: str, state: bytes = b"") -> Entry:
    """Entry 0: which ledger this is, and what for."""
    facts = {"format": TAG.decode(), "identity": identity.hex(), "purpose": purpose}
    body, closing = json.dumps(facts, sort_keys=True).encode(), digest(state)
    own = hashed(BEFORE_ALL, identity, 0, GENESIS, None, body, closing)
    return Entry(0, GENESIS, None, body, own, closing)


def chained(last: Link, identity: bytes, drafts: Sequence[Draft], state: bytes) -> list[Entry]:
    """The entries of one turn after `last`: the last of them closes it with `state`."""
    entries, seq, previous = [], last.seq, last.hash
    for place, (kind, body, keys, size) in enumerate(drafts, start=1):
        closing = digest(state) if place == len(drafts) else None
        seq += size
        previous = hashed(previous, identity, seq, kind, keys, body, closing, size)
        entries.append(Entry(seq, kind, keys, body, previous, closing, size))
    return entries


def checked(last: Link | None, identity: bytes, entries: Iterable[Entry]) -> Iterator[Entry]:
    """`entries`, each compared with its hash; raises `BrokenChain` at the first that does not follow `last`.

    `last` is None where `entries` begin with the genesis.
    """
    seq, previous = (-1, BEFORE_ALL) if last is None else (last.seq, last.hash)
    for entry in entries:
        if not follows(previous, identity, entry) or entry.before != seq:
            raise BrokenChain(seq + 1)
        yield entry
        seq, previous = entry.seq, entry.hash


def follows(previous: bytes, identity: bytes, entry: Entry) -> bool:
    """Is the hash of `entry` the one that its contents have after `previous`? Contents of a wrong type have none."""
    seq, kind, keys, body, own, closing, size = entry
    try:
        return (size == 1 or (size > 1 and keys is not None)) and own == hashed(
            previous, identity, seq, kind, keys, body, closing, size
        )
    except (TypeError, AttributeError, struct.error):  # SQLite lets a column hold what it was not made for
        return False
