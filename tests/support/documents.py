"""One example and one strategy for each type of document.

    python tests/support/documents.py

writes a golden document for each type that has none. A golden document is never rewritten: it stands for those that
users keep, and must be readable for ever.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.records.vectors import LARGEST_COORDINATE, LARGEST_ENTRY, ColumnVectors, Directions, PredicateVectors
from pcqr.hypotheses.committees import Constant as FixedVote
from pcqr.hypotheses.finite import Member
from pcqr.hypotheses.halfspaces import Constant, Halfspace
from pcqr.hypotheses.intervals import Interval
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.rectangles import Rectangle
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.hypotheses.unions import IntervalUnion
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import Unit
from pcqr.releases.protocol.answers import Answer, BatchCost, Usage
from support import plan_documents

GOLDEN = Path(__file__).parents[1] / "serialization" / "golden"
INF = math.inf

TREE = DecisionTree(Split(Predicate(1, 0.1), Leaf(0), Split(Predicate(0, -1e300), Leaf(1), Leaf(2))), 2)
DIRECTIONS = Directions.of(np.array([[0, 1], [-2, 3], [LARGEST_COORDINATE, -LARGEST_COORDINATE]], dtype=np.int16), 7)
DENSE = PredicateVectors((Predicate(0, 0.5), Predicate(1, 27.5)), (128, 256), (-128, 0), 2, DIRECTIONS)
FERNS = Ferns((Predicate(0, 0.5), Predicate(1, 27.5), Predicate(1, -1e300), Predicate(0, 0.1)), 2, 2)
PHI_AND_FERNS = FeatureMap(DENSE, FERNS, 77)
LINEAR = LinearClassifier.of(PHI_AND_FERNS, 3, np.arange(6).reshape(3, 2) / 3, np.arange(-12, 12).reshape(3, 2, 4) / 7)

EXAMPLES: dict[str, Any] = {
    "unit": Unit.user(5),
    "guarantee": Guarantee(0.1 + 0.2, 1e-6, "sspp", ("the names of the labels",), is_private=False, steps=("2η + 2λ",)),
    "threshold": Threshold(1 / 3, up=False),
    "interval": Interval(-INF, 0.1),
    "interval-union": IntervalUnion((-1.0, 0.0, 2.5)),
    "stump": Stump(2, INF, above=True, features=3),
    "rectangle": Rectangle(-INF, 1.0, 0.0, 1e-9),
    "halfspace": Halfspace((0.0, 1.0), (-2.0, 0.1)),
    "constant": Constant(1),
    "member": Member(3, Interval(0.0, 1.0)),
    "predicate": Predicate(4, 27.5),
    "leaf": Leaf(1),
    "split": Split(Predicate(0, 0.5), Leaf(0), Leaf(1)),
    "decision-tree": TREE,
    "directions": DIRECTIONS,
    "predicate-vectors": DENSE,
    "column-vectors": ColumnVectors((0.1, -1e300, 0.0), (1 / 3, 0.0, 5e-324), 3, 256, DIRECTIONS),
    "ferns": FERNS,
    "feature-map": PHI_AND_FERNS,
    "linear-classifier": LINEAR,
    "fixed-vote": FixedVote(0),
    "usage": Usage(None, 3),
    "answer": Answer("cat", "stable", Usage(7, 2), Usage(None, 3), beyond_plan=True),
    "batch-cost": BatchCost(
        requested=10,
        repeated=1,
        new=9,
        published=0,
        certain=3,
        remaining=Usage(None, 3),
        beyond_plan=0,
        expected_unstable=1.25,
        chance_of_halting=0.1,
        unstable_range=(0.5, 2.5),
    ),
} | plan_documents.EXAMPLES

integers = st.integers(-(2**63) + 1, 2**63 - 1)
counts = st.integers(0, 2**63 - 1)
numbers = st.floats(allow_nan=False)
finite = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
labels = st.none() | st.booleans() | integers | finite | texts | st.sampled_from(["inf", "-inf", "NaN", "null"])
planes = st.tuples(finite, finite)
ranges = st.none() | st.tuples(numbers, numbers)

units = st.just(Unit("record")) | st.builds(Unit.user, st.integers(1, 2**63 - 1))
guarantees = st.builds(
    Guarantee,
    st.floats(0, 1e300),
    st.floats(0, 1, exclude_max=True),
    texts,
    st.lists(texts, max_size=2).map(tuple),
    st.booleans(),
    units,
    st.lists(texts, max_size=2).map(tuple),
    rho=st.none() | st.floats(0, 1e300),
)
usages = st.builds(Usage, st.none() | counts, st.none() | counts, st.none() | counts)
predicates = st.builds(Predicate, st.integers(0, 2), finite)
leaves = st.builds(Leaf, st.integers(0, 126))
votes = st.builds(Leaf, st.integers(0, 2))


def roots(
    ends: st.SearchStrategy[Leaf], asked: st.SearchStrategy[Predicate] = predicates
) -> st.SearchStrategy[Leaf | Split]:
    return st.recursive(ends, lambda below: st.builds(Split, asked, below, below), max_leaves=8)


def trees(ends: st.SearchStrategy[Leaf]) -> st.SearchStrategy[DecisionTree]:
    return st.builds(DecisionTree, roots(ends), st.just(3))


fewer = st.builds(Predicate, st.integers(0, 1), finite)
sides = roots(st.builds(Leaf, st.integers(0, 1)), fewer)
beside = st.builds(Split, fewer, sides, sides)
"""Trees beside a linear classifier that reads three columns, the last of which is what the tree says."""


@st.composite
def directions(draw: st.DrawFn, rows: int) -> Directions:
    columns = draw(st.integers(1, 3))
    entry = st.integers(-LARGEST_COORDINATE, LARGEST_COORDINATE)
    row = st.lists(entry, min_size=columns, max_size=columns)
    matrix = draw(st.lists(row, min_size=rows, max_size=rows))
    return Directions.of(np.array(matrix, dtype=np.int16), draw(st.integers(0, 20)))


@st.composite
def predicate_vectors(draw: st.DrawFn) -> PredicateVectors:
    asked = draw(st.lists(predicates, min_size=1, max_size=4))
    entries = st.lists(st.integers(-LARGEST_ENTRY, LARGEST_ENTRY), min_size=len(asked), max_size=len(asked)).map(tuple)
    through = draw(st.none() | directions(len(asked) + 1))
    return PredicateVectors(tuple(asked), draw(entries), draw(entries), 3, through)


@st.composite
def column_vectors(draw: st.DrawFn) -> ColumnVectors:
    centres = st.lists(finite, min_size=3, max_size=3).map(tuple)
    scales = st.lists(st.floats(0.0, 1e300), min_size=3, max_size=3).map(tuple)
    constant = st.integers(1, LARGEST_COORDINATE)
    return ColumnVectors(draw(centres), draw(scales), 3, draw(constant), draw(st.none() | directions(3)))


@st.composite
def ferns(draw: st.DrawFn) -> Ferns:
    depth, count = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    asked = st.lists(predicates, min_size=depth * count, max_size=depth * count).map(tuple)
    return Ferns(draw(asked), depth, 3)


@st.composite
def make_feature_map(draw: st.DrawFn) -> FeatureMap:
    share = draw(st.sampled_from([0, 1, 128, 255, 256]))
    dense = draw(predicate_vectors() | column_vectors()) if share else None
    return FeatureMap(dense, draw(ferns()) if share < 256 else None, share, draw(st.none() | beside))


@st.composite
def linears(draw: st.DrawFn) -> LinearClassifier:
    shared, classes = draw(make_feature_map()), draw(st.integers(2, 4))
    blocks = 1 if classes == 2 else classes
    whole = st.integers(-(2**30), 2**30).map(lambda number: number / 2**20)
    dense = draw(arrays(np.float64, (blocks, shared.size), elements=whole))
    cells = draw(arrays(np.float64, (blocks, shared.count, 1 << shared.depth), elements=st.floats(-1e3, 1e3)))
    return LinearClassifier.of(shared, classes, dense, cells)


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    return Interval(*sorted((draw(numbers), draw(numbers))))


STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "unit": units,
    "guarantee": guarantees,
    "threshold": st.builds(Threshold, numbers, st.booleans()),
    "interval": intervals(),
    "interval-union": st.builds(IntervalUnion, st.lists(numbers, unique=True).map(sorted).map(tuple)),
    "stump": st.builds(Stump, st.integers(0, 3), numbers, st.booleans(), st.integers(4, 9)),
    "rectangle": st.builds(Rectangle, numbers, numbers, numbers, numbers),
    "halfspace": st.tuples(planes, planes).filter(lambda line: line[0] != line[1]).map(lambda line: Halfspace(*line)),
    "constant": st.builds(Constant, st.integers(0, 1)),
    "member": st.builds(Member, counts, intervals() | trees(leaves)),
    "predicate": st.builds(Predicate, counts, finite),
    "leaf": leaves,
    "split": st.builds(Split, predicates, roots(leaves), roots(leaves)),
    "decision-tree": trees(leaves),
    "directions": st.integers(1, 3).flatmap(directions),
    "predicate-vectors": predicate_vectors(),
    "column-vectors": column_vectors(),
    "ferns": ferns(),
    "feature-map": make_feature_map(),
    "linear-classifier": linears(),
    "fixed-vote": st.builds(FixedVote, st.integers(0, 1)),
    "usage": usages,
    "answer": st.builds(
        Answer, labels, st.sampled_from(["stable", "unstable", "published", "repeated"]), usages, usages, st.booleans()
    ),
    "batch-cost": st.builds(
        BatchCost,
        requested=counts,
        repeated=counts,
        new=counts,
        published=counts,
        certain=counts,
        remaining=usages,
        beyond_plan=counts,
        expected_unstable=st.none() | numbers,
        chance_of_halting=st.none() | numbers,
        unstable_range=ranges,
        epsilon=numbers,
        delta=numbers,
        quota=st.none() | usages,
        chance_of_exhausting=st.none() | numbers,
    ),
} | plan_documents.STRATEGIES


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for tag, value in EXAMPLES.items():
        path = GOLDEN / f"{tag}.json"
        if not path.exists():
            path.write_text(value.to_json(), encoding="utf-8")
            print(path.name)


if __name__ == "__main__":
    main()
