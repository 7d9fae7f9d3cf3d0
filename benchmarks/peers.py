"""What the two peers by DP-SGD share: the guarantee, the noise for it, and which test rows their runs had right.

Noise. Opacus accounts for adding or removing a record. Replacing one moves a clipped sum by up to 2C instead of C, so
the noise here is 2σC, σ being what Opacus asks for at (ε, δ): the accountant "prv" where batches are sampled, with an
error of one per cent of ε, and "gdp" where nothing is sampled: there it is a bound, and the lower one of the two.
Without sampling, doubling is exact. With it, it is right to first order in the sampling rate q: with noise s·C, the
squares of the privacy loss add up over steps as the χ²-divergence of (1−q)·N(0, s²) + q·N(1, s²) from the same with
N(−1, s²), which is 4 sinh(1/s²)·q² ≈ 4q²/s²; a record that is added and counts double costs (e^{4/s²} − 1)·q² ≈ 4q²/s².
The second is the larger one where s is small, by a quarter at s = 3: `noise` is stored for the reader to see.

The trainings (`STANDALONE`) need NumPy, PyTorch and Opacus alone: `carry` puts them into a folder that can be taken to
a machine with an accelerator, where pcqr is not and nothing can be installed.
"""

from __future__ import annotations

import itertools
import json
import shutil
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DELTA = 1e-6
EPSILONS = (0.03, 0.1, 0.3, 1.0, 4.0)
STANDALONE = (
    *("__init__.py", "peers.py", "private_descent.py"),
    *("dp_sgd_search.py", "dp_sgd_training.py", "network_search.py", "network_training.py"),
)

Bits = NDArray[np.bool_]
Counts = NDArray[np.uint8]
Noises = Mapping[tuple[int, int], float]
"""For (batches an epoch, steps) the noise in units of C."""


@cache
def noise_multiplier(epsilon: float, per_epoch: int, steps: int) -> float:
    """2σ: the noise in units of C for replace-one at (ε, `DELTA`), sampling with q = 1/`per_epoch`."""
    from opacus.accountants.utils import get_noise_multiplier  # noqa: PLC0415

    options = {"accountant": "gdp"} if per_epoch == 1 else {"accountant": "prv", "eps_error": 0.01 * epsilon}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gdp's, that sampling is approximated: here is none
        sigma: float = get_noise_multiplier(
            target_epsilon=epsilon,
            target_delta=DELTA,
            sample_rate=1.0 / per_epoch,
            steps=steps,
            epsilon_tolerance=0.002 * epsilon,
            **options,
        )
    return 2.0 * sigma


def prepare_noise(folder: Path, epsilons: Iterable[float], batches: Sequence[tuple[int, int]]) -> None:
    """Add to `noise.json` what it lacks: rows (ε, batches an epoch, steps, noise in units of C)."""
    path = folder / "noise.json"
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    known = {(epsilon, per_epoch, steps) for epsilon, per_epoch, steps, _ in rows}
    for epsilon, (per_epoch, steps) in itertools.product(epsilons, batches):
        if (epsilon, per_epoch, steps) not in known:
            rows.append([epsilon, per_epoch, steps, noise_multiplier(epsilon, per_epoch, steps)])
            path.write_text(json.dumps(sorted(rows)), encoding="utf-8")


def read_noises(folder: Path) -> dict[float, dict[tuple[int, int], float]]:
    """By ε, what `prepare_noise` wrote."""
    noises: dict[float, dict[tuple[int, int], float]] = {}
    for epsilon, per_epoch, steps, noise in json.loads((folder / "noise.json").read_text(encoding="utf-8")):
        noises.setdefault(epsilon, {})[per_epoch, steps] = noise
    return noises


def carry(folder: Path) -> None:
    """Put the trainings into `folder`/benchmarks: `python -m benchmarks.network_training` runs in `folder`, too."""
    (folder / "benchmarks").mkdir(parents=True, exist_ok=True)
    for name in STANDALONE:
        shutil.copy(Path(__file__).parent / name, folder / "benchmarks")


def integers(X: NDArray[np.float64]) -> NDArray[np.signedinteger[Any]]:
    """One row a column, as 16-bit integers where they fit; all five tables have integers alone."""
    whole = X.T.astype(np.int32)
    if not np.array_equal(whole, X.T):
        raise AssertionError("A column has values that are no integers.")
    narrow = whole.astype(np.int16)
    return narrow if np.array_equal(narrow, whole) else whole


def read_counts(path: Path) -> dict[tuple[str, float], Counts]:
    """By table and ε: for each test row, in how many of the reported runs it was right."""
    if not path.exists():
        return {}
    with np.load(path) as content:
        return {_key(name): content[name] for name in content.files}


def write_counts(path: Path, counts: Mapping[tuple[str, float], Counts]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {f"{table} {epsilon:g}": counts[table, epsilon] for table, epsilon in sorted(counts)}
    np.savez_compressed(path, **content)


def _key(name: str) -> tuple[str, float]:
    table, epsilon = name.split(" ")
    return table, float(epsilon)
