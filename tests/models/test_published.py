"""Published models: what they hold, how they predict, what comes back from JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastjsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score
from sklearn.utils.validation import check_is_fitted

import pcqr.models
from pcqr import (
    AgnosticRelease,
    DataError,
    Guarantee,
    ParameterError,
    SemiPrivateLearner,
    SurelyPublic,
    UniversalRelease,
)
from pcqr.hypotheses import DecisionTree, DecisionTrees, Stumps, Thresholds
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.intervals import Interval
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.trees.tree import Leaf, Split
from pcqr.models import Provenance, PublishedModel
from pcqr.records.predicates import Predicate
from pcqr.schema import Column, Schema
from pcqr.unit import RECORD, Unit

SCHEMA = Schema(
    (
        Column("age", bounds=(17, 90), missing=True),
        Column("work", "categorical", ("Private", "State"), other=True),
        Column("gain"),
    )
)
AGE, GAP, PRIVATE, STATE, OTHER, NO_WORK, GAIN = range(7)
GUARANTEE = Guarantee(0.5, proof="sspp", assumptions=("the public points are known to all",))
TREE = DecisionTree(
    Split(
        Predicate(PRIVATE, 0.5),
        fails=Split(Predicate(AGE, 0.1 + 0.2 + 30), Leaf(0), Leaf(2)),
        holds=Split(Predicate(GAIN, 5119.0), Leaf(0), Leaf(1)),
    ),
    len(SCHEMA.features),
)
MODEL = PublishedModel(
    TREE,
    ("low", "middle", "high"),
    SCHEMA,
    GUARANTEE,
    Provenance("decision trees of depth 2", 1000, 50, (Predicate(AGE, 1 / 3),), 0.25, 1e-10, (("pcqr", "0.1.0"),)),
)
PEOPLE: dict[str, list[Any]] = {
    "gain": [6000, 0, 5119, 0],
    "work": ["Private", "State", "Private", None],
    "age": [40, 80, 20, None],
}
LABELS = ["middle", "high", "low", "low"]


def changed(change: dict[str, Any] | None = None, **inside: Any) -> str:
    """The JSON of MODEL with top-level keys replaced, and keys inside the objects named by `inside`."""
    document = json.loads(MODEL.to_json()) | (change or {})
    for name, values in inside.items():
        document[name] = document[name] | values
    return json.dumps(document)


def changed_stump(**values: Any) -> str:
    stump = PublishedModel(Stump(GAIN, math.inf, True, 7), ("no", "yes"), SCHEMA, GUARANTEE)
    document = json.loads(stump.to_json())
    return json.dumps(document | {"hypothesis": document["hypothesis"] | values})


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "golden").glob("*.json")), ids=lambda path: path.stem)
def test_files_that_an_earlier_version_wrote_are_read_and_written_byte_for_byte(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    model = PublishedModel.from_json(text)
    assert model.guarantee.unit == RECORD
    assert model.to_json() == text


def test_a_file_says_nothing_of_persons_yet() -> None:
    model = replace(MODEL, guarantee=Guarantee(0.5, unit=Unit.person(3)))
    assert "Replace the rows (at most 3) of any one person among the 1,000 private records by any other" in model.card()
    assert "Adjacency: replace one person, who has at most 3 rows." in model.card()
    with pytest.raises(ParameterError, match=r"guarantee\.unit must be RECORD in a model file of version 3"):
        model.to_json()


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

    def test_it_cannot_be_changed(self) -> None:
        with pytest.raises(AttributeError):
            MODEL.classes = ("a", "b")  # type: ignore[misc]


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

    def test_label_names_of_numpy_become_plain(self, tmp_path: Path) -> None:
        model = PublishedModel(Threshold(0.1), np.array([3, 5]), Schema((Column("x"),)), GUARANTEE)
        assert [type(name) for name in model.classes] == [int, int]
        assert "model.onnx" in [path.name for path in model.save(tmp_path).written]

    @pytest.mark.parametrize(
        "hypothesis",
        [
            DecisionTree(Leaf(0), 3),
            DecisionTree(Leaf(5), 7),
            Stump(7, np.inf, True, 8),
            Interval(0.0, 1.0),
        ],
    )
    def test_hypotheses_that_the_words_do_not_fit(self, hypothesis: Hypothesis) -> None:
        with pytest.raises(ParameterError, match="hypothesis"):
            PublishedModel(hypothesis, ("a", "b"), SCHEMA, GUARANTEE)


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

    def test_columns_of_a_frame_keep_their_names(self) -> None:
        frame = pd.DataFrame(self.X, columns=["height", "weight"])
        learner = SemiPrivateLearner(DecisionTrees(depth=1), 2.0, entropy=1).fit(
            frame, self.y, public=SurelyPublic(frame[:50])
        )
        model = PublishedModel.from_learner(learner)
        assert model.predict(frame[["weight", "height"]]).tolist() == learner.predict(frame).tolist()

    def test_a_mixed_frame_brings_its_schema(self) -> None:
        colour = np.where(self.generator.random(800) < 0.5, "red", "blue")
        frame = pd.DataFrame({"x": self.X[:, 0], "colour": colour})
        names = np.array(["no", "yes"])
        y = names[(colour == "red").astype(int)]
        learner = SemiPrivateLearner(DecisionTrees(depth=1), 2.0, entropy=1, classes=("no", "yes"))
        model = PublishedModel.from_learner(learner.fit(frame, y, public=SurelyPublic(frame[:50])))
        assert model.predict(frame).tolist() == y.tolist()
        assert "if colour = " in model.rules()

    def test_words_for_a_learner_that_had_an_encoded_table(self) -> None:
        schema = Schema((Column("height"), Column("weight")))
        learner = SemiPrivateLearner(Stumps(), 2.0, entropy=1).fit(self.X, self.y, public=self.X[:50] + 0.01)
        model = PublishedModel.from_learner(learner, schema=schema, classes=("short", "tall"))
        assert model.predict(self.X).tolist() == [("short", "tall")[label] for label in learner.predict(self.X)]
        assert "height" in model.rules()

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

    def test_a_declared_class_has_no_public_rows(self) -> None:
        learner = SemiPrivateLearner(Stumps(cuts=(0.0, 1.0)), 2.0, entropy=1).fit(self.X, self.y)
        assert PublishedModel.from_learner(learner).provenance.public_rows == 0

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


def nodes(depth: int, features: int, labels: int) -> st.SearchStrategy[Leaf | Split]:
    leaves = st.builds(Leaf, st.integers(0, labels - 1))
    cuts = st.floats(allow_nan=False, allow_infinity=False)
    asked = st.builds(Predicate, st.integers(0, features - 1), cuts)
    return (
        leaves
        if depth == 0
        else leaves
        | st.deferred(
            lambda: st.builds(Split, asked, nodes(depth - 1, features, labels), nodes(depth - 1, features, labels))
        )
    )


hypotheses = st.builds(DecisionTree, nodes(4, 7, 2), st.just(7)) | st.builds(
    Stump, st.integers(0, 6), st.floats(allow_nan=False), st.booleans(), st.just(7)
)
epsilons = st.floats(0, 1e6)


class TestJson:
    validate = staticmethod(
        fastjsonschema.compile(
            json.loads((Path(pcqr.models.__file__).parent / "pcqr-model-1.schema.json").read_text(encoding="utf-8"))
        )
    )

    @settings(max_examples=60, deadline=None)
    @given(hypotheses, epsilons, st.lists(st.text().filter(str.strip), min_size=2, max_size=2, unique=True))
    def test_what_is_written_comes_back_exactly(self, hypothesis: Hypothesis, epsilon: float, names: list[str]) -> None:
        model = PublishedModel(
            hypothesis, tuple(names), SCHEMA, Guarantee(epsilon), Provenance(numerical_slack=epsilon)
        )
        text = model.to_json()
        assert PublishedModel.from_json(text) == model
        assert PublishedModel.from_json(text).to_json() == text
        self.validate(json.loads(text))

    @pytest.mark.parametrize(
        "classes",
        [(0, 1), (0.5, 1.5), (False, True), ("0", "1"), ("é", "\n\ud83d".encode("utf-8", "replace").decode())],
    )
    def test_label_names_keep_their_type(self, classes: Any) -> None:
        model = PublishedModel(Threshold(0.1), classes, Schema((Column("x"),)), GUARANTEE)
        back = PublishedModel.from_json(model.to_json())
        assert back == model
        assert [type(name) for name in back.classes] == [type(name) for name in classes]
        self.validate(json.loads(model.to_json()))

    def test_the_layout_is_stable(self) -> None:
        document = json.loads(MODEL.to_json())
        assert document["format"] == "pcqr-model"
        assert document["version"] == 1
        assert document["kind"] == "decision-tree"
        assert document["hypothesis"]["feature"] == "work=Private"
        assert document["hypothesis"]["above"] == 0.5
        assert document["hypothesis"]["then"] == {
            "feature": "gain",
            "above": 5119.0,
            "then": {"label": "middle"},
            "else": {"label": "low"},
        }
        assert set(document["guarantee"]) == {
            *("epsilon", "delta", "proof", "assumptions", "is_private", "adjacency", "steps")
        }

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "a JSON document"),
            ("[]", '"format": "pcqr-model"'),
            ('{"format": "other"}', '"format": "pcqr-model"'),
            ('{"format": "pcqr-model", "format": "pcqr-model"}', "format twice"),
            ("[" * 200_000, "JSON document"),
            (changed({"version": 4}), "model.version must be 1, 2 or 3, which this pcqr reads; received 4"),
            (
                changed({"version": 2}),
                "model.kind must be one of linear, linear-one-against-rest, boosted-trees in version 2",
            ),
            (changed({"version": True}), "model.version"),
            (changed({"version": 1.0}), "model.version"),
            (changed({"kind": "forest"}), "model.kind must be one of decision-tree, stump, threshold"),
            (changed({"kind": "stump"}), "one question with two different labels"),
            (changed_stump(above="high"), "model.hypothesis.above must be a number"),
            (changed_stump(above=[]), "model.hypothesis.above must be a number"),
            (changed_stump(then={"label": "no"}), "two different labels"),
            (changed_stump(feature=3), "model.hypothesis.feature must be the name of a feature"),
            (changed({"accuracy": 0.9}), "also accuracy"),
            (changed({"classes": "ab"}), "model.classes must be a list"),
            (changed({"classes": ["a", ["b"]]}), "classes must be"),
            (changed({"schema": []}), "model.schema"),
            (changed({"schema": {"columns": []}}), "columns"),
            (changed({"schema": {"columns": [{"name": "age", "kind": "time"}]}}), "kind of column 'age'"),
            (changed({"hypothesis": {"label": "none"}}), "model.hypothesis.label must be one of the classes"),
            (changed({"hypothesis": {"label": []}}), "model.hypothesis.label"),
            (changed({"hypothesis": 3}), "model.hypothesis must be an object"),
            (changed(hypothesis={"feature": "shoe"}), "model.hypothesis.feature must be the name of a feature"),
            (changed(hypothesis={"above": "0.5"}), "model.hypothesis.above must be a number"),
            (changed(hypothesis={"above": True}), "model.hypothesis.above must be a number"),
            (changed(hypothesis={"above": math.nan}), "finite numbers"),
            (changed(hypothesis={"above": 10**400}), "that float64 can hold"),
            (changed(hypothesis={"then": {"label": "low", "count": 3}}), "model.hypothesis.then must be .*also count"),
            (changed(guarantee={"epsilon": -1}), "epsilon must be a finite number ≥ 0"),
            (changed(guarantee={"epsilon": "small"}), "model.guarantee.epsilon must be a number"),
            (changed(guarantee={"is_private": 1}), "model.guarantee.is_private must be true or false"),
            (changed(guarantee={"adjacency": "add one"}), "adjacency"),
            (changed(guarantee={"assumptions": [1]}), r"model.guarantee.assumptions\[0\] must be a text"),
            (changed(provenance={"records": 0}), "records must be an integer ≥ 1"),
            (changed(provenance={"records": 1.5}), "model.provenance.records must be an integer"),
            (changed(provenance={"predicates": [{"feature": "gain"}]}), r"predicates\[0\] must be .*without above"),
            (changed(provenance={"versions": []}), "model.provenance.versions"),
            (changed(provenance={"inverse_temperature": -1}), "inverse_temperature must be a finite number ≥ 0"),
            (changed(provenance={"numerical_slack": -1e-9}), "numerical_slack must be a finite number ≥ 0"),
            (changed(provenance={"records": 2**63}), "of 64 bits"),
            (changed({"version": 7}).replace("7", "7" * 5000), "numbers of sensible length"),
            (changed({"kind": "\ud800"}), "half of a surrogate pair"),
            (changed({"classes": ["low", "middle", " "]}), "not blank"),
            (changed({"classes": ["low", "middle", None]}), "classes must be"),
            (changed({"schema": {"columns": [{"name": "age", "bounds": ["0", "9"]}]}}), "of numbers"),
            (changed({"schema": {"columns": [{"name": "age", "bounds": [0, 10**400]}]}}), "that float64 can hold"),
            (changed(guarantee={"steps": [1]}), r"model.guarantee.steps\[0\] must be a text"),
        ],
    )
    def test_what_is_refused_and_where(self, text: str, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            PublishedModel.from_json(text)

    @pytest.mark.parametrize(
        "text", [changed({"accuracy": 0.9}), changed(guarantee={"epsilon": -1}), changed({"hypothesis": {"label": []}})]
    )
    def test_the_json_schema_refuses_too(self, text: str) -> None:
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            self.validate(json.loads(text))

    def test_a_tree_too_deep_to_be_one_of_ours(self) -> None:
        node: dict[str, Any] = {"label": "low"}
        for _ in range(80):
            node = {"feature": "gain", "above": 0.0, "then": node, "else": {"label": "low"}}
        with pytest.raises(ParameterError, match="at most 64 deep"):
            PublishedModel.from_json(changed({"hypothesis": node}))


class TestSaving:
    def test_a_directory_that_can_be_carried_away(self, tmp_path: Path) -> None:
        saved = MODEL.save(tmp_path / "new" / "model")
        written = saved.written
        assert saved.left_out == {}
        assert [path.name for path in written] == ["model.json", "rules.txt", "card.md", "tree.svg", "model.onnx"]
        assert PublishedModel.load(tmp_path / "new" / "model") == MODEL
        assert PublishedModel.load(written[0]) == MODEL
        rules = written[1].read_text(encoding="utf-8")
        assert MODEL.rules() in rules
        assert rules.endswith("\n\nA missing age counts as 17.\n")
        assert written[2].read_text(encoding="utf-8") == MODEL.card()
        assert written[3].read_text(encoding="utf-8").startswith("<?xml")

    @pytest.mark.parametrize(("extra", "left_out"), [("matplotlib", "tree.svg"), ("onnx", "model.onnx")])
    def test_without_an_extra_its_file_is_left_out(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: str, left_out: str
    ) -> None:
        MODEL.save(tmp_path)
        monkeypatch.setitem(__import__("sys").modules, extra, None)
        saved = MODEL.save(tmp_path)
        assert left_out not in [path.name for path in saved.written]
        assert "pip install" in saved.left_out[left_out]
        assert not (tmp_path / left_out).exists(), "a picture of an earlier model must not stay"

    @pytest.mark.parametrize(("method", "left_out"), [("draw", "tree.svg"), ("to_onnx", "model.onnx")])
    def test_a_file_that_cannot_be_made_is_left_out_and_the_rest_is_there(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, left_out: str
    ) -> None:
        def half(_: PublishedModel, path: Path) -> None:
            path.write_text("half")
            raise RuntimeError("no fonts")

        monkeypatch.setattr(PublishedModel, method, half)
        saved = MODEL.save(tmp_path)
        assert saved.left_out == {left_out: "RuntimeError: no fonts"}
        assert {path.name for path in tmp_path.iterdir()} == {path.name for path in saved.written}
        assert len(saved.written) == 4

    def test_a_directory_in_the_place_of_a_picture(self, tmp_path: Path) -> None:
        (tmp_path / "tree.svg").mkdir()
        assert list(MODEL.save(tmp_path).left_out) == ["tree.svg"]

    def test_files_that_cannot_be_read(self, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match="a file that can be read"):
            PublishedModel.load(tmp_path / "absent.json")
        (tmp_path / "latin.json").write_bytes(b"\xff\xfe")
        with pytest.raises(ParameterError, match="UTF-8"):
            PublishedModel.load(tmp_path / "latin.json")
