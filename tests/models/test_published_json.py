"""Published models as JSON: what is written comes back, and nothing else is read."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.published import (
    GAIN,
    GUARANTEE,
    MODEL,
    SCHEMA,
    SCORED,
)

import pcqr.models
from pcqr import Guarantee, ParameterError
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import DecisionTree
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.models import Provenance, PublishedModel
from pcqr.privacy.unit import RECORD, USER


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


def test_a_file_says_that_it_is_about_persons() -> None:
    model = replace(MODEL, guarantee=Guarantee(0.5, unit=USER))
    assert "If all rows of any one of the 1,000 persons were replaced by those of any other, no model" in model.card()
    assert "Adjacency: replace one person, with all rows. The number of persons is public." in model.card()
    assert PublishedModel.from_json(model.to_json()).guarantee == model.guarantee


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

    def test_probabilities_at_the_leaves_have_a_version_of_their_own(self) -> None:
        text = SCORED.to_json()
        document = json.loads(text)
        assert (document["version"], document["kind"]) == (5, "decision-tree")
        assert document["hypothesis"]["then"]["then"] == {"label": "middle", "probabilities": [0.25, 0.5, 0.25]}
        assert PublishedModel.from_json(text) == SCORED
        assert PublishedModel.from_json(text).to_json() == text
        validate = fastjsonschema.compile(
            json.loads((Path(pcqr.models.__file__).parent / "pcqr-model-5.schema.json").read_text(encoding="utf-8"))
        )
        validate(document)
        with pytest.raises(fastjsonschema.JsonSchemaException):
            validate(document | {"hypothesis": {"label": "low"}})

    @pytest.mark.parametrize(
        ("version", "leaf", "message"),
        [
            (1, {"label": "low", "probabilities": [0.5, 0.25, 0.25]}, "also probabilities"),
            (5, {"label": "low"}, "without probabilities"),
            (5, {"label": "low", "probabilities": 0.5}, "model.hypothesis.probabilities must be a list"),
            (5, {"label": "low", "probabilities": [0.75, 0.25]}, "a number for each of 3 labels; received '2 numbers'"),
            (
                5,
                {"label": "low", "probabilities": [0.25, 0.5, 0.25]},
                "model.hypothesis.probabilities must be positive",
            ),
            (5, {"label": "low", "probabilities": [1.0, 0.0, 0.0]}, "model.hypothesis.probabilities must be positive"),
            (5, {"label": "low", "probabilities": [0.5, "a", 0.1]}, r"hypothesis.probabilities\[1\] must be a number"),
        ],
    )
    def test_probabilities_that_are_refused_and_where(self, version: int, leaf: Any, message: str) -> None:
        written = SCORED if version == 5 else MODEL
        with pytest.raises(ParameterError, match=message):
            PublishedModel.from_json(json.dumps(json.loads(written.to_json()) | {"hypothesis": leaf}))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "a JSON document"),
            ("[]", '"format": "pcqr-model"'),
            ('{"format": "other"}', '"format": "pcqr-model"'),
            ('{"format": "pcqr-model", "format": "pcqr-model"}', "format twice"),
            ("[" * 200_000, "JSON document"),
            (changed({"version": 6}), "model.version must be 1, 3, 4 or 5, which this pcqr reads; received 6"),
            (
                changed({"version": 2}),
                "model.version must be 1, 3, 4 or 5, which this pcqr reads; received '2, of the linear and boosted",
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
