"""The way to a Dask cluster: one that is there, or one that is started here, for this process alone."""

from __future__ import annotations

import logging
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pcqr.checks import check_integer
from pcqr.data.records.parted.engine import program
from pcqr.errors import MissingExtra, ParameterError

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
        for opened in (self.client, self.cluster):
            if opened is not None:
                with suppress(Exception):
                    opened.close()
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
