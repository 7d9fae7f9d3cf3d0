"""The sech² sampler as a machine that reads geometric draws with coins: its law from single steps of the compiled code.

A candidate z races against z and then against z + 1; one that wins both is half-logistic, and the larger of two such is
drawn (proofs/noise.md). Every step here is made by the shipped kernel. Solved, not sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pcqr import noise
from pcqr.audit.exact.events import Unverifiable
from pcqr.audit.exact.integers import Floats
from pcqr.audit.exact.words import stretches
from pcqr.entropy import Entropy
from pcqr.noise import kernels
from pcqr.noise.blocks import GEOMETRIC, blocks
from pcqr.noise.kernels import WITH_COIN
from pcqr.noise.laws import write_draws

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
