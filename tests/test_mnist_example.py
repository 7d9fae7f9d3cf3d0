"""The example on handwritten digits: its features are what they are said to be, and it runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

EXAMPLE = Path(__file__).parents[1] / "examples" / "mnist.py"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mnist_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mnist: Any = loaded()


def images(count: int, seed: int = 0) -> NDArray[np.uint8]:
    """Bright bars at one of ten heights, with noise: as if they were digits."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 60, size=(count, 28, 28))
    found[np.arange(count)[:, None], 4 + 2 * (np.arange(count) % 10)[:, None] + np.arange(2)] += 180
    return found.reshape(count, 784).astype(np.uint8)


def test_a_wavelet_has_no_sum_and_looks_in_its_own_direction() -> None:
    for octave, wavelets in enumerate((mnist.FINE, mnist.COARSE)):
        assert np.abs(wavelets[:, 0, 0]).max() < 1e-6
        frequencies = 2 * np.pi * np.fft.fftfreq(mnist.GRID)
        for place, wavelet in enumerate(wavelets):
            x, y = np.unravel_index(wavelet.argmax(), wavelet.shape)
            angle, expected = np.arctan2(frequencies[y], frequencies[x]), np.pi * place / mnist.ANGLES
            assert abs((angle - expected + np.pi) % (2 * np.pi) - np.pi) < 0.2
            assert np.hypot(frequencies[x], frequencies[y]) == pytest.approx(0.75 * np.pi / 2**octave, rel=0.2)


def test_channels_are_means_of_moduli_of_convolutions() -> None:
    """Channels 3 (first order), 14 (first order, half as fine) and 40 (second order), by convolutions in full."""
    image = images(1)[0].reshape(28, 28) / 255.0
    padded = np.pad(image, mnist.MARGIN)

    def waves(x: NDArray[Any], wavelet: NDArray[Any]) -> NDArray[np.float64]:
        return np.abs(np.fft.ifft2(np.fft.fft2(x) * wavelet))

    def means(x: NDArray[Any]) -> NDArray[np.float64]:
        rows = mnist.ON_GRID.astype(np.float64)
        found: NDArray[np.float64] = rows @ x @ rows.T
        return found

    first = waves(padded, mnist.FINE[2])
    expected = {3: means(first), 14: means(waves(padded, mnist.COARSE[5]))}
    expected[17 + 2 * 8 + 7] = means(waves(first, mnist.COARSE[7]))
    seen = mnist.scattering(images(1)).reshape(mnist.GROUPS, 3, 49)
    for channel, wanted in expected.items():
        group, place = divmod(channel, 3)
        found = seen[group, place]
        assert np.corrcoef(found, wanted.ravel())[0, 1] > 0.995, "normalised: the same but for a shift and a factor"


def test_features_are_those_of_each_image_alone() -> None:
    some = images(7)
    together = mnist.scattering(some)
    assert together.shape == (7, 81 * 49)
    assert np.allclose([mnist.scattering(some[i : i + 1])[0] for i in range(7)], together, atol=1e-5)
    groups = together.reshape(7, mnist.GROUPS, -1)
    assert np.abs(groups.mean(axis=2)).max() < 1e-4
    assert groups.var(axis=2).max() < 1.001


def test_it_runs_and_computes_features_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    some = images(640)
    columns = {f"pixel{place}": some[:, place] for place in range(784)}
    split = np.where(np.arange(640) % 8 == 0, "test", "train")
    parquet.write_table(pyarrow.table(columns | {"label": np.arange(640) % 10, "split": split}), tmp_path / "m.parquet")
    monkeypatch.setattr(mnist, "PUBLIC", 120)
    arguments = ["mnist.py", str(tmp_path / "m.parquet"), "--out", str(tmp_path), "--seed", "0", "--epsilon", "100"]
    monkeypatch.setattr(sys, "argv", arguments)
    mnist.main()
    said = capsys.readouterr().out
    assert "3969 features of each image" in said
    assert "of 80 test images" in said
    assert "NOT PRIVATE" in said
    monkeypatch.setattr(mnist, "scattering", None)
    with np.load(tmp_path / "mnist-scattering.npz") as kept:
        assert (mnist.cached_scattering(some, tmp_path / "mnist-scattering.npz") == kept["features"]).all()
