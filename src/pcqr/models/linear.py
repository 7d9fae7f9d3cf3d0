"""Linear classifiers as published models, for two labels and for more: a scorecard that people can add up by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.algorithms.linear import LARGEST_WEIGHT
from pcqr.documents.reading import read_integer, read_list, read_number, read_object
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.linear import LinearHypothesis, OneAgainstRest
from pcqr.models.canvas import Caption, write_page
from pcqr.models.graph import Graph, largest_labels, sign_labels, table_scores
from pcqr.models.kind import ScoredKind
from pcqr.models.panels import labels_block, shapes_block, speaking_for
from pcqr.models.scorecard import Sum, question_table, scorecard, shapes_of, signed
from pcqr.models.shapes import Shape
from pcqr.models.trees import describe_predicate, restore_predicate
from pcqr.models.vocabulary import Vocabulary
from pcqr.records.features import LARGEST_ENTRY, UNIT, LinearFeatures
from pcqr.records.predicates import Predicate

W = TypeVar("W")


class LinearKind(ScoredKind[LinearHypothesis]):
    name = "linear"
    title = "linear classifier"
    hypothesis = LinearHypothesis
    limits = (
        "Its scores are no probabilities. `decision_function` says on which side of the boundary a record lies, and "
        "how far from it. It is a function of the published weights, so it costs nothing; nothing in it is calibrated.",
        "Its weights carry noise, all of them by about as much. Another run on the same records gives others; a small "
        "weight says nothing, and a large one nothing about causes.",
    )

    def check(self, hypothesis: LinearHypothesis, words: Vocabulary) -> None:
        check_two_labels(words)
        _check_member(hypothesis, words)

    def describe(self, hypothesis: LinearHypothesis, words: Vocabulary) -> dict[str, Any]:
        """Score = `unit`·`bias` + Σ `weight`·(`yes` where feature > above, else `no`) over the questions."""
        phi = hypothesis.feature_map
        entries = zip(phi.predicates, hypothesis.weights, phi.holding, phi.failing, strict=False)
        return {
            "unit": UNIT,
            "bias": hypothesis.weights[-1],
            "questions": [
                describe_predicate(predicate, words) | {"weight": weight, "yes": yes, "no": no}
                for predicate, weight, yes, no in entries
            ],
        }

    def restore(self, value: object, where: str, words: Vocabulary) -> LinearHypothesis:
        fields = read_object(value, where, ("unit", "bias", "questions"))
        phi, weights = _restored_questions(fields, where, words, "weight", read_number)
        return LinearHypothesis(phi, (*weights, read_number(fields["bias"], f"{where}.bias")))

    def cuts(self, hypothesis: LinearHypothesis) -> tuple[Predicate, ...]:
        return hypothesis.feature_map.predicates

    def rules(self, hypothesis: LinearHypothesis, words: Vocabulary, *, flat: bool) -> str:
        """Column by column, the strongest first, or, if `flat`, question by question, the largest points first."""
        return (question_table if flat else scorecard)([sum_of(hypothesis)], words)

    def draw(self, hypothesis: LinearHypothesis, words: Vocabulary, path: Path, caption: Caption) -> None:
        explanation = (
            "What each column adds to the score. All steps have one scale and all bars another; the steps between "
            "public cuts are drawn equally wide.",
            f"The label is {words.label(1)} where the sum is above {signed(-hypothesis.weights[-1], 3)}, "
            f"else {words.label(0)}.",
        )
        write_page(
            path, caption, lambda: shapes_block(shapes_of(sum_of(hypothesis), words), speaking_for(words), explanation)
        )

    def add_labels(self, hypothesis: LinearHypothesis, graph: Graph) -> str:
        phi = hypothesis.feature_map
        table, constant = phi.tables(np.array(hypothesis.weights))
        return sign_labels(table_scores(phi.predicates, table, constant, graph), graph)

    def scores(self, hypothesis: LinearHypothesis, points: Points) -> NDArray[np.float64]:
        return hypothesis.decision_function(points)


class OneAgainstRestKind(ScoredKind[OneAgainstRest]):
    """One linear function for each label; that with the largest value wins, the first one of equals."""

    name = "linear-one-against-rest"
    title = "linear classifier for several labels"
    hypothesis = OneAgainstRest
    limits = LinearKind.limits

    def check(self, hypothesis: OneAgainstRest, words: Vocabulary) -> None:
        if len(words.classes) != len(hypothesis.members):
            raise ParameterError("classes", f"{len(hypothesis.members)} labels, one a function", len(words.classes))
        for member in hypothesis.members:
            _check_member(member, words)

    def describe(self, hypothesis: OneAgainstRest, words: Vocabulary) -> dict[str, Any]:
        """As for two labels, with one bias and one weight of every question for each label, in their order."""
        phi = hypothesis.members[0].feature_map
        rows = zip(*(member.weights for member in hypothesis.members), strict=True)
        entries = zip(phi.predicates, rows, phi.holding, phi.failing, strict=False)
        return {
            "unit": UNIT,
            "biases": [member.weights[-1] for member in hypothesis.members],
            "questions": [
                describe_predicate(predicate, words) | {"weights": list(weights), "yes": yes, "no": no}
                for predicate, weights, yes, no in entries
            ],
        }

    def restore(self, value: object, where: str, words: Vocabulary) -> OneAgainstRest:
        fields = read_object(value, where, ("unit", "biases", "questions"))

        def read(entry: object, here: str) -> tuple[float, ...]:
            listed = read_list(entry, here)
            if len(listed) != len(words.classes) or len(listed) < 3:
                raise ParameterError(here, "one number for each of at least 3 labels", f"{len(listed)} numbers")
            return tuple(read_number(number, f"{here}[{place}]") for place, number in enumerate(listed))

        phi, rows = _restored_questions(fields, where, words, "weights", read)
        columns = zip(*rows, read(fields["biases"], f"{where}.biases"), strict=True)
        return OneAgainstRest(tuple(LinearHypothesis(phi, weights) for weights in columns))

    def cuts(self, hypothesis: OneAgainstRest) -> tuple[Predicate, ...]:
        return hypothesis.members[0].feature_map.predicates

    def rules(self, hypothesis: OneAgainstRest, words: Vocabulary, *, flat: bool) -> str:
        return (question_table if flat else scorecard)(list(map(sum_of, hypothesis.members)), words)

    def draw(self, hypothesis: OneAgainstRest, words: Vocabulary, path: Path, caption: Caption) -> None:
        explanation = (
            "What each column adds to the score of a label; the label with the largest score wins. Within a label all "
            "steps have one scale",
            "and all bars another; the steps between public cuts are drawn equally wide.",
        )
        starts = [
            f"The score of {words.label(label)} starts with {signed(member.weights[-1], 3)}."
            for label, member in enumerate(hypothesis.members)
        ]

        def shapes(label: int) -> Sequence[Shape]:
            return shapes_of(sum_of(hypothesis.members[label]), words)

        write_page(path, caption, lambda: labels_block(shapes, words, explanation, starts))

    def add_labels(self, hypothesis: OneAgainstRest, graph: Graph) -> str:
        phi = hypothesis.members[0].feature_map
        tables = [phi.tables(np.array(member.weights)) for member in hypothesis.members]
        scores = [table_scores(phi.predicates, table, constant, graph) for table, constant in tables]
        return largest_labels(scores, table_scores(phi.predicates, *_norm_table(phi), graph), graph)

    def scores(self, hypothesis: OneAgainstRest, points: Points) -> NDArray[np.float64]:
        return hypothesis.decision_function(points)


def _norm_table(phi: LinearFeatures) -> tuple[NDArray[np.float64], float]:
    """(t, c) such that ‖φ‖² of an encoded row b is c + t[0, b₀] + t[1, b₁] + …: whole numbers."""
    groups = phi.encode(np.zeros((1, phi.features))).shape[1]
    codes = np.zeros((groups, 256, groups), dtype=np.uint8)
    for group in range(groups):
        codes[group, :, group] = np.arange(256)
    squares = phi.squared_norms(codes.reshape(-1, groups)).reshape(groups, 256)
    least = int(squares[0, 0])
    return (squares - least).astype(np.float64), float(least)


def sum_of(member: LinearHypothesis) -> Sum:
    """Points are what a question adds to θ·φ(x) in units of `UNIT`: its weight times its coordinate of φ."""
    phi, weights = member.feature_map, member.weights[:-1]
    yes, no = (
        tuple(weight * entry / UNIT for weight, entry in zip(weights, entries, strict=True))
        for entries in (phi.holding, phi.failing)
    )
    return Sum(phi.predicates, yes, no, member.weights[-1])


def check_two_labels(words: Vocabulary) -> None:
    if len(words.classes) != 2:
        raise ParameterError("classes", "two labels, which a score decides between", f"{len(words.classes)} labels")


def _check_member(member: LinearHypothesis, words: Vocabulary) -> None:
    if member.feature_map.features != len(words.features):
        raise ParameterError(
            "hypothesis", f"one on the {len(words.features)} features of the schema", type(member).__name__
        )
    if max(map(abs, member.weights)) > LARGEST_WEIGHT:
        raise ParameterError("hypothesis", f"weights from −{LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}", "larger ones")


def _restored_questions(
    fields: dict[str, Any], where: str, words: Vocabulary, key: str, read: Callable[[object, str], W]
) -> tuple[LinearFeatures, list[W]]:
    """φ, and what `read` makes of the `key` of each question."""
    if read_integer(fields["unit"], f"{where}.unit") != UNIT:
        raise ParameterError(f"{where}.unit", f"{UNIT}", fields["unit"])
    predicates: list[Predicate] = []
    weights: list[W] = []
    yes: list[int] = []
    no: list[int] = []
    for place, entry in enumerate(read_list(fields["questions"], f"{where}.questions")):
        here = f"{where}.questions[{place}]"
        question = read_object(entry, here, ("feature", "above", key, "yes", "no"))
        predicates.append(restore_predicate(question, here, words))
        weights.append(read(question[key], f"{here}.{key}"))
        for values, side in ((yes, "yes"), (no, "no")):
            values.append(read_integer(question[side], f"{here}.{side}", most=LARGEST_ENTRY))
    if not predicates:
        raise ParameterError(f"{where}.questions", "at least one question", "none")
    return LinearFeatures(tuple(predicates), tuple(yes), tuple(no), len(words.features)), weights
