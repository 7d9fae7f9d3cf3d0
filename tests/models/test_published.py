"""Published models: what they hold, how they predict, what they are saved as."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score
from sklearn.utils.validation import check_is_fitted
from support.published import (
    GUARANTEE,
    LABELS,
    MODEL,
    PEOPLE,
    SCHEMA,
    TREE,
)

from pcqr import AgnosticRelease, AssumePublic, DataError, ParameterError, SemiPrivateLearner, UniversalRelease
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import DecisionTree, DecisionTrees, Thresholds
from pcqr.models import PublishedModel


class TestPredicting:
    def test_tables_with_named_columns_in_any_order(self) -> None:
        frame = pd.DataFrame(PEOPLE)
        for table in (PEOPLE, frame, frame[["work", "age", "gain"]], pa.table(PEOPLE)):
            assert MODEL.predict(table).tolist() == LABELS

    def test_an_array_is_a_table_that_is_encoded_already(self) -> None:
        assert MODEL.predict(SCHEMA.encode(PEOPLE)).tolist() == LABELS

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ({"age": [1], "gain": [1]}, "without 'work'"),
            (PEOPLE | {"income": [1, 2, 3, 4]}, "also 'income'"),
            (PEOPLE | {"gain": [1, 2, 3, math.inf]}, "column 'gain' of X must be finite numbers"),
            (PEOPLE | {"gain": ["much"] * 4}, "column 'gain' of X must be numbers"),
            (np.zeros((2, 3)), "a table with 7 column"),
            (np.full((2, 7), np.nan), "finite numbers"),
            ([1.0, 2.0], "two dimensions"),
        ],
    )
    def test_what_it_refuses(self, table: Any, message: str) -> None:
        with pytest.raises((DataError, ParameterError), match=message):
            MODEL.predict(table)

    def test_an_unseen_category_is_an_error_unless_the_column_has_other(self) -> None:
        assert MODEL.predict({"age": [20], "work": ["Army"], "gain": [0]}).tolist() == ["low"]
        strict = Schema((Column("work", "categorical", ("Private",)),))
        model = PublishedModel(DecisionTree(Split(Predicate(0, 0.5), Leaf(0), Leaf(1)), 2), (0, 1), strict, GUARANTEE)
        with pytest.raises(DataError, match="declared categories"):
            model.predict({"work": ["Army"]})

    def test_it_is_a_fitted_classifier_for_scikit_learn(self) -> None:
        frame = pd.DataFrame(PEOPLE)
        check_is_fitted(MODEL)
        assert is_classifier(MODEL)
        assert clone(MODEL) is MODEL
        assert MODEL.fit(frame, LABELS) is MODEL
        assert MODEL.classes_.tolist() == ["low", "middle", "high"]
        assert MODEL.feature_names_in_.tolist() == list(SCHEMA.names)
        assert MODEL.n_features_in_ == 3
        assert MODEL.score(frame, LABELS) == 1.0
        assert FrozenEstimator(MODEL).predict(frame).tolist() == LABELS
        assert cross_val_score(MODEL, pd.concat([frame] * 5), LABELS * 5, cv=2).tolist() == [1.0, 1.0]
        assert permutation_importance(MODEL, frame, LABELS, n_repeats=2, random_state=0).importances.shape == (3, 2)


class TestConstructing:
    @pytest.mark.parametrize(
        "classes",
        [
            *((), ("a",), ("a", "a"), ("a", 1), (1, True), (0.0, math.nan), (0, 2**63), ([],)),
            *(("a", ""), ("a", " "), ("a", "\u00a0"), ("a", "\ud800"), ("a", None), None, "ab", 2),
        ],
    )
    def test_label_names(self, classes: Any) -> None:
        with pytest.raises(ParameterError, match="classes"):
            PublishedModel(TREE, classes, SCHEMA, GUARANTEE)


class TestFromLearner:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(800, 2))
    y = (X[:, 0] > 0).astype(int)

    def test_a_tree_from_public_rows(self) -> None:
        learner = SemiPrivateLearner(DecisionTrees(depth=2), 2.0, entropy=1).fit(
            self.X, self.y, public=self.X[:50] + 0.01
        )
        model = PublishedModel.from_learner(learner)
        assert model.hypothesis == learner.hypothesis_, "kept as it was drawn"
        assert model.predict(self.X).tolist() == learner.predict(self.X).tolist()
        assert model.schema.names == ("x0", "x1")
        assert model.guarantee == learner.guarantee_
        assert not model.guarantee.is_private
        origin = model.provenance
        assert (origin.records, origin.public_rows) == (800, 50)
        assert origin.hypotheses.startswith("decision trees of depth 2 over ")
        assert origin.numerical_slack is not None
        assert origin.inverse_temperature is not None
        assert 0 < origin.numerical_slack < 1e-6
        assert 2 * origin.inverse_temperature + origin.numerical_slack == pytest.approx(model.guarantee.epsilon)
        assert PublishedModel.from_json(model.to_json()) == model

    def test_a_mixed_frame_brings_its_schema(self) -> None:
        colour = np.where(self.generator.random(800) < 0.5, "red", "blue")
        frame = pd.DataFrame({"x": self.X[:, 0], "colour": colour})
        names = np.array(["no", "yes"])
        y = names[(colour == "red").astype(int)]
        learner = SemiPrivateLearner(DecisionTrees(depth=1), 2.0, entropy=1, classes=("no", "yes"))
        model = PublishedModel.from_learner(learner.fit(frame, y, public=AssumePublic(frame[:50])))
        assert model.predict(frame).tolist() == y.tolist()
        assert "if colour = " in model.rules()

    def test_a_universal_release_that_has_published(self) -> None:
        release = UniversalRelease(Thresholds(), epsilon=8.0, queries=4, entropy=1).fit(self.X[:, :1], self.y)
        with pytest.raises(AttributeError, match="published"):
            PublishedModel.from_learner(release)
        release.predict(self.X[:20, :1])
        model = PublishedModel.from_learner(release)
        assert model.provenance.records == 800
        assert model.provenance.public_rows is None, "the class was made of past queries"
        assert model.provenance.numerical_slack is not None
        assert 0 < model.provenance.numerical_slack < 1e-6
        assert "Numerical slack" in model.card()
        assert model.predict(self.X[:, :1]).tolist() == release.hypothesis_.predict(self.X[:, :1]).tolist()

    def test_a_release_that_only_votes_has_nothing_to_publish(self) -> None:
        release = AgnosticRelease(Thresholds(), epsilon=8.0, queries=4, entropy=1).fit(self.X[:, :1], self.y)
        with pytest.raises(ParameterError, match="learner must be a PrivateClassifier, a SemiPrivateLearner"):
            PublishedModel.from_learner(release)

    def test_nothing_private_is_kept(self) -> None:
        """Two tables that lead to the same tree lead to the same model, to the last byte."""
        other = self.y.copy()
        other[0] = 1 - other[0]
        texts = set()
        for y in (self.y, other):
            learner = SemiPrivateLearner(DecisionTrees(depth=1), 50.0, entropy=1).fit(
                self.X, y, public=self.X[:50] + 0.01
            )
            texts.add(PublishedModel.from_learner(learner).to_json())
        assert len(texts) == 1


class TestSaving:
    def test_a_directory_that_can_be_carried_away(self, tmp_path: Path) -> None:
        saved = MODEL.save(tmp_path / "new" / "model")
        written = saved.written
        assert saved.left_out == {}
        assert [path.name for path in written] == ["model.json", "rules.txt", "card.md", "picture.svg", "model.onnx"]
        assert PublishedModel.load(tmp_path / "new" / "model") == MODEL
        assert PublishedModel.load(written[0]) == MODEL
        rules = written[1].read_text(encoding="utf-8")
        assert MODEL.rules() in rules
        assert rules.endswith("\n\nA missing age counts as 17.\n")
        assert written[2].read_text(encoding="utf-8") == MODEL.card()
        assert written[3].read_text(encoding="utf-8").startswith("<?xml")

    @pytest.mark.parametrize(("method", "left_out"), [("draw", "picture.svg"), ("to_onnx", "model.onnx")])
    def test_a_file_that_cannot_be_made_is_left_out_and_the_rest_is_there(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, left_out: str
    ) -> None:
        def half(_: PublishedModel, path: Path) -> None:
            path.write_text("half")
            raise RuntimeError("no fonts")

        monkeypatch.setattr(PublishedModel, method, half)
        saved = MODEL.save(tmp_path)
        assert saved.failed == {left_out: "RuntimeError: no fonts"}
        assert saved.left_out == {}
        assert {path.name for path in tmp_path.iterdir()} == {path.name for path in saved.written}
        assert len(saved.written) == 4
