"""What a worker of a cluster is told to do and says about it: nothing of either can be read off a key, a log or a page.

A worker prints the arguments of a task that fails, and all that was raised. So no task fails: an order is sealed, and
whatever goes wrong comes back as a `Failure`, which has words only where they are pcqr's own and quote no record.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pcqr
from pcqr.errors import PcqrError
from pcqr.records.parted.engine import Integers
from pcqr.threads import at_most


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
