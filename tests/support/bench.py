"""Methods of a user's own, for tests of `pcqr bench`: each notes that it was called, where `PCQR_TEST_NOTES` says."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np


class Common:
    """The most common label, and a coin of the seed for some rows."""

    def fit(self, X: Any, y: Any, *, public: Any, schema: Any, epsilon: float, delta: float, seed: int) -> None:
        assert X.shape[1] == public.shape[1] == len(schema.features)
        assert 0 < delta < epsilon
        self.label = int(np.bincount(y).argmax())
        self.coins = np.random.default_rng(seed)
        notes = os.environ.get("PCQR_TEST_NOTES")
        if notes is not None:
            with Path(notes).open("a", encoding="utf-8") as file:
                file.write(f"{type(self).__name__} {seed}\n")

    def predict(self, X: Any) -> Any:
        return np.where(self.coins.random(len(X)) < 0.3, 1 - self.label, self.label)


class Asked(Common):
    """Answers queries, every second one."""

    asks = True

    def predict(self, X: Any) -> Any:
        return [self.label if row % 2 else None for row in range(len(X))]


class NothingPublic(Common):
    """A method that gets cells by columns, and nothing else."""

    asks = True

    def fit(self, X: Any, y: Any, *, public: Any, schema: Any, **_: Any) -> None:
        assert public is None
        assert schema is None
        assert {len(values) for values in X.values()} == {len(y)}
        self.label = int(np.bincount(y).argmax())

    def predict(self, X: Any) -> Any:
        return [self.label for _ in X["age"]]


class Waits(Common):
    """Does not end while a file is there."""

    def predict(self, X: Any) -> Any:
        notes = Path(os.environ["PCQR_TEST_NOTES"])
        while notes.with_suffix(".wait").exists():
            time.sleep(0.05)
        return super().predict(X)


class Broken(Common):
    """An error whose words are a record."""

    def predict(self, X: Any) -> Any:
        raise RuntimeError(f"secret {X[0]}")


class Killed(Common):
    """Ends its process."""

    def predict(self, _: Any) -> Any:
        os._exit(9)


class Leaves(Common):
    """Starts a process that goes on and holds a lock for as long as it is there."""

    def predict(self, X: Any) -> Any:
        import fcntl

        with Path(os.environ["PCQR_TEST_NOTES"]).with_suffix(".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            subprocess.Popen(["/bin/sleep", "60"], pass_fds=[file.fileno()])
        return super().predict(X)


class LeavesAndIsKilled(Leaves):
    """The same, and its own process ends."""

    def predict(self, X: Any) -> Any:
        super().predict(X)
        os._exit(9)


class Orphan(Common):
    """Sees that the process which waits for it is the one that has started it."""

    def predict(self, X: Any) -> Any:
        assert os.environ["PCQR_BENCH_STARTED_BY"] == str(os.getppid())
        return super().predict(X)


class Wrong(Common):
    """A label that there is not."""

    def predict(self, X: Any) -> Any:
        return np.full(len(X), 7)
