"""`private_score`: what is counted, charged and refused, and that no cell of a record is told."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pcqr import (
    DataError,
    Groups,
    Guarantee,
    InfeasiblePlan,
    ParameterError,
    Schema,
    SeededEntropy,
    SystemEntropy,
    WeakGuarantee,
    private_score,
)
from pcqr.data.schema import Column
from pcqr.errors import AccountExhausted
from pcqr.hypotheses import Thresholds
from pcqr.models import PrivateScore, PublishedModel
from pcqr.models.scoring import Bins, Scoring
from pcqr.privacy.unit import USER
from pcqr.release import Account

HYPOTHESIS = Thresholds().learn([40.0, 50.0], [0, 1])
MODEL = PublishedModel(HYPOTHESIS, ("no", "yes"), Schema((Column("x"),)), Guarantee(1.0))
X = np.array([[30.0], [30.0], [60.0], [60.0], [60.0]] * 200)
Y = np.array(["no", "yes", "no", "yes", "yes"] * 200)
LARGE = 1_000.0
"""An ε at which the noise on a count is nearly always 0."""


def exactly(X: Any, y: Any, model: Any = MODEL, **options: Any) -> PrivateScore:
    """With hardly any noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakGuarantee)
        return private_score(model, X, y, LARGE, entropy=0, **options)


def test_the_cells_are_label_by_prediction() -> None:
    score = exactly(X, Y)
    assert score.histogram == (200, 200, 200, 400, 0)
    assert score.records == 1_000
    assert score.accuracy.value == pytest.approx(0.6)
    assert score.recall[1].value == pytest.approx(2 / 3)
    assert score.confusion[0][1].value == pytest.approx(0.2)
    assert score.balanced_accuracy.value == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert score.bin_labels == (0, 1)
    assert score.classes == ("no", "yes")


@pytest.mark.parametrize("strange", ["maybe", None, np.nan, 7, "NO?"])
def test_a_label_that_is_none_of_the_classes_counts_as_wrong(strange: Any) -> None:
    labels = Y.astype(object)
    labels[3] = strange
    score = exactly(X, labels)
    assert score.histogram == (200, 200, 200, 399, 1)
    assert score.accuracy.value == pytest.approx(0.599)
    assert score.other.value == pytest.approx(0.001)


def test_records_whose_labels_are_all_others_are_refused_without_one_of_them() -> None:
    account_free = Scoring.of(MODEL, 1.0, None)
    with pytest.raises(DataError, match=r"y must be labels among \['no', 'yes'\]") as caught:
        account_free.run(X, np.array(["zebra"] * 1_000))
    assert "zebra" not in str(caught.value)
    assert account_free.has_spent is False
    labels = np.array(["zebra"] * 999 + ["no"])
    assert exactly(X, labels).histogram == (0, 1, 0, 0, 999)


def test_probabilities_are_binned(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = np.array([0.05, 0.31, 0.55, 0.99, 0.72] * 200)

    def predict_proba(_: object, rows: np.ndarray) -> np.ndarray:
        return np.stack([1.0 - steps[: len(rows)], steps[: len(rows)]], axis=1)

    monkeypatch.setattr(PublishedModel, "predict_proba", predict_proba)
    score = exactly(X, Y)
    assert len(score.bin_labels) == 10
    no, yes = score.histogram[:10], score.histogram[10:20]
    assert no == (200, 0, 0, 0, 0, 200, 0, 0, 0, 0)
    assert yes == (0, 0, 0, 200, 0, 0, 0, 200, 0, 200)
    assert score.auc is not None
    assert score.auc.value == pytest.approx((0 + 1 + 0.5 * 0 + 2 + 2) / 6)
    assert exactly(X, Y, bins=4).histogram == (200, 0, 200, 0, 0, 200, 200, 200, 0)
    assert exactly(X, Y, bins=2).auc is None


# Privacy --------------------------------------------------------------------------------------------------------------


def test_the_noise_is_that_of_the_figures() -> None:
    score = private_score(MODEL, X, Y, 0.5, entropy=3)
    assert score.noise.scale == pytest.approx(4.0)
    assert 0.4999 < score.guarantee.epsilon <= 0.5
    assert score.guarantee.is_pure
    assert score.guarantee.proof == "score"
    assert score.guarantee.rho == pytest.approx(0.5**2 / 4)
    assert not score.guarantee.is_private
    again = private_score(MODEL, X, Y, 0.5, entropy=SeededEntropy(3))
    assert again.histogram == score.histogram
    assert private_score(MODEL, X, Y, 0.5, entropy=4).histogram != score.histogram
    with pytest.warns(WeakGuarantee, match="ε = 20"):
        private_score(MODEL, X, Y, 20.0, entropy=0)


class Watched(SystemEntropy):
    """Notes what was charged when the first random bit is asked for."""

    def __init__(self, look: Callable[[], int]) -> None:
        self._look = look
        self.seen: int | None = None

    def fill(self, words: np.ndarray) -> None:
        self.seen = self._look() if self.seen is None else self.seen
        super().fill(words)


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Account.create(tmp_path / "table.account", 1.0, 1e-6, anchor=tmp_path / "anchor")


def test_an_account_is_charged_before_the_first_draw(account: Account) -> None:
    entropy = Watched(lambda: len(account.charges))
    score = private_score(MODEL, X, Y, 0.6, account=account, entropy=entropy)
    assert entropy.seen == 1
    (charge,) = account.charges
    assert charge.epsilon == score.guarantee.epsilon
    assert (charge.what, charge.facts["records"]) == ("private_score", 1_000)
    assert score.guarantee.is_charged
    scoring = Scoring.of(MODEL, 0.6, None)
    with pytest.raises(AccountExhausted):
        scoring.run(X, Y, account=account)
    assert scoring.has_spent is None, "the account alone knows"
    assert len(account.charges) == 1
    assert private_score(MODEL, X, Y, 0.3).guarantee.is_charged is False


def test_an_account_of_zcdp_is_charged_half_of_what_epsilon_alone_says(tmp_path: Path) -> None:
    account = Account.create(tmp_path / "a", 2.0, 1e-6, filter="zcdp", anchor=tmp_path / "anchor")
    private_score(MODEL, X, Y, 0.4, account=account)
    assert float(account.spent.loss) == pytest.approx(0.4**2 / 4, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"epsilon": 0.0}, ParameterError, "epsilon must be"),
        ({"epsilon": np.nan}, ParameterError, "epsilon must be"),
        ({"epsilon": 0.009}, InfeasiblePlan, "n·ε is below 10"),
        ({"bins": 10}, ParameterError, "no probabilities"),
        ({"groups": Groups(np.arange(1_000), rows=2)}, ParameterError, "groups.rows must be 1"),
        ({"entropy": 0}, ParameterError, "None with a seed"),
        ({"y": Y[:-1]}, ValueError, "inconsistent numbers"),
        ({"X": X * np.nan}, DataError, "finite numbers"),
        ({"X": np.ones((1_000, 2))}, DataError, "1 column"),
        ({"model": "model"}, ParameterError, "model must be a PublishedModel"),
    ],
)
def test_what_is_refused_costs_nothing(
    account: Account, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    given: dict[str, Any] = {"model": MODEL, "X": X, "y": Y, "epsilon": 0.5, "account": account} | options
    with pytest.raises(error, match=words):
        private_score(**given)
    assert not account.charges


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 50.0])  # mostly noise, as much noise as sampling, mostly sampling
def test_what_is_expected_is_what_comes(epsilon: float) -> None:
    scoring, histogram = Scoring.of(MODEL, epsilon, None), (500, 100, 100, 300, 0)
    found = PrivateScore(histogram, 1_000, MODEL.classes, (0, 1), scoring.noise, Guarantee(epsilon)).accuracy
    assert (found.high - found.low) / 2 == pytest.approx(scoring.expected(1_000), rel=0.1)
    assert Scoring.of(MODEL, 0.2, None).expected(20) == 1.0


# GroupedRecords
# ---------------------------------------------------------------------------------------------------------------------


def test_one_row_of_each_person_counts() -> None:
    user_level = np.arange(1_000) // 5  # each has all five kinds of rows
    score = exactly(X, Y, groups=user_level)
    assert score.records == sum(score.histogram) == 200
    assert score.guarantee.unit == USER
    assert all(20 < count < 60 for count in score.histogram[:3])
    assert 50 < score.histogram[3] < 110
    assert "200 persons" in repr(score)
    alone = exactly(X, Y, groups=np.arange(1_000))
    assert alone.histogram == (200, 200, 200, 400, 0)


def test_an_account_of_persons(tmp_path: Path, account: Account) -> None:
    user_level = Account.create(tmp_path / "p", 1.0, 1e-6, unit=USER, anchor=tmp_path / "p.anchor")
    private_score(MODEL, X, Y, 0.5, groups=np.arange(1_000) // 5, account=user_level)
    (charge,) = user_level.charges
    assert charge.facts["records"] == 200
    with pytest.raises(ParameterError, match="about the account's unit"):
        private_score(MODEL, X, Y, 0.5, groups=np.arange(1_000) // 5, account=account)


def test_how_many_rows_there_are_is_in_no_output() -> None:
    score = exactly(X, Y, groups=np.arange(1_000) // 5)
    assert "1000" not in score.to_json()
    assert "1,000" not in f"{score!r}{score._repr_html_()}"


def test_the_result_speaks_of_records_that_were_not_fitted_on() -> None:
    score = private_score(MODEL, X, Y, 0.5, entropy=0)
    assert "fitted on" in score.assumptions[0]
    assert score.guarantee.assumptions == ()
    assert replace(score, records=2_000).records == 2_000
    assert Bins.of(MODEL, None).count == 2
