"""The door to numba: lazy, transparent, and the same numbers as plain Python."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys

import numpy as np
import pytest

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


@compiled
def _square(x: float) -> float:
    return x * x


@compiled
def _sum_of_squares(x: float, y: float) -> float:
    return _square(x) + _square(y)


@compiled
def _norm(x: float, y: float) -> float:
    return math.sqrt(_sum_of_squares(x, y))


def test_a_kernel_may_call_kernels_of_its_own_module() -> None:
    assert _norm(3.0, 4.0) == 5.0
    assert _sum_of_squares(1.0, 2.0) == 5.0, "and they stay what they are"


def test_a_kernel_of_another_module_is_refused_for_the_sake_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def foreign(x: float) -> float:
        return x

    foreign.__module__ = "elsewhere"
    caller = compiled(inspect.unwrap(_sum_of_squares))
    monkeypatch.setitem(globals(), "_square", compiled(foreign))
    with pytest.raises(TypeError, match="calls _square of another module"):
        caller(1.0, 2.0)


def test_importing_the_samplers_loads_neither_numba_nor_opendp() -> None:
    program = "import sys, pcqr.hypotheses, pcqr.privacy.noise; print({'numba', 'opendp'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert shown.stdout.strip() == "set()"
