"""Branches that no record can take are not shown, and the function of records stays what it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import DecisionTree
from pcqr.models.trees import without_impossible

SCHEMA = Schema(
    (
        Column("age", bounds=(17, 90), missing=True),
        Column("job", "categorical", ("clerk", "nurse"), other=True),
        Column("gain", missing=True),
        Column("hours", bounds=(0, 99)),
    )
)
AGE, NO_AGE, CLERK, NURSE, OTHER, NO_JOB, GAIN, NO_GAIN, HOURS = range(9)
CUTS = {AGE: (16.9, 17.0, 40.5, 89.9, 90.0), GAIN: (-1.0, 0.0, 1e300), HOURS: (-0.5, 0.0, 98.5, 99.0, 120.0)}
INDICATOR_CUTS = (-0.5, 0.0, 0.5, 1.0)


def ask(feature: int, cut: float, holds: Leaf | Split, fails: Leaf | Split) -> Split:
    return Split(Predicate(feature, cut), fails, holds)


def tree(root: Leaf | Split) -> DecisionTree:
    return DecisionTree(root, len(SCHEMA.features))


def predicates() -> st.SearchStrategy[Predicate]:
    return st.integers(0, len(SCHEMA.features) - 1).flatmap(
        lambda feature: st.builds(Predicate, st.just(feature), st.sampled_from(CUTS.get(feature, INDICATOR_CUTS)))
    )


def nodes(depth: int) -> st.SearchStrategy[Leaf | Split]:
    leaves = st.builds(Leaf, st.integers(0, 2))
    return leaves if depth == 0 else st.builds(Split, predicates(), nodes(depth - 1), nodes(depth - 1))


people = st.fixed_dictionaries(
    {
        "age": st.none() | st.sampled_from([0, 17, 17.5, 40.5, 41, 90, 200]),
        "job": st.sampled_from([None, "clerk", "nurse", "baker"]),
        "gain": st.none() | st.sampled_from([-5, -1, 0, 5e-324, 1, 1e301]),
        "hours": st.sampled_from([-3, 0, 5e-324, 50, 98.75, 99, 130]),
    }
)


def possible_leaves(node: Leaf | Split) -> int:
    return 1 if isinstance(node, Leaf) else possible_leaves(node.fails) + possible_leaves(node.holds)


@settings(max_examples=150, deadline=None)
@given(nodes(4), st.lists(people, min_size=1, max_size=30))
def test_records_keep_their_labels(root: Leaf | Split, rows: list[dict[str, Any]]) -> None:
    X = SCHEMA.encode({name: [row[name] for row in rows] for name in SCHEMA.names})
    shown = without_impossible(tree(root), SCHEMA)
    assert shown.predict(X).tolist() == tree(root).predict(X).tolist()
    assert possible_leaves(shown.root) <= possible_leaves(root)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (
            ask(CLERK, 0.5, ask(NURSE, 0.5, Leaf(1), Leaf(0)), Leaf(2)),
            ask(CLERK, 0.5, Leaf(0), Leaf(2)),
        ),
        (
            ask(NO_AGE, 0.5, ask(AGE, 40.5, Leaf(1), Leaf(0)), Leaf(2)),
            ask(NO_AGE, 0.5, Leaf(0), Leaf(2)),
        ),
        (
            ask(AGE, 40.5, ask(NO_AGE, 0.5, Leaf(1), Leaf(0)), Leaf(2)),
            ask(AGE, 40.5, Leaf(0), Leaf(2)),
        ),
        (  # the only category that is left
            ask(
                CLERK,
                0.5,
                Leaf(0),
                ask(NURSE, 0.5, Leaf(1), ask(OTHER, 0.5, Leaf(0), ask(NO_JOB, 0.5, Leaf(2), Leaf(1)))),
            ),
            ask(CLERK, 0.5, Leaf(0), ask(NURSE, 0.5, Leaf(1), ask(OTHER, 0.5, Leaf(0), Leaf(2)))),
        ),
        (ask(HOURS, 99.0, Leaf(1), Leaf(0)), Leaf(0)),
        (ask(HOURS, -0.5, Leaf(1), Leaf(0)), Leaf(1)),
        (ask(HOURS, 0.0, Leaf(1), Leaf(0)), ask(HOURS, 0.0, Leaf(1), Leaf(0))),
        (ask(CLERK, 1.0, Leaf(1), Leaf(0)), Leaf(0)),
        (  # a missing gain counts as 0
            ask(NO_GAIN, 0.5, ask(GAIN, -1.0, Leaf(1), Leaf(0)), Leaf(2)),
            ask(NO_GAIN, 0.5, Leaf(1), Leaf(2)),
        ),
    ],
)
def test_what_cannot_be_is_not_asked(asked: Split, shown: Leaf | Split) -> None:
    assert without_impossible(tree(asked), SCHEMA).root == shown
