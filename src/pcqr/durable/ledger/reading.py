"""What is read from a ledger's database: entries compared with their hashes, and entries found by their keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, repeat
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from pcqr.durable.ledger.chain import BrokenChain, Entry, Link, checked, digest, follows, split
from pcqr.durable.ledger.store import Keyed, Snapshot, Store, prefixes, prefixes_in
from pcqr.errors import LedgerDamaged, LedgerRolledBack

# ---------------------------------------------------------------------------------------------------------------------
# What is checked of a chain, and what is said when it fails.


AT_ONCE = 512
"""Entries that are read together: a long look must not keep SQLite from bringing its log into the database."""
FEW = 16
"""Those that are read first: most looks are short."""
KEYS_AT_ONCE = 5_000
"""Keys that are looked for together when everything is checked."""
CHECKED_AT_LEAST = 1_000
"""Entries at the end of the chain that every opening re-computes."""


def walk(store: Store, after: int, final: int, limit: int | None = None) -> Iterator[Entry]:
    """The entries with numbers past `after` up to `final`, `limit` at most, each compared with its hash.

    −1: from the genesis on. An entry with numbers on both sides of `after` is among them.
    """
    identity, last, at_once = bytes.fromhex(store.identity), None, FEW
    while after < final and limit != 0:
        with store.reading() as connection:
            rows = store.rows(connection, after, final, at_once if limit is None else min(limit, at_once))
            if not rows or rows[0].before > after:
                raise broken(store.place, after + 1)
            if last is None and after >= 0:
                last = Link(rows[0].before, store.hash_at(connection, rows[0].before) or b"")
        try:
            for entry in checked(last, identity, rows):
                yield entry
                last, after = entry.link, entry.seq
        except BrokenChain as error:
            raise broken(store.place, error.seq) from None
        limit = None if limit is None else limit - len(rows)
        at_once = min(2 * at_once, AT_ONCE)


def check_all(store: Store, end: Snapshot, progress: Callable[[int, int], None] | None) -> None:
    """Re-compute the whole chain up to `end`, and see that the index has all the keys that it should."""
    keys: list[tuple[int, int]] = []
    for entry in walk(store, -1, end.last.seq):
        if entry.seq <= end.indexed:
            keys += zip(prefixes(entry.each_key()).tolist(), repeat(entry.seq), strict=False)
        if len(keys) >= KEYS_AT_ONCE or entry.seq in (end.indexed, end.last.seq):
            with store.reading() as connection:
                if not set(keys).issubset(store.indexed(connection, [number for number, _ in keys])):
                    raise store.damaged()
            keys = []
            if progress is not None:
                progress(entry.seq, end.last.seq)


def contains(store: Store, link: Link) -> bool:
    with store.reading() as connection:
        return store.hash_at(connection, link.seq) == link.hash


def check_anchor(store: Store, anchor: Link) -> None:
    """Raise unless the ledger contains its anchor."""
    with store.reading() as connection:
        if store.hash_at(connection, anchor.seq) != anchor.hash:
            raise rolled_back(store.place, anchor, store.snapshot(connection).last)


def check_end(store: Store, since: int | None = None) -> Snapshot:
    """The ledger as it is now, after the end of its chain was re-computed, and all that comes after entry `since`."""
    with store.reading() as connection:
        now, final = store.snapshot(connection), store.final_seq(connection)
    if final != now.last.seq:
        raise broken(store.place, min(final, now.last.seq) + 1)
    after = final - CHECKED_AT_LEAST if since is None else min(since, final - CHECKED_AT_LEAST)
    (end,) = deque(walk(store, max(after, -1), final), maxlen=1)
    if end.link != now.last or end.closing != digest(now.state):
        raise broken(store.place, final)
    return now


def broken(place: str, seq: int) -> LedgerDamaged:
    return LedgerDamaged(
        place,
        f"is damaged: its chain is broken at entry {seq:,}, which is missing or was changed",
        "Bring back the newest copy: it is refused if it lacks something that was replied.",
    )


def rolled_back(place: str, anchor: Link, last: Link) -> LedgerRolledBack:
    return LedgerRolledBack(
        place,
        f"is an older copy, or went on apart from the newest: it ends at {last} and lacks {anchor}, which was replied",
        "Going on with it would spend the same budget twice. Bring back the newest copy.",
    )


# ---------------------------------------------------------------------------------------------------------------------
# Which keys are surely new: a piece of memory of fixed size, past which most look-ups need not go (proofs/ledger.md).
#
# Queries are hardly ever repeated: to ask the database for each of them costs more than to write the answers down.


EXPONENT = 19
"""2^19 words of 64 bits are four megabytes: of a million keys and a new one, about one in a thousand is held back."""
_SHIFTS = np.array([[0], [6], [12], [18]], np.uint64)
_ONE, _PLACE = np.uint64(1), np.uint64(63)


class BloomFilter:
    """The keys of all entries of a ledger up to the link `until`, by their first eight bytes (`tables.prefixes`).

    These bytes name a word and at most four bits of it, which are set when a key is added and never cleared: a key
    with a bit that is not set was not added. A key whose bits are all set may have been, or others have set them.
    """

    def __init__(self, until: Link) -> None:
        self.until = until
        self._words = np.zeros(1 << EXPONENT, np.uint64)
        self._rest = np.uint64(64 - EXPONENT)

    def add(self, prefixes: NDArray[np.int64]) -> None:
        words, bits = self._marks(prefixes)
        np.bitwise_or.at(self._words, words, bits)

    def may_have(self, prefixes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """False where no key that begins so was added."""
        words, bits = self._marks(prefixes)
        found: NDArray[np.bool_] = self._words[words] & bits == bits
        return found

    def _marks(self, prefixes: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
        """The word of each key, by its first bits, and its bits in that word, by its last ones."""
        numbers = prefixes.view(np.uint64)
        bits = np.bitwise_or.reduce(_ONE << (numbers >> _SHIFTS & _PLACE), axis=0)
        return (numbers >> self._rest).astype(np.intp), bits


# ---------------------------------------------------------------------------------------------------------------------
# Which entry has a key: an index in the database for most of a ledger, and memory for its end (proofs/ledger.md).
#
# Keys are as good as random: put into the index one by one, each would change a page of its own. They are put there in
# bulk and in order, those of many turns at a time. Until then the entries themselves say which keys they have: whoever
# looks for a key reads the end of the ledger once, and remembers. The only writer of a ledger has a Bloom filter
# besides, that tells most new keys without a look at either.


MOST_RECENT = 65_536
"""Keys at the end of a ledger that are not in its index, at most."""
FILLING = 8
"""A filter is filled once one key was looked for to every so many in the index: to look takes longer than to fill."""
MOST_IN_FILTER = 1 << 23
"""With more keys a new filter would hold back most of those that are new."""


class Keys:
    """Finds the entries of a ledger by their keys. Threads may share it, each with a connection of its own."""

    def __init__(self) -> None:
        self._recent = _Recent(-1)
        self._filter: BloomFilter | None = None
        self._asked = 0
        """Keys that were looked for since there was a Bloom filter."""

    def find(self, store: Store, connection: Connection, keys: Sequence[bytes], end: Snapshot) -> dict[bytes, Entry]:
        """The entries up to `end` that have one of `keys`, each compared with its hash."""
        recent = self._caught_up(store, connection, end).seqs()
        seqs = [(key, recent[key]) for key in keys if key in recent]
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

    def may_contain(
        self, store: Store, connection: Connection, keys: Sequence[bytes], end: Snapshot
    ) -> Sequence[bytes]:
        """Those of `keys` that an entry up to `end` may have: no entry has one of the others.

        To be asked in turns of a ledger's only writer. A filter counts where it ends with the link of `end` itself:
        that link stands for all entries before it, and so for all keys.
        """
        if self._filter is None or self._filter.until != end.last:
            self._filter = None
            self._asked += len(keys)
            if not end.indexed / FILLING <= self._asked or end.indexed > MOST_IN_FILTER:
                return keys
            self._filter, self._asked = self._filled(store, connection, end), 0
        return list(compress(keys, self._filter.may_have(prefixes(keys)).tolist()))

    def index(self, store: Store, connection: Connection, entries: Sequence[Entry], before: Snapshot) -> int:
        """Put all keys into the index, those of new `entries` after `before` too, if there are too many without it.

        Returns the number of the entry up to which they are there, in the caller's transaction.
        """
        new = _keyed(entries)
        recent = self._caught_up(store, connection, before) if new else None
        if recent is None or recent.size + sum(size for *_, size in new) <= MOST_RECENT:
            return before.indexed
        store.index(connection, _rows([*recent.entries, *new]))
        return entries[-1].seq

    def committed(self, before: Link, entries: Sequence[Entry], indexed: int) -> None:
        """Remember a turn that was written, after the entry `before`."""
        new, last = _keyed(entries), entries[-1].link
        if self._filter is not None and self._filter.until == before:
            for _, keys, size in new:
                self._filter.add(prefixes_in(keys, size))
            self._filter.until = last
        recent = self._recent
        if indexed > recent.since:
            self._recent = _Recent(indexed)
            return
        with recent.lock:
            if recent.until == before.seq:
                recent.add(new, last.seq)

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

    def _filled(self, store: Store, connection: Connection, end: Snapshot) -> BloomFilter:
        """A Bloom filter with all keys up to `end`."""
        filter = BloomFilter(end.last)
        for part in store.all_indexed(connection):
            filter.add(part)
        for _, keys, size in self._caught_up(store, connection, end).entries:
            filter.add(prefixes_in(keys, size))
        return filter


class _Recent:
    """The entries that have keys, of those after number `since` and up to `until`."""

    def __init__(self, since: int) -> None:
        self.since = self.until = since
        self.entries: list[Keyed] = []
        self.size = 0
        """How many keys they have."""
        self.lock = Lock()
        self._seqs: dict[bytes, int] = {}
        self._read = 0
        """Entries of which `_seqs` has the keys: most writers never ask for it."""

    def add(self, entries: Iterable[Keyed], until: int) -> None:
        for entry in entries:
            self.entries.append(entry)
            self.size += entry[2]
        self.until = until

    def seqs(self) -> dict[bytes, int]:
        """Which entry has a key."""
        with self.lock:
            for seq, keys, size in self.entries[self._read :]:
                self._seqs.update(dict.fromkeys(split(keys, size), seq))
            self._read = len(self.entries)
        return self._seqs


def _keyed(entries: Iterable[Entry]) -> list[Keyed]:
    return [(entry.seq, entry.keys, entry.size) for entry in entries if entry.keys is not None]


def _rows(entries: Sequence[Keyed]) -> NDArray[np.int64]:
    """What the index has of the keys of these entries, in its order. Keys of one that begin alike have one row."""
    numbers = np.concatenate([prefixes_in(keys, size) for _, keys, size in entries])
    seqs = np.repeat([seq for seq, *_ in entries], [size for *_, size in entries])
    rows = np.stack((numbers, seqs), axis=1)[np.lexsort((seqs, numbers))]
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
