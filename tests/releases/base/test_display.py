"""How estimators, published hypotheses and models show themselves: short, with the guarantee, and nothing secret."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import config_context

from pcqr import PrivateClassifier, SemiPrivateLearner, SubsampleAggregate, registry
from pcqr.data.records.predicates import Predicate
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel

RNG = np.random.default_rng(0)
X = RNG.random((3_000, 3))
Y = (X[:, 0] + X[:, 1] > 1).astype(int)
PUBLIC = RNG.random((400, 3))
SHORT = 250
ESTIMATORS: list[Any] = [registry.resolve(entry.estimator) for entry in registry.algorithms()]


@pytest.fixture(scope="module", params=["tree", "linear"])
def classifier(request: pytest.FixtureRequest) -> PrivateClassifier:
    trees = DecisionTrees(depth=3)
    made = PrivateClassifier(2.0, method=request.param, classes=["<no>", "yes"], trees=trees, entropy=0)
    return made.fit(X, np.where(Y == 1, "yes", "<no>"), public=PUBLIC)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_the_text_of_an_estimator_has_its_figures(estimator: Any) -> None:
    made = estimator()
    assert repr(made).startswith(f"{estimator.__name__}(epsilon={made.epsilon!r}")
    assert (f"delta={made.get_params().get('delta')!r}" in repr(made)) is (made.get_params().get("delta") is not None)
    assert len(repr(made)) < SHORT
    assert "entropy" not in repr(made)
    assert "entropy=0" in repr(made.set_params(entropy=0))
    with config_context(print_changed_only=False):
        assert f"classes={made.classes!r}" in repr(made)


def test_long_parameters_are_cut() -> None:
    predicates = tuple(Predicate(0, float(cut)) for cut in range(300))
    for long in (
        SemiPrivateLearner(DecisionTrees(depth=2, predicates=predicates)),
        SubsampleAggregate(classes=list(range(120)), epsilon=0.5),
        SubsampleAggregate(epsilon=0.5).set_params(classes=np.arange(120)),
        SubsampleAggregate(classes=["x" * 1_000, "y"], epsilon=0.5),
    ):
        assert len(repr(long)) < SHORT
    assert repr(DecisionTrees()) == "DecisionTrees()"
    assert repr(DecisionTrees(depth=2, predicates=predicates)) == "DecisionTrees(depth=2, predicates=<300 predicates>)"
    few = DecisionTrees(depth=2, predicates=predicates[:2])
    assert eval(repr(few), {"DecisionTrees": DecisionTrees, "Predicate": Predicate}) == few  # noqa: S307


def test_what_was_published_is_short(classifier: PrivateClassifier) -> None:
    model = PublishedModel.from_learner(classifier)
    for shown in (classifier, classifier.hypothesis_, classifier.hypotheses_, model):
        assert len(repr(shown)) < SHORT
    assert ("3 columns" in repr(model), "ε = 2" in repr(model)) == (True, True)
    assert type(classifier.hypothesis_).__name__ in repr(classifier.hypothesis_)


def test_a_notebook_shows_the_guarantee(classifier: PrivateClassifier) -> None:
    new, model = PrivateClassifier(), PublishedModel.from_learner(classifier)
    assert "Not fitted: nothing was released, and nothing was spent." in new._repr_mimebundle_()["text/html"]
    for shown in (classifier, model):
        bundle = shown._repr_mimebundle_()
        assert bundle["text/plain"] == repr(shown)
        assert "NOT PRIVATE (seeded randomness)" in bundle["text/html"]
        assert "ε = 2" in bundle["text/html"]
        assert "<no>" not in bundle["text/html"]
    assert "&lt;no&gt;" in model._repr_mimebundle_()["text/html"]
    assert "epsilon" in (classifier._repr_html_() or ""), "scikit-learn's diagram, with the parameters"
    with config_context(display="text"):
        assert "text/html" not in classifier._repr_mimebundle_()
        assert classifier._repr_html_() is None


def test_only_figures_are_shown_of_what_is_as_it_was_by_default() -> None:
    assert repr(SubsampleAggregate()) == "SubsampleAggregate(epsilon=1.0, delta=1e-06)"
    assert repr(SubsampleAggregate(queries=7)) == "SubsampleAggregate(epsilon=1.0, delta=1e-06, queries=7)"
