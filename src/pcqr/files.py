"""Output files: never over an input, never unasked over another file, and whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EMLINK
from pathlib import Path

from pcqr.errors import OutputExists, ParameterError

try:
    import fcntl
except ImportError:  # Windows: a second process is then not noticed
    fcntl = None  # type: ignore[assignment]


_NOT_HERE = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)
"""What is said where a directory cannot be synced: not on every file system."""


RELEASE_FILES = ("release.json", "secret.pcqr")
"""The files by which the directory of a release is known."""


class InUse(Exception):
    """Another process is writing there."""


def check_output(out: Path, *, inputs: Iterable[Path], overwrite: bool, option: str = "--out") -> None:
    """Raise unless `out` can be written and is neither one of `inputs` nor, but for `overwrite`, a file already."""
    place = real(out)
    is_file = place.is_file() or not os.path.lexists(place)
    is_free = place.parent.is_dir() and os.access(place.parent, os.W_OK | os.X_OK)
    if not is_file or not is_free or (place.exists() and not os.access(place, os.W_OK)):
        raise ParameterError(option, "a file in an existing directory that can be written to", str(out))
    check_not_input(out, inputs, option=option)
    check_outside_releases(out, option=option)
    if os.path.lexists(out) and not overwrite:
        raise OutputExists(out, option=option)


def check_not_input(out: Path, inputs: Iterable[Path], *, option: str = "--out") -> None:
    """Raise if `out` is one of the files that are read, by whatever name: another spelling, a link of either kind.

    Where a folder is read, nothing in it may be written, nor what a link in it leads to.
    """
    place = real(out)
    for source in inputs:
        if source.is_dir():
            if any(_is_same(each, source) for each in (place, *place.parents)):
                raise ParameterError(option, f"a place outside {source}, which is read", str(out))
            if any(_is_same(out, file) for file in source.rglob("*")):
                raise ParameterError(option, f"another file than those of {source}, which are read", str(out))
        elif _is_same(out, source):
            raise ParameterError(option, f"another file than {source}, which is read", str(out))


def check_outside_releases(out: Path, *, option: str = "--out") -> None:
    """Raise if `out` is the directory of a release, or in one: nothing but the release belongs beside its secrets."""
    place = real(out)
    for folder in (place, *place.parents):
        if any((folder / name).is_file() for name in RELEASE_FILES):
            raise ParameterError(option, f"a place outside {folder}, which holds a release", str(out))


def _is_same(one: Path, other: Path) -> bool:
    return real(one) == real(other) or (one.exists() and other.exists() and one.samefile(other))


def real(path: Path) -> Path:
    """The path without links and dots, whether it exists or not."""
    return Path(os.path.realpath(path))


def on_one_volume(one: Path, other: Path) -> bool:
    """Are both paths, or the directories where they would be, in one mount of one file system?

    Two volumes of containers are two mounts although one disk may hold both. A snapshot of that disk has both.
    """
    return _volume(one) == _volume(other)


@contextmanager
def replacing(out: str | Path) -> Iterator[Path]:
    """A path of the same name in a temporary folder beside `out`. When all is written and on disk, it becomes `out`.

    Whoever looks at `out`, whenever the process is killed, sees what was there before or the whole new file. Where
    `out` is a symbolic link, the file that it points to is replaced.
    """
    target = real(Path(out))
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        draft = folder / target.name
        yield draft
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(target)
        sync_directory(target.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_whole(out: str | Path, content: str | bytes) -> None:
    """Replace `out` by `content` (text as UTF-8), whole or not at all."""
    with replacing(out) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


def sync_directory(directory: Path) -> None:
    """Bring the names in `directory` to disk, where the system can do that. Raises `OSError` where the disk fails."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except PermissionError:  # Windows opens no directories, and one may be for writing alone
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
    finally:
        os.close(descriptor)


def lock(descriptor: int, *, wait: bool = False) -> None:
    """Keep the open file or directory for this process until it is closed. If another one has it: `InUse`, or wait."""
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUse from None


def unlock(descriptor: int) -> None:
    """Let others lock it, processes included that inherited it."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def sync_content(descriptor: int) -> None:
    """Bring what was written to an open file to the disk itself, past its cache where the system can do that."""
    if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync stops at the drive's cache
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        getattr(os, "fdatasync", os.fsync)(descriptor)


@contextmanager
def own_directory(directory: Path, mode: int = 0o777) -> Iterator[None]:
    """`directory`, made where it does not exist, for this process alone. What was made and stays empty is removed."""
    made = [place for place in (directory, *directory.parents) if not place.exists()]
    directory.mkdir(parents=True, exist_ok=True, mode=mode)
    descriptor = os.open(directory, os.O_RDONLY) if fcntl is not None else None  # Windows opens no directories
    try:
        for place in made:
            sync_directory(place.parent)
        if descriptor is not None:
            lock(descriptor)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
        with suppress(OSError):  # not empty: it was made for something
            for place in made:
                place.rmdir()


def _volume(path: Path) -> tuple[int, str]:
    """Return the device and, on Linux, the mount of the nearest directory that exists."""
    place = real(path)
    while not place.is_dir() and place != place.parent:
        place = place.parent
    mount = ""
    with suppress(OSError):
        descriptor = os.open(place, os.O_RDONLY)
        try:
            lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text().splitlines()
            mount = next((line for line in lines if line.startswith("mnt_id:")), "")
        finally:
            os.close(descriptor)
    return place.stat().st_dev, mount


# ---------------------------------------------------------------------------------------------------------------------
# A file that grows line by line, written by one process at a time, of which nothing given is ever lost.
#
# A line counts once it is complete, that is, ends in a line break. `append` hands it to the operating system, where it
# outlives the process, however that ends; `sync` waits until the disk has it, so that it outlives the machine. Whoever
# shows lines does so after `sync`: then everything that was ever shown is in the file.


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
