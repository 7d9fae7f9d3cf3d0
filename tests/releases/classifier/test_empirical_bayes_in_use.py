"""Empirical Bayes in fitted classifiers: where it is in use, and where weights are made by steps instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pcqr import PrivateClassifier
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.releases.classifier.empirical_bayes import allows_empirical_bayes
from pcqr.releases.classifier.plan import LinearStage

Floats = NDArray[np.float64]
Table = Floats | dict[str, Floats]


def fitted(
    epsilon: float, *, rows: int = 300, labels: int = 2, schema: Schema | None = None
) -> tuple[PrivateClassifier, Table, NDArray[np.int64]]:
    """One of 1,000 records, and other ones."""
    X, fresh, public = (np.random.default_rng(seed).random((count, 2)) for seed, count in enumerate((1_000, 500, rows)))
    y, truth = (((each > 0.4).sum(axis=1) * (labels - 1) // 2).astype(np.int64) for each in (X, fresh))
    tables: list[Table] = (
        [X, fresh] if schema is None else [dict(zip("ab", each.T, strict=True)) for each in (X, fresh)]
    )
    classifier = PrivateClassifier(epsilon, method="linear", entropy=0, classes=range(labels))
    classifier.fit(tables[0], y, public=public if rows else None, schema=schema)
    return classifier, tables[1], truth


@pytest.mark.parametrize(("epsilon", "rows"), [(2.0, 300), (7.99, 300), (2.0, 160)])
def test_a_linear_classifier_of_few_records_is_made_by_empirical_bayes(epsilon: float, rows: int) -> None:
    """Four public rows for each of 40 predicates are enough."""
    classifier, fresh, truth = fitted(epsilon, rows=rows)
    stage, found = classifier.plan_.stage, classifier.hypothesis_
    assert isinstance(stage, LinearStage)
    assert isinstance(found, LinearClassifier)
    assert (stage.is_empirical_bayes, stage.steps) == (True, 2)
    assert allows_empirical_bayes(found.feature_map)
    assert classifier.guarantee_.within(epsilon, 1e-6)
    assert np.mean(classifier.predict(fresh) == truth) > 0.9
    probabilities = classifier.predict_proba(fresh)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert (probabilities > 0.0).all()
    assert (probabilities.argmax(axis=1) == classifier.predict(fresh)).all()


UNIT_SQUARE = Schema((Column("a", bounds=(0.0, 1.0)), Column("b", bounds=(0.0, 1.0))))


@pytest.mark.parametrize(
    ("epsilon", "others"),
    [(8.0, {}), (2.0, {"rows": 159}), (2.0, {"labels": 3}), (2.0, {"rows": 0, "schema": UNIT_SQUARE})],
    ids=["n·ε = 8,000", "few public rows", "three classes", "a schema alone"],
)
def test_other_linear_classifiers_are_made_by_steps(epsilon: float, others: dict[str, Any]) -> None:
    classifier, fresh, _ = fitted(epsilon, **others)
    stage = classifier.plan_.stage
    assert isinstance(stage, LinearStage)
    assert not stage.is_empirical_bayes
    assert stage.steps >= 100
    np.testing.assert_allclose(classifier.predict_proba(fresh).sum(axis=1), 1.0, rtol=1e-12)
