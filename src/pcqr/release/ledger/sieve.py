"""Which keys are surely new: a piece of memory of fixed size, past which most look-ups need not go (proofs/ledger.md).

Queries are hardly ever repeated: to ask the database for each of them costs more than to write the answers down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcqr.release.ledger.chain import Link

EXPONENT = 19
"""2^19 words of 64 bits are four megabytes: of a million keys and a new one, about one in a thousand is held back."""
_SHIFTS = np.array([[0], [6], [12], [18]], np.uint64)
_ONE, _PLACE = np.uint64(1), np.uint64(63)


class Sieve:
    """The keys of all entries of a ledger up to the link `until`, by their first eight bytes (`tables.prefixes`).

    These bytes name a word and at most four bits of it, which are set when a key is added and never cleared: a key
    with a bit that is not set was not added. A key whose bits are all set may have been, or others have set them.
    """

    def __init__(self, until: Link) -> None:
        self.until = until
        self._words = np.zeros(1 << EXPONENT, np.uint64)
        self._rest = np.uint64(64 - EXPONENT)

    def add(self, prefixes: NDArray[np.int64]) -> None:
        words, bits = self._marks(prefixes)
        np.bitwise_or.at(self._words, words, bits)

    def may_have(self, prefixes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """False where no key that begins so was added."""
        words, bits = self._marks(prefixes)
        found: NDArray[np.bool_] = self._words[words] & bits == bits
        return found

    def _marks(self, prefixes: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
        """The word of each key, by its first bits, and its bits in that word, by its last ones."""
        numbers = prefixes.view(np.uint64)
        bits = np.bitwise_or.reduce(_ONE << (numbers >> _SHIFTS & _PLACE), axis=0)
        return (numbers >> self._rest).astype(np.intp), bits
