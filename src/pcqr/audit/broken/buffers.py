"""Noise from buffers of random words, or of draws: what goes wrong when one runs out, or is read twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.samplers import Sampler
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.noise import IntegerArray, discrete_laplace, discrete_laplaces

EPSILON = 1.0
CLAIM = Guarantee(EPSILON)

# --------------------------------------------------------------------------------------------------------------
# A buffer that runs out


class _RunsOut(Entropy):
    """One buffer of random words and no more."""

    is_private = True

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._is_used_up = False

    def fill(self, words: NDArray[np.uint64]) -> None:
        if self._is_used_up:
            raise EOFError
        self._is_used_up = True
        self._entropy.fill(words)

    def bytes(self, count: int) -> bytes:
        raise NotImplementedError(f"{count} bytes")


def dropping_laplace(scale: float, entropy: Entropy) -> int:
    """The shipped draw, begun anew with other words where it would need more than are in the buffer.

    Those are the draws that lie too near to a border between two numbers to be told by one word, and all that are so
    large that 63 bits do not reach them.
    """
    while True:
        try:
            return discrete_laplace(scale, _RunsOut(entropy))
        except EOFError:
            continue


# --------------------------------------------------------------------------------------------------------------
# A buffer that is read twice


@dataclass(frozen=True)
class TwoWorkers:
    """Two workers publish a count each, with noise from a buffer of draws: do they see the first count as the larger?

    With `one_buffer` the second worker has a copy of the first one's buffer, as a process has that was forked off.
    """

    one_buffer: bool

    def __call__(self, counts: tuple[int, int], entropy: Entropy) -> str:
        first = self._drawn(entropy)
        second = first.copy() if self.one_buffer else self._drawn(entropy)
        return str(bool(counts[0] + first[0] > counts[1] + second[0]))

    def _drawn(self, entropy: Entropy) -> IntegerArray:
        return discrete_laplaces(1.0 / EPSILON, 2, entropy)


BUGS: Sequence[Bug] = (
    bug(
        "long draws are dropped",
        "A draw that needs more random words than are in the buffer is given up for another: the largest never come.",
        claim=CLAIM,
        broken=Sampler("discrete_laplace", 1.0 / EPSILON, dropping_laplace),
        correct=Sampler("discrete_laplace", 1.0 / EPSILON),
        neighbours=(0, 1),
    ),
    bug(
        "one buffer for two workers",
        "Noise is drawn ahead, and a process that is forked off has a copy of the buffer: the same noise serves twice.",
        claim=CLAIM,
        broken=TwoWorkers(one_buffer=True),
        correct=TwoWorkers(one_buffer=False),
        neighbours=((1, 0), (0, 0)),
    ),
)
