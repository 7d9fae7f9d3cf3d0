"""Intervals, unions, rectangles and half-planes as published models: what every universal release can publish."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import fastjsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import pcqr.models
from pcqr import Guarantee, ParameterError, SemiPrivateLearner, UniversalRelease
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import (
    DecisionTrees,
    Finite,
    Halfspaces,
    Intervals,
    Rectangles,
    Stumps,
    Thresholds,
    UnionsOfIntervals,
)
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.halfspaces import Constant, Halfspace
from pcqr.hypotheses.intervals import EMPTY_INTERVAL, Interval
from pcqr.hypotheses.rectangles import EMPTY, Rectangle
from pcqr.hypotheses.unions import IntervalUnion
from pcqr.models import PublishedModel

INF = math.inf
LINE, PLANE = Schema((Column("age"),)), Schema((Column("age", bounds=(0, 99)), Column("pay")))
CASES: dict[str, tuple[Hypothesis, Schema, str]] = {
    "interval": (Interval(0.1 + 0.2, 40.5), LINE, "if 0.3 < age ≤ 40.5:"),
    "open interval": (Interval(-INF, 40.5), LINE, "if age ≤ 40.5:"),
    "everything": (Interval(-INF, INF), LINE, "always predict yes"),
    "nothing": (EMPTY_INTERVAL, LINE, "always predict no"),
    "union": (IntervalUnion((1.5, 2.5, 7.0)), LINE, "if 1.5 < age ≤ 2.5 or age > 7:"),
    "empty union": (IntervalUnion(()), LINE, "always predict no"),
    "rectangle": (Rectangle(20.5, INF, -INF, 1 / 3), PLANE, "if age > 20.5 and pay ≤ 0.3333:"),
    "no rectangle": (EMPTY, PLANE, "always predict no"),
    "half-plane": (
        Halfspace((1.0, 0.25), (3.0, -0.5)),
        PLANE,
        "if (3 − 1)·(pay − 0.25) > (-0.5 − 0.25)·(age − 1), or both are equal and age ≤ 1:",
    ),
    "constant": (Constant(1), PLANE, "always predict yes"),
}
SUBJECTS = pytest.mark.parametrize(("hypothesis", "schema", "rule"), CASES.values(), ids=CASES.keys())


def published(hypothesis: Hypothesis, schema: Schema, classes: tuple[Any, Any] = ("no", "yes")) -> PublishedModel:
    return PublishedModel(hypothesis, classes, schema, Guarantee(1.0, 1e-6, proof="unv_priv_cl"))


def points(hypothesis: Hypothesis, features: int) -> NDArray[np.float64]:
    """On, just beside and far from every number that the hypothesis is made of."""
    own = np.array([float(number) for number in _numbers(vars(hypothesis)) if math.isfinite(number)] or [0.0])
    values = np.concatenate([own, np.nextafter(own, INF), np.nextafter(own, -INF), own + 1.0, own - 1.0, [0.0, 1e9]])
    generator = np.random.default_rng(0)
    return np.column_stack([generator.permutation(np.tile(values, 20)) for _ in range(features)])


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return _numbers(list(value.values()))
    return [number for entry in value for number in _numbers(entry)] if isinstance(value, list | tuple) else [value]


class TestKinds:
    validate = staticmethod(
        fastjsonschema.compile(
            json.loads((Path(pcqr.models.__file__).parent / "pcqr-model-3.schema.json").read_text(encoding="utf-8"))
        )
    )

    @SUBJECTS
    def test_json_comes_back_exactly(self, hypothesis: Hypothesis, schema: Schema, rule: str) -> None:
        model = published(hypothesis, schema)
        back = PublishedModel.from_json(model.to_json())
        assert back == model
        assert back.to_json() == model.to_json()
        X = points(hypothesis, len(schema.features))
        assert back.predict(X).tolist() == [("no", "yes")[label] for label in hypothesis.predict(X)]
        self.validate(json.loads(model.to_json()))
        assert rule in model.rules()

    @given(st.lists(st.integers(-3, 3), min_size=6, max_size=6))
    def test_the_words_of_a_half_plane_are_its_sides(self, numbers: list[int]) -> None:
        tail, head, at = ((float(numbers[i]), float(numbers[i + 1])) for i in (0, 2, 4))
        if tail == head:
            return
        rule = published(Halfspace(tail, head), PLANE).rules(flat=True).splitlines()[0]
        side, equal = rule.removeprefix("IF ").removesuffix(" THEN yes").split(", or both are equal and ")
        python = str.maketrans({"−": "-", "·": "*", "≤": "<=", "≥": ">="})
        names = dict(zip(("age", "pay"), at, strict=True))
        left, right = (eval(part.translate(python), names.copy()) for part in side.split(" > "))  # noqa: S307
        holds = left > right or (left == right and eval(equal.translate(python), names.copy()))  # noqa: S307
        assert holds == bool(Halfspace(tail, head).predict(np.array([at]))[0])

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.floats(allow_nan=False), max_size=7, unique=True), st.lists(st.floats(-1e9, 1e9), min_size=1))
    def test_unions_of_any_number_of_intervals(self, ends: list[float], x: list[float]) -> None:
        union = IntervalUnion(tuple(sorted(ends)))
        model = published(union, LINE)
        assert PublishedModel.from_json(model.to_json()) == model
        tree: Any = model.kind
        X = np.array([*x, *(end for end in ends if math.isfinite(end))])
        assert tree.as_tree(union).predict(X).tolist() == union.predict(X).tolist()
        self.validate(json.loads(model.to_json()))

    @pytest.mark.parametrize(
        ("case", "change", "message"),
        [
            ("interval", {"above": 41.0}, "model.hypothesis.above must be at most up_to"),
            ("interval", {"above": "low"}, "model.hypothesis.above must be a number"),
            ("interval", {"feature": "pay"}, "model.hypothesis.feature must be"),
            ("interval", {"inside": "no"}, "model.hypothesis.inside must be the second class"),
            ("interval", {"extra": 1}, "also extra"),
            ("union", {"switches": [2.0, 1.0]}, "model.hypothesis.switches must be strictly increasing"),
            ("union", {"switches": 3}, "model.hypothesis.switches must be a list"),
            ("rectangle", {"sides": []}, "model.hypothesis.sides must be"),
            ("half-plane", {"to": [1.0, 0.25]}, "model.hypothesis.to must be another point than 'from'"),
            ("half-plane", {"to": [1.0]}, "model.hypothesis.to must be a list of two numbers"),
            ("half-plane", {"features": ["pay", "age"]}, "model.hypothesis.features must be"),
            ("constant", {"label": "maybe"}, "model.hypothesis.label must be one of the classes"),
        ],
    )
    def test_what_is_refused_and_where(self, case: str, change: dict[str, Any], message: str) -> None:
        hypothesis, schema, _ = CASES[case]
        document = json.loads(published(hypothesis, schema).to_json())
        document["hypothesis"] |= change
        with pytest.raises(ParameterError, match=message):
            PublishedModel.from_json(json.dumps(document))


class TestFromReleases:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2000, 2)).round(2)
    queries = generator.normal(size=(12, 2))

    @pytest.mark.parametrize(
        ("hypotheses", "said"),
        [
            (Thresholds(), "thresholds"),
            (Intervals(), "intervals"),
            (UnionsOfIntervals(2), "unions of at most 2 intervals"),
            (Stumps(), "decision stumps"),
            (Rectangles(), "axis-aligned rectangles"),
            (Halfspaces(), "half-planes"),
            (DecisionTrees(depth=1), "decision trees of depth 1"),
        ],
        ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
    )
    def test_every_class_that_a_universal_release_can_publish(self, hypotheses: HypothesisClass, said: str) -> None:
        width = hypotheses.features or 2
        X, y = self.X[:800, :width], (self.X[:800, 0] > 0).astype(int)
        public = self.queries[:, :width] + 0.005 if hypotheses.needs_public else None
        release = UniversalRelease(hypotheses, epsilon=8.0, queries=4, entropy=1).fit(X, y, public=public)
        release.predict(self.queries[:, :width])
        model = PublishedModel.from_learner(release, classes=("no", "yes"))
        back = PublishedModel.from_json(model.to_json())
        assert back.predict(X).tolist() == [("no", "yes")[label] for label in release.hypothesis_.predict(X)]
        assert said in model.provenance.hypotheses
        assert said in model.card()
        assert release.guarantee_ == back.guarantee

    def test_a_member_of_a_list_of_models_cannot_be_written(self) -> None:
        learner = SemiPrivateLearner(Finite([Constant(0), Constant(1)]), 2.0, entropy=1).fit(
            self.X, (self.X[:, 0] > 0).astype(int)
        )
        with pytest.raises(ParameterError, match=r"hypothesis must be a .* received 'Member'"):
            PublishedModel.from_learner(learner)
