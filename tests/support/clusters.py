"""Workers of a Dask cluster that can be killed, and what they are asked to do: here, since they import it by name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pcqr.compiled import available
from pcqr.data.records.parted.cluster import Cluster
from pcqr.errors import DataError
from pcqr.hypotheses import Stumps
from pcqr.privacy.entropy import SeededEntropy, SystemEntropy

SECRET = "secret-4711"  # noqa: S105
TESTS = Path(__file__).parents[1]


class Loud:
    """A private value that says itself wherever it is printed."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"{SECRET} {self.number}"


def made(number: int) -> Any:
    return Loud(number)


def number_and(value: Loud, more: Any) -> int:
    return value.number + int(np.asarray(more).sum())


def refused(value: Loud) -> Any:
    raise DataError("X", "finite numbers", f"NaN or infinity in part {value.number // 100}")


def crashed(value: Loud) -> None:
    raise ValueError(f"of {value!r}")


def threads_of(value: Loud) -> int:  # noqa: ARG001
    return available()


def process_of(value: Loud) -> int:  # noqa: ARG001
    return os.getpid()


class OneByOne(Stumps):
    """A class of a user: with a `learn` of its own, so that teachers are trained one after the other."""

    def learn(self, X: Any, y: Any) -> Any:
        return super().learn(X, y)


def keys_seen(dask_scheduler: Any) -> list[tuple[str, str]]:
    """Every key that the scheduler has ever had, and what became of it."""
    return [(str(line[0]), str(line[2])) for line in dask_scheduler.transition_log]


def shut_the_door() -> None:
    """From now on nothing can be drawn in this process."""

    def drawn(*_: object) -> bytes:
        raise AssertionError("something was drawn on a worker")

    for door in (SystemEntropy, SeededEntropy):
        for name in {"bytes", "words", "fill"} & vars(door).keys():
            setattr(door, name, drawn)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Two workers in whose processes nothing can be drawn. One for all tests: to start them takes seconds."""
    pytest.importorskip("distributed", reason="Dask is not installed: pip install pcqr[dask]")
    with Cluster("local", 2) as started:
        started.connection.client.run(shut_the_door)
        yield started
        directory = Path(started.connection.directory or "")
    assert not directory.exists()
    started.close()  # a second time does no harm


@contextmanager
def scheduler_alone() -> Iterator[str]:
    """The address of a scheduler in this process that has no worker yet."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=50) as cluster:
        yield cluster.scheduler_address


@contextmanager
def workers_of(address: str, count: int, **environment: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Workers that nobody starts again, each a process of its own."""
    options = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--death-timeout", "20")
    command = (sys.executable, "-m", "distributed.cli.dask_worker", address, *options)
    paths = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    started = [
        subprocess.Popen(command, env=os.environ | {"PYTHONPATH": paths} | environment, stderr=subprocess.DEVNULL)  # noqa: S603
        for _ in range(count)
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def keeper(dask_worker: Any) -> tuple[str, int]:
    """What a worker keeps values in, and how many kinds of pages it serves."""
    import dask

    return type(dask_worker.data).__name__, len(dask.config.get("distributed.worker.http.routes"))
