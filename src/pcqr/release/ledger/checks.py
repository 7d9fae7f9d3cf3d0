"""What is checked of a chain, and what is said when it fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from pcqr.errors import LedgerDamaged, LedgerRolledBack
from pcqr.release.ledger.chain import BrokenChain, Entry, Link, checked, digest
from pcqr.release.ledger.store import Snapshot, Store

AT_ONCE = 5_000
"""Entries that are read together: a long look must not keep SQLite from bringing its log into the database."""
CHECKED_AT_LEAST = 1_000
"""Entries at the end of the chain that every opening re-computes."""


def walk(store: Store, after: int, final: int) -> Iterator[Entry]:
    """The entries from number `after` + 1 to `final`, each compared with its hash. −1: from the genesis on."""
    identity, last = bytes.fromhex(store.identity), None
    for first in range(after + 1, final + 1, AT_ONCE):
        wanted = min(AT_ONCE, final + 1 - first)
        with store.reading() as connection:
            if last is None and first > 0:
                last = Link(first - 1, store.hash_at(connection, first - 1) or b"")
            rows = store.rows(connection, first, first + wanted - 1)
        try:
            for entry in checked(last, identity, rows):
                yield entry
                last = entry.link
        except BrokenChain as error:
            raise broken(store.place, error.seq) from None
        if len(rows) < wanted:
            raise broken(store.place, first + len(rows))


def contains(store: Store, link: Link) -> bool:
    with store.reading() as connection:
        return store.hash_at(connection, link.seq) == link.hash


def check_head(store: Store, head: Link) -> None:
    """Raise unless the ledger contains its head."""
    with store.reading() as connection:
        if store.hash_at(connection, head.seq) != head.hash:
            raise rolled_back(store.place, head, store.snapshot(connection).last)


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


def rolled_back(place: str, head: Link, last: Link) -> LedgerRolledBack:
    return LedgerRolledBack(
        place,
        f"is an older copy, or another line: it ends at {last} and lacks {head}, which was replied",
        "Going on with it would spend the same budget twice. Bring back the newest copy.",
    )
