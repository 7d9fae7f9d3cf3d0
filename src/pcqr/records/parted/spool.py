"""An engine for one machine: values lie in scratch files without a name, and one at a time is in memory."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import ParameterError
from pcqr.progress import tracked
from pcqr.records.parted.engine import Arrays, Integers, Share

T = TypeVar("T")


class Spool:
    """Keeps values on disk, one file for all that are held together.

    The files have no name: on Linux from the moment they are made, where the file system can do that (`O_TMPFILE`);
    elsewhere a name is there for an instant, and NFS keeps one (`.nfs…`) while the file is open. While this process
    lives, it, this user and root can open them (`/proc/PID/fd`), and nobody else. When it ends, however it ends, the
    system frees their space; NFS may leave the file. They are read in the plain way, not mapped into memory.

    Parameters
    ----------
    scratch : str, Path or None, default None
        The directory on whose disk they lie. None: the one that TMPDIR names, which must exist; without it, where
        temporary files go.

    Raises
    ------
    ParameterError
        When it is no directory that can be written to.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.records.parted import Spool
    >>> spool = Spool()
    >>> handles = spool.hold(lambda item: {"squares": np.arange(item) ** 2}, [3, 5])
    >>> list(spool.each(lambda value: int(value["squares"].sum()), handles))
    [5, 30]
    """

    is_elsewhere = False

    def __init__(self, scratch: str | Path | None = None) -> None:
        named = os.environ.get("TMPDIR") if scratch is None else None
        self.scratch = Path((named or tempfile.gettempdir()) if scratch is None else scratch)
        try:
            _Scratch(self.scratch).close()
        except OSError as error:
            told = f"{self.scratch}{', as TMPDIR says' if named else ''} ({error.strerror})"
            raise ParameterError("scratch", "a directory that can be written to", told) from None
        self._files: weakref.WeakSet[_Scratch] = weakref.WeakSet()

    def check_room(self, size: int) -> None:
        free = shutil.disk_usage(self.scratch).free
        if size > free:
            told = f"{self.scratch}, with {free / 1e9:,.1f} GB"
            raise ParameterError("scratch", f"a directory with {size / 1e9:,.1f} GB of free disk", told)

    def hold(self, make: Callable[..., Arrays], items: Sequence[Any], *shared: Any) -> tuple[_Held, ...]:
        file = _Scratch(self.scratch)
        self._files.add(file)
        try:
            return tuple(file.kept(make(_value(item), *shared)) for item in tracked("parts of the table", items))
        except BaseException:
            file.close()
            raise

    def each(
        self, function: Callable[..., T], handles: Sequence[_Held], *shared: Any, own: Sequence[Any] | None = None
    ) -> Iterator[T]:
        for place, handle in enumerate(tracked("parts of the table", handles)):
            yield function(_value(handle), *(() if own is None else (own[place],)), *shared)

    def summed(
        self,
        function: Callable[..., Integers],
        handles: Sequence[_Held],
        *shared: Any,
        own: Sequence[Any] | None = None,
    ) -> Integers:
        parts = self.each(function, handles, *shared, own=own)
        totals = next(parts)
        for found in parts:
            for total, part in zip(totals, found, strict=True):
                np.add(total, part, out=total)
        return totals

    def across(
        self,
        take: Callable[..., Arrays],
        join: Callable[..., T],
        handles: Sequence[_Held],
        shares: Sequence[Share],
        *shared: Any,
    ) -> Iterator[T]:
        for share in shares:
            asked = zip(share.places, share.taken, strict=True)
            yield join([take(_value(handles[place]), taken) for place, taken in asked], share.own, *shared)

    def discard(self, handles: Sequence[_Held]) -> None:
        for handle in handles:
            handle.file.close()

    def close(self) -> None:
        for file in tuple(self._files):
            file.close()


class _Scratch:
    """A file that has no name. It is closed, and with it gone, when nobody refers to it any more."""

    def __init__(self, directory: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115
        self._end, self._turn = 0, threading.Lock()
        self.close = weakref.finalize(self, self._file.close)

    def kept(self, value: Arrays) -> _Held:
        """`value`, written to the end."""
        entries = []
        for name, array in value.items():
            plain = np.ascontiguousarray(array)
            self._write(plain)
            entries.append(_Entry(name, plain.dtype, plain.shape, self._end))
            self._end += plain.nbytes
        return _Held(self, tuple(entries))

    def read(self, entry: _Entry) -> np.ndarray[Any, Any]:
        """One array."""
        found = np.empty(entry.shape, entry.kind)
        rest, start = _bytes(found), entry.start
        while rest:
            count = self._read_at(start, rest)
            if not count:
                raise OSError("A scratch file is shorter than what was written to it.")
            rest, start = rest[count:], start + count
        return found

    def _read_at(self, start: int, into: memoryview) -> int:
        """The place in the file is not moved where that can be helped: processes that were forked off share it."""
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [into], start)
        with self._turn:
            self._file.seek(start)
            return int(self._file.readinto(into))  # type: ignore[attr-defined]

    def _write(self, plain: np.ndarray[Any, Any]) -> None:
        self._file.seek(self._end)
        rest = _bytes(plain)
        while rest:
            rest = rest[self._file.write(rest) :]


@dataclass(frozen=True)
class _Entry:
    name: str
    kind: np.dtype[Any]
    shape: tuple[int, ...]
    start: int


@dataclass(frozen=True, eq=False)
class _Held:
    """Where a value lies."""

    file: _Scratch
    entries: tuple[_Entry, ...]


class _Value(Mapping[str, NDArray[Any]]):
    """A value on disk. Each array is read when it is used, so a question reads only the columns that it needs."""

    def __init__(self, held: _Held) -> None:
        self._file, self._entries = held.file, {entry.name: entry for entry in held.entries}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._file.read(self._entries[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _value(item: Any) -> Any:
    return _Value(item) if isinstance(item, _Held) else item


def _bytes(array: np.ndarray[Any, Any]) -> memoryview:
    return array.data.cast("B") if array.size else memoryview(b"")
