"""Linear classifiers as published models: JSON, scorecards, pictures, ONNX and scores agree with `predict`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastjsonschema
import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.image import imread

import pcqr.models
from pcqr import Guarantee, ParameterError
from pcqr.hypotheses import DecisionTree
from pcqr.hypotheses.linear import LinearHypothesis
from pcqr.hypotheses.trees.tree import Leaf
from pcqr.models import Provenance, PublishedModel
from pcqr.models.linear import sum_of
from pcqr.models.scorecard import shapes_of
from pcqr.models.shapes import Shape
from pcqr.records.features import UNIT, LinearFeatures
from pcqr.records.predicates import Predicate
from pcqr.schema import Column, Schema

SCHEMA = Schema(
    (
        Column("age", bounds=(17, 90), missing=True),
        Column("work", "categorical", ("Private", "State"), other=True),
        Column("gain"),
    )
)
AGE, GAP, PRIVATE, STATE, OTHER, NO_WORK, GAIN = range(7)
PREDICATES = tuple(
    Predicate(*entry) for entry in ((AGE, 30.5), (AGE, 50.25), (GAP, 0.5), (PRIVATE, 0.5), (STATE, 0.5), (GAIN, 100.0))
)
PHI = LinearFeatures(PREDICATES, (128, 128, 256, 192, 256, 256), (-128, -128, 0, -64, 0, 0), 7)
LINEAR = LinearHypothesis(PHI, (1.0, -0.5, 2.0, -1.0, 0.25, 3.0, -0.75))
GUARANTEE = Guarantee(0.5, 1e-6, proof="linear")
MODEL = PublishedModel(
    LINEAR,
    ("no", "yes"),
    SCHEMA,
    GUARANTEE,
    Provenance("linear classifiers", 1000, 50, PREDICATES, settings=(("steps", 200), ("scale", 12.5))),
)
SCHEMA_FILES = {
    version: json.loads(
        (Path(pcqr.models.__file__).parent / f"pcqr-model-{version}.schema.json").read_text(encoding="utf-8")
    )
    for version in (1, 2)
}
validate = fastjsonschema.compile(SCHEMA_FILES[2])


def changed(change: dict[str, Any] | None = None, **inside: Any) -> str:
    """The JSON of MODEL with top-level keys replaced, and keys inside the objects named by `inside`."""
    document = json.loads(MODEL.to_json()) | (change or {})
    for name, values in inside.items():
        document[name] = document[name] | values
    return json.dumps(document)


def question(**values: Any) -> str:
    first = json.loads(MODEL.to_json())["hypothesis"]["questions"][0]
    return changed(hypothesis={"questions": [first | values]})


def classifiers(weights: st.SearchStrategy[float], most: int = 20) -> st.SearchStrategy[LinearHypothesis]:
    """On the features of SCHEMA."""
    asked = st.builds(
        Predicate, st.integers(0, 6), st.sampled_from((0.0, 0.5, 30.5, 50.25, 0.1, 1 / 3, 16777217.0, 1e300, 5e-324))
    )
    entries = st.integers(-2048, 2048)
    parts = st.lists(st.tuples(asked, entries, entries, weights), min_size=1, max_size=most)

    def built(listed: list[tuple[Predicate, int, int, float]], bias: float) -> LinearHypothesis:
        predicates, yes, no, chosen = zip(*listed, strict=True)
        return LinearHypothesis(LinearFeatures(predicates, yes, no, 7), (*chosen, bias))

    return st.builds(built, parts, weights)


def people(count: int, seed: int = 0) -> dict[str, list[Any]]:
    generator = np.random.default_rng(seed)
    return {
        "age": [None if age > 90 else age for age in generator.choice([17, 30.5, 30.6, 50, 50.25, 60, 99], count)],
        "work": generator.choice(np.array(["Private", "State", "Army", None], dtype=object), count).tolist(),
        "gain": generator.choice([0, -1.0, 1 / 3, 0.1, 100, 100.5, 1e301, 16777217.0, 16777218.0], count).tolist(),
    }


class TestJson:
    @settings(max_examples=60, deadline=None)
    @given(classifiers(st.floats(-(2.0**40), 2.0**40)))
    def test_what_is_written_comes_back_exactly(self, hypothesis: LinearHypothesis) -> None:
        model = replace(MODEL, hypothesis=hypothesis)
        text = model.to_json()
        assert PublishedModel.from_json(text) == model
        assert PublishedModel.from_json(text).to_json() == text
        validate(json.loads(text))

    def test_the_layout_is_stable(self) -> None:
        document = json.loads(MODEL.to_json())
        assert (document["version"], document["kind"]) == (2, "linear")
        assert document["hypothesis"]["bias"] == -0.75
        assert document["hypothesis"]["questions"][3] == {
            "feature": "work=Private", "above": 0.5, "weight": -1.0, "yes": 192, "no": -64
        }  # fmt: skip
        assert document["provenance"]["settings"] == {"steps": 200, "scale": 12.5}

    def test_the_file_alone_is_enough_to_predict(self) -> None:
        """As the JSON Schema says it, without pcqr."""
        document = json.loads(MODEL.to_json())
        names, X = SCHEMA.feature_names, SCHEMA.encode(people(200))
        hypothesis = document["hypothesis"]
        for row, label in zip(X, MODEL.predict(X), strict=True):
            score = hypothesis["unit"] * hypothesis["bias"] + sum(
                asked["weight"] * asked["yes" if row[names.index(asked["feature"])] > asked["above"] else "no"]
                for asked in hypothesis["questions"]
            )
            assert document["classes"][int(score > 0)] == label

    def test_what_both_versions_describe_they_describe_alike(self) -> None:
        first, second = SCHEMA_FILES[1], SCHEMA_FILES[2]
        assert first["definitions"]["column"] == second["definitions"]["column"]
        for part in ("schema", "guarantee"):
            assert first["properties"][part] == second["properties"][part]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (changed({"version": 1}), "model.kind must be one of decision-tree, stump, threshold in version 1"),
            (changed({"kind": "boosted-trees"}), "model.hypothesis must be an object with the keys step, trees"),
            (changed({"classes": ["a", "b", "c"]}), "classes must be two labels"),
            (changed({"hypothesis": []}), "model.hypothesis must be an object"),
            (changed(hypothesis={"unit": 1}), "model.hypothesis.unit must be 256"),
            (changed(hypothesis={"unit": 256.0}), "model.hypothesis.unit must be an integer"),
            (changed(hypothesis={"bias": None}), "model.hypothesis.bias must be a number"),
            (changed(hypothesis={"bias": 2.0**41}), "weights from"),
            (changed(hypothesis={"accuracy": 0.9}), "also accuracy"),
            (changed(hypothesis={"questions": []}), "at least one question"),
            (changed(hypothesis={"questions": {}}), "model.hypothesis.questions must be a list"),
            (question(feature="shoe"), r"model.hypothesis.questions\[0\].feature must be the name of a feature"),
            (question(above="30"), r"questions\[0\].above must be a number"),
            (question(weight=True), r"questions\[0\].weight must be a number"),
            (question(yes=2049), r"questions\[0\].yes must be an integer from −2048 to 2048"),
            (question(no=0.5), r"questions\[0\].no must be an integer"),
            (question(count=3), "also count"),
            (changed(provenance={"settings": {"steps": "many"}}), "model.provenance.settings.steps must be a number"),
            (changed(provenance={"settings": []}), "model.provenance.settings must be an object"),
        ],
    )
    def test_what_is_refused_and_where(self, text: str, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            PublishedModel.from_json(text)

    @pytest.mark.parametrize(
        "text", [question(yes=2049), changed(hypothesis={"bias": 2.0**41}), changed({"version": 1}), question(count=3)]
    )
    def test_the_json_schema_refuses_too(self, text: str) -> None:
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            validate(json.loads(text))

    def test_trees_stay_in_version_1(self) -> None:
        tree = replace(MODEL, hypothesis=DecisionTree(Leaf(0), 7), provenance=Provenance(records=3))
        document = json.loads(tree.to_json())
        assert document["version"] == 1
        assert "settings" not in document["provenance"]
        assert PublishedModel.from_json(tree.to_json()) == tree

    def test_hypotheses_that_the_words_do_not_fit(self) -> None:
        with pytest.raises(ParameterError, match="one on the 1 features"):
            PublishedModel(LINEAR, ("a", "b"), Schema((Column("x"),)), GUARANTEE)


def level_points(shape: Shape, value: Any) -> float:
    """What the shape adds for one value of its column, found by its words."""
    if shape.is_numeric:
        if value is None:
            return shape.levels[-1].points
        return shape.levels[int(np.searchsorted(shape.cuts, min(max(value, -1e308), 1e308)))].points
    name = "missing" if value is None else value if value in shape.column.categories else "other"
    return next(level.points for level in shape.levels if name in level.name.replace(" or ", ", ").split(", "))


class TestReading:
    def test_the_columns_of_the_scorecard_add_up_to_the_score(self) -> None:
        table = people(300)
        shapes = shapes_of(sum_of(LINEAR), MODEL.vocabulary)
        sums = [
            sum(level_points(shape, table[shape.column.name][i]) for shape in shapes) + LINEAR.weights[-1]
            for i in range(300)
        ]
        norms = np.sqrt(PHI.squared_norms(PHI.encode(SCHEMA.encode(table)))) / UNIT
        np.testing.assert_allclose(sums, MODEL.decision_function(table) * norms, atol=1e-12)

    def test_the_scorecard(self) -> None:
        assert MODEL.rules().splitlines() == [
            "Start with −0.750 and add one line of each column. The label is yes where the sum is above 0, else no.",
            "Points are rounded to 3 decimals here; model.json has all digits.",
            "",
            "gain",
            "    +0.000  gain ≤ 100",
            "    +3.000  gain > 100",
            "",
            "age",
            "    −0.250  age ≤ 30.5",
            "    +0.750  30.5 < age ≤ 50.25",
            "    +0.250  age > 50.25",
            "    +1.750  age is missing",
            "",
            "work",
            "    +0.500  work = State",
            "    +0.250  work is other or missing",
            "    −0.750  work = Private",
        ]

    def test_the_questions_by_size(self) -> None:
        assert MODEL.rules(flat=True).splitlines() == [
            "Start with −0.750 and add the points of every line that is true. The label is yes where the sum is above "
            "0, else no.",
            "Points are rounded to 3 decimals here; model.json has all digits.",
            "",
            "    +3.000  gain > 100",
            "    +2.000  age is missing",
            "    +1.000  age > 30.5",
            "    −1.000  work = Private",
            "    −0.500  age > 50.25",
            "    +0.250  work = State",
        ]

    def test_weights_of_zero_and_cuts_that_no_record_crosses(self) -> None:
        schema = Schema((Column("x", bounds=(0, 1)), Column("a\nb", "categorical", ("c",))))
        phi = LinearFeatures((Predicate(0, 5.0), Predicate(1, 0.5)), (1, 1), (0, 0), 3)
        nothing = PublishedModel(LinearHypothesis(phi, (0.0, 0.0, 0.0)), ("no", "yes"), schema, GUARANTEE)
        assert "    +0  x, whatever it is" in nothing.rules().splitlines()
        assert "a\\nb" in nothing.rules().splitlines()
        assert nothing.predict({"x": [0.5], "a\nb": ["c"]}).tolist() == ["no"]

    def test_the_card_says_what_was_promised_and_that_scores_are_no_probabilities(self) -> None:
        card = MODEL.card()
        for part in (
            "# A linear classifier published under differential privacy",
            "Replace any one of the 1,000 private records by any other: whatever one looks for in the published model",
            "plus 1e-06.",
            "Settings, all from public numbers: steps 200, scale 12.5.",
            "Its scores are no probabilities.",
            MODEL.rules(),
            "A missing age counts as 17.",
        ):
            assert part in card
        assert "pure differential" not in card
        assert "(pure)" not in card

    def test_a_long_scorecard_is_cut_short_on_the_card_alone(self) -> None:
        predicates = tuple(Predicate(GAIN, float(cut)) for cut in range(300))
        phi = LinearFeatures(predicates, (1,) * 300, (0,) * 300, 7)
        long = replace(MODEL, hypothesis=LinearHypothesis(phi, (1.0,) * 301))
        assert "… and 105 more lines, which are in rules.txt" in long.card()
        assert len(long.rules().splitlines()) == 305
        assert long.rules() in long.texts()["rules.txt"]


class TestScores:
    def test_they_decide(self) -> None:
        table = people(300)
        scores = MODEL.decision_function(table)
        assert MODEL.predict(table).tolist() == np.where(scores > 0, "yes", "no").tolist()
        assert len(set(MODEL.predict(table))) == 2

    def test_a_tree_has_none_and_nobody_has_probabilities(self) -> None:
        tree = replace(MODEL, hypothesis=DecisionTree(Leaf(0), 7))
        assert not hasattr(tree, "decision_function")
        assert hasattr(MODEL, "decision_function")
        assert not hasattr(MODEL, "predict_proba")


class TestOnnx:
    tenths = st.integers(-3, 3).map(lambda tenths: tenths / 10)
    ordinary = st.floats(-100, 100).map(lambda weight: round(weight, 6))

    @settings(max_examples=25, deadline=None)
    @given(classifiers(tenths) | classifiers(ordinary))
    def test_it_gives_the_same_labels(
        self, tmp_path_factory: pytest.TempPathFactory, hypothesis: LinearHypothesis
    ) -> None:
        path = tmp_path_factory.mktemp("onnx") / "model.onnx"
        model = replace(MODEL, hypothesis=hypothesis)
        model.to_onnx(path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        X = SCHEMA.encode(people(200))
        assert session.run(["label"], {"X": X})[0].tolist() == model.predict(X).tolist()
        assert session.run(["label"], {"X": X[:1]})[0].tolist() == model.predict(X[:1]).tolist()

    def test_sums_that_only_rounding_decides(self, tmp_path: Path) -> None:
        """Weights that add up to 0 in mathematics and to a little off it in float64, which way the order decides."""
        generator = np.random.default_rng(0)
        predicates = tuple(Predicate(column, 0.5) for column in range(40))
        phi = LinearFeatures(predicates, (3,) * 40, (0,) * 40, 40)
        halves = generator.normal(size=20)
        schema = Schema(tuple(Column(f"x{column}") for column in range(40)))
        model = PublishedModel(LinearHypothesis(phi, (*halves, *-halves, 0.0)), (0, 1), schema, GUARANTEE)
        model.to_onnx(tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
        X = np.tile(generator.integers(0, 2, size=(500, 20)), 2).astype(np.float64)
        labels = model.predict(X)
        assert np.abs(model.decision_function(X)).max() < 1e-12
        assert 0.1 < labels.mean() < 0.9
        assert (labels != (X @ model.hypothesis.weights[:-1] > 0)).any(), "another order, other labels"  # type: ignore[attr-defined]
        assert session.run(["label"], {"X": X})[0].tolist() == labels.tolist()


class TestPicture:
    @pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
    def test_formats(self, tmp_path: Path, suffix: str) -> None:
        MODEL.draw(tmp_path / f"picture{suffix}")
        assert (tmp_path / f"picture{suffix}").read_bytes()[:5] in (b"<?xml", b"\x89PNG\r", b"%PDF-")

    def test_the_same_model_gives_the_same_file(self, tmp_path: Path) -> None:
        for name in ("a.svg", "b.svg"):
            MODEL.draw(tmp_path / name)
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()

    def test_nothing_is_cut_off(self, tmp_path: Path) -> None:
        """Twenty columns, long names, many categories, huge cuts and equal weights: the margins stay white."""
        many = Column("W" * 60, "categorical", tuple(f"$x^{i}$ " * 9 for i in range(15)))
        schema = Schema((many, *(Column(f"{'long ' * 20}{i}", missing=True) for i in range(20))))
        numbers = tuple(Predicate(16 + 2 * i, 10.0**power) for i in range(20) for power in (-300, 3, 5, 300))
        asked = (*(Predicate(i, 0.5) for i in range(12)), *numbers, Predicate(17, 0.5))
        generator = np.random.default_rng(0)
        phi = LinearFeatures(asked, (256,) * len(asked), (-100,) * len(asked), len(schema.features))
        wide = LinearHypothesis(phi, tuple(generator.normal(size=len(asked) + 1)))
        PublishedModel(wide, ("no" * 30, "yes" * 20), schema, GUARANTEE).draw(tmp_path / "wide.png")
        pixels = imread(tmp_path / "wide.png")[:, :, :3]
        edge = np.concatenate([pixels[:8].ravel(), pixels[-8:].ravel(), pixels[:, :8].ravel(), pixels[:, -8:].ravel()])
        assert (edge == 1.0).all()
        assert (pixels < 0.5).any()

    def test_weights_of_zero(self, tmp_path: Path) -> None:
        replace(MODEL, hypothesis=LinearHypothesis(PHI, (0.0,) * 7)).draw(tmp_path / "flat.svg")
        assert (tmp_path / "flat.svg").stat().st_size > 0


class TestSaving:
    def test_a_directory_that_can_be_carried_away(self, tmp_path: Path) -> None:
        saved = MODEL.save(tmp_path)
        assert saved.left_out == {}
        assert [path.name for path in saved.written] == [
            *("model.json", "rules.txt", "card.md", "picture.svg", "model.onnx")
        ]
        assert PublishedModel.load(tmp_path) == MODEL
        assert MODEL.rules(flat=True) in (tmp_path / "rules.txt").read_text(encoding="utf-8")

    def test_the_picture_of_another_model_does_not_stay(self, tmp_path: Path) -> None:
        (tmp_path / "tree.svg").write_text("of a tree, by an earlier pcqr")
        MODEL.save(tmp_path)
        assert not (tmp_path / "tree.svg").exists()
        before = (tmp_path / "picture.svg").read_text()
        replace(MODEL, hypothesis=DecisionTree(Leaf(0), 7)).save(tmp_path)
        assert (tmp_path / "picture.svg").read_text() != before
