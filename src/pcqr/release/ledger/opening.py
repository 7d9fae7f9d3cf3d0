"""Making and opening ledgers: what is checked before a ledger is believed (proofs/ledger.md)."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pcqr.addresses import without_password
from pcqr.entropy import SystemEntropy
from pcqr.errors import AnchorMissing, LedgerUnconfirmed, LedgerUnwritable, ParameterError
from pcqr.files import real
from pcqr.release.ledger.anchor import Anchor, NewAnchor, Rehearsed, RehearsedAnchor, check_free, default_path
from pcqr.release.ledger.chain import ADOPTED, Draft, chained
from pcqr.release.ledger.checks import check_anchor, check_end, contains
from pcqr.release.ledger.ledger import Ledger
from pcqr.release.ledger.postgres import PostgresStore
from pcqr.release.ledger.sqlite import SqliteStore
from pcqr.release.ledger.store import Snapshot, Store

PURPOSES = ("account", "release")
PATIENCE = 5.0
"""Seconds that a reader waits for a writer to confirm its last turn."""


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
    >>> from pcqr.release.ledger import create_ledger
    >>> folder = Path(tempfile.mkdtemp())
    >>> with create_ledger(folder / "ledger", "release", anchor=folder / "anchor") as ledger:
    ...     with ledger.turn() as turn:
    ...         _ = turn.append("answer", b"yes", b"first query")
    ...     print(ledger.last.seq, ledger.find([b"first query"])[b"first query"].body)
    1 b'yes'
    """
    _make(place, purpose, anchor, NewAnchor)
    return open_ledger(place, purpose, anchor)


def rehearse_ledger(place: str | os.PathLike[str], purpose: str, anchor: str | Path | None = None) -> None:
    """Do what `create_ledger` does up to the last step, and take it back: raises what that would raise."""
    with suppress(Rehearsed):
        _make(place, purpose, anchor, RehearsedAnchor)


def open_ledger(
    place: str | os.PathLike[str],
    purpose: str,
    anchor: str | Path | None = None,
    adopt: bool = False,
    read_only: bool = False,
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
        Take a ledger without an anchor to be the newest copy. That a person decided so is recorded in it. The whole
        chain is checked first.
    read_only : bool, default False
        Show the ledger as it is now, beside a writer too, and write nothing. Without an anchor nothing says that it is
        no older copy (`Ledger.is_confirmed`).

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
            return Ledger(store, found, reader, elsewhere, _confirmed(store, found))
        store.secure()
        if found is None:
            found = _adopted(store, anchor_path)
        if store.has_one_writer:
            found.hold()
        check_anchor(store, found.known)
        now = check_end(store, since=found.known.seq)
        found.advance(now.last, partial(contains, store))
        return Ledger(store, found, reader, elsewhere, None)
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
    """The ledger as it is now, once its anchor has reached its end."""
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


def _adopted(store: Store, path: Path) -> Anchor:
    """Make an anchor for a ledger that has none, record it in the ledger, and check the whole ledger first."""
    check_free(real(path), store.place)
    store.check_pages()
    check_end(store, since=-1)
    connection = store.begin()
    with connection, store.explaining():
        before = store.snapshot(connection, keep=True)
        facts = {"adopted": datetime.now(UTC).isoformat(timespec="seconds")}
        draft = Draft(ADOPTED, json.dumps(facts).encode(), None)
        (entry,) = chained(before.last, bytes.fromhex(store.identity), [draft], before.state)
        store.write(connection, [entry], before.state, before.indexed)
        store.commit(connection)
    return Anchor.create(path, store.identity, store.place, entry.link)


def is_address(place: str | os.PathLike[str]) -> bool:
    """Is it a database's, not a file's?"""
    return "://" in os.fspath(place) and not os.fspath(place).startswith("sqlite:///")


def _path(place: str | os.PathLike[str]) -> Path:
    return real(Path(os.fspath(place).removeprefix("sqlite:///")))


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
