"""The JSON of predicates and trees: features and labels by their names, so that the file can be read by itself."""

from __future__ import annotations

import math
from typing import Any

from pcqr.documents.reading import read_list, read_number, read_object
from pcqr.errors import ParameterError
from pcqr.models.vocabulary import Vocabulary
from pcqr.records.branching import Leaf, Split
from pcqr.records.predicates import Predicate

DEEPEST_READ = 64
"""No tree of pcqr comes near it; a file that does is refused before Python's recursion limit is."""

PROBABILITIES = "probabilities"
NODE = ("feature", "above", "then", "else")
_INFINITIES = {"infinity": math.inf, "-infinity": -math.inf}


def describe_node(node: Leaf | Split, words: Vocabulary) -> dict[str, Any]:
    """{"label": …}, or {"feature": …, "above": …, "then": node, "else": node}: x[feature] > above goes to `then`.

    A leaf with shares has them as "probabilities", in the order of the labels.
    """
    if isinstance(node, Leaf):
        described = {"label": words.classes[node.label]}
        return described if node.shares is None else described | {PROBABILITIES: list(node.shares)}
    return describe_predicate(node.predicate, words) | {
        "then": describe_node(node.holds, words),
        "else": describe_node(node.fails, words),
    }


def restore_node(
    value: object, where: str, words: Vocabulary, deepest: int = DEEPEST_READ, *, has_shares: bool = False
) -> Leaf | Split:
    """What `describe_node` described; anything else is refused with its place."""
    if deepest < 0:
        raise ParameterError("model.hypothesis", f"at most {DEEPEST_READ} deep", "a deeper one")
    if isinstance(value, dict) and "label" in value:
        entries = read_object(value, where, ("label", PROBABILITIES) if has_shares else ("label",))
        name = entries["label"]
        label = None if isinstance(name, dict | list) else words.label_of(name)
        if label is None:
            raise ParameterError(f"{where}.label", f"one of the classes {list(words.classes)}", name)
        return (
            _with_shares(label, entries[PROBABILITIES], f"{where}.{PROBABILITIES}", words)
            if has_shares
            else Leaf(label)
        )
    fields = read_object(value, where, NODE)
    return Split(
        restore_predicate({key: fields[key] for key in ("feature", "above")}, where, words),
        holds=restore_node(fields["then"], f"{where}.then", words, deepest - 1, has_shares=has_shares),
        fails=restore_node(fields["else"], f"{where}.else", words, deepest - 1, has_shares=has_shares),
    )


def _with_shares(label: int, value: object, where: str, words: Vocabulary) -> Leaf:
    listed = read_list(value, where)
    shares = tuple(read_number(share, f"{where}[{place}]") for place, share in enumerate(listed))
    if len(shares) != len(words.classes):
        raise ParameterError(where, f"a number for each of {len(words.classes)} labels", f"{len(shares)} numbers")
    try:
        return Leaf(label, shares)
    except ParameterError as error:
        raise ParameterError(where, error.allowed, error.received) from None


def describe_predicate(predicate: Predicate, words: Vocabulary) -> dict[str, Any]:
    return {"feature": words.features[predicate.feature].name, "above": predicate.cut}


def restore_predicate(fields: dict[str, Any], where: str, words: Vocabulary) -> Predicate:
    return Predicate(read_feature(fields["feature"], where, words), read_number(fields["above"], f"{where}.above"))


def describe_question(feature: int, cut: float, above: int, words: Vocabulary) -> dict[str, Any]:
    """A tree with one question and the labels `above` and 1 − `above`. An infinite cut makes it a constant."""
    return {
        "feature": words.features[feature].name,
        "above": written_cut(cut),
        "then": describe_node(Leaf(above), words),
        "else": describe_node(Leaf(1 - above), words),
    }


def restore_question(value: object, where: str, words: Vocabulary) -> tuple[int, float, bool]:
    """(feature, cut, is the label above the cut 1?)"""
    fields = read_object(value, where, NODE)
    then, otherwise = (restore_node(fields[side], f"{where}.{side}", words) for side in ("then", "else"))
    if {then, otherwise} != {Leaf(0), Leaf(1)} or len(words.classes) != 2:
        raise ParameterError(where, "one question with two different labels of two", "another tree")
    cut = read_cut(fields["above"], f"{where}.above")
    return read_feature(fields["feature"], where, words), cut, then == Leaf(1)


def written_cut(cut: float) -> float | str:
    """`cut` in JSON, which has no infinities: they are words."""
    return cut if math.isfinite(cut) else ("infinity" if cut > 0 else "-infinity")


def read_cut(value: object, where: str) -> float:
    """What `written_cut` wrote."""
    infinite = _INFINITIES.get(value) if isinstance(value, str) else None
    return read_number(value, where) if infinite is None else infinite


def read_feature(name: object, where: str, words: Vocabulary) -> int:
    feature = words.feature_of(name)
    if feature is None:
        raise ParameterError(f"{where}.feature", "the name of a feature of the schema", name)
    return feature


def check_node(node: Leaf | Split, words: Vocabulary) -> None:
    """Raise unless all features and labels under `node` are among those that `words` knows."""
    if isinstance(node, Leaf):
        if not 0 <= node.label < len(words.classes):
            raise ParameterError("hypothesis", f"labels from 0 to {len(words.classes) - 1}", node.label)
        if node.shares is not None and len(node.shares) != len(words.classes):
            raise ParameterError("hypothesis", f"shares of {len(words.classes)} labels", f"{len(node.shares)} shares")
        return
    if not 0 <= node.predicate.feature < len(words.features):
        raise ParameterError("hypothesis", "predicates on features of the schema", node.predicate)
    check_node(node.fails, words)
    check_node(node.holds, words)
