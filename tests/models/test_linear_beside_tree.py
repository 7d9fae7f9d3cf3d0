"""A linear classifier beside a tree as a published model: all of its files and pictures know of the tree."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastjsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.onnx_sessions import exported, rows_of, run
from support.published import AGE, GAIN, GAP, PRIVATE, SCHEMA, STATE
from support.published_linear import GUARANTEE, feature_map, linear_model, people

import pcqr.models
from pcqr import ParameterError
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.records.vectors import PredicateVectors
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models import Provenance, PublishedModel
from pcqr.models.linear import LinearKind
from pcqr.serialization.codec import packed

PEOPLE = people(300)
POINTS = SCHEMA.encode(PEOPLE)
SPREAD_PEOPLE = PEOPLE | {"gain": np.random.default_rng(1).normal(100.0, 200.0, size=300).tolist()}
SPREAD = SCHEMA.encode(SPREAD_PEOPLE)
TREE = Split(
    Predicate(GAP, 0.5),
    fails=Split(Predicate(AGE, 1 / 3 + 30), Leaf(0), Split(Predicate(GAIN, 0.1), Leaf(1), Leaf(0))),
    holds=Split(Predicate(STATE, 0.5), Leaf(1), Leaf(0)),
)
THREE_LEAVES = replace(TREE, holds=Split(Predicate(STATE, 0.5), Leaf(1), Leaf(2)))
SAYS_YES = Predicate(7, 0.5)
MAPS = ("plain", "whitened", "with ferns")
EACH = pytest.mark.parametrize("kind", MAPS)


def beside(kind: str, tree: Split = TREE, seed: int = 0) -> FeatureMap:
    features = feature_map("both" if kind == "with ferns" else "questions", seed)
    return features.beside(tree, None if kind == "plain" else SPREAD, 0.5)


def linear(kind: str, tree: Split = TREE, seed: int = 0) -> LinearClassifier:
    features, generator = beside(kind, tree, seed), np.random.default_rng(seed)
    cells = generator.normal(size=(1, features.count, 1 << features.depth))
    return LinearClassifier.of(features, 2, 3.0 * generator.normal(size=(1, features.size)), cells)


def model_of(kind: str, tree: Split = TREE, seed: int = 0) -> PublishedModel:
    return PublishedModel(linear(kind, tree, seed), ("no", "yes"), SCHEMA, GUARANTEE, Provenance("linears", 1000, 50))


def three_labels(kind: str, seed: int = 0) -> PublishedModel:
    """A model with a tree whose leaves have three labels."""
    before = feature_map("both" if kind == "with ferns" else "questions", seed)
    generator = np.random.default_rng(seed)
    features = before.beside(THREE_LEAVES, None if kind == "plain" else SPREAD, 0.5, labels=3)
    cells = generator.normal(size=(3, features.count, 1 << features.depth))
    found = LinearClassifier.of(features, 3, 3.0 * generator.normal(size=(3, features.size)), cells)
    return PublishedModel(found, ("no", "maybe", "yes"), SCHEMA, GUARANTEE, Provenance("linears", 1000, 50))


MODEL, FERNED, THREE = model_of("whitened"), model_of("with ferns"), three_labels("whitened")
validate = fastjsonschema.compile(
    json.loads((Path(pcqr.models.__file__).parent / "pcqr-model-4.schema.json").read_text(encoding="utf-8"))
)


def written(model: PublishedModel = MODEL) -> dict[str, Any]:
    hypothesis: dict[str, Any] = json.loads(model.to_json())["hypothesis"]
    return hypothesis


def changed(model: PublishedModel = MODEL, *, without: str = "", **inside: Any) -> str:
    """The JSON of the model with keys of the hypothesis replaced, or one left out."""
    document = json.loads(model.to_json())
    document["hypothesis"] = {name: part for name, part in (written(model) | inside).items() if name != without}
    return json.dumps(document)


def asking(*questions: dict[str, Any]) -> dict[str, Any]:
    """The dense part with these questions in the place of the last one."""
    dense: dict[str, Any] = written()["dense"]
    return dense | {"questions": [*dense["questions"][:-1], *questions]}


class TestJson:
    @EACH
    def test_what_is_written_comes_back_exactly(self, kind: str) -> None:
        plain, several = model_of(kind, seed=3), three_labels(kind)
        for model in (plain, plain.explained(PEOPLE), plain.explained(), several, several.explained(PEOPLE)):
            text = model.to_json()
            again = PublishedModel.from_json(text)
            assert again == model
            assert again.to_json() == text
            np.testing.assert_array_equal(again.decision_function(POINTS), model.decision_function(POINTS))
            validate(json.loads(text))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (changed(tree=None), "model.hypothesis.tree must be an object with the keys feature, above"),
            (changed(tree={"label": "yes"}), "model.hypothesis.tree must be a tree that asks something"),
            (changed(tree={"label": "maybe"}), "model.hypothesis.tree.label must be one of the classes"),
            (changed(tree=written()["tree"] | {"else": {"label": 1}}), "model.hypothesis.tree.else.label must be one"),
            (changed(tree=written()["tree"] | {"feature": "shoe"}), "model.hypothesis.tree.feature must be the name"),
            (changed(tree=written()["tree"] | {"above": "high"}), "model.hypothesis.tree.above must be a number"),
            (changed(tree=written()["tree"] | {"count": 7}), "also count"),
            (changed(without="tree"), "model.hypothesis.dense must be no question about a tree"),
            (changed(linear_model("both"), tree=written()["tree"]), "dense must be questions, the last ones about"),
            (changed(linear_model("columns"), tree=written()["tree"]), "dense must be questions, the last ones about"),
            (changed(linear_model("ferns"), tree=written()["tree"]), "dense must be questions, the last ones about"),
            (changed(dense=asking({"tree": "no", "yes": 1, "no": 0})), "a label after the first: 'yes'; received 'no'"),
            (changed(dense=asking({"tree": True, "yes": 1, "no": 0})), "a label after the first: 'yes'; received True"),
            (
                changed(dense=asking({"tree": ["yes"], "yes": 1, "no": 0})),
                "a label after the first: 'yes'; received 'a list'",
            ),
            (
                changed(dense=asking({"tree": "yes", "above": 0.5, "yes": 1, "no": 0})),
                r"questions\[6\] must be .*also above",
            ),
            (changed(dense=asking({"tree": "yes", "yes": 4000, "no": 0})), "model.hypothesis.dense.holding must be"),
            (changed(dense=asking({"tree": "yes", "yes": 0.5, "no": 0})), r"questions\[6\].yes must be an integer"),
            (
                changed(dense=asking(*[{"tree": "yes", "yes": 1, "no": 0}] * 2) | {"directions": None}),
                r"questions\[6\].tree must be asked about in the last questions, once for each label",
            ),
            (
                changed(
                    dense=asking({"tree": "yes", "yes": 1, "no": 0}, written()["dense"]["questions"][0])
                    | {"directions": None}
                ),
                r"questions\[6\].tree must be asked about in the last questions, once for each label",
            ),
            (
                changed(FERNED, ferns=written(FERNED)["ferns"] | {"features": packed(np.full(15, 7, dtype=np.int32))}),
                "model.hypothesis.ferns.predicates must be on columns 0 to 6",
            ),
        ],
    )
    def test_what_is_refused_and_where(self, text: str, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            PublishedModel.from_json(text)

    def test_a_tree_as_deep_as_a_bomb_is_refused(self) -> None:
        deep: dict[str, Any] = {"label": "no"}
        for _ in range(70):
            deep = {"feature": "age", "above": 1.0, "then": deep, "else": {"label": "yes"}}
        with pytest.raises(ParameterError, match="at most 64 deep"):
            PublishedModel.from_json(changed(tree=deep))


class TestOnnx:
    @settings(max_examples=6, deadline=None)
    @given(seed=st.integers(0, 10**6))
    @EACH
    def test_it_gives_the_same_labels_and_probabilities(
        self, tmp_path_factory: pytest.TempPathFactory, kind: str, seed: int
    ) -> None:
        """On rows that lie on cuts of the tree, or beside them by one unit in the last place, too."""
        model = (model_of, three_labels)[seed % 2](kind, seed=seed)
        session = exported(model, tmp_path_factory.mktemp("onnx"))
        chosen = np.random.default_rng(seed).permutation(300)[:60].repeat(5).tolist()
        people = rows_of(SPREAD_PEOPLE, chosen)
        for column, cut in (("age", 1 / 3 + 30), ("gain", 0.1)):
            for place, value in enumerate((cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf))):
                people[column][place::5] = [value] * 60
        for table in (people, PEOPLE, rows_of(PEOPLE, [0])):
            labels, probabilities = run(session, table)
            assert labels.tolist() == model.predict(table).tolist()
            np.testing.assert_allclose(probabilities, model.predict_proba(table), rtol=1e-12, atol=1e-15)

    def test_margins_are_the_same_to_the_last_bit(self, tmp_path: Path) -> None:
        """A tie on either side is one: where the tree alone decides, labels turn where Python's do."""
        features = beside("plain")
        weights = np.zeros((1, 8))
        weights[0, -2], weights[0, -1] = 0.5, -0.5 * features.dense.holding[-1] / 256  # type: ignore[union-attr]
        for nudge in (0.0, 2.0**-20):
            model = replace(
                MODEL,
                hypothesis=LinearClassifier.of(features, 2, weights + nudge * (np.arange(8) == 7), np.zeros((1, 0, 1))),
            )
            labels, _ = run(exported(model, tmp_path), PEOPLE)
            said = features.seen(POINTS)[:, -1] == 1.0
            assert 20 < said.sum() < 280
            assert (labels == "yes").tolist() == (said & (nudge > 0)).tolist()
            assert model.predict(POINTS).tolist() == labels.tolist()


class TestReading:
    def test_the_tree_is_told_first_then_the_columns(self) -> None:
        model = MODEL.explained(PEOPLE)
        assert model.effects is not None
        worth = model.effects.tree
        assert worth is not None
        lines = model.rules().splitlines()
        points = f"{worth[0]:+.3f}".replace("-", "−")
        assert lines[:15] == [
            "This is no list of rules: a score is made of 6 questions and what a tree says, and all of them enter.",
            f"It asks the tree first. That it says yes and not no is worth {points} in the score, on average over 300 "
            "public rows.",
            "",
            "if age is missing:",
            "    if work = State:",
            "        the tree says no",
            "    else:  # work ≠ State",
            "        the tree says yes",
            "else:  # age is not missing",
            "    if age > 30.33:",
            "        if gain > 0.1:",
            "            the tree says no",
            "        else:  # gain ≤ 0.1",
            "            the tree says yes",
            "    else:  # age ≤ 30.33",
        ]
        assert lines[15:19] == [
            "        the tree says no",
            "",
            "How the mean score of 300 public rows moves as one column takes each value and the others stay as they "
            "are. What the tree says may change with it.",
            "Above 0 speaks for yes, below for no.",
        ]
        assert {"age", "work", "gain"} <= set(lines[19:])
        assert lines[-1] == "Numbers are rounded for reading; the JSON has all digits."
        assert "predict" not in model.rules()
        assert model.texts()["rules.txt"].count("It asks the tree first") == 1

    def test_what_no_record_can_be_asked_is_not_shown(self) -> None:
        inner = Split(Predicate(PRIVATE, 0.5), Leaf(1), Leaf(0))
        model = model_of("plain", Split(Predicate(STATE, 0.5), fails=Leaf(0), holds=inner))
        assert model.rules().splitlines()[3:7] == [
            "if work = State:",
            "    the tree says yes",
            "else:  # work ≠ State",
            "    the tree says no",
        ]

    @EACH
    def test_the_worth_of_the_tree_is_what_flipping_its_answer_does(self, kind: str) -> None:
        """Rows whose answer is turned round move by it on average, those that are told no upwards by as much."""
        model = model_of(kind, seed=5)
        effects = LinearKind().effects(model.hypothesis, SCHEMA, POINTS[:200])  # type: ignore[arg-type]
        assert effects is not None
        opposite = replace(model, hypothesis=replace(linear(kind, seed=5), feature_map=turned(beside(kind, seed=5))))
        said = beside(kind).seen(POINTS[:200])[:, -1]
        gained = opposite.decision_function(POINTS[:200]) - model.decision_function(POINTS[:200])
        assert effects.tree is not None
        assert effects.tree == pytest.approx((float((gained * np.where(said > 0.5, -1.0, 1.0)).mean()),))
        assert abs(effects.tree[0]) > 0.01


def turned(features: FeatureMap) -> FeatureMap:
    """The map with a tree that says the opposite."""

    def opposite(node: Leaf | Split) -> Any:
        if isinstance(node, Leaf):
            return Leaf(1 - node.label)
        return Split(node.predicate, fails=opposite(node.fails), holds=opposite(node.holds))

    return replace(features, tree=opposite(features.tree))  # type: ignore[arg-type]


class TestColumnsOfTheTreeAlone:
    """The dense part asks about age only, the tree about the work and the gain."""

    tree = Split(Predicate(GAIN, 50.0), fails=Leaf(0), holds=Split(Predicate(PRIVATE, 0.5), Leaf(1), Leaf(0)))
    features = FeatureMap(
        PredicateVectors((Predicate(AGE, 30.5), SAYS_YES), (128, 192), (-128, -64), 8), None, 256, tree
    )
    model = PublishedModel(
        LinearClassifier.of(features, 2, np.array([[0.25, 2.0, 0.0]]), np.zeros((1, 0, 1))),
        ("no", "yes"),
        SCHEMA,
        GUARANTEE,
    )

    def test_they_have_effects_and_are_important(self) -> None:
        effects = self.model.explained(PEOPLE).effects
        assert effects is not None
        assert {each.column.name for each in effects.columns} == {"age", "work", "gain"}
        gain = next(each for each in effects.columns if each.column.name == "gain")
        below = [points for at, points in zip(gain.at, gain.points[0], strict=True) if at <= 50.0]  # type: ignore[operator]
        above = [points for at, points in zip(gain.at, gain.points[0], strict=True) if at > 50.0]  # type: ignore[operator]
        assert max(below) < 0 < min(above)
        found = {each.column: each.moved for each in self.model.importances(PEOPLE)}
        assert found["gain"] > found["age"] > 0  # type: ignore[operator]
        assert found["work"] > 0  # type: ignore[operator]
