"""What cannot be done is refused: with a name, before any noise is drawn, and without a private value."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.releases import ALL, RELEASES, Forbidden, steps

from pcqr import (
    AgnosticRelease,
    AssumePublic,
    DataError,
    InfeasiblePlan,
    NoisyMaxAggregate,
    ParameterError,
    PrivateClassifier,
    SemiPrivateLearner,
    UniversalRelease,
    WeakGuarantee,
)
from pcqr.durable.account import Account
from pcqr.errors import PublicRowsCoincide
from pcqr.hypotheses import DecisionTrees, Rectangles, Stumps, Thresholds

BAD_PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": -1.0}, "epsilon"),
    ({"epsilon": float("nan")}, "epsilon"),
    ({"epsilon": float("inf")}, "epsilon"),
    ({"epsilon": "2"}, "epsilon"),
    ({"delta": 0.0}, "delta"),
    ({"delta": 1.0}, "delta"),
    ({"delta": 1e-309}, "delta"),
    ({"queries": 0}, "queries"),
    ({"queries": 2.5}, "queries"),
    ({"alpha": 0.0}, "alpha"),
    ({"beta": 1.0}, "beta"),
    ({"mode": "exact"}, "mode"),
    ({"on_unstable": "guess"}, "on_unstable"),
    ({"teachers": 10}, "teachers"),
    ({"unstable": 0}, "unstable"),
    ({"sampling_rate": 1.5}, "sampling_rate"),
    ({"hypotheses": "stumps"}, "hypotheses"),
    ({"classes": ("a", "a")}, "classes"),
    ({"entropy": -3}, "entropy"),
]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("change", "name"), BAD_PARAMETERS, ids=[str(c) for c, _ in BAD_PARAMETERS])
def test_bad_parameters_are_named_before_noise_is_drawn(release: Any, change: dict[str, Any], name: str) -> None:
    X, y = steps(2_000)
    parameters: dict[str, Any] = {"hypotheses": Thresholds(), "epsilon": 2.0, "entropy": Forbidden()} | change
    with pytest.raises(ParameterError) as caught:
        release(**parameters).fit(X, y)
    assert caught.value.name == name
    assert str(caught.value).startswith(f"{name} must be ")


@pytest.mark.parametrize("release", [AgnosticRelease, UniversalRelease])
def test_a_bad_temperature_is_named_where_records_are_relabelled(release: Any) -> None:
    X, y = steps(2_000)
    with pytest.raises(ParameterError, match="inverse_temperature must be "):
        release(Thresholds(), epsilon=2.0, inverse_temperature=-1.0, entropy=Forbidden()).fit(X, y)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("spoil", ["nan", "inf", "three labels", "short y"])
def test_bad_records_are_refused_before_noise_is_drawn(estimator: Any, spoil: str) -> None:
    X, y = steps(2_000)
    if spoil == "nan":
        X[7] = np.nan
    elif spoil == "inf":
        X[7] = np.inf
    elif spoil == "three labels":
        y[7] = 2
    else:
        y = y[:-1]
    with pytest.raises(ValueError, match=r"NaN|infinity|class|inconsistent"):
        estimator(hypotheses=Stumps(cuts=[0.5]), epsilon=2.0, entropy=Forbidden()).fit(X, y)


@pytest.mark.parametrize("release", RELEASES)
def test_a_class_that_does_not_fit_the_width_is_refused(release: Any) -> None:
    X, y = steps(2_000)
    with pytest.raises(DataError, match=r"X must be a table with 2 column\(s\) for Rectangles; received 1"):
        release(Rectangles(), entropy=Forbidden()).fit(X, y)


@pytest.mark.parametrize("release", RELEASES)
def test_too_few_records_are_refused_with_the_nearest_change(release: Any) -> None:
    X, y = steps(40)
    with pytest.raises(InfeasiblePlan, match=r"n_samples = 40.*Nearest feasible change: about n ≥"):
        release(Thresholds(), epsilon=0.1, entropy=Forbidden()).fit(X, y)


@pytest.mark.parametrize("release", RELEASES)
def test_paper_mode_refuses_with_the_records_it_needs(release: Any) -> None:
    X, y = steps(2_000)
    with pytest.raises(InfeasiblePlan, match="Paper mode asks for n ≥ "):
        release(Thresholds(), epsilon=0.9, mode="paper", entropy=Forbidden()).fit(X, y)


@pytest.mark.parametrize("release", RELEASES)
def test_bad_queries_cost_nothing(release: Any) -> None:
    X, y = steps(20_000)
    fitted = release(Thresholds(), epsilon=2.0, entropy=0).fit(X, y)
    for bad in ([np.nan], [np.inf], [0.1, 0.2], [["a"]]):
        with pytest.raises(ValueError, match=r"."):
            fitted.answer(bad)
    assert fitted.queries_answered_ == 0
    with pytest.raises(DataError, match="one query"):
        fitted.answer([[0.1], [0.2]])


def test_semi_private_needs_public_points_unless_the_class_is_declared() -> None:
    X, y = steps(2_000)
    with pytest.raises(ParameterError, match="public"):
        SemiPrivateLearner(Thresholds(), entropy=Forbidden()).fit(X, y)
    learned = SemiPrivateLearner(Stumps(cuts=np.linspace(0, 1, 11).tolist()), 1.0, entropy=0).fit(X, y)
    assert (learned.predict(X) == y).mean() > 0.95
    assert learned.guarantee_.is_pure
    assert learned.guarantee_.within(1.0, 0.0)


@pytest.mark.parametrize("estimator", ALL)
def test_text_in_a_table_is_refused_without_being_quoted(estimator: Any) -> None:
    X = np.array([["0.1"], ["John Smith"]], dtype=object)
    with pytest.raises(DataError) as caught:
        estimator(entropy=Forbidden()).fit(X, [0, 1])
    assert "Smith" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("estimator", ALL)
def test_complex_numbers_are_refused_without_being_quoted(estimator: Any) -> None:
    with pytest.raises(DataError) as caught:
        estimator(entropy=Forbidden()).fit(np.array([[0.631j], [1.0]]), [0, 1])
    assert "631" not in str(caught.value)


@pytest.mark.parametrize("mistake", [{"sampling_rate": 0.9}, {"unstable": 10**17, "teachers": 3, "epsilon": 40.0}])
def test_what_cannot_be_run_is_refused_at_fit(mistake: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((20_000, 2)), rng.integers(0, 2, 20_000)
    parameters: dict[str, Any] = {"epsilon": 4.0, "entropy": Forbidden()} | mistake
    with pytest.raises(ParameterError):
        AgnosticRelease(Rectangles(), **parameters).fit(X, y)


@pytest.mark.parametrize("estimator", ALL)
def test_a_guarantee_that_says_little_is_warned_of_before_noise_is_drawn(estimator: Any) -> None:
    X, y = steps(2_000)
    weak = estimator(Thresholds(), epsilon=1000.0, entropy=Forbidden())
    arguments = {"public": steps(500, seed=1)[0]} if estimator is SemiPrivateLearner else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(WeakGuarantee, match="ε = 1000"):
            weak.fit(X, y, **arguments)


@pytest.mark.parametrize("estimator", [*ALL, NoisyMaxAggregate, PrivateClassifier])
@pytest.mark.parametrize("kind", ["array", "short", "frame"])
def test_nobody_is_advised_to_impute(estimator: Any, kind: str) -> None:
    """scikit-learn's message does, and an imputer that is fitted on private records is covered by no ε."""
    pandas = pytest.importorskip("pandas")
    X, y = steps(500)
    X[7] = np.nan
    table = {"array": X, "short": X.astype(np.float32), "frame": pandas.DataFrame(X, columns=["x"])}[kind]
    with pytest.raises(DataError, match="missing = true in a schema") as caught:
        estimator(entropy=Forbidden()).fit(table, y)
    assert "HistGradientBoosting" not in str(caught.value)
    assert "imputer" not in str(caught.value)


def of_private_rows(kind: str, X: Any, others: Any) -> Any:
    """60 rows that were called public, `X` being private."""
    mostly, rarely = np.vstack([X[:31], others[:29]]), np.vstack([X[:30], others[:30]])
    return {"itself": X, "a part": X[:60], "copied and turned round": X[59::-1].copy(), "mostly": mostly,
            "rarely": rarely, "once": np.vstack([others[:59], X[7:8]]), "never": others[:60]}[kind]  # fmt: skip


@pytest.mark.parametrize("estimator", [*ALL, NoisyMaxAggregate])
@pytest.mark.parametrize("kind", ["itself", "a part", "copied and turned round", "mostly"])
def test_private_rows_are_not_taken_for_public_ones(estimator: Any, kind: str) -> None:
    X, y = steps(500)
    public = of_private_rows(kind, X, steps(500, seed=1)[0])
    with pytest.raises(DataError, match="public must be rows that are free to be shown") as caught:
        estimator(hypotheses=Thresholds(), epsilon=1.0, entropy=Forbidden()).fit(X, y, public=public)
    assert not any(character.isdigit() for character in str(caught.value)), "how many they are is private"


@pytest.mark.parametrize(("kind", "is_told"), [("rarely", True), ("once", True), ("never", False)])
def test_the_data_holder_is_told_of_public_rows_that_are_private_ones(kind: str, is_told: bool) -> None:
    X, y = steps(500)
    public = of_private_rows(kind, X, steps(500, seed=1)[0])
    learner = SemiPrivateLearner(Thresholds(), 1.0, entropy=0)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        learner.fit(X, y, public=public)
        learner.predict(X)
    assert [warning.category for warning in given] == [PublicRowsCoincide] * is_told
    assert not any(character.isdigit() for warning in given for character in str(warning.message))
    assert "coincid" not in str(learner.guarantee_), "an asker may see that"


def test_rows_that_are_assumed_public_are_taken_as_they_are() -> None:
    """Ages are few: any list of them is in the table already."""
    rng = np.random.default_rng(0)
    ages = np.arange(18.0, 90.0)[:, None]
    X = rng.choice(ages[:, 0], (3_000, 1))
    y = X[:, 0] > 50
    with pytest.raises(DataError, match="AssumePublic"):
        SemiPrivateLearner(Thresholds(), 1.0, entropy=Forbidden()).fit(X, y, public=ages)
    learner = SemiPrivateLearner(Thresholds(), 1.0, entropy=0).fit(X, y, public=AssumePublic(ages))
    assert learner.n_public_ == 72
    assert (learner.predict(X) == y).mean() > 0.9
    release = AgnosticRelease(Thresholds(), epsilon=4.0, entropy=0)
    assert release.plan(3_000, public=AssumePublic(ages)) == release.plan(3_000, public=ages)


def test_frames_are_compared_after_encoding() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = steps(500)
    private = pandas.DataFrame({"x": X[:, 0], "word": ["a", "b"] * 250})
    shown = private[["word", "x"]].iloc[:40].astype({"word": "category"})
    with pytest.raises(DataError, match="public must be rows"):
        SemiPrivateLearner(DecisionTrees(depth=1), 1.0, entropy=Forbidden()).fit(private, y, public=shown)


def test_work_that_would_never_end_is_refused_before_anything_is_spent() -> None:
    rng = np.random.default_rng(0)
    X, public = rng.random((5_000, 40)), rng.random((500, 40))
    y = X[:, 0] > 0.5
    for release in RELEASES:
        with pytest.raises(ParameterError, match="depth must be such that"):
            release(DecisionTrees(depth=4), epsilon=2.0, queries=20, entropy=Forbidden()).fit(X, y, public=public)
    few = DecisionTrees(depth=2, operations=2e9)
    wide = UniversalRelease(few, epsilon=4.0, queries=20, teachers=101, entropy=0)
    wide.fit(X[:, :2], y, public=public[:, :2])
    with pytest.raises(ParameterError, match="depth must be such that"):
        wide.set_params(hypotheses=DecisionTrees(depth=2, operations=2e5)).fit(X[:, :2], y, public=public[:, :2])


@pytest.mark.parametrize("method", ["auto", "tree", "linear"])
@pytest.mark.parametrize("epsilon", [1e300, 1e100, 1e14])
def test_an_epsilon_beyond_all_weights_is_refused_before_anything_is_charged(
    method: Any, epsilon: float, tmp_path: Path
) -> None:
    account = Account.create(tmp_path / "largest.db", 1e307, 1e-3)
    X, y = steps(500)
    for estimator in (
        PrivateClassifier(epsilon, method=method, account=account),
        SemiPrivateLearner(Thresholds(), epsilon, account=account),
    ):
        with pytest.raises(ParameterError, match=r"epsilon must be at most 2\*\*52 / n = 9.01e\+12 for 500 records"):
            estimator.fit(X, y, public=np.arange(0.5, 20.0).reshape(-1, 1))
    assert not list(account.charges)


@pytest.mark.parametrize("estimator", [SemiPrivateLearner, PrivateClassifier])
def test_how_many_classes_there_may_be_is_said(estimator: Any) -> None:
    X, y = steps(500)
    names = tuple(f"class {place}" for place in range(128))
    told = "classes must be 2 to 127 label names that are read as different ones, negative first; received '128 names'"
    with pytest.raises(ParameterError, match=re.escape(told)):
        estimator(classes=names, entropy=Forbidden()).fit(X, y, public=X[:2] + 0.5)
