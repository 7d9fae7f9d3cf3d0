"""Dense features: columns as an encoder made them, from a matrix, a pipeline or a schema, for two classes and more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from support.releases import Forbidden

from pcqr import PrivateClassifier, Schema, fitted_on_public
from pcqr.data.records.vectors import ColumnVectors, PredicateVectors
from pcqr.data.schema import Column
from pcqr.errors import DataError, NothingPublic, ParameterError
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.releases.base.inputs import PublicInfo
from pcqr.releases.classifier.estimator import CENTRED, MADE_PUBLICLY
from pcqr.releases.classifier.feature_maps import is_dense

WIDTH = 101


def encoded(records: int, classes: int = 3, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Each class around a point of its own in the first columns; the rest is noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, records)
    X = rng.normal(size=(records, WIDTH))
    X[np.arange(records), y] += 5.0
    return X.astype(np.float32), y


X, y = encoded(1_500)
PUBLIC, _ = encoded(600, seed=1)
FRESH, TRUTH = encoded(500, seed=2)


def vectors_of(classifier: PrivateClassifier) -> ColumnVectors:
    assert isinstance(classifier.hypothesis_, LinearClassifier)
    assert isinstance(classifier.hypothesis_.feature_map.dense, ColumnVectors)
    return classifier.hypothesis_.feature_map.dense


@pytest.mark.parametrize("classes", [2, 3])
def test_a_wide_matrix_of_numbers_is_learned_as_it_is(classes: int) -> None:
    X, y = encoded(1_500, classes)
    classifier = PrivateClassifier(4.0, entropy=0).fit(X, y, public=PUBLIC)
    assert classifier.method_ == "linear"
    assert vectors_of(classifier).size == WIDTH + 1
    assert classifier.guarantee_.within(4.0, 1e-6)
    assert MADE_PUBLICLY in classifier.guarantee_.assumptions
    assert "one record at a time" in str(classifier.guarantee_)
    fresh, truth = encoded(500, classes, seed=2)
    assert (classifier.predict(fresh) == truth).mean() > 0.9
    assert classifier.predict_proba(fresh).sum(axis=1) == pytest.approx(1.0)


def test_the_map_is_the_same_whatever_the_records_say() -> None:
    found = [
        vectors_of(PrivateClassifier(1.0, entropy=0).fit(table, labels, public=PUBLIC))
        for table, labels in ((X, y), (1e6 * X, y), (np.zeros_like(X), np.zeros_like(y) + (np.arange(1_500) < 3)))
    ]
    assert found[0] == found[1] == found[2]


def test_short_and_long_floats_make_the_same_classifier() -> None:
    short, long = (
        PrivateClassifier(1.0, entropy=0).fit(table, y, public=PUBLIC) for table in (X, X.astype(np.float64))
    )
    assert short.hypothesis_ == long.hypothesis_


def test_other_settings_ask_predicates() -> None:
    known = PublicInfo(1_500, WIDTH, PUBLIC.astype(np.float64), None)
    assert PrivateClassifier()._is_dense(known)
    assert not PrivateClassifier(method="tree")._is_dense(known)
    for classifier in (
        PrivateClassifier(1.0, trees=DecisionTrees(depth=1, cuts=1), entropy=0),
        PrivateClassifier(1.0, features="predicates", method="linear", entropy=0),
    ):
        classifier.fit(X, y, public=PUBLIC)
        assert MADE_PUBLICLY not in classifier.guarantee_.assumptions
        if isinstance(classifier.hypothesis_, LinearClassifier):
            assert isinstance(classifier.hypothesis_.feature_map.dense, PredicateVectors)


def test_a_matrix_of_categories_is_no_matrix_of_numbers() -> None:
    """An encoded table without its schema: public rows show that nearly all of its columns have two values."""
    rows = np.random.default_rng(0).random((200, 120))
    rows[:, 10:] = rows[:, 10:] > 0.5
    assert not PrivateClassifier()._is_dense(PublicInfo(1_500, 120, rows, None))
    assert not PrivateClassifier(method="linear")._is_dense(PublicInfo(1_500, 120, rows, None))
    rows[:, 10:] *= np.random.default_rng(1).random((200, 110))
    assert PrivateClassifier()._is_dense(PublicInfo(1_500, 120, rows, None))


def test_few_columns_are_dense_if_somebody_says_so() -> None:
    classifier = PrivateClassifier(4.0, features="dense", entropy=0).fit(X[:, :3], y, public=PUBLIC[:, :3])
    assert vectors_of(classifier).features == 3
    assert classifier.score(FRESH[:, :3], TRUTH) > 0.9


def test_bounds_of_a_schema_will_do() -> None:
    names = [f"c{place}" for place in range(WIDTH)]
    table, fresh = (dict(zip(names, rows.T, strict=True)) for rows in (X, FRESH))
    schema = Schema(tuple(Column(name, bounds=(-9.0, 9.0)) for name in names))
    classifier = PrivateClassifier(4.0, entropy=0).fit(table, y, schema=schema)
    assert vectors_of(classifier) == ColumnVectors.within([(-9.0, 9.0)] * WIDTH)
    assert classifier.score(fresh, TRUTH) > 0.85
    with pytest.raises(ParameterError, match="bounds for every number"):
        PrivateClassifier(4.0, entropy=Forbidden()).fit(table, y, schema=Schema(tuple(map(Column, names))))


def test_nothing_known_is_said_and_listed() -> None:
    with pytest.warns(NothingPublic, match="the centre 0"):
        classifier = PrivateClassifier(4.0, entropy=0).fit(X, y)
    assert {CENTRED, MADE_PUBLICLY} <= set(classifier.guarantee_.assumptions)
    assert classifier.score(FRESH, TRUTH) > 0.85


def test_transformers_that_public_rows_have_made_stand_before_it() -> None:
    """Two encoders side by side, frozen; the public rows go through them as the records do."""
    transformer = ColumnTransformer([("some", PCA(60), slice(0, 80)), ("others", StandardScaler(), slice(80, WIDTH))])
    frozen = fitted_on_public(transformer, PUBLIC)
    classifier = PrivateClassifier(4.0, features="dense", entropy=0)
    pipe = Pipeline([("encode", frozen), ("classify", classifier)])
    pipe.fit(X, y, classify__public=frozen.transform(PUBLIC))
    assert pipe.score(FRESH, TRUTH) > 0.9
    assert clone(pipe)["encode"].transform(FRESH[:2]).tolist() == frozen.transform(FRESH[:2]).tolist()
    assert MADE_PUBLICLY in pipe["classify"].guarantee_.assumptions


@pytest.mark.parametrize(
    "settings",
    [{"features": "sparse"}, {"features": "dense", "method": "tree"}, {"features": "dense", "trees": DecisionTrees()}],
    ids=str,
)
def test_what_cannot_be_is_refused_before_any_noise_is_drawn(settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="features"):
        PrivateClassifier(1.0, entropy=Forbidden(), **settings).fit(X, y, public=PUBLIC)


def test_a_table_that_is_too_wide_for_dense_features_is_one_of_questions() -> None:
    X, y = np.zeros((6, 65_536), dtype=np.float32), [0, 1] * 3
    with pytest.raises(DataError, match="at most 65,535 columns for dense features; received 65,536 columns"):
        PrivateClassifier(9.0, features="dense", entropy=Forbidden()).fit(X, y, public=X[:2] + 1)
    assert is_dense(65_535, None)
    assert not is_dense(65_536, None)
