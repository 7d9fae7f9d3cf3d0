"""A file that grows line by line, written by one process at a time, of which nothing given is ever lost.

A line counts once it is complete, that is, ends in a line break. `append` hands it to the operating system, where it
outlives the process, however that ends; `sync` waits until the disk has it, so that it outlives the machine. Whoever
shows lines does so after `sync`: then everything that was ever shown is in the file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from errno import EMLINK
from pathlib import Path

from pcqr.files import InUse, lock, real, sync_directory

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # not on Windows. What is begun is emptied: never a file somewhere else


@dataclass(frozen=True)
class Remains:
    """What an earlier process left in a journal: its complete lines, without the header, and whether one is torn."""

    lines: int
    is_torn: bool


class Journal:
    """The lines of one run. The file is created and locked at once, and what is in it is kept until `begin`.

    Closed without `begin`, a journal that was created here is removed again.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self.has_begun = False
        self.lines = 0
        """Complete lines on disk, without the header: what was given."""
        self._clock = clock
        self._waiting: list[str] = []
        self._since = 0.0
        self._end = 0
        self._descriptor = self._opened()
        self._is_own = os.fstat(self._descriptor).st_size == 0

    def remains(self) -> Remains:
        """What is in the file so far."""
        with self.path.open("rb") as file:
            content = file.read()
        return Remains(max(0, content.count(b"\n") - 1), is_torn=not content.endswith(b"\n") and content != b"")

    def begin(self, header: str) -> None:
        """Empty the file and write the first line."""
        os.ftruncate(self._descriptor, 0)
        self._write(header)
        self.has_begun = True
        os.fsync(self._descriptor)
        sync_directory(self.path.parent)

    def append(self, line: str) -> None:
        """Add one line. It counts as given once `sync` has returned it."""
        self._write(line)
        if not self._waiting:
            self._since = self._clock()
        self._waiting.append(line)

    @property
    def age(self) -> float:
        """For how many seconds the oldest line that is not on disk has been waiting."""
        return self._clock() - self._since if self._waiting else 0.0

    def sync(self) -> list[str]:
        """Bring all lines to disk; returns those that had not been there: they may now be shown."""
        waiting, self._waiting = (
            self._waiting,
            [],
        )  # should the disk fail, they never count: a second try proves nothing
        if waiting:
            os.fsync(self._descriptor)
        self.lines += len(waiting)
        return waiting

    def become(self, target: Path) -> None:
        """Give the file its final name, in the same directory. It replaces what is there."""
        self.path.replace(real(target))
        sync_directory(self.path.parent)

    def remove(self) -> None:
        self.path.unlink()
        sync_directory(self.path.parent)

    def close(self) -> None:
        """Let go of the file. It stays where it is, unless it never began."""
        if self._is_own and not self.has_begun:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _opened(self) -> int:
        """The file, open and locked. Again from the start, should it have been renamed or removed meanwhile."""
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _NO_LINK, 0o666)
            try:
                lock(descriptor)
                if os.fstat(descriptor).st_nlink > 1:
                    os.close(descriptor)
                    raise OSError(EMLINK, "a file that has another name, too")
                if self._is_at_path(descriptor):
                    return descriptor
            except InUse:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _is_at_path(self, descriptor: int) -> bool:
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(descriptor), self.path.stat())
        return False

    def _write(self, line: str) -> None:
        """All of the line or nothing: where the disk is full, what was begun is taken back."""
        rest = memoryview(f"{line}\n".encode())
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._end)
            raise
        self._end = os.lseek(self._descriptor, 0, os.SEEK_CUR)
