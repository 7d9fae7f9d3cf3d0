"""Linear classifiers for several labels as published models."""

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
from pcqr.hypotheses.linear import LinearHypothesis, OneAgainstRest
from pcqr.models import Provenance, PublishedModel
from pcqr.models.linear import sum_of
from pcqr.models.scorecard import shapes_of
from pcqr.records.features import UNIT, LinearFeatures
from pcqr.records.predicates import Predicate
from pcqr.schema import Column, Schema

SCHEMA = Schema((Column("age", bounds=(17, 90)), Column("work", "categorical", ("Private", "State"))))
AGE, PRIVATE, STATE, NO_WORK = range(4)
PHI = LinearFeatures(
    (Predicate(AGE, 30.5), Predicate(AGE, 50.25), Predicate(PRIVATE, 0.5)), (128, 128, 192), (-128, -128, -64), 4
)
ROWS = ((1.0, -0.5, 1.8, -0.75), (0.0, 2.0, -1.0, 0.5), (-1.0, -1.0, 0.1, 0.25))


def one_against_rest(rows: Any = ROWS) -> OneAgainstRest:
    return OneAgainstRest(tuple(LinearHypothesis(PHI, row) for row in rows))


MODEL = PublishedModel(
    one_against_rest(), ("low", "middle", "high"), SCHEMA, Guarantee(0.5, 1e-6, proof="linear"), Provenance(records=9)
)
PEOPLE: dict[str, list[Any]] = {
    "age": [17, 30.5, 31, 50.25, 51, 90] * 3,
    "work": ["Private"] * 6 + ["State"] * 6 + [None] * 6,
}
validate = fastjsonschema.compile(
    json.loads((Path(pcqr.models.__file__).parent / "pcqr-model-2.schema.json").read_text(encoding="utf-8"))
)
weights = st.floats(-(2.0**40), 2.0**40) | st.integers(-3, 3).map(lambda tenths: tenths / 10)
hypotheses = st.lists(st.tuples(*[weights] * 4), min_size=3, max_size=3).map(one_against_rest)


def changed(change: dict[str, Any] | None = None, **inside: Any) -> str:
    document = json.loads(MODEL.to_json()) | (change or {})
    return json.dumps(document | {"hypothesis": document["hypothesis"] | inside})


def question(**values: Any) -> str:
    first = json.loads(MODEL.to_json())["hypothesis"]["questions"][0]
    return changed(questions=[first | values])


class TestJson:
    @settings(max_examples=40, deadline=None)
    @given(hypotheses)
    def test_what_is_written_comes_back_exactly(self, hypothesis: OneAgainstRest) -> None:
        model = replace(MODEL, hypothesis=hypothesis)
        text = model.to_json()
        assert PublishedModel.from_json(text) == model
        assert PublishedModel.from_json(text).to_json() == text
        validate(json.loads(text))

    def test_the_layout_is_stable(self) -> None:
        document = json.loads(MODEL.to_json())
        assert (document["version"], document["kind"]) == (2, "linear-one-against-rest")
        assert document["hypothesis"]["biases"] == [-0.75, 0.5, 0.25]
        assert document["hypothesis"]["questions"][0] == {
            "feature": "age", "above": 30.5, "weights": [1.0, 0.0, -1.0], "yes": 128, "no": -128
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (changed({"classes": ["a", "b"]}), r"questions\[0\].weights must be one number for each"),
            (changed({"classes": ["a", "b", "c", "d"]}), r"questions\[0\].weights must be one number for each"),
            (changed(biases=[1.0, 2.0]), "model.hypothesis.biases must be one number for each"),
            (changed(biases=[1.0, 2.0, "3"]), r"model.hypothesis.biases\[2\] must be a number"),
            (changed(biases=[0.0, 0.0, 2.0**41]), "weights from"),
            (changed(bias=1.0), "also bias"),
            (question(weights=1.0), r"questions\[0\].weights must be a list"),
            (question(weight=1.0), "also weight"),
            (question(yes=4096), r"questions\[0\].yes must be an integer"),
        ],
    )
    def test_what_is_refused_and_where(self, text: str, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            PublishedModel.from_json(text)

    def test_as_many_labels_as_functions(self) -> None:
        with pytest.raises(ParameterError, match="classes must be 3 labels"):
            replace(MODEL, classes=("a", "b"))


def test_the_scorecard_adds_up_to_the_scores() -> None:
    X = SCHEMA.encode(PEOPLE)
    norms = np.sqrt(PHI.squared_norms(PHI.encode(X))) / UNIT
    scores = MODEL.decision_function(PEOPLE) * norms[:, None]
    for label, member in enumerate(one_against_rest().members):
        age, work = (
            next(shape for shape in shapes_of(sum_of(member), MODEL.vocabulary) if shape.column.name == name)
            for name in ("age", "work")
        )
        for i, (years, job) in enumerate(zip(PEOPLE["age"], PEOPLE["work"], strict=True)):
            total = member.weights[-1] + age.levels[int(np.searchsorted(age.cuts, years))].points
            total += work.levels[0 if job == "Private" else 1].points
            assert total == pytest.approx(scores[i, label], abs=1e-12)


def test_the_scorecard() -> None:
    assert MODEL.rules().splitlines() == [
        "For each label, start with its points and add one line of each column. The label with the largest sum "
        "wins, the first of equals.",
        "Points are rounded to 3 decimals here; model.json has all digits.",
        "",
        "       low  middle    high",
        "    −0.750  +0.500  +0.250  to start with",
        "",
        "age",
        "       low  middle    high",
        "    −0.250  −1.000  +1.000  age ≤ 30.5",
        "    +0.750  −1.000  +0.000  30.5 < age ≤ 50.25",
        "    +0.250  +1.000  −1.000  age > 50.25",
        "",
        "work",
        "       low  middle    high",
        "    +1.350  −0.750  +0.075  work = Private",
        "    −0.450  +0.250  −0.025  work is State or missing",
    ]


def test_the_questions_by_size() -> None:
    assert MODEL.rules(flat=True).splitlines()[-4:] == [
        "       low  middle    high",
        "    −0.500  +2.000  −1.000  age > 50.25",
        "    +1.800  −1.000  +0.100  work = Private",
        "    +1.000  +0.000  −1.000  age > 30.5",
    ]


@settings(max_examples=25, deadline=None)
@given(hypotheses)
def test_onnx_gives_the_same_labels(tmp_path_factory: pytest.TempPathFactory, hypothesis: OneAgainstRest) -> None:
    """Ties included: weights in tenths make many."""
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    model = replace(MODEL, hypothesis=hypothesis)
    model.to_onnx(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    X = SCHEMA.encode(PEOPLE)
    assert session.run(["label"], {"X": X})[0].tolist() == model.predict(X).tolist()
    assert session.run(["label"], {"X": X[:1]})[0].tolist() == model.predict(X[:1]).tolist()


def test_a_directory_that_can_be_carried_away(tmp_path: Path) -> None:
    saved = MODEL.save(tmp_path)
    assert saved.left_out == {}
    assert PublishedModel.load(tmp_path) == MODEL
    assert "# A linear classifier for several labels published" in (tmp_path / "card.md").read_text(encoding="utf-8")


def test_a_picture_of_many_labels(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    many = OneAgainstRest(tuple(LinearHypothesis(PHI, tuple(row)) for row in generator.normal(size=(15, 4))))
    replace(MODEL, hypothesis=many, classes=tuple(range(15))).draw(tmp_path / "many.png")
    pixels = imread(tmp_path / "many.png")[:, :, :3]
    assert (np.concatenate([pixels[:8].ravel(), pixels[-8:].ravel(), pixels[:, -8:].ravel()]) == 1.0).all()
    assert (pixels < 0.5).any()
