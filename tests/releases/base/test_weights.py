"""`class_weight` and `sample_weight` of `PrivateClassifier`: what is read, refused, planned and said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import cross_validate

from pcqr import AssumePublic, Groups, PrivateClassifier, Schema
from pcqr.data.records import ParquetTable
from pcqr.data.schema import Column
from pcqr.errors import DataError, NoGpu, ParameterError
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.trees import Predicate
from pcqr.privacy.accounting import ShapingEvent
from pcqr.privacy.composition import parts_of
from pcqr.releases.base.contributions import declared_weights, row_shares
from pcqr.releases.classifier.plan import ClassCountsStage, LinearStage
from pcqr.releases.classifier.rule import CLASS_COUNTS_SHARE, TREE_SHARE, trees_for
from pcqr.releases.protocol.stages import DrawStage

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(3_000, 2))
Y = (X[:, 0] + GENERATOR.normal(size=3_000) > 2.7).astype(int)
"""Of 100 records some 3 have label 1."""
PUBLIC = GENERATOR.normal(size=(300, 2))
FAR = np.array([[3.5, 0.0], [-1.0, 0.0]])
COMMON: dict[str, Any] = {"entropy": 0, "classes": (0, 1)}
KINDS: tuple[dict[str, Any], ...] = (
    {"method": "tree", "trees": DecisionTrees(depth=1)},
    {"method": "linear"},
    {"epsilon": 2.0, "trees": DecisionTrees(depth=1)},
    {"epsilon": 4.0, "method": "linear"},
    {"method": "linear", "features": "dense"},
)


def made(**given: Any) -> PrivateClassifier:
    return PrivateClassifier(**(COMMON | given))


def outcome(fitted: PrivateClassifier) -> Any:
    return fitted.hypothesis_.to_json()


def told_alike(fitted: PrivateClassifier) -> Any:
    return fitted.predict(PUBLIC).tolist()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_balanced_buys_counts_first_and_shows_the_weights(kind: dict[str, Any]) -> None:
    classifier = made(**kind, class_weight="balanced").fit(X, Y, public=PUBLIC)
    (counts,) = parts_of(classifier.plan_.stage, ClassCountsStage)
    assert counts.epsilon == pytest.approx(CLASS_COUNTS_SHARE * classifier.epsilon)
    assert classifier.guarantee_.within(classifier.epsilon, classifier.delta)
    weights = classifier.class_weight_
    assert weights[1] == 1.0
    assert 1 / 64 <= weights[0] < 0.2
    (step,) = (step for step in classifier.guarantee_.steps if "records count by their label" in step)
    assert f"by noisy counts of the labels, in 64ths of a record: 0 {int(64 * weights[0])}, 1 64." in step
    assert "are about weighted records" in step
    assert type(classifier.plan_).from_json(classifier.plan_.to_json()) == classifier.plan_
    planned = made(**kind, class_weight="balanced").plan(3_000, public=PUBLIC)
    assert planned.stage == classifier.plan_.stage
    assert classifier.predict(FAR).tolist() == [1, 0]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_declared_weights_cost_nothing_and_change_no_event(kind: dict[str, Any]) -> None:
    plain = made(**kind).fit(X, Y, public=PUBLIC)
    classifier = made(**kind, class_weight={0: 2, 1: 50.0}).fit(X, Y, public=PUBLIC)
    assert classifier.plan_.stage == plain.plan_.stage
    assert classifier.guarantee_.epsilon == plain.guarantee_.epsilon
    assert classifier.class_weight_ == {0: 3 / 64, 1: 1.0}
    assert "as declared, in 64ths of a record: 0 3, 1 64" in classifier.guarantee_.steps[-1]
    assert plain.class_weight_ == {0: 1.0, 1: 1.0}
    assert not any("weighted" in step for step in plain.guarantee_.steps)
    assert classifier.predict(FAR).tolist() == [1, 0]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_equal_weights_change_nothing_to_the_last_bit(kind: dict[str, Any]) -> None:
    plain = made(**kind).fit(X, Y, public=PUBLIC)
    shown = told_alike if kind.get("method") == "tree" else outcome  # noise at its leaves is on a finer grid
    alike = made(**kind, class_weight={0: 7, 1: 7}).fit(X, Y, public=PUBLIC)
    assert shown(alike) == shown(plain)
    if not any(part.is_empirical_bayes for part in parts_of(plain.plan_.stage, LinearStage)):
        full = made(**kind, weight_bound=2.0).fit(X, Y, public=PUBLIC, sample_weight=np.full(3_000, 9.0))
        assert shown(full) == shown(plain)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_rows_of_weight_0_do_not_speak(kind: dict[str, Any]) -> None:
    """Records of the other label are there, and say nothing."""
    wrong, weights = Y.copy(), np.ones(3_000)
    hidden = np.arange(3_000) % 3 == 0
    wrong[hidden], weights[hidden] = 1 - wrong[hidden], 0.0
    fitted = [made(**kind).fit(X, y, public=PUBLIC, sample_weight=weights) for y in (Y, wrong)]
    assert outcome(fitted[0]) == outcome(fitted[1])
    assert fitted[0].n_records_ == 3_000


def test_rows_with_weights_have_steps_and_no_empirical_bayes() -> None:
    """Of private weights not even the mean is known: the plan depends on whether there are any, which is public."""
    classifier = made(method="linear")
    (plain,) = parts_of(classifier.fit(X, Y, public=PUBLIC).plan_.stage, LinearStage)
    (stage,) = parts_of(classifier.fit(X, Y, public=PUBLIC, sample_weight=Y + 0.5).plan_.stage, LinearStage)
    assert plain.is_empirical_bayes
    assert not stage.is_empirical_bayes
    again = classifier.fit(X, Y, public=PUBLIC, sample_weight=np.ones(3_000)).plan_.stage
    assert again == stage == classifier.dry_run(3_000, PUBLIC, weights=True).plan.stage


def test_weights_are_cut_at_the_bound_and_divided_by_it() -> None:
    assert row_shares([0, 1, 3, 1e300, np.inf], 3.0).tolist() == [0.0, 1 / 3, 1.0, 1.0, 1.0]  # type: ignore[union-attr]
    for weights in (pd.Series([1, 2]), [1.0, 2.0], np.array([1, 2], dtype=np.int8), (1, 2)):
        assert row_shares(weights, 2.0).tolist() == [0.5, 1.0]  # type: ignore[union-attr]
    assert row_shares(None, 1.0) is None


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([-1.0] + [1.0] * 2_999, "numbers ≥ 0"),
        ([np.nan] + [1.0] * 2_999, "numbers ≥ 0"),
        (np.zeros(3_000), "at least one of them above 0"),
        (np.ones(2_999), "as long as X"),
        (np.ones((3_000, 1)), "one number for each row"),
        (["heavy"] * 3_000, "one number for each row"),
    ],
)
def test_weights_that_are_none_are_refused_without_a_word_of_them(weights: Any, told: str) -> None:
    for groups in (None, np.arange(3_000) // 2):
        with pytest.raises(DataError, match=told) as error:
            made(method="tree").fit(X, Y, public=PUBLIC, sample_weight=weights, groups=groups)
        assert "received" in str(error.value)
        assert not any(word in str(error.value) for word in ("-1", "nan", "heavy", "2,999", "3,000", "2999", "3000"))


@pytest.mark.parametrize("given", ["even", {}, {0: -1.0}, {0: "x"}, 3])
def test_a_plan_refuses_class_weights_that_are_none(given: Any) -> None:
    with pytest.raises(ParameterError, match="class_weight"):
        made(method="tree", class_weight=given).plan(3_000, public=PUBLIC)


@pytest.mark.parametrize("given", ["even", {}, {0: 0.0}, {0: -1.0}, {0: "x"}, 3, {0: np.inf}, {2: 1.0}, {"a": 1.0}])
def test_class_weights_that_are_none_are_refused(given: Any) -> None:
    with pytest.raises(ParameterError, match="class_weight"):
        made(method="tree", class_weight=given).fit(X, Y, public=PUBLIC)
    with pytest.raises(ParameterError, match="weight_bound"):
        made(method="tree", weight_bound=0.0).fit(X, Y, public=PUBLIC)


def test_labels_of_a_mapping_are_compared_by_what_they_mean() -> None:
    assert declared_weights({"1": 4, 0.0: 1}, [0, 1]) == (16, 64)
    assert declared_weights({"yes": 10}, ["no", "yes"]) == (6, 64)
    assert declared_weights({True: 2}, [False, True]) == (32, 64)
    assert declared_weights({"b": 0.001}, ["a", "b", "c"]) == (64, 1, 64)
    assert declared_weights("balanced", [0, 1]) is None


def test_several_labels_have_weights() -> None:
    y = np.where(Y == 1, "rare", np.where(X[:, 1] > 0.0, "up", "down"))
    labels = ("up", "down", "rare")
    trees = DecisionTrees(depth=2)
    classifier = made(method="tree", trees=trees, classes=labels, class_weight="balanced", epsilon=4.0)
    classifier = classifier.fit(X, y, public=PUBLIC)
    (counts,) = parts_of(classifier.plan_.stage, ClassCountsStage)
    assert counts.classes == 3
    assert classifier.class_weight_["rare"] == 1.0
    assert classifier.class_weight_["up"] == pytest.approx(classifier.class_weight_["down"], abs=0.05)
    assert classifier.predict([[3.5, 1.0], [-1.0, 1.0], [-1.0, -1.0]]).tolist() == ["rare", "up", "down"]


def test_persons_with_weights() -> None:
    """One row each: what records with weights give, bit for bit. More rows: the plan counts persons."""
    weights = GENERATOR.random(3_000)
    for kind in ({"method": "tree", "trees": DecisionTrees(depth=1)}, {"method": "linear"}):
        classifier = made(**kind, class_weight={1: 30, 0: 1})
        by_itself = classifier.fit(X, Y, public=PUBLIC, sample_weight=weights)
        told = outcome(by_itself)
        assert outcome(classifier.fit(X, Y, public=PUBLIC, sample_weight=weights, groups=np.arange(3_000))) == told
    classifier = made(method="tree", trees=DecisionTrees(depth=1), class_weight="balanced")
    fitted = classifier.fit(X, Y, public=PUBLIC, sample_weight=weights, groups=Groups(np.arange(3_000) // 2, rows=2))
    assert fitted.n_records_ == 1_500
    assert fitted.guarantee_.adjacency == "replace one person, with all rows"
    assert fitted.class_weight_[1] == 1.0


def test_frames_and_routing() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y"), "w": Y + 0.5})
    public = pd.DataFrame({"a": PUBLIC[:, 0], "b": ["x", "y"] * 150})
    classifier = made(method="tree", trees=DecisionTrees(depth=1), weight_bound=1.5)
    fitted = classifier.fit(frame[["a", "b"]], Y, public=AssumePublic(public), sample_weight=frame["w"])
    again = classifier.fit(frame[["a", "b"]], Y, public=AssumePublic(public), sample_weight=list(frame["w"]))
    assert outcome(fitted) == outcome(again)
    with config_context(enable_metadata_routing=True):
        routed = made(method="tree", trees=DecisionTrees(depth=1, predicates=(Predicate(0, 2.0),)), weight_bound=1.5)
        routed = routed.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        weights = {"sample_weight": Y + 0.5}
        found = cross_validate(routed, X, Y, cv=2, params=weights, return_estimator=True, return_indices=True)
    half = made(method="tree", trees=DecisionTrees(depth=1, predicates=(Predicate(0, 2.0),)), weight_bound=1.5)
    for estimator, rows in zip(found["estimator"], found["indices"]["train"], strict=True):
        assert outcome(estimator) == outcome(half.fit(X[rows], Y[rows], sample_weight=Y[rows] + 0.5))


@pytest.mark.parametrize("given", [{"class_weight": "balanced"}, {"class_weight": {0: 1, 1: 9}}, {"weighted": True}])
def test_tables_in_parts_are_refused_before_they_are_read(given: dict[str, Any], tmp_path: Any) -> None:
    frame = pd.DataFrame({"a": X[:, 0], "label": Y})
    frame.to_parquet(tmp_path / "part.parquet")
    schema = Schema((Column("a", bounds=(-4.0, 4.0)),))
    weights = np.ones(3_000) if given.pop("weighted", False) else None
    with pytest.raises(DataError, match="read it into memory"):
        made(method="tree", **given).fit(
            ParquetTable(tmp_path / "part.parquet", label="label", schema=schema), sample_weight=weights
        )


@pytest.mark.parametrize("given", [{"class_weight": "balanced"}, {"class_weight": {1: 3}}, {"weighted": True}])
def test_more_rows_than_weights_can_be_added_up_for_are_refused_at_no_cost(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.ones(3_000) if given.pop("weighted", False) else None
    monkeypatch.setattr("pcqr.data.records.user_level.MOST_WEIGHTED", 2_999)
    classifier = made(method="tree", **given)
    with pytest.raises(DataError, match="at most 2,999 rows with weights"):
        classifier.fit(X, Y, public=PUBLIC, sample_weight=weights)
    assert classifier.has_spent is False


@pytest.mark.parametrize("given", [{"class_weight": "balanced"}, {"class_weight": {1: 3}}, {"weighted": True}])
def test_weights_are_added_up_on_the_cpu(given: dict[str, Any]) -> None:
    weights = np.ones(3_000) if given.pop("weighted", False) else None
    with pytest.warns(NoGpu, match="weights are added up"):
        made(method="tree", trees=DecisionTrees(depth=1), device="cuda", **given).fit(
            X, Y, public=PUBLIC, sample_weight=weights
        )


def test_the_draw_after_counts_is_accounted_as_one_that_depends_on_them() -> None:
    plan = made(epsilon=2.0, class_weight="balanced").plan(3_000, public=PUBLIC)
    counts, draw, *_ = plan.stage.within()
    assert isinstance(counts, ClassCountsStage)
    assert isinstance(counts.event(None), ShapingEvent)  # type: ignore[arg-type]
    assert isinstance(draw, DrawStage)


def is_linear(records: int, public: Any = PUBLIC, *, weights: bool = False, **given: Any) -> bool:
    """Is a linear classifier planned, and is the tree of a kind for what ε it has?"""
    found = made(**({"class_weight": "balanced"} | given)).dry_run(records, public, weights=weights)
    linears = parts_of(found.plan.stage, LinearStage)
    assert len(parts_of(found.plan.stage, DrawStage)) == 1
    assert isinstance(found.hypotheses, DecisionTrees)
    assert "trees" in given or found.hypotheses.stop == trees_for(records, TREE_SHARE if linears else 1.0).stop
    assert all(stage.is_empirical_bayes for stage in linears)
    return bool(linears)


def test_auto_publishes_a_linear_classifier_earlier_where_labels_are_held_alike() -> None:
    assert [is_linear(n) for n in (1_999, 2_000, 3_000)] == [False, True, True]
    assert not is_linear(2_900, class_weight={1: 30.0})
    assert not is_linear(2_900, class_weight=None)
    assert not is_linear(2_900, weights=True)
    assert not is_linear(2_900, classes=(0, 1, 2))
    fitted = made(epsilon=0.7, class_weight="balanced").fit(X, Y, public=PUBLIC)
    assert fitted.method_ == "linear"
    assert fitted.predict(FAR).tolist() == [1, 0]


def test_it_does_so_from_four_public_rows_for_each_coordinate_on() -> None:
    declared = DecisionTrees(depth=1, predicates=tuple(Predicate(0, cut) for cut in (-1.0, 0.0, 1.0)))
    assert [is_linear(2_500, PUBLIC[:rows], trees=declared) for rows in (19, 20)] == [False, True]


def test_classes_that_only_the_labels_tell_decide_before_anything_is_planned() -> None:
    labels = np.arange(3_000) % 3
    fitted = PrivateClassifier(0.9, class_weight="balanced", entropy=0).fit(X, labels, public=PUBLIC)
    assert (fitted.method_, fitted.classes_.tolist()) == ("tree", [0, 1, 2])
