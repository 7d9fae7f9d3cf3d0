"""Before and around an estimator: frozen transformers, pipelines, metadata routing, searches and their scores."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, QuantileTransformer, StandardScaler
from support.releases import steps

from pcqr import (
    AgnosticRelease,
    BudgetExhausted,
    DataError,
    NoisyMaxAggregate,
    ParameterError,
    PrivateClassifier,
    Schema,
    SemiPrivateLearner,
    fitted_on_public,
)
from pcqr.data.records.predicates import Predicate
from pcqr.data.schema import Column
from pcqr.errors import Exhausted, FittedAgain
from pcqr.hypotheses import DecisionTrees, Stumps, Thresholds
from pcqr.models import PublishedModel
from pcqr.privacy.unit import RECORD, USER
from pcqr.release import Account


def table(records: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = 100.0 * rng.random((records, 2))
    return X, ((X[:, 0] > 30.0) & (X[:, 1] > 40.0)).astype(np.int64)


PUBLIC = table(300, seed=1)[0]


# Transformers -------------------------------------------------------------------------------------------------------


def test_a_frozen_transformer_learns_nothing_from_private_records() -> None:
    X, y = table(4_000)
    scaler = fitted_on_public(StandardScaler(), PUBLIC)
    learner = SemiPrivateLearner(DecisionTrees(depth=2), 4.0, entropy=0)
    pipe = make_pipeline(scaler, learner)
    pipe.fit(X, y, semiprivatelearner__public=scaler.transform(PUBLIC))
    for kept in (pipe[0], clone(pipe)[0], clone(scaler)):
        assert kept.mean_.tolist() == PUBLIC.mean(axis=0).tolist()
    assert pipe.score(*table(1_000, seed=2)) > 0.9
    bare = make_pipeline(StandardScaler(), learner).fit(X, y, semiprivatelearner__public=scaler.transform(PUBLIC))
    assert bare[0].mean_.tolist() != PUBLIC.mean(axis=0).tolist(), "what is not frozen is fitted on the private records"


def test_what_was_fitted_before_is_fitted_anew_on_the_public_rows() -> None:
    private, _ = table(500)
    scaler = StandardScaler().fit(private)
    assert fitted_on_public(scaler, PUBLIC).mean_.tolist() == PUBLIC.mean(axis=0).tolist()
    assert scaler.mean_.tolist() == private.mean(axis=0).tolist(), "and what was passed is left alone"


@pytest.mark.parametrize("transformer", [StandardScaler(), PCA(2), QuantileTransformer(n_quantiles=50)], ids=str)
def test_transformers_that_go_row_by_row_are_taken(transformer: Any) -> None:
    frozen = fitted_on_public(transformer, PUBLIC)
    assert frozen.transform(PUBLIC[:7]).shape == (7, 2)


def test_frames_of_words_can_be_encoded_by_public_rows() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    words = {"job": ["cook", "clerk", "nurse", "cook"]}
    for frame in (pandas.DataFrame(words), polars.DataFrame(words)):
        frozen = fitted_on_public(OneHotEncoder(handle_unknown="ignore"), frame)
        assert frozen.transform(frame).shape == (4, 3)


ACROSS_ROWS = {
    "the mean of what it is given": lambda X: X - X.mean(axis=0),
    "the largest of what it is given": lambda X: X / X.max(axis=0),
    "ranks": lambda X: X.argsort(axis=0).argsort(axis=0),
    "rows left out": lambda X: X[:1],
    "a digit in the last place": lambda X: X + 1e-9 * X.sum(),
}


@pytest.mark.parametrize("name", ACROSS_ROWS)
def test_transformers_that_look_across_rows_are_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="treats every row by itself"):
        fitted_on_public(FunctionTransformer(ACROSS_ROWS[name]), PUBLIC)


def test_three_public_rows_are_enough_to_see_it() -> None:
    """Each has two others to stand beside."""
    with pytest.raises(ParameterError, match="treats every row by itself"):
        fitted_on_public(FunctionTransformer(lambda X: X - X.mean(axis=0)), PUBLIC[:3])


def test_what_is_no_transformer_or_no_table_is_refused() -> None:
    with pytest.raises(ParameterError, match="an object with fit and transform"):
        fitted_on_public(Stumps(), PUBLIC)
    with pytest.raises(DataError, match="at least 3 rows"):
        fitted_on_public(StandardScaler(), PUBLIC[:2])


# public= and schema= --------------------------------------------------------------------------------------------------


def people(records: int, seed: int = 0) -> tuple[Any, NDArray[np.int64]]:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame({"age": rng.integers(18, 90, records), "job": rng.choice(["cook", "nurse"], records)})
    return frame, ((frame["age"] > 50) & (frame["job"] == "nurse")).astype(int).to_numpy()


SCHEMA = Schema(
    (
        Column("age", "numeric", bounds=(18, 90)),
        Column("job", "categorical", categories=("cook", "nurse")),
    )
)
"""Declared, not read."""


def test_public_rows_and_a_schema_reach_the_last_step_of_a_pipeline() -> None:
    X, y = people(4_000)
    pipe = Pipeline([("as it is", FunctionTransformer()), ("tree", PrivateClassifier(4.0, method="tree", entropy=0))])
    assert pipe.fit(X, y, tree__schema=SCHEMA).score(*people(500, seed=1)) > 0.95
    assert pipe[-1].schema_ is SCHEMA


@pytest.mark.parametrize("cross_validated", [False, True])
def test_public_rows_are_routed_and_transformed_with_the_private_ones(cross_validated: bool) -> None:
    X, y = table(3_000)
    with sklearn.config_context(enable_metadata_routing=True):
        learner = SemiPrivateLearner(DecisionTrees(depth=2, cuts=9), 4.0, entropy=0).set_fit_request(public=True)
        pipe = Pipeline(
            [("scale", fitted_on_public(StandardScaler(), PUBLIC)), ("tree", learner)], transform_input=["public"]
        )
        if cross_validated:
            search = GridSearchCV(pipe, {"tree__epsilon": [2.0, 4.0]}, cv=3).fit(X, y, public=PUBLIC)
            assert (search.cv_results_["mean_test_score"] > 0.85).all()
            pipe = search.best_estimator_
        else:
            pipe.fit(X, y, public=PUBLIC)
        assert pipe.score(*table(1_000, seed=2)) > 0.85
    cuts = [predicate.cut for predicate in pipe[-1].hypotheses_.predicates]
    assert max(cuts) < 3, "the cuts are those of scaled rows"
    assert pipe[-1].n_public_ == 300


def test_a_schema_is_routed() -> None:
    X, y = people(3_000)
    with sklearn.config_context(enable_metadata_routing=True):
        learner = SemiPrivateLearner(DecisionTrees(depth=2, cuts=9), 4.0, entropy=0).set_fit_request(schema=True)
        search = GridSearchCV(learner, {"epsilon": [2.0, 4.0]}, cv=3).fit(X, y, schema=SCHEMA)
        assert (search.cv_results_["mean_test_score"] > 0.9).all()
        assert (cross_val_score(learner, X, y, cv=3, params={"schema": SCHEMA}) > 0.9).all()


# Scores and searches --------------------------------------------------------------------------------------------------


def halting(queries: int = 5) -> NoisyMaxAggregate:
    return NoisyMaxAggregate(Thresholds(), epsilon=8.0, queries=queries, entropy=0)


def test_a_score_is_a_number_where_the_release_halts() -> None:
    X, y = steps(6_000)
    release = halting(queries=4).fit(X, y)
    rows, truth = np.linspace(0.6, 0.9, 10)[:, None], np.array([1, 1, 1, 0, *[1] * 6])
    with pytest.warns(Exhausted, match="after 4 of 10 rows"):
        assert release.score(rows, truth) == (3 + 6 / 2) / 10
    with pytest.warns(Exhausted, match="after 4 of 10 rows"):
        assert release.score(rows, truth, sample_weight=[1, 0, 0, 1, 2, *[0] * 5]) == (1 + 2 / 2) / 4
    with pytest.raises(BudgetExhausted):
        release.predict(rows)
    assert release.score(rows[:4], truth[:4]) == 0.75, "and no warning where every row was answered"


def test_a_score_of_words() -> None:
    X, y = steps(6_000)
    names = np.array(["no", "yes"])
    release = NoisyMaxAggregate(Thresholds(), epsilon=8.0, queries=9, entropy=0, classes=("no", "yes")).fit(X, names[y])
    assert release.score([[0.1], [0.9], [0.8], [0.2]], ["no", "yes", "yes", "yes"]) == 0.75


def test_a_score_against_too_few_labels_asks_for_nothing() -> None:
    X, y = steps(6_000)
    release = halting().fit(X, y)
    with pytest.raises(ValueError, match="inconsistent"):
        release.score([[0.1], [0.9]], [1])
    assert release.queries_answered_ == 0


def test_cross_validation_and_searches_end_in_finite_scores() -> None:
    X, y = steps(4_000)
    with pytest.warns(Exhausted):
        scores = cross_val_score(halting(), X, y, cv=3)
    assert np.isfinite(scores).all()
    with pytest.warns(Exhausted):
        search = GridSearchCV(halting(), {"queries": [5, 2_000]}, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_ == {"queries": 2_000}


def test_copies_that_are_fitted_again_are_told_so_once() -> None:
    X, y = steps(2_000)
    public = np.linspace(0.001, 0.999, 50)[:, None]
    learner = SemiPrivateLearner(Thresholds(), 1.0)
    learner.fit(X, y, public=public)
    with pytest.warns(FittedAgain, match="add up"):
        clone(learner).fit(X, y, public=public)
    clone(clone(learner)).fit(X, y, public=public)
    SemiPrivateLearner(Thresholds(), 1.0).fit(X, y, public=public)  # another one, another counter


def test_a_search_is_told_that_it_multiplies_epsilon() -> None:
    X, y = steps(3_000)
    learner = SemiPrivateLearner(Stumps(cuts=(0.2, 0.4, 0.6)), 1.0)
    with pytest.warns(FittedAgain):
        cross_val_score(make_pipeline(FunctionTransformer(), learner), X, y, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_val_score(clone(learner).set_params(entropy=0), X, y, cv=3)  # seeded: nothing here is private


def test_a_fit_that_is_refused_does_not_count() -> None:
    X, y = steps(2_000)
    learner = SemiPrivateLearner(Stumps(cuts=(0.4,)), 1.0)
    for _ in range(2):
        with pytest.raises(ValueError, match="one label"):
            learner.fit(X, None)
    learner.fit(X, y)


def test_the_warning_never_stops_a_release_half_way() -> None:
    """Where warnings are errors the second fit is refused before anything is drawn."""
    X, y = steps(6_000)
    release = AgnosticRelease(Thresholds(), epsilon=4.0).fit(X, y)
    with pytest.raises(FittedAgain):
        release.fit(X, y)
    assert not hasattr(release, "plan_")


IDS = np.arange(600) // 2


class Seen(SemiPrivateLearner):
    """Keeps how often the commonest row was in a fit: what no estimator does."""

    def fit(self, X: Any, y: Any = None, **more: Any) -> Any:  # type: ignore[override]
        self.most_ = int(np.unique(X, axis=0, return_counts=True)[1].max())
        return super().fit(X, y, **more)


def test_bagging_repeats_records_and_the_warning_says_what_that_costs() -> None:
    X, y = steps(600)
    bagged = BaggingClassifier(Seen(Stumps(cuts=[0.4]), 4.0), n_estimators=2, random_state=0)
    with pytest.warns(FittedAgain, match="one that is k times in what a fit gets has k·ε by that fit alone"):
        bagged.fit(X, y)
    assert all(member.most_ > 1 for member in bagged.estimators_)
    once = BaggingClassifier(Seen(Stumps(cuts=[0.4]), 4.0), n_estimators=1, bootstrap=False, max_samples=0.5)
    assert once.fit(X, y).estimators_[0].most_ == 1


def search(learner: Any) -> GridSearchCV:
    return GridSearchCV(learner, {"epsilon": [4.0]}, cv=GroupKFold(2), error_score="raise")


@pytest.mark.filterwarnings("ignore::pcqr.errors.FittedAgain")
def test_a_search_gives_groups_to_the_splitter_alone_unless_they_are_routed(tmp_path: Any) -> None:
    X, y = steps(600)
    learner = SemiPrivateLearner(Stumps(cuts=[0.4]), 4.0)
    assert search(learner).fit(X, y, groups=IDS).best_estimator_.guarantee_.unit == RECORD
    account = Account.create(tmp_path / "account", 99.0, 1e-3, unit=USER)
    with pytest.raises(ParameterError, match="person"):
        search(clone(learner).set_params(account=account)).fit(X, y, groups=IDS)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError):
            search(learner).fit(X, y, groups=IDS)
        asking = clone(learner).set_fit_request(groups=True)
        assert search(asking).fit(X, y, groups=IDS).best_estimator_.guarantee_.unit == USER


# Probabilities in tools of scikit-learn -----------------------------------------------------------------------------

TREES = DecisionTrees(depth=2, predicates=(Predicate(0, 30.0), Predicate(1, 40.0)))
ASKED: dict[str, dict[str, Any]] = {"tree": {"epsilon": 0.5}, "linear": {"epsilon": 4.0}}


def scored(**parameters: Any) -> PrivateClassifier:
    return PrivateClassifier(**{"trees": TREES, "classes": (0, 1), **parameters})


@pytest.mark.parametrize("method", ASKED)
def test_calibration_on_the_private_table_is_told_that_it_multiplies_epsilon(method: str) -> None:
    X, y = table(2_000)
    with pytest.warns(FittedAgain, match="CalibratedClassifierCV fit many.* What .* a calibrator .* has no noise"):
        tool = CalibratedClassifierCV(scored(**ASKED[method]), cv=3).fit(X, y)
    assert len(tool.calibrated_classifiers_) == 3


@pytest.mark.parametrize("method", ASKED)
def test_calibration_of_what_is_published_on_public_labels_costs_nothing(method: str) -> None:
    X, y = table(2_000)
    learner = scored(**ASKED[method]).fit(X, y)
    labelled, truth = table(400, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tools = [
            CalibratedClassifierCV(FrozenEstimator(published)).fit(labelled, truth)
            for published in (learner, PublishedModel.from_learner(learner))
        ]
    fresh, labels = table(500, seed=2)
    said = [tool.predict_proba(fresh) for tool in tools]
    np.testing.assert_array_equal(*said)
    assert roc_auc_score(labels, said[0][:, 1]) > 0.8
