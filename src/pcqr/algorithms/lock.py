"""A lock that survives pickling: one query at a time, however many threads ask."""

from __future__ import annotations

import threading
from types import TracebackType


class Lock:
    """Re-entrant. A copy or an unpickled object has a lock of its own, free."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
