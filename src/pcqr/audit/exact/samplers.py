"""The sech² sampler as a machine that reads geometric draws with coins: its law from single steps of the compiled code.

A candidate z races against z and then against z + 1; one that wins both is half-logistic, and the larger of two such is
drawn (proofs/noise.md). Every step here is made by the shipped kernel. Solved, not sampled.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.audit.exact.adversary import Conversations, Once
from pcqr.audit.exact.events import Floats, NoiseLaw, Unverifiable
from pcqr.audit.exact.verify import Case
from pcqr.privacy import noise
from pcqr.privacy.accounting.events import Event
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import kernels
from pcqr.privacy.noise.kernels import GUIDE_SHIFT, WITH_COIN, exponential_bounds, upwards
from pcqr.privacy.noise.laws import GAUSSIAN, GEOMETRIC, Blocks, blocks, cumulative_bounds, write_draws

# ---------------------------------------------------------------------------------------------------------------------
# The law of a sampler, counted: which of its random words lead to which draw.
#
# A sampler makes attempts: it turns the words of one into a draw, refuses it, or asks for further words. In each word
# the outcome is monotone, on stretches that are known beforehand, so that a few runs of the *shipped* sampler on chosen
# words tell what all 2⁶⁴ of them lead to. Nothing is sampled, and all is counted in whole numbers (proofs/audit.md,
# Samplers).


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


# ---------------------------------------------------------------------------------------------------------------------
# The sech² sampler as a machine that reads geometric draws with coins: its law from single steps of the compiled code.
#
# A candidate z races against z and then against z + 1; one that wins both is half-logistic, and the larger of two such
# is drawn (proofs/noise.md). Every step here is made by the shipped kernel. Solved, not sampled.


LOST, WON = 0, 3
"""Beside 1 and 2, the races that go on."""

NONE_HELD = -1


def with_coin(scale: float, entropy: Entropy) -> int:
    """One item of the sampler's supply: a geometric draw z, or ~z where its coin says yes."""
    drawn = np.empty(1, dtype=np.int64)
    write_draws(drawn, blocks(GEOMETRIC, scale), entropy, WITH_COIN)
    return int(drawn[0])


def race_law(chances: Mapping[int, float], reach: int) -> dict[int, float]:
    """The law of a draw up to `reach`, `chances` being those of items."""
    no = np.array([chances.get(z, 0.0) for z in range(reach + 1)])
    yes = np.array([chances.get(~z, 0.0) for z in range(reach + 1)])
    won = np.array([_chance_to_win(candidate, no, yes) for candidate in range(reach + 1)])
    first: Floats = (no + yes) * won
    return dict(enumerate(_larger(first / first.sum()).tolist()))


def _chance_to_win(candidate: int, no: Floats, yes: Floats) -> float:
    """Of a candidate: the first race, then the second. Nobody cares what is held."""
    for item in (candidate, ~candidate):
        for held in (NONE_HELD, 0):
            _require(_next(0, 0, held, item) == ([1, candidate, held], []))
    found = [_chances_after(candidate, held, no, yes) for held in (NONE_HELD, 0, no.size - 1)]
    _require(found[0] == found[1] == found[2])
    first, second = found[0]
    to_win_second = second[WON] / (1.0 - second[2])
    return first[2] * to_win_second / (1.0 - first[1])


def _chances_after(candidate: int, held: int, no: Floats, yes: Floats) -> list[list[float]]:
    """For either race the chances of the next item: it is lost, goes on as the first or the second, or both are won."""
    return [
        np.sum(
            [_shares(_after(race, candidate, held, coin), masses, candidate) for coin, masses in enumerate((no, yes))],
            0,
        ).tolist()
        for race in (1, 2)
    ]


def _shares(after: Callable[[int], int], masses: Floats, candidate: int) -> Floats:
    shares = np.zeros(WON + 1)
    for first, end, step in stretches(after, masses.size, range(candidate - 1, candidate + 3)):
        shares[step] += masses[first:end].sum()
    return shares


def _after(race: int, candidate: int, held: int, coin: int) -> Callable[[int], int]:
    """What an item with this coin leads to, as a function of its magnitude."""

    def after(magnitude: int) -> int:
        (step, contender, kept), drawn = _next(race, candidate, held, ~magnitude if coin else magnitude)
        if step and not drawn:
            _require((contender, kept) == (candidate, held))
            return step
        if held == NONE_HELD and kept == candidate:
            return WON
        if drawn:
            _require(kept == NONE_HELD and held != NONE_HELD)
            return WON
        _require(kept == held)
        return LOST

    return after


def _larger(first: Floats) -> Floats:
    """The law of what the machine draws of two candidates that have won, `first` being that of each."""
    law = np.zeros_like(first)
    for candidate, chance in enumerate(first):

        def is_held(held: int, candidate: int = candidate) -> int:
            _, drawn = _next(2, candidate, held, ~0)
            _require(drawn in ([held], [candidate]))
            return int(drawn != [candidate])

        for begin, end, says_held in stretches(is_held, first.size, range(candidate - 1, candidate + 2)):
            if says_held:
                law[begin:end] += chance * first[begin:end]
            else:
                law[candidate] += chance * first[begin:end].sum()
    return law


def _next(step: int, candidate: int, held: int, item: int) -> tuple[list[int], list[int]]:
    """The compiled machine's next state, and what it draws."""
    state, drawn = np.array([step, candidate, held]), np.full(1, NONE_HELD)
    filled = kernels.sech_squared(np.array([item]), state, drawn, 0)
    return state.tolist(), drawn[:filled].tolist()


def _require(is_so: bool) -> None:
    if not is_so:
        raise Unverifiable("The sech² sampler is not the machine that is proved: its law is not worked out here.")


# --------------------------------------------------------------------------------------------------------------
# Supplies


class _Supplies(Entropy):
    """Words for items: each buffer begins with those of its own list and goes on with the last of them."""

    is_private = False

    def __init__(self, *buffers: Sequence[tuple[int, ...]]) -> None:
        self._buffers = list(buffers)

    def fill(self, words: NDArray[np.uint64]) -> None:
        items = self._buffers.pop(0) if len(self._buffers) > 1 else self._buffers[0]
        stride = len(items[0])
        for place in range(0, words.size, stride):
            words[place : place + stride] = items[min(place // stride, len(items) - 1)]

    def bytes(self, count: int) -> bytes:
        words = np.empty(count // 8, dtype=np.uint64)
        self.fill(words)
        return words.tobytes()


YES = ~0
GO_ON = 0
"""An item that decides no race against 5."""


def keeps_draws_in_progress(scale: float, words_of: Mapping[int, tuple[int, ...]]) -> bool:
    """Does the shipped sampler go on where its supply of items ended? Asked in either race, with and without one held.

    The first supply ends in the middle of a race of 5, the second lets it win, and a 2 after it.
    """
    wins = (YES, YES, 2, YES, YES)
    for before in ((5,), (5, YES), (3, YES, YES, 5), (3, YES, YES, 5, YES)):
        supplies = ([words_of[item] for item in items] for items in ((*before, GO_ON), wins))
        if noise.sech_squared(scale, _Supplies(*supplies)) != 5:
            return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# The shipped samplers of noise: the law that each of them draws from, found by walking, and what it gives away.
#
# All other cases take noise to have the laws of `events.py`. Here the compiled samplers themselves are walked through
# their laws are compared with those, and 0 or 1 is shown with such noise added.


FALL = 55.0
"""Draws are looked at as far as their chance is e^{−FALL} of the largest: well beyond the 63 bits of a first word."""

MOST_MISSING = 2.0**-45
"""More than may be left open: a few of 2⁶³ words at each border."""


MOST_ITEMS = 16
"""Geometric draws that one of the sech² law takes on average, at most (`pcqr.privacy.noise.laws`: 14)."""


class SampledLaw(NamedTuple):
    """What a sampler draws: z with the chance `masses[z]`. `missing` bounds the chance of what was not followed."""

    masses: dict[int, float]
    missing: float


@dataclass(frozen=True)
class Sampler:
    """A sampler of the law with this `name` in `pcqr.privacy.noise`, at this scale: the shipped one unless a `draw`
    is given.

    As a mechanism it shows a count with noise added, and what lies beyond all that is looked at as the furthest of it.
    """

    name: str
    scale: float
    draw: Draw | None = None

    def __call__(self, count: int, entropy: Entropy) -> str:
        return str(max(-self.reach, min(self.reach, count + self._draw(self.scale, entropy))))

    @property
    def reach(self) -> int:
        """The largest magnitude that is looked at."""
        return math.floor(self.scale * (math.sqrt(2.0 * FALL) if self._power == GAUSSIAN else FALL))

    @property
    def width(self) -> int:
        """Of a block: 1 where the place in the table is the draw itself."""
        return 1 << self._table.bits

    @cached_property
    def law(self) -> SampledLaw:
        """Of one draw: that of an attempt, given that it is not refused."""
        counted = self._counted
        masses = _normalised(counted)
        within = {z: mass for z, mass in masses.items() if abs(z) <= self.reach}
        missing = float(counted.missing) + math.fsum(masses[z] for z in masses.keys() - within.keys())
        if self._is_of_races:
            return SampledLaw(race_law(masses, self.reach), MOST_ITEMS * missing)
        return SampledLaw(within, missing)

    @property
    def bias(self) -> float:
        """The largest relative difference between the chance of a draw and the one that all other cases go by."""
        law, stated = self.law, NoiseLaw(self.name, self.scale).measure
        drawn = range(max(stated.low, -self.reach), self.reach + 1)
        if law.missing > MOST_MISSING or law.masses.keys() - drawn:
            return math.inf
        if self._is_of_races and not keeps_draws_in_progress(self.scale, self._counted.examples):
            return math.inf
        return max(abs(law.masses.get(z, 0.0) / float(stated.weights[z - stated.low]) - 1.0) for z in drawn)

    @cached_property
    def _counted(self) -> Counted:
        draw = with_coin if self._is_of_races else self._draw
        return Attempts(draw, self.scale, self._table).counted()

    @property
    def _draw(self) -> Draw:
        shipped: Draw = getattr(noise, self.name)
        return self.draw or shipped

    @property
    def _table(self) -> Blocks:
        return blocks(self._power, self.scale)

    @property
    def _power(self) -> int:
        return GAUSSIAN if self.name == "discrete_gaussian" else GEOMETRIC

    @property
    def _is_of_races(self) -> bool:
        return self.name == "sech_squared"


def _normalised(counted: Counted) -> dict[int, float]:
    total = sum(counted.kept.values())
    return {z: count / total for z, count in counted.kept.items()}


@dataclass(frozen=True)
class SamplerCase(Case):
    """The case of a count that is shown with noise added: its law is that of the sampler, walked through."""

    sampler: Sampler = field(kw_only=True)

    @classmethod
    def of(cls, name: str, claimed: Guarantee, sampler: Sampler, event: Event | None = None) -> SamplerCase:
        """For counts that differ by 1."""
        return cls(name, claimed, [(0, 1)], partial(Once, sampler), event=event, sampler=sampler)

    def law(self, data: int) -> Conversations:
        """Of all that is shown short of either end, where draws come together that are not looked at."""
        masses, missing = self.sampler.law
        inside = {data + z: mass for z, mass in masses.items() if abs(data + z) < self.sampler.reach}
        outside = math.fsum(mass for z, mass in masses.items() if data + z not in inside)
        return Conversations({((0, str(shown)),): mass for shown, mass in inside.items()}, 1, missing + outside)

    @property
    def bias(self) -> float:
        return self.sampler.bias
