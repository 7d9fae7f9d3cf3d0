"""The door to numba: lazy, transparent, and the same numbers as plain Python."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from pcqr.compiled import compiled


def _running_sum(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """The sum, one term at a time."""
    total = 0
    for value in values:
        total += int(value)
    return total


def test_a_kernel_keeps_its_name_and_its_results() -> None:
    kernel = compiled(_running_sum)
    values = np.arange(100)
    assert kernel(values) == _running_sum(values) == 4950
    assert kernel(values[:3]) == 3
    assert kernel.__name__ == "_running_sum"
    assert kernel.__doc__ == _running_sum.__doc__


def test_importing_the_samplers_loads_neither_numba_nor_opendp() -> None:
    program = "import sys, pcqr.hypotheses, pcqr.noise; print({'numba', 'opendp'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert shown.stdout.strip() == "set()"
