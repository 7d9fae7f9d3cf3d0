"""The JSON of linear classifiers: questions by name, and numbers as packed texts (`pcqr.serialization.codec`)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records.feature_map import MOST_DEPTH, MOST_FERNS, WHOLE_SHARE, FeatureMap, Ferns, label_predicates
from pcqr.data.records.gradient_sums import GRID
from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.records.vectors import (
    LARGEST_COLUMN,
    LARGEST_COORDINATE,
    UNIT,
    USUAL_NORM,
    ColumnVectors,
    DenseVectors,
    Directions,
    PredicateVectors,
)
from pcqr.data.schema import Schema
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.models.card import indented_rules, predicates_of
from pcqr.models.effects import ROWS, Effects, Shape, Values, chosen_rows, column_shapes, made_up_points, main_effects
from pcqr.models.graph import PROBABILITIES, Graph, answers, sign_labels, tree_labels
from pcqr.models.kind import ScoredKind
from pcqr.models.pictures import Block, Caption, labels_block, shapes_block, speaking_for, write_page
from pcqr.models.trees import (
    check_node,
    describe_node,
    describe_predicate,
    restore_node,
    restore_predicate,
    without_impossible,
)
from pcqr.models.vocabulary import Vocabulary, printable
from pcqr.releases.protocol.answers import counted
from pcqr.serialization.codec import packed, unpacked
from pcqr.serialization.reading import read_count, read_integer, read_list, read_number, read_object, read_text, shown

# ---------------------------------------------------------------------------------------------------------------------
# Sums over public questions as text that people can add up by hand: one number a line for each function.


_DIGITS = 4
"""Significant digits of the largest points."""

Line = tuple[tuple[float, ...], str]
"""The points of each function, and what they are for."""
Part = tuple[str, list[Line]]
"""A heading, and what is under it."""


@dataclass(frozen=True)
class Sum:
    """One function: `start`, and for each of `predicates` the points `yes` where it holds and `no` where it fails."""

    predicates: tuple[Predicate, ...]
    yes: tuple[float, ...]
    no: tuple[float, ...]
    start: float


def shapes_of(function: Sum, words: Vocabulary) -> tuple[Shape, ...]:
    """What each column adds, exactly: the function is the sum of the columns' points and its start."""
    asked: defaultdict[int, list[tuple[float, float, float]]] = defaultdict(list)
    for predicate, yes, no in zip(function.predicates, function.yes, function.no, strict=True):
        asked[predicate.feature].append((predicate.cut, yes, no))

    def points(values: Values) -> float:
        return math.fsum(
            yes if value > cut else no for feature, value in values.items() for cut, yes, no in asked[feature]
        )

    return column_shapes(words, function.predicates, points)


def scorecard(functions: Sequence[Sum], words: Vocabulary) -> str:
    """Column by column, the strongest first; `functions` have the same predicates."""
    start = tuple(function.start for function in functions)
    parts = _by_column([shapes_of(function, words) for function in functions])
    parts.sort(key=lambda part: -_importance(part))
    return _text("add one line of each column", start, parts, words)


def predicate_table(functions: Sequence[Sum], words: Vocabulary) -> str:
    """Question by question, the largest points first; `functions` have the same predicates."""
    predicates = functions[0].predicates
    gains = np.array([np.subtract(function.yes, function.no) for function in functions]).T
    start = tuple(math.fsum([*function.no, function.start]) for function in functions)
    order = np.argsort(-np.abs(gains).max(axis=1), kind="stable")
    asked = [(tuple(gains[j].tolist()), words.condition(predicates[j], holds=True)) for j in order]
    return _text("add the points of every line that is true", start, [("", asked)], words)


def effect_table(shapes: Sequence[Sequence[Shape]], words: Vocabulary) -> str:
    """What each column does on average to each of the functions, in their order, under no heading."""
    parts = _by_column(shapes)
    names = [] if len(shapes) == 1 else [words.label(label) for label in range(len(shapes))]
    return "\n".join(_lines(parts, _decimals(_points(parts)), names)[1:])


def signed(points: float, decimals: int) -> str:
    return f"{points:+.{decimals}f}".replace("-", "−")


def _by_column(shapes: Sequence[Sequence[Shape]]) -> list[Part]:
    """The levels of each column, with the points by each of the functions, which have the same columns."""
    same_column: defaultdict[str, list[Shape]] = defaultdict(list)
    for of_function in shapes:
        for shape in of_function:
            same_column[shape.column.name].append(shape)
    parts: list[Part] = []
    for name, same in same_column.items():
        levels = zip(*(shape.levels for shape in same), strict=True)
        lines = [(tuple(level.points for level in equal), equal[0].words) for equal in levels]
        if len(shapes) == 1 and not same[0].is_numeric:
            lines.sort(key=lambda line: -line[0][0])
        parts.append((printable(name), lines))
    return parts


def _importance(part: Part) -> float:
    """By how much its lines can move one of the functions, at most."""
    points = np.array([points for points, _ in part[1]])
    return float((points.max(axis=0) - points.min(axis=0)).max())


def _text(task: str, start: tuple[float, ...], parts: list[Part], words: Vocabulary) -> str:
    decimals = _decimals([*start, *_points(parts)])
    rounding = f"Points are rounded to {decimals} decimals here; model.json has all digits."
    if len(start) == 1:
        decides = f"The label is {words.label(1)} where the sum is above 0, else {words.label(0)}."
        text = [f"Start with {signed(start[0], decimals)} and {task}. {decides}", rounding]
        return "\n".join([*text, *_lines(parts, decimals, [])])
    names = [words.label(label) for label in range(len(start))]
    text = [
        f"For each label, start with its points and {task}. The label with the largest sum wins, the first of equals.",
        rounding,
        "",
        *_aligned([(start, "to start with")], decimals, names),
    ]
    return "\n".join([*text, *_lines(parts, decimals, names)])


def _lines(parts: list[Part], decimals: int, names: Sequence[str]) -> list[str]:
    """Each part after an empty line."""
    return [
        line for heading, lines in parts for line in ("", *filter(None, [heading]), *_aligned(lines, decimals, names))
    ]


def _aligned(lines: list[Line], decimals: int, names: Sequence[str]) -> list[str]:
    """Under one heading a line, of the label names, where there are any."""
    rows = [(tuple(signed(value, decimals) for value in points), text) for points, text in lines]
    if names:
        rows.insert(0, (tuple(names), ""))
    widths = [max(map(len, column)) for column in zip(*(cells for cells, _ in rows), strict=True)]
    return [
        f"    {'  '.join(f'{cell:>{width}}' for cell, width in zip(cells, widths, strict=True))}  {text}".rstrip()
        for cells, text in rows
    ]


def _points(parts: list[Part]) -> list[float]:
    return [value for _, lines in parts for points, _ in lines for value in points]


def _decimals(points: Iterable[float]) -> int:
    """So many that the largest of `points` has `_DIGITS` significant digits."""
    largest = max(map(abs, points), default=0.0)
    return max(0, _DIGITS - 1 - math.floor(math.log10(largest))) if largest > 0 else 0


# ---------------------------------------------------------------------------------------------------------------------
# The JSON of linear classifiers: questions by name, and numbers as packed texts (`pcqr.serialization.codec`).


_KEYS = ("share", "dense", "ferns", "weights", "scales", "cells")
TREE = "tree"
"""The key of a tree beside the linear classifier, where there is one, and of the questions about what it says."""


def describe_linear(linear: LinearClassifier, words: Vocabulary) -> dict[str, Any]:
    """`weights` are integers of 32 bits, in units of 2⁻²⁰; `cells` of 8 bits, in units of `scales`."""
    features = linear.feature_map
    beside = {} if features.tree is None else {TREE: describe_node(features.tree, words)}
    return beside | {
        "share": features.share,
        "dense": None if features.dense is None else _describe_dense(features.dense, words),
        "ferns": None if features.ferns is None else _describe_ferns(features.ferns),
        "weights": packed(np.rint(np.array(linear.weights) * GRID).astype(np.int32)),
        "scales": list(linear.scales),
        "cells": linear.cells,
    }


def restore_linear(value: object, where: str, words: Vocabulary) -> LinearClassifier:
    """What `describe_linear` described; anything else is refused with its place."""
    has_tree = isinstance(value, dict) and TREE in value
    fields = read_object(value, where, (TREE, *_KEYS) if has_tree else _KEYS)
    tree = _restore_tree(fields[TREE], f"{where}.{TREE}", words) if has_tree else None
    dense = None if fields["dense"] is None else _restore_dense(fields["dense"], f"{where}.dense", words)
    if _asks_tree(dense, words) != has_tree:
        allowed = "questions, the last ones about the tree" if has_tree else "no question about a tree"
        raise ParameterError(f"{where}.dense", allowed, "others")
    ferns = None if fields["ferns"] is None else _restore_ferns(fields["ferns"], f"{where}.ferns", words)
    if dense is None and ferns is None:
        raise ParameterError(f"{where}.dense", "a dense part, where there are no ferns", None)
    share = read_count(fields["share"], f"{where}.share")
    listed = read_list(fields["scales"], f"{where}.scales")
    scales = tuple(read_number(scale, f"{where}.scales[{place}]") for place, scale in enumerate(listed))
    classes = len(words.classes)
    try:
        wider = ferns if ferns is None or tree is None else replace(ferns, features=len(words.features) + 1)
        features = FeatureMap(dense, wider, share, tree)
        shape = (1 if classes == 2 else classes, features.size)
        weights = unpacked(fields["weights"], np.int32, shape, "weights") / GRID
        cells = read_text(fields["cells"], "cells")
        return LinearClassifier(features, classes, tuple(map(tuple, weights.tolist())), scales, cells)
    except ParameterError as error:
        raise ParameterError(f"{where}.{error.name}", error.allowed, error.received) from None


def _restore_tree(value: object, where: str, words: Vocabulary) -> Split:
    tree = restore_node(value, where, words)
    if not isinstance(tree, Split):
        raise ParameterError(where, "a tree that asks something", "a label alone")
    return tree


def _asks_tree(dense: PredicateVectors | ColumnVectors | None, words: Vocabulary) -> bool:
    """Do the dense vectors have one more column than the points?"""
    return dense is not None and dense.features > len(words.features)


def _describe_dense(dense: DenseVectors, words: Vocabulary) -> dict[str, Any]:
    through = dense.directions
    directions = (
        None if through is None else {"columns": through.columns, "shift": through.shift, "matrix": through.packed}
    )
    if isinstance(dense, ColumnVectors):
        columns = [
            {"feature": feature.name, "centre": centre, "scale": scale}
            for feature, centre, scale in zip(words.features, dense.centres, dense.scales, strict=True)
        ]
        return {"constant": dense.constant, "columns": columns, "directions": directions}
    if not isinstance(dense, PredicateVectors):
        raise AssertionError("Dense vectors are of predicates or of columns.")
    questions = [
        _describe_asked(predicate, words) | {"yes": yes, "no": no}
        for predicate, yes, no in zip(dense.predicates, dense.holding, dense.failing, strict=True)
    ]
    return {"constant": UNIT, "questions": questions, "directions": directions}


def _restore_dense(value: object, where: str, words: Vocabulary) -> PredicateVectors | ColumnVectors:
    kind = "columns" if isinstance(value, dict) and "columns" in value else "questions"
    fields = read_object(value, where, ("constant", kind, "directions"))
    listed = read_list(fields[kind], f"{where}.{kind}")
    constant = read_integer(fields["constant"], f"{where}.constant")
    try:
        if kind == "columns":
            centres, scales = _restored_columns(listed, f"{where}.columns", words)
            directions = _restored_directions(fields["directions"], f"{where}.directions", len(listed))
            return ColumnVectors(centres, scales, len(words.features), constant, directions)
        if constant != UNIT:
            raise ParameterError("constant", f"{UNIT}", constant)
        here = [f"{where}.questions[{place}]" for place in range(len(listed))]
        asked = [_restored_asked(entry, place, words) for entry, place in zip(listed, here, strict=True)]
        predicates, yes, no = zip(*asked, strict=True) if asked else ((), (), ())
        directions = _restored_directions(fields["directions"], f"{where}.directions", len(asked) + 1)
        width = len(words.features)
        about_tree = [place for place, predicate in enumerate(predicates) if predicate.feature == width]
        expected = label_predicates(width, len(words.classes))
        if about_tree and predicates[about_tree[0] :] != expected:
            allowed = "asked about in the last questions, once for each label but the first"
            raise ParameterError(f"{here[about_tree[0]]}.{TREE}", allowed, "elsewhere")
        return PredicateVectors(predicates, yes, no, width + bool(about_tree), directions)
    except ParameterError as error:
        raise _placed(error, where) from None


def _describe_asked(predicate: Predicate, words: Vocabulary) -> dict[str, Any]:
    """Return {"feature": …, "above": …}, or {"tree": label}: does the tree say this label or a later one?"""
    if predicate.feature < len(words.features):
        return describe_predicate(predicate, words)
    return {TREE: words.classes[math.ceil(predicate.cut)]}


def _restored_asked(entry: object, where: str, words: Vocabulary) -> tuple[Predicate, int, int]:
    """What is asked, and what yes and no are worth. The column after the last feature is what the tree says."""
    if isinstance(entry, dict) and TREE in entry:
        fields = read_object(entry, where, (TREE, "yes", "no"))
        name = fields[TREE]
        if not (label := words.label_of(name)):
            later = ", ".join(map(repr, words.classes[1:]))
            raise ParameterError(f"{where}.{TREE}", f"a label after the first: {later}", shown(name))
        predicate = label_predicates(len(words.features), len(words.classes))[label - 1]
    else:
        fields = read_object(entry, where, ("feature", "above", "yes", "no"))
        predicate = restore_predicate(fields, where, words)
    return predicate, read_integer(fields["yes"], f"{where}.yes"), read_integer(fields["no"], f"{where}.no")


def _restored_columns(listed: list[Any], where: str, words: Vocabulary) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The centres and scales of all features of the schema, in its order."""
    if len(listed) != len(words.features):
        raise ParameterError(where, f"one entry for each of {len(words.features)} features", f"{len(listed)} entries")
    centres, scales = [], []
    for place, (entry, feature) in enumerate(zip(listed, words.features, strict=True)):
        here = f"{where}[{place}]"
        fields = read_object(entry, here, ("feature", "centre", "scale"))
        if fields["feature"] != feature.name:
            raise ParameterError(f"{here}.feature", f"{feature.name!r}, as in the schema", fields["feature"])
        centres.append(read_number(fields["centre"], f"{here}.centre"))
        scales.append(read_number(fields["scale"], f"{here}.scale"))
    return tuple(centres), tuple(scales)


def _restored_directions(value: object, where: str, rows: int) -> Directions | None:
    if value is None:
        return None
    fields = read_object(value, where, ("columns", "shift", "matrix"))
    columns, shift = (read_count(fields[key], f"{where}.{key}") for key in ("columns", "shift"))
    try:
        return Directions(rows, columns, shift, read_text(fields["matrix"], f"{where}.matrix"))
    except ParameterError as error:
        raise _placed(error, where) from None


def _describe_ferns(ferns: Ferns) -> dict[str, Any]:
    """The questions fern by fern: the places of their features among those of the schema, and what is above."""
    return {
        "count": ferns.count,
        "depth": ferns.depth,
        "features": packed(np.array([predicate.feature for predicate in ferns.predicates], dtype=np.int32)),
        "above": packed(np.array([predicate.cut for predicate in ferns.predicates], dtype=np.float64)),
    }


def _restore_ferns(value: object, where: str, words: Vocabulary) -> Ferns:
    fields = read_object(value, where, ("count", "depth", "features", "above"))
    count, depth = (read_count(fields[key], f"{where}.{key}") for key in ("count", "depth"))
    if not 1 <= count <= MOST_FERNS or not 1 <= depth <= MOST_DEPTH:
        raise ParameterError(f"{where}.count", f"1 to {MOST_FERNS} ferns of depth 1 to {MOST_DEPTH}", (count, depth))
    features = unpacked(fields["features"], np.int32, (count * depth,), f"{where}.features").tolist()
    cuts = unpacked(fields["above"], np.float64, (count * depth,), f"{where}.above").tolist()
    try:
        return Ferns(tuple(map(Predicate, features, cuts)), depth, len(words.features))
    except ParameterError as error:
        raise _placed(error, where) from None


def _placed(error: ParameterError, where: str) -> ParameterError:
    """The error, which says where in the file it is."""
    name = error.name if error.name.startswith(where) else f"{where}.{error.name}"
    return ParameterError(name, error.allowed, error.received)


# ---------------------------------------------------------------------------------------------------------------------
# The tree beside a linear classifier: what it is worth in the score, and how it is read aloud.


_DECIMALS = 3


def check_tree(linear: LinearClassifier, words: Vocabulary) -> None:
    """Raise unless the last questions, and no others, are about the tree beside the linear classifier."""
    features = linear.feature_map
    if words.effects is not None and (words.effects.tree is None) != (features.tree is None):
        raise ParameterError(
            "effects.tree", "numbers for a linear classifier with a tree, and for no other", words.effects.tree
        )
    if features.tree is None:
        return
    check_node(features.tree, words)
    ferned = () if features.ferns is None else features.ferns.predicates
    asked = features.dense.predicates if isinstance(features.dense, PredicateVectors) else ()
    about_tree = label_predicates(features.features, len(words.classes))
    others = (*ferned, *asked[: -len(about_tree)])
    if asked[-len(about_tree) :] != about_tree or predicates_of_columns(linear, others) != others:
        raise ParameterError(
            "hypothesis", "a tree that the last questions are about, and no others", "another linear classifier"
        )


def predicates_of_columns(linear: LinearClassifier, predicates: Iterable[Predicate]) -> tuple[Predicate, ...]:
    """Those that are about columns of the points, not about what the tree says."""
    return tuple(predicate for predicate in predicates if predicate.feature < linear.feature_map.features)


def tree_worth(linear: LinearClassifier, points: Points) -> tuple[float, ...] | None:
    """Return the gain of each mean score when the tree gives its label to all points, and not another one.

    With two labels there is one score, that of the second label. None where there is no tree.
    """
    if linear.feature_map.tree is None:
        return None
    rows, question = chosen_rows(points, ROWS), linear.feature_map.tree.predicate

    def scores(label: int) -> NDArray[np.float64]:
        always = Split(question, fails=Leaf(label), holds=Leaf(label))
        said = replace(linear, feature_map=replace(linear.feature_map, tree=always))
        found: NDArray[np.float64] = np.atleast_1d(said.decision_function(rows).mean(axis=0))
        return found

    means = np.array([scores(label) for label in range(linear.classes)])  # by what the tree says, by score
    if linear.classes == 2:
        return (float(means[1, 0] - means[0, 0]),)
    others = (means.sum(axis=0) - means.diagonal()) / (linear.classes - 1)
    return tuple((means.diagonal() - others).tolist())


def tree_lines(linear: LinearClassifier, words: Vocabulary, effects: Effects) -> list[str]:
    """What it is worth, and all that it asks; nothing where there is no tree. An empty line comes last."""
    tree = linear.feature_map.tree
    if tree is None:
        return []

    def says(label: int) -> str:
        return f"the tree says {words.label(label)}"

    root = without_impossible(DecisionTree(tree, linear.feature_map.features), words.schema).root
    return [f"It asks the tree first. {_worth(words, effects)}", "", indented_rules(root, words, says), ""]


def tree_in_words(linear: LinearClassifier, words: Vocabulary, effects: Effects) -> list[str]:
    """The same in one line, for a picture of the columns."""
    tree = linear.feature_map.tree
    if tree is None:
        return []
    size = counted(len(list(predicates_of(tree))), "question")
    return [f"A tree of {size} is asked first. {_worth(words, effects)}"]


def _worth(words: Vocabulary, effects: Effects) -> str:
    if effects.tree is None:
        raise AssertionError("The effects of a linear classifier with a tree say what the tree is worth.")
    rows = counted(effects.rows, "public row") if effects.rows else "rows that are made up"
    if len(words.classes) == 2:
        says, worth = f"That it says {words.label(1)} and not {words.label(0)}", signed(effects.tree[0], _DECIMALS)
        return f"{says} is worth {worth} in the score, on average over {rows}."
    each = (f"{words.label(label)} {signed(worth, _DECIMALS)}" for label, worth in enumerate(effects.tree))
    return f"Its label gains in the score, on average over {rows}: {', '.join(each)}."


# ---------------------------------------------------------------------------------------------------------------------
# A linear classifier as an ONNX graph: comparisons, a matrix product, a division by the norm, a look-up for ferns.
#
# What a tree beside it says of a record is one more column of the encoded table, which all the rest asks about.
#
# Everything before the last few operations is whole numbers that float64, or float32 for cells, holds exactly, so the
# order in which a runtime adds up does not matter: margins are the numbers that Python computes.


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
    """Add to `graph` what the ferns contribute to the scores. None without ferns.

    The answers of a fern are the bits of a number, which is the place of its cell in the table. Each record is a column
    here, since runtimes are much faster when they copy, compare and multiply whole rows.
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


# ---------------------------------------------------------------------------------------------------------------------
# Linear classifiers as published models: a scorecard for sums over questions, main effects for all others.
#
# What a tree beside a linear classifier says moves with many columns at once, so that one is no sum over them.


_TREE_DRAWN = "The tree beside it is one random draw: which questions it asks says little about which matter."


class LinearKind(ScoredKind[LinearClassifier]):
    """Over questions, without ferns or a tree: a scorecard. Else: main effects, which are a part of it and not all."""

    version = 4
    name = "linear"
    title = "private linear classifier"
    hypothesis = LinearClassifier
    limits = (
        "Its probabilities follow from its noisy scores alone, so they cost nothing. They were not calibrated on the "
        "private records. Check them against labelled rows of your own.",
        "Its weights carry noise, all of them by about as much. Another run on the same records gives others; a small "
        "effect says nothing, and a large one nothing about causes.",
    )

    def check(self, hypothesis: LinearClassifier, words: Vocabulary) -> None:
        if len(words.classes) != hypothesis.classes:
            raise ParameterError("classes", f"{hypothesis.classes} labels", len(words.classes))
        if hypothesis.feature_map.features != len(words.features):
            raise ParameterError(
                "hypothesis", f"one on the {len(words.features)} features of the schema", "a LinearClassifier"
            )
        check_tree(hypothesis, words)

    def limits_of(self, hypothesis: LinearClassifier) -> tuple[str, ...]:
        return self.limits if hypothesis.feature_map.tree is None else (*self.limits, _TREE_DRAWN)

    def describe(self, hypothesis: LinearClassifier, words: Vocabulary) -> dict[str, Any]:
        return describe_linear(hypothesis, words)

    def restore(self, value: object, where: str, words: Vocabulary) -> LinearClassifier:
        return restore_linear(value, where, words)

    def cuts(self, hypothesis: LinearClassifier) -> tuple[Predicate, ...]:
        """Those of the scorecard, or of the tree, where there is one."""
        dense, tree = hypothesis.feature_map.dense, hypothesis.feature_map.tree
        if tree is not None:
            return tuple(predicates_of(tree))
        return dense.predicates if _is_sum(hypothesis) and isinstance(dense, PredicateVectors) else ()

    def aloud(self, hypothesis: LinearClassifier, words: Vocabulary, *, flat: bool = False) -> str:
        """Main effects, which are the same either way, are computed once."""
        if _is_sum(hypothesis):
            return super().aloud(hypothesis, words, flat=flat)
        return super().aloud(hypothesis, replace(words, effects=self._effects(hypothesis, words)))

    def rules(self, hypothesis: LinearClassifier, words: Vocabulary, *, flat: bool) -> str:
        """A scorecard or, if `flat`, the questions by size; else the main effects, either way."""
        if _is_sum(hypothesis):
            return (predicate_table if flat else scorecard)(sums_of(hypothesis), words)
        effects = self._effects(hypothesis, words)
        shapes = [effects.shapes(function) for function in range(hypothesis.blocks)]
        beside = tree_lines(hypothesis, words, effects)
        return "\n".join([_no_rules(hypothesis), *beside, *_explained(effects, words), "", effect_table(shapes, words)])

    def draw(self, hypothesis: LinearClassifier, words: Vocabulary, path: Path, caption: Caption) -> None:
        write_page(path, caption, lambda: self._picture(hypothesis, words))

    def add_labels(self, hypothesis: LinearClassifier, graph: Graph) -> str:
        return linear_labels(hypothesis, graph)

    def scores(self, hypothesis: LinearClassifier, points: Points) -> NDArray[np.float64]:
        return hypothesis.decision_function(points)

    def probabilities(self, hypothesis: LinearClassifier, points: Points) -> NDArray[np.float64]:
        return hypothesis.predict_proba(points)

    def effects(self, hypothesis: LinearClassifier, schema: Schema, points: Points | None) -> Effects | None:
        if _is_sum(hypothesis):
            return None
        made_up = points is None or points.shape[0] == 0
        rows = _made_up(hypothesis, schema) if points is None or made_up else points
        found = main_effects(hypothesis.decision_function, schema, rows, made_up=made_up)
        return replace(found, tree=tree_worth(hypothesis, rows))

    def _effects(self, hypothesis: LinearClassifier, words: Vocabulary) -> Effects:
        found = words.effects or self.effects(hypothesis, words.schema, None)
        if found is None:
            raise AssertionError("A sum is read as a scorecard.")
        return found

    def _picture(self, hypothesis: LinearClassifier, words: Vocabulary) -> Block:
        if _is_sum(hypothesis):
            return _scorecard_picture(sums_of(hypothesis), words)
        effects = self._effects(hypothesis, words)
        explanation = (
            *tree_in_words(hypothesis, words, effects),
            *_explained(effects, words),
            "All curves have one scale and all bars another; the values of a number are drawn equally far apart. "
            "What columns do together is not drawn.",
        )
        if hypothesis.classes == 2:
            return shapes_block(effects.shapes(0), speaking_for(words), explanation)
        return labels_block(effects.strongest, words, explanation)


def sums_of(linear: LinearClassifier) -> list[Sum]:
    """The blocks of a linear classifier over questions without ferns, each as a sum: v·θ in units of the usual ‖v‖.

    v = ψ·D/2^shift is linear in the answers ψ but for rounding down, which takes half a unit from each of its
    coordinates on average, and for the cut at 16 bits, which hardly anything meets. So the weight of an answer is
    (D·θ)/2^shift, and a sum is the model's up to rounding.
    """
    dense = linear.feature_map.dense
    if not isinstance(dense, PredicateVectors):
        raise AssertionError("Only questions are on a scorecard.")
    holding, failing = np.array(dense.holding), np.array(dense.failing)
    found = []
    for block in np.array(linear.weights):
        weights, lost, unit = block, 0.0, float(UNIT)
        if dense.directions is not None:
            weights = dense.directions.matrix @ block * 2.0**-dense.directions.shift
            lost, unit = 0.5 * float(block.sum()), float(USUAL_NORM)
        yes, no = (tuple((weights[:-1] * entries / unit).tolist()) for entries in (holding, failing))
        found.append(Sum(dense.predicates, yes, no, (UNIT * float(weights[-1]) - lost) / unit))
    return found


def _is_sum(linear: LinearClassifier) -> bool:
    features = linear.feature_map
    return features.tree is None and features.ferns is None and isinstance(features.dense, PredicateVectors)


def _no_rules(linear: LinearClassifier) -> str:
    """What it is, where it is no list of rules."""
    dense, ferns, tree = linear.feature_map.dense, linear.feature_map.ferns, linear.feature_map.tree
    parts = []
    if isinstance(dense, PredicateVectors):
        parts.append(counted(len(predicates_of_columns(linear, dense.predicates)), "question"))
    elif isinstance(dense, ColumnVectors):
        parts.append(counted(dense.features, "column"))
    if ferns is not None:
        parts.append(f"{counted(ferns.count, 'fern')} of {ferns.depth} questions each")
    if tree is not None:
        parts.append("what a tree says")
    made = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"This is no list of rules: a score is made of {made}, and all of them enter."


def _explained(effects: Effects, words: Vocabulary) -> list[str]:
    of_label = "" if len(words.classes) == 2 else " of a label"
    rows = f"{counted(effects.rows, 'public row')}" if effects.rows else "rows that are made up, each column by itself,"
    decides = (
        f"Above 0 speaks for {words.label(1)}, below for {words.label(0)}."
        if len(words.classes) == 2
        else "The label with the largest score wins; points are less their mean over labels."
    )
    moves = "" if effects.tree is None else " What the tree says may change with it."
    return [
        f"How the mean score{of_label} of {rows} moves as one column takes each value and the others stay as they are."
        f"{moves}",
        decides,
    ]


def _scorecard_picture(sums: Sequence[Sum], words: Vocabulary) -> Block:
    scale = "All steps have one scale and all bars another; the steps between public cuts are drawn equally wide."
    if len(sums) == 1:
        decides = (
            f"The label is {words.label(1)} where the sum is above {signed(-sums[0].start, 3)}, else {words.label(0)}."
        )
        explanation = (f"What each column adds to the score. {scale}", decides)
        return shapes_block(shapes_of(sums[0], words), speaking_for(words), explanation)
    starts = [f"The score of {words.label(k)} starts with {signed(each.start, 3)}." for k, each in enumerate(sums)]

    def shapes(label: int) -> Sequence[Shape]:
        return shapes_of(sums[label], words)

    explanation = (f"What each column adds to the score of a label; the label with the largest score wins. {scale}", "")
    return labels_block(shapes, words, explanation[:1], starts)


def _made_up(linear: LinearClassifier, schema: Schema) -> Points:
    """Rows by public coins, from the cuts of the model, or from where the columns of its dense part are."""
    dense, ferns, tree = linear.feature_map.dense, linear.feature_map.ferns, linear.feature_map.tree
    predicates = [*(() if ferns is None else ferns.predicates), *(() if tree is None else predicates_of(tree))]
    if isinstance(dense, PredicateVectors):
        predicates += dense.predicates
    elif isinstance(dense, ColumnVectors):
        places = enumerate(zip(dense.centres, dense.scales, strict=True))
        predicates += [
            Predicate(place, centre + step * UNIT / scale)
            for place, (centre, scale) in places
            if scale > 0
            for step in (-1.5, -0.5, 0.5, 1.5)
        ]
    return made_up_points(schema, predicates_of_columns(linear, predicates))
