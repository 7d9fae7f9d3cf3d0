"""The JSON of predicates and trees: features and labels by their names, so that the file can be read by itself."""

from __future__ import annotations

import math
from typing import Any

from pcqr.errors import ParameterError
from pcqr.hypotheses.trees.predicates import Predicate
from pcqr.hypotheses.trees.tree import Leaf, Split
from pcqr.models.reading import read_number, read_object
from pcqr.models.vocabulary import Vocabulary

DEEPEST_READ = 64
"""No tree of pcqr comes near it; a file that does is refused before Python's recursion limit is."""

_INFINITIES = {"infinity": math.inf, "-infinity": -math.inf}


def describe_node(node: Leaf | Split, words: Vocabulary) -> dict[str, Any]:
    """{"label": …}, or {"feature": …, "above": …, "then": node, "else": node}: x[feature] > above goes to `then`."""
    if isinstance(node, Leaf):
        return {"label": words.classes[node.label]}
    return describe_predicate(node.predicate, words) | {
        "then": describe_node(node.holds, words),
        "else": describe_node(node.fails, words),
    }


def restore_node(value: object, where: str, words: Vocabulary, deepest: int = DEEPEST_READ) -> Leaf | Split:
    if deepest < 0:
        raise ParameterError("model.hypothesis", f"at most {DEEPEST_READ} deep", "a deeper one")
    if isinstance(value, dict) and "label" in value:
        name = read_object(value, where, ("label",))["label"]
        label = None if isinstance(name, dict | list) else words.label_of(name)
        if label is None:
            raise ParameterError(f"{where}.label", f"one of the classes {list(words.classes)}", name)
        return Leaf(label)
    fields = read_object(value, where, ("feature", "above", "then", "else"))
    return Split(
        restore_predicate({key: fields[key] for key in ("feature", "above")}, where, words),
        holds=restore_node(fields["then"], f"{where}.then", words, deepest - 1),
        fails=restore_node(fields["else"], f"{where}.else", words, deepest - 1),
    )


def describe_predicate(predicate: Predicate, words: Vocabulary) -> dict[str, Any]:
    cut = predicate.cut
    above = cut if math.isfinite(cut) else ("infinity" if cut > 0 else "-infinity")
    return {"feature": words.features[predicate.feature].name, "above": above}


def restore_predicate(fields: dict[str, Any], where: str, words: Vocabulary) -> Predicate:
    feature = words.feature_of(fields["feature"])
    if feature is None:
        raise ParameterError(f"{where}.feature", "the name of a feature of the schema", fields["feature"])
    above = fields["above"]
    if isinstance(above, str) and above in _INFINITIES:
        return Predicate(feature, _INFINITIES[above])
    return Predicate(feature, read_number(above, f"{where}.above"))
