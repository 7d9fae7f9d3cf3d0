"""Linear classifiers as published models: all of their files, pictures and probabilities agree with `predict`."""

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
from support.published import SCHEMA
from support.published_linear import GUARANTEE, MAPS, PREDICATES, feature_map, linear, linear_model, people

import pcqr.models
from pcqr import ParameterError
from pcqr.data.records.predicates import evaluate
from pcqr.data.records.vectors import UNIT, USUAL_NORM, PredicateVectors
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models import PublishedModel
from pcqr.models.linear import sums_of
from pcqr.serialization.codec import packed

PEOPLE = people(300)
POINTS = SCHEMA.encode(PEOPLE)
MODEL = linear_model("both")
KINDS = pytest.mark.parametrize(("kind", "classes"), [(kind, classes) for kind in MAPS for classes in (2, 3)])
validate = fastjsonschema.compile(
    json.loads((Path(pcqr.models.__file__).parent / "pcqr-model-4.schema.json").read_text(encoding="utf-8"))
)


def changed(model: PublishedModel = MODEL, top: dict[str, Any] | None = None, **inside: Any) -> str:
    """The JSON of the model with top-level keys replaced, and keys of the hypothesis."""
    document = json.loads(model.to_json()) | (top or {})
    document["hypothesis"] = document["hypothesis"] | inside
    return json.dumps(document)


def within(part: str, model: PublishedModel = MODEL, **values: Any) -> str:
    """The JSON of the model with keys of a part of the hypothesis replaced."""
    return changed(model, **{part: json.loads(model.to_json())["hypothesis"][part] | values})


class TestJson:
    @KINDS
    def test_what_is_written_comes_back_exactly(self, kind: str, classes: int) -> None:
        plain = linear_model(kind, classes, seed=3)
        for model in (plain, plain.explained(PEOPLE), plain.explained()):
            text = model.to_json()
            assert PublishedModel.from_json(text) == model
            assert PublishedModel.from_json(text).to_json() == text
            validate(json.loads(text))

    def test_the_layout_is_stable(self) -> None:
        document = json.loads(MODEL.to_json())
        assert (document["version"], document["kind"], document["effects"]) == (4, "linear", None)
        hypothesis = document["hypothesis"]
        assert hypothesis["share"] == 100
        assert hypothesis["dense"]["questions"][3] == {"feature": "work=Private", "above": 0.5, "yes": 192, "no": -64}
        assert (hypothesis["ferns"]["count"], hypothesis["ferns"]["depth"]) == (5, 3)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (changed(top={"version": 3}), "model must be an object with the keys .*also effects"),
            (changed(top={"classes": ["a", "b", "c"]}), "model.hypothesis.weights must be"),
            (changed(top={"effects": 3}), "model.effects must be an object"),
            (changed(accuracy=0.9), "also accuracy"),
            (changed(share=257), "model.hypothesis.share must be"),
            (changed(share=0), "model.hypothesis.share must be"),
            (changed(dense=None), "model.hypothesis.share must be"),
            (changed(dense=None, ferns=None), "a dense part, where there are no ferns"),
            (changed(weights="?"), "model.hypothesis.weights must be base64 of zlib"),
            (changed(weights=packed(np.full((1, 7), 2**31 - 1, dtype=np.int32))), "model.hypothesis.weights must be"),
            (changed(scales=[-1.0]), "model.hypothesis.scales must be"),
            (changed(scales=[1.0, 1.0]), "model.hypothesis.scales must be"),
            (changed(cells=packed(np.zeros(3, dtype=np.int8))), "model.hypothesis.cells must be base64 of zlib of 40"),
            (changed(cells=packed(np.full(40, -128, dtype=np.int8))), "model.hypothesis.cells must be integers from"),
            (changed(cells=7), "cells must be a text"),
            (within("dense", constant=255), "model.hypothesis.dense.constant must be 256"),
            (within("dense", questions=[]), "model.hypothesis.dense.predicates must be"),
            (within("dense", questions=[{"feature": "shoe", "above": 1, "yes": 1, "no": 0}]), "questions.0..feature"),
            (
                within("dense", questions=[{"feature": "age", "above": 1, "yes": 5000, "no": 0}]),
                "dense.holding must be",
            ),
            (within("dense", directions={"columns": 0, "shift": 0, "matrix": ""}), "dense.directions.columns must be"),
            (within("ferns", depth=17), "model.hypothesis.ferns.count must be"),
            (within("ferns", depth=2), "model.hypothesis.ferns.features must be base64"),
            (within("ferns", features=packed(np.full(15, 7, dtype=np.int32))), "model.hypothesis.ferns.predicates"),
            (within("ferns", above=packed(np.full(15, np.nan))), "model.hypothesis.ferns.cut must be"),
            (within("dense", linear_model("columns"), columns=[]), "one entry for each of 7 features"),
        ],
    )
    def test_what_is_refused_and_where(self, text: str, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            PublishedModel.from_json(text)

    def test_hypotheses_that_the_words_do_not_fit(self) -> None:
        with pytest.raises(ParameterError, match="one on the 1 features"):
            PublishedModel(linear("both"), ("a", "b"), Schema((Column("x"),)), GUARANTEE)
        with pytest.raises(ParameterError, match="classes must be 2 labels"):
            replace(MODEL, classes=("a", "b", "c"))


class TestReading:
    @pytest.mark.parametrize(
        ("kind", "classes"), [("questions", 2), ("whitened", 2), ("questions", 3), ("whitened", 3)]
    )
    def test_the_scorecard_adds_up_to_the_score(self, kind: str, classes: int) -> None:
        """Up to the rounding of whitened coordinates, less than one each."""
        model = linear_model(kind, classes)
        dense = model.hypothesis.feature_map.dense  # type: ignore[attr-defined]
        assert isinstance(dense, PredicateVectors)
        holds = evaluate(PREDICATES, POINTS)
        sums = np.stack(
            [np.where(holds, each.yes, each.no).sum(axis=1) + each.start for each in sums_of(model.hypothesis)],  # type: ignore[arg-type]
            axis=1,
        )
        unit = UNIT if dense.directions is None else USUAL_NORM
        norms = np.sqrt((dense.vectors(POINTS).astype(np.float64) ** 2).sum(axis=1))
        wanted = model.decision_function(POINTS).reshape(300, -1) * norms[:, None] / unit
        weights = np.abs(np.array(model.hypothesis.weights)).sum(axis=1)  # type: ignore[attr-defined]
        assert (np.abs(sums - wanted) <= (1e-9 if kind == "questions" else 0.5 * weights / unit)).all()

    def test_effects_are_of_the_model(self) -> None:
        """What the text says of a category is what setting it does to the mean score."""
        model = MODEL.explained(people(50))
        assert model.effects is not None
        work = next(each for each in model.effects.columns if each.column.name == "work")
        points = dict(zip(work.at, work.points[0], strict=True))
        private = people(50) | {"work": ["Private"] * 50}
        wanted = model.decision_function(private).mean() - model.decision_function(people(50)).mean()
        assert points["work=Private"] == pytest.approx(wanted)


class TestProbabilities:
    @KINDS
    def test_they_add_up_and_the_largest_is_the_label(self, kind: str, classes: int) -> None:
        model = linear_model(kind, classes)
        found = model.predict_proba(PEOPLE)
        assert found.shape == (300, classes)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        decided = np.abs(np.diff(np.sort(found, axis=1)[:, -2:], axis=1))[:, 0] > 1e-12
        assert decided.mean() > 0.5
        assert (model.classes_[found.argmax(axis=1)] == model.predict(PEOPLE))[decided].all()


class TestOnnx:
    @settings(max_examples=4, deadline=None)
    @given(st.integers(0, 10**6))
    @KINDS
    def test_it_gives_the_same_labels_and_probabilities(
        self, tmp_path_factory: pytest.TempPathFactory, kind: str, classes: int, seed: int
    ) -> None:
        model = linear_model(kind, classes, seed)
        session = exported(model, tmp_path_factory.mktemp("onnx"))
        for table in (PEOPLE, rows_of(PEOPLE, [0])):
            labels, probabilities = run(session, table)
            assert labels.tolist() == model.predict(table).tolist()
            np.testing.assert_allclose(probabilities, model.predict_proba(table), rtol=1e-12, atol=1e-15)

    @pytest.mark.parametrize("classes", [2, 3])
    def test_ties_and_margins_that_only_rounding_decides(self, tmp_path: Path, classes: int) -> None:
        """Weights that add up to 0 over the answers: sums of whole numbers are 0 on either side."""
        blocks = 1 if classes == 2 else classes
        tenth = round(0.1 * 2**20) / 2**20
        weights = ((tenth, -tenth, 0.0, 0.0, 0.0, 0.0, 0.0),) * blocks
        features = feature_map("both")
        zero = LinearClassifier(
            features, classes, weights, (0.5,) * blocks, packed(np.zeros((blocks, 5, 8), dtype=np.int8))
        )
        model = replace(linear_model("both", classes), hypothesis=zero)
        labels, _ = run(exported(model, tmp_path), PEOPLE)
        assert labels.tolist() == model.predict(PEOPLE).tolist()
        assert 0.0 in model.decision_function(POINTS)


class TestPicture:
    @KINDS
    def test_every_kind_can_be_drawn(self, tmp_path: Path, kind: str, classes: int) -> None:
        model = linear_model(kind, classes).explained(PEOPLE)
        model.draw(tmp_path / "a.svg")
        assert (tmp_path / "a.svg").stat().st_size > 0


class TestSaving:
    def test_a_directory_that_can_be_carried_away(self, tmp_path: Path) -> None:
        saved = MODEL.save(tmp_path, public=PEOPLE)
        assert saved.left_out == {}
        assert [path.name for path in saved.written] == [
            *("model.json", "rules.txt", "card.md", "picture.svg", "model.onnx", "importance.txt", "importance.svg")
        ]
        assert PublishedModel.load(tmp_path) == saved.model == MODEL.explained(PEOPLE)
        assert (tmp_path / "importance.txt").read_text(encoding="utf-8") == f"{MODEL.importances(PEOPLE)}\n"

    def test_a_model_that_cannot_be_explained_is_a_model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise MemoryError("no room")

        monkeypatch.setattr(type(MODEL.kind), "effects", fail)
        saved = MODEL.save(tmp_path, public=PEOPLE)
        assert PublishedModel.load(tmp_path) == MODEL
        assert saved.failed["effects"] == "MemoryError: no room"
        assert (tmp_path / "model.onnx").exists()
