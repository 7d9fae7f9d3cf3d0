"""A decision tree over public predicates: a small value that can be shown, compared and stored."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.checks import check_integer
from pcqr.data.records.predicates import (
    Leaf,
    Predicate,
    Predicates,
    Split,
    evaluate,
    leaves_of,
    leaves_reached,
    nodes_of,
)
from pcqr.data.schema import Schema
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, Labels, Points, as_points
from pcqr.hypotheses.cuts import midpoint_cuts


@dataclass(frozen=True, repr=False)
class DecisionTree(Hypothesis):
    """A decision tree over public predicates: what `DecisionTrees` draws and learns.

    Parameters
    ----------
    root : Leaf or Split
        The tree's first node; a `Split` asks a `Predicate`, a `Leaf` has a label.
    features : int
        p, the columns of the tables that it labels.

    Examples
    --------
    >>> from pcqr.hypotheses import DecisionTree
    >>> from pcqr.hypotheses.trees import Leaf, Predicate, Split
    >>> tree = DecisionTree(Split(Predicate(0, 37.5), fails=Leaf(0), holds=Leaf(1)), features=1)
    >>> tree.predict([[36.6], [39.1]])
    array([0, 1], dtype=int8)
    >>> tree.depth, tree.leaves
    (1, 2)
    >>> tree.simplified() == tree
    True

    With shares at its leaves there are probabilities, too.

    >>> tree = tree.with_shares([(0.25, 0.75), (0.9, 0.1)])
    >>> tree.predict_proba([[36.6], [39.1]])
    array([[0.9 , 0.1 ],
           [0.25, 0.75]])
    """

    root: Leaf | Split
    features: int

    def __post_init__(self) -> None:
        check_integer("features", self.features, least=1)
        if any(isinstance(node, Split) and node.predicate.feature >= self.features for node in nodes_of(self.root)):
            raise ParameterError("root", f"a tree that asks for columns 0 to {self.features - 1}", "another one")
        if len({None if leaf.shares is None else len(leaf.shares) for leaf in leaves_of(self.root)}) > 1:
            raise ParameterError(
                "root", "a tree with shares of the same labels at every leaf, or at none", "another one"
            )

    def __repr__(self) -> str:
        """The sizes alone: a published tree is read aloud by `PublishedModel.rules`."""
        return f"<DecisionTree of depth {self.depth} with {self.leaves} leaves on {self.features} features>"

    def predict(self, X: ArrayLike) -> Labels:
        points = as_points(X, self.features, owner="this tree")
        labels = np.empty(points.shape[0], dtype=np.int8)
        for rows, leaf in self.leaves_of(points):
            labels[rows] = leaf.label
        return labels

    @property
    def has_shares(self) -> bool:
        """Has every leaf a probability of each label?"""
        return leaves_of(self.root)[0].shares is not None

    def with_shares(self, shares: Sequence[Sequence[float]]) -> DecisionTree:
        """Return the same tree with these shares at its leaves, in the order of `leaves_of`."""
        return DecisionTree(_shared(self.root, iter(shares)), self.features)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the shares of the leaf that each row comes to, one column a label. `has_shares` must be true."""
        leaves = leaves_of(self.root)
        if not self.has_shares:
            raise ParameterError("tree", "one with shares at its leaves", "one without")
        points, table = as_points(X, self.features, owner="this tree"), np.array([leaf.shares for leaf in leaves])
        places = np.empty(points.shape[0], dtype=np.int64)
        for place, (rows, _) in enumerate(self.leaves_of(points)):
            places[rows] = place
        shares: NDArray[np.float64] = table[places]
        return shares

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log-odds of label 1 for each row: for more than two labels ln of each probability, in columns."""
        logs = np.log(self.predict_proba(X))
        scores: NDArray[np.float64] = logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs
        return scores

    @property
    def depth(self) -> int:
        """The most questions that a row is asked."""
        return _depth(self.root)

    @property
    def leaves(self) -> int:
        """How many leaves the tree has."""
        return _leaves(self.root)

    def simplified(self) -> DecisionTree:
        """The same function without splits whose two sides are the same and questions whose answer the path implies.

        Post-processing: costs no privacy.
        """
        return DecisionTree(_merged(_pruned(_merged(self.root), {})), self.features)

    def leaves_of(self, X: Points) -> Iterator[tuple[NDArray[np.int64], Leaf]]:
        """Each leaf with the rows that reach it."""
        yield from leaves_reached(self.root, X)


def _depth(node: Leaf | Split) -> int:
    return 0 if isinstance(node, Leaf) else 1 + max(_depth(node.fails), _depth(node.holds))


def _leaves(node: Leaf | Split) -> int:
    return 1 if isinstance(node, Leaf) else _leaves(node.fails) + _leaves(node.holds)


def _shared(node: Leaf | Split, shares: Iterator[Sequence[float]]) -> Leaf | Split:
    """`node` with shares at its leaves, in the order of `leaves_of`."""
    if isinstance(node, Leaf):
        return Leaf(node.label, tuple(next(shares)))
    holds = _shared(node.holds, shares)
    return Split(node.predicate, fails=_shared(node.fails, shares), holds=holds)


def _merged(node: Leaf | Split) -> Leaf | Split:
    """`node` without splits whose two sides are the same."""
    if isinstance(node, Leaf):
        return node
    fails, holds = _merged(node.fails), _merged(node.holds)
    return fails if fails == holds else Split(node.predicate, fails, holds)


def _pruned(node: Leaf | Split, bounds: Mapping[int, tuple[float, float]]) -> Leaf | Split:
    """`node` without questions whose answer the path implies: low < x[f] ≤ high for each feature f in `bounds`."""
    if isinstance(node, Leaf):
        return node
    feature, cut = node.predicate.feature, node.predicate.cut
    low, high = bounds.get(feature, (-math.inf, math.inf))
    if cut <= low:
        return _pruned(node.holds, bounds)
    if cut >= high:
        return _pruned(node.fails, bounds)
    fails = _pruned(node.fails, {**bounds, feature: (low, cut)})
    holds = _pruned(node.holds, {**bounds, feature: (cut, high)})
    return Split(node.predicate, fails, holds)


# ---------------------------------------------------------------------------------------------------------------------
# Where public predicates come from: public points or a schema, never private records.


RAREST_CATEGORY, RAREST_CUT = 0.03, 0.0025
"""Shares of the public points. A category, or another column of two values, that is rarer is left out, since little
can be learned there; a cut through numbers may reach further into a tail. Chosen on UCI Adult, used everywhere."""
MOST_CUTS, FEWEST_CUTS, MOST_PREDICATES = 20, 12, 130
_CAPPINGS = 50


def predicates_of_points(
    public: Points, cuts: int | None, most: int, rarest_category: float = RAREST_CATEGORY
) -> Predicates:
    """Those of `from_public` at `cuts` cuts a column, at most `most`; if they are too many, the most even ones."""
    return _place_cuts(
        cuts,
        most,
        lambda a_column: from_public(public, a_column, rarest_category),
        lambda found: most_even(found, public, most),
    )


def predicates_of_schema(schema: Schema, cuts: int | None, most: int) -> Predicates:
    """Those of `from_schema`, at most `most`: at every declared cut, and `cuts` of each number that has bounds alone.

    If these are too many, numbers with bounds have fewer cuts, down to one, and then so have those with declared cuts.
    If one a column is too many, some stay, at equal distances.
    """
    longest = max(len(column.cuts) for column in schema.columns)
    declared = bisect.bisect_right(range(1, longest + 1), most, key=lambda kept: len(from_schema(schema, 1, kept)))
    return _place_cuts(
        cuts,
        most,
        lambda a_column: from_schema(schema, a_column, max(declared, 1)),
        lambda found: spread(found, most),
    )


def _place_cuts(
    cuts: int | None, most: int, place: Callable[[int], Predicates], choose: Callable[[Predicates], Predicates]
) -> Predicates:
    """The predicates that `place` makes at `cuts` cuts a column, or at fewer where those are more than `most`.

    Where `cuts` is None, at the most that keep B in `MOST_PREDICATES`, if 12 or more do. Where one cut a column is
    too many, `choose` says which stay.
    """
    single = place(1)
    if len(single) > most:
        return choose(single)
    fewest = FEWEST_CUTS if cuts is None else cuts
    found = place(fewest)
    if len(found) > most:
        # The count grows with the cuts; where it should not, what was tried and found within the limit is taken.
        fit = bisect.bisect_right(range(1, fewest), most, key=lambda a_column: len(place(a_column)))
        return place(fit) if fit > 1 else single
    if cuts is None and len(found) <= MOST_PREDICATES:
        more = (place(a_column) for a_column in range(MOST_CUTS, FEWEST_CUTS, -1))
        return next((placed for placed in more if len(placed) <= MOST_PREDICATES), found)
    return found


def from_public(public: Points, cuts: int, rarest_category: float = RAREST_CATEGORY) -> Predicates:
    """At most `cuts` cuts a column at quantiles of the public points.

    A column of two values gives a cut where each of them has at least the share `rarest_category`. Constant columns
    give nothing, and of predicates that agree on all public points, or disagree on all, the first is
    kept.
    """
    found: list[Predicate] = []
    seen: set[bytes] = set()
    for feature in range(public.shape[1]):
        column = public[:, feature]
        share = rarest_category if np.unique(column).size == 2 else RAREST_CUT
        rarest = max(1, int(share * public.shape[0]))
        for cut in _column_cuts(column, cuts):
            holds = column > cut
            if not rarest <= int(holds.sum()) <= holds.size - rarest:
                continue
            pattern = np.packbits(holds if holds[0] else ~holds).tobytes()
            if pattern not in seen:
                seen.add(pattern)
                found.append(Predicate(feature, float(cut)))
    return tuple(found)


def from_schema(schema: Schema, cuts: int, declared: int | None = None) -> Predicates:
    """Return an indicator's column cut at ½ and a number at its declared cuts, or at `cuts` between its bounds.

    Cuts between bounds are equally spaced. Of more than `declared` cuts of a column those stay that are equally spaced
    in their order.
    """
    features = [(feature, column.cuts) for column in schema.columns for feature in column.features]
    found: list[Predicate] = []
    for position, (feature, of_column) in enumerate(features):
        if feature.is_indicator:
            found.append(Predicate(position, 0.5))
        elif of_column:
            many, kept = len(of_column), min(len(of_column), declared or len(of_column))
            found.extend(Predicate(position, of_column[(2 * k + 1) * many // (2 * kept)]) for k in range(kept))
        elif feature.bounds is not None:
            low, high = feature.bounds
            share = np.arange(1, cuts + 1) / (cuts + 1)
            found.extend(Predicate(position, float(cut)) for cut in (1.0 - share) * low + share * high)
    return tuple(found)


def most_even(predicates: Sequence[Predicate], public: Points, most: int) -> Predicates:
    """The `most` predicates that divide the public points most evenly, in their order; of equals the first.

    A question that nearly everybody answers alike tells few records apart, whatever their labels are.
    """
    holds = evaluate(predicates, public).sum(axis=0)
    order = np.argsort(-np.minimum(holds, public.shape[0] - holds), kind="stable")
    return tuple(predicates[place] for place in sorted(order[:most].tolist()))


def spread(predicates: Sequence[Predicate], most: int) -> Predicates:
    """`most` of the predicates at equal distances: where nothing is known but a schema, none is better than another."""
    return tuple(predicates[place * len(predicates) // most] for place in range(most))


def _column_cuts(column: NDArray[np.float64], cuts: int) -> NDArray[np.float64]:
    """Cuts at quantiles of the rows, no value counting for more than its share: 91 % zeros must not take all cuts.

    Weights are capped at a share 1/(`cuts` + 1) of their sum until they stay so; what a common value loses goes to the
    rare ones, so that the cuts reach into a long tail.
    """
    values, multiplicity = np.unique(column, return_counts=True)
    gaps = midpoint_cuts(values)
    if gaps.size <= cuts:
        return gaps
    weight = multiplicity.astype(np.float64)
    for _ in range(_CAPPINGS):
        weight = np.minimum(weight, weight.sum() / (cuts + 1))
    below = np.cumsum(weight)[:-1] / weight.sum()
    quantiles = np.arange(1, cuts + 1) / (cuts + 1)
    chosen: NDArray[np.float64] = gaps[np.unique(np.searchsorted(below, quantiles).clip(0, gaps.size - 1))]
    return chosen
