"""The only door to randomness.

`SystemEntropy` reads the operating system's generator and is what every release uses unless told otherwise.
`SeededEntropy` is its reproducible twin for tests: whatever is produced with it is marked as **not private**
(`Guarantee.is_private` is False), because whoever knows the seed can remove the noise.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import ParameterError

_WORD = 1 << 64
_STREAM = int.from_bytes(b"pcqr", "big")


class Entropy(ABC):
    """A source of independent uniform bits, and the few exact uniform draws built on them."""

    is_private: bool
    """True when nobody can predict or replay the bits."""

    is_shared: bool = False
    """True when threads may ask at the same time: no word is given twice, and who comes first does not matter.

    Not inherited: whoever changes how words are made has to promise it anew.
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.is_shared = cls.__dict__.get("is_shared", False)

    @abstractmethod
    def bytes(self, count: int) -> bytes:
        """`count` fresh uniform bytes."""

    def words(self, size: int) -> NDArray[np.uint64]:
        """`size` independent uniform 64-bit words."""
        return np.frombuffer(self.bytes(8 * size), dtype=np.uint64, count=size)

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite an array, contiguous and in the machine's byte order, with independent uniform 64-bit words."""
        words[:] = self.words(words.size)

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """Independent integers, exactly uniform on {0, …, bound−1}; words that would bias are redrawn.

        Parameters
        ----------
        bound : int
            One more than the largest, from 1 to 2⁶² − 1.
        size : int
            How many.

        Returns
        -------
        ndarray of int64, shape (size,)

        Raises
        ------
        ParameterError
            When the bound is outside its range.
        """
        if not 1 <= bound < 1 << 62:
            raise ParameterError("bound", "an integer in [1, 2**62)", bound)
        limit = _WORD - _WORD % bound
        words = self.words(size).copy()
        if limit < _WORD:
            while (biased := words >= np.uint64(limit)).any():
                words[biased] = self.words(int(biased.sum()))
        return (words % np.uint64(bound)).astype(np.int64)

    def permutation(self, count: int) -> NDArray[np.int64]:
        """A uniform permutation: the order of independent 64-bit keys, redrawn on a tie.

        Parameters
        ----------
        count : int
            How many numbers are permuted.

        Returns
        -------
        ndarray of int64, shape (count,)
            0, …, count−1 in random order.
        """
        while True:
            keys = self.words(count)
            order = np.argsort(keys, kind="stable")
            ranked = keys[order]
            if not (ranked[1:] == ranked[:-1]).any():
                return order.astype(np.int64)


class SystemEntropy(Entropy):
    """The operating system's cryptographic generator: what every release uses unless told otherwise. Holds no state.

    Attributes
    ----------
    is_private : bool
        True: nobody can predict or replay the bits.
    is_shared : bool
        True: threads may ask at the same time.

    Examples
    --------
    >>> from pcqr import SystemEntropy
    >>> SystemEntropy().is_private
    True
    >>> len(SystemEntropy().bytes(16))
    16
    """

    is_private = True
    is_shared = True

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def fill(self, words: NDArray[np.uint64]) -> None:
        """As `Entropy.fill`; the words go from the system into the array, and no copy of them stays behind."""
        if _getrandom is None or not _is_filled_by(_getrandom, words):
            super().fill(words)

    def __repr__(self) -> str:
        return "SystemEntropy()"


def _libc_getrandom() -> Callable[[int, int, int], int] | None:
    """`getrandom(address, size, flags)` of the C library, where there is one."""
    try:
        function = ctypes.CDLL(None, use_errno=True).getrandom
    except (AttributeError, OSError, TypeError):  # not Linux
        return None
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint), ctypes.c_ssize_t
    return cast(Callable[[int, int, int], int], function)


def _is_filled_by(getrandom: Callable[[int, int, int], int], words: NDArray[np.uint64]) -> bool:
    """Fill `words`; False when the system will not. It may give less than was asked for, and be interrupted."""
    filled = 0
    while filled < words.nbytes:
        address = ctypes.addressof(ctypes.c_char.from_buffer(words.data, filled))  # refuses gaps
        given = getrandom(address, words.nbytes - filled, 0)
        if given >= 0:
            filled += given
        elif ctypes.get_errno() != errno.EINTR:
            return False
    return True


_getrandom = _libc_getrandom()


class SeededEntropy(Entropy):
    """A reproducible stream for tests and examples. **Never private**: whoever knows the seed can remove the noise.

    Guarantees of what was drawn with it say so (`Guarantee.is_private` is False).

    Parameters
    ----------
    seed : int
        The same seed gives the same stream.

    Attributes
    ----------
    is_private : bool
        False.

    Examples
    --------
    >>> from pcqr import SeededEntropy
    >>> SeededEntropy(0).below(6, size=5)
    array([2, 4, 5, 1, 0])
    >>> SeededEntropy(0).below(6, size=5)
    array([2, 4, 5, 1, 0])
    """

    is_private = False

    def __init__(self, seed: int) -> None:
        self.seed = seed
        # A stream of its own: `default_rng(seed)` often makes the test's data, and a partition must not follow it.
        sequence = np.random.SeedSequence(seed, spawn_key=(_STREAM,))
        self._generator = np.random.Generator(np.random.PCG64(sequence))

    def bytes(self, count: int) -> bytes:
        return self._generator.bytes(count)

    def __repr__(self) -> str:
        return f"SeededEntropy({self.seed})"


@contextmanager
def seeded_generators(seed: int) -> Iterator[None]:
    """Python's and NumPy's global generators, seeded for this block and put back after it.

    For code of others, which may draw from them: what it draws is its own, and leaves no trace in what comes later.
    """
    before = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before[0])  # noqa: NPY002
        random.setstate(before[1])


def resolve_entropy(entropy: Entropy | int | None) -> Entropy:
    """The source behind an `entropy=` parameter: None is the operating system, an int seeds a test stream."""
    if entropy is None:
        return SystemEntropy()
    if isinstance(entropy, Entropy):
        return entropy
    if isinstance(entropy, int | np.integer) and not isinstance(entropy, bool) and entropy >= 0:
        return SeededEntropy(int(entropy))
    raise ParameterError("entropy", "None, a non-negative integer seed (tests only) or an Entropy", entropy)
