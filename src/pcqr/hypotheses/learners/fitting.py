"""One teacher out of a scikit-learn classifier: its own part, its own coins, and not a word about how it went."""

from __future__ import annotations

import os
import platform
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcqr.entropy import seeded_generators
from pcqr.hypotheses.base import Hypothesis, Labels, Points
from pcqr.hypotheses.committees.members import FIXED_VOTE, Constant

_COINS, _WORDS, _CACHE = "random_state", "verbose", "memory"


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(Hypothesis):
    """A scikit-learn classifier, fitted on one part. **Private.** It has no document: that would be a pickle."""

    model: Any

    def predict(self, X: ArrayLike) -> Labels:
        said: Labels = self.model.predict(X)
        return said


@dataclass(frozen=True)
class Caller:
    """Where training was called from: a worker is this thread itself, another thread of its process, or elsewhere."""

    machine: str
    process: int
    thread: int

    @classmethod
    def here(cls) -> Caller:
        return cls(platform.node(), os.getpid(), threading.get_ident())

    def is_elsewhere(self) -> bool:
        """Is this another process than the caller's?"""
        here = self.here()
        return (here.machine, here.process) != (self.machine, self.process)


def fitted(estimator: Any, X: Points, y: Labels, seed: int, caller: Caller) -> Hypothesis:
    """A clone of `estimator`, fitted on one part with the coins of `seed`: a function of these three alone.

    A part of one label says that label. Whatever is raised becomes the fixed vote, and whatever is warned of is lost:
    either would be an observable function of the records.
    """
    try:
        if (y == y[0]).all():
            return Constant(int(y[0]))
        with np.errstate(all="ignore"), _apart(seed, caller):
            return Fitted(_own(estimator, seed).fit(X, y.astype(np.int64)))
    except Exception:
        return Constant(FIXED_VOTE)


@contextmanager
def silent() -> Iterator[None]:
    """No warnings: how often a teacher does not converge is private."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _own(estimator: Any, seed: int) -> Any:
    """A clone that draws by `seed` wherever a random state can be set, prints nothing and keeps no cache on disk."""
    from sklearn.base import clone  # noqa: PLC0415 - half of the time that the import of this room would take

    copy = clone(estimator)
    own: dict[str, Any] = {}
    for name, value in copy.get_params().items():
        last = name.rpartition("__")[2]
        if last == _COINS:
            own[name] = seed
        elif last == _WORDS and value:
            own[name] = type(value)(0)  # some take truth values alone, some numbers
        elif last == _CACHE:
            own[name] = None
    return copy.set_params(**own)


@contextmanager
def _apart(seed: int, caller: Caller) -> Iterator[None]:
    """What other code draws from global generators is this teacher's own, too, but where threads share them."""
    elsewhere = caller.is_elsewhere()
    generators = seeded_generators(seed) if elsewhere or Caller.here() == caller else nullcontext()
    with generators, silent() if elsewhere else nullcontext():  # filters are the process's: the caller has set them
        yield
