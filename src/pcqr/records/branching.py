"""Nodes of a tree of questions: a row goes from one to the next, by its answers alone, until it comes to a leaf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer
from pcqr.documents import Document
from pcqr.records.arrays import Points
from pcqr.records.predicates import Predicate

MOST_LABELS = 127
"""Labels are integers of 8 bits, from 0 on."""


@dataclass(frozen=True)
class Leaf(Document):
    """The end of a path in a tree.

    Parameters
    ----------
    label : int
        What every row gets that comes here.

    Examples
    --------
    >>> from pcqr.hypotheses.trees import Leaf
    >>> Leaf(1)
    Leaf(label=1)
    """

    label: int

    def __post_init__(self) -> None:
        check_integer("label", self.label, least=0, most=MOST_LABELS - 1)


@dataclass(frozen=True)
class Split(Document):
    """A question in a tree, and where its two answers lead.

    Parameters
    ----------
    predicate : Predicate
        What is asked.
    fails, holds : Leaf or Split
        Where rows go in which it fails, or holds.

    Examples
    --------
    >>> from pcqr.hypotheses.trees import Leaf, Predicate, Split
    >>> Split(Predicate(0, 37.5), fails=Leaf(0), holds=Leaf(1)).predicate.cut
    37.5
    """

    predicate: Predicate
    fails: Leaf | Split
    holds: Leaf | Split


Node = Leaf | Split


def nodes_of(root: Node) -> Iterator[Node]:
    """Every node of the tree that begins at `root`."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Split):
            waiting += (node.holds, node.fails)


def leaves_reached(root: Node, X: Points) -> Iterator[tuple[NDArray[np.int64], Leaf]]:
    """Each leaf with the rows that reach it."""
    waiting: list[tuple[NDArray[np.int64], Node]] = [(np.arange(X.shape[0]), root)]
    while waiting:
        rows, node = waiting.pop()
        if isinstance(node, Leaf):
            yield rows, node
            continue
        holds = X[rows, node.predicate.feature] > node.predicate.cut
        waiting.append((rows[~holds], node.fails))
        waiting.append((rows[holds], node.holds))
