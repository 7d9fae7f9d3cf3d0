"""The published linear classifier: margins by their definition, labels, probabilities, 8-bit cells, refusals."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.linear import plain_residuals

from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import PredicateVectors
from pcqr.errors import ParameterError
from pcqr.hypotheses import linear
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.serialization.codec import packed

PUBLIC = np.random.default_rng(0).normal(size=(60, 3))
DENSE = PredicateVectors.of([Predicate(f, cut) for f in range(3) for cut in (-0.5, 0.2, 1.0)], 3, PUBLIC)
FERNS = Ferns.of(PUBLIC, range(3), count=4, depth=2, seed=1)
MAPS = {
    "both": FeatureMap(DENSE, FERNS, 100),
    "dense": FeatureMap(DENSE, None, 256),
    "ferns": FeatureMap(None, FERNS, 0),
}
EACH_MAP = pytest.mark.parametrize("feature_map", MAPS.values(), ids=MAPS)


def a_linear(feature_map: FeatureMap, classes: int = 2, seed: int = 0, size: float = 2.0) -> LinearClassifier:
    rng, blocks = np.random.default_rng(seed), 1 if classes == 2 else classes
    cells = rng.normal(size=(blocks, feature_map.count, 1 << feature_map.depth))
    return LinearClassifier.of(feature_map, classes, size * rng.normal(size=(blocks, feature_map.size)), size * cells)


def plain_margins(published: LinearClassifier, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """θ·φ(x), with φ written out as one vector."""
    phi_map, rows = published.feature_map, []
    for x in X:
        phi: list[float] = []
        if phi_map.dense is not None:
            v = phi_map.dense.vectors(x[None])[0].astype(float)
            phi += list(math.sqrt(phi_map.share / 256) * v / np.linalg.norm(v))
        for fern in range(phi_map.count):
            assert phi_map.ferns is not None
            asked = phi_map.ferns.predicates[fern * phi_map.depth : (fern + 1) * phi_map.depth]
            cell = int("".join(str(int(x[each.feature] > each.cut)) for each in asked), 2)
            one_hot = np.zeros(1 << phi_map.depth)
            one_hot[cell] = math.sqrt((1 - phi_map.share / 256) / phi_map.count)
            phi += list(one_hot)
        assert np.linalg.norm(phi) == pytest.approx(1.0)
        rows.append(phi)
    theta = [
        [*weights, *(scale * published.tables[k].astype(float).reshape(-1))]
        for k, (weights, scale) in enumerate(zip(published.weights, published.scales, strict=True))
    ]
    margins: NDArray[np.float64] = np.array(rows) @ np.array(theta).T
    return margins


@EACH_MAP
@pytest.mark.parametrize("classes", [2, 4])
def test_margins_are_those_of_one_long_vector(
    feature_map: FeatureMap, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    published, X = a_linear(feature_map, classes), np.random.default_rng(3).normal(size=(30, 3))
    plain = plain_margins(published, X)
    found = published.decision_function(X)
    np.testing.assert_allclose(found, plain[:, 0] if classes == 2 else plain, atol=1e-9)
    labels = published.predict(X)
    assert labels.dtype == np.int8
    np.testing.assert_array_equal(labels, plain[:, 0] > 0 if classes == 2 else plain.argmax(axis=1))
    monkeypatch.setattr(linear, "_BLOCK", 50)  # a few rows at a time
    np.testing.assert_array_equal(published.decision_function(X), found)


@EACH_MAP
@pytest.mark.parametrize("classes", [2, 3])
def test_at_its_probabilities_the_mean_push_of_the_descent_is_0(feature_map: FeatureMap, classes: int) -> None:
    """So they are those under which its loss, whose slope is cut, has its least mean at these margins."""
    published, X = a_linear(feature_map, classes), np.random.default_rng(3).normal(size=(30, 3))
    found = published.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    margins = published.decision_function(X).reshape(30, -1)
    for probabilities, row in zip(found, np.rint(256 * margins).astype(int).tolist(), strict=True):
        pushes = np.array([plain_residuals(row, label) for label in range(classes)]) / 2**15
        assert np.abs(pushes).max() > 0.1
        np.testing.assert_allclose(probabilities @ pushes, 0.0, atol=0.005)  # margins on a grid of 1/256


def test_of_equal_margins_the_first_class_wins_and_no_margin_is_label_0() -> None:
    for classes in (2, 3):
        blocks = 1 if classes == 2 else classes
        nothing = LinearClassifier.of(MAPS["both"], classes, np.zeros((blocks, DENSE.size)), np.zeros((blocks, 4, 4)))
        assert nothing.scales == (0.0,) * blocks
        assert not nothing.predict(PUBLIC).any()


@given(seed=st.integers(0, 2**32), size=st.sampled_from([1e-300, 1e-3, 1.0, 1e3]))
def test_cells_are_rounded_by_at_most_half_a_255th_of_the_largest(seed: int, size: float) -> None:
    cells = size * np.random.default_rng(seed).normal(size=(3, 4, 4))
    published = LinearClassifier.of(MAPS["ferns"], 3, np.zeros((3, 0)), cells)
    found = published.tables * np.array(published.scales)[:, None, None]
    largest = np.abs(cells).max(axis=(1, 2), keepdims=True)
    assert (np.abs(found - cells) <= largest / 253.9).all()
    assert np.abs(published.tables).max(axis=(1, 2)).tolist() == [127] * 3


def test_it_is_small_and_comes_back() -> None:
    ferns = Ferns.of(PUBLIC, range(3), count=50, depth=8, seed=0)
    published = a_linear(FeatureMap(DENSE, ferns, 128))
    text = published.to_json()
    assert Hypothesis.from_json(text) == published
    assert len(json.loads(text)["cells"]) < 1.4 * 50 * 256
    assert published.cells not in repr(published)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"classes": 1}, "classes"),
        ({"classes": 128}, "classes"),
        ({"classes": 3}, "weights"),
        ({"weights": ()}, "weights"),
        ({"weights": ((1.0,),)}, "weights"),
        ({"weights": ((math.nan,) * DENSE.size,)}, "weights"),
        ({"weights": ((math.inf,) * DENSE.size,)}, "weights"),
        ({"weights": ((2.0**-21,) * DENSE.size,)}, "weights"),
        ({"weights": ((2.0**11,) * DENSE.size,)}, "weights"),
        ({"scales": ()}, "scales"),
        ({"scales": (1.0, 1.0)}, "scales"),
        ({"scales": (-1.0,)}, "scales"),
        ({"scales": (math.inf,)}, "scales"),
        ({"scales": (math.nan,)}, "scales"),
        ({"cells": "nothing"}, "cells"),
        ({"cells": packed(np.zeros(15, dtype=np.int8))}, "cells"),
        ({"cells": packed(np.full(16, -128, dtype=np.int8))}, "cells"),
        ({"feature_map": None}, "feature_map"),
        ({"feature_map": MAPS["dense"]}, "cells"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must"):
        replace(a_linear(MAPS["both"]), **change)


@pytest.mark.parametrize("largest", [2.0**10, 1.0])
def test_a_margin_is_a_function_of_its_row_alone(largest: float) -> None:
    """Whatever rows come with it: products are exact, at the largest weights, too."""
    weights = np.clip(largest * np.random.default_rng(0).normal(size=(1, DENSE.size)), -(2.0**10), 2.0**10)
    published = LinearClassifier.of(MAPS["dense"], 2, weights, np.zeros((1, 0, 1)))
    for part in published._factors:  # 2¹⁶ products with vectors of 16 bits add up to less than 2⁵³
        assert (part == np.rint(part)).all()
        assert np.abs(part).max() * 2.0 ** (15 + 16) < 2.0**53
    X = np.random.default_rng(3).normal(size=(300, 3))
    together = published.decision_function(X)
    assert together.tolist() == [float(published.decision_function(x[None])[0]) for x in X]
    for v, margin in zip(DENSE.vectors(X), together, strict=True):
        whole = sum(int(a) * round(w * 2**20) for a, w in zip(v, published.weights[0], strict=True))
        norm = math.sqrt(sum(int(a) ** 2 for a in v))
        assert margin == float(whole) / 2**20 / norm
