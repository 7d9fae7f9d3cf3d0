"""Tables of blocks and the exact path: right bounds, right decisions on the very edge, and no more bits than needed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.noise import ERROR, attempt, bits_of_u, borders, kept_before
from support.releases import ScriptedEntropy

from pcqr.privacy.noise.laws import (
    BLOCKS_IN_A_SCALE,
    GAUSSIAN,
    GEOMETRIC,
    LARGEST_MAGNITUDE,
    Blocks,
    blocks,
    cumulative_bounds,
)

SCALES = [5e-324, 1e-3, 0.3, 1.0, 7.5, 63.9, 64.0, 1000.0, 2.0**30, 1e15, 2.0**50]
LAWS = [(power, scale) for power in (GEOMETRIC, GAUSSIAN) for scale in SCALES]
NARROW = [(GEOMETRIC, 5.0), (GAUSSIAN, 7.5)]
WIDE = [(GEOMETRIC, 40.0), (GEOMETRIC, 2.0**50), (GAUSSIAN, 300.0), (GAUSSIAN, 2.0**37), (GAUSSIAN, 2.0**50)]


@pytest.mark.parametrize(("power", "scale"), LAWS)
def test_the_width_of_a_block_and_its_exponents(power: int, scale: float) -> None:
    """w is the largest power of two with at least so many blocks in a scale; q grows by less than ½ in each block."""
    table = blocks(power, scale)
    width, s = 2**table.bits, Fraction(scale)
    assert table.unit == (Fraction(width) / s) ** power / power
    assert s < 2 * width * BLOCKS_IN_A_SCALE[power]
    if width == 1:
        assert table.gradients.size == table.curve == 0
        return
    assert s >= width * BLOCKS_IN_A_SCALE[power]
    assert table.gradients.size == table.highs.size
    for i in range(table.highs.size):
        slope = table.unit if power == GEOMETRIC else 2 * i * table.unit
        assert 0 <= slope * 2**64 - int(table.gradients[i]) < 1
        assert slope + table.unit < Fraction(1, 2), "the errors of the verdict are counted for this"
    assert 0 <= (power - 1) * table.unit * 2**64 - table.curve < 1


@pytest.mark.parametrize(("power", "scale"), [*LAWS, (GAUSSIAN, math.nextafter(64.0, 0.0)), (GEOMETRIC, 15.999)])
def test_the_borders_of_blocks_are_bounded_from_both_sides(power: int, scale: float) -> None:
    table = blocks(power, scale)
    cuts = borders(power, table.unit)
    assert table.lows.size == table.highs.size + 1
    for i in range(min(table.highs.size, len(cuts))):
        low, high = int(table.lows[i]), int(table.highs[i])
        assert low - 2**63 * ERROR <= 2**63 * cuts[i] <= high + 2**63 * ERROR
        assert high - low <= 2
    assert table.lows[0] == table.highs[0] == 0
    assert int(table.lows[-2]) >= 2**63 - 2, "what is past the table has next to no words"
    assert table.highs.size < 2**15, "the guide counts in 16 bits"


@settings(max_examples=20)
@given(
    st.sampled_from([GEOMETRIC, GAUSSIAN]), st.floats(0.01, 8.0), st.sampled_from([63, 127, 191]), st.integers(0, 999)
)
def test_bounds_of_more_bits_hold_too(power: int, scale: float, bits: int, place: int) -> None:
    unit = Fraction(1, power) / Fraction(scale) ** power
    lows, highs = cumulative_bounds(power, unit, bits)
    cuts = borders(power, unit)
    i = place % min(len(lows), len(cuts))
    assert lows[i] <= 2**bits * (cuts[i] + ERROR)
    assert 2**bits * (cuts[i] - ERROR) <= highs[i]
    assert highs[i] - lows[i] <= 2


def test_tables_cannot_be_written_to_and_are_made_once() -> None:
    table = blocks(GAUSSIAN, 300.0)
    assert blocks(GAUSSIAN, 300.0) is table
    for array in (table.lows, table.highs, table.keeps, table.guide, table.gradients):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def words_for(value: Fraction, first: int, count: int, offset: int) -> list[int]:
    """The first `first` bits of `value`, and `count` words of 64 further bits, `offset` added at the last."""
    bits = first + 64 * count
    known = math.floor(value * 2**bits) + offset
    later = [(known >> shift) & (2**64 - 1) for shift in range(64 * (count - 1), -1, -64)] if count else []
    return [known >> (64 * count), *later]


@pytest.mark.parametrize(("power", "scale"), [*NARROW, *WIDE])
@pytest.mark.parametrize("block", [1, 2, 9])
@pytest.mark.parametrize("further", [1, 2])
def test_a_place_on_the_edge_is_decided_by_further_bits(power: int, scale: float, block: int, further: int) -> None:
    """U just below or above a border, by 127 or 191 bits of it: told by the last of them, and by no more."""
    table = blocks(power, scale)
    cut = borders(power, table.unit)[block]
    for offset, expected in ((-3, block - 1), (3, block)):
        u, *later = words_for(cut, bits_of_u(table), further, offset)
        entropy = ScriptedEntropy(*later)
        assert settled_block(table, u, entropy) == expected
        assert not entropy.remaining
    u, *later = words_for(cut, bits_of_u(table), further, 0)
    for last, expected in ((0, block - 1), (2**64 - 1, block)):
        entropy = ScriptedEntropy(*later, last)
        assert settled_block(table, u, entropy) == expected
        assert not entropy.remaining, "as far as that word the bits are those of the border"


def settled_block(table: Blocks, u: int, entropy: ScriptedEntropy) -> int:
    """The block of U; its first place, which is always kept."""
    magnitude = table.settled(attempt(table, u, 0), entropy)
    assert magnitude is not None
    return magnitude >> table.bits


@pytest.mark.parametrize(("power", "scale"), WIDE)
@pytest.mark.parametrize("further", [1, 2])
def test_a_verdict_on_the_edge_is_decided_by_further_bits(power: int, scale: float, further: int) -> None:
    table = blocks(power, scale)
    block, j = 5, 2**table.bits - 1
    magnitude = (block << table.bits) + j
    border = kept_before(table, block, j)
    for offset, expected in ((-4, magnitude), (4, None)):
        u, *later = words_for(border, bits_of_u(table), further, offset)
        entropy = ScriptedEntropy(*later)
        assert table.settled(attempt(table, u, j), entropy) == expected
        assert not entropy.remaining
    u, *later = words_for(border, bits_of_u(table), further, 0)
    for last, expected in ((0, magnitude), (2**64 - 1, None)):
        entropy = ScriptedEntropy(*later, last)
        assert table.settled(attempt(table, u, j), entropy) == expected
        assert not entropy.remaining, "as far as that word the bits are those of the border"


@pytest.mark.parametrize(("power", "scale"), LAWS)
def test_what_is_kept_at_once_is_bounded_from_below(power: int, scale: float) -> None:
    """By all of a block of one number, and by where U keeps even the number after the last of a block of several."""
    table = blocks(power, scale)
    cuts = borders(power, table.unit)
    assert table.keeps.size == table.highs.size
    if not table.bits:
        assert table.keeps.tolist() == [*table.lows[1:-1].tolist(), 0]
        return
    for i in range(table.keeps.size - 2):
        bound = max(Fraction(0), 2**63 * (cuts[i] + cuts[i + 2] - cuts[i + 1]))
        assert int(table.keeps[i]) - 2**63 * ERROR <= bound
        assert bound <= int(table.keeps[i]) + 6
    assert table.keeps[-2:].tolist() == [0, 0]


def test_a_word_holds_an_attempt_as_long_as_enough_bits_of_u_are_left() -> None:
    words = {scale: blocks(GAUSSIAN, scale).words_an_attempt for scale in (0.3, 64.0, 2.0**37, 2.0**38 - 1, 2.0**38)}
    assert words == {0.3: 1, 64.0: 1, 2.0**37: 1, 2.0**38 - 1: 1, 2.0**38: 2}


def test_the_first_place_of_a_block_is_always_kept() -> None:
    for power, scale in WIDE:
        table = blocks(power, scale)
        last_u = (int(table.lows[1]) >> (63 - bits_of_u(table))) - 1
        for u in (0, last_u):
            assert table.settled(attempt(table, u, 0), ScriptedEntropy()) == 0


@pytest.mark.parametrize(("power", "scale"), [*NARROW, *WIDE])
def test_past_the_table_the_exact_path_goes_on(power: int, scale: float) -> None:
    """All bits of U set: the block is found with as many more bits as it takes."""
    table = blocks(power, scale)
    cuts = borders(power, table.unit)
    entropy = ScriptedEntropy(2**64 - 2**40)
    block = settled_block(table, 2 ** bits_of_u(table) - 1, entropy)
    tail = Fraction(2**40, 2 ** (bits_of_u(table) + 64))
    assert 1 - cuts[block + 1] < tail <= 1 - cuts[block] + ERROR
    assert block > 0


def test_a_tiny_scale_needs_a_word_of_all_ones_to_leave_zero() -> None:
    """e^{−2¹⁰⁷⁴} cannot be told from 0 by any number of bits: each word of all ones asks for another."""
    for power in (GEOMETRIC, GAUSSIAN):
        entropy = ScriptedEntropy(2**64 - 1, 2**64 - 1, 2**64 - 2)
        assert blocks(power, 5e-324).settled([2**64 - 1], entropy) == 0
        assert not entropy.remaining


def test_magnitudes_are_clamped_to_63_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never seen to happen: so with a smaller bound."""
    assert np.iinfo(np.int64).max == LARGEST_MAGNITUDE
    for scale in (5.0, 40.0, 2.0**50):
        table = blocks(GEOMETRIC, scale)
        far = attempt(table, 2 ** bits_of_u(table) - 2**20, 0)
        assert (table.settled(far, ScriptedEntropy()) or 0) > 20
        with monkeypatch.context() as patch:
            patch.setattr("pcqr.privacy.noise.laws.LARGEST_MAGNITUDE", 20)
            assert table.settled(far, ScriptedEntropy()) == 20
