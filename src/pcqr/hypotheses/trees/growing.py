"""A tree grown from the root: drawn by the partition function, or the best that there is. And all trees, for tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pcqr.hypotheses.base import Labels
from pcqr.hypotheses.trees.partition import Node, PartitionFunction
from pcqr.noise import Chooser
from pcqr.records.branching import Leaf, Split
from pcqr.records.predicates import Predicate


def drawn_tree(function: PartitionFunction, predicates: Sequence[Predicate], choose: Chooser) -> Leaf | Split:
    """A draw from P(tree) ∝ prior(tree)·e^{−θ·cost}: the root's question, then those of the children that were drawn.

    Sides that a tree's own path rules out are left out.
    """
    return _grown(
        predicates,
        Node(),
        function.counts.depth,
        lambda node, remaining: choose(function.log_weights(node, remaining)),
        lambda node: choose(function.label_log_weights(node)),
    )


def cheapest_tree(function: PartitionFunction, predicates: Sequence[Predicate]) -> Leaf | Split:
    """A tree of the least cost; ties go to the predicate, then to the label, that comes first."""
    return _grown(
        predicates,
        Node(),
        function.counts.depth,
        lambda node, remaining: int(function.least_costs(node, remaining).argmin()),
        lambda node: int(function.label_costs(node).argmin()),
    )


def labels_of_all_trees(holds: NDArray[np.bool_], depth: int, labels: int) -> Labels:
    """One row for each syntactic tree, unreachable sides included: its labels of the records.

    `holds` has one row a record and says which predicates hold there.
    """
    leaves, everybody = 1 << depth, np.arange(holds.shape[0])
    rows: list[Labels] = []
    for asked in itertools.product(range(holds.shape[1]), repeat=leaves - 1):
        place = np.zeros(holds.shape[0], dtype=np.int64)  # in heap order: children of i are 2i + 1 and 2i + 2
        for _ in range(depth):
            place = 2 * place + 1 + holds[everybody, np.array(asked)[place]]
        rows.extend(np.array(ends)[place - (leaves - 1)] for ends in itertools.product(range(labels), repeat=leaves))
    return np.array(rows, dtype=np.int8)


def _grown(
    predicates: Sequence[Predicate],
    node: Node,
    remaining: int,
    ask: Callable[[Node, int], int],
    label: Callable[[Node], int],
) -> Leaf | Split:
    """Ask for the predicate of `node` (B stands for a stop), then for those below it, then for the labels."""
    asked = ask(node, remaining) if remaining else len(predicates)
    if asked == len(predicates):
        return Leaf(label(node))
    if node.decides(asked):  # the other side cannot be reached
        return _grown(predicates, node, remaining - 1, ask, label)
    fails, holds = (
        _grown(predicates, node.with_literal(asked, side), remaining - 1, ask, label) for side in (False, True)
    )
    return Split(predicates[asked], fails, holds)
