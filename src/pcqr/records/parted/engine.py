"""Who keeps the parts of a table and works on them: on this machine, part after part, or on others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

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
