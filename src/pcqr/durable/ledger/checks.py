"""What is checked of a chain, and what is said when it fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import repeat

from pcqr.durable.ledger.chain import BrokenChain, Entry, Link, checked, digest
from pcqr.durable.ledger.store import Snapshot, Store, prefixes
from pcqr.errors import LedgerDamaged, LedgerRolledBack

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
