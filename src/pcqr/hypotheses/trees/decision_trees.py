"""What a draw of a tree takes, in steps and in bytes: functions of public numbers alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.checks import check_integer, check_inverse_temperature, check_positive, check_probability
from pcqr.data.records import InMemory, Records
from pcqr.data.records.counting import ConjunctionCounts, block_rows
from pcqr.data.records.predicates import Leaf, Predicate, Split, evaluate
from pcqr.data.schema import Schema
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import LARGEST_EXPONENT, MOST_LABELS, HypothesisClass, Labels, Points
from pcqr.hypotheses.committees import Arrays, IntArray, TeachesInBulk
from pcqr.hypotheses.trees.committee import DEEPEST_AT_ONCE, TreeCommittee, taught
from pcqr.hypotheses.trees.partition import MistakeLaw, Node, PartitionFunction
from pcqr.hypotheses.trees.tree import MOST_CUTS, DecisionTree, predicates_of_points, predicates_of_schema
from pcqr.privacy.noise import UNIT_ROUNDOFF, Chooser


def steps_of_draw(records: int, predicates: int, labels: int, depth: int) -> float:
    """C(B, D)·n/64 words to count, and then to add up (`steps_of_sums`)."""
    return math.comb(predicates, depth) * (records / 64.0 + labels) + steps_of_sums(predicates, labels, depth)


def steps_of_sums(predicates: int, labels: int, depth: int) -> float:
    """2^(D−1)·C(B, D−1)·B·C terms, some 20 steps each."""
    return math.comb(predicates, depth - 1) * 2.0 ** (depth - 1) * predicates * labels * 20.0


def bytes_of_draw(predicates: int, labels: int, depth: int) -> int:
    """A block of records, and the tables of a draw: 4 bytes a set and class, 12 a value, for all s + r ≤ D."""
    sets = [math.comb(predicates, size) for size in range(depth + 1)]
    values = sum((depth - size) * sets[size] << size for size in range(depth))
    block = 4 * block_rows(predicates) * predicates  # which predicates hold, as bytes and packed
    return 4 * labels * sum(sets) + 12 * values + block


# ---------------------------------------------------------------------------------------------------------------------
# A tree grown from the root: drawn by the partition function, or the best that there is. And all trees, for tests.


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


# ---------------------------------------------------------------------------------------------------------------------
# The class of decision trees with a fixed depth over public predicates, with its exact sampler.


DEEPEST = 6
DEFAULT_DEPTH = 4
DEPTH_2_FROM, MOST_TEACHERS = 30_000, 1_000
MOST_CHOSEN_SUMS = 7e10
"""Steps of adding up that a depth may take where it is chosen: a minute of a core. A declared one may take longer."""
_ENUMERATION_LIMIT = 200_000
_LEAST_STOP = 1e-6
_FEW = 4
"""Predicates that are shown one by one."""
_MOST_LOG_TREES = 600.0
"""Masses are at least the prior probability of one tree; above e^−600 nothing that underflows matters beside them."""


@dataclass(frozen=True, eq=False)
class TreeCounts:
    """What a draw needs of the records: counts that serve any number of draws at any η. **Private.**

    Additive: the sum of the counts of two sets of records is that of all of them, wherever each was counted. Let
    every part be counted at the same declared depth; the default one depends on the number of records.

    Parameters
    ----------
    hypotheses : DecisionTrees
        The class that counted.
    counts : ConjunctionCounts
        How many records of each label every conjunction of predicates has.
    features : int
        p, the columns of the table.
    whole : int, default 1
        What one record adds at most: counts of persons and of weighted records are in 64ths of one.

    Examples
    --------
    >>> from pcqr.hypotheses import DecisionTrees
    >>> from pcqr.hypotheses.trees import Predicate, TreeCounts
    >>> hypotheses = DecisionTrees(depth=1, predicates=(Predicate(0, 37.5),))
    >>> here, there = hypotheses.count([[36.6], [39.1]], [0, 1]), hypotheses.count([[36.9]], [0])
    >>> isinstance(here + there, TreeCounts)
    True
    """

    hypotheses: DecisionTrees
    counts: ConjunctionCounts
    features: int
    whole: int = 1

    def __add__(self, other: TreeCounts) -> TreeCounts:
        if (self.hypotheses, self.features, self.whole) != (other.hypotheses, other.features, other.whole):
            raise DataError("counts", "made by the same class on tables of the same width and unit", "other counts")
        return replace(self, counts=self.counts + other.counts)

    def __repr__(self) -> str:
        return f"TreeCounts({self.hypotheses!r})"


@dataclass(frozen=True, repr=False)
class DecisionTrees(HypothesisClass, TeachesInBulk):
    """Full binary trees whose nodes ask one of B public predicates and whose leaves have any label.

    The law is over **syntactic trees**: P(tree) ∝ prior(tree)·e^{−η·mistakes}. A side that cannot be reached, because
    its path asks a question a second time, is left out of what is returned. Everything that defines the class is
    public, so the drawn tree is 2η-DP and may be published (proofs/trees.md).

    The predicates are declared, or come from public points or a schema (`prepared`). Until then the class is not fixed
    and cannot be drawn from. Where columns are so many that `most` does not suffice, they have fewer cuts, down to one;
    then those stay that divide the public points most evenly (without any: at equal distances).

    Parameters
    ----------
    depth : int or None, default None
        D, at most 6. None is `deepest` or, if that is less, the most at which a draw from n records stays within
        `operations` and `memory` and adds up within a minute: a function of n, B and C alone, never of η. A declared
        depth that exceeds `operations` or `memory` is refused.
    stop : float, default 0.0
        σ, the prior chance with which a node stops and becomes a leaf. At 0 the prior is uniform over all
        B^(2^D − 1)·C^(2^D) trees of depth D; above 0 trees are shorter and a little less accurate.
    cuts : int or None, default None
        The most cuts a column. None: as many, from 20 down to 12, as keep B within 130. A schema's declared cuts
        (`Column.cuts`) are all used, as far as `most` allows.
    labels : int, default 2
        C, the number of classes.
    predicates : tuple of Predicate or None, default None
        The B predicates, where they are declared.
    operations : float, default 2e11
        The most steps that a draw may take (`cost`); a core makes 1 to 2·10⁹ a second.
    memory : float, default 2e9
        The most bytes that a draw may take (`bytes_needed`).
    deepest : int, default 4
        The largest depth that is chosen where `depth` is None.
    most : int, default 300
        The most predicates, unless they are declared.

    Raises
    ------
    ParameterError
        When a parameter is outside its range.

    Examples
    --------
    >>> from pcqr.hypotheses import DecisionTrees
    >>> from pcqr.hypotheses.trees import Predicate
    >>> hypotheses = DecisionTrees(depth=1, predicates=(Predicate(0, 37.5), Predicate(1, 0.5)))
    >>> hypotheses.is_fixed, round(hypotheses.log_size, 3)  # ln of 2 questions × 2² labellings of the leaves
    (True, 2.079)
    >>> X, y = [[38.5, 1], [39.1, 0], [36.6, 1], [36.9, 0]], [1, 1, 0, 0]  # temperature, smoker
    >>> hypotheses.sample(X, y, inverse_temperature=10.0, entropy=0).predict(X)  # seeded: NOT PRIVATE
    array([1, 1, 0, 0], dtype=int8)
    """

    depth: int | None = None
    stop: float = 0.0
    cuts: int | None = None
    labels: int = 2
    predicates: tuple[Predicate, ...] | None = None
    operations: float = 2e11
    memory: float = 2e9
    deepest: int = DEFAULT_DEPTH
    most: int = 300

    needs_public: ClassVar[bool] = True
    several_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.depth is not None:
            check_integer("depth", self.depth, least=1)
            if self.depth > DEEPEST:
                raise ParameterError("depth", f"at most {DEEPEST}", self.depth)
        if self.stop != 0:
            check_probability("stop", self.stop)
            if not _LEAST_STOP <= self.stop <= 1.0 - _LEAST_STOP:
                raise ParameterError("stop", f"0, or between {_LEAST_STOP:g} and 1 − {_LEAST_STOP:g}", self.stop)
        check_integer("deepest", self.deepest, least=1)
        if self.deepest > DEEPEST:
            raise ParameterError("deepest", f"at most {DEEPEST}", self.deepest)
        if self.cuts is not None:
            check_integer("cuts", self.cuts, least=1)
        check_integer("most", self.most, least=1)
        check_integer("labels", self.labels, least=2)
        if self.labels > MOST_LABELS:
            raise ParameterError("labels", f"at most {MOST_LABELS}", self.labels)
        check_positive("operations", self.operations)
        check_positive("memory", self.memory)
        if self.predicates is not None:
            value: object = self.predicates
            declared = tuple(value) if isinstance(value, Iterable) else ()
            if not declared or not all(isinstance(predicate, Predicate) for predicate in declared):
                raise ParameterError("predicates", "at least one Predicate", value)
            object.__setattr__(self, "predicates", declared)

    def __repr__(self) -> str:
        """All that is not as it was by default; of many predicates how many they are."""
        value = {part.name: getattr(self, part.name) for part in fields(self)}
        changed = {part.name: repr(value[part.name]) for part in fields(self) if value[part.name] != part.default}
        if self.predicates is not None and len(self.predicates) > _FEW:
            changed["predicates"] = f"<{len(self.predicates)} predicates>"
        return f"DecisionTrees({', '.join(f'{name}={value}' for name, value in changed.items())})"

    # What is known without records ----------------------------------------------------------------------------------

    @property
    def is_fixed(self) -> bool:
        """True once the predicates are known."""
        return self.predicates is not None

    @property
    def vc_dimension(self) -> int:
        """2^D, the number of leaves: what one choice of splits can shatter. Over all of them: `vc_bound`."""
        return 1 << (self.depth or self.deepest)

    def vc_bound(self, features: int) -> int:
        """⌊log₂ |H|⌋; until the predicates are fixed, B is taken to be the most cuts a column."""
        return math.floor(self.log_growth(1, features) / math.log(2.0))

    @property
    def log_size(self) -> float | None:
        """ln of the number of trees once the predicates are known, else None."""
        return None if self.predicates is None else self.log_growth(1)

    def log_growth(self, count: int, features: int = 1) -> float:  # noqa: ARG002
        """(2^D − 1)·ln B + 2^D·ln C: the number of trees, whatever the points are."""
        leaves = 1 << (self.depth or self.deepest)
        return (leaves - 1) * math.log(self._count(features)) + leaves * math.log(self.labels)

    def log_rarity(self, count: int, features: int = 1) -> float:
        """(2^D − 1)·ln(B/(1−σ)) + 2^D·ln C: every tree says the same as a full one, which never stops."""
        return self.log_growth(count, features) - ((1 << (self.depth or self.deepest)) - 1) * math.log1p(-self.stop)

    def with_labels(self, labels: int) -> DecisionTrees:
        return replace(self, labels=labels)

    def prepared(self, public: Points | None, schema: Schema | None) -> DecisionTrees:
        """This class with its predicates fixed: as declared, else by the public points, else by the schema."""
        if self.predicates is not None:
            return self
        if public is not None:
            found = predicates_of_points(public, self.cuts, self.most)
            if not found:
                raise DataError("public", "rows that differ, so that a cut can be placed between them", "no such rows")
        elif schema is not None:
            found = predicates_of_schema(schema, self.cuts, self.most)
            if not found:
                raise DataError(
                    "schema", "categories, or numbers with bounds or cuts, to make predicates of", "neither"
                )
        else:
            return self
        return replace(self, predicates=found)

    def depth_for(self, records: int) -> int:
        """The depth that a draw from so many records uses. Raises when that costs too much."""
        if self.depth is not None:
            depth = self.depth
        else:
            depths = range(self.deepest, 0, -1)
            depth = next((d for d in depths if self._is_quick(d) and self._excess(records, d) is None), 1)
        excess = self._excess(records, depth)
        if excess is not None:
            raise ParameterError("depth", f"such that a draw {excess}", depth)
        return depth

    def for_votes(self, records: int) -> DecisionTrees:
        """Where the depth is left open, teachers' trees have depth 2 from `DEPTH_2_FROM` records on, else 1.

        A function of n and B, never of ε: fewer records leave a teacher too few to find the same tree as the others,
        and trees of depth 3 were no better for 400,000. `MOST_TEACHERS` of them must be affordable.
        """
        if self.depth is not None:
            return self
        affordable = MOST_TEACHERS * self.cost(records // MOST_TEACHERS, 2) <= self.operations
        return replace(self, depth=min(self.deepest, 2 if records >= DEPTH_2_FROM and affordable else 1))

    def check_work(self, parts: Sequence[tuple[int, int]], features: int) -> None:  # noqa: ARG002
        """Refuse a release whose draws and teachers, `parts` = (records, how many), take too many steps together."""
        depths = [self.depth_for(records) for records, _ in parts]
        total = sum(times * self.cost(records, d) for (records, times), d in zip(parts, depths, strict=True))
        if total > self.operations:
            raise ParameterError(
                "depth",
                f"such that all draws and teachers take at most {self.operations:.3g} steps together ({total:.3g}); "
                "lower the depth, or raise operations",
                max(depths),
            )

    def cost(self, records: int, depth: int) -> float:
        """Steps of a draw: counting, then adding up (`steps_of_draw`)."""
        return steps_of_draw(records, self._count(1), self.labels, depth)

    def bytes_needed(self, depth: int) -> int:
        """The memory of a draw (`bytes_of_draw`)."""
        return bytes_of_draw(self._count(1), self.labels, depth)

    def _is_quick(self, depth: int) -> bool:
        return steps_of_sums(self._count(1), self.labels, depth) <= MOST_CHOSEN_SUMS

    def _excess(self, records: int, depth: int) -> str | None:
        """What a draw at this depth would exceed, in words. Public numbers only."""
        where = f"depth {depth} on {records:,} records and {self._count(1):,} predicates"
        cost, needed = self.cost(records, depth), self.bytes_needed(depth)
        leaves = 1 << depth
        choices = (leaves - 1) * math.log(self._count(1) / (1.0 - self.stop)) + leaves * math.log(self.labels)
        if cost > self.operations:
            return f"takes at most {self.operations:.3g} steps ({where}: {cost:.3g}); to allow more, raise operations"
        if needed > self.memory:
            return f"needs at most {self.memory:.3g} bytes ({where}: {needed:.3g}); to allow more, raise memory"
        if choices > _MOST_LOG_TREES:
            return f"is from at most e^{_MOST_LOG_TREES:.0f} trees, which float64 can weigh ({where}: e^{choices:.0f})"
        return None

    def log_probability_error(
        self,
        records: int,
        inverse_temperature: float,
        *,
        features: int = 1,
        public: int | None = None,  # noqa: ARG002
    ) -> float:
        """2^(D+1)·u·(D·(2·min(ηn, 746) + 7B + C + 24) + 4ηn + 4000), u = `UNIT_ROUNDOFF`: proofs/trees.md.

        Where the depth is left to `depth_for`, D is the largest that it may choose.
        """
        depth, exponent = self.depth or self.deepest, inverse_temperature * records
        level = 2.0 * min(exponent, 746.0) + 7.0 * self._count(features) + self.labels + 24.0
        return 2.0 ** (depth + 1) * UNIT_ROUNDOFF * (depth * level + 4.0 * exponent + 4000.0)

    # What touches records -------------------------------------------------------------------------------------------

    def count(self, X: ArrayLike, y: ArrayLike) -> TreeCounts:
        """Count once, draw often (`draw_from`). The counts are private."""
        return self.count_on(InMemory(X, y, self.labels))

    def count_on(self, records: Records) -> TreeCounts:
        """`count` by a source of records, wherever they lie."""
        depth = self.check_countable(records)
        return TreeCounts(self, records.conjunctions(self._fixed(), depth), records.width, records.whole)

    def check_countable(self, records: Records) -> int:
        """Refuse `records` that cannot be counted, before any of them is looked at; else the depth of a draw."""
        self.check_source(records)
        self._check_asked(records.width)
        return self.depth_for(records.size)

    def draw_from(self, counted: TreeCounts, inverse_temperature: float, choose: Chooser) -> DecisionTree:
        """A draw from counts of this class. As private as one from the records: each draw is charged anew."""
        return next(self.draws_from(counted, inverse_temperature, (choose,)))

    def draws_from(
        self, counted: TreeCounts, inverse_temperature: float, choosers: Iterable[Chooser]
    ) -> Iterator[DecisionTree]:
        """One tree for each of `choosers`; the partition function is computed once. Each is a release of its own."""
        if counted.hypotheses != self:
            raise DataError("counted", "counts that this class made", "counts of another class")
        check_inverse_temperature(inverse_temperature)
        rate = inverse_temperature / counted.whole
        if rate * counted.counts.records > LARGEST_EXPONENT:  # how much records weigh together is private
            raise ParameterError("inverse_temperature", "at most 2**52 / n", inverse_temperature)
        function = PartitionFunction(counted.counts, MistakeLaw(counted.counts, rate, self.stop))
        predicates = self._fixed()
        return (DecisionTree(drawn_tree(function, predicates, choose), counted.features) for choose in choosers)

    def learn(self, X: ArrayLike, y: ArrayLike) -> DecisionTree:
        """A tree with the fewest mistakes; ties go to the predicate, then to the label, that comes first.

        Where the class is not fixed the predicates come from `X` itself: fine without privacy, and only then.
        """
        points, labels = self.check_records(X, y)
        found = self.predicates or predicates_of_points(points, self.cuts, self.most)
        if not found:
            return DecisionTree(Leaf(int(np.bincount(labels, minlength=self.labels).argmax())), points.shape[1])
        fixed = replace(self, predicates=found)
        counted = fixed.count(points, labels)
        function = PartitionFunction(counted.counts, MistakeLaw(counted.counts, 0.0, 0.0))
        return DecisionTree(cheapest_tree(function, found), points.shape[1]).simplified()

    @property
    def teaches_one_by_one(self) -> bool:
        return not self.is_fixed or (self.depth or self.deepest) > DEEPEST_AT_ONCE

    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """`learn` on each part: up to depth 3 all parts of a size in one compiled pass, else one by one (`taught`)."""
        return taught(self, X, y, ends)

    def committee(self, teachers: Arrays, features: int) -> TreeCommittee:
        return TreeCommittee(**teachers, features=features, labels=self.labels)

    def enumerate(self, X: ArrayLike) -> Labels:
        """One row for each syntactic tree, unreachable sides included. Only for a uniform prior (`stop` = 0)."""
        points = self.check_points(X)
        self._check_asked(points.shape[1])
        holds = evaluate(self._fixed(), points)
        depth = self.depth_for(points.shape[0])
        leaves = 1 << depth
        if self.stop > 0:
            raise ParameterError("stop", "0 for enumerate, whose rows have equal prior weights", self.stop)
        total = self._count(1) ** (leaves - 1) * self.labels**leaves
        if total > _ENUMERATION_LIMIT:
            raise ParameterError("depth", f"such that enumerate lists at most {_ENUMERATION_LIMIT:,} trees", depth)
        return labels_of_all_trees(holds, depth, self.labels)

    def _draw(
        self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> DecisionTree:
        return self._draw_on(InMemory(X, y, self.labels), inverse_temperature, public, choose)

    def _draw_on(
        self, records: Records, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> DecisionTree:
        fixed = self.prepared(public, None)
        return fixed.draw_from(fixed.count_on(records), inverse_temperature, choose)

    def _fixed(self) -> tuple[Predicate, ...]:
        if self.predicates is None:
            allowed = "public points or a schema for DecisionTrees, whose predicates must not come from records"
            raise ParameterError("public", allowed, None)
        return self.predicates

    def _check_asked(self, width: int) -> None:
        needed = 1 + max(predicate.feature for predicate in self._fixed())
        if width < needed:
            raise DataError("X", f"a table with the {needed} columns that the predicates ask about", f"{width} columns")

    def _count(self, features: int) -> int:
        """B, or a bound on it where the predicates are not fixed yet."""
        return (self.cuts or MOST_CUTS) * features if self.predicates is None else len(self.predicates)
