"""A tree without branches that no record can take, given what the schema says about encoded rows.

A categorical column has exactly one indicator at 1, a number lies within its bounds, and a missing number is the public
constant it counts as. So after "job = clerk" nobody is a nurse, and where age is missing it is not above 40.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping

from pcqr.data.records.predicates import Leaf, Split
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses.trees.tree import DecisionTree

Range = tuple[float, float]
"""Lowest and highest value, both possible."""

Case = tuple[Range, ...]
"""One way in which a column can be encoded: a range for each of its features."""


def without_impossible(tree: DecisionTree, schema: Schema) -> DecisionTree:
    """A tree that gives every row that `schema` can encode the label that `tree` gives it. Post-processing.

    On arrays that are no encoding, such as rows with two categories of one column, the two may differ.
    """
    places = [(column, place) for column, owner in enumerate(schema.columns) for place in range(len(owner.features))]
    known = {column: _cases(owner) for column, owner in enumerate(schema.columns)}
    return DecisionTree(_pruned(tree.simplified().root, places, known), tree.features).simplified()


def _cases(column: Column) -> tuple[Case, ...]:
    if column.kind == "categorical":
        count = len(column.features)
        return tuple(tuple((float(i == one),) * 2 for i in range(count)) for one in range(count))
    present = column.limits or (-sys.float_info.max, sys.float_info.max)
    if column.filled_with is None:
        return ((present,),)
    constant = column.filled_with
    return ((present, (0.0, 0.0)), ((constant, constant), (1.0, 1.0)))


def _pruned(node: Leaf | Split, places: list[tuple[int, int]], known: Mapping[int, tuple[Case, ...]]) -> Leaf | Split:
    """`node` without the questions that all cases left on its path answer alike.

    `places`: for each feature its column and its place there. `known`: what each column can still be.
    """
    if isinstance(node, Leaf):
        return node
    column, place = places[node.predicate.feature]
    cut = node.predicate.cut
    above = _narrowed(known[column], place, (math.nextafter(cut, math.inf), math.inf))
    below = _narrowed(known[column], place, (-math.inf, cut))
    if not below:
        return _pruned(node.holds, places, known)
    if not above:
        return _pruned(node.fails, places, known)
    return Split(
        node.predicate,
        fails=_pruned(node.fails, places, {**known, column: below}),
        holds=_pruned(node.holds, places, {**known, column: above}),
    )


def _narrowed(cases: tuple[Case, ...], place: int, allowed: Range) -> tuple[Case, ...]:
    """The `cases` in which the feature at `place` can lie in `allowed`, with what is left of its range."""
    narrowed = []
    for case in cases:
        low, high = max(case[place][0], allowed[0]), min(case[place][1], allowed[1])
        if low <= high:
            narrowed.append((*case[:place], (low, high), *case[place + 1 :]))
    return tuple(narrowed)
