"""One run of a sparse vector, whatever its form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pcqr.alone import alone
from pcqr.entropy import Entropy

if TYPE_CHECKING:
    from pcqr.mechanisms.sparse_vector import SparseVector

PROOF = "sparse_vector"


class RunningSparseVector:
    """One run of a sparse vector, of whichever form.

    The noisy threshold w + ρ is secret: whoever knows it can read distances off the answers.

    Parameters
    ----------
    parameters : SparseVector
        What is run.
    entropy : Entropy
        Where all noise of the run comes from.
    thresholds : sequence of int, default ()
        Noisy thresholds that were drawn before (`thresholds`), for a run that goes on. **Secret.**

    Attributes
    ----------
    unstable_left : int
        Unstable answers that are left. Public.
    queries_left : int or None
        Queries that are left. Public; None: any number.
    has_halted : bool
        Whether either is used up.

    Examples
    --------
    >>> from pcqr import SeededEntropy
    >>> from pcqr.mechanisms import OneSidedSparseVector, RunningSparseVector
    >>> vector = OneSidedSparseVector.calibrate(epsilon=1.0, delta=1e-6, unstable=2)
    >>> run = RunningSparseVector(vector, SeededEntropy(0))  # NOT PRIVATE; the same as vector.start(…)
    >>> [run.is_stable(distance) for distance in (60, 0, 60, 0)]
    [True, False, True, False]
    >>> run.has_halted
    True
    """

    is_under_way = False

    def __init__(self, parameters: SparseVector, entropy: Entropy, thresholds: Sequence[int] = ()) -> None:
        self.parameters = parameters
        self.unstable_left = parameters.unstable
        self.queries_left = parameters.queries
        self._entropy = entropy
        self._thresholds = list(thresholds)
        self._threshold(self._epoch)

    @property
    def has_halted(self) -> bool:
        """A function of the answers alone, hence public."""
        return self.unstable_left <= 0 or (self.queries_left is not None and self.queries_left <= 0)

    @alone
    def is_stable(self, distance: int) -> bool:
        """Answer the query whose distance to instability is `distance`. Raises RuntimeError once halted."""
        if self.has_halted:
            raise RuntimeError("The sparse vector has halted: no further query may be tested.")
        if self.queries_left is not None:
            self.queries_left -= 1
        threshold = self._threshold(self._epoch)
        stable = distance + self.parameters.query_noise(self._entropy) > threshold
        if not stable:
            self.unstable_left -= 1  # one step: ⊥ is counted, and the next threshold, if there is one, is due
        return stable

    def thresholds(self) -> tuple[int, ...]:
        """The noisy thresholds of all epochs, those that are not due yet drawn ahead. **Secret.**

        With them, and the public counts of what is left, another run goes on where this one is.
        """
        self._threshold(self.parameters.unstable - 1 if self.parameters.redraws_threshold else 0)
        return tuple(self._thresholds)

    @property
    def _epoch(self) -> int:
        """Which threshold holds: the first, or where each ⊥ is followed by another one, that after the last ⊥."""
        return self.parameters.unstable - self.unstable_left if self.parameters.redraws_threshold else 0

    def _threshold(self, epoch: int) -> int:
        while len(self._thresholds) <= epoch:
            self._thresholds.append(self.parameters.threshold + self.parameters.threshold_noise(self._entropy))
        return self._thresholds[epoch]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parameters!r}, unstable_left={self.unstable_left})"
