"""From counts of votes to a label and to how far that label is from changing (proofs/votes.md).

Counts are private: neither function may put one into an error message or a log.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pcqr.errors import DataError


def plurality(counts: ArrayLike) -> int:
    """The label with the most votes; among equals the one that comes first.

    Parameters
    ----------
    counts : array-like of int, shape (C,)
        The votes for each of the labels 0, …, C−1. **Private.**

    Returns
    -------
    int
        The label. As private as the votes are.

    Raises
    ------
    DataError
        When `counts` is no vector of integers for at least two labels.

    Examples
    --------
    >>> from pcqr.mechanisms import plurality
    >>> plurality([40, 61]), plurality([30, 30, 10])
    (1, 0)
    """
    votes = _checked(counts)
    return votes.index(max(votes))


def distance_to_instability(counts: ArrayLike) -> int:
    """The number of teachers that may change their vote, arbitrarily, before `plurality` can change.

    d = min over labels j ≠ top of ⌊g_j / 2⌋ where top comes before j, else ⌈g_j / 2⌉ − 1, with
    g_j = counts[top] − counts[j]. For two labels and an odd number of votes this is (|c₁ − c₀| − 1) / 2.

    Changing one vote moves d by at most 1, and where that changes the plurality d is 0 before and after.

    Parameters
    ----------
    counts : array-like of int, shape (C,)
        The votes for each of the labels 0, …, C−1. **Private.**

    Returns
    -------
    int
        d ≥ 0. As private as the votes are.

    Raises
    ------
    DataError
        When `counts` is no vector of integers for at least two labels.

    Examples
    --------
    Ten of the 61 may turn to the other label, and it still loses, by 50 to 51; the eleventh decides.

    >>> from pcqr.mechanisms import distance_to_instability
    >>> distance_to_instability([40, 61])
    10
    >>> distance_to_instability([50, 51]), distance_to_instability([51, 50])
    (0, 0)
    """
    votes = _checked(counts)
    top = votes.index(max(votes))
    # j before top needs only a tie to win: one vote less. Then g_j ≥ 1, so the numerator stays ≥ 0.
    return min((votes[top] - of_j - (j < top)) // 2 for j, of_j in enumerate(votes) if j != top)


def _checked(counts: ArrayLike) -> list[int]:
    votes = np.asarray(counts)
    if votes.ndim != 1 or votes.size < 2 or votes.dtype.kind not in "iu":
        raise DataError("counts", "a vector of integers for at least two labels", f"{votes.dtype} {votes.shape}")
    return votes.tolist()  # type: ignore[no-any-return]  # Python's integers: a few of them are faster than an array
