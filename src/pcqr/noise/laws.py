"""Integer noise, exact, one draw or many: what the privacy proofs of this project draw (proofs/noise.md).

Every entropy takes the same path. A call reads its random words into a buffer of its own, overwrites the buffer as soon
as it is used up, and keeps nothing for the next call. Many draws are shared out to threads where the entropy allows it,
each with its own words and buffer; with every other entropy, a seeded one too, words are taken in order in one thread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.forks import this_process
from pcqr.noise import kernels
from pcqr.noise.blocks import GAUSSIAN, GEOMETRIC, Blocks, blocks
from pcqr.noise.kernels import MAGNITUDE, SIGNED, WITH_COIN, Words
from pcqr.threads import ForkedError, in_threads

IntegerArray = NDArray[np.int64]

LARGEST_SCALE = 2.0**50
"""Magnitudes are clamped to 63 bits. Up to this scale that happens with probability below e^−8000."""

BUFFER_WORDS = 8192
"""Random words that a thread has in memory at a time, at most: 64 KiB."""

_MANY = 1 << 16
"""So many draws are worth threads: they take some 2 ms."""

_STEPS_A_DRAW = 16
"""What a draw costs, in the steps that `in_threads` counts."""

_SUPPLY = 14
"""Geometric draws that a sech² draw takes on average, at most: 4 + 8·ln 2 + 4 at large scales, 12 at small ones."""


def discrete_laplace(scale: float, entropy: Entropy) -> int:
    """One integer z with P(z) ∝ exp(−|z| / scale)  (Ghosh, Roughgarden, Sundararajan 2009)."""
    return int(_draws(GEOMETRIC, scale, 1, entropy, SIGNED)[0])


def discrete_laplaces(scale: float, count: int, entropy: Entropy) -> IntegerArray:
    """`count` independent draws of `discrete_laplace`."""
    check_integer("count", count, least=1)
    return _draws(GEOMETRIC, scale, count, entropy, SIGNED)


def geometric(scale: float, entropy: Entropy) -> int:
    """One integer z ≥ 0 with P(z ≥ t) = exp(−t / scale): a discrete Laplace conditioned on z ≥ 0."""
    return int(_draws(GEOMETRIC, scale, 1, entropy, MAGNITUDE)[0])


def geometrics(scale: float, count: int, entropy: Entropy) -> IntegerArray:
    """`count` independent draws of `geometric`."""
    check_integer("count", count, least=1)
    return _draws(GEOMETRIC, scale, count, entropy, MAGNITUDE)


def discrete_gaussian(scale: float, entropy: Entropy) -> int:
    """One integer z with P(z) ∝ exp(−z² / (2·scale²))  (Canonne, Kamath, Steinke 2020)."""
    return int(_draws(GAUSSIAN, scale, 1, entropy, SIGNED)[0])


def discrete_gaussians(scale: float, count: int, entropy: Entropy) -> IntegerArray:
    """`count` independent draws of `discrete_gaussian`."""
    check_integer("count", count, least=1)
    return _draws(GAUSSIAN, scale, count, entropy, SIGNED)


def sech_squared(scale: float, entropy: Entropy) -> int:
    """One integer z ≥ 0 with P(z ≥ t) = sech²(t / (2·scale)): the larger of two half-logistic draws.

    Its tail is geometric, P(z ≥ t) ≈ 4·e^{−t/scale}, and its start is flat: P(z < t) ≈ (t / (2·scale))².
    """
    return int(sech_squareds(scale, 1, entropy)[0])


def sech_squareds(scale: float, count: int, entropy: Entropy) -> IntegerArray:
    """`count` independent draws of `sech_squared`."""
    check_integer("count", count, least=1)
    check_scale("scale", scale)
    table = blocks(GEOMETRIC, float(scale))
    return _in_one_process(count, lambda drawn: _fill_sech_squared(drawn, table, entropy))


def check_scale(name: str, scale: float) -> None:
    if not 0 < float(scale) <= LARGEST_SCALE:
        raise ParameterError(name, "a number in (0, 2**50]", scale)


def _draws(power: int, scale: float, count: int, entropy: Entropy, form: int) -> IntegerArray:
    check_scale("scale", scale)
    table = blocks(power, float(scale))

    def fill(drawn: IntegerArray) -> None:
        write_draws(drawn, table, entropy, form)

    def fill_in_threads(drawn: IntegerArray) -> None:
        in_threads(lambda low, high: fill(drawn[low:high]), count, _STEPS_A_DRAW)

    return _in_one_process(count, fill_in_threads if entropy.is_shared and count >= _MANY else fill)


def _in_one_process(count: int, fill: Callable[[IntegerArray], None]) -> IntegerArray:
    """`count` draws by `fill`. A process that was forked off meanwhile draws anew: words must not serve twice."""
    drawn = np.empty(count, dtype=np.int64)
    while True:
        process = this_process()
        try:
            fill(drawn)
        except ForkedError:
            continue
        if this_process() == process:
            return drawn


def _fill_sech_squared(drawn: IntegerArray, table: Blocks, entropy: Entropy) -> None:
    """Overwrite `drawn` with sech² draws. A draw in progress when the geometric ones run out goes on with the next."""
    supply = np.empty(min(BUFFER_WORDS, _SUPPLY * (drawn.size + 1)), dtype=np.int64)
    state = np.array([0, 0, -1])
    filled = 0
    try:
        while filled < drawn.size:
            share = supply[: _SUPPLY * (drawn.size - filled + 1)]
            write_draws(share, table, entropy, WITH_COIN)
            filled = kernels.sech_squared(share, state, drawn, filled)
    finally:
        supply.fill(0)
        state.fill(0)


def write_draws(drawn: IntegerArray, table: Blocks, entropy: Entropy, form: int) -> None:
    """Overwrite `drawn` with draws of the given form, from random words that are overwritten in their turn."""
    words_an_attempt = table.words_an_attempt
    buffer = np.empty(min(BUFFER_WORDS, words_an_attempt * _attempts(drawn.size)), dtype=np.uint64)
    filled = 0
    try:
        while filled < drawn.size:
            words = buffer[: words_an_attempt * _attempts(drawn.size - filled)]
            entropy.fill(words)
            filled = _use(words, table, entropy, form, drawn, filled)
    finally:
        buffer.fill(0)


def _attempts(draws: int) -> int:
    """How many attempts to make room for: a pace, which changes no law. A few more than draws, for those refused."""
    return draws + draws // 8 + 2


def _use(words: Words, table: Blocks, entropy: Entropy, form: int, drawn: IntegerArray, filled: int) -> int:
    """Turn words into draws until either is used up; an attempt in doubt is settled by more words before the next."""
    read = 0
    while read < words.size and filled < drawn.size:
        read, filled, doubtful = kernels.draw(
            words,
            read,
            table.lows,
            table.highs,
            table.keeps,
            table.guide,
            table.slopes,
            table.curve,
            table.bits,
            table.words_an_attempt,
            form,
            drawn,
            filled,
        )
        if doubtful:
            attempt = words[read - table.words_an_attempt : read].tolist()
            magnitude = table.settled(attempt, entropy)
            if magnitude is not None:
                filled = kernels.append(drawn, filled, magnitude, bool(attempt[0] & 1), form)
    return filled
