"""Boosted trees as published models: JSON, weighted rules, pictures, ONNX and scores agree with `predict`."""

from __future__ import annotations

import json
import re
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
from pcqr.hypotheses.trees.boosted import BoostedTrees
from pcqr.hypotheses.trees.tree import Leaf, Split
from pcqr.hypotheses.trees.weighted import ABSTAIN
from pcqr.models import Provenance, PublishedModel
from pcqr.models.boosted import Voters, shapes_of
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


def ask(feature: int, cut: float, holds: Leaf | Split, fails: Leaf | Split) -> Split:
    return Split(Predicate(feature, cut), fails, holds)


def boosted(*roots: Leaf | Split, step: float = 0.25) -> BoostedTrees:
    return BoostedTrees(tuple(DecisionTree(root, 7) for root in roots), step, 7)


OLD = ask(AGE, 40.5, Leaf(1), ask(PRIVATE, 0.5, Leaf(ABSTAIN), Leaf(0)))
RICH = ask(GAIN, 1 / 3, Leaf(1), Leaf(0))
TREES = boosted(RICH, OLD, Leaf(0), OLD)
GUARANTEE = Guarantee(0.5, 1e-6, proof="boosting")
MODEL = PublishedModel(
    TREES, ("no", "yes"), SCHEMA, GUARANTEE, Provenance("votes of 4 trees", 1000, 50, settings=(("rounds", 4),))
)
validate = fastjsonschema.compile(
    json.loads((Path(pcqr.models.__file__).parent / "pcqr-model-2.schema.json").read_text(encoding="utf-8"))
)


def changed(change: dict[str, Any] | None = None, **inside: Any) -> str:
    document = json.loads(MODEL.to_json()) | (change or {})
    for name, values in inside.items():
        document[name] = document[name] | values
    return json.dumps(document)


def nodes(depth: int) -> st.SearchStrategy[Leaf | Split]:
    leaves = st.builds(Leaf, st.integers(0, 2))
    asked = st.builds(Predicate, st.integers(0, 6), st.sampled_from((0.0, 0.5, 40.5, 41.0, 1 / 3, 16777217.0, 5e-324)))
    return leaves if depth == 0 else leaves | st.builds(Split, asked, nodes(depth - 1), nodes(depth - 1))


votes = st.builds(
    lambda roots, step: boosted(*roots, step=step), st.lists(nodes(3), min_size=1, max_size=8), st.floats(1e-6, 10.0)
)


def people(count: int, seed: int = 0) -> dict[str, list[Any]]:
    generator = np.random.default_rng(seed)
    return {
        "age": [None if age > 90 else age for age in generator.choice([17, 40.5, 40.6, 41, 50, 99], count)],
        "work": generator.choice(np.array(["Private", "State", "Army", None], dtype=object), count).tolist(),
        "gain": generator.choice([0, -1.0, 1 / 3, 0.34, 0.5, 16777217.0, 16777218.0, 1e-320], count).tolist(),
    }


class TestJson:
    @settings(max_examples=60, deadline=None)
    @given(votes)
    def test_what_is_written_comes_back_exactly(self, hypothesis: BoostedTrees) -> None:
        model = replace(MODEL, hypothesis=hypothesis)
        text = model.to_json()
        assert PublishedModel.from_json(text) == model
        assert PublishedModel.from_json(text).to_json() == text
        validate(json.loads(text))

    def test_the_layout_is_stable(self) -> None:
        document = json.loads(MODEL.to_json())
        assert (document["version"], document["kind"]) == (2, "boosted-trees")
        assert document["hypothesis"]["step"] == 0.25
        assert len(document["hypothesis"]["trees"]) == 4, "as they were drawn, in order"
        assert document["hypothesis"]["trees"][1] == {
            "feature": "age",
            "above": 40.5,
            "then": {"label": "yes"},
            "else": {"feature": "work=Private", "above": 0.5, "then": {"label": None}, "else": {"label": "no"}},
        }

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (changed({"classes": ["a", "b", "c"]}), "model.hypothesis.trees.*must be one of the classes"),
            (changed({"hypothesis": {"label": "no"}}), "model.hypothesis must be an object with the keys step, trees"),
            (changed(hypothesis={"step": 0}), "model.hypothesis.step must be a number > 0"),
            (changed(hypothesis={"step": -0.5}), "model.hypothesis.step must be a number > 0"),
            (changed(hypothesis={"step": "a"}), "model.hypothesis.step must be a number"),
            (changed(hypothesis={"trees": []}), "model.hypothesis.trees must be at least one tree"),
            (changed(hypothesis={"trees": [3]}), r"model.hypothesis.trees\[0\] must be an object"),
            (changed(hypothesis={"trees": [{"label": "maybe"}]}), r"trees\[0\].label must be one of .*or null"),
            (changed(hypothesis={"trees": [{"label": 2}]}), r"trees\[0\].label must be one of the classes"),
            (changed(hypothesis={"trees": [{"label": "no", "count": 3}]}), "also count"),
            (changed(hypothesis={"weights": []}), "also weights"),
        ],
    )
    def test_what_is_refused_and_where(self, text: str, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            PublishedModel.from_json(text)

    def test_a_single_tree_cannot_abstain(self) -> None:
        text = json.dumps(json.loads(MODEL.to_json()) | {"kind": "decision-tree", "version": 1})
        document = json.loads(text)
        del document["provenance"]["settings"]
        with pytest.raises(ParameterError, match=r"must be one of the classes \['no', 'yes'\]; received None"):
            PublishedModel.from_json(json.dumps(document | {"hypothesis": {"label": None}}))

    def test_hypotheses_that_the_words_do_not_fit(self) -> None:
        with pytest.raises(ParameterError, match="hypothesis"):
            replace(MODEL, hypothesis=BoostedTrees((DecisionTree(Leaf(0), 2),), 1.0, 2))

    def test_three_classes_are_too_many(self) -> None:
        with pytest.raises(ParameterError, match="two labels"):
            replace(MODEL, classes=("a", "b", "c"))


class TestReading:
    def test_each_tree_with_its_weight_the_same_ones_added(self) -> None:
        assert MODEL.rules().splitlines() == [
            "4 trees, each with a vote of weight 0.25.",
            "The label is yes where it gets more votes than no, else no.",
            "Trees that are the same are written once, with their weights added. A tree may abstain.",
            "",
            "weight 0.5 (2 trees):",
            "    if age > 40.5:",
            "        vote for yes",
            "    else:  # age ≤ 40.5",
            "        if work = Private:",
            "            abstain",
            "        else:  # work ≠ Private",
            "            vote for no",
            "",
            "weight 0.25 (1 tree):",
            "    if gain > 0.3333:",
            "        vote for yes",
            "    else:  # gain ≤ 0.3333",
            "        vote for no",
            "",
            "weight 0.25 (1 tree):",
            "    vote for no",
            "",
            "Numbers are rounded for reading; the JSON has all digits.",
        ]

    def test_one_rule_a_line_the_heaviest_first(self) -> None:
        assert MODEL.rules(flat=True).splitlines()[3:] == [
            "IF age > 40.5 THEN 0.5 for yes",
            "IF age ≤ 40.5 AND work ≠ Private THEN 0.5 for no",
            "IF gain > 0.3333 THEN 0.25 for yes",
            "IF gain ≤ 0.3333 THEN 0.25 for no",
            "ALWAYS 0.25 for no",
        ]

    def test_rules_that_cancel_are_left_out(self) -> None:
        both = boosted(ask(GAIN, 1.0, Leaf(1), Leaf(ABSTAIN)), ask(GAIN, 1.0, Leaf(0), Leaf(1)))
        assert replace(MODEL, hypothesis=both).rules(flat=True).splitlines()[3:] == ["IF gain ≤ 1 THEN 0.25 for yes"]

    @settings(max_examples=40, deadline=None)
    @given(votes)
    def test_the_flat_rules_add_up_to_the_margin(self, hypothesis: BoostedTrees) -> None:
        """Applied by hand to records, with nothing but what is written."""
        model = replace(MODEL, hypothesis=hypothesis)
        exact = model.kind.rules(hypothesis, model.vocabulary, flat=True)  # cuts with all their digits
        lines = [line for line in exact.splitlines()[3:] if line != "No rule gives anything."]
        rules = [
            (conditions, float(weight) * (1 if label == "yes" else -1))
            for line in lines
            for conditions, weight, label in re.findall(r"^(?:IF (.*) THEN|ALWAYS) (\S+) for (yes|no)$", line)
        ]
        assert len(rules) == len(lines)
        table = people(40)
        for i, margin in enumerate(model.decision_function(table)):
            row = {name: values[i] for name, values in table.items()}
            total = sum(weight for conditions, weight in rules if applies(conditions, row))
            assert total == pytest.approx(margin, abs=1e-9)

    def test_the_card(self) -> None:
        card = MODEL.card()
        for part in (
            "# A vote of boosted trees published under differential privacy",
            "whatever one looks for in the published model",
            "Settings, all from public numbers: rounds 4.",
            "Its scores are no probabilities.",
            MODEL.rules(),
        ):
            assert part in card


def applies(conditions: str, row: dict[str, Any]) -> bool:
    """Do the words of a rule hold for a record? A missing age counts as 17."""
    age = 17.0 if row["age"] is None else float(row["age"])
    known = row["work"] if row["work"] in (None, "Private", "State") else "other"
    for condition in filter(None, conditions.split(" AND ")):
        match condition.split(" "):
            case [("age" | "gain") as name, (">" | "≤") as sign, cut]:
                holds = ((age if name == "age" else row["gain"]) > float(cut)) == (sign == ">")
            case ["work", ("=" | "≠") as sign, value]:
                holds = (known == value) == (sign == "=")
            case [name, "is", *rest]:
                asked = (
                    (row["age"] is None) if name == "age" else (known == (None if rest[-1] == "missing" else "other"))
                )
                holds = asked != ("not" in rest)
            case _:
                raise AssertionError(condition)
        if not holds:
            return False
    return True


class TestScores:
    def test_they_are_votes_times_the_step(self) -> None:
        table = {"age": [50, 20, 20], "work": ["State", "Private", "State"], "gain": [1.0, 1.0, 0.0]}
        assert MODEL.decision_function(table).tolist() == [0.5, 0.0, -1.0]
        assert MODEL.predict(table).tolist() == ["yes", "no", "no"], "a tie is the first label"


class TestOnnx:
    @settings(max_examples=25, deadline=None)
    @given(votes)
    def test_it_gives_the_same_labels(self, tmp_path_factory: pytest.TempPathFactory, hypothesis: BoostedTrees) -> None:
        path = tmp_path_factory.mktemp("onnx") / "model.onnx"
        model = replace(MODEL, hypothesis=hypothesis)
        model.to_onnx(path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        X = np.concatenate([SCHEMA.encode(people(200)), np.random.default_rng(1).normal(size=(50, 7))])
        assert session.run(["label"], {"X": X})[0].tolist() == model.predict(X).tolist()
        assert session.run(["label"], {"X": X[:1]})[0].tolist() == model.predict(X[:1]).tolist()

    @pytest.mark.parametrize("roots", [(Leaf(ABSTAIN),), (Leaf(1),), (Leaf(1), Leaf(0)), (RICH, Leaf(1), Leaf(1))])
    def test_trees_without_questions(self, tmp_path: Path, roots: tuple[Leaf | Split, ...]) -> None:
        model = replace(MODEL, hypothesis=boosted(*roots))
        model.to_onnx(tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
        X = SCHEMA.encode(people(20))
        assert session.run(["label"], {"X": X})[0].tolist() == model.predict(X).tolist()


class TestPicture:
    def test_shapes_toss_a_coin_at_other_questions(self) -> None:
        gain, *_ = (
            shape for shape in shapes_of(TREES, Voters([RICH, OLD]), MODEL.vocabulary) if shape.column.name == "gain"
        )
        assert [level.points for level in gain.levels] == [-0.25, 0.25]
        age, *_ = (
            shape for shape in shapes_of(TREES, Voters([RICH, OLD]), MODEL.vocabulary) if shape.column.name == "age"
        )
        # Above 40.5 a vote for yes; else half a vote for no: ±0.75/2 votes about their mean, each of 0.25.
        assert [level.points for level in age.levels] == [-0.1875, 0.1875]
        assert [level.words for level in age.levels] == ["age ≤ 40.5", "age > 40.5"]

    @pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
    def test_formats(self, tmp_path: Path, suffix: str) -> None:
        MODEL.draw(tmp_path / f"picture{suffix}")
        assert (tmp_path / f"picture{suffix}").read_bytes()[:5] in (b"<?xml", b"\x89PNG\r", b"%PDF-")

    def test_the_same_model_gives_the_same_file(self, tmp_path: Path) -> None:
        for name in ("a.svg", "b.svg"):
            MODEL.draw(tmp_path / name)
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()

    def test_nothing_is_cut_off_and_trees_without_questions_can_be_drawn(self, tmp_path: Path) -> None:
        for name, trees in (("all.png", TREES), ("none.png", boosted(Leaf(ABSTAIN), Leaf(1)))):
            replace(MODEL, hypothesis=trees).draw(tmp_path / name)
            pixels = imread(tmp_path / name)[:, :, :3]
            edge = np.concatenate(
                [pixels[:8].ravel(), pixels[-8:].ravel(), pixels[:, :8].ravel(), pixels[:, -8:].ravel()]
            )
            assert (edge == 1.0).all()
            assert (pixels < 0.5).any()


def test_a_directory_that_can_be_carried_away(tmp_path: Path) -> None:
    saved = MODEL.save(tmp_path)
    assert saved.left_out == {}
    assert [path.name for path in saved.written][3:] == ["picture.svg", "model.onnx"]
    assert PublishedModel.load(tmp_path) == MODEL
