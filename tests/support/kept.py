"""What the tests of kept releases share: small releases, and processes that are killed at a named point."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pcqr
from pcqr.durable.ledger.store import watched
from pcqr.hypotheses import Stumps, Thresholds
from support.ledgers import new_folder

QUERIES = np.concatenate([np.linspace(0.01, 0.2, 20), np.linspace(0.6, 0.99, 20)])[:, None]
"""Far from the border at 0.4, so that most answers are stable."""
PUBLIC = np.linspace(0.0, 1.0, 50)[:, None]
HARD = np.linspace(0.39, 0.41, 21)[:, None]
"""At the border: many of these are unstable."""
ESTIMATORS: dict[str, Callable[..., Any]] = {
    "agnostic": lambda **kw: pcqr.AgnosticRelease(Thresholds(), epsilon=4.0, queries=30, vote="stability", **kw),
    "subsamp": lambda **kw: pcqr.SubsampleAggregate(Thresholds(), epsilon=4.0, queries=30, vote="stability", **kw),
    "agnostic by noise": lambda **kw: pcqr.AgnosticRelease(
        Thresholds(), epsilon=8.0, queries=60, vote="noisy max", **kw
    ),
    "confident max": lambda **kw: pcqr.ConfidentMaxAggregate(
        Thresholds(), epsilon=20.0, queries=60, most_labels=50, **kw
    ),
    "noisy max": lambda **kw: pcqr.NoisyMaxAggregate(Thresholds(), epsilon=8.0, queries=60, **kw),
    "universal": lambda **kw: pcqr.UniversalRelease(Thresholds(), epsilon=4.0, queries=30, **kw),
}
AT_FIT: dict[str, Callable[..., Any]] = {
    "published at fit": lambda **kw: pcqr.UniversalRelease(epsilon=4.0, queries=30, **kw),
    "answers alone": lambda **kw: pcqr.UniversalRelease(epsilon=4.0, queries=30, shows="answers", **kw),
    "one draw": lambda **kw: pcqr.AgnosticRelease(Stumps(cuts=(0.3, 0.4, 0.5)), epsilon=4.0, queries=30, **kw),
}
"""Releases without votes: a classifier answers from the first query on."""


def table(n: int = 3_000) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X = np.random.default_rng(0).random((n, 1))
    return X, (X[:, 0] > 0.4).astype(np.int64)


def fitted(name: str = "agnostic", **parameters: Any) -> Any:
    """A fitted release in memory."""
    return (ESTIMATORS | AT_FIT)[name](**parameters).fit(*table(), public=PUBLIC if name in AT_FIT else None)


def kept(folder: Path, name: str = "agnostic", **parameters: Any) -> Path:
    """The directory of a release that nobody has open. Its anchor is beside it. Made once, and copied."""
    shutil.copytree(_template(name, **parameters), folder, dirs_exist_ok=True)
    return folder / "release"


@cache
def _template(name: str, **parameters: Any) -> Path:
    folder = new_folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    fitted(name, **parameters).save(folder / "release", anchor=folder / "anchor").close()
    return folder


def reopened(folder: Path, **how: Any) -> Any:
    return pcqr.release.open(folder / "release", anchor=folder / "anchor", **how)


def in_a_fork(act: Callable[[], object], *, killed_at: str | None = None, time: int = 1) -> int:
    """Run `act` in a forked process, killed when it reaches a point of the order of writes for the n-th `time`.

    Returns its exit code: −9 if it was killed.
    """
    pid = os.fork()
    if pid == 0:
        code, reached = 1, itertools.count(1)

        def kill(point: str) -> None:
            if point == killed_at and next(reached) == time:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            with watched(kill):
                act()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
