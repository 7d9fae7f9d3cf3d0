"""The anchor: the last committed position of a ledger, in a file kept apart from it (proofs/ledger.md).

Two slots, a line each, in blocks of their own. A write goes to the slot that does not hold the anchor: torn, it leaves
the other one as it was. A slot counts if its checksum is right, and the later one that counts is the anchor.

    pcqr-anchor-1 IDENTITY SEQ HASH CHECKSUM
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import NoReturn

from pcqr.durable.ledger.chain import Link
from pcqr.durable.ledger.store import reached
from pcqr.errors import AnchorMissing, LedgerError, LedgerInUse, LedgerRolledBack
from pcqr.files import InUse, lock, real, replacing, sync_content, sync_directory, unlock

TAG = "pcqr-anchor-1"
BLOCK = 4096
"""Bytes from one slot to the next: no disk writes them together."""
MOST_BYTES = 256
"""A slot is shorter."""


def default_path(identity: str) -> Path:
    """Return the default path of a ledger's anchor, in the user's state directory."""
    import platformdirs  # noqa: PLC0415 - commands that keep nothing do without

    given = os.environ.get("PCQR_STATE_DIR")
    return (Path(given) if given else platformdirs.user_state_path("pcqr")) / "anchors" / identity


class Anchor:
    """The open anchor of the ledger `identity` at `place`. Its file must exist: see `create`.

    `link` is the latest anchor that was read here and found in the ledger, or was written here.
    """

    def __init__(self, path: Path, identity: str, place: str, *, read_only: bool = False) -> None:
        self.path = real(path)
        self._name = str(self.path)
        self._identity = identity
        self._place = place
        self._is_held = False
        self._threads = Lock()
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY if read_only else os.O_RDWR)
        except (FileNotFoundError, NotADirectoryError):
            self._missing("is not there")
        try:
            self.link, self._slot = self._read()
        except BaseException:
            os.close(self._descriptor)
            raise

    @classmethod
    def create(cls, path: Path, identity: str, place: str, link: Link) -> Anchor:
        """Make the file with `link` in both slots, on disk. What is there already is not touched."""
        target = real(path)
        check_free(target, place)
        missing = [folder for folder in target.parents if not folder.exists()]
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in missing:
            sync_directory(folder.parent)
        with replacing(target) as draft:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(2 * slot(identity, link).ljust(BLOCK))
        return cls(path, identity, place)

    def hold(self) -> None:
        """Keep the anchor for this process until it is closed: nobody else writes a copy of the ledger meanwhile."""
        try:
            lock(self._descriptor)
        except InUse:
            raise LedgerInUse(
                self._place,
                "is open elsewhere: a process writes it, or a copy of it",
                "Only one may. Wait until that process ends, or stop it.",
            ) from None
        self._is_held = True
        self.link, self._slot = self._read()

    def read(self) -> Link:
        """Return the anchor as it is on disk now."""
        return self._read()[0]

    def links(self) -> list[Link]:
        """Return the links in both slots, without those that are torn."""
        return [link for _, link, _ in self._slots()]

    def advance(self, link: Link, contains: Callable[[Link], bool]) -> None:
        """Move up to `link`, which is in the ledger, and sync, unless the anchor is there already.

        An anchor that somebody else has moved must be in the ledger, too: `contains` says so.
        """
        with self._threads, self._locked():
            self._check_in_place()
            current, self._slot = self._read()
            if current != self.link and not contains(current):
                raise LedgerRolledBack(
                    self._place,
                    f"is one of two copies, and the other one has moved on: its anchor is at {current}",
                    "Go on with that copy, and throw this one away.",
                )
            if current.seq < link.seq:
                self._write(link)
                current = link
            self.link = current

    def restart(self, link: Link) -> None:
        """Go back to `link`: an older copy of the ledger was written off, and goes on from there.

        The slot that holds the anchor is written last: whenever the process is stopped, one slot is whole.
        """
        with self._threads, self._locked():
            self._check_in_place()
            _, self._slot = self._read()
            self._write(link)
            self._write(link)
            self.link = link

    def close(self) -> None:
        with suppress(OSError):
            unlock(self._descriptor)
        self.leave()

    def remove(self) -> None:
        """Remove the file, after its ledger was removed."""
        self._check_in_place()
        self.path.unlink()

    def leave(self) -> None:
        """Close the file in a process that was forked, and leave the lock to the one that has it."""
        with suppress(OSError):
            os.close(self._descriptor)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self._is_held:
            yield
            return
        lock(self._descriptor, wait=True)
        try:
            yield
        finally:
            unlock(self._descriptor)

    def _read(self) -> tuple[Link, int]:
        whole = self._slots()
        if not whole:
            self._missing("is damaged")
        identity, link, position = max(whole, key=lambda each: each[1].seq)
        if identity != self._identity:
            raise LedgerError(
                self._place,
                f"has another identity than the anchor at {self.path}, which belongs to another ledger",
                "Name the anchor of this ledger, or the ledger of this anchor.",
            )
        return link, position

    def _slots(self) -> list[tuple[str, Link, int]]:
        """Return identity, link and position of each slot that is whole."""
        content = os.pread(self._descriptor, BLOCK + MOST_BYTES, 0)
        found = [parsed(each) for each in (content[:MOST_BYTES], content[BLOCK:])]
        return [(*each, position) for position, each in enumerate(found) if each is not None]

    def _write(self, link: Link) -> None:
        content, target = slot(self._identity, link), 1 - self._slot
        if os.pwrite(self._descriptor, content, target * BLOCK) != len(content):
            raise OSError("the anchor was written in part")
        reached("anchor written")
        sync_content(self._descriptor)
        reached("anchor synced")
        self._slot = target

    def _check_in_place(self) -> None:
        """Raise if the file was removed or replaced while it was open."""
        try:
            is_there = os.path.samestat(os.fstat(self._descriptor), os.stat(self._name))  # noqa: PTH116 - every turn
        except FileNotFoundError:
            is_there = False
        if not is_there:
            self._missing("was removed or replaced while the ledger was open")

    def _missing(self, how: str) -> NoReturn:
        raise AnchorMissing(
            self._place,
            f"cannot show that it is no older copy: its anchor at {self.path} {how}",
            "Bring that file back, or name it where it was moved to. If it is lost, and you know that this is the "
            "newest copy of the ledger, adopt it: that you decided so is recorded in it.",
        ) from None


def check_free(path: Path, place: str) -> None:
    """Raise if a file already exists where the anchor is to be made."""
    if os.path.lexists(path):
        raise LedgerError(
            place,
            f"cannot have its anchor at {path}: there is something already",
            "Name a path that nothing has yet. If it is this ledger's own anchor, and damaged, move it away first.",
        )


def remove_unused(path: Path) -> None:
    """Remove the anchor of a ledger that was never finished: it has known nothing but the first entry, the genesis."""
    with suppress(OSError):
        content = path.read_bytes()
        found = [parsed(each) for each in (content[:MOST_BYTES], content[BLOCK : BLOCK + MOST_BYTES])]
        if all(each is not None and each[1].seq == 0 for each in found):
            path.unlink()


class NewAnchor:
    """The anchor of a new ledger: made before the ledger, and removed if the ledger cannot be made."""

    def __init__(self, path: Path, identity: bytes, place: str) -> None:
        self.path = real(path)
        self._identity = identity.hex()
        self._place = place
        self._is_made = False

    def make(self, first: Link) -> None:
        Anchor.create(self.path, self._identity, self._place, first).close()
        self._is_made = True
        reached("anchor made")

    def undo(self) -> None:
        if self._is_made:
            self.path.unlink(missing_ok=True)


class DryRunEnded(Exception):
    """Everything but the last step has been done, and is now taken back."""


class DryRunAnchor(NewAnchor):
    """The anchor of a dry run: made and removed again, as after an attempt that failed."""

    def make(self, first: Link) -> None:
        super().make(first)
        raise DryRunEnded


def slot(identity: str, link: Link) -> bytes:
    """A link as a line with its checksum."""
    fields = f"{TAG} {identity} {link.seq:020d} {link.hash.hex()}"
    return f"{fields} {sha256(fields.encode()).hexdigest()}\n".encode()


@lru_cache(maxsize=4)  # most slots are read again and again, as they were
def parsed(content: bytes) -> tuple[str, Link] | None:
    """(identity, link) of a slot, or None if it is torn or no slot at all."""
    line = content.split(b"\n", 1)[0]
    try:
        tag, identity, seq, hashed, _ = line.decode("ascii").split(" ")
        found = identity, Link(int(seq), bytes.fromhex(hashed))
    except ValueError:
        return None
    return found if tag == TAG and slot(*found) == line + b"\n" else None
