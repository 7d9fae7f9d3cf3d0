"""Compare the extracted definitions (`Extract.v`, `driver.ml`) with the library: small inputs, borders, random ones.

A piece yields calls: a line for the extracted program, and what the library says, as text or as a function that judges
the program's answer. Random inputs are seeded, so every run compares the same.
"""

from __future__ import annotations

import decimal
import itertools
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from pcqr.mechanisms import halving
from pcqr.mechanisms.stability import distance_to_instability, plurality
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.noise import kernels
from pcqr.privacy.noise import kernels as exponential
from pcqr.privacy.noise import laws as blocks
from pcqr.privacy.noise import laws as choice

WORD = 2**64
BORDERS = sorted(
    {
        (base + step) % WORD
        for base in (0, 2**16, 2**31, 2**32, 2**33, 2**48, 2**62, 2**63, WORD - 2**32)
        for step in (-2, -1, 0, 1, 2)
    }
)
LEAST_INPUTS = 100_000

Case = tuple[str, str | Callable[[str], bool]]


class Words(Entropy):
    """Random words from a list, and then no more."""

    is_private = False

    def __init__(self, words: Iterable[int]) -> None:
        self._words = list(words)

    def bytes(self, count: int) -> bytes:
        if 8 * len(self._words) < count:
            raise EOFError
        given, self._words = self._words[: count // 8], self._words[count // 8 :]
        return np.array(given, dtype=np.uint64).tobytes()


def numbers(values: Iterable[int]) -> str:
    return ",".join(f"{int(value):x}" for value in values) or "."


def votes(rng: random.Random) -> Iterator[Case]:
    small = (
        t for labels, most in ((2, 41), (3, 21), (4, 10), (5, 6)) for t in itertools.product(range(most), repeat=labels)
    )
    large = (
        tuple(rng.choice((top, top, top - 1, top + 1, rng.randrange(top + 1))) for _ in range(rng.randrange(2, 12)))
        for top in (rng.randrange(1, 10 ** rng.randrange(1, 7)) for _ in range(3000))
    )
    for table in itertools.chain(small, large):
        yield f"votes {numbers(table)}", f"{plurality(table):x} {distance_to_instability(table):x}"


def products(rng: random.Random) -> Iterator[Case]:
    sizes = (rng.randrange(WORD) >> rng.randrange(64) for _ in range(2 * 15_000))
    for a, b in itertools.chain(itertools.product(BORDERS, repeat=2), zip(sizes, sizes, strict=True)):
        compiled = int(kernels.high_product(np.uint64(a), np.uint64(b)))
        with np.errstate(over="ignore"):
            plain = int(getattr(kernels.high_product, "py_func", kernels.high_product)(np.uint64(a), np.uint64(b)))
        yield f"high_product {a:x} {b:x}", f"{compiled:x}" if compiled == plain else "compiled and plain code differ"


def uniform_integers(rng: random.Random) -> Iterator[Case]:
    bounds = [
        *range(1, 129),
        *(rng.randrange(1, 2**62) >> rng.randrange(61) or 1 for _ in range(1000)),
        2**62 - 1,
        2**61 + 1,
    ]
    for bound in bounds:
        limit = WORD - WORD % bound
        for first in {0, bound - 1, bound, limit - 1, min(limit, WORD - 1), WORD - 1, rng.randrange(WORD)}:
            words = [first % WORD, WORD - 1, rng.randrange(WORD)]
            try:
                said = f"{int(Words(words).below(bound, 1)[0]):x}"
            except EOFError:
                said = "none"
            yield f"below {bound:x} {numbers(words)}", said


def decimal_bounds(exponent: float, bits: int) -> tuple[int, int]:
    """The whole numbers that `_is_below_exponential` compares with, by the formula of its docstring."""
    digits = 40 + bits // 3
    context = decimal.Context(
        prec=digits, rounding=decimal.ROUND_HALF_EVEN, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[]
    )
    target = context.multiply(context.exp(decimal.Decimal.from_float(exponent)), decimal.Decimal(1 << bits))
    slack = context.scaleb(target, 5 - digits)
    low, high = context.subtract(target, slack), context.add(target, slack)
    return int(low.to_integral_value(decimal.ROUND_FLOOR)), int(high.to_integral_value(decimal.ROUND_CEILING))


def comparisons(rng: random.Random) -> Iterator[Case]:
    for exponent in [0.0, -1e-17, -0.5, -1.0, -44.0, -60.0, -200.0, *(-rng.expovariate(0.1) for _ in range(500))]:
        bounds = [decimal_bounds(exponent, bits) for bits in (64, 128, 192)]
        border = (bounds[2][0] + bounds[2][1]) // 2
        for step in (-3, -2, -1, 0, 1, 2, 3):
            for place in (64, 128, 192):
                known = max(0, min(2**192 - 1, border + (step << 192 - place)))
                words = [known >> 128, (known >> 64) % WORD, known % WORD]
                try:
                    said = str(choice._is_below_exponential(words[0], exponent, Words(words[1:]))).lower()
                except EOFError:
                    said = "none"
                lows, highs = (numbers(ends) for ends in zip(*bounds, strict=True))
                yield f"is_below {words[0]:x} {lows} {highs} {numbers(words[1:])}", said


def exponentials(rng: random.Random) -> Iterator[Case]:
    ratios = {Fraction(n, d) for n in range(40) for d in range(1, 12)} | {
        Fraction(1, 2**70),
        Fraction(2**60 + 1, 2**60),
    }
    ratios |= {Fraction(rng.randrange(1, 2**40), rng.randrange(1, 2**36)) for _ in range(100)}
    for x in ratios:
        for places in (8, 9, 33, 96):
            low, high = exponential.exponential_bounds(x, places)
            yield f"exponential_bounds {x.numerator:x} {x.denominator:x} {places:x}", f"{low:x} {high:x}"


SCALES = {
    blocks.GEOMETRIC: (0.3, 1.0, 2.5, 7.999, 8.0, 12.0, 63.0, 64.0, 1000.1, 2.0**20, 2.0**36, 2.0**40 + 1.0, 2.0**50),
    blocks.GAUSSIAN: (0.5, 1.0, 3.7, 31.9, 64.0, 63.999, 2.0**30, 2.0**45),
}
"""One word for an attempt and two, blocks of one number and of many, and both ends of each."""


def tables(power: int, scale: float) -> tuple[blocks.Blocks, Case]:
    table, ratio = blocks.blocks(power, scale), Fraction(scale)
    first, change = (exponential.exponential_bounds(x, 96) for x in (table.unit, 2 * (power - 1) * table.unit))
    if min(first[0], change[0]) < 0 or first[1] >= 2**96 or change[1] > 2**96 or max(table.highs) > 2**63 + 2**32:
        raise ValueError(f"The theorems of Cumulative.v and Verdict.v do not speak of power {power}, scale {scale}.")
    lists = [numbers(field.tolist()) for field in (table.lows, table.highs, table.keeps, table.guide, table.gradients)]
    fields = [f"{table.bits:x}", *lists, f"{table.curve:x}", f"{table.words_an_attempt:x}"]
    return table, (f"table {power:x} {ratio.numerator:x} {ratio.denominator:x}", " ".join(fields))


def cumulative(_: random.Random) -> Iterator[Case]:
    for power, scale, bits in ((1, 1.0, 127), (1, 9.0, 127), (2, 1.5, 127), (2, 5.0, 127), (1, 0.5, 191), (2, 0.7, 63)):
        unit = (1 / Fraction(scale)) ** power / power
        ends = blocks.cumulative_bounds(power, unit, bits)
        line = f"cumulative_bounds {power:x} {unit.numerator:x} {unit.denominator:x} {bits:x}"
        yield line, " ".join(numbers(end) for end in ends)


def verdicts(rng: random.Random) -> Iterator[Case]:
    for power, scales in SCALES.items():
        for scale in scales:
            table, case = tables(power, scale)
            yield case
            lows, highs, keeps = (field.tolist() for field in (table.lows, table.highs, table.keeps))
            span = 1 << table.bits if table.words_an_attempt == 1 else 1
            width = 1 << table.bits
            count = len(highs)
            for i in {*range(min(count, 12)), *range(count - 4, count), *(rng.randrange(count) for _ in range(12))} & {
                *range(count)
            }:
                edges = {lows[i], highs[i], keeps[i], lows[min(i + 1, count)], highs[min(i + 1, count - 1)]}
                borders = {(edge + step * span) & -span for edge in edges for step in (-2, -1, 0, 1)}
                inside = {rng.randrange(lows[i], lows[i + 1] + 1) & -span for _ in range(12)}
                for place in {p for p in borders | inside if 0 <= p < 2**63}:
                    yield f"block_of {place:x}", f"{int(kernels.block_of(np.uint64(place), table.lows, table.guide)):x}"
                    for j in {0, width - 1, rng.randrange(width)}:
                        yield f"verdict {place:x} {span:x} {i:x} {j:x}", f"{_verdict(table, place, span, i, j):x}"
                        yield from _near_the_border(table, place, span, i, j)


def _verdict(table: blocks.Blocks, place: int, span: int, i: int, j: int) -> int:
    return int(
        kernels.verdict(
            np.uint64(place),
            np.uint64(span),
            np.int64(i),
            np.uint64(j),
            table.bits,
            table.lows,
            table.highs,
            table.gradients,
            np.uint64(table.curve),
        )
    )


def _near_the_border(table: blocks.Blocks, place: int, span: int, i: int, j: int) -> Iterator[Case]:
    """Where the verdict for j turns from kept to doubt and from doubt to refused, and the places beside these."""
    if not table.bits or i + 1 >= table.highs.size or place != int(table.lows[i]) & -span:
        return
    for worst in (kernels.DOUBT, kernels.REFUSED):
        low, high = int(table.highs[i]) // span + 1, int(table.lows[i + 1]) // span
        while low < high:
            middle = (low + high) // 2
            said = _verdict(table, middle * span, span, i, j)
            turned = said == kernels.REFUSED or (worst == kernels.DOUBT and said == kernels.DOUBT)
            low, high = (low, middle) if turned else (middle + 1, high)
        for step in (-1, 0, 1):
            at = (low + step) * span
            yield f"verdict {at:x} {span:x} {i:x} {j:x}", f"{_verdict(table, at, span, i, j):x}"


def draws(rng: random.Random) -> Iterator[Case]:
    for power, scales in SCALES.items():
        for scale in scales:
            table, case = tables(power, scale)
            yield case
            for form in (kernels.MAGNITUDE, kernels.SIGNED, kernels.WITH_COIN):
                for size, room in ((400, 400), (400, 37), (12, 12), (2, 1)):
                    words = [rng.randrange(WORD) for _ in range(size)]
                    words[rng.randrange(size)] = int(rng.choice(table.lows.tolist())) * 2 % WORD
                    yield f"draw {numbers(words)} {form} {room:x}", _draws(table, words, form, room)


def _draws(table: blocks.Blocks, words: list[int], form: int, room: int) -> str:
    drawn = np.zeros(room, dtype=np.int64)
    read, filled, doubt = kernels.draw(
        np.array(words, dtype=np.uint64),
        0,
        table.lows,
        table.highs,
        table.keeps,
        table.guide,
        table.gradients,
        table.curve,
        table.bits,
        table.words_an_attempt,
        form,
        drawn,
        0,
    )
    return f"{int(read):x} {numbers(drawn[: int(filled)].tolist())} {str(bool(doubt)).lower()}"


def sech_squares(rng: random.Random) -> Iterator[Case]:
    short = (list(items) for size in range(1, 6) for items in itertools.product((-2, -1, 0, 1), repeat=size))
    long = ([rng.choice((1, -1)) * rng.randrange(6) for _ in range(60)] for _ in range(200))
    for supply in itertools.chain(short, long):
        state, drawn = np.array([0, 0, -1]), np.zeros(3, dtype=np.int64)
        filled = int(kernels.sech_squared(np.array(supply, dtype=np.int64), state, drawn, 0))
        said = " ".join(f"{int(value):x}" for value in state)
        yield f"sech_squared {numbers(supply)} 3", f"{said} {numbers(drawn[:filled].tolist())}"


def settlements(rng: random.Random) -> Iterator[Case]:
    for power, scale in ((1, 1.0), (1, 3.0), (2, 1.5), (1, 64.0), (1, 2.0**40)):
        table, case = tables(power, scale)
        yield case
        span = 1 << table.bits if table.words_an_attempt == 1 else 1
        for i in (0, 1, 5) if scale < 2**40 else (3,):
            edges = {int(table.lows[i + 1]), int(table.highs[i]), rng.randrange(2**63)}
            for place in {min(2**63 - 1, max(0, (edge & -span) + step * span)) for edge in edges for step in (-1, 0)}:
                words = [2 * (place & -span) + 2 * rng.randrange(span), rng.randrange(WORD)]
                more = [rng.choice((0, WORD - 1, rng.randrange(WORD)))]
                try:
                    kept = table.settled(words[: table.words_an_attempt], Words(more))
                    said = "refused" if kept is None else f"{kept:x}"
                except EOFError:
                    said = "none"
                yield f"settled {numbers(words)} {numbers(more)}", said


def places(rng: random.Random) -> Iterator[Case]:
    weights = halving._WEIGHTS.tolist()
    starts = halving._STARTS.tolist()
    yield f"weights {numbers(weights)}", numbers(starts)
    kept = 2**52
    for binade in range(0, len(weights), 3):
        for mantissa in (0, 1, 255, 256, kept - 1, rng.randrange(kept)):
            key = binade * kept + mantissa
            value = np.array([key], dtype=np.int64).view(np.float64)
            yield f"place_of_key {key:x}", f"{int(halving.places(value)[0]):x}"
        for place in {starts[binade] + step for step in (0, 1, weights[binade], rng.randrange(weights[binade] << 44))}:
            for signed in (place, -place):
                if halving.LOW < signed < halving.HIGH:
                    cut = np.array([halving.cut_at(signed)])
                    bits = int(np.abs(cut).view(np.int64)[0])
                    yield f"cut_at {signed:x}", f"{str(bool(np.signbit(cut)[0])).lower()} {bits:x}"


class Recorder(Words):
    """Cuts of any node, within its gaps, instead of random ones: what was drawn, and the nodes seen on the way."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__([])
        self._rng = rng
        self._cut = halving._cut
        self.gaps: list[int] = []
        self.offsets: list[int] = []
        self.log_weights: list[list[float]] = []
        self.nodes: list[str] = []

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        self.offsets += [self._rng.choice((0, bound - 1, self._rng.randrange(bound))) for _ in range(size)]
        return np.array(self.offsets[-size:], dtype=np.int64)

    def choice(self, log_weights: NDArray[np.float64], _: Entropy) -> int:
        self.log_weights.append(log_weights.tolist())
        self.gaps.append(self._rng.choice(np.flatnonzero(log_weights > -np.inf).tolist()))
        return self.gaps[-1]

    def cut(
        self,
        values: NDArray[np.int64],
        below: NDArray[np.int64],
        start: int,
        end: int,
        selection: float,
        entropy: Entropy,
    ) -> int:
        self.nodes.append(f"gaps {numbers(values)} {numbers(below)} {start:x} {end:x}")
        return self._cut(values, below, start, end, selection, entropy)


def cuts(rng: random.Random) -> Iterator[Case]:
    columns = [list(column) for size in range(5) for column in itertools.product(range(5), repeat=size)]
    columns += [[rng.randrange(-(2**60), 2**60) for _ in range(rng.randrange(30))] for _ in range(100)]
    for at in columns:
        low, high = (0, 5) if all(0 <= place < 5 for place in at) else (halving.LOW, halving.HIGH)
        for levels in (1, 2, 3):
            seen = Recorder(rng)
            with patch.object(halving, "_cut", seen.cut), patch.object(halving, "weighted_choice", seen.choice):
                found = halving.halved(np.array(at, dtype=np.int64), levels, SELECTION, seen, low, high)
            line = f"halved {numbers(at)} {levels:x} {low:x} {high:x} {numbers(seen.gaps)} {numbers(seen.offsets)}"
            yield line, numbers(found)
            for node, log_weights in zip(seen.nodes, seen.log_weights, strict=True):
                yield node, partial(_has_log_weights, log_weights)


SELECTION = 0.37


def _has_log_weights(expected: list[float], answer: str) -> bool:
    """Whether sizes and utilities of gaps stand for these log-weights, in floats as the library computes them."""
    _, sizes, utilities = ([int(n, 16) for n in field.split(",")] for field in answer.split())
    with np.errstate(divide="ignore"):
        logs = np.log(np.array(sizes, dtype=np.int64).astype(np.float64))
    return bool(np.array_equal(logs - 0.25 * SELECTION * np.array(utilities, dtype=np.int64), expected))


PIECES: dict[str, Callable[[random.Random], Iterator[Case]]] = {
    "votes: plurality, distance to instability": votes,
    "noise: high_product": products,
    "noise: exponential_bounds": exponentials,
    "noise: cumulative_bounds": cumulative,
    "noise: tables, block_of, verdict": verdicts,
    "noise: draws from words": draws,
    "noise: sech² from geometric draws": sech_squares,
    "noise: attempts in doubt": settlements,
    "weighted choice: uniform integers": uniform_integers,
    "weighted choice: comparison by further bits": comparisons,
    "private predicates: places and cuts of floats": places,
    "private predicates: gaps, utilities, cuts of all levels": cuts,
}


def compared(program: Path, limit: int) -> int:
    """Compare every piece, print a line for each, and return how many inputs differ; too few inputs count as one."""
    inputs = differences = 0
    for name, piece in PIECES.items():
        begun = time.perf_counter()
        cases = list(piece(random.Random(name)))
        lines = "".join(line + "\n" for line, _ in cases)
        said = subprocess.run([program], input=lines, capture_output=True, text=True, timeout=limit, check=True)
        answers = said.stdout.splitlines()
        wrong = [
            (line, expected, answer)
            for (line, expected), answer in zip(cases, answers, strict=True)
            if not (expected(answer) if callable(expected) else expected == answer)
        ]
        inputs, differences = inputs + len(cases), differences + len(wrong)
        print(f"  {name}: {len(cases)} inputs, {len(wrong)} differ ({time.perf_counter() - begun:.1f} s)", flush=True)
        for line, expected, answer in wrong[:3]:
            print(f"    {line[:300]}\n      library:   {str(expected)[:300]}\n      extracted: {answer[:300]}")
    print(f"  {inputs} inputs compared, {differences} differ.")
    if inputs < LEAST_INPUTS:
        print(f"  Fewer than {LEAST_INPUTS} inputs.")
        return differences + 1
    return differences


if __name__ == "__main__":
    sys.exit(1 if compared(Path(sys.argv[1]), limit=300) else 0)
