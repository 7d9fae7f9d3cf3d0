"""Which entry has a key: an index in the database for most of a ledger, and memory for its end (proofs/ledger.md).

Keys are as good as random: put into the index one by one, each would change a page of its own. They are put there in
bulk and in order, those of many turns at a time. Until then the entries themselves say which keys they have: whoever
looks for a key reads the end of the ledger once, and remembers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from pcqr.release.ledger.chain import Entry, follows, split
from pcqr.release.ledger.checks import broken
from pcqr.release.ledger.store import Keyed, Snapshot, Store
from pcqr.release.ledger.tables import prefixes

MOST_RECENT = 65_536
"""Keys at the end of a ledger that are not in its index, at most."""


class Keys:
    """Finds the entries of a ledger by their keys. Threads may share it, each with a connection of its own."""

    def __init__(self) -> None:
        self._recent = _Recent(-1)

    def find(self, store: Store, connection: Connection, keys: Sequence[bytes], end: Snapshot) -> dict[bytes, Entry]:
        """The entries up to `end` that have one of `keys`, each compared with its hash."""
        recent = self._caught_up(store, connection, end)
        seqs = [(key, recent.seqs[key]) for key in keys if key in recent.seqs]
        numbers = prefixes(keys).tolist() if end.indexed > 0 else []
        indexed = store.indexed(connection, numbers)
        if indexed:
            alike: dict[int, list[bytes]] = {}
            for key, number in zip(keys, numbers, strict=True):
                alike.setdefault(number, []).append(key)
            seqs += ((key, seq) for number, seq in indexed for key in alike[number])
        seqs = [(key, seq) for key, seq in seqs if seq <= end.last.seq]
        entries = entries_at(store, connection, {seq for _, seq in seqs})
        return {key: entries[seq] for key, seq in seqs if entries[seq].position(key) is not None}

    def index(self, store: Store, connection: Connection, entries: Sequence[Entry], before: Snapshot) -> int:
        """Put all keys into the index, those of new `entries` after `before` too, if there are too many without it.

        Returns the number of the entry up to which they are there, in the caller's transaction.
        """
        new = _keyed(entries)
        recent = self._caught_up(store, connection, before) if new else None
        if recent is None or len(recent.seqs) + sum(size for *_, size in new) <= MOST_RECENT:
            return before.indexed
        store.index(connection, _rows(recent.seqs | _seqs(new)))
        return entries[-1].seq

    def committed(self, entries: Sequence[Entry], indexed: int) -> None:
        """Remember a turn that was written."""
        recent = self._recent
        if indexed > recent.since:
            self._recent = _Recent(indexed)
            return
        with recent.lock:
            if recent.until == entries[0].before:
                recent.add(_keyed(entries), entries[-1].seq)

    def _caught_up(self, store: Store, connection: Connection, end: Snapshot) -> _Recent:
        """The keys that the index lacks at `end`; perhaps more."""
        recent = self._recent
        if recent.since != end.indexed:
            recent = _Recent(end.indexed)
            if end.indexed > self._recent.since:  # else it is a look at an earlier moment
                self._recent = recent
        with recent.lock:
            if recent.until < end.last.seq:
                recent.add(store.keyed(connection, recent.until, end.last.seq), end.last.seq)
        return recent


class _Recent:
    """The entries that have a key, of those after number `since` and up to `until`."""

    def __init__(self, since: int) -> None:
        self.since = self.until = since
        self.seqs: dict[bytes, int] = {}
        self.lock = Lock()

    def add(self, entries: Iterable[Keyed], until: int) -> None:
        self.seqs.update(_seqs(entries))
        self.until = until


def _keyed(entries: Iterable[Entry]) -> list[Keyed]:
    return [(entry.seq, entry.keys, entry.size) for entry in entries if entry.keys is not None]


def _seqs(entries: Iterable[Keyed]) -> dict[bytes, int]:
    return {key: seq for seq, keys, size in entries for key in split(keys, size)}


def _rows(seqs: Mapping[bytes, int]) -> NDArray[np.int64]:
    """What the index has of these keys, in its order. Keys of one entry that begin alike have one row."""
    columns = prefixes(list(seqs)), np.fromiter(seqs.values(), np.int64, len(seqs))
    rows = np.stack(columns, axis=1)[np.lexsort(columns[::-1])]
    found: NDArray[np.int64] = rows[np.append(True, np.any(rows[1:] != rows[:-1], axis=1))]
    return found


def entries_at(store: Store, connection: Connection, seqs: set[int]) -> dict[int, Entry]:
    """The entries with these numbers, by number."""
    identity, found = bytes.fromhex(store.identity), {}
    for entry, previous in store.linked(connection, sorted(seqs)):
        if not follows(previous, identity, entry):
            raise broken(store.place, entry.seq)
        found[entry.seq] = entry
    for seq in seqs - found.keys():
        raise broken(store.place, seq)
    return found
