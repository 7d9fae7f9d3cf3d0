"""What is taken to a machine with an accelerator runs there: it needs nothing of pcqr."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import STANDALONE, carry, integers, read_counts, write_counts

BLOCKED = "import sys; sys.modules.update(dict.fromkeys(('pcqr', 'rich', 'scipy', 'sklearn')));"


def test_the_trainings_need_neither_pcqr_nor_what_it_needs(tmp_path: Path) -> None:
    carry(tmp_path)
    names = [f"benchmarks.{Path(name).stem}" for name in STANDALONE if name != "__init__.py"]
    code = f"{BLOCKED} import {', '.join(names)}; print(benchmarks.__file__)"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)  # noqa: S603
    assert Path(found.stdout.strip()) == tmp_path / "benchmarks" / "__init__.py"


def test_counts_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "results" / "rows.npz"
    assert read_counts(path) == {}
    counts = {("adult", 0.03): np.array([1, 0, 5], dtype=np.uint8), ("bank", 4.0): np.zeros(2, dtype=np.uint8)}
    write_counts(path, counts)
    found = read_counts(path)
    assert found.keys() == counts.keys()
    for key, values in counts.items():
        np.testing.assert_array_equal(found[key], values)


def test_columns_are_integers_or_refused() -> None:
    assert integers(np.array([[1.0, -3.0]])).dtype == np.int16
    assert integers(np.array([[1.0, 40_000.0]])).dtype == np.int32
    with pytest.raises(AssertionError, match="no integers"):
        integers(np.array([[0.5]]))
