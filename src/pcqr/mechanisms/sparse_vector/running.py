"""One run of a sparse vector, whatever its form."""

from __future__ import annotations

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

    def __init__(self, parameters: SparseVector, entropy: Entropy) -> None:
        self.parameters = parameters
        self.unstable_left = parameters.unstable
        self.queries_left = parameters.queries
        self._entropy = entropy
        self._draw_threshold()

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
        if self._is_stale:  # drawing it anew was broken off
            self._draw_threshold()
        stable = distance + self.parameters.query_noise(self._entropy) > self._noisy_threshold
        if not stable:
            self.unstable_left -= 1  # one step: ⊥ is counted and its threshold is stale
            if self._is_stale:
                self._draw_threshold()
        return stable

    @property
    def _is_stale(self) -> bool:
        return self.parameters.redraws_threshold and self._drawn_at != self.unstable_left

    def _draw_threshold(self) -> None:
        self._noisy_threshold = self.parameters.threshold + self.parameters.threshold_noise(self._entropy)
        self._drawn_at = self.unstable_left

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parameters!r}, unstable_left={self.unstable_left})"
