"""The law of a sampler, counted: which of its random words lead to which draw.

A sampler makes attempts: it turns the words of one into a draw, refuses it, or asks for further words. In each word the
outcome is monotone, on stretches that are known beforehand, so that a few runs of the *shipped* sampler on chosen words
tell what all 2⁶⁴ of them lead to. Nothing is sampled, and all is counted in whole numbers (proofs/audit.md, Samplers).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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
from pcqr.entropy import Entropy
from pcqr.noise.blocks import Blocks, cumulative_bounds
from pcqr.noise.exponential import exponential_bounds

Draw = Callable[[float, Entropy], int]
"""(scale, entropy) → one draw, as the functions of `pcqr.noise` have it."""

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

    What is missing from the total lies outside of the window, or needs more words than were looked at.
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
    """The attempts of `draw` at `scale`, which reads its words as proofs/noise.md says, for the blocks of `table`.

    Draws are counted as far as `reach` in magnitude.
    """

    draw: Draw
    scale: float
    table: Blocks
    reach: int

    def outcome(self, words: Words) -> Outcome:
        """What the shipped code makes of an attempt with these words.

        One that is refused is told by what follows it: the draw is then that of the next attempt, whichever it is.
        """
        said = self._drawn(words, self._followers[0])
        if said != self._follower_draws[0]:
            return said
        return Fate.REFUSED if self._drawn(words, self._followers[1]) == self._follower_draws[1] else said

    def counted(self) -> Counted:
        """In units of 2⁻¹²⁸ (a coin, 63 bits and a further word), times 2⁻⁶⁴ where there is a second word."""
        kept: defaultdict[int, int] = defaultdict(int)
        examples: dict[int, tuple[int, ...]] = {}
        refused = 0
        for coin in (0, 1):
            for words, count in self._places(coin):
                for said, share, at in self._verdicts(words):
                    if isinstance(said, Fate):
                        refused += count * share
                        continue
                    kept[said] += count * share
                    if not words.later:
                        examples.setdefault(said, at)
        return Counted(dict(kept), refused, 1 << (192 if self.table.bits else 128), examples)

    # Places in the table ----------------------------------------------------------------------------------------------

    def _places(self, coin: int) -> Iterator[tuple[Words, int]]:
        """For each block within reach words that lead to it, and how many do, of 2¹²⁷; further words are read once."""
        found: dict[Outcome, tuple[Words, int]] = {}

        def note(stretch: Stretch[Outcome], words: Words, each: int) -> None:
            known, count = found.get(stretch.outcome, (words, 0))
            shortest = words if len(words.later) < len(known.later) else known
            found[stretch.outcome] = shortest, count + each * (stretch.end - stretch.first)

        for stretch in stretches(lambda u: self.outcome(self._at(u, coin)), 1 << _PLACE_BITS, self._borders()):
            if stretch.outcome is not Fate.OPEN:
                note(stretch, self._at(stretch.first, coin), _WORD)
                continue
            for u in range(stretch.first, stretch.end):
                words = self._at(u, coin)
                for later in stretches(self._further(words), _WORD, self._borders_within(u)):
                    if later.outcome is not Fate.OPEN:
                        note(later, Words(words.attempt, (later.first,)), 1)
        width = 1 << self.table.bits
        for said, place in found.items():
            if isinstance(said, Fate) or abs(said) <= self.reach + width:
                yield place

    def _at(self, u: int, coin: int) -> Words:
        """The place u with the last number of its block and a V that keeps every number: all bits of word 2 are set."""
        first = (u << 1) | coin
        return Words((first, _WORD - 1) if self.table.bits else (first,))

    def _further(self, words: Words) -> Callable[[int], Outcome]:
        return lambda later: self.outcome(Words(words.attempt, (later,)))

    def _borders(self) -> Iterator[int]:
        """Where to look: at the ends of every cell of the guide, which monotony needs, and about every border."""
        for cell in range(self.table.guide.size):
            yield from ((cell << self.table.guide_shift) - 1, cell << self.table.guide_shift)
        for border in (*self.table.lows.tolist(), *self.table.highs.tolist()):
            yield from (border - 1, border)

    def _borders_within(self, u: int) -> Iterator[int]:
        """The same of the word that follows u, for the borders to 127 bits."""
        for bounds in cumulative_bounds(self.table.power, self.table.unit, _PLACE_BITS + 64):
            first, end = bisect_left(bounds, u << 64), bisect_right(bounds, (u + 1) << 64)
            for border in bounds[first:end]:
                yield from (border - (u << 64) - 1, border - (u << 64))

    # Verdicts ---------------------------------------------------------------------------------------------------------

    def _verdicts(self, words: Words) -> Iterator[tuple[Outcome, int, tuple[int, ...]]]:
        """What the words of a block lead to, whatever the second word is; how many; and such an attempt."""
        if not self.table.bits:
            yield self.outcome(words), 1, words.attempt
            return
        known = 64 - self.table.bits
        for j in range(1 << self.table.bits):
            second = self._with_second(words, j << known)
            for stretch in stretches(second, 1 << known, self._edges(words, j)):
                if stretch.outcome is not Fate.OPEN:
                    attempt = (words.attempt[0], (j << known) | stretch.first)
                    yield stretch.outcome, stretch.end - stretch.first, attempt

    def _with_second(self, words: Words, j: int) -> Callable[[int], Outcome]:
        return lambda v: self.outcome(Words((words.attempt[0], j | v), words.later))

    def _edges(self, words: Words, j: int) -> Iterator[int]:
        """Where to look for the verdict on j: about the v that divides those refused from those kept."""
        last = self.outcome(words)
        if isinstance(last, Fate):
            return
        width = 1 << self.table.bits
        block = Fraction(abs(last) // width)
        exponent = self.table.unit * ((block + Fraction(j, width)) ** self.table.power - block**self.table.power)
        known = 64 - self.table.bits
        for bound in exponential_bounds(exponent, known):
            yield from ((1 << known) - bound + offset for offset in (-1, 0, 1))

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
        for bits in range(_PLACE_BITS, 0, -1):
            attempt = self._at((1 << _PLACE_BITS) - (1 << (bits - 1)), 0).attempt
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
