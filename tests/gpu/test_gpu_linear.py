"""Noisy sums and gradient descent by torch, here on its CPU: the same integers, and the same floats, as without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.linear import any_map, any_points

from pcqr.data.records import InMemory
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.gradient_sums import GRID, LARGEST_WEIGHT
from pcqr.data.records.on_device import DeviceGradientSums, OnDevice
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.records.vectors import Directions, PredicateVectors
from pcqr.errors import DataError, ParameterError
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.classifier.descent import dp_gradient_descent, shape_of
from pcqr.releases.classifier.plan import LinearStage

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pcqr[gpu]")

from pcqr.gpu import linear as gpu_linear  # noqa: E402

EXTREME = np.array([-32767, 32767, -32766, 0, 2, -2, 100, -4096])
HEAVY = np.array([-LARGEST_WEIGHT, LARGEST_WEIGHT, LARGEST_WEIGHT - 1, 0, 1, -1, GRID, -GRID, 12345678])


def picked(generator: np.random.Generator, shape: tuple[int, ...], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ends of what is allowed, or ordinary sizes."""
    if generator.random() < 0.5:
        return generator.choice(ends, shape)
    return generator.integers(-1000, 1001, shape) * 2


def check_totals(seed: int, size: int, count: int, depth: int, share: int, labels: int, bound: int, rows: int) -> None:
    generator = np.random.default_rng(seed)
    features = any_map(size, count, depth, share, constant=int(generator.choice([1, 300, 32767])))
    vectors, cells = picked(generator, (rows, size), EXTREME), generator.integers(0, 1 << depth, (count, rows))
    X, y = any_points(vectors, cells, depth), generator.integers(0, labels, rows).astype(np.int8)
    blocks = 1 if labels == 2 else labels
    dense = picked(generator, (blocks, features.size), HEAVY).astype(np.int32)
    tables = picked(generator, (blocks, features.count, 1 << features.depth), HEAVY).astype(np.int32)
    records = InMemory(X, y, labels)
    expected = records.gradient_sums(features, bound).total(dense, tables)
    for one, other in zip(
        expected, OnDevice(records, "cpu").gradient_sums(features, bound).total(dense, tables), strict=True
    ):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert (one == other).all()


@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 9),
    count=st.integers(1, 5),
    depth=st.integers(1, 6),
    share=st.sampled_from([0, 1, 77, 128, 255, 256]),
    labels=st.integers(2, 10),
    bound=st.integers(0, 24).map(lambda bits: 1 << bits),
    rows=st.integers(1, 40),
)
@settings(max_examples=40, deadline=None)
def test_totals_are_those_of_the_cpu(
    seed: int, size: int, count: int, depth: int, share: int, labels: int, bound: int, rows: int
) -> None:
    check_totals(seed, size, count, depth, share, labels, bound, rows)


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("depth", [16])
def test_deep_ferns(labels: int, depth: int) -> None:
    """Cells beyond 2¹⁵ are negative as 16 bits with a sign, and most cells are empty."""
    check_totals(depth, 2, 3, depth, 20, labels, 1 << 24, 50)


@pytest.mark.parametrize("numbers", [1, 7, 1000])
def test_any_split_gives_the_same_integers(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_linear, "_NUMBERS", numbers)
    monkeypatch.setattr(gpu_linear, "_MOST_ROWS", 11)
    for labels in (2, 5):
        check_totals(labels, 3, 5, 4, 100, labels, 1 << 24, 90)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_scores_fit_their_integers(sign: int) -> None:
    """2¹⁶ coordinates and 2¹⁶ ferns, all entries and all weights at their ends: within a few parts of 2⁶³.

    Vectors that agree with the weights are right for one label and wrong for the other: slopes of 0 and of 1.
    """
    most, bound, share = 1 << 16, 1 << 24, 128
    vectors = np.full((2, most), 32767, dtype=np.int16)
    vectors[:, ::2] *= -1
    sums = gpu_linear.GradientSums(
        torch.as_tensor(vectors),
        torch.zeros((most, 2), dtype=torch.int16),
        np.array([0, 1], dtype=np.int8),
        share=share,
        bound=bound,
        cell_length=1 << 15,
        classes=2,
        depth=1,
        table=np.array([1 << 15, 1], dtype=np.int64),
    )
    dense = sign * np.sign(vectors[:1].astype(np.int32)) * LARGEST_WEIGHT
    weights = np.concatenate([dense, np.full((1, 2 * most), sign * LARGEST_WEIGHT, dtype=np.int32)], axis=1)
    found = sums.total(torch.as_tensor(weights.astype(np.int32)))[0, most:].view(most, 2)
    assert found[:, 1].abs().max() == 0
    assert (found[:, 0] == -sign * (1 << 15)).all()  # of the record that the weights get wrong


def test_records_that_all_say_the_same_as_loud_as_they_may() -> None:
    """Entries of M each, more of them than 32 bits hold, all in one cell."""
    features, rows = any_map(1, 1, 1, 0), 3000
    X = any_points(np.zeros((rows, 1), dtype=np.int64), np.ones((1, rows), dtype=np.int64), 1)
    sums = OnDevice(InMemory(X, np.ones(rows)), "cpu").gradient_sums(features, 1 << 24)
    _, cells = sums.total(np.zeros((1, 0), dtype=np.int32), np.zeros((1, 1, 2), dtype=np.int32))
    assert cells.tolist() == [[[0, rows << 24]]]


PUBLIC = np.random.default_rng(9).normal(size=(200, 3))
ASKED = [Predicate(f, cut) for f in range(3) for cut in (-0.5, 0.2, 1.0)]
FERNS = Ferns.of(PUBLIC, range(3), count=24, depth=3, seed=1)
CROSSED = Split(ASKED[1], Split(ASKED[4], Leaf(0), Leaf(1)), Split(ASKED[4], Leaf(1), Leaf(0)))
MAPS = {
    "whitened": FeatureMap(PredicateVectors.of(ASKED, 3, PUBLIC), FERNS, 128),
    "plain": FeatureMap(PredicateVectors.of(ASKED, 3, PUBLIC, whitening=0.0), FERNS, 13),
    "dense": FeatureMap(PredicateVectors.of(ASKED, 3, PUBLIC), None, 256),
    "ferns": FeatureMap(None, FERNS, 0),
    "beside a tree": FeatureMap(PredicateVectors.of(ASKED, 3, PUBLIC), FERNS, 128).beside(CROSSED, PUBLIC, 0.5),
}


def some_records(count: int, classes: int) -> InMemory:
    X = np.random.default_rng(3).normal(size=(count, 3))
    X[: count // 4] = PUBLIC[: count // 4]  # on the cuts of the ferns
    return InMemory(X, (X[:, 0] > 0.1).astype(np.int8) + (X[:, 1] > 0.3) * (classes - 2), classes)


@pytest.mark.parametrize("features", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rows", [600])
def test_the_same_entropy_gives_the_same_linear_classifier(features: FeatureMap, classes: int, rows: int) -> None:
    records = some_records(rows, classes)
    plan = LinearStage(rows, *shape_of(features), 9, 2**24, 2.0**25, momentum=0.9, step_size=0.05, classes=classes)
    here = dp_gradient_descent(features, records, plan, SeededEntropy(5))
    assert dp_gradient_descent(features, OnDevice(records, "cpu"), plan, SeededEntropy(5)) == here
    assert dp_gradient_descent(features, records, plan, SeededEntropy(6)) != here


def test_vectors_at_the_ends_of_what_they_may_be() -> None:
    """Entries of 2¹¹ through directions of 2¹⁵ − 1, cut to 16 bits; cuts that a point lies on."""
    asked = tuple(Predicate(0, float(j)) for j in range(40))
    matrix = np.where(np.arange(41 * 6).reshape(41, 6) % 5 < 2, -32767, 32767).astype(np.int16)
    dense = PredicateVectors(asked, (2048,) * 40, (-2048,) * 40, 1, Directions.of(matrix, 3))
    X = np.arange(-1.0, 42.0, 0.5)[:, None]
    found = OnDevice(InMemory(X, np.zeros(len(X))), "cpu").gradient_sums(FeatureMap(dense, None, 256), 1 << 20)
    assert isinstance(found, DeviceGradientSums)
    assert (found._sums._vectors.numpy() == dense.vectors(X)).all()


def test_what_the_cpu_refuses_is_refused() -> None:
    features = any_map(1, 1, 1, 128)
    with pytest.raises(ParameterError, match="bound"):
        DeviceGradientSums(features, (), 0, 3, 2, "cpu")
    with pytest.raises(DataError, match="3 rows"):
        DeviceGradientSums(features, [(np.zeros((2, 2)), np.zeros(2, dtype=np.int8))], 3, 1, 2, "cpu")
    sums = DeviceGradientSums(features, [(np.zeros((2, 2)), np.zeros(2, dtype=np.int8))], 2, 1, 2, "cpu")
    with pytest.raises(ParameterError, match="cells"):
        sums.total(np.zeros((1, 2), dtype=np.int32), np.full((1, 1, 2), LARGEST_WEIGHT + 1, dtype=np.int32))
