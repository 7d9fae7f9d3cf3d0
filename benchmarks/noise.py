"""What a draw of exact integer noise costs, law by law and scale by scale, beside OpenDP's sampler in the same run.

    python -m benchmarks.noise [--fast] [--json]

Columns:

    scale     of the law; a float64 number, taken as it is
    bulk      nanoseconds a draw, many at once, of all threads together
    bytes     random bytes that the operating system gave for a draw, many at once
    one       microseconds of a call for a single draw
    OpenDP    nanoseconds a draw of OpenDP's sampler of the same law, many at once; it has none for the sech² law

Times are CPU time, that of the operating system's generator included, and the fastest of several runs. Tables are made
before the clock starts: a millisecond or two for a new scale. Still, read them on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.samplers import machine
from pcqr.privacy.entropy import Entropy, SystemEntropy
from pcqr.privacy.noise import (
    discrete_gaussian,
    discrete_gaussians,
    discrete_laplace,
    discrete_laplaces,
    geometric,
    geometrics,
    sech_squared,
    sech_squareds,
)

SCALES = (0.3, 1.0, 10.0, 1e3, 1e6, 2.0**30, 2.0**50)
RUNS = 5
TARGET_NANOSECONDS = 400.0
"""Asked of the discrete Gaussian at every scale from 10 to 2⁵⁰, on one core."""

Many = Callable[[float, int, Entropy], NDArray[np.int64]]
One = Callable[[float, Entropy], int]
LAWS: tuple[tuple[str, One, Many], ...] = (
    ("discrete Laplace", discrete_laplace, discrete_laplaces),
    ("geometric", geometric, geometrics),
    ("discrete Gaussian", discrete_gaussian, discrete_gaussians),
    ("sech²", sech_squared, sech_squareds),
)


@dataclass(frozen=True)
class NoiseRow:
    """One law at one scale: what the columns show."""

    law: str
    scale: float
    bulk_nanoseconds: float
    bytes_a_draw: float
    single_microseconds: float
    opendp_nanoseconds: float | None

    @property
    def is_met(self) -> bool | None:
        if self.law != "discrete Gaussian" or self.scale < 10:
            return None
        return self.bulk_nanoseconds <= TARGET_NANOSECONDS


class Counting(SystemEntropy):
    """Counts the bytes that it hands out, to one thread."""

    def __init__(self) -> None:
        self.given = 0

    def fill(self, words: NDArray[np.uint64]) -> None:
        self.given += words.nbytes
        super().fill(words)


def noise_rows(*, draws: int = 200_000, singles: int = 2000, opendp_draws: int = 4000) -> list[NoiseRow]:
    """Every law at every scale, timed."""
    return [
        _row(law, one, many, scale, draws=draws, singles=singles, opendp_draws=opendp_draws)
        for law, one, many in LAWS
        for scale in SCALES
    ]


def _row(law: str, one: One, many: Many, scale: float, *, draws: int, singles: int, opendp_draws: int) -> NoiseRow:
    entropy, counting = SystemEntropy(), Counting()
    many(scale, draws, counting)
    theirs = _opendps(law, scale)
    return NoiseRow(
        law=law,
        scale=scale,
        bulk_nanoseconds=1e9 * _fastest(lambda: many(scale, draws, entropy)) / draws,
        bytes_a_draw=counting.given / draws,
        single_microseconds=1e6 * _fastest(lambda: [one(scale, entropy) for _ in range(singles)]) / singles,
        opendp_nanoseconds=1e9 * _fastest(lambda: theirs([0] * opendp_draws)) / opendp_draws if theirs else None,
    )


def _fastest(action: Callable[[], object]) -> float:
    timings = []
    for _ in range(RUNS):
        start = time.process_time()
        action()
        timings.append(time.process_time() - start)
    return min(timings)


def _opendps(law: str, scale: float) -> Callable[[list[int]], list[int]] | None:
    """OpenDP's sampler of a list of draws. A geometric one has its time: it was made of Laplace draws."""
    dp.enable_features("contrib")
    space: Any = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == "discrete Gaussian":
        return dp.m.make_gaussian(space, dp.l2_distance(T="f64"), scale=scale)  # type: ignore[no-any-return]
    if law == "discrete Laplace":
        return dp.m.make_laplace(space, dp.l1_distance(T="i64"), scale=scale)  # type: ignore[no-any-return]
    return None


def as_table(rows: Sequence[NoiseRow]) -> Table:
    table = Table(title=f"Exact integer noise (fastest of {RUNS})", caption=machine())
    table.add_column("law", no_wrap=True)
    for heading in ("scale", "bulk (ns)", "bytes", "one (µs)", "OpenDP (ns)"):
        table.add_column(heading, justify="right")
    for row in rows:
        style = {True: "green", False: "red", None: "default"}[row.is_met]
        table.add_row(
            row.law,
            f"{row.scale:.4g}",
            f"[{style}]{row.bulk_nanoseconds:.0f}",
            f"{row.bytes_a_draw:.1f}",
            f"{row.single_microseconds:.1f}",
            "–" if row.opendp_nanoseconds is None else f"{row.opendp_nanoseconds:,.0f}",
        )
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise", description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true", help="a tenth of the draws: a trial run")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON instead of a table")
    options = parser.parse_args(arguments)
    rows = noise_rows(draws=20_000, singles=200, opendp_draws=400) if options.fast else noise_rows()
    if options.json:
        print(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=2))
    else:
        Console().print(as_table(rows))


if __name__ == "__main__":
    main()
