"""An engine for many machines: values lie on the workers of a Dask cluster, and are worked on there.

Proof: proofs/cluster.md.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

from pcqr.checks import check_integer
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
    program,
)
from pcqr.errors import MissingExtra, ParameterError, PcqrError
from pcqr.privacy.entropy import SystemEntropy
from pcqr.progress import tracked

# ---------------------------------------------------------------------------------------------------------------------
# The way to a Dask cluster: one that is there, or one that is started here, for this process alone.


LOCAL = "local"
SCHEMES = ("tcp://", "tls://")

ANSWERS_WITHIN = 5.0
"""Seconds for a scheduler to answer."""

_WORKS_WITHIN = 30.0
"""Seconds for a first worker to be there."""

_QUIET = {
    "distributed.scheduler.http.routes": [],  # pages that show tasks to everybody on this machine
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
}

_IN_MEMORY = {
    "distributed.worker.memory.target": False,  # no record on disk: a process that is killed outright leaves its files
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,  # nothing would free memory meanwhile: a worker would wait for ever
    "distributed.worker.memory.terminate": 0.95,  # it is ended, and after a few times the task is given up
}


@dataclass(eq=False, repr=False)
class Connection:
    """A client of a scheduler, and what was started for it."""

    client: Any
    cluster: Any = None
    directory: str | None = None

    def addresses(self) -> list[str]:
        """Of the workers."""
        return sorted(self.client.nthreads())

    def threads(self) -> int:
        return max(1, int(sum(self.client.nthreads().values())))

    def has_workers(self) -> bool:
        """Is anybody there? False where the scheduler does not even answer."""
        try:
            return bool(self.client.sync(self.client.scheduler.ncores, callback_timeout=ANSWERS_WITHIN))
        except Exception:
            return False

    @contextmanager
    def large_tasks(self) -> Iterator[None]:
        """Dask warns of tasks of ten megabytes. The weights of a linear classifier are such ones, and are sent once."""
        import dask  # noqa: PLC0415

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            yield

    def close(self) -> None:
        """Leave nothing behind: no process, no thread and no file."""
        for each in (self.client, self.cluster):
            if each is not None:
                with suppress(Exception):
                    each.close()
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)


def connect(scheduler: str, workers: int | None) -> Connection:
    """A connection to workers that run this very program."""
    try:
        import distributed  # noqa: F401, PLC0415 - takes its time to import
    except ImportError:
        raise MissingExtra("Working on a cluster", "dask") from None
    if scheduler == LOCAL:
        connection = _started(workers)
    elif scheduler.startswith(SCHEMES):
        if workers is not None:
            raise ParameterError("workers", f"None but for the scheduler {LOCAL!r}: others have their own", workers)
        connection = Connection(_client(scheduler))
    else:
        raise ParameterError("scheduler", "'local', 'tcp://HOST:PORT' or 'tls://HOST:PORT'", scheduler)
    try:
        check(connection, scheduler)
    except BaseException:
        connection.close()
        raise
    return connection


def _started(workers: int | None) -> Connection:
    """One thread a process. Encrypted, with keys that no file has: any user of this machine can reach a port.

    Workers keep all that they hold in memory, together at most what this machine has.
    """
    import dask  # noqa: PLC0415
    from distributed import LocalCluster  # noqa: PLC0415
    from distributed.security import Security  # noqa: PLC0415

    if workers is not None:
        check_integer("workers", workers, least=1)
    directory = tempfile.mkdtemp(prefix="pcqr-")  # its owner's alone
    try:
        with dask.config.set(_QUIET | _IN_MEMORY | {"temporary-directory": directory}):
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                security=Security.temporary(),
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                local_directory=directory,
                config=deepcopy(dask.config.config),  # also for workers that are started later, in the place of others
                silence_logs=logging.ERROR,
            )
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return Connection(_client(cluster, direct_to_workers=True), cluster, directory)


def _client(address: Any, **options: Any) -> Any:
    from distributed import Client  # noqa: PLC0415

    try:
        with _hushed():
            return Client(address, timeout=ANSWERS_WITHIN, set_as_default=False, **options)
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        raise ParameterError(
            "scheduler",
            "the address of a Dask scheduler that answers (tls://: with the certificates of Dask's own configuration)",
            f"{address} ({type(error).__name__})",
        ) from None


@contextmanager
def _hushed() -> Iterator[None]:
    """Dask warns of other versions: they are refused below."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check(connection: Connection, scheduler: str) -> None:
    """Is there a worker, and does every one run this very program?"""
    try:
        connection.client.wait_for_workers(1, timeout=_WORKS_WITHIN)
    except TimeoutError:
        raise ParameterError("scheduler", "one with at least one worker", scheduler) from None
    found = connection.client.run(program, on_error="return")
    here = program()
    if any(each != here for each in found.values()):
        raise ParameterError(
            "scheduler", "one whose workers have the same pcqr, Python and numpy as this process", scheduler
        )


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
    >>> from pcqr.data.records import Cluster
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
