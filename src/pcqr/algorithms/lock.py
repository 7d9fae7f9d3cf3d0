"""A lock that survives pickling: one query at a time, however many threads ask."""

from __future__ import annotations

from _thread import RLock


class Lock(RLock):  # type: ignore[misc]  # final to typeshed alone
    """Re-entrant. A copy or an unpickled object has a lock of its own, free.

    It is taken and released by the interpreter's own code: a method of Python's in between can be interrupted when it
    begins, before it has released anything, and other threads would wait for ever.
    """

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
