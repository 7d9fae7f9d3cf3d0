"""A published model that several tests look at: a tree over an age, a kind of work and a gain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pcqr import Guarantee
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import DecisionTree
from pcqr.models import Provenance, PublishedModel

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
SHARES = ((0.25, 0.5, 0.25), (0.75, 0.125, 0.125), (0.2, 0.1, 0.7), (0.4, 0.3, 0.3))
SCORED = replace(MODEL, hypothesis=TREE.with_shares(SHARES))
"""The same with probabilities at its leaves."""
PEOPLE: dict[str, list[Any]] = {
    "gain": [6000, 0, 5119, 0],
    "work": ["Private", "State", "Private", None],
    "age": [40, 80, 20, None],
}
LABELS = ["middle", "high", "low", "low"]
