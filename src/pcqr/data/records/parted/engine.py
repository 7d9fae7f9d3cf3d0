"""Who keeps the parts of a table and works on them: on this machine, part after part, or on others."""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

import pcqr
from pcqr.compiled import at_most
from pcqr.data.records.arrays import Labels, Points
from pcqr.data.records.counting import Int32Array, IntArray
from pcqr.data.records.in_memory import Encoded
from pcqr.data.records.predicates import Node, Predicate
from pcqr.data.records.source import Labelling, Positions
from pcqr.data.schema import Column
from pcqr.data.schema.labels import rows_in
from pcqr.data.schema.raw import Floats, Texts
from pcqr.data.schema.table import CompactTable
from pcqr.errors import ParameterError, PcqrError
from pcqr.progress import tracked

Arrays = Mapping[str, NDArray[Any]]
"""A value that an engine keeps: arrays with names, and nothing else, so that it can lie in a file. **Private.**"""
Integers = tuple[NDArray[Any], ...]
Handle = Any
"""Stands for a value that is kept. Only the engine that made it knows where the value is."""
T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Share:
    """Pieces of some values, for one call. **Private**, where positions are."""

    places: Sequence[int]
    """Which of the handles."""
    taken: Sequence[Any]
    """For each of them what `take` is called with, besides the value."""
    own: Any


class Engine(Protocol):
    """Keeps one value a part and calls functions where the values lie.

    Functions are found by their names in a module, so that they can be sent, and are functions of their arguments
    alone: a call that is repeated, because a machine was lost, gives the same. They draw nothing at random. Arguments
    after the first are `shared` by all parts. Everything that comes back is private.
    """

    is_elsewhere: bool
    """Do the values lie on other machines, so that what is made of many rows is better made there?"""

    def check_room(self, size: int) -> None:
        """Refuse where `size` more bytes cannot be kept. Called before anything is spent."""

    def hold(self, make: Callable[..., Arrays], items: Sequence[Any], *shared: Any) -> tuple[Handle, ...]:
        """Keep `make`(item, *shared) for each of the items. An item that is a handle stands for its value."""

    def each(
        self, function: Callable[..., T], handles: Sequence[Handle], *shared: Any, own: Sequence[Any] | None = None
    ) -> Iterator[T]:
        """`function`(value, *shared) for each value, in the order of the handles.

        Where there are `own` arguments, one for each handle: `function`(value, own, *shared).
        """

    def summed(
        self,
        function: Callable[..., Integers],
        handles: Sequence[Handle],
        *shared: Any,
        own: Sequence[Any] | None = None,
    ) -> Integers:
        """The sums of the arrays of whole numbers that `function` gives, called as by `each`."""

    def across(
        self,
        take: Callable[..., Arrays],
        join: Callable[..., T],
        handles: Sequence[Handle],
        shares: Sequence[Share],
        *shared: Any,
    ) -> Iterator[T]:
        """`join`(pieces, own, *shared) for each of the `shares`, in order: `pieces` are what `take` takes of values."""

    def discard(self, handles: Sequence[Handle]) -> None:
        """Forget these values. What nobody refers to is forgotten by itself."""

    def close(self) -> None:
        """Forget everything, and give back what was taken."""


# ---------------------------------------------------------------------------------------------------------------------
# What a worker of a cluster is told to do and says about it: nothing of either can be read off a key, a log or a page.
#
# A worker prints the arguments of a task that fails, and all that was raised. So no task fails: an order is sealed, and
# whatever goes wrong comes back as a `Failure`, which has words only where they are pcqr's own and quote no record.


@dataclass(frozen=True, eq=False, repr=False)
class Sealed:
    """Something as bytes, of which nothing is printed."""

    content: bytes

    @classmethod
    def of(cls, value: Any) -> Sealed:
        import cloudpickle  # noqa: PLC0415 - comes with the extra, and knows functions that no module has

        return cls(cloudpickle.dumps(value))

    def opened(self) -> Any:
        return pickle.loads(self.content)  # noqa: S301 - our own: whoever may speak to a worker has it run code anyway


@dataclass(frozen=True, eq=False, repr=False)
class Failure:
    """What went wrong on a worker: an error of pcqr, whose words are public, or the name of another one's type."""

    error: PcqrError | str


@dataclass(frozen=True, eq=False, repr=False)
class Order:
    """A function, and its last arguments."""

    function: Callable[..., Any]
    shared: tuple[Any, ...]


def obey(order: Sealed | Order | Failure, *values: Any) -> Any:
    """Call the function of `order` with the values, then its own arguments, in one thread. No exception leaves this."""
    for given in (order, *values):
        if isinstance(given, Failure):
            return given
    try:
        found = Order(*order.opened()) if isinstance(order, Sealed) else order
        own = (value.opened() if isinstance(value, Sealed) else value for value in values)
        with at_most(1):
            return found.function(*own, *found.shared)  # type: ignore[union-attr]  # no failure: see above
    except PcqrError as error:
        return Failure(error)
    except Exception as error:
        return Failure(type(error).__name__)


def obey_all(order: Sealed | Order | Failure, own: Sealed | None, *values: Any) -> Any:
    """The sum of what `obey` gives for each of the values, with each one's own argument where there are such.

    No exception leaves this either: there may be no memory for a sum.
    """
    totals: Any = None
    try:
        apart = [()] * len(values) if own is None else [(each,) for each in own.opened()]
        for value, argument in zip(values, apart, strict=True):
            found = obey(order, value, *argument)
            if isinstance(found, Failure):
                return found
            totals = found if totals is None else added(totals, found)
    except Exception as error:
        return Failure(type(error).__name__)
    return totals


def added(totals: Integers, found: Integers) -> Integers:
    """Both sums together."""
    return tuple(np.add(total, part) for total, part in zip(totals, found, strict=True))


def obey_with(order: Sealed | Order | Failure, own: Sealed, *pieces: Any) -> Any:
    """`obey` with all of the pieces as one value, and an own argument."""
    failed = next((piece for piece in pieces if isinstance(piece, Failure)), None)
    return obey(order, pieces, own) if failed is None else failed


def opened(order: Sealed) -> Order | Failure:
    """Once for all tasks of a worker."""
    try:
        return Order(*order.opened())
    except Exception as error:
        return Failure(type(error).__name__)


def failure_of(value: Any) -> Failure | None:
    """Only how it went."""
    return value if isinstance(value, Failure) else None


def program() -> tuple[str, str, str]:
    """Python, numpy, and every line of pcqr: what computes. The proofs speak of these lines and no others."""
    lines = hashlib.sha256()
    room = Path(pcqr.__file__).parent
    for path in sorted(room.rglob("*.py")):
        lines.update(path.relative_to(room).as_posix().encode() + b"\0" + path.read_bytes())
    return ".".join(platform.python_version_tuple()[:2]), np.__version__, lines.hexdigest()


# ---------------------------------------------------------------------------------------------------------------------
# What is done to one part, where it lies: functions of its arrays and of what is public, which draw nothing.


LABELS, _COLUMN = "labels", "column "
_ROWS, _TEXTS, _ENDS, _KINDS = "rows of", "texts of", "ends of", "kinds of"
"""Arrays of a column of texts: which text each row has, all texts in UTF-8, where each ends, and which are texts."""
_TEXT, _GAP, _NONE = 0, 1, 2
_PLACE = np.dtype(np.int32)
"""A part has fewer rows than this."""


@dataclass(frozen=True)
class Layout:
    """What is public about every part: the declared columns, and the number of labels.

    A part has the texts of the columns `texts`, too, so that another schema can read them.
    """

    columns: tuple[Column, ...]
    labels: int
    texts: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """p, once the columns are encoded."""
        return sum(column.width for column in self.columns)

    @property
    def record_bytes(self) -> int:
        """Bytes of a record in the arrays of its part. Texts come on top: each is there once in a part."""
        return 1 + sum(column.compact([]).itemsize for column in self.columns) + _PLACE.itemsize * len(self.texts)

    @property
    def bytes_read_again(self) -> int:
        """Bytes of a record that come on top where another schema reads the texts."""
        return replace(self, texts=()).record_bytes if self.texts else 0

    def arrays(
        self, table: CompactTable, labels: Labels, texts: Mapping[str, Texts] | None = None
    ) -> dict[str, NDArray[np.generic]]:
        """A part, as an engine keeps it."""
        found = {_name(place): entries for place, entries in enumerate(table.entries)} | {LABELS: labels}
        for name, held in (texts or {}).items():
            found |= _packed(name, held)
        return found

    def records(self, part: Arrays) -> Encoded:
        """The records of a part, which were checked when it was read."""
        entries = tuple(part[_name(place)] for place in range(len(self.columns)))
        return Encoded.of_checked(CompactTable(self.columns, entries), part[LABELS], self.labels)

    def places(self, names: Collection[str]) -> list[int]:
        """Return the positions of the columns of these names."""
        return [place for place, column in enumerate(self.columns) if column.name in names]


def _name(place: int) -> str:
    return f"{_COLUMN}{place}"


def _packed(name: str, held: Texts) -> dict[str, NDArray[np.generic]]:
    """Return texts as arrays, since engines keep only arrays."""
    encoded = [b"" if text is None else text.encode() for text in held.texts]
    return {
        f"{_ROWS} {name}": held.places.astype(_PLACE),
        f"{_TEXTS} {name}": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{_ENDS} {name}": np.cumsum([len(each) for each in encoded], dtype=np.int64),
        f"{_KINDS} {name}": np.array(
            [_TEXT if text is not None else _GAP if is_gap else _NONE for text, is_gap in zip(*held[::2], strict=True)],
            dtype=np.uint8,
        ),
    }


def _unpacked(part: Arrays, name: str) -> Texts:
    content, ends, kinds = (
        part[f"{_TEXTS} {name}"].tobytes(),
        part[f"{_ENDS} {name}"].tolist(),
        part[f"{_KINDS} {name}"],
    )
    spans = zip([0, *ends], ends, kinds.tolist(), strict=False)
    texts = [content[start:end].decode() if kind == _TEXT else None for start, end, kind in spans]
    return Texts(texts, part[f"{_ROWS} {name}"], (kinds == _GAP).tolist())


def whole(part: Arrays) -> Arrays:
    """All of it."""
    return part


def labels_of(part: Arrays) -> Labels:
    """The labels."""
    found: Labels = part[LABELS]
    return found


def rows_at(part: Arrays, positions: Positions) -> Arrays:
    """Return the records at these positions within the part, without their texts."""
    return {name: part[name][positions] for name in part if name == LABELS or name.startswith(_COLUMN)}


def labels_at(part: Arrays, positions: Positions) -> Labels:
    """The labels at these positions within the part."""
    found: Labels = part[LABELS][positions]
    return found


def of_rows(part: Arrays, positions: Positions, function: Callable[..., T], *shared: Any) -> T:
    """`function` of the records at these positions, instead of the whole part."""
    return function(rows_at(part, positions), *shared)


def joined(pieces: Sequence[Arrays], back: Positions) -> dict[str, NDArray[Any]]:
    """The records of several pieces, in the order of `back`."""
    return {name: np.concatenate([piece[name] for piece in pieces])[back] for name in pieces[0]}


def taught(pieces: Sequence[Arrays], own: tuple[Any, ...], layout: Layout, teach: Callable[..., T]) -> T:
    """What `teach` makes of the records of several pieces; `own` are their order and its other arguments."""
    back, *others = own
    return teach(layout.records(joined(pieces, back)).gathered(), *others)


def numbers(part: Arrays, layout: Layout, names: Collection[str]) -> dict[str, Floats]:
    """Return the cells of columns of numbers or dates, by name, with NaN for a gap."""
    return {layout.columns[place].name: part[_name(place)] for place in layout.places(names)}


def texts(part: Arrays, names: Collection[str]) -> dict[str, Texts]:
    """Return the kept texts of columns, by name."""
    return {name: _unpacked(part, name) for name in names}


def read_by(part: Arrays, layout: Layout, columns: Sequence[Column]) -> Arrays:
    """Return the part as read by columns that differ only in the categories of texts. Leaves out the texts."""
    found = {LABELS: part[LABELS]}
    for place, column in enumerate(columns):
        is_text = column.name in layout.texts
        found[_name(place)] = _unpacked(part, column.name).read_by(column) if is_text else part[_name(place)]
    return found


def relabelled(part: Arrays, layout: Layout, labelling: Labelling) -> Arrays:
    """The part with other labels."""
    return {**part, LABELS: labels_of(layout.records(part).relabelled(labelling).arrays())}


def label_counts(part: Arrays, layout: Layout) -> tuple[IntArray]:
    """How many records have each label."""
    return (np.bincount(part[LABELS], minlength=layout.labels).astype(np.int64),)


def error_counts(part: Arrays, layout: Layout, labellings: Sequence[Labelling]) -> tuple[IntArray]:
    """How many records each of `labellings` gets wrong."""
    return (layout.records(part).error_counts(labellings),)


def leaf_counts(part: Arrays, layout: Layout, root: Node) -> tuple[IntArray]:
    """How many records of each label come to each leaf below `root`."""
    return (layout.records(part).leaf_counts(root),)


def conjunctions(part: Arrays, layout: Layout, predicates: Sequence[Predicate], depth: int) -> tuple[Int32Array]:
    """How many records of each label satisfy each set of at most `depth` of the predicates."""
    return (layout.records(part).conjunctions(predicates, depth).table,)


def found_in(part: Arrays, layout: Layout, shown: Points) -> NDArray[np.bool_]:
    """Which rows of `shown` are records of the part."""
    records = layout.records(part)
    found = np.zeros(shown.shape[0], dtype=np.bool_)
    for X, _ in records.blocks(records.point_rows):
        found[~found] = rows_in(shown[~found], X)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# An engine for one machine: values lie in scratch files without a name, and one at a time is in memory.


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
    >>> from pcqr.data.records.parted.engine import Spool
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
        self._end, self._lock = 0, threading.Lock()
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
        with self._lock:
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
