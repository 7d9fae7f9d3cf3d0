"""Where the contract tests put their ledgers: one shelf for each store, with the same handles."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from pcqr.durable.ledger import Ledger, create_ledger, open_ledger
from pcqr.durable.ledger.opening import WriteOff


def new_folder() -> Path:
    """A temporary directory that every user can get to, in memory where there is room: syncs are then free.

    Nothing is lost by that: no test cuts the power, and what a killed process has written the system keeps.
    """
    memory = Path("/dev/shm")  # noqa: S108
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > 1 << 30
    folder = Path(tempfile.mkdtemp(prefix="pcqr", dir=memory if has_room else None))
    folder.chmod(0o755)
    return folder


class Shelf:
    """Ledgers by name: `pattern` is the place of all of them, with a gap for the name. The anchor is in `folder`."""

    def __init__(self, folder: Path, pattern: str) -> None:
        self.folder = folder
        self._pattern = pattern
        self.anchor = folder / "anchors" / "anchor"

    def place(self, name: str = "ledger") -> str:
        return self._pattern.replace("{}", name)

    def create(self, name: str = "ledger", purpose: str = "release") -> Ledger:
        return create_ledger(self.place(name), purpose, self.anchor)

    def open(
        self,
        name: str = "ledger",
        purpose: str = "release",
        *,
        adopt: bool = False,
        read_only: bool = False,
        write_off: WriteOff | None = None,
    ) -> Ledger:
        how = {"adopt": adopt, "read_only": read_only}
        return open_ledger(self.place(name), purpose, self.anchor, **how, write_off=write_off)


def add(ledger: Ledger, *bodies: bytes, state: bytes | None = None) -> None:
    """One turn with these entries; each body is its key, too."""
    with ledger.transaction() as transaction:
        for body in bodies:
            transaction.append("answer", body, body)
        if state is not None:
            transaction.state = state


def bodies(ledger: Ledger) -> list[bytes]:
    return [entry.body for entry in ledger.entries()]
