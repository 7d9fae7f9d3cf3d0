"""What the tests of the estimators share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcqr import AgnosticRelease, SemiPrivateLearner, SubsampleAggregate, UniversalRelease
from pcqr.privacy.entropy import Entropy

RELEASES = [SubsampleAggregate, AgnosticRelease, UniversalRelease]
ALL = [*RELEASES, SemiPrivateLearner]


class Forbidden(Entropy):
    """Fails the test as soon as a random bit is asked for."""

    is_private = False

    def bytes(self, count: int) -> bytes:
        raise AssertionError(f"{count} random bytes were drawn")


class ScriptedEntropy(Entropy):
    """Hands out the given words in order and fails when there are no more."""

    is_private = False

    def __init__(self, *words: int) -> None:
        self.remaining = list(words)

    def bytes(self, count: int) -> bytes:
        return b"".join(self.remaining.pop(0).to_bytes(8, "little") for _ in range(count // 8))


def steps(n: int, seed: int = 0, noise: float = 0.0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1))
    y = (X[:, 0] > 0.4).astype(np.int64)
    return X, np.where(rng.random(n) < noise, 1 - y, y)
