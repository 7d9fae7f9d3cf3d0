"""The compiled steps, walked through: each is monotone in its word, so bisection finds how many words lead where.

How many there are is compared with a hundred digits of the law. What the steps leave in doubt is decided elsewhere
(test_blocks.py), and the laws of whole draws are put together by the audit (tests/audit/exact/test_samplers.py).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from support.noise import ERROR, attempt, bits_of_u, borders, kept_before

from pcqr.privacy.noise import kernels
from pcqr.privacy.noise.kernels import DOUBT, GUIDE_SHIFT, KEPT, MAGNITUDE, REFUSED, SIGNED, WITH_COIN
from pcqr.privacy.noise.laws import GAUSSIAN, GEOMETRIC, Blocks, blocks

WORD = st.integers(0, 2**64 - 1)
TABLES = [
    *((GEOMETRIC, scale) for scale in (5e-324, 0.3, 1.0, 15.9, 1000.0, 2.0**50)),
    *((GAUSSIAN, scale) for scale in (5e-324, 0.3, 3.0, 63.9, 1000.0, 2.0**50)),
]


def block_of(table: Blocks, place: int) -> int:
    return int(kernels.block_of(np.uint64(place), table.lows, table.guide))


def verdict(table: Blocks, place: int, span: int, j: int, bits: int) -> int:
    given = np.uint64(place), np.uint64(span), np.int64(block_of(table, place)), np.uint64(j), bits
    return int(kernels.verdict(*given, table.lows, table.highs, table.gradients, np.uint64(table.curve)))


def sure_block(table: Blocks, u: int) -> int:
    """The block of a U known to 63 bits, or `DOUBT`: without the numbers in a block there is nothing to refuse."""
    return block_of(table, u) if verdict(table, u, 1, 0, 0) == KEPT else DOUBT


def first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first number in (low, high] at which something holds that holds from there on, and at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@given(WORD, WORD)
def test_the_high_product_is_the_high_half_of_the_product(a: int, b: int) -> None:
    for x, y in ((a, b), (2**64 - 1, b), (2**64 - 1, 2**64 - 1), (a, 2**32 - 1)):
        assert int(kernels.high_product(np.uint64(x), np.uint64(y))) == x * y >> 64


# --------------------------------------------------------------------------------------------------------------
# Blocks


def words_of_block(table: Blocks, block: int) -> tuple[int, int]:
    """The first word that surely lies in `block`, and the first after it that does not surely."""
    cuts = borders(table.power, table.unit)
    inside = int(2**62 * (cuts[block] + cuts[block + 1]))
    assert sure_block(table, inside) == block
    before = int(2**62 * (cuts[block - 1] + cuts[block])) if block else -1
    after = int(2**62 * (cuts[block + 1] + cuts[block + 2])) + 1
    begin = first(lambda u: sure_block(table, u) == block, before, inside)
    return begin, first(lambda u: u >= 2**63 or sure_block(table, u) != block, inside, min(after, 2**63))


@pytest.mark.parametrize(("power", "scale"), TABLES)
def test_as_many_words_lead_to_a_block_as_its_probability_says(power: int, scale: float) -> None:
    """All but the two or three words at each border, and those are in doubt."""
    table = blocks(power, scale)
    cuts = borders(table.power, table.unit)
    likely = [i for i in range(len(cuts) - 2) if cuts[i + 1] - cuts[i] > Fraction(16, 2**63)]
    assert likely
    for i in likely[:: max(1, len(likely) // 100)]:
        begin, end = words_of_block(table, i)
        assert 0 <= begin - 2**63 * (cuts[i] - ERROR) <= 3
        assert 0 <= 2**63 * (cuts[i + 1] + ERROR) - end <= 3
        assert all(sure_block(table, u) == DOUBT for u in range(end, min(end + 1, 2**63)))


@pytest.mark.parametrize(("power", "scale"), TABLES)
@given(words=st.lists(st.integers(0, 2**63 - 1), min_size=20, max_size=20), tail=st.integers(1, 63))
def test_no_word_leads_to_a_wrong_block(power: int, scale: float, words: list[int], tail: int) -> None:
    table = blocks(power, scale)
    cuts = borders(table.power, table.unit)
    for u in (*words, *(2**63 - 1 - (word >> tail) for word in words), 0, 2**63 - 1):
        block = sure_block(table, u)
        if block != DOUBT:
            assert cuts[block] - ERROR <= Fraction(u, 2**63)
            assert Fraction(u + 1, 2**63) <= cuts[block + 1] + ERROR


def test_the_guide_skips_no_block_and_nearly_reaches_it() -> None:
    for power, scale in TABLES:
        table = blocks(power, scale)
        grid = [index << GUIDE_SHIFT for index in range(table.guide.size)]
        assert (table.guide.size << GUIDE_SHIFT) == 2**63
        assert [int(i) for i in table.guide] == [int((table.lows[:-1] <= np.uint64(u)).sum()) - 1 for u in grid]
        assert table.lows[-1] == 2**63


# --------------------------------------------------------------------------------------------------------------
# Verdict


WIDE = [(power, scale) for power, scale in TABLES if blocks(power, scale).bits]
WIDE += [(GEOMETRIC, 16.0), (GEOMETRIC, 70.0), (GAUSSIAN, 64.0), (GAUSSIAN, 300.0)]


@pytest.mark.parametrize(("power", "scale"), WIDE)
@pytest.mark.parametrize("is_rough", [False, True])
def test_as_many_words_are_kept_as_the_law_says(power: int, scale: float, is_rough: bool) -> None:
    """Between those surely kept and those surely refused lies the true border, and little else."""
    table = blocks(power, scale)
    width = 2**table.bits
    span = width if is_rough else 1
    count = len(table.highs)
    for i in sorted({0, 1, 2, count // 7, count // 3}):
        begin, end = int(table.highs[i]), int(table.lows[i + 1])
        begin, end = -(-begin // span) * span, end // span * span
        for j in sorted({0, 1, width // 3, width // 2, width - 1}):
            border = 2**63 * kept_before(table, i, j)
            kept, refused = ends_of_doubt(table, begin, end, span, j)
            assert kept <= border + 2**63 * ERROR
            assert border - 2**63 * ERROR <= (refused if refused < end else end + span + 2)
            assert refused - kept <= 2 * span + 16


def ends_of_doubt(table: Blocks, begin: int, end: int, span: int, j: int) -> tuple[int, int]:
    """The end of the places kept, and the first that is refused, of [begin, end), in steps of `span`."""

    def said(step: int) -> int:
        return verdict(table, begin + step * span, span, j, table.bits)

    steps = (end - begin) // span
    refused = first(lambda step: step == steps or said(step) == REFUSED, -1, steps)
    return begin + span * first(lambda step: step == steps or said(step) != KEPT, -1, refused), begin + span * refused


@given(st.sampled_from(WIDE), WORD, st.integers(0, 10**4), st.integers(0, 2**63), st.integers(-40, 40), st.booleans())
def test_no_verdict_is_wrong(
    law: tuple[int, float], word: int, block: int, at: int, offset: int, is_rough: bool
) -> None:
    """Anywhere in a block and about the ends of what is kept of it."""
    table = blocks(*law)
    i, j = block % (len(table.highs) - 2), word >> (64 - table.bits)
    cuts, kept = borders(table.power, table.unit), kept_before(table, i, j)
    span = 2**table.bits if is_rough else 1
    for near in (int(2**63 * kept), int(table.lows[i]) + at % max(1, int(table.lows[i + 1] - table.lows[i]))):
        place = min(max(0, (near // span + offset) * span), 2**63 - span)
        said = verdict(table, place, span, j, table.bits)
        found = block_of(table, place)
        if said != DOUBT:
            assert 2**63 * (cuts[found] - ERROR) <= place
            assert place + span <= 2**63 * (cuts[found + 1] + ERROR)
            border = 2**63 * kept_before(table, found, j)
            if said == KEPT:
                assert place + span <= border + 2**63 * ERROR
            else:
                assert place >= border - 2**63 * ERROR


# --------------------------------------------------------------------------------------------------------------
# Draws


@pytest.mark.parametrize(
    ("form", "magnitude", "coin", "written"),
    [
        (MAGNITUDE, 5, True, [5]),
        (MAGNITUDE, 0, True, [0]),
        (SIGNED, 5, False, [5]),
        (SIGNED, 5, True, [-5]),
        (SIGNED, 0, False, [0]),
        (SIGNED, 0, True, []),
        (SIGNED, 2**63 - 1, True, [1 - 2**63]),
        (WITH_COIN, 0, False, [0]),
        (WITH_COIN, 0, True, [-1]),
        (WITH_COIN, 2**63 - 1, True, [-(2**63)]),
    ],
)
def test_a_magnitude_and_a_coin_become_a_draw(form: int, magnitude: int, coin: bool, written: list[int]) -> None:
    drawn = np.full(3, 77)
    filled = kernels.append(drawn, 1, magnitude, coin, form)
    assert drawn.tolist() == [77, *written, *[77] * (2 - len(written))]
    assert filled == 1 + len(written)


def test_an_attempt_reads_the_same_number_of_words_whatever_comes_of_it() -> None:
    """Kept, refused, in doubt: a word more or less would let the end of a buffer choose among draws."""
    for power, scale in TABLES:
        table = blocks(power, scale)
        stride = table.words_an_attempt
        in_doubt = int(table.lows[1]) << 1
        last = (2**table.bits - 1) << 1
        for first_word in (2**40, in_doubt, in_doubt | 1, (in_doubt - 2**50) | last, 2**64 - 1):
            for second_word in (0, 5, 2**64 - 1):
                words = np.array([first_word, second_word][:stride], dtype=np.uint64)
                read, filled, doubtful = run(table, words)
                assert read == stride
                assert not (doubtful and filled)


@pytest.mark.parametrize(("power", "scale"), WIDE)
def test_words_are_taken_apart_as_the_note_says(power: int, scale: float) -> None:
    """All numbers of block 3 that are kept at once, or the ends of it where they are many, with either coin."""
    table = blocks(power, scale)
    u = (int(table.highs[3]) >> (63 - bits_of_u(table))) + 1
    width = 2**table.bits
    for j in {*range(min(width, 16)), width // 3, width - 1}:
        for coin in (0, 1):
            words = np.array(attempt(table, u, j, coin), dtype=np.uint64)
            drawn = np.zeros(1, dtype=np.int64)
            assert run(table, words, drawn, SIGNED) == (words.size, 1, False)
            assert drawn[0] == (-1) ** coin * (3 * width + j)


def run(table: Blocks, words: Any, drawn: Any = None, form: int = MAGNITUDE) -> tuple[int, int, bool]:
    drawn = np.empty(1, dtype=np.int64) if drawn is None else drawn
    tables = (table.lows, table.highs, table.keeps, table.guide, table.gradients, table.curve, table.bits)
    return cast(Any, kernels.draw)(words, 0, *tables, table.words_an_attempt, form, drawn, 0)  # type: ignore[no-any-return]


def test_no_float_takes_part() -> None:
    """Some versions of numba make a float64 of an int64 and a uint64: it would round without a word."""
    table = blocks(GAUSSIAN, 1000.0)
    drawn, words = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.uint64)
    draw = kernels.draw._jitted()  # type: ignore[attr-defined]  # anew: numba shows no code from its cache
    draw(*(words, 0, table.lows, table.highs, table.keeps, table.guide), *(table.gradients, 0, 1, 1, 0, drawn, 0))
    half = njit(lambda integer: integer * 0.5)
    half(1)
    assert "double" in code(half)
    assert "double" not in code(draw)
    assert "float" not in code(draw)


def code(kernel: Any) -> str:
    (overload,) = kernel.overloads.values()
    return str(overload.library.get_llvm_str())


# --------------------------------------------------------------------------------------------------------------
# The sech² law of geometric draws


def next_state(step: int, candidate: int, held: int, item: int) -> tuple[list[int], list[int]]:
    state, drawn = np.array([step, candidate, held]), np.full(1, -9)
    filled = kernels.sech_squared(np.array([item]), state, drawn, 0)
    return state.tolist(), drawn[:filled].tolist()


def test_the_first_of_two_is_held_and_the_larger_is_given() -> None:
    assert next_state(2, 7, -1, ~0) == ([0, 7, 7], [])
    for held, candidate in ((3, 8), (8, 3), (0, 0)):
        assert next_state(2, candidate, held, ~0) == ([0, candidate, -1], [max(held, candidate)])


def test_the_two_races_are_against_z_and_z_plus_one() -> None:
    assert next_state(0, 3, -1, ~9) == ([1, 9, -1], []), "of a candidate's draw the coin is not used"
    assert next_state(1, 5, -1, 5)[0][0] == 0
    assert next_state(1, 5, -1, 4)[0][0] == 1
    assert next_state(2, 5, -1, 6)[0][0] == 0
    assert next_state(2, 5, -1, 5)[0][0] == 2
    assert next_state(2, 2**63 - 1, -1, 2**63 - 1)[0][0] == 2, "z + 1 does not wrap around"


@given(st.lists(st.integers(-6, 5), max_size=60), st.lists(st.integers(0, 60), max_size=5))
def test_a_draw_in_progress_goes_on_with_the_next_supply(items: list[int], cuts: list[int]) -> None:
    """Whatever the supplies: the same draws from the same items."""
    whole, parts = np.full(60, -9), np.full(60, -9)
    filled = kernels.sech_squared(np.array(items, dtype=np.int64), np.array([0, 0, -1]), whole, 0)
    state, done, ends = np.array([0, 0, -1]), 0, sorted({min(cut, len(items)) for cut in cuts} | {0, len(items)})
    for begin, end in pairwise(ends):
        done = kernels.sech_squared(np.array(items[begin:end], dtype=np.int64), state, parts, done)
    assert done == filled
    assert parts.tolist() == whole.tolist()
