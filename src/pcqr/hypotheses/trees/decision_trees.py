"""The class of decision trees with a fixed depth over public predicates, with its exact sampler."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pcqr.checks import check_integer
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import HypothesisClass, Labels, Points
from pcqr.hypotheses.trees.counting import Block, ConjunctionCounts, count_conjunctions
from pcqr.hypotheses.trees.partition import Node, PartitionFunction
from pcqr.hypotheses.trees.predicates import Predicate, evaluate, from_public, from_schema
from pcqr.hypotheses.trees.tree import DecisionTree, Leaf, Split
from pcqr.noise import UNIT_ROUNDOFF, Chooser
from pcqr.schema import Schema

DEEPEST = 6
DEFAULT_DEPTH = 4
_ENUMERATION_LIMIT = 200_000
_BLOCK = 1 << 16
"""Records a block: the bits of 150 predicates on a block fill about a megabyte, which stays in cache."""


@dataclass(frozen=True)
class TreeCounts:
    """What a draw needs of the records: counts that serve any number of draws at any η. **Private.**"""

    hypotheses: DecisionTrees
    counts: ConjunctionCounts
    features: int

    def __repr__(self) -> str:
        return f"TreeCounts({self.hypotheses!r})"


@dataclass(frozen=True)
class DecisionTrees(HypothesisClass):
    """Full binary trees of depth `depth` whose nodes ask one of B public predicates and whose leaves have any label.

    The law is over **syntactic trees**: P(tree) ∝ prior(tree)·e^{−η·mistakes}. With `stop` = σ = 0 the prior is uniform
    over all B^(2^D − 1)·C^(2^D) trees of depth D; with σ > 0 every node stops with prior chance σ, which makes trees
    shorter and a little less accurate. A side that cannot be reached, because its path asks a question a second time,
    is left out of what is returned.

    Where the predicates come from: `predicates`, declared; or public points, at most `cuts` cuts a column
    (`prepared(public=…)`); or a schema. Until then the class is not fixed and cannot be drawn from. Everything that
    defines it is public, so the drawn tree is 2η-DP and may be published (proofs/trees.md).

    `depth`: None is 4, or the deepest at which a draw from n records stays within `operations` (a function of n and B
    alone). `operations` also is the limit above which a draw is refused: word operations to count, about 10⁹ to 10¹⁰ of
    them a second. `labels` = C is the number of classes.
    """

    depth: int | None = None
    stop: float = 0.0
    cuts: int = 12
    labels: int = 2
    predicates: tuple[Predicate, ...] | None = None
    operations: float = 2e11

    needs_public: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.depth is not None:
            check_integer("depth", self.depth, least=1)
            if self.depth > DEEPEST:
                raise ParameterError("depth", f"at most {DEEPEST}", self.depth)
        if not 0 <= self.stop < 1:
            raise ParameterError("stop", "a number in [0, 1)", self.stop)
        check_integer("cuts", self.cuts, least=1)
        check_integer("labels", self.labels, least=2)
        if self.predicates is not None:
            if not self.predicates:
                raise ParameterError("predicates", "at least one predicate", self.predicates)
            object.__setattr__(self, "predicates", tuple(self.predicates))

    # What is known without records ----------------------------------------------------------------------------------

    @property
    def is_fixed(self) -> bool:
        return self.predicates is not None

    @property
    def vc_dimension(self) -> int:
        """2^D, the number of leaves: what one choice of splits can shatter. Over all of them: `vc_bound`."""
        return 1 << (self.depth or DEFAULT_DEPTH)

    def vc_bound(self, features: int) -> int:
        """⌊log₂ |H|⌋, B at most `cuts` a column."""
        return math.floor(self.log_growth(1, features) / math.log(2.0))

    @property
    def log_size(self) -> float | None:
        return None if self.predicates is None else self.log_growth(1)

    def log_growth(self, count: int, features: int = 1) -> float:  # noqa: ARG002
        """(2^D − 1)·ln B + 2^D·ln C: the number of trees, whatever the points are."""
        leaves = 1 << (self.depth or DEFAULT_DEPTH)
        return (leaves - 1) * math.log(self._count(features)) + leaves * math.log(self.labels)

    def with_labels(self, labels: int) -> DecisionTrees:
        return replace(self, labels=labels)

    def prepared(self, public: Points | None, schema: Schema | None) -> DecisionTrees:
        """This class with its predicates fixed: as declared, else by the public points, else by the schema."""
        if self.predicates is not None:
            return self
        if public is not None:
            found = from_public(public, self.cuts)
            if not found:
                raise DataError("public", "rows that differ, so that a cut can be placed between them", "no such rows")
        elif schema is not None:
            found = from_schema(schema, self.cuts)
            if not found:
                raise DataError("schema", "categories, or numbers with bounds, to make predicates of", "neither")
        else:
            return self
        return replace(self, predicates=found)

    def depth_for(self, records: int) -> int:
        """The depth that a draw from so many records uses. Raises when the declared one costs too much."""
        if self.depth is None:
            affordable = (d for d in range(DEFAULT_DEPTH, 1, -1) if self.cost(records, d) <= self.operations)
            return next(affordable, 1)
        if self.cost(records, self.depth) > self.operations:
            raise ParameterError(
                "depth",
                f"small enough for {self.operations:.3g} word operations (raise operations= to allow more); "
                f"depth {self.depth} on {records:,} records and {self._count(1):,} predicates takes about "
                f"{self.cost(records, self.depth):.3g}",
                self.depth,
            )
        return self.depth

    def cost(self, records: int, depth: int) -> float:
        """Word operations of a draw: C(B, D)·n/64 to count, C(B, D−1)·2^(D−1)·B·20 to sum up."""
        count = self._count(1)
        sums = math.comb(count, depth - 1) * 2.0 ** (depth - 1) * count * 20.0
        return math.comb(count, depth) * (records / 64.0 + 1.0) + sums

    def log_probability_error(
        self,
        records: int,
        inverse_temperature: float,
        *,
        features: int = 1,
        public: int | None = None,  # noqa: ARG002
    ) -> float:
        """λ = 2·(2^(D+1) − 1)·(κ + u·(ηn + 8)), κ the relative error of a partition function (proofs/trees.md)."""
        depth, count = self.depth or DEFAULT_DEPTH, self._count(features)
        exponentials = 750.0 + self.labels
        kappa = exponentials
        for _ in range(depth):
            kappa = 2.0 * kappa + exponentials + 4.0 * count + 8.0
        choices = (1 << (depth + 1)) - 1
        return 2.0 * choices * UNIT_ROUNDOFF * (2.0 * kappa + inverse_temperature * records + 8.0)

    # What touches records -------------------------------------------------------------------------------------------

    def count(self, X: ArrayLike, y: ArrayLike) -> TreeCounts:
        """Count once, draw often: see `draw_from`. The counts are private and additive over blocks of records."""
        points, labels = self.check_records(X, y)
        depth = self.depth_for(points.shape[0])
        counts = count_conjunctions(self._blocks(points, labels), self._count(1), self.labels, depth)
        return TreeCounts(self, counts, points.shape[1])

    def draw_from(self, counted: TreeCounts, inverse_temperature: float, choose: Chooser) -> DecisionTree:
        """Draw the root's question, then only those of the children that were drawn."""
        function = PartitionFunction(counted.counts, inverse_temperature, self.stop)

        def ask(node: Node, remaining: int) -> int:
            return choose(function.log_weights(node, remaining))

        def label(node: Node) -> int:
            return choose(function.label_log_weights(node))

        return DecisionTree(self._grow(Node(), counted.counts.depth, ask, label), counted.features)

    def learn(self, X: ArrayLike, y: ArrayLike) -> DecisionTree:
        """A tree with the fewest mistakes; ties go to the predicate, then to the label, that comes first.

        Where the class is not fixed the predicates come from `X` itself: fine without privacy, and only then.
        """
        points, labels = self.check_records(X, y)
        found = self.predicates or from_public(points, self.cuts)
        if not found:
            return DecisionTree(Leaf(int(np.bincount(labels, minlength=self.labels).argmax())), points.shape[1])
        fixed = replace(self, predicates=found)
        counted = fixed.count(points, labels)
        function = PartitionFunction(counted.counts, 0.0, 0.0)

        def ask(node: Node, remaining: int) -> int:
            return int(function.fewest_mistakes(node, remaining).argmin())

        def label(node: Node) -> int:
            return int(function.class_counts(node).argmax())

        return DecisionTree(fixed._grow(Node(), counted.counts.depth, ask, label), points.shape[1]).simplified()

    def enumerate(self, X: ArrayLike) -> Labels:
        """One row for each syntactic tree, unreachable sides included. Only for a uniform prior (`stop` = 0)."""
        points = self.check_points(X)
        holds = evaluate(self._fixed(), points)
        depth = self.depth_for(points.shape[0])
        leaves = 1 << depth
        total = self._count(1) ** (leaves - 1) * self.labels**leaves
        if self.stop > 0 or total > _ENUMERATION_LIMIT:
            raise ParameterError("X", f"for enumerate: stop = 0 and at most {_ENUMERATION_LIMIT:,} trees", f"{total:,}")
        rows: list[Labels] = []
        for asked in itertools.product(range(self._count(1)), repeat=leaves - 1):
            place = np.zeros(points.shape[0], dtype=np.int64)  # in heap order: children of i are 2i + 1 and 2i + 2
            for _ in range(depth):
                place = 2 * place + 1 + holds[np.arange(points.shape[0]), np.array(asked)[place]]
            rows.extend(
                np.array(ends)[place - (leaves - 1)] for ends in itertools.product(range(self.labels), repeat=leaves)
            )
        return np.array(rows, dtype=np.int8)

    def _blocks(self, X: Points, y: Labels) -> Iterator[Block]:
        predicates = self._fixed()
        for start in range(0, X.shape[0], _BLOCK):
            block = slice(start, start + _BLOCK)
            yield evaluate(predicates, X[block]), y[block]

    def _draw(
        self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> DecisionTree:
        fixed = self.prepared(public, None)
        fixed._fixed()
        return fixed.draw_from(fixed.count(X, y), inverse_temperature, choose)

    def _grow(
        self, node: Node, remaining: int, ask: Callable[[Node, int], int], label: Callable[[Node], int]
    ) -> Leaf | Split:
        """Ask for the predicate of `node` (B stands for a stop), then for those below it, then for the labels."""
        if remaining == 0:
            return Leaf(label(node))
        asked = ask(node, remaining)
        predicates = self._fixed()
        if asked == len(predicates):
            return Leaf(label(node))
        if node.decides(asked):  # the other side cannot be reached
            return self._grow(node, remaining - 1, ask, label)
        fails, holds = (self._grow(node.with_literal(asked, side), remaining - 1, ask, label) for side in (False, True))
        return Split(predicates[asked], fails, holds)

    def _fixed(self) -> tuple[Predicate, ...]:
        if self.predicates is None:
            raise ParameterError(
                "public",
                "public points or a schema for DecisionTrees, whose predicates must not come from records",
                None,
            )
        return self.predicates

    def _count(self, features: int) -> int:
        """B, or a bound on it where the predicates are not fixed yet."""
        return self.cuts * features if self.predicates is None else len(self.predicates)
