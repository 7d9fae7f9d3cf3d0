"""onnxruntime gives the labels that `predict` gives, on and beside every cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr import Guarantee
from pcqr.hypotheses import DecisionTree
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.models import PublishedModel
from pcqr.records.branching import Leaf, Split
from pcqr.records.predicates import Predicate
from pcqr.schema import Column, Schema

FEATURES = 3
CUTS = (0.0, 0.1, 1 / 3, -2.5, 16777217.0, 1e300, -1e-310, 5e-324, np.pi)
"""16777217 = 2²⁴ + 1 is no float32, the subnormals are zero there, and 10³⁰⁰ is infinite."""


def exported(model: PublishedModel, directory: Path) -> onnxruntime.InferenceSession:
    model.to_onnx(directory / "model.onnx")
    return onnxruntime.InferenceSession(directory / "model.onnx", providers=["CPUExecutionProvider"])


def labels(session: onnxruntime.InferenceSession, X: NDArray[np.float64]) -> list[Any]:
    (found,) = session.run(["label"], {"X": X})
    return list(found.tolist())


def model(hypothesis: Hypothesis, classes: tuple[Any, ...], features: int = FEATURES) -> PublishedModel:
    schema = Schema(tuple(Column(f"x{i}") for i in range(features)))
    return PublishedModel(hypothesis, classes, schema, Guarantee(1.0))


def hard_points(features: int) -> NDArray[np.float64]:
    """Each cut, its two neighbours in float64 and its rounding to float32, in all columns, shuffled in each."""
    cuts = np.array(CUTS)
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.nan_to_num(cuts.astype(np.float32).astype(np.float64), posinf=1e301)
    values = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), rounded, [-0.0, 1e-320]])
    generator = np.random.default_rng(0)
    random = generator.normal(size=(100, features)) * 10.0 ** generator.integers(-3, 9, size=(100, features))
    return np.concatenate([np.column_stack([generator.permutation(values) for _ in range(features)]), random] * 4)


def nodes(depth: int) -> st.SearchStrategy[Leaf | Split]:
    leaves = st.builds(Leaf, st.integers(0, 2))
    asked = st.builds(Predicate, st.integers(0, FEATURES - 1), st.sampled_from(CUTS))
    return leaves if depth == 0 else st.builds(Split, asked, nodes(depth - 1), nodes(depth - 1))


@settings(max_examples=25, deadline=None)
@given(nodes(4) | nodes(2) | nodes(0))
def test_trees_with_three_classes(tmp_path_factory: pytest.TempPathFactory, root: Leaf | Split) -> None:
    tree = model(DecisionTree(root, FEATURES), ("red", "grün", "blue"))
    X = hard_points(FEATURES)
    assert labels(exported(tree, tmp_path_factory.mktemp("onnx")), X) == tree.predict(X).tolist()


@pytest.mark.parametrize("classes", [(0, 1), (-(2**40), 7), (0.25, 1.5), (False, True), ("no", "yes")])
def test_label_names_keep_their_type(tmp_path: Path, classes: tuple[Any, Any]) -> None:
    threshold = model(Threshold(0.1, up=False), classes, features=1)
    X = hard_points(1)
    found = labels(exported(threshold, tmp_path), X)
    assert found == threshold.predict(X).tolist()
    assert {type(label) for label in found} == {type(classes[0])}


@pytest.mark.parametrize("cut", [*CUTS, np.inf, -np.inf])
@pytest.mark.parametrize("above", [True, False])
def test_stumps_constant_ones_included(tmp_path: Path, cut: float, above: bool) -> None:
    stump = model(Stump(1, cut, above, FEATURES), ("no", "yes"))
    X = hard_points(FEATURES)
    session = exported(stump, tmp_path)
    assert labels(session, X) == stump.predict(X).tolist()
    assert labels(session, X[:1]) == stump.predict(X[:1]).tolist()


def test_the_file_says_what_it_takes_and_what_was_promised(tmp_path: Path) -> None:
    session = exported(model(Stump(1, 0.5, True, FEATURES), ("no", "yes")), tmp_path)
    (taken,) = session.get_inputs()
    assert (taken.name, taken.type, taken.shape) == ("X", "tensor(double)", ["records", FEATURES])
    about = session.get_modelmeta()
    assert about.producer_name == "pcqr"
    assert about.custom_metadata_map["features"] == '["x0", "x1", "x2"]'
    assert "ε = 1" in about.custom_metadata_map["guarantee"]


def test_the_same_model_gives_the_same_file(tmp_path: Path) -> None:
    stump = model(Stump(1, 0.5, True, FEATURES), ("no", "yes"))
    for name in ("a.onnx", "b.onnx"):
        stump.to_onnx(tmp_path / name)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
