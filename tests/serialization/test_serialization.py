"""Documents: what is written comes back, what was written once can always be read, and nothing else can."""

from __future__ import annotations

import inspect
import json
import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from support.documents import EXAMPLES, GOLDEN, STRATEGIES

import pcqr
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.records.vectors import PredicateVectors
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.estimators import Fitted
from pcqr.hypotheses.finite import Member
from pcqr.hypotheses.growth import OneTeacher
from pcqr.hypotheses.intervals import Interval
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.privacy.composition import Stage
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.protocol.answers import Answer, Usage
from pcqr.releases.protocol.plan import Plan, QueryPlan
from pcqr.serialization import Document, register, tags
from pcqr.serialization import reading as table
from pcqr.serialization.reading import tag_of

TAGS = pytest.mark.parametrize("tag", tags())
FAMILIES = (Hypothesis, Plan, Stage)
BASES = {Hypothesis, Plan, QueryPlan, Stage}
SECRET = {Fitted, OneTeacher}
"""Teachers that are never published: what is kept of them are the arrays of their committee, if anything."""


ALONE = ("pcqr.__main__", "pcqr.gpu", "pcqr.bench.outside")
"""A command, and rooms that know nothing of pcqr and import what may not be installed."""


@cache
def everything_in_pcqr() -> list[type]:
    """Every class that a module of pcqr defines, but for those of `ALONE`."""
    names = [info.name for info in pkgutil.walk_packages(pcqr.__path__, "pcqr.") if not info.name.startswith(ALONE)]
    found = [(name, inspect.getmembers(import_module(name), inspect.isclass)) for name in names]
    return [cls for name, members in found for _, cls in members if cls.__module__ == name]


class TestEveryType:
    def test_all_have_a_strategy_an_example_and_a_golden_document(self) -> None:
        assert set(tags()) == set(STRATEGIES) == set(EXAMPLES) == {path.stem for path in GOLDEN.glob("*.json")}
        assert all(tag_of(type(value)) == tag for tag, value in EXAMPLES.items())

    @pytest.mark.parametrize("family", FAMILIES)
    def test_every_class_of_a_family_has_a_tag(self, family: type) -> None:
        found = {cls for cls in everything_in_pcqr() if issubclass(cls, family) and not inspect.isabstract(cls)}
        assert len(found - BASES) > 5
        assert {cls.__name__ for cls in found - BASES - SECRET if tag_of(cls) is None} == set()

    def test_whatever_is_called_a_stage_has_a_tag(self) -> None:
        found = [cls for cls in everything_in_pcqr() if cls.__name__.endswith("Stage") and cls is not Stage]
        assert len(found) > 5
        assert [cls.__name__ for cls in found if tag_of(cls) is None] == []

    @TAGS
    @given(data=st.data())
    @settings(max_examples=15)
    def test_what_is_written_comes_back(self, tag: str, data: st.DataObject) -> None:
        value = data.draw(STRATEGIES[tag])
        text = value.to_json()
        again = type(value).from_json(text)
        assert again == value
        assert type(again) is type(value)
        assert again.to_json() == text

    @TAGS
    def test_golden_documents_are_read_and_written_byte_for_byte(self, tag: str) -> None:
        text = (GOLDEN / f"{tag}.json").read_bytes().decode()
        value = type(EXAMPLES[tag]).from_json(text)
        assert value == EXAMPLES[tag]
        assert value.to_json() == text


def _without_heading(found: dict[str, Any]) -> dict[str, Any]:
    """An object as it stands within another one."""
    return {key: value for key, value in found.items() if key not in ("format", "version")}


class TestFieldsThatCameLater:
    def test_what_has_the_default_is_written_as_before(self) -> None:
        before = (GOLDEN / "noisy-max-stage.json").read_text()
        assert "labels" not in before
        assert NoisyMaxStage.from_json(before).labels == 2
        assert NoisyMaxStage.from_json(before).to_json() == before

    def test_a_map_without_a_tree_is_written_as_before_there_were_any(self) -> None:
        before = (GOLDEN / "feature-map.json").read_text()
        assert "tree" not in before
        assert FeatureMap.from_json(before).tree is None
        assert FeatureMap.from_json(before).to_json() == before
        tree = Split(Predicate(0, 0.5), Leaf(0), Leaf(1))
        beside = FeatureMap(PredicateVectors.of((Predicate(1, 0.5),), 2), None, 256, tree)
        assert FeatureMap.from_json(beside.to_json()).tree == tree
        assert json.loads(beside.to_json())["tree"] == json.loads(tree.to_json(), object_hook=_without_heading)

    @pytest.mark.parametrize(
        ("change", "message"), [({"labels": "10"}, r"document\.labels"), ({"label": 3}, "also label")]
    )
    def test_anything_else_is_still_refused(self, change: dict[str, Any], message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            NoisyMaxStage.from_json(json.dumps(json.loads(EXAMPLES["noisy-max-stage"].to_json()) | change))


class TestReading:
    @pytest.mark.parametrize("family", FAMILIES)
    def test_a_family_reads_each_of_its_classes(self, family: type[Document]) -> None:
        for tag, value in EXAMPLES.items():
            if isinstance(value, family):
                assert family.from_json(value.to_json()) == value
            else:
                with pytest.raises(ParameterError, match=f"of the type of a {family.__name__}; .* of type '{tag}'"):
                    family.from_json(value.to_json())

    def test_a_plan_whose_guarantee_is_beyond_its_budget_is_refused(self) -> None:
        document = json.loads(EXAMPLES["published-plan"].to_json())
        document["budget"]["epsilon"] = 0.5
        with pytest.raises(ParameterError, match=r"document\.guarantee must be within ε = 0\.5"):
            Plan.from_json(json.dumps(document))

    @pytest.mark.parametrize(("tag", "member"), [("sequence", "stages"), ("branch", "options")])
    def test_fewer_than_two_stages_or_anything_else_among_them_are_refused(self, tag: str, member: str) -> None:
        document = json.loads(EXAMPLES[tag].to_json())
        with pytest.raises(
            ParameterError, match=rf"document\.{member} must be at least two stages; received '1 values'"
        ):
            Stage.from_json(json.dumps(document | {member: document[member][:1]}))
        plan = json.loads(EXAMPLES["published-plan"].to_json(), object_hook=_without_heading)
        with pytest.raises(ParameterError, match=rf"document\.{member}\[1\] must be .* a Stage; .* 'published-plan'"):
            Stage.from_json(json.dumps(document | {member: [document[member][0], plan]}))

    def test_a_class_reads_no_other(self) -> None:
        with pytest.raises(ParameterError, match=r"an object of type 'interval'; received .* of type 'threshold'"):
            Interval.from_json(Threshold(0.5).to_json())

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"format": "pcqr-model"}, '"format": "pcqr-document"'),
            ({"version": 2}, r"document\.version must be 1, which this pcqr reads; received 2"),
            ({"version": True}, r"document\.version"),
            ({"version": 1.0}, r"document\.version"),
            ({"type": "pcqr.hypotheses.intervals:Interval"}, "received \"an object of type 'pcqr.hypotheses"),
            ({"type": "os.system"}, "an object of type 'os.system'"),
            ({"type": ["guarantee"]}, "an object of type 'guarantee'"),
            ({"type": None}, "an object of type 'guarantee'"),
            ({"epsilon": "1"}, r"document\.epsilon must be a number, \"inf\" or \"-inf\"; received '1'"),
            ({"epsilon": True}, r"document\.epsilon"),
            ({"epsilon": None}, r"document\.epsilon"),
            ({"epsilon": -1}, r"document\.epsilon must be a finite number ≥ 0; received -1\.0"),
            ({"epsilon": "inf"}, r"document\.epsilon must be a finite number ≥ 0"),
            ({"epsilon": 10**400}, r"document\.epsilon must be a number that float64 can hold"),
            ({"assumptions": "n"}, r"document\.assumptions must be a list; received 'n'"),
            ({"assumptions": ["n", 3]}, r"document\.assumptions\[1\] must be a text; received 3"),
            ({"is_private": 1}, r"document\.is_private must be true or false"),
            ({"unit": "record"}, r"document\.unit must be an object of type 'unit'; received 'record'"),
            ({"unit": {"type": "unit", "kind": "record"}}, r"document\.unit must be .* received 'one without rows'"),
            (
                {"unit": {"type": "unit", "kind": "day", "rows": None}},
                r"document\.unit\.kind must be one of record, user",
            ),
            (
                {"unit": {"type": "unit", "kind": "user", "rows": 2**63}},
                r"document\.unit\.rows must be .* of 64 bits",
            ),
            ({"unit": {"type": "unit", "kind": "user", "rows": 1.0}}, r"document\.unit\.rows"),
            ({"unit": {"type": "unit", "kind": "user", "rows": 0}}, r"document\.unit\.rows must be an integer ≥ 1"),
            ({"unit": {"type": "leaf", "label": 0}}, r"document\.unit must be an object of type 'unit'"),
            ({"secret": 1}, "also secret"),
        ],
    )
    def test_what_is_refused_and_where(self, change: dict[str, Any], message: str) -> None:
        document = json.loads(Guarantee(1.0).to_json()) | change
        with pytest.raises(ParameterError, match=message):
            Guarantee.from_json(json.dumps(document))

    @pytest.mark.parametrize(
        "text", [None, b"{}", 3, "", "[]", "null", "{}", "\ufeff{}", '"\\ud800"', "1" * 5000, "[" * 10**5]
    )
    def test_what_is_no_document(self, text: Any) -> None:
        with pytest.raises(ParameterError, match=r"^document must be"):
            Guarantee.from_json(text)

    def test_a_key_that_stands_twice(self) -> None:
        text = Guarantee(1.0).to_json().replace('"epsilon": 1.0', '"epsilon": 1.0, "epsilon": 0.1')
        with pytest.raises(ParameterError, match="epsilon twice"):
            Guarantee.from_json(text)

    def test_depth(self) -> None:
        def tree(depth: int) -> DecisionTree:
            root: Leaf | Split = Leaf(0)
            for _ in range(depth):
                root = Split(Predicate(0, 0.5), Leaf(1), root)
            return DecisionTree(root, 1)

        assert DecisionTree.from_json(tree(97).to_json()) == tree(97)
        for depth in (98, 5_000):
            with pytest.raises(ParameterError, match="document must be at most 100 levels deep"):
                tree(depth).to_json()
        deeper = tree(97).to_json().replace('"type": "leaf",\n', '"type": "leaf", "more": [[[]]],\n')
        with pytest.raises(ParameterError, match="document must be at most 100 levels deep"):
            DecisionTree.from_json(deeper)


class Unknown(Hypothesis):
    """A user's own class, which no table names."""

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), dtype=np.int8)


class Wider(Interval):
    """A subclass of a class that has documents."""


class TestWriting:
    def test_a_class_without_a_tag_is_refused(self) -> None:
        allowed = r"of a class that has documents \(pcqr\.serialization\.register\); received 'one of type "
        with pytest.raises(ParameterError, match=rf"^document must be {allowed}Unknown'"):
            Unknown().to_json()
        with pytest.raises(ParameterError, match=rf"^document must be {allowed}Wider'"):
            Wider(0.0, 1.0).to_json()
        for model in (Unknown(), DummyClassifier()):
            with pytest.raises(ParameterError, match=rf"^document\.predictor must be {allowed}{type(model).__name__}'"):
                Member(0, model).to_json()
        with pytest.raises(ParameterError, match="of the type of a Unknown"):
            Unknown.from_json(Interval(0.0, 1.0).to_json())

    def test_a_class_of_ones_own_can_be_given_a_tag(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(table, "_REGISTERED", {})
        register("wider", Wider)
        register("wider", Wider)
        assert Hypothesis.from_json(Wider(0.0, 1.0).to_json()) == Wider(0.0, 1.0)
        assert tags() == tuple(EXAMPLES), "those of pcqr alone"
        for tag, cls in (("wider", Unknown), ("interval", Unknown), ("", Unknown), ("iv", Interval), ("more", Wider)):
            with pytest.raises(ParameterError, match="tag"):
                register(tag, cls)

    @pytest.mark.parametrize(
        "value",
        [
            Threshold(float("nan")),
            Threshold("inf"),  # type: ignore[arg-type]
            Threshold(2**53 + 1),
            Threshold(10**400),
            Threshold(np.longdouble(1) / 3),  # type: ignore[arg-type]
            Threshold(0.5, up=1),  # type: ignore[arg-type]
            Answer(float("inf"), "stable", Usage(None, 1), Usage(None, 1)),
            Answer(2**63, "stable", Usage(None, 1), Usage(None, 1)),
            Answer((1, 2), "stable", Usage(None, 1), Usage(None, 1)),
            Answer("\ud800", "stable", Usage(None, 1), Usage(None, 1)),
            Answer(None, "new", Usage(None, 1), Usage(None, 1)),  # type: ignore[arg-type]
            Answer(None, "stable", Usage(2**63, 1), Usage(None, 1)),
        ],
    )
    def test_what_no_document_can_hold_is_refused_and_not_shown(self, value: Document) -> None:
        with pytest.raises(ParameterError) as caught:
            value.to_json()
        assert str(caught.value.received).startswith(("one of type ", "half of"))

    def test_text_is_utf_8_and_ends_its_line(self) -> None:
        text = Answer("ä", "stable", Usage(None, 1), Usage(None, 1)).to_json()
        assert text.endswith("}\n")
        assert '"ä"' in text


PIECES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63 - 1,
    2**63,
    10**30,
    0.5,
    "inf",
    "",
    "leaf",
    [],
    [[]],
    {},
    {"type": "unit"},
    [0.5, 1],
)
RAW = ("NaN", "Infinity", "-Infinity", "1e999", "1" * 5000, "[" * 2000 + "]" * 2000, '{"a": 1, "a": 2}', "\\ud800", "")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = put(value[path[0]], path[1:], new)
    return changed


@pytest.mark.parametrize("tag", ["guarantee", "member", "feature-map", "answer", "linear-stage", "universal-plan"])
@given(data=st.data())
@settings(max_examples=25)
def test_a_document_that_was_tampered_with_is_read_or_refused_and_nothing_else(tag: str, data: st.DataObject) -> None:
    document = json.loads((GOLDEN / f"{tag}.json").read_text(encoding="utf-8"))
    path = data.draw(st.sampled_from(list(places(document))))
    at: Any = document
    for key in path:
        at = at[key]
    change = data.draw(st.sampled_from(["retype", "raw", "drop", "add", "graft"]))
    if change == "drop" and isinstance(at, dict) and at:
        gone = data.draw(st.sampled_from(sorted(at)))
        document = put(document, path, {key: value for key, value in at.items() if key != gone})
    elif change == "add" and isinstance(at, dict):
        document = put(document, path, at | {data.draw(st.sampled_from(["more", "TYPE", "__class__"])): 1})
    elif change == "graft":
        document = put(document, path, data.draw(st.sampled_from([{**document}, [document], at, [at]])))
    elif change == "retype":
        document = put(document, path, data.draw(st.sampled_from(PIECES)))
    text = json.dumps(document)
    if change == "raw":
        text = json.dumps(put(document, path, "@@")).replace('"@@"', data.draw(st.sampled_from(RAW)))
    for reader in (type(EXAMPLES[tag]), *FAMILIES):
        try:
            value = reader.from_json(text)
        except ParameterError:
            continue
        assert reader.from_json(value.to_json()) == value
