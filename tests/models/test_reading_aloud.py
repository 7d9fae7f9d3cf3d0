"""Rules, pictures and the card: what people see is what the model does."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from pcqr import Guarantee
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import DecisionTree
from pcqr.models import Provenance, PublishedModel
from pcqr.models.vocabulary import apart

SCHEMA = Schema((Column("age", bounds=(17, 90), missing=True), Column("work", "categorical", ("Private", "State"))))
AGE, GAP, PRIVATE, STATE, NO_WORK = range(5)
ROOT = Split(
    Predicate(PRIVATE, 0.5),
    fails=Split(Predicate(NO_WORK, 0.5), Split(Predicate(GAP, 0.5), Leaf(1), Leaf(0)), Leaf(0)),
    holds=Split(Predicate(AGE, 30.3), Leaf(0), Split(Predicate(AGE, 1 / 3 + 50), Leaf(1), Leaf(0))),
)


def model(
    root: Leaf | Split = ROOT, *, schema: Schema = SCHEMA, seeded: bool = False, delta: float = 0.0
) -> PublishedModel:
    origin = Provenance(
        "decision trees of depth 3 over 9 public predicates", 1234, 50, (Predicate(AGE, 30.3),), 0.1875, 2**-30
    )
    guarantee = Guarantee(0.375, delta, proof="sspp", assumptions=("the label names",), is_private=not seeded)
    return PublishedModel(DecisionTree(root, len(schema.features)), ("no", "yes"), schema, guarantee, origin)


class TestRules:
    def test_nested(self) -> None:
        assert model().rules() == "\n".join(
            (
                "if work = Private:",
                "    if age > 30.3:",
                "        if age > 50.33:",
                "            predict no",
                "        else:  # age ≤ 50.33",
                "            predict yes",
                "    else:  # age ≤ 30.3",
                "        predict no",
                "else:  # work ≠ Private",
                "    if work is missing:",
                "        predict no",
                "    else:  # work is not missing",
                "        if age is missing:",
                "            predict no",
                "        else:  # age is not missing",
                "            predict yes",
                "",
                "Numbers are rounded for reading; the JSON has all digits.",
            )
        )

    def test_cuts_have_as_few_digits_as_tell_them_apart(self) -> None:
        close = 50.3335678901
        tree = Split(Predicate(AGE, 1 / 3 + 50), Leaf(0), Split(Predicate(AGE, close), Leaf(1), Leaf(0)))
        assert model(tree).rules(flat=True).splitlines() == [
            "IF age > 50.334 THEN no",
            "IF age > 50.333 AND age ≤ 50.334 THEN yes",
            "IF age ≤ 50.333 THEN no",
        ]

    def test_the_probability_of_each_label_stands_behind_it(self) -> None:
        tree = DecisionTree(Split(Predicate(AGE, 30.3), Leaf(0), Leaf(1)), len(SCHEMA.features))
        scored = replace(model(), hypothesis=tree.with_shares([(0.125, 0.875), (0.9999999, 1e-7)]))
        assert scored.rules().splitlines() == [
            "if age > 30.3:",
            "    predict yes (probability 0.875)",
            "else:  # age ≤ 30.3",
            "    predict no (probability 0.999)",
            "",
            "Numbers are rounded for reading; the JSON has all digits.",
        ]
        assert scored.rules(flat=True).splitlines() == [
            "IF age > 30.3 THEN yes (probability 0.875)",
            "IF age ≤ 30.3 THEN no (probability 0.999)",
        ]

    @given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
    def test_any_numbers_are_told_apart_in_order(self, values: list[float]) -> None:
        texts = apart(values)
        assert len(set(texts.values())) == len(set(values))
        assert sorted(texts) == sorted(texts, key=lambda value: float(texts[value]))
        for value, text in texts.items():
            assert math.isclose(float(text), value, rel_tol=5e-4)

    def test_flat_with_the_tightest_conditions_only(self) -> None:
        assert model().rules(flat=True).splitlines() == [
            "IF work = Private AND age > 50.33 THEN no",
            "IF work = Private AND age > 30.3 AND age ≤ 50.33 THEN yes",
            "IF work = Private AND age ≤ 30.3 THEN no",
            "IF work ≠ Private AND work is missing THEN no",
            "IF work ≠ Private AND work is not missing AND age is missing THEN no",
            "IF work ≠ Private AND work is not missing AND age is not missing THEN yes",
        ]

    def test_questions_asked_in_vain_are_not_shown(self) -> None:
        tree = Split(Predicate(AGE, 30.0), Leaf(1), Split(Predicate(AGE, 20.0), Leaf(0), Leaf(1)))
        assert model(tree).rules() == "predict yes"
        assert model(tree).rules(flat=True) == "ALWAYS yes"

    def test_names_cannot_break_a_line(self) -> None:
        schema = Schema((Column("a\nb", "categorical", ("c\td",)),))
        rules = model(Split(Predicate(0, 0.5), Leaf(0), Leaf(1)), schema=schema).rules()
        assert rules.splitlines()[0] == "if a\\nb = c\\td:"
        assert len(rules.splitlines()) == 4


class TestCard:
    def test_it_says_what_was_promised_and_what_was_not(self) -> None:
        card = model().card()
        for part in (
            "any one of the 1,234 private records",
            "more than e^0.375 ≈ 1.46 times as likely",
            "Adjacency: replace one record",
            "Numerical slack: 9.32e-10 of ε",
            "decision trees of depth 3 over 9 public predicates",
            "50 rows without labels",
            "**Treated as public:** the label names.",
            "| age | numeric | finite numbers, may be missing, clipped to 17 … 90 |",
            "A missing age counts as 17.",
            "No probabilities",
            "No accuracy is stated",
            'PublishedModel.load("model.json")',
            model().rules(),
        ):
            assert part in card
        assert "NOT PRIVATE" not in card

    def test_public_coins_are_not_taken_for_a_seed_of_the_noise(self) -> None:
        settings = (("ferns", 0.0), ("steps", 100.0), ("seed", 0.0), ("pilot_ferns", 0.0), ("pilot_seed", 0.0))
        card = replace(model(), provenance=Provenance(settings=settings)).card()
        assert "Settings, all from public numbers: ferns 0, steps 100, pilot ferns 0." in card
        assert "seed" not in card
        with_ferns = (*settings[:3], ("pilot_ferns", 10.0), ("pilot_seed", 7.0))
        card = replace(model(), provenance=Provenance(settings=with_ferns)).card()
        assert "The splits of its ferns come from public coins (7): no record and no noise." in card
        assert "seed" not in card

    def test_names_cannot_break_code_or_carry_html(self) -> None:
        strange = replace(model(), classes=("`a``b", "<script>"))
        assert "labels ``` `a``b ```, `<script>`." in strange.card()
        assumed = replace(strange, guarantee=Guarantee(1.0, assumptions=("<img src=x>|`[a](b)",), steps=("a step",)))
        assert "**Treated as public:** &lt;img src=x>\\|\\`\\[a\\](b)." in assumed.card()
        assert "Step within this release: a step." in assumed.card()


class TestPicture:
    @pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
    def test_formats(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"tree{suffix}"
        model().draw(path)
        assert path.read_bytes()[:5] in (b"<?xml", b"\x89PNG\r", b"%PDF-")

    def test_nothing_is_cut_off(self, tmp_path: Path) -> None:
        """Names with mathematics and of any length; the margins of the picture stay white."""
        schema = Schema((Column("$x^2$ " * 12), Column("work", "categorical", ("W" * 60,))))
        root = Split(Predicate(0, 1e-300 / 3), Split(Predicate(1, 0.5), Leaf(0), Leaf(1)), Leaf(1))
        model(root, schema=schema, seeded=True).draw(tmp_path / "wide.png")
        pixels = imread(tmp_path / "wide.png")[:, :, :3]
        edge = np.concatenate([pixels[:8].ravel(), pixels[-8:].ravel(), pixels[:, :8].ravel(), pixels[:, -8:].ravel()])
        assert (edge == 1.0).all()
        assert (pixels < 0.5).any()
