"""What stands before a draw is made of public things, bits are the operating system's, and no error carries a label."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from support.releases import Forbidden, steps

from pcqr import (
    AgnosticRelease,
    NoisyMaxAggregate,
    PrivateClassifier,
    SemiPrivateLearner,
    SubsampleAggregate,
    UniversalRelease,
)
from pcqr.errors import DataError, PcqrError
from pcqr.hypotheses import DecisionTrees, Hypothesis, Thresholds
from pcqr.hypotheses.trees import DecisionTree, Leaf
from pcqr.privacy.composition import Stage, parts_of
from pcqr.privacy.entropy import Entropy, SeededEntropy, SystemEntropy
from pcqr.releases.classifier import estimator as private_classifier
from pcqr.releases.classifier.plan import LinearStage
from pcqr.releases.protocol.stages import DrawStage

NAME = "Zaphod"
"""Of a class that nobody may hear of."""
QUICK = {"hypotheses": Thresholds(), "teachers": 51, "queries": 5}
EVERY: list[tuple[Any, dict[str, Any]]] = [
    *((release, QUICK) for release in (SubsampleAggregate, AgnosticRelease, NoisyMaxAggregate)),
    (UniversalRelease, QUICK | {"publish_share": 0.2}),
    (SemiPrivateLearner, {"hypotheses": Thresholds()}),
    (PrivateClassifier, {}),
]
METHODS = ("tree", "linear", "auto")


@pytest.mark.parametrize("method", ["linear", "auto"])
@pytest.mark.parametrize(
    ("epsilon", "names"), [(8.0, ["plain"]), (80.0, ["some ferns"]), (400.0, ["some ferns", "mostly ferns"])]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_run_is_given_maps_trees_and_stages_that_are_made_of_public_rows(
    classes: int, epsilon: float, names: list[str], method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the records say, with both values of a label among them."""
    started: list[Any] = []

    def watched(
        stage: Stage, trees: DecisionTrees, _: Any, entropy: Entropy, *, maps: Any, public: Any
    ) -> tuple[Hypothesis, None]:
        started.append((stage, trees, maps, public.tolist(), entropy.is_private))
        return DecisionTree(Leaf(0), 2), None

    monkeypatch.setattr(private_classifier, "publish_weighed", watched)
    rng = np.random.default_rng(0)
    public = rng.random((200, 2))
    for private in (rng.random((500, 2)), 5.0 * rng.random((500, 2)) ** 4):
        y = np.digitize(private[:, 0], [0.2, 0.4][: classes - 1])
        PrivateClassifier(epsilon, method=method, entropy=0).fit(private, y, public=public)
    assert started[0] == started[1]
    (stage, trees, maps, shown, _), linears = started[0], parts_of(started[0][0], LinearStage)
    assert shown == public.tolist()
    assert list(maps) == names
    assert [features.count > 0 for features in maps.values()] == [name != "plain" for name in names]
    assert trees == DecisionTrees(predicates=trees.predicates, depth=trees.depth, cuts=trees.cuts).with_labels(classes)
    assert len(parts_of(stage, DrawStage)) == (method == "auto")
    assert len(linears) == (1 if len(names) == 1 else 4)
    assert {linear.features for linear in linears} == set(names)
    assert {linear.is_empirical_bayes for linear in linears} == {classes == 2 and epsilon == 8.0}


class Watched(Entropy):
    """Seeded bits, counted."""

    is_private = False

    def __init__(self) -> None:
        self.asked = 0
        self._bits = SeededEntropy(0)

    def bytes(self, count: int) -> bytes:
        self.asked += count
        return self._bits.bytes(count)


@pytest.mark.parametrize(("estimator", "parameters"), EVERY, ids=lambda value: getattr(value, "__name__", "quick"))
def test_the_default_is_the_operating_systems_entropy(
    estimator: Any, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = steps(4_000)
    public = steps(200, seed=1)[0]
    started: list[Entropy] = []
    monkeypatch.setattr(estimator, "_start", lambda *arguments: started.append(arguments[-1]))
    fitted = estimator(**parameters, epsilon=4.0).fit(X, y, public=public)
    assert [type(entropy) for entropy in started] == [SystemEntropy]
    assert fitted.guarantee_.is_private
    assert fitted.plan_.guarantee.is_private


@pytest.mark.parametrize(("estimator", "parameters"), EVERY[:-1], ids=lambda value: getattr(value, "__name__", "quick"))
def test_what_is_given_is_what_is_drawn_with(estimator: Any, parameters: dict[str, Any]) -> None:
    X, y = steps(4_000)
    watched = Watched()
    fitted = estimator(**parameters, epsilon=4.0, entropy=watched).fit(X, y, public=steps(200, seed=1)[0])
    drawn = watched.asked
    assert drawn > 0
    assert not fitted.guarantee_.is_private
    if hasattr(fitted, "answer"):
        fitted.answer([0.3])
        assert watched.asked > drawn


@pytest.mark.parametrize("method", METHODS)
def test_what_is_given_is_what_a_classifier_is_drawn_with(method: Any) -> None:
    X, y = steps(2_000)
    watched = Watched()
    PrivateClassifier(4.0, method=method, entropy=watched).fit(X, y, public=steps(100, seed=1)[0])
    assert watched.asked > 0


MANY = [f"{NAME}{number}" for number in range(731)]
BAD_LABELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "not declared": ([*["no", "yes"] * 10, NAME], {"classes": ("no", "yes")}),
    "one class": ([NAME] * 20, {}),
    "three classes": ([NAME, "a", "b"] * 10, {}),
    "too many classes": (MANY, {}),
    "mixed types": ([NAME, 1, 2.5] * 10, {}),
    "missing": ([NAME, None] * 10, {}),
    "fractions": ([0.731, 7.31] * 10, {}),
}


@pytest.mark.parametrize(
    ("estimator", "parameters", "kind"),
    [
        (estimator, parameters, kind)
        for estimator, parameters in EVERY
        for kind in BAD_LABELS
        if (estimator, kind) != (PrivateClassifier, "three classes")  # which are not bad there
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", "quick"),
)
def test_no_error_carries_a_label_or_their_number(estimator: Any, parameters: dict[str, Any], kind: str) -> None:
    labels, more = BAD_LABELS[kind]
    X, public = steps(len(labels))[0], steps(300, seed=1)[0]
    with pytest.raises(ValueError, match=r".") as caught:
        estimator(**parameters, **more, entropy=Forbidden()).fit(X, labels, public=public)
    error: BaseException | None = caught.value
    assert isinstance(error, PcqrError)
    while error is not None:  # and nothing behind it
        assert NAME not in str(error)
        assert "731" not in str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("method", METHODS)
def test_a_classifier_keeps_no_rows_that_were_called_public(method: Any) -> None:
    """They are not published with a pickle of it, and where a fit is refused they may be private ones."""
    rng = np.random.default_rng(0)
    X, public = rng.random((2_000, 2)), rng.random((60, 2))
    classifier = PrivateClassifier(method=method, entropy=0)
    with pytest.raises(DataError, match="more than half are rows of X"):
        classifier.fit(X, X[:, 0] > 0.4, public=X[:50])
    assert vars(classifier).keys() - classifier.get_params() == {"n_features_in_", "_has_spent"}
    assert X[0].tobytes() not in pickle.dumps(classifier)
    assert public[0].tobytes() not in pickle.dumps(classifier.fit(X, X[:, 0] > 0.4, public=public))


@pytest.mark.parametrize("features", ["predicates", "dense"])
def test_a_classifier_whose_fit_is_interrupted_keeps_nothing(features: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> Hypothesis:
        raise KeyboardInterrupt

    monkeypatch.setattr(private_classifier, "publish_weighed", interrupted)
    X, public = np.random.default_rng(0).random((2, 60, 2))
    classifier = PrivateClassifier(method="linear", features=features, entropy=0)
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(X, X[:, 0] > 0.4, public=public)
    assert vars(classifier).keys() - classifier.get_params() == {"n_features_in_", "_has_spent"}
