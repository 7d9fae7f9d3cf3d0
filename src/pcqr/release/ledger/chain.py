"""The chain: which bytes a hash covers, and how entries follow from one another (proofs/ledger.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from struct import Struct
from typing import NamedTuple

TAG = b"pcqr ledger 1"
BEFORE_ALL = bytes(32)
"""What stands where the hash before the genesis would be."""
GENESIS, ADOPTED, STATE = "genesis", "adopted", "state"
_eight = Struct(">Q").pack
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
    """What a caller appends, before it has a number and a hash. Its contents may be private: `repr` is silent."""

    kind: str
    body: bytes
    key: bytes | None

    def __repr__(self) -> str:
        return f"Draft(kind={self.kind!r})"


class Entry(NamedTuple):
    """One entry of the log. `closing`, in the last entry of a turn, is SHA-256 of the state after it.

    Contents may be private: `repr` shows number, kind and hash alone. Fields are in the order of the table's columns.
    """

    seq: int
    kind: str
    key: bytes | None
    body: bytes
    hash: bytes
    closing: bytes | None = None

    @property
    def link(self) -> Link:
        return Link(self.seq, self.hash)

    def __repr__(self) -> str:
        return f"Entry(seq={self.seq!r}, kind={self.kind!r}, hash={self.hash!r})"


class BrokenChain(Exception):
    """The entry `seq` is missing, or its hash does not cover what it holds."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        super().__init__(seq)


def digest(state: bytes) -> bytes:
    return sha256(state).digest()


def hashed(
    previous: bytes, identity: bytes, seq: int, kind: str, key: bytes | None, body: bytes, closing: bytes | None
) -> bytes:
    """hash_n. Every field has its length before it, so that no two entries have the same bytes."""
    own, end = b"" if key is None else b"\1" + key, closing or b""
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
    entries, previous, final = [], last.hash, last.seq + len(drafts)
    for seq, (kind, body, key) in enumerate(drafts, start=last.seq + 1):
        closing = digest(state) if seq == final else None
        previous = hashed(previous, identity, seq, kind, key, body, closing)
        entries.append(Entry(seq, kind, key, body, previous, closing))
    return entries


def checked(last: Link | None, identity: bytes, entries: Iterable[Entry]) -> Iterator[Entry]:
    """`entries`, each compared with its hash; raises `BrokenChain` at the first that does not follow `last`.

    `last` is None where `entries` begin with the genesis.
    """
    seq, previous = (0, BEFORE_ALL) if last is None else (last.seq + 1, last.hash)
    for entry in entries:
        if entry.seq != seq or not follows(previous, identity, entry):
            raise BrokenChain(seq)
        yield entry
        seq, previous = seq + 1, entry.hash


def follows(previous: bytes, identity: bytes, entry: Entry) -> bool:
    """Is the hash of `entry` the one that its contents have after `previous`? Contents of a wrong type have none."""
    try:
        return entry.hash == hashed(previous, identity, entry.seq, entry.kind, entry.key, entry.body, entry.closing)
    except (TypeError, AttributeError):  # SQLite lets a column hold what it was not made for
        return False
