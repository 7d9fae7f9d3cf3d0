"""One face for the published classifiers: what it learns, what it shows, what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.releases import Forbidden

from pcqr import PrivateClassifier
from pcqr.data.records.predicates import Predicate, Split, nodes_of
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column, Schema
from pcqr.errors import DataError, NothingLearned, ParameterError
from pcqr.hypotheses import DecisionTree, DecisionTrees
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.privacy.composition import Branch, Sequence, Stage, parts_of
from pcqr.releases.classifier import estimator as private_classifier
from pcqr.releases.classifier.plan import ComparisonStage, LeafCountsStage, LinearStage, PredicatesStage
from pcqr.releases.classifier.rule import least_n_epsilon
from pcqr.releases.protocol.stages import DrawStage

KINDS = {"DecisionTree": "tree", "LinearClassifier": "linear"}
METHODS = ("tree", "linear", "auto")


def table(records: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.random((records, 3))
    return X, ((X[:, 0] > 0.3) & (X[:, 1] > 0.4)).astype(np.int64)


def unclear(records: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A sum, with a fifth of the labels wrong: a linear classifier's question."""
    X, _ = table(records, seed)
    wrong = np.random.default_rng(seed + 100).random(records) < 0.2
    return X, ((X.sum(axis=1) > 1.5) ^ wrong).astype(np.int64)


@pytest.mark.parametrize("method", METHODS)
def test_each_method_learns_and_keeps_its_budget(method: str) -> None:
    X, y = table(4_000)
    public, _ = table(300, seed=1)
    fresh, truth = table(1_000, seed=2)
    classifier = PrivateClassifier(2.0, method=method, entropy=0).fit(X, y, public=public)  # type: ignore[arg-type]
    assert KINDS[type(classifier.hypothesis_).__name__] == classifier.method_
    assert classifier.method_ == ("tree" if method == "tree" else "linear")
    if isinstance(classifier.hypothesis_, LinearClassifier):
        assert (classifier.hypothesis_.feature_map.tree is not None) == (method == "auto")
    assert (classifier.predict(fresh) == truth).mean() > (0.85 if method == "linear" else 0.93)
    assert classifier.guarantee_.within(2.0, 1e-6)
    assert classifier.guarantee_.is_pure == (method == "tree")
    assert not classifier.guarantee_.is_private, "seeded"
    assert "public points" in " ".join(classifier.guarantee_.assumptions)


def kinds(stage: Stage) -> list[type[Stage]]:
    assert isinstance(stage, Sequence)
    return [type(each) for each in stage.stages]


def test_auto_says_what_it_chose() -> None:
    X, y = unclear(2_000)
    public, _ = table(400, seed=1)
    by_itself = PrivateClassifier(1.4, entropy=0).fit(X, y, public=public)
    assert (by_itself.method_, kinds(by_itself.plan_.stage)) == ("tree", [DrawStage, LeafCountsStage])
    made = [PrivateClassifier(1.6, entropy=0).fit(X, labels, public=public) for labels in (y, X[:, 0] > 0.95)]
    for both in made:
        assert both.method_ == "linear"
        assert both.plan_ == made[0].plan_, "whatever the records say"
        draw, linear = both.plan_.stage.stages  # type: ignore[attr-defined]
        assert (type(draw), type(linear), linear.is_empirical_bayes) == (DrawStage, LinearStage, True)
        assert isinstance(both.hypothesis_, LinearClassifier)
        assert both.hypothesis_.feature_map.tree is not None
    steps = PrivateClassifier(4.1, entropy=0).plan(2_000, public=public).stage
    assert [each.is_empirical_bayes for each in parts_of(steps, LinearStage)] == [False]
    ferns = PrivateClassifier(15.0, entropy=0).plan(2_000, public=public).stage
    assert [each.ferns > 0 for each in parts_of(ferns, LinearStage)] == [True]
    piloted = PrivateClassifier(75.0, entropy=0).plan(2_000, public=public).stage
    assert kinds(piloted) == [DrawStage, LinearStage, LinearStage, ComparisonStage, Branch]


def test_auto_makes_no_map_where_a_tree_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps are made of all public rows, and trees need none."""
    made: list[str] = []

    def watched(name: str, genuine: Any) -> Any:
        def noted(*arguments: Any) -> Any:
            made.append(name)
            return genuine(*arguments)

        return noted

    for name in ("linear_predicates", "feature_maps"):
        monkeypatch.setattr(private_classifier, name, watched(name, getattr(private_classifier, name)))
    public, _ = table(200, seed=1)
    expected: tuple[tuple[Any, float, list[str]], ...] = (
        ("tree", 3.0, []),
        ("auto", 0.3, []),
        ("auto", 3.0, ["linear_predicates", "feature_maps"]),
        ("auto", 80.0, ["linear_predicates", "feature_maps"]),
        ("linear", 0.3, ["linear_predicates", "linear_predicates", "feature_maps"]),  # its class has them, too
    )
    for method, epsilon, maps in expected:
        made.clear()
        PrivateClassifier(epsilon, method=method, entropy=0).plan(2_000, public=public)
        assert made == maps


def test_a_linear_classifier_has_more_questions_than_the_tree_beside_it() -> None:
    X, y = unclear(2_000)
    public, _ = table(200, seed=1)
    few = DecisionTrees(cuts=4)
    common, rare = (
        PrivateClassifier(4.0, trees=few, entropy=0).fit(X, labels, public=public) for labels in (y, X[:, 0] > 0.95)
    )
    assert isinstance(common.hypothesis_, LinearClassifier)
    assert isinstance(common.hypothesis_.feature_map.dense, PredicateVectors)
    *own, about_tree = common.hypothesis_.feature_map.dense.predicates
    assert len(own) == 3 * 20
    assert about_tree == Predicate(3, 0.5)
    tree = common.hypothesis_.feature_map.tree
    assert tree is not None
    asked = {node.predicate for node in nodes_of(tree) if isinstance(node, Split)}
    assert asked <= set(common.hypotheses_.predicates)  # type: ignore[attr-defined]
    assert len(common.hypotheses_.predicates) == 3 * 4  # type: ignore[attr-defined]
    assert common.hypotheses_ == rare.hypotheses_
    declared = DecisionTrees(predicates=(Predicate(0, 0.3), Predicate(1, 0.4)))
    told = PrivateClassifier(4.0, trees=declared, entropy=0).fit(X, y, public=public)
    assert told.hypothesis_.feature_map.dense.predicates[:-1] == declared.predicates  # type: ignore[attr-defined]


@pytest.mark.parametrize("epsilon", [1.6, 2.9, 16.0, 80.0])
def test_with_public_rows_or_a_schema_a_tree_is_beside_it(epsilon: float) -> None:
    X, y = table(2_000)
    bounded = Schema(tuple(Column(name, bounds=(0, 1)) for name in "abc"))
    made = PrivateClassifier(epsilon, entropy=0).fit(dict(zip("abc", X.T, strict=True)), y, schema=bounded)
    assert isinstance(made.hypothesis_, LinearClassifier)
    assert made.hypothesis_.feature_map.tree is not None
    assert not any(each.is_empirical_bayes for each in parts_of(made.plan_.stage, LinearStage)), "rows are needed"
    assert made.guarantee_.within(epsilon, 1e-6)
    assert made.score(dict(zip("abc", X.T, strict=True)), y) > 0.9


@pytest.mark.parametrize("method", ["linear", "auto"])
def test_margins_decide_the_label(method: str) -> None:
    X, y = unclear(2_000)
    names = np.array(["no", "yes"])
    classifier = PrivateClassifier(2.9, method=method, entropy=0, classes=("no", "yes"))  # type: ignore[arg-type]
    classifier.fit(X, names[y], public=X[:200] + 1e-9)
    margins = classifier.decision_function(X)
    assert (names[(margins > 0).astype(int)] == classifier.predict(X)).all()


def test_a_linear_classifier_has_ferns_where_there_is_enough_to_learn() -> None:
    X, _ = table(8_000)
    fresh, _ = table(1_000, seed=2)
    truth = (fresh[:, 0] > 0.5) ^ (fresh[:, 1] > 0.5)
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    by_itself, together = (
        PrivateClassifier(epsilon, method="linear", entropy=0).fit(X, y, public=table(300, seed=1)[0])
        for epsilon in (2.0, 4.0)
    )
    assert isinstance(by_itself.plan_.stage, LinearStage)
    assert isinstance(together.plan_.stage, LinearStage)
    assert by_itself.plan_.stage.ferns == 0
    assert together.hypothesis_.feature_map.count > 0  # type: ignore[attr-defined]
    assert (by_itself.predict(fresh) == truth).mean() < 0.6, "no column says anything by itself"
    assert (together.predict(fresh) == truth).mean() > 0.85


def test_a_linear_classifier_has_probabilities() -> None:
    X, y = table(6_000)
    public, (fresh, truth) = table(300, seed=1)[0], table(1_000, seed=2)
    classifier = PrivateClassifier(4.0, method="linear", entropy=0).fit(X, y, public=public)
    chances = classifier.predict_proba(fresh)
    assert chances.shape == (1_000, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (classifier.classes_[chances.argmax(axis=1)] == classifier.predict(fresh)).mean() > 0.999
    assert chances[truth == 1, 1].mean() > chances[truth == 0, 1].mean() + 0.4
    several = PrivateClassifier(4.0, method="linear", entropy=0).fit(X, y + (X[:, 2] > 0.8), public=public)
    assert several.predict_proba(fresh).shape == several.decision_function(fresh).shape == (1_000, 3)
    assert (several.predict(X) == y + (X[:, 2] > 0.8)).mean() > 0.8


def test_a_linear_classifier_asks_more_than_trees_can_afford_unless_its_predicates_are_declared() -> None:
    X, y = table(500)
    public = np.column_stack([table(300, seed=1)[0], np.arange(300) % 50 == 0])
    X = np.column_stack([X, np.arange(500) % 50 == 0])
    made = PrivateClassifier(30.0, method="linear", entropy=0).fit(X, y, public=public).hypotheses_
    assert isinstance(made, DecisionTrees)
    assert len(made.predicates or ()) == 3 * 20 + 1, "a category of 2 %, which trees leave out"
    declared = DecisionTrees(predicates=(Predicate(0, 0.3), Predicate(1, 0.4)))
    told = PrivateClassifier(30.0, method="linear", trees=declared, entropy=0).fit(X, y, public=public)
    assert told.hypotheses_.predicates == declared.predicates  # type: ignore[attr-defined]


@pytest.mark.parametrize("told", ["schema", "nothing"])
def test_a_linear_classifier_without_public_rows(told: str) -> None:
    X, y = table(6_000)
    classifier = PrivateClassifier(6.0, method="linear", entropy=0)
    if told == "schema":
        bounded = Schema(tuple(Column(name, bounds=(0, 1)) for name in "abc"))
        classifier.fit(dict(zip("abc", X.T, strict=True)), y, schema=bounded)
    else:
        classifier.fit(X, y)
        assert isinstance(classifier.plan_.stage, Sequence)
        assert isinstance(classifier.plan_.stage.stages[0], PredicatesStage)
    (stage,) = parts_of(classifier.plan_.stage, LinearStage)
    assert stage.ferns > 0
    assert (classifier.predict(dict(zip("abc", X.T, strict=True)) if told == "schema" else X) == y).mean() > 0.9


@pytest.mark.parametrize("epsilon", [0.9, 6.0])
def test_rows_stand_in_where_a_schema_has_cuts(epsilon: float) -> None:
    X, y = unclear(6_000)
    frame = dict(zip("abc", X.T, strict=True))
    cuts = np.arange(0.1, 1.0, 0.1)
    schema = Schema(tuple(Column(name, cuts=cuts, shares=np.full(10, 0.1)) for name in "abc"))  # type: ignore[arg-type]
    classifier = PrivateClassifier(epsilon, method="linear", entropy=0).fit(frame, y, schema=schema)
    (stage,) = parts_of(classifier.plan_.stage, LinearStage)
    dense = classifier.hypothesis_.feature_map.dense  # type: ignore[attr-defined]
    assert dense.predicates == tuple(Predicate(place, cut) for place in range(3) for cut in schema.columns[0].cuts)
    assert dense.directions is None, "independent columns say nothing of two together"
    assert not stage.is_empirical_bayes
    assert (stage.ferns > 0) == (epsilon == 6.0)
    assert classifier.n_public_ is None
    assert not any("public points" in line for line in classifier.guarantee_.assumptions)
    assert (classifier.predict(frame) == y).mean() > 0.7


@pytest.mark.parametrize("classes", [2, 3])
def test_a_tree_has_probabilities(classes: int) -> None:
    X, y = table(2_500)
    y = y + (X[:, 2] > 0.8) * (classes - 2)
    fresh, _ = table(500, seed=2)
    classifier = PrivateClassifier(1.0, entropy=0).fit(X, y, public=table(300, seed=1)[0])
    assert isinstance(classifier.hypothesis_, DecisionTree)
    assert classifier.guarantee_.is_pure
    chances, scores = classifier.predict_proba(fresh), classifier.decision_function(fresh)
    assert chances.shape == (500, classes)
    assert (chances > 0.0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (classifier.classes_[chances.argmax(axis=1)] == classifier.predict(fresh)).all()
    np.testing.assert_array_equal(classifier.predict_log_proba(fresh), np.log(chances))
    if classes == 2:
        np.testing.assert_allclose(scores, np.log(chances[:, 1] / chances[:, 0]))
        assert ((scores > 0.0) == (classifier.predict(fresh) == 1)).all()
    else:
        np.testing.assert_array_equal(scores, np.log(chances))


def test_probabilities_of_a_tree_are_the_shares_of_its_leaves() -> None:
    """Noise of 40 records a count is nothing beside leaves of thousands, of which a tenth has another label."""
    X, y = table(50_000)
    y ^= np.random.default_rng(5).random(50_000) < 0.1
    shallow = DecisionTrees(depth=2, predicates=(Predicate(0, 0.3), Predicate(1, 0.4)))
    classifier = PrivateClassifier(1.0, 0.0, method="tree", trees=shallow, entropy=0).fit(X, y)
    found = classifier.predict_proba([[0.1, 0.5, 0.5], [0.9, 0.9, 0.5]])[:, 1]
    assert found.tolist() == pytest.approx([0.1, 0.9], abs=0.03)


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 1.1, 1.3, 4.0, 16.0])
def test_probabilities_do_not_depend_on_what_auto_chooses(epsilon: float) -> None:
    X, y = unclear(2_500)
    classifier = PrivateClassifier(epsilon, entropy=0).fit(X, y, public=table(300, seed=1)[0])
    chances = classifier.predict_proba(X)
    assert classifier.predict_log_proba(X) == pytest.approx(np.log(chances))
    assert (classifier.classes_[chances.argmax(axis=1)] == classifier.predict(X)).all()
    assert ((classifier.decision_function(X) > 0.0) == (chances[:, 1] > 0.5)).all()


@pytest.mark.parametrize(("epsilon", "method"), [(0.9, "tree"), (4.0, "linear"), (100.0, "linear")])
def test_three_classes_make_a_tree_or_a_linear_classifier(epsilon: float, method: str) -> None:
    X, y = table(3_000)
    y = y + (X[:, 2] > 0.8)
    classifier = PrivateClassifier(epsilon, entropy=0).fit(X, y, public=X[:100] + 1e-9)
    assert classifier.method_ == method
    assert set(classifier.classes_) == {0, 1, 2}
    assert (classifier.predict(X) == y).mean() > 0.7
    assert classifier.guarantee_.within(epsilon, 1e-6)
    if method == "linear":
        margins = classifier.decision_function(X)
        assert margins.shape == (3_000, 3)
        assert (margins.argmax(axis=1) == classifier.predict(X)).all()


@pytest.mark.filterwarnings("ignore::pcqr.errors.PublicRowsCoincide")  # two columns, cut off at public bounds
def test_frames_with_categories() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"age": rng.integers(18, 90, 3_000), "sex": rng.choice(["f", "m"], 3_000)})
    y = ((frame["age"] > 50) ^ (frame["sex"] == "f")).astype(int).to_numpy()
    public = pandas.DataFrame({"age": rng.integers(18, 90, 200) + 0.5, "sex": rng.choice(["f", "m"], 200)})
    classifier = PrivateClassifier(20.0, method="linear", entropy=0).fit(frame, y, public=public)
    assert isinstance(classifier.schema_, Schema)
    assert (classifier.predict(frame) == y).mean() > 0.9


def test_what_is_wrong_is_said_before_any_noise_is_drawn() -> None:
    X, y = table(100)
    with pytest.raises(ParameterError, match="method"):
        PrivateClassifier(1.0, method="forest", entropy=Forbidden()).fit(X, y, public=X + 1.0)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="public"):
        PrivateClassifier(1.0, entropy=Forbidden()).fit(X, y, public=X)
    with pytest.raises(ParameterError, match="epsilon"):
        PrivateClassifier(0.0, entropy=Forbidden()).fit(X, y, public=X + 1.0)


@pytest.mark.parametrize(("method", "classes"), [("auto", 2), ("tree", 3), ("linear", 2)])
def test_where_nothing_can_be_learned_fit_and_plan_say_so_before_anything_is_drawn(method: Any, classes: int) -> None:
    names, public = tuple(range(classes)), table(300, seed=1)[0]
    made = PrivateClassifier(0.1, method=method, classes=names)
    predicates = getattr(made.dry_run(600, public).hypotheses, "predicates", None)
    enough = math.ceil(least_n_epsilon(len(predicates or ()), classes) / 0.1)
    assert made.dry_run(enough, public).shortfall is None
    made.plan(enough, public=public)  # warnings are errors

    X, y = table(enough - 1)
    told = f"and {classes} classes: expect no more than the most common label. Take n ≥ {enough} at this ε"
    with pytest.raises(NothingLearned, match=told):
        PrivateClassifier(0.1, method=method, classes=names, entropy=Forbidden()).fit(X, y, public=public)
    with pytest.warns(NothingLearned) as caught:
        made.plan(enough - 1, public=public)
    assert caught[0].filename == __file__
    assert str(caught[0].message) == made.dry_run(enough - 1, public).shortfall


def test_dense_features_count_as_many_as_their_directions() -> None:
    public = np.random.default_rng(0).normal(size=(400, 120))
    classifier = PrivateClassifier(0.1)
    size = classifier.dry_run(600, public).maps["dense"].size
    enough = math.ceil(least_n_epsilon(size, 2) / 0.1)
    assert classifier.dry_run(enough, public).shortfall is None
    assert f"{size} predicates" in str(classifier.dry_run(enough - 1, public).shortfall)
