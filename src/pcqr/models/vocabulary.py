"""The words of a model: what its features and labels are called, and how a predicate reads."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pcqr.data.records.predicates import Leaf, Predicate
from pcqr.data.schema import Column, Feature, Schema
from pcqr.data.schema.cells import is_unicode
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import MOST_LABELS

if TYPE_CHECKING:
    from pcqr.models.effects import Effects


LabelName = str | int | float | bool

_FEWEST, _SHORT, _MOST = 4, 7, 17
"""Digits that a rounded number has at least; that a number shown as it is has at most; that tell all numbers apart."""
_SUREST = 0.999
"""Of three digits: no share is 1."""
_MANY = 12
"""Categories of a column that are listed; the rest is counted. All of them are in the schema."""


@dataclass(frozen=True)
class Vocabulary:
    """The schema that encodes records, and the label names in the order of the labels 0, 1, …

    `effects` are the model's main effects, where they are known: what is said of a model that has no rules.
    """

    schema: Schema
    classes: tuple[LabelName, ...]
    texts: Mapping[Predicate, str] | None = None
    """How cuts are shown where numbers are rounded for reading. None: with all their digits."""
    effects: Effects | None = None

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The columns of the encoded table."""
        return self.schema.features

    def label(self, label: int) -> str:
        return printable(str(self.classes[label]))

    def verdict(self, label: int) -> str:
        """What a leaf does, as the last words of a rule."""
        return f"predict {self.label(label)}"

    def share(self, leaf: Leaf) -> str:
        """The probability of the leaf's label; nothing where the leaf has none."""
        if leaf.shares is None:
            return ""
        share = leaf.shares[leaf.label]
        return number(share) if self.texts is None else f"{min(share, _SUREST):.3f}"

    def label_of(self, name: object) -> int | None:
        """The label called `name`, else None. Strict: true is not 1."""
        matching = (i for i, known in enumerate(self.classes) if type(known) is type(name) and known == name)
        return next(matching, None)

    def feature_of(self, name: object) -> int | None:
        """The position of the feature called `name`, else None."""
        return next((i for i, feature in enumerate(self.features) if feature.name == name), None)

    def condition(self, predicate: Predicate, *, holds: bool) -> str:
        """`predicate`, or its contrary, in words: "age > 27.5", "sex ≠ Male", "workclass is missing"."""
        feature = self.features[predicate.feature]
        if feature.is_indicator:
            question = feature.question(predicate.cut)
            return printable(question.holds if holds else question.fails)
        return f"{printable(feature.name)} {'>' if holds else '≤'} {self.cut(predicate)}"

    def cut(self, predicate: Predicate) -> str:
        """What the predicate compares its feature with: a date, or a number."""
        feature = self.features[predicate.feature]
        text = number(predicate.cut) if self.texts is None else self.texts.get(predicate, "") or rounded(predicate.cut)
        return feature.date(predicate.cut) or text

    def rounding(self, predicates: Iterable[Predicate]) -> Vocabulary:
        """The same words, with numbers that have as few digits as tell the cuts of each feature apart."""
        cuts: defaultdict[int, set[float]] = defaultdict(set)
        for predicate in predicates:
            cuts[predicate.feature].add(predicate.cut)
        shown = {place: apart(values) for place, values in cuts.items()}
        return replace(
            self, texts={Predicate(place, cut): text for place, told in shown.items() for cut, text in told.items()}
        )

    def gaps(self) -> tuple[str, ...]:
        """One sentence for each numeric column that may have gaps: what a missing number counts as."""
        return tuple(
            f"A missing {printable(column.name)} counts as {amount(column.features[0], column.filled_with)}."
            for column in self.schema.columns
            if column.filled_with is not None
        )


def allowed_values(column: Column) -> str:
    """What `column` takes, in words: "finite numbers, may be missing, clipped to 17 … 90", "red, blue, or missing"."""
    if column.kind != "categorical":
        ends = [amount(column.features[0], limit) for limit in column.limits or ()]
        bounds = f", clipped to {' … '.join(ends)}" if ends else ""
        return (
            ("dates" if column.kind == "date" else "finite numbers")
            + (", may be missing" if column.missing else "")
            + bounds
        )
    if not column.categories and column.other:
        return "any text, or missing"
    shown = ", ".join(f"'{name}'" if "," in name else name for name in map(printable, column.categories[:_MANY]))
    rest = f" and {len(column.categories) - _MANY} more" if len(column.categories) > _MANY else ""
    return shown + rest + (", or any other" if column.other else "") + ", or missing"


def amount(feature: Feature, value: float) -> str:
    """A cut or a bound of `feature`: the date, where it is one, else all digits of the number."""
    return feature.date(value) or number(value)


def number(value: float) -> str:
    """`value` with all its digits, less a final ".0"."""
    return repr(float(value)).removesuffix(".0")


def apart(values: Iterable[float]) -> dict[float, str]:
    """`values` for reading: as few digits as tell them apart, and at least four. Short numbers stay as they are.

    No digit before the point and none of the first decimal is left out, lest 5119.5, which parts 5119 from 5120, be
    shown as 5120.
    """
    found = set(values)
    for digits in range(_FEWEST, _MOST + 1):
        texts = {value: rounded(value, digits) for value in found}
        if len(set(texts.values())) == len(found):
            break
    return texts


def rounded(value: float, digits: int = _FEWEST) -> str:
    """`value` with so many digits, or with all of them where they are few."""
    exact = number(value)
    if sum(sign.isdigit() for sign in exact.partition("e")[0]) <= _SHORT or not math.isfinite(value):
        return exact
    before = len(str(int(abs(value))))
    return number(float(f"{value:.{min(_MOST, max(digits, before + 1))}g}"))


def printable(text: str) -> str:
    """`text` as it is, or with its control characters spelt out: one line stays one line."""
    return text if text.isprintable() else repr(text)[1:-1]


def checked_classes(classes: Any) -> tuple[LabelName, ...]:
    """`classes` as plain label names: different ones, of one type, that can be shown and stored."""
    if not isinstance(classes, list | tuple | np.ndarray):
        raise ParameterError("classes", "a list of label names", classes)
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in classes)
    one_type = len({type(name) for name in names}) == 1 and isinstance(names[0], str | int | float)
    if not 2 <= len(names) <= MOST_LABELS or not one_type or len(set(names)) < len(names):
        raise ParameterError("classes", f"2 to {MOST_LABELS} different names, all texts or all numbers", list(names))
    if any(isinstance(name, str) and not (name.strip() and is_unicode(name)) for name in names):
        raise ParameterError("classes", "Unicode text that is not blank, where they are text", list(names))
    if any(isinstance(name, float) and not math.isfinite(name) for name in names):
        raise ParameterError("classes", "finite where they are numbers", list(names))
    if any(isinstance(name, int) and not -(2**63) <= name < 2**63 for name in names):
        raise ParameterError("classes", "within 64 bits where they are integers", list(names))
    return names
