"""Counting words: what is found by looking at few of them is what all of them say."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.noise import borders, exponential

from pcqr.audit.exact import Unverifiable
from pcqr.audit.exact.samplers import Attempts, Fate, Outcome, Words, stretches
from pcqr.privacy import noise
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.noise.laws import GAUSSIAN, GEOMETRIC, blocks


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 5)), min_size=1, max_size=8), st.sets(st.integers(0, 99)))
def test_what_few_numbers_say_is_what_all_say(runs: list[tuple[int, int]], looked_at: set[int]) -> None:
    """Draws in order, with a few open numbers between them."""
    outcomes: list[Outcome] = []
    for draw, (length, left_open) in enumerate(runs):
        outcomes += [draw] * length + [Fate.OPEN] * left_open
    found = stretches(outcomes.__getitem__, len(outcomes), looked_at)
    assert [said for first, end, said in found for _ in range(first, end)] == outcomes
    assert [first for first, _, _ in found] == [0, *(end for _, end, _ in found[:-1])]


def test_few_numbers_are_looked_at_and_an_end_is_put_to_it() -> None:
    seen: Counter[int] = Counter()

    def is_beyond(word: int) -> int:
        seen[word] += 1
        return int(word >= 2**63 - 5)

    assert stretches(is_beyond, 2**64, ()) == [(0, 2**63 - 5, 0), (2**63 - 5, 2**64, 1)]
    assert len(seen) <= 70
    with pytest.raises(Unverifiable, match="leave more open"):
        stretches(lambda _: Fate.OPEN, 2**64, ())


@pytest.mark.parametrize(
    ("name", "power", "scale"), [("geometric", GEOMETRIC, 16.5), ("discrete_gaussian", GAUSSIAN, 64.0)]
)
def test_the_words_of_a_draw_are_as_many_as_its_chance_says(name: str, power: int, scale: float) -> None:
    """With blocks of two numbers, against a hundred digits: all but a few words of each draw, and none too many."""
    table = blocks(power, scale)
    assert table.bits == 1
    counted = Attempts(getattr(noise, name), scale, table).counted()
    assert counted.total == 2**128
    cuts = borders(power, table.unit)
    for z in (0, 1, 2, 7, 30, 59, 60):
        block, j = divmod(z, 2)
        exponent = table.unit * ((block + Fraction(j, 2)) ** power - block**power)
        chance = (cuts[block + 1] - cuts[block]) * exponential(exponent) / 2
        if name == "discrete_gaussian":
            chance /= 2
            assert counted.kept.get(-z, 0) == (counted.kept[z] if z else counted.kept[0])
        assert 0 <= chance - Fraction(counted.kept[z], counted.total) < Fraction(1, 2**120)


def test_further_words_are_followed() -> None:
    """Of a draw as rare as 2⁻⁷², all of whose first words are open."""
    counted = Attempts(noise.geometric, 1.0, blocks(GEOMETRIC, 1.0)).counted()
    chance = borders(GEOMETRIC, Fraction(1))[51] - borders(GEOMETRIC, Fraction(1))[50]
    assert 0 < chance < Fraction(1, 2**72)
    assert abs(Fraction(counted.kept[50], counted.total) / chance - 1) < Fraction(1, 2**50)
    assert 50 not in counted.examples
    assert noise.geometric(1.0, ScriptedWords(counted.examples[3])) == 3


def test_an_attempt_that_is_refused_is_told_from_one_that_draws_what_follows() -> None:
    attempts = Attempts(noise.discrete_laplace, 1.0, blocks(GEOMETRIC, 1.0))
    assert attempts.outcome(Words((1,))) is Fate.REFUSED, "minus zero"
    assert attempts.outcome(Words((0,))) == 0
    one, other = (attempts.outcome(Words(follower)) for follower in attempts._followers)
    assert one != other
    assert Fate.REFUSED not in (one, other)
    assert attempts.outcome(Words((2**64 - 1,))) is Fate.OPEN
    with pytest.raises(Unverifiable, match="one number only"):
        Attempts(lambda *_: 7, 1.0, blocks(GEOMETRIC, 1.0)).counted()


class ScriptedWords(Entropy):
    """The same attempt again and again."""

    is_private = False

    def __init__(self, attempt: tuple[int, ...]) -> None:
        self._attempt = attempt

    def bytes(self, count: int) -> bytes:
        return np.resize(np.array(self._attempt, dtype=np.uint64), count // 8).tobytes()
