"""Estimators and accounts: charged when everything is checked, before anything is drawn, and never refunded."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr
from support.releases import steps

import pcqr.release
from pcqr import (
    AgnosticRelease,
    ConfidentMaxAggregate,
    DataError,
    Guarantee,
    InfeasiblePlan,
    InteractiveMaxAggregate,
    MultipartyClassifier,
    NoisyMaxAggregate,
    ParameterError,
    PrivateClassifier,
    Schema,
    SemiPrivateLearner,
    SubsampleAggregate,
    SystemEntropy,
    UniversalRelease,
)
from pcqr.data.schema import Column
from pcqr.durable.account import Account, Charge
from pcqr.errors import AccountExhausted, AccountReplaced
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.models import PublishedModel
from pcqr.releases.base.inputs import FitContext, FitInputs

pytestmark = pytest.mark.usefixtures("home")
X, Y = steps(6_000)
PUBLIC = np.linspace(0.05, 0.95, 10)[:, None]
TREES = DecisionTrees(depth=1)
ESTIMATORS: list[Any] = [
    SubsampleAggregate(Thresholds(), epsilon=2.0, queries=5),
    AgnosticRelease(Thresholds(), epsilon=2.0, queries=5),
    UniversalRelease(Thresholds(), epsilon=2.0, queries=5),
    UniversalRelease(epsilon=2.0),
    NoisyMaxAggregate(Thresholds(), epsilon=2.0, queries=5),
    ConfidentMaxAggregate(Thresholds(), epsilon=2.0, queries=5),
    SemiPrivateLearner(Thresholds(), epsilon=2.0),
    InteractiveMaxAggregate(Thresholds(), epsilon=2.0, queries=5),
    MultipartyClassifier(Thresholds(), epsilon=2.0),
    *(PrivateClassifier(2.0, method=method, trees=TREES) for method in ("tree", "linear", "auto")),
]


class Watching(SystemEntropy):
    """Notes what was charged when the first random bit is asked for."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.charges: tuple[Charge, ...] | None = None

    def bytes(self, count: int) -> bytes:
        if self.charges is None:
            self.charges = self.account.charges
        return super().bytes(count)


class Untouched(SystemEntropy):
    """Private, and nobody may ask it for anything."""

    def bytes(self, count: int) -> bytes:
        raise AssertionError(f"{count} random bytes were drawn")


@pytest.fixture
def account() -> Account:
    return Account.create("table", 3.0, 1e-5)


def fit(estimator: Any) -> Any:
    return estimator.fit(X, Y, public=None if estimator.get_params().get("queries") else PUBLIC)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_a_fit_is_charged_with_its_plans_guarantee_before_the_first_draw(estimator: Any, account: Account) -> None:
    watching = Watching(account)
    fitted = fit(clone(estimator).set_params(account=account, entropy=watching))
    (charge,) = account.charges
    assert (charge.what, charge.epsilon, charge.delta) == (
        type(estimator).__name__,
        fitted.guarantee_.epsilon,
        fitted.guarantee_.delta,
    )
    facts = {"hypotheses": type(fitted.hypotheses_).__name__, "plan": type(fitted.plan_).__name__, "records": 6_000}
    assert charge.facts == facts
    assert watching.charges in ((charge,), None)  # None: all of its noise came from OpenDP


def test_a_zcdp_account_is_charged_with_what_is_proved() -> None:
    account = Account.create("many", 3.0, 1e-5, filter="zcdp")
    learner = SemiPrivateLearner(Thresholds(), epsilon=0.5, account="many").fit(X, Y, public=PUBLIC)
    rho = learner.plan_.guarantee.rho
    assert rho is not None
    assert account.spent.loss == Fraction(repr(rho))
    assert rho < 0.5**2 / 7.9


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_what_does_not_fit_draws_nothing_and_leaves_nothing(estimator: Any) -> None:
    account = Account.create("small", 1.0, 1e-5)
    refused = clone(estimator).set_params(account=account, entropy=Untouched())
    with pytest.raises(AccountExhausted):
        fit(refused)
    assert not hasattr(refused, "plan_")
    assert not hasattr(refused, "guarantee_")
    assert account.charges == ()


def test_bad_input_costs_nothing(account: Account) -> None:
    given: Any = {"account": account, "entropy": Untouched()}
    schema = Schema((Column("x", bounds=(0, 1)),))
    table = {"x": X[:, 0].tolist()}
    bad: list[tuple[Any, Any, dict[str, Any], type[Exception]]] = [
        (SemiPrivateLearner(Thresholds(), **given), X, {"public": PUBLIC, "y": Y[:-1]}, ValueError),
        (SemiPrivateLearner(Thresholds(), **given), X, {"public": X[:100], "y": Y}, DataError),
        (SemiPrivateLearner(Thresholds(), **given), X, {"y": Y}, ParameterError),
        (SemiPrivateLearner(Thresholds(), **given), X, {"public": PUBLIC, "y": np.arange(6_000) % 3}, DataError),
        (SemiPrivateLearner(Thresholds(), epsilon=-1.0, **given), X, {"public": PUBLIC, "y": Y}, ParameterError),
        (SubsampleAggregate(Thresholds(), epsilon=0.01, **given), X, {"y": Y}, InfeasiblePlan),
        (PrivateClassifier(**given), {"mistyped": table["x"]}, {"schema": schema, "y": Y}, DataError),
        (PrivateClassifier(**given), np.where(X > 0.9, np.nan, X), {"public": PUBLIC, "y": Y}, ValueError),
    ]
    for estimator, rows, others, error in bad:
        with pytest.raises(error):
            estimator.fit(rows, **others)
    assert account.charges == ()


def test_a_fit_that_fails_after_the_charge_is_not_refunded(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(SubsampleAggregate, "_start", fails)
    with pytest.raises(MemoryError):
        SubsampleAggregate(Thresholds(), epsilon=2.0, account=account).fit(X, Y)
    assert len(account.charges) == 1


def test_a_kill_between_charge_and_draw_is_charged(account: Account) -> None:
    class Deadly(SystemEntropy):
        def bytes(self, count: int) -> bytes:
            os.kill(os.getpid(), signal.SIGKILL)
            return super().bytes(count)

    release = SubsampleAggregate(Thresholds(), epsilon=2.0, account=account, entropy=Deadly())
    process = multiprocessing.get_context("fork").Process(target=release.fit, args=(X, Y))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert [charge.what for charge in account.charges] == ["SubsampleAggregate"]
    with pytest.raises(AccountExhausted):
        SubsampleAggregate(Thresholds(), epsilon=2.0, account=account, entropy=Untouched()).fit(X, Y)


def test_a_seed_does_not_go_with_an_account(account: Account) -> None:
    with pytest.raises(ParameterError, match="account must be None with a seed"):
        SemiPrivateLearner(Thresholds(), account=account, entropy=0).fit(X, Y, public=PUBLIC)
    assert account.charges == ()


@pytest.mark.parametrize("given", [7, 1.5, b"table", ["table"]])
def test_what_is_no_account_is_refused(given: Any) -> None:
    with pytest.raises(ParameterError, match="account must be an Account, its name, its path or None"):
        SemiPrivateLearner(Thresholds(), account=given).fit(X, Y, public=PUBLIC)


def test_an_account_that_is_not_there_is_told_before_the_records_are_looked_at() -> None:
    class Unreadable:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    with pytest.raises(ParameterError, match="pcqr account create elsewhere"):
        SemiPrivateLearner(Thresholds(), account="elsewhere").fit(Unreadable(), Unreadable())


@pytest.mark.parametrize("form", [lambda account: account, lambda account: account.name])
def test_an_account_made_anew_between_the_check_and_the_charge_is_not_charged(form: Any) -> None:
    large = Account.create("table", 100.0, 1e-3)

    class Replacing(SubsampleAggregate):
        def _check_inputs(self, context: FitContext, inputs: FitInputs) -> FitInputs:
            for end in ("", "-wal", "-shm", ".lock"):
                Path(f"{large.place}{end}").unlink(missing_ok=True)
            Account.create("table", 1.0, 1e-6)
            return super()._check_inputs(context, inputs)

    with pytest.raises(AccountReplaced):
        Replacing(Thresholds(), epsilon=2.0, account=form(large), entropy=Untouched()).fit(X, Y)
    assert Account.open("table").charges == ()


@pytest.mark.parametrize("is_charged", [True, False, None])
def test_a_guarantee_says_whether_an_account_remembers_the_release(
    is_charged: bool | None, account: Account, tmp_path: Path
) -> None:
    given: dict[bool | None, Any] = {True: {"account": account}, False: {}, None: {"entropy": 0}}
    learner = SemiPrivateLearner(TREES, epsilon=0.5, classes=[0, 1], **given[is_charged]).fit(X, Y, public=PUBLIC)
    guarantee = learner.guarantee_
    planned = learner.plan(len(X), public=PUBLIC).guarantee
    assert planned.is_charged is None, "nothing was drawn"
    if is_charged is not None:
        assert (guarantee, guarantee.is_private) == (planned.assuming(*guarantee.assumptions), True), "no figure moves"
    assert guarantee.is_charged is learner.plan_.guarantee.is_charged is is_charged
    assert guarantee.facts().get("is_charged") is is_charged
    model = PublishedModel.from_learner(learner)
    model.save(tmp_path / "model")
    kept = SubsampleAggregate(Thresholds(), epsilon=2.0, **given[is_charged]).fit(X, Y)
    kept.save(tmp_path / "release", anchor=tmp_path / "anchor").close()
    opened = pcqr.release.open(tmp_path / "release", anchor=tmp_path / "anchor", read_only=True)
    for text in (
        *(str(guarantee), str(Guarantee.from_json(guarantee.to_json())), str(opened.guarantee_)),
        *(model.card(), PublishedModel.load(tmp_path / "model" / "model.json").card()),
        *(str(guarantee.compose(guarantee)), str(guarantee.group(2))),
    ):
        assert ("This release was charged to an account" in text) is (is_charged is True)
        assert ("No account remembers this release" in text) is (is_charged is False)
        assert account.place not in text
    opened.close()


def test_several_releases_are_charged_if_each_is() -> None:
    charged, other = Guarantee(0.1, is_charged=True), Guarantee(0.1, is_charged=False)
    assert charged.compose(charged).is_charged is True
    assert charged.compose(other).is_charged is other.compose(Guarantee(0.1)).is_charged is False
    assert charged.compose(Guarantee(0.1)).is_charged is None
    assert charged == other


def test_a_password_in_the_address_is_in_no_text_of_an_estimator() -> None:
    given = "postgresql://me:opensesame@host/db?ledger=x"
    for estimator in (SemiPrivateLearner(account=given), SemiPrivateLearner().set_params(account=given)):
        for each in (estimator, clone(estimator)):
            pipeline = make_pipeline(each)
            shown = (repr(each), estimator_html_repr(pipeline), repr(pipeline), str(each.get_params()), str(vars(each)))
            assert not [text for text in shown if "opensesame" in text]
            assert b"opensesame" not in pickle.dumps(each)
            assert os.fspath(each.get_params()["account"]) == given  # what the fit connects with


# scikit-learn ---------------------------------------------------------------------------------------------------------


def test_clones_share_the_account(account: Account) -> None:
    """And with an account nobody is warned of a second fit: it is remembered."""
    first = SemiPrivateLearner(Thresholds(), epsilon=0.5, account=account)
    second = clone(first)
    assert second.get_params()["account"].place == account.place
    for learner in (first, second, first):
        learner.fit(X, Y, public=PUBLIC)
    assert len(account.charges) == 3
    assert "account=Account('table')" in repr(first)


@pytest.mark.parametrize(
    "form", [lambda account: account, lambda account: account.name, lambda account: Path(account.place)]
)
def test_a_cross_validation_charges_every_fit(account: Account, form: Any) -> None:
    learner = SemiPrivateLearner(Thresholds(), epsilon=0.5, account=form(account))
    assert len(cross_val_score(learner, X, Y, cv=3, params={"public": PUBLIC})) == 3
    assert len(account.charges) == 3
    assert {charge.facts["records"] for charge in account.charges} == {4_000}


def test_a_search_in_other_processes_charges_every_fit_and_stops_at_the_cap(account: Account) -> None:
    """Two values, three folds, and the last fit on all: seven releases, of which 3 = 6 · 0.5 has room for six."""
    learner = SemiPrivateLearner(Thresholds(), epsilon=0.5, account=account)
    search = GridSearchCV(learner, {"alpha": [0.1, 0.2]}, cv=3, n_jobs=2, error_score="raise")
    with parallel_config("multiprocessing"), pytest.raises(AccountExhausted):
        search.fit(X, Y, public=PUBLIC)
    assert len(account.charges) == 6
    account.verify()
