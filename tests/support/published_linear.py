"""LinearClassifiers of every kind on one small schema, as published models."""

from __future__ import annotations

from typing import Any

import numpy as np

from pcqr import Guarantee
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import ColumnVectors, Directions, PredicateVectors
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models import Provenance, PublishedModel
from support.published import AGE, GAIN, GAP, PRIVATE, SCHEMA, STATE

PREDICATES = tuple(
    Predicate(*entry) for entry in ((AGE, 30.5), (AGE, 50.25), (GAP, 0.5), (PRIVATE, 0.5), (STATE, 0.5), (GAIN, 100.0))
)
GUARANTEE = Guarantee(0.5, 1e-6, proof="linear")
LABELS = {2: ("no", "yes"), 3: ("low", "middle", "high")}
MAPS = ("questions", "whitened", "ferns", "both", "columns", "principal")
"""Kinds of feature maps: the first two are sums over questions."""


def feature_map(kind: str, seed: int = 0, *, count: int = 5, depth: int = 3) -> FeatureMap:
    generator = np.random.default_rng(seed)
    asked = tuple(PREDICATES[place] for place in generator.integers(len(PREDICATES), size=count * depth))
    ferns = Ferns(asked, depth, 7)
    questions = PredicateVectors(PREDICATES, (128, 128, 256, 192, 256, 256), (-128, -128, 0, -64, 0, 0), 7)
    centres, scales = (40.0, 0.1, 0.3, 0.3, 0.2, 0.2, 50.0), (12.8, 800.0, 500.0, 500.0, 0.0, 600.0, 1 / 3)
    match kind:
        case "questions":
            return FeatureMap(questions, None, 256)
        case "whitened":
            matrix = generator.integers(-4000, 4000, size=(7, 4)).astype(np.int16)
            whitened = PredicateVectors(PREDICATES, questions.holding, questions.failing, 7, Directions.of(matrix, 8))
            return FeatureMap(whitened, None, 256)
        case "ferns":
            return FeatureMap(None, ferns, 0)
        case "both":
            return FeatureMap(questions, ferns, 100)
        case "columns":
            return FeatureMap(ColumnVectors(centres, scales, 7, 64), None, 256)
        case _:
            matrix = generator.integers(-8000, 8000, size=(7, 3)).astype(np.int16)
            return FeatureMap(ColumnVectors(centres, scales, 7, 64, Directions.of(matrix, 10)), ferns, 200)


def linear(kind: str, classes: int = 2, seed: int = 0, **size: int) -> LinearClassifier:
    """With weights by public coins."""
    features, blocks = feature_map(kind, seed, **size), 1 if classes == 2 else classes
    generator = np.random.default_rng(seed)
    cells = generator.normal(size=(blocks, features.count, 1 << features.depth))
    return LinearClassifier.of(features, classes, 3.0 * generator.normal(size=(blocks, features.size)), cells)


def linear_model(kind: str, classes: int = 2, seed: int = 0, **size: int) -> PublishedModel:
    origin = Provenance("linears", 1000, 50, PREDICATES, settings=(("steps", 200), ("scale", 12.5)))
    return PublishedModel(linear(kind, classes, seed, **size), LABELS[classes], SCHEMA, GUARANTEE, origin)


def people(count: int, seed: int = 0) -> dict[str, list[Any]]:
    generator = np.random.default_rng(seed)
    return {
        "age": [None if age > 90 else age for age in generator.choice([17, 30.5, 30.6, 50, 50.25, 60, 99], count)],
        "work": generator.choice(np.array(["Private", "State", "Army", None], dtype=object), count).tolist(),
        "gain": generator.choice([0, -1.0, 1 / 3, 0.1, 100, 100.5, 1e301, 16777217.0, 16777218.0], count).tolist(),
    }
