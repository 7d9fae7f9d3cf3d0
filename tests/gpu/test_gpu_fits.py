"""`PrivateClassifier(device=…)`: the same classifier on a device; the CPU, with a message, where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pcqr import PrivateClassifier
from pcqr.data.records import GroupedRecords, InMemory, Records
from pcqr.data.records.on_device import OnDevice
from pcqr.errors import NoGpu, ParameterError
from pcqr.gpu import Found
from pcqr.releases.classifier import estimator as private_classifier

GENERATOR = np.random.default_rng(0)
X, PUBLIC = GENERATOR.normal(size=(1_500, 3)), GENERATOR.normal(size=(300, 3))
Y = (X[:, 0] > 0.3).astype(np.int8) + (X[:, 1] > 0.5)


def fitted(y: NDArray[Any], **parameters: Any) -> PrivateClassifier:
    return PrivateClassifier(entropy=3, **parameters).fit(X, y, public=PUBLIC)


@pytest.mark.parametrize(
    ("epsilon", "method", "classes"),
    [
        (1.0, "tree", 3),
        (9.0, "linear", 2),  # steps
        (2.5, "auto", 2),  # a tree and empirical Bayes
        (25.0, "linear", 2),  # ferns
        (110.0, "auto", 2),  # a tree and pilots
    ],
)
def test_the_same_entropy_gives_the_same_classifier(
    epsilon: float, method: Any, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On torch's CPU, in a GPU's place."""
    pytest.importorskip("torch", reason="torch is not installed: pip install pcqr[gpu]")
    y, names = np.minimum(Y, classes - 1), tuple(range(classes))
    here = fitted(y, epsilon=epsilon, method=method, classes=names)
    asked = []
    monkeypatch.setattr(private_classifier, "find_gpu", lambda: Found("cpu"))

    def noted(records: Records, device: str) -> OnDevice:
        asked.append(device)
        return OnDevice(records, device)

    monkeypatch.setattr(private_classifier, "OnDevice", noted)
    there = fitted(y, epsilon=epsilon, method=method, classes=names, device="auto")
    assert asked == ["cpu"]
    assert there.hypothesis_ == here.hypothesis_
    assert there.guarantee_ == here.guarantee_
    assert there.plan_ == here.plan_


@pytest.mark.parametrize("why_not", ["torch is not installed", "torch finds no CUDA device"])
def test_without_a_gpu_the_cpu_does_it_and_fit_says_so(why_not: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_classifier, "find_gpu", lambda: Found(None, why_not))
    with pytest.warns(NoGpu, match=f"No GPU is used: {why_not}") as given:
        found = fitted(Y > 0, method="tree", device="cuda")
    assert given[0].filename == __file__
    assert found.hypothesis_ == fitted(Y > 0, method="tree").hypothesis_
    fitted(Y > 0, method="tree", device="auto")  # says nothing


def test_a_message_that_is_an_error_comes_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_classifier, "find_gpu", lambda: Found(None, "torch is not installed"))
    monkeypatch.setattr(PrivateClassifier, "_start", lambda *_: pytest.fail("started"))
    with pytest.raises(NoGpu):
        fitted(Y > 0, device="cuda")  # warnings are errors here


def test_persons_are_counted_on_the_cpu_and_fit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device every row counts the same, however many a person has: that would be no guarantee for persons."""
    monkeypatch.setattr(private_classifier, "find_gpu", lambda: Found("cpu"))
    groups, classifier = np.arange(len(Y)) // 2, PrivateClassifier(method="tree", entropy=3)
    here = classifier.fit(X, Y > 0, public=PUBLIC, groups=groups).hypothesis_
    with pytest.warns(NoGpu, match="persons"):
        there = classifier.set_params(device="cuda").fit(X, Y > 0, public=PUBLIC, groups=groups).hypothesis_
    assert here == there
    with pytest.raises(ParameterError, match="weights"):
        OnDevice(GroupedRecords(InMemory(X, Y > 0), groups), "cpu")
