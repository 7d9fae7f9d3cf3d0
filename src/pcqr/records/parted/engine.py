"""Who keeps the parts of a table and works on them: on this machine, part after part, or on others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
"""A value that an engine keeps: arrays with names, and nothing else, so that it can lie in a file. **Private.**"""
Integers = tuple[NDArray[Any], ...]
Handle = Any
"""Stands for a value that is kept. Only the engine that made it knows where the value is."""
T = TypeVar("T")


class Engine(Protocol):
    """Keeps one value a part and calls functions where the values lie.

    Functions are found by their names in a module, so that they can be sent, and are functions of their arguments
    alone: a call that is repeated, because a machine was lost, gives the same. They draw nothing at random. Arguments
    after the first are `shared` by all parts. Everything that comes back is private.
    """

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

    def summed(self, function: Callable[..., Integers], handles: Sequence[Handle], *shared: Any) -> Integers:
        """The sums of the arrays of whole numbers that `function`(value, *shared) gives."""

    def discard(self, handles: Sequence[Handle]) -> None:
        """Forget these values. What nobody refers to is forgotten by itself."""

    def close(self) -> None:
        """Forget everything, and give back what was taken."""
