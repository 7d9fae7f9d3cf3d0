"""A linear classifier as an ONNX graph: comparisons, a matrix product, a division by the norm, a look-up for ferns.

What a tree beside it says of a record is one more column of the encoded table, which all the rest asks about.

Everything before the last few operations is whole numbers that float64, or float32 for cells, holds exactly, so the
order in which a runtime adds up does not matter: margins are the numbers that Python computes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models.graph import PROBABILITIES, Graph, answers, sign_labels, tree_labels
from pcqr.records.branching import Split
from pcqr.records.directions import LARGEST_COORDINATE, Directions
from pcqr.records.feature_map import WHOLE_SHARE
from pcqr.records.gradient_sums import GRID
from pcqr.records.vectors import LARGEST_COLUMN, UNIT, ColumnVectors, PredicateVectors

_HALF = 2.0**15

Floats = NDArray[np.float64]


def linear_labels(linear: LinearClassifier, graph: Graph) -> str:
    """Labels; the probabilities become an output of their own."""
    tree = linear.feature_map.tree
    columns = graph.table if tree is None else _with_label(tree, graph)
    parts = [
        part for part in (_dense_part(linear, graph, columns), _cell_part(linear, graph, columns)) if part is not None
    ]
    margins = parts[0] if len(parts) == 1 else graph.add("Add", *parts)
    compared = margins
    if linear.classes == 2:  # the first class has a margin of 0
        zero = graph.add("Sub", margins, margins)
        compared = graph.add("Concat", zero, margins, axis=1)
    probabilities = _probabilities(compared, graph, several=linear.classes > 2)
    graph.add_output(PROBABILITIES, probabilities, "DOUBLE", [linear.classes])
    if linear.classes == 2:
        return sign_labels(graph.add("Squeeze", margins, graph.constant("INT64", [1], [1])), graph)
    return graph.add("ArgMax", margins, axis=1, keepdims=0)


def _probabilities(margins: str, graph: Graph, *, several: bool) -> str:
    """See `LinearClassifier.predict_proba`."""
    q = graph.add("Softmax", margins, axis=1)
    one, half = graph.array(np.array([1.0])), graph.array(np.array([0.5]))
    lengths = graph.add("Sub", one, q)
    if several:
        squares = graph.add("Add", graph.add("Sub", lengths, q), graph.add("ReduceSumSquare", q, axes=[1], keepdims=1))
        lengths = graph.add("Sqrt", graph.add("Max", squares, graph.array(np.array([0.0]))))
    weighed = graph.add("Mul", q, graph.add("Max", lengths, half))
    return graph.add("Div", weighed, graph.add("ReduceSum", weighed, graph.constant("INT64", [1], [1]), keepdims=1))


def _with_label(tree: Split, graph: Graph) -> str:
    """Return the columns of the encoded table, and the tree's label as a number."""
    said = graph.add("Cast", tree_labels(tree, graph), to=graph.type("DOUBLE"))
    return graph.add("Concat", graph.table, graph.add("Unsqueeze", said, graph.constant("INT64", [1], [1])), axis=1)


def _dense_part(linear: LinearClassifier, graph: Graph, columns: str) -> str | None:
    """√(share)·v·θ/‖v‖, with θ as a high and a low part, as `LinearClassifier` has it."""
    dense = linear.feature_map.dense
    if dense is None:
        return None
    if isinstance(dense, PredicateVectors):
        vectors, constant = _predicate_vectors(dense, graph, columns)
    else:
        vectors, constant = _column_vectors(dense, graph, columns)
    whole = np.array(linear.weights).T * GRID
    high = np.floor(whole / _HALF)
    products = []
    for part in (high, whole - high * _HALF):
        rows = part if constant is None else part[:-1]
        product = graph.add("MatMul", vectors, graph.array(rows))
        products.append(product if constant is None else graph.add("Add", product, graph.array(constant * part[-1])))
    squares = graph.add("ReduceSumSquare", vectors, axes=[1], keepdims=1)
    least = graph.array(np.array([1.0 if constant is None else float(constant) ** 2]))
    norms = graph.add("Sqrt", graph.add("Max" if constant is None else "Add", squares, least))
    product = graph.add("Add", graph.add("Mul", products[0], graph.array(np.array([_HALF]))), products[1])
    factor = math.sqrt(linear.feature_map.share / WHOLE_SHARE) / GRID
    return graph.add("Div", graph.add("Mul", graph.array(np.array([factor])), product), norms)


def _predicate_vectors(dense: PredicateVectors, graph: Graph, columns: str) -> tuple[str, int | None]:
    """(v, None), or (v less its last coordinate, which is a constant, and that constant)."""
    holds = answers(dense.predicates, graph, columns)
    holding, failing = np.array(dense.holding, dtype=np.float64), np.array(dense.failing, dtype=np.float64)
    if dense.directions is None:
        return graph.add("Where", holds, graph.array(holding), graph.array(failing)), UNIT
    matrix = dense.directions.matrix.astype(np.float64)
    held = graph.add("Cast", holds, to=graph.type("DOUBLE"))
    gained = graph.add("MatMul", held, graph.array((holding - failing)[:, None] * matrix[:-1]))
    start = graph.array(failing @ matrix[:-1] + UNIT * matrix[-1])
    return _shifted(graph.add("Add", gained, start), dense.directions, graph), None


def _column_vectors(dense: ColumnVectors, graph: Graph, columns: str) -> tuple[str, int]:
    """v less its last coordinate, which is a constant, and that constant."""
    largest = float(np.finfo(np.float64).max)
    order = [graph.place(feature) for feature in range(len(dense.centres))]
    if order != sorted(order):
        columns = graph.add("Gather", columns, graph.array(np.array(order)), axis=1)
    moved = _clipped(graph.add("Sub", columns, graph.array(np.array(dense.centres))), largest, graph)
    scaled = _clipped(graph.add("Mul", moved, graph.array(np.array(dense.scales))), float(LARGEST_COLUMN), graph)
    entries = graph.add("Round", scaled)
    if dense.directions is None:
        return entries, dense.constant
    seen = graph.add("MatMul", entries, graph.array(dense.directions.matrix.astype(np.float64)))
    return _shifted(seen, dense.directions, graph), dense.constant


def _shifted(seen: str, directions: Directions, graph: Graph) -> str:
    """⌊·/2^shift⌋, cut to 16 bits."""
    lowered = graph.add("Floor", graph.add("Mul", seen, graph.array(np.array([2.0**-directions.shift]))))
    return _clipped(lowered, float(LARGEST_COORDINATE), graph)


def _clipped(values: str, most: float, graph: Graph) -> str:
    return graph.add("Clip", values, graph.constant("DOUBLE", [-most], []), graph.constant("DOUBLE", [most], []))


def _cell_part(linear: LinearClassifier, graph: Graph, columns: str) -> str | None:
    """The answers of a fern as bits of a number, which is a place in the table of its cells.

    Records lie in columns here: whole rows are then copied, compared and multiplied, which runtimes do much faster.
    """
    ferns = linear.feature_map.ferns
    if ferns is None:
        return None
    features = graph.array(np.array([graph.place(predicate.feature) for predicate in ferns.predicates]))
    cuts = graph.array(np.array([[predicate.cut] for predicate in ferns.predicates]))
    asked = graph.add("Gather", graph.add("Transpose", columns, perm=[1, 0]), features, axis=0)
    held = graph.add("Cast", graph.add("Greater", asked, cuts), to=graph.type("FLOAT"))
    by_fern = graph.add("Reshape", held, graph.constant("INT64", [ferns.count, ferns.depth, -1], [3]))
    bits = graph.array((1 << np.arange(ferns.depth)[::-1]).astype(np.float32)[None])
    cells = graph.add("Squeeze", graph.add("MatMul", bits, by_fern), graph.constant("INT64", [1], [1]))
    starts = graph.array((np.arange(ferns.count) << ferns.depth)[:, None])
    places = graph.add("Add", graph.add("Cast", cells, to=graph.type("INT64")), starts)
    table = np.ascontiguousarray(linear.tables.reshape(linear.blocks, -1).T)
    numbers = graph.add("Cast", graph.add("Gather", graph.array(table), places, axis=0), to=graph.type("FLOAT"))
    totals = graph.add("ReduceSum", numbers, graph.constant("INT64", [0], [1]), keepdims=0)
    factor = math.sqrt((WHOLE_SHARE - linear.feature_map.share) / (WHOLE_SHARE * ferns.count))
    whole = graph.add("Cast", totals, to=graph.type("DOUBLE"))
    return graph.add("Mul", graph.array(factor * np.array(linear.scales)), whole)
