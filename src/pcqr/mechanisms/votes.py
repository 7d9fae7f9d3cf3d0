"""From counts of votes to a label and to how far that label is from changing (proofs/votes.md).

Counts are private: neither function may put one into an error message or a log.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.errors import DataError


def plurality(counts: ArrayLike) -> int:
    """The label with the most votes; among equals the one that comes first in `counts`."""
    return int(_checked(counts).argmax())


def distance_to_instability(counts: ArrayLike) -> int:
    """The number of teachers that may change their vote, arbitrarily, before `plurality` can change.

    d = min over labels j ≠ top of ⌊g_j / 2⌋ where top comes before j, else ⌈g_j / 2⌉ − 1, with
    g_j = `counts`[top] − `counts`[j]. For two labels and an odd number of votes this is (|c₁ − c₀| − 1) / 2.

    Changing one vote moves d by at most 1, and where that changes the plurality d is 0 before and after.
    """
    votes = _checked(counts)
    top = votes.argmax()
    # j before top needs only a tie to win: one vote less. Then g_j ≥ 1, so the numerator stays ≥ 0.
    comes_before = np.arange(votes.size) < top
    distances = (votes[top] - votes - comes_before) // 2
    return int(np.delete(distances, top).min())


def _checked(counts: ArrayLike) -> NDArray[np.int64]:
    votes = np.asarray(counts)
    if votes.ndim != 1 or votes.size < 2 or votes.dtype.kind not in "iu":
        raise DataError("counts", "a vector of integers for at least two labels", f"{votes.dtype} {votes.shape}")
    return votes.astype(np.int64)
