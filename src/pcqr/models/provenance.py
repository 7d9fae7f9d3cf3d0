"""Where a model comes from, in public facts alone."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from typing import Any

import numpy as np

import pcqr
from pcqr.checks import check_integer, check_inverse_temperature
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.hypotheses.trees.predicates import Predicate
from pcqr.models.reading import read_count, read_list, read_number, read_object, read_text
from pcqr.models.trees import describe_predicate, restore_predicate
from pcqr.models.vocabulary import Vocabulary


def current_versions() -> tuple[tuple[str, str], ...]:
    return (("pcqr", pcqr.__version__), ("numpy", np.__version__), ("python", platform.python_version()))


@dataclass(frozen=True)
class Provenance:
    """The class that the model was drawn from and how: public numbers, a function of no record.

    `hypotheses`: the class in words. `records`: n, which is public under *replace one record*. `public_rows`: how many
    public rows shaped the class, 0 where everything was declared. `predicates`: the questions that its trees may ask.
    `inverse_temperature`: η of the draw, P(h) ∝ e^{−η·mistakes(h)}. `numerical_slack`: the share of ε set aside
    for the draw's float64 arithmetic, 2λ in 2η + 2λ (proofs/sspp.md); it is inside ε, not on top. None stands for
    unknown.
    """

    hypotheses: str = ""
    records: int | None = None
    public_rows: int | None = None
    predicates: tuple[Predicate, ...] | None = None
    inverse_temperature: float | None = None
    numerical_slack: float | None = None
    versions: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name, count, least in (("records", self.records, 1), ("public_rows", self.public_rows, 0)):
            if count is not None:
                check_integer(name, count, least=least)
        if self.inverse_temperature is not None:
            check_inverse_temperature(self.inverse_temperature)
        if self.numerical_slack is not None and not 0 <= self.numerical_slack < math.inf:
            raise ParameterError("numerical_slack", "a finite number ≥ 0", self.numerical_slack)

    def describe(self, words: Vocabulary) -> dict[str, Any]:
        asked = self.predicates
        return {
            "hypotheses": self.hypotheses,
            "records": self.records,
            "public_rows": self.public_rows,
            "predicates": None if asked is None else [describe_predicate(predicate, words) for predicate in asked],
            "inverse_temperature": self.inverse_temperature,
            "numerical_slack": self.numerical_slack,
            "versions": dict(self.versions),
        }

    @classmethod
    def restore(cls, value: object, where: str, words: Vocabulary) -> Provenance:
        keys = ("hypotheses", "records", "public_rows", "predicates", "inverse_temperature", "numerical_slack")
        fields = read_object(value, where, (*keys, "versions"))

        def optional(key: str, read: Any) -> Any:
            return None if fields[key] is None else read(fields[key], f"{where}.{key}")

        def predicates(entries: object, path: str) -> tuple[Predicate, ...]:
            return tuple(
                restore_predicate(read_object(entry, f"{path}[{i}]", ("feature", "above")), f"{path}[{i}]", words)
                for i, entry in enumerate(read_list(entries, path))
            )

        versions = fields["versions"]
        named = read_object(versions, f"{where}.versions", versions if isinstance(versions, dict) else ("pcqr",))
        return cls(
            hypotheses=read_text(fields["hypotheses"], f"{where}.hypotheses"),
            records=optional("records", read_count),
            public_rows=optional("public_rows", read_count),
            predicates=optional("predicates", predicates),
            inverse_temperature=optional("inverse_temperature", read_number),
            numerical_slack=optional("numerical_slack", read_number),
            versions=tuple((name, read_text(found, f"{where}.versions.{name}")) for name, found in named.items()),
        )


def class_in_words(hypotheses: HypothesisClass, records: int | None) -> str:
    """What `hypotheses` is, for a reader of the model."""
    if not isinstance(hypotheses, DecisionTrees):
        return type(hypotheses).__name__
    depth = hypotheses.depth if records is None or not hypotheses.is_fixed else hypotheses.depth_for(records)
    size = "" if depth is None else f" of depth {depth}"
    asked = "" if hypotheses.predicates is None else f" over {len(hypotheses.predicates)} public predicates"
    stop = f", stopping prior {hypotheses.stop:g}" if hypotheses.stop else ""
    return f"decision trees{size}{asked}{stop}"
