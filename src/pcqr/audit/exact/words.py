"""The law of a sampler, counted: which of its random words lead to which draw.

A sampler makes attempts: it turns the words of one into a draw, refuses it, or asks for further words. In each word the
outcome is monotone, on stretches that are known beforehand, so that a few runs of the *shipped* sampler on chosen words
tell what all 2⁶⁴ of them lead to. Nothing is sampled, and all is counted in whole numbers (proofs/audit.md, Samplers).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.audit.exact.events import Unverifiable
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.noise.kernels import GUIDE_SHIFT, exponential_bounds, upwards
from pcqr.privacy.noise.laws import Blocks, cumulative_bounds

Draw = Callable[[float, Entropy], int]
"""(scale, entropy) → one draw, as the functions of `pcqr.privacy.noise` have it."""

_PLACE_BITS = 63
_WORD = 1 << 64
_MOST_LOOKS = 100_000
_MOST_BUFFERS = 2


class Fate(Enum):
    """What becomes of an attempt that gives no draw."""

    REFUSED = "refused"
    OPEN = "further words are asked for"


Outcome = int | Fate
T = TypeVar("T")


class Stretch(NamedTuple, Generic[T]):
    """The numbers `first`, …, `end` − 1, which have one outcome."""

    first: int
    end: int
    outcome: T


def stretches(outcome: Callable[[int], T], end: int, looked_at: Iterable[int]) -> list[Stretch[T]]:
    """What 0, …, `end` − 1 lead to. Between two neighbours of `looked_at` the outcome must be monotone.

    Monotone: a draw that two numbers lead to is what all numbers between them lead to. Where they differ, the middle is
    looked at, and so on. `Fate.OPEN` says nothing about what lies between.
    """
    found: list[Stretch[T]] = []
    for place, said in _seen(outcome, sorted({0, end - 1, *(place for place in looked_at if 0 < place < end)})):
        if found and found[-1].outcome == said:
            found[-1] = Stretch(found[-1].first, place + 1, said)
        else:
            found.append(Stretch(place, place + 1, said))
    return found


def _seen(outcome: Callable[[int], T], places: Sequence[int]) -> Iterator[tuple[int, T]]:
    """Places in order, so many that neighbours among them have no other place between or have one draw in common."""
    said = [outcome(place) for place in places]
    looks_left = _MOST_LOOKS
    yield places[0], said[0]
    for ends, said_there in zip(pairwise(places), pairwise(said), strict=True):
        pending = [(ends[0], said_there[0], ends[1], said_there[1])]
        while pending:
            low, below, high, above = pending.pop()
            if high - low == 1 or (below == above and below is not Fate.OPEN):
                yield high, above
                continue
            looks_left -= 1
            if not looks_left:
                raise Unverifiable(
                    "The words of a sampler lead to more outcomes, or leave more open, than can be told."
                )
            middle = (low + high) // 2
            between = outcome(middle)
            pending += [(middle, between, high, above), (low, below, middle, between)]


class _MoreWords(Exception):
    pass


class _Script(Entropy):
    """Fills buffers with the words of one attempt, at the very beginning, and of `others`, over and over.

    Further words, which are asked for one at a time, are the `later` ones; whoever wants more is stopped.
    """

    is_private = False

    def __init__(self, attempt: Sequence[int], others: Sequence[int], later: Sequence[int]) -> None:
        self._attempt, self._others, self._later = attempt, others, list(later)
        self._buffers = 0

    def fill(self, words: NDArray[np.uint64]) -> None:
        if words.size == 1:
            if not self._later:
                raise _MoreWords
            words[0] = self._later.pop(0)
            return
        if self._buffers == _MOST_BUFFERS:
            raise _MoreWords
        attempts = words.reshape(-1, len(self._others))
        attempts[:] = self._others
        if not self._buffers:
            attempts[0] = self._attempt
        self._buffers += 1

    def bytes(self, count: int) -> bytes:
        words = np.empty(-(-count // 8), dtype=np.uint64)
        self.fill(words)
        return words.tobytes()[:count]


class Words(NamedTuple):
    """The words of an attempt, and further ones that its place in the table takes, if any."""

    attempt: tuple[int, ...]
    later: tuple[int, ...] = ()


@dataclass(frozen=True)
class Counted:
    """`kept[z]` of `total` equally likely attempts come to the draw z; `refused` of them to none.

    What is missing from the total needs more words than were looked at.
    """

    kept: dict[int, int]
    refused: int
    total: int
    examples: dict[int, tuple[int, ...]]
    """Words that lead to a draw and need no further ones."""

    @property
    def missing(self) -> Fraction:
        """As a share of the attempts."""
        return 1 - Fraction(sum(self.kept.values()) + self.refused, self.total)


@dataclass(frozen=True)
class Attempts:
    """The attempts of `draw` at `scale`, which reads its words as proofs/noise.md says, for the blocks of `table`."""

    draw: Draw
    scale: float
    table: Blocks

    def outcome(self, words: Words) -> Outcome:
        """What the shipped code makes of an attempt with these words.

        One that is refused is told by what follows it: the draw is then that of the next attempt, whichever it is.
        """
        said = self._drawn(words, self._followers[0])
        if said != self._follower_draws[0]:
            return said
        return Fate.REFUSED if self._drawn(words, self._followers[1]) == self._follower_draws[1] else said

    def counted(self) -> Counted:
        """In units of 2⁻⁶⁴ of one attempt's words: a further word is read once."""
        kept: defaultdict[int, int] = defaultdict(int)
        examples: dict[int, tuple[int, ...]] = {}
        refused = 0
        for j in range(1 << self.table.bits):
            borders = self._borders(j)
            for coin in (0, 1):
                for said, count, words in self._outcomes(j, coin, borders):
                    if isinstance(said, Fate):
                        refused += count
                        continue
                    kept[said] += count
                    if not words.later:
                        examples.setdefault(said, words.attempt)
        return Counted(dict(kept), refused, _WORD << (1 + self.table.bits + self._u_bits), examples)

    # All U, for one number in its block and one coin -----------------------------------------------------------------

    def _outcomes(self, j: int, coin: int, borders: Sequence[int]) -> Iterator[tuple[Outcome, int, Words]]:
        """What becomes of j, in how many of 2^(64 + bits of U) cases, and words that lead to it."""
        for stretch in stretches(
            lambda u: self.outcome(self._at(u, j, coin)), 1 << self._u_bits, self._looked_at(borders)
        ):
            if stretch.outcome is not Fate.OPEN:
                yield stretch.outcome, (stretch.end - stretch.first) * _WORD, self._at(stretch.first, j, coin)
                continue
            for u in range(stretch.first, stretch.end):
                words = self._at(u, j, coin)
                first, end = bisect_left(borders, u * _WORD), bisect_left(borders, (u + 1) * _WORD)
                near = (border - u * _WORD for border in borders[first:end])
                for later in stretches(self._further(words), _WORD, near):
                    if later.outcome is not Fate.OPEN:
                        yield later.outcome, later.end - later.first, Words(words.attempt, (later.first,))

    @property
    def _u_bits(self) -> int:
        """Bits of U in the words of an attempt. Those of j are in the same word or in one of their own."""
        return _PLACE_BITS - (self.table.bits if self.table.words_an_attempt == 1 else 0)

    def _at(self, u: int, j: int, coin: int) -> Words:
        if self.table.words_an_attempt == 1:
            return Words((((u << self.table.bits | j) << 1) | coin,))
        return Words(((u << 1) | coin, j << (64 - self.table.bits)))

    def _further(self, words: Words) -> Callable[[int], Outcome]:
        return lambda later: self.outcome(Words(words.attempt, (later,)))

    def _looked_at(self, borders: Sequence[int]) -> Iterator[int]:
        """Where to look among all u: about every number of the table, which monotony needs, and about the borders."""
        shift = _PLACE_BITS - self._u_bits
        for cell in range(self.table.guide.size):
            yield from ((cell << GUIDE_SHIFT >> shift) + offset for offset in (-1, 0))
        for numbers in (self.table.lows, self.table.highs, self.table.keeps):
            for number in numbers.tolist():
                yield from ((number >> shift) + offset for offset in (-1, 0, 1))
        for border in borders:
            yield from ((border >> 64) + offset for offset in (-1, 0, 1))

    def _borders(self, j: int) -> list[int]:
        """About where U must lie for block i, and for j to be kept in it, by a further word: in order."""
        power, unit, width = self.table.power, self.table.unit, 1 << self.table.bits
        bits = _PLACE_BITS + 64
        lows, highs = cumulative_bounds(power, unit, bits)
        found = set()
        for i in range(len(lows) - 1):
            low, high = exponential_bounds(unit * ((i + Fraction(j, width)) ** power - i**power), bits)
            found |= {lows[i], highs[i], lows[i + 1] - upwards(((1 << bits) - low) * (highs[i + 1] - lows[i]), bits)}
            found |= {highs[i + 1] - (max(0, (1 << bits) - high) * (lows[i + 1] - highs[i]) >> bits)}
        shift = _PLACE_BITS - self._u_bits
        return sorted({max(0, (border >> shift) + offset) for border in found for offset in (-1, 0, 1)})

    # Attempts that follow --------------------------------------------------------------------------------------------

    def _drawn(self, words: Words, others: Sequence[int]) -> Outcome:
        try:
            return self.draw(self.scale, _Script(words.attempt, others, words.later))
        except _MoreWords:
            return Fate.OPEN

    @cached_property
    def _followers(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two attempts that lead to two draws: deep in the table, each bit fewer a larger draw."""
        found: dict[Outcome, tuple[int, ...]] = {}
        for bits in range(self._u_bits, 0, -1):
            attempt = self._at((1 << self._u_bits) - (1 << (bits - 1)), 0, 0).attempt
            said = self._drawn(Words(attempt), attempt)
            if not isinstance(said, Fate):
                found.setdefault(said, attempt)
        if len(found) < 2:
            raise Unverifiable("A sampler that draws one number only: its attempts cannot be told apart.")
        first, *_, last = found.values()
        return last, first

    @cached_property
    def _follower_draws(self) -> tuple[Outcome, ...]:
        return tuple(self._drawn(Words(attempt), attempt) for attempt in self._followers)
