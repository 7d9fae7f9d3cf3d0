"""Making and opening ledgers: what is checked before a ledger is believed (proofs/ledger.md)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from pcqr.addresses import without_password
from pcqr.durable.ledger.anchor import Anchor, DryRunAnchor, DryRunEnded, NewAnchor, check_free, default_path
from pcqr.durable.ledger.chain import ADOPTED, Draft, Entry, Link, adoption_body, chained, read_adoption
from pcqr.durable.ledger.ledger import Ledger
from pcqr.durable.ledger.postgres import PostgresStore
from pcqr.durable.ledger.reading import check_anchor, check_end, contains, rolled_back, walk
from pcqr.durable.ledger.sqlite import SqliteStore
from pcqr.durable.ledger.store import Snapshot, Store, reached
from pcqr.errors import AnchorMissing, LedgerUnconfirmed, LedgerUnwritable, ParameterError
from pcqr.files import real
from pcqr.privacy.entropy import SystemEntropy

PURPOSES = ("account", "release")
PATIENCE = 5.0
"""Seconds that a reader waits for a writer to confirm its last turn."""
WriteOff = Callable[[bytes, Iterator[Entry]], bytes]
"""The state of a ledger with everything counted as used, from its state and its entries."""


def create_ledger(place: str | os.PathLike[str], purpose: str, anchor: str | Path | None = None) -> Ledger:
    """Make a ledger, and open it for writing.

    Parameters
    ----------
    place : str or Path
        A path that nothing has yet (SQLite), or `postgresql://USER@HOST/DATABASE?ledger=NAME`.
    purpose : {"account", "release"}
        What it is for. It can be opened for nothing else.
    anchor : str or Path, optional
        Where to keep the anchor; by default under the user's state directory (`PCQR_STATE_DIR`).

    Returns
    -------
    Ledger

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pcqr.durable.ledger import create_ledger
    >>> folder = Path(tempfile.mkdtemp())
    >>> with create_ledger(folder / "ledger", "release", anchor=folder / "anchor") as ledger:
    ...     with ledger.transaction() as transaction:
    ...         _ = transaction.append("answer", b"yes", b"first query")
    ...     print(ledger.last.seq, ledger.find([b"first query"])[b"first query"].body)
    1 b'yes'
    """
    _make(place, purpose, anchor, NewAnchor)
    return open_ledger(place, purpose, anchor)


def dry_run_ledger(place: str | os.PathLike[str], purpose: str, anchor: str | Path | None = None) -> None:
    """Do what `create_ledger` does up to the last step, and take it back: raises what that would raise."""
    with suppress(DryRunEnded):
        _make(place, purpose, anchor, DryRunAnchor)


def open_ledger(
    place: str | os.PathLike[str],
    purpose: str,
    anchor: str | Path | None = None,
    adopt: bool = False,
    read_only: bool = False,
    write_off: WriteOff | None = None,
) -> Ledger:
    """Open a ledger that contains its anchor; the anchor is moved up to its end.

    Parameters
    ----------
    place : str or Path
        Where it is (`create_ledger`).
    purpose : {"account", "release"}
        What it must be for.
    anchor : str or Path, optional
        Where its anchor is, if not under the user's state directory.
    adopt : bool, default False
        Take a ledger without an anchor to be the newest copy. The ledger records this decision. The whole
        chain is checked first.
    read_only : bool, default False
        Show the ledger as it is now, beside a writer too, and write nothing. Without an anchor nothing says that it is
        no older copy (`Ledger.is_confirmed`).
    write_off : function, optional
        With `adopt`: take an older copy, too, which lacks what its anchor has known, and go on from the state that this
        function makes of the copy's state and entries.

    Returns
    -------
    Ledger
    """
    _check_purpose(purpose)
    reader = partial(open_ledger, place, purpose, anchor, read_only=True)
    elsewhere = partial(open_ledger, written_place(place), purpose, anchor, read_only=True)
    store: Store
    if is_address(place):
        store = PostgresStore(os.fspath(place), read_only=read_only)
    else:
        store = SqliteStore(_path(place), read_only=read_only)
    found: Anchor | None = None
    try:
        store.bind(purpose)
        anchor_path = Path(anchor) if anchor is not None else default_path(store.identity)
        try:
            found = Anchor(anchor_path, store.identity, store.place, read_only=read_only)
        except AnchorMissing:
            if not read_only and not adopt:
                raise
        if read_only:
            return Ledger(store, found, anchor_path, reader, elsewhere, _confirmed(store, found))
        store.secure()
        if found is None:
            found = _adopted(store, anchor_path, write_off)
        if store.has_one_writer:
            found.hold()
        if adopt and write_off is not None and not contains(store, found.link):
            found.restart(_written_off(store, found, write_off))
        check_anchor(store, found.link)
        now = check_end(store, since=found.link.seq)
        found.advance(now.last, partial(contains, store))
        return Ledger(store, found, anchor_path, reader, elsewhere, None)
    except BaseException as error:
        store.close()
        if found is not None:
            found.close()
        if isinstance(error, OSError):
            raise LedgerUnwritable(
                store.place,
                f"cannot be opened: its anchor cannot be read or written ({error.strerror})",
                "Mend that first.",
            ) from None
        raise


def _make(place: str | os.PathLike[str], purpose: str, anchor: str | Path | None, kind: type[NewAnchor]) -> None:
    _check_purpose(purpose)
    identity = SystemEntropy().bytes(16)
    anchor_path = Path(anchor) if anchor is not None else default_path(identity.hex())
    try:
        if is_address(place):
            with closing(PostgresStore(os.fspath(place))) as store:
                called = store.place
                store.make(identity, purpose, kind(anchor_path, identity, called))
        else:
            path = _path(place)
            called = str(path)
            _check_apart(real(anchor_path), path)
            SqliteStore.make(path, identity, purpose, kind(anchor_path, identity, called))
    except OSError as error:
        raise LedgerUnwritable(
            called, f"cannot be created, with its anchor at {anchor_path} ({error.strerror})", "Mend that first."
        ) from None


def _confirmed(store: Store, anchor: Anchor | None) -> Snapshot:
    """Return the ledger once its anchor has reached its end."""
    now = check_end(store)
    deadline = time.monotonic() + PATIENCE
    while anchor is not None:
        link = anchor.read()
        check_anchor(store, link)
        if link.seq >= now.last.seq:
            break
        if time.monotonic() > deadline:
            raise LedgerUnconfirmed(
                store.place,
                f"ends at {now.last}, and its last turn was never confirmed: the process that wrote it was stopped",
                "Open it once for writing, as every command that adds to it does; then read it again.",
            )
        time.sleep(0.01)
    return now


def _adopted(store: Store, path: Path, write_off: WriteOff | None) -> Anchor:
    """Make an anchor for a ledger that has none, and record it in the ledger."""
    check_free(real(path), store.place)
    link = _recorded(store, write_off, None)
    return Anchor.create(path, store.identity, store.place, link)


def _recorded(store: Store, write_off: WriteOff | None, anchor: Link | None) -> Link:
    """Check the whole ledger, and record in it that it was adopted; returns the link of that entry."""
    store.check_pages()
    check_end(store, since=-1)
    body = adoption_body(anchor, is_written_off=write_off is not None)
    connection = store.begin()
    with connection, store.explaining():
        before = store.snapshot(connection, keep=True)
        state = before.state if write_off is None else write_off(before.state, walk(store, 0, before.last.seq))
        (entry,) = chained(before.last, bytes.fromhex(store.identity), [Draft(ADOPTED, body, None)], state)
        store.write(connection, [entry], state, before.indexed)
        store.commit(connection)
    reached("adoption recorded")
    return entry.link


def _written_off(store: Store, anchor: Anchor, write_off: WriteOff) -> Link:
    """Record that an older copy, which lacks its anchor, was written off; returns the link of that entry.

    A copy that is surely another branch is refused: it goes past a link that the anchor holds, and lacks that link. An
    attempt that was stopped before the anchor was restarted has recorded the entry already.
    """
    last = check_end(store).last
    (final,) = walk(store, last.seq - 1, last.seq)
    is_recorded = final.kind == ADOPTED and read_adoption(final).is_written_off
    end = final.before if is_recorded else last.seq
    for link in anchor.links():
        if link.seq <= end and not contains(store, link):
            raise rolled_back(store.place, link, last)
    return last if is_recorded else _recorded(store, write_off, anchor.link)


def is_address(place: str | os.PathLike[str]) -> bool:
    """Is it a database's, not a file's?"""
    return "://" in os.fspath(place) and not os.fspath(place).startswith("sqlite:///")


def _path(place: str | os.PathLike[str]) -> Path:
    text = os.fspath(place)
    if not isinstance(place, Path) and "://" not in text and without_password(text) != text:
        allowed = "a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE?ledger=NAME"
        raise ParameterError("ledger", allowed, text)
    return real(Path(text.removeprefix("sqlite:///")))


def written_place(place: str | os.PathLike[str]) -> str:
    """How it is found again, from another directory too: whoever opens it has the password elsewhere."""
    return without_password(os.fspath(place)) if is_address(place) else str(_path(place))


def _check_apart(anchor: Path, path: Path) -> None:
    """Raise unless the anchor is neither the ledger nor one of the files that SQLite and we put beside it."""
    if anchor in (path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm", ".lock"))):
        raise ParameterError("anchor", "another file than the ledger and those beside it", str(anchor))


def _check_purpose(purpose: str) -> None:
    if purpose not in PURPOSES:
        raise ParameterError("purpose", " or ".join(PURPOSES), purpose)
