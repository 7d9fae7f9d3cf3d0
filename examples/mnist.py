"""Handwritten digits under differential privacy: a private linear classifier on public scattering features.

    python examples/mnist.py mnist.parquet [--epsilon 1.0] [--features scattering|pixels]

The Parquet file has the columns pixel0, …, pixel783 (0 to 255, line by line of 28 × 28), label, and split (train or
test). The first 2,000 rows of the training part are taken as public: their labels are not used. The other 58,000 are
private: replacing one of them changes what is published by no more than (ε, δ) allows.

The features are a public function of one image each, so they cost no privacy: the wavelet scattering transform of
second order (Bruna and Mallat 2013; for images Oyallon and Mallat 2015), two octaves and eight angles, normalised in 27
groups of channels as Tramèr and Boneh (2021) do. They are computed once, in a minute or two, and kept in --out. The
rest is `PrivateClassifier` with dense features: 300 principal directions of the public rows, and a noisy descent.

    J. Bruna, S. Mallat. Invariant scattering convolution networks. IEEE TPAMI 35, 2013.
    E. Oyallon, S. Mallat. Deep roto-translation scattering for object classification. CVPR 2015.
    F. Tramèr, D. Boneh. Differentially private learning needs better features (or much more data). ICLR 2021.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from pcqr import PrivateClassifier

SIDE, MARGIN, ANGLES, GROUPS = 28, 2, 8, 27
GRID = SIDE + 2 * MARGIN
PUBLIC, DELTA = 2_000, 1e-5
BLOCK = 200

Floats = NDArray[Any]


# The scattering transform ---------------------------------------------------------------------------------------------


def gabor(scale: float, angle: float, frequency: float, slant: float) -> Floats:
    """A wave under a Gaussian bell on a torus of GRID × GRID points, its centre at (0, 0)."""
    places = np.arange(-2 * GRID, 3 * GRID)
    x, y = places[:, None], places[None, :]
    along, across = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
    wave = np.exp(-(along**2 + (slant * across) ** 2) / (2.0 * scale**2) + 1j * frequency * along)
    wrapped = wave.reshape(5, GRID, 5, GRID).sum(axis=(0, 2))
    return np.asarray(wrapped * slant / (2.0 * np.pi * scale**2))


def morlet(octave: int, angle: float) -> Floats:
    """The Fourier transform of a Morlet wavelet, which is real: a wave less so much of its bell that the sum is 0."""
    scale, frequency, slant = 0.8 * 2.0**octave, 0.75 * np.pi / 2.0**octave, 4.0 / ANGLES
    wave, bell = gabor(scale, angle, frequency, slant), gabor(scale, angle, 0.0, slant)
    return np.fft.fft2(wave - bell * wave.sum() / bell.sum()).real.astype(np.float32)


def smoothing(points: int) -> Floats:
    """Means under a bell around every fourth pixel, from a line of so many points: seven of them."""
    pixel = points / GRID
    distance = np.arange(points) - pixel * np.arange(4, GRID - 3, 4)[:, None]
    bell = sum(np.exp(-((distance + turn * points) ** 2) / (2.0 * (1.6 * pixel) ** 2)) for turn in range(-2, 3))
    return np.asarray(bell / np.sum(bell, axis=1, keepdims=True), dtype=np.float32)


def halved(spectrum: Floats) -> Floats:
    """The Fourier transform of every second point in both directions."""
    half = GRID // 2
    folded = spectrum.reshape(*spectrum.shape[:-2], 2, half, 2, half)
    return np.asarray(folded.mean(axis=(-4, -2)))


FINE, COARSE = (np.stack([morlet(octave, np.pi * k / ANGLES) for k in range(ANGLES)]) for octave in (0, 1))
ON_GRID, ON_HALF = smoothing(GRID), smoothing(GRID // 2)


def scattering(images: Floats) -> Floats:
    """Features of each image by itself, 81 channels of 7 × 7: means, of moduli of waves, and of moduli of those."""
    x = np.zeros((len(images), GRID, GRID), dtype=np.float32)
    x[:, MARGIN:-MARGIN, MARGIN:-MARGIN] = images.reshape(-1, SIDE, SIDE) / np.float32(255.0)
    spectrum = scipy.fft.fft2(x)[:, None]
    fine = np.abs(scipy.fft.ifft2(spectrum * FINE))
    coarse = np.abs(scipy.fft.ifft2(halved(spectrum * COARSE)))
    channels = [ON_GRID @ x[:, None] @ ON_GRID.T, ON_GRID @ fine @ ON_GRID.T, ON_HALF @ coarse @ ON_HALF.T]
    for waves in scipy.fft.fft2(fine).swapaxes(0, 1):
        second = np.abs(scipy.fft.ifft2(halved(waves[:, None] * COARSE)))
        channels.append(ON_HALF @ second @ ON_HALF.T)
    groups = np.concatenate(channels, axis=1).reshape(len(images), GROUPS, -1)
    groups -= groups.mean(axis=2, keepdims=True)
    groups /= np.sqrt(groups.var(axis=2, keepdims=True) + 1e-5)
    return groups.reshape(len(images), -1)


def cached_scattering(images: Floats, cache: Path) -> Floats:
    """The features of all images, in 16 bits a number: from the file, or computed and written to it."""
    if cache.exists():
        with np.load(cache) as kept:
            return np.asarray(kept["features"])
    features = np.empty((len(images), scattering(images[:1]).shape[1]), dtype=np.float16)
    for start in range(0, len(images), BLOCK):
        features[start : start + BLOCK] = scattering(images[start : start + BLOCK])
    cache.parent.mkdir(parents=True, exist_ok=True)
    np.savez(cache, features=features)
    return features


# The private linear classifier --------------------------------------------------------------------


def read(path: Path) -> tuple[Floats, Floats, int]:
    """Images and labels, the training part first, and how many are in it."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pq.read_table(path)
    is_test = np.asarray(table["split"].to_pylist()) == "test"
    order = np.argsort(is_test, kind="stable")
    images = np.stack([table[f"pixel{place}"].to_numpy() for place in range(SIDE * SIDE)], axis=1)
    return images[order], table["label"].to_numpy()[order], int((~is_test).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="MNIST as a Parquet file")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0], help="one fit for each: each is a release")
    parser.add_argument("--features", choices=["scattering", "pixels"], default="scattering")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where features are kept")
    parser.add_argument("--seed", type=int, default=None, help="NOT PRIVATE: for measurements that can be repeated")
    options = parser.parse_args()

    images, labels, training = read(options.file)
    began = time.perf_counter()
    features = (
        images if options.features == "pixels" else cached_scattering(images, options.out / "mnist-scattering.npz")
    )
    print(f"{options.features}: {features.shape[1]} features of each image, {time.perf_counter() - began:.0f} s")
    public, private, test = np.split(features, [PUBLIC, training])
    for epsilon in options.epsilon:
        began = time.perf_counter()
        classifier = PrivateClassifier(
            epsilon, DELTA, features="dense", classes=tuple(range(10)), entropy=options.seed
        ).fit(private, labels[PUBLIC:training], public=public)
        seconds = time.perf_counter() - began
        accuracy = (classifier.predict(test) == labels[training:]).mean()
        print(f"ε = {epsilon:g}: {accuracy:.2%} of {len(test):,} test images, fitted in {seconds:.0f} s")
    print(classifier.guarantee_)


if __name__ == "__main__":
    main()
