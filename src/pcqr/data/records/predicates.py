"""Public predicates: the only questions that a published tree may ask about a record.

A predicate is `x[feature] > cut` on the encoded table; a one-hot column cut at ½ reads "is this category". Where they
come from: `pcqr.hypotheses.trees.tree`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_finite, check_integer, keep_plain
from pcqr.data.records.arrays import Labels, Points
from pcqr.errors import ParameterError
from pcqr.serialization import Document
from pcqr.serialization.codec import later


@dataclass(frozen=True, order=True)
class Predicate(Document):
    """A question about one column of the encoded table: x[feature] > cut. Public.

    Parameters
    ----------
    feature : int
        The column, from 0.
    cut : float
        What it is compared with, finite.

    Raises
    ------
    ParameterError
        When the column is no integer ≥ 0, or the cut is not finite.

    Examples
    --------
    >>> from pcqr.hypotheses.trees import Predicate
    >>> Predicate(0, 37.5)
    Predicate(feature=0, cut=37.5)
    """

    feature: int
    cut: float

    def __post_init__(self) -> None:
        check_integer("feature", self.feature, least=0)
        check_finite("cut", self.cut)
        keep_plain(self, floats=("cut",), integers=("feature",))


Predicates = tuple[Predicate, ...]


def check_predicates(predicates: Predicates, features: int) -> None:
    """At least one, all on columns of a table with `features` of them."""
    if not predicates or not all(isinstance(predicate, Predicate) for predicate in predicates):
        raise ParameterError("predicates", "at least one Predicate", f"{len(predicates)} entries")
    if any(predicate.feature >= features for predicate in predicates):
        raise ParameterError("predicates", f"on columns 0 to {features - 1}", max(predicates).feature)


def evaluate(predicates: Sequence[Predicate], X: Points) -> NDArray[np.bool_]:
    """One column for each predicate: does it hold in the row?"""
    holds = np.empty((X.shape[0], len(predicates)), dtype=np.bool_)
    for place, predicate in enumerate(predicates):
        holds[:, place] = X[:, predicate.feature] > predicate.cut
    return holds


# ---------------------------------------------------------------------------------------------------------------------
# Nodes of a tree of questions: a row goes from one to the next, by its answers alone, until it comes to a leaf.


MOST_LABELS = 127
"""Labels are integers of 8 bits, from 0 on."""
_ROUNDING = 1e-9
"""By how much the shares of a leaf may miss 1."""


@dataclass(frozen=True)
class Leaf(Document):
    """The end of a path in a tree.

    Parameters
    ----------
    label : int
        What every row gets that comes here.
    shares : tuple of float or None, default None
        The probability of each label: positive, 1 in all, and the largest is that of `label`. None: there are none.

    Raises
    ------
    ParameterError
        When the label is none, or the shares are no such numbers.

    Examples
    --------
    >>> from pcqr.hypotheses.trees import Leaf
    >>> Leaf(1)
    Leaf(label=1)
    >>> Leaf(1, shares=(0.25, 0.75))
    Leaf(label=1, shares=(0.25, 0.75))
    """

    label: int
    shares: tuple[float, ...] | None = later(None)

    def __post_init__(self) -> None:
        check_integer("label", self.label, least=0, most=MOST_LABELS - 1)
        if self.shares is None:
            return
        shares = tuple(map(float, self.shares))
        others = [share for label, share in enumerate(shares) if label != self.label]
        is_ahead = len(others) < len(shares) and shares[self.label] > max(others, default=1.0)
        if not is_ahead or min(others) <= 0.0 or abs(math.fsum(shares) - 1.0) > _ROUNDING:
            raise ParameterError("shares", "positive, 1 in all, the largest that of the label", "others")
        object.__setattr__(self, "shares", shares)

    def __repr__(self) -> str:
        return f"Leaf(label={self.label})" if self.shares is None else f"Leaf(label={self.label}, shares={self.shares})"


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


def leaves_of(root: Node) -> list[Leaf]:
    """All leaves, in the order of `leaves_reached`."""
    found, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Leaf):
            found.append(node)
        else:
            waiting += (node.fails, node.holds)
    return found


def counted_at_leaves(
    root: Node, X: Points, y: Labels, labels: int, weights: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return [leaf, label]: how many rows come there, or their weights added up, in the order of `leaves_of`."""
    counts = np.zeros((len(leaves_of(root)), labels), dtype=np.int64)
    for place, (rows, _) in enumerate(leaves_reached(root, X)):
        np.add.at(counts[place], y[rows], 1 if weights is None else weights[rows])
    return counts
