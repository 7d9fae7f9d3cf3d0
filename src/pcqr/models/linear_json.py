"""The JSON of linear classifiers: questions by name, and numbers as packed texts (`pcqr.documents.packing`)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from pcqr.documents.packing import packed, unpacked
from pcqr.documents.reading import read_count, read_integer, read_list, read_number, read_object, read_text, shown
from pcqr.errors import ParameterError
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models.trees import describe_node, describe_predicate, restore_node, restore_predicate
from pcqr.models.vocabulary import Vocabulary
from pcqr.records.branching import Split
from pcqr.records.directions import Directions
from pcqr.records.feature_map import FeatureMap, label_predicates
from pcqr.records.ferns import MOST_DEPTH, MOST_FERNS, Ferns
from pcqr.records.gradient_sums import GRID
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import UNIT, ColumnVectors, DenseVectors, PredicateVectors

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
