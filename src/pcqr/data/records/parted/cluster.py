"""An engine for many machines: values lie on the workers of a Dask cluster, and are worked on there.

Proof: proofs/cluster.md.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pcqr.data.records.parted.connecting import LOCAL, Connection, connect
from pcqr.data.records.parted.engine import (
    Arrays,
    Engine,
    Failure,
    Integers,
    Sealed,
    Share,
    added,
    failure_of,
    obey,
    obey_all,
    obey_with,
    opened,
)
from pcqr.errors import PcqrError
from pcqr.privacy.entropy import SystemEntropy
from pcqr.progress import tracked

T = TypeVar("T")

_GLANCE = 0.5
"""Seconds after which it is asked whether anybody is still there."""

_SMALL = 1 << 16
"""Orders of so many bytes go with every task; larger ones are sent once, and workers have them from each other."""

_AHEAD = 2
"""Tasks in flight for each thread of the cluster."""

_STAGE = "parts of the table"


class ClusterLost(PcqrError, RuntimeError):
    """The cluster cannot go on: nobody is left to work, or a task ended every worker that it was given to.

    Nothing was released. What was charged before stays charged.
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"{why} Nothing was released; an account that was charged for it stays charged.")


@dataclass(frozen=True, eq=False, repr=False)
class OnWorker:
    """A value that lies on a worker, and is made anew by another one where that one dies. **Private.**"""

    future: Any


class Cluster(Engine):
    """Keeps values on the workers of a Dask cluster.

    All that a task needs is in its order or made by another task, so that Dask can repeat whatever a dead worker did or
    held. Nothing is drawn on a worker.

    Parameters
    ----------
    scheduler : str, default "local"
        `tcp://HOST:PORT` or `tls://HOST:PORT`, with the certificates of Dask's own configuration. "local" starts
        workers on this machine, of one thread each, for this process alone.
    workers : int or None, default None
        How many of them; None: one for each core. Only for "local".
    patience : float, default 60.0
        Seconds without a single worker after which the cluster is given up.

    Raises
    ------
    ParameterError
        When no such scheduler answers, it has no worker, or one runs another program than this process.
    MissingExtra
        When Dask is not installed.

    Examples
    --------
    >>> from pcqr.data.records.parted import Cluster
    >>> Cluster("http://scheduler:8786")
    Traceback (most recent call last):
        ...
    pcqr.errors.ParameterError: scheduler must be 'local', 'tcp://HOST:PORT' or 'tls://HOST:PORT'; received
    'http://scheduler:8786'.
    """

    is_elsewhere = True

    def __init__(self, scheduler: str = LOCAL, workers: int | None = None, *, patience: float = 60.0) -> None:
        self._patience = patience
        self.connection: Connection = connect(scheduler, workers)

    def check_room(self, size: int) -> None:
        """How much room workers have, in memory and on disks of their own, Dask does not say."""

    def hold(self, make: Callable[..., Arrays], items: Sequence[Any], *shared: Any) -> tuple[OnWorker, ...]:
        order = self._shared(make, shared)
        # Evenly, as long as they live.
        turns: list[list[str] | None] = [[address] for address in self.connection.addresses()] or [None]
        made = tuple(
            OnWorker(self._task("hold", obey, order, item.future))
            if isinstance(item, OnWorker)
            else OnWorker(self._task("hold", obey, order, Sealed.of(item), workers=turns[place % len(turns)]))
            for place, item in enumerate(items)
        )
        for _ in self.each(failure_of, made):  # all are there, and none is a failure
            pass
        return made

    def each(
        self, function: Callable[..., T], handles: Sequence[OnWorker], *shared: Any, own: Sequence[Any] | None = None
    ) -> Iterator[T]:
        order = self._shared(function, shared)
        tasks = (
            self._task("ask", obey, order, handle.future, *(() if own is None else (Sealed.of(own[place]),)))
            for place, handle in enumerate(handles)
        )
        return self._results(tasks, len(handles))

    def summed(
        self,
        function: Callable[..., Integers],
        handles: Sequence[OnWorker],
        *shared: Any,
        own: Sequence[Any] | None = None,
    ) -> Integers:
        """What lies on one worker is added up there: a sum may be large, and there are more parts than threads."""
        order = self._shared(function, shared)
        groups = self._neighbours(handles)
        tasks = (
            self._task(
                "sum",
                obey_all,
                order,
                None if own is None else Sealed.of([own[place] for place in group]),
                *(handles[place].future for place in group),
            )
            for group in groups
        )
        sums = self._results(tasks, len(groups))
        totals: Integers = next(sums)
        for found in sums:
            totals = added(totals, found)
        return totals

    def across(
        self,
        take: Callable[..., Arrays],
        join: Callable[..., T],
        handles: Sequence[OnWorker],
        shares: Sequence[Share],
        *shared: Any,
    ) -> Iterator[T]:
        taking, joining = self._shared(take, ()), self._shared(join, shared)

        def task(share: Share) -> Any:
            pieces = (
                self._task("take", obey, taking, handles[place].future, Sealed.of(taken))
                for place, taken in zip(share.places, share.taken, strict=True)
            )
            return self._task("join", obey_with, joining, Sealed.of(share.own), *pieces)

        return self._results(map(task, shares), len(shares))

    def discard(self, handles: Sequence[OnWorker]) -> None:
        for handle in handles:
            handle.future.release()

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _neighbours(self, handles: Sequence[OnWorker]) -> list[list[int]]:
        """Places of values that lie together, one group for each thread. Which they are changes no sum."""
        where = self.connection.client.who_has([handle.future for handle in handles])
        threads = self.connection.client.nthreads()
        at: dict[str, list[int]] = {}
        for place, handle in enumerate(handles):
            at.setdefault(min(where.get(handle.future.key) or ("",)), []).append(place)
        return [
            group
            for address, those in sorted(at.items())
            for first in range(threads.get(address, 1))
            if (group := those[first :: threads.get(address, 1)])
        ]

    def _shared(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """An order for many values: as it is, or as something that workers hand on to each other."""
        sealed = Sealed.of((function, arguments))
        return sealed if len(sealed.content) <= _SMALL else self._task("share", opened, sealed)

    def _task(self, kind: str, function: Callable[..., Any], *given: Any, workers: list[str] | None = None) -> Any:
        # A key is public, and Dask would make it a hash of the arguments.
        key = f"pcqr-{kind}-{SystemEntropy().bytes(16).hex()}"
        with self.connection.large_tasks():
            return self.connection.client.submit(
                function, *given, key=key, pure=False, workers=workers, allow_other_workers=workers is not None
            )

    def _results(self, tasks: Iterable[Any], count: int) -> Iterator[Any]:
        """What they give, in order. A few are in flight at a time."""
        coming, waiting = iter(tasks), deque[Any]()
        most = _AHEAD * self.connection.threads()
        for _ in tracked(_STAGE, range(count)):
            while len(waiting) < most and (task := next(coming, None)) is not None:
                waiting.append(task)
            yield self._result(waiting.popleft())

    def _result(self, future: Any) -> Any:
        alone_since: float | None = None
        while True:
            try:
                found = future.result(timeout=_GLANCE)
                break
            except TimeoutError:
                if self.connection.has_workers():
                    alone_since = None
                    continue
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since >= self._patience:
                    raise ClusterLost("The cluster has no worker left, and none came back.") from None
            except Exception as error:  # of what Dask says only the kind is repeated
                raise ClusterLost(
                    f"The cluster gave up a task ({type(error).__name__}): the scheduler is gone, or every worker that "
                    "had it died, for want of memory, say."
                ) from None
        if isinstance(found, Failure):
            raise _described(found)
        return found


def _described(failure: Failure) -> Exception:
    if isinstance(failure.error, PcqrError):
        return failure.error
    return ClusterLost(f"A worker failed with {failure.error}. What else it said may quote records, and is dropped.")
