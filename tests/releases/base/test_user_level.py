"""`fit(X, y, groups=…)`: whom the guarantee protects, who is refused, and that the number of rows is nowhere."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pcqr import (
    AgnosticRelease,
    ConfidentMaxAggregate,
    GibbsPrediction,
    Groups,
    IndividualKNN,
    NoisyMaxAggregate,
    PrivateClassifier,
    PrivateKNN,
    SemiPrivateLearner,
    SubsampleAggregate,
    UniversalRelease,
)
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses import DecisionTrees, Finite, LogisticTeachers, Stumps, Thresholds
from pcqr.hypotheses.stumps import Stump
from pcqr.privacy.unit import RECORD, USER, Unit
from pcqr.progress import Progress, reporting
from pcqr.release import Account
from pcqr.releases.base.contributions import unit_numbers
from pcqr.releases.base.fitting import PrivateEstimator

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(3_000, 2))
Y = (X[:, 0] > 0.3).astype(int)
PUBLIC = GENERATOR.normal(size=(200, 2))
GROUPS = GENERATOR.integers(0, 1_500, 3_000)
COUNT = len(set(GROUPS.tolist()))
QUERIES = PUBLIC[:5]
COMMON: dict[str, Any] = {"entropy": 0, "classes": (0, 1)}

ALL_ROWS: tuple[PrivateEstimator[Any], ...] = (
    SubsampleAggregate(Stumps(), epsilon=4.0, queries=5, teachers=99, **COMMON),
    SubsampleAggregate(LogisticTeachers(), epsilon=4.0, queries=5, teachers=99, sampling_rate=0.5, **COMMON),
    NoisyMaxAggregate(Stumps(), epsilon=4.0, queries=5, teachers=99, **COMMON),
    ConfidentMaxAggregate(Stumps(), epsilon=4.0, queries=5, teachers=99, **COMMON),
    AgnosticRelease(DecisionTrees(depth=1), epsilon=4.0, queries=5, teachers=99, **COMMON),
    SemiPrivateLearner(DecisionTrees(depth=1), **COMMON),
    PrivateClassifier(1.0, method="tree", **COMMON),
    PrivateClassifier(1.0, method="linear", **COMMON),
    PrivateClassifier(2.5, **COMMON),
    PrivateClassifier(6.0, **COMMON),
)
ONE_ROW: tuple[PrivateEstimator[Any], ...] = (
    AgnosticRelease(Stumps(), epsilon=4.0, queries=5, teachers=99, **COMMON),
    UniversalRelease(Stumps(), epsilon=4.0, queries=5, teachers=99, **COMMON),
    SemiPrivateLearner(Finite((Stump(0, 0.3, True, 2), Stump(1, 0.3, True, 2))), **COMMON),
    SemiPrivateLearner(Stumps(), **COMMON),
    GibbsPrediction(Stumps(), queries=3, **COMMON),
    PrivateKNN(epsilon=4.0, queries=3, **COMMON),
)
pytestmark = pytest.mark.filterwarnings("ignore::pcqr.errors.UnansweredWarning")


def named(estimators: tuple[PrivateEstimator[Any], ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("estimator", estimators, ids=lambda estimator: type(estimator).__name__)


@named(ALL_ROWS + ONE_ROW)
def test_the_guarantee_is_about_persons_with_the_figures_of_as_many_records(estimator: PrivateEstimator[Any]) -> None:
    fitted = estimator.fit(X, Y, public=PUBLIC, groups=GROUPS)
    assert fitted.guarantee_.unit == fitted.plan_.guarantee.unit == USER
    assert fitted.n_records_ == COUNT
    planned = estimator.plan(COUNT, public=PUBLIC, user_level=True)
    assert (planned.guarantee.epsilon, planned.guarantee.delta) == (fitted.guarantee_.epsilon, fitted.guarantee_.delta)
    assert planned.guarantee.unit == USER
    assert planned.guarantee.steps[-1] == fitted.guarantee_.steps[-1]
    of_records = estimator.plan(COUNT, public=PUBLIC)
    assert of_records.guarantee.unit == RECORD
    assert of_records.guarantee.epsilon == fitted.guarantee_.epsilon
    assert type(fitted.plan_).from_json(fitted.plan_.to_json()) == fitted.plan_
    one_row = "one row of each" in fitted.guarantee_.steps[-1]
    assert one_row == any(type(estimator) is type(each) and each.hypotheses == estimator.hypotheses for each in ONE_ROW)


@named(ALL_ROWS)
def test_persons_of_one_row_each_are_records_to_the_last_bit(estimator: PrivateEstimator[Any]) -> None:
    def outcome(**groups: Any) -> Any:
        fitted = estimator.fit(X, Y, public=PUBLIC, **groups)
        if hasattr(fitted, "hypothesis_"):
            return fitted.hypothesis_.predict(PUBLIC).tolist(), repr(fitted.hypothesis_)
        return [fitted.answer(x).label for x in QUERIES[:2]]

    assert outcome() == outcome(groups=np.arange(3_000)) == outcome(groups=[f"patient {i:04}" for i in range(3_000)])


@named(ALL_ROWS + ONE_ROW)
def test_more_rows_of_somebody_change_nothing_that_is_public(estimator: PrivateEstimator[Any]) -> None:
    """Plan, guarantee, attributes and progress are functions of the number of persons."""

    def public_facts(extra: int) -> Any:
        rows = np.concatenate([np.arange(3_000), np.full(extra, 17)])
        told: list[Progress] = []
        with reporting(told.append):
            fitted = estimator.fit(X[rows], Y[rows], public=PUBLIC, groups=GROUPS[rows])
        written = fitted.plan_.to_json(), fitted.guarantee_.to_json(), fitted.n_records_
        assert not any(re.search(rf"\b{3_000 + extra:,}\b|\b{3_000 + extra}\b", str(fact)) for fact in written)
        return written, [each for each in told if each.stage == "teachers"]

    assert public_facts(0) == public_facts(5_000)


def test_ids_are_read_one_by_one() -> None:
    same = [[5, 5.0, "5", " 5 ", "5.0", np.int8(5), "+5"], ["a", "a ", "b"], [2**63, str(2**63), 2**63 + 1]]
    assert [unit_numbers(ids).tolist() for ids in same] == [[0] * 7, [0, 0, 1], [0, 0, 1]]
    assert unit_numbers(["12e4", "120000", "1e9999", "007", "7"]).tolist() == [0, 0, 1, 2, 2]
    wide = ["1e16", 10**16, 1e16, "1E+16", Decimal(10**16), Fraction(10**16), "10000000000000000.0"]
    assert unit_numbers(wide).tolist() == [0] * 7
    assert unit_numbers([2**60 + 1, Decimal(2**60 + 1), Decimal(2**60)]).tolist() == [0, 0, 1]
    assert unit_numbers([Decimal("1.5"), 1.5, "1.25"]).tolist() == [0, 0, 1]
    assert len(set(unit_numbers(pd.Series(["x", "y", "x"])).tolist())) == 2
    assert len(set(unit_numbers(np.array([3, 1, 3, 2])).tolist())) == 3
    assert unit_numbers(pd.Series([1, 2, 1], dtype="Int64")).tolist() == [0, 1, 0]
    assert unit_numbers(pd.to_datetime(pd.Series(["2020-01-01", "2020-01-02"]))).tolist() == [0, 1]


@pytest.mark.parametrize("ids", [[np.timedelta64(5, "s")] * 3, [10**5_000] * 3])
def test_what_cannot_be_an_id_is_refused_in_our_words(ids: Any) -> None:
    with pytest.raises(DataError, match=r"^groups must be "):
        unit_numbers(ids)


@named((SubsampleAggregate(Stumps(), epsilon=4.0, queries=5, teachers=99), PrivateClassifier(1.0, method="tree")))
def test_groups_without_ids_are_refused(estimator: PrivateEstimator[Any]) -> None:
    """A column that is not there, as `table.get` gives it: rows by themselves must not be told as persons."""
    with pytest.raises(DataError, match="the id of a person for each row of X"):
        estimator.fit(X, Y, public=PUBLIC, groups=Groups(pd.DataFrame({"other": GROUPS}).get("patient")))


@pytest.mark.parametrize(
    "missing",
    [
        [1, None, 2],
        [1.0, np.nan, 2.0],
        np.array([1.0, np.nan, 2.0]),
        ["a", "", "b"],
        ["a", "  ", "b"],
        ["a", "NA", "b"],
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, None, 2]),
        np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="datetime64[D]"),
        [1.0, np.inf, 2.0],
        [],
    ],
)
def test_a_missing_person_is_refused(missing: Any) -> None:
    with pytest.raises(
        DataError, match=r"^groups must be the id of a person for each row of X; received a missing one"
    ):
        SubsampleAggregate(Thresholds(), entropy=0).fit([[1.0], [2.0], [3.0]], [0, 1, 1], groups=missing)


@pytest.mark.parametrize("ids", ["patient", 5, [[1], [2]], np.ones((3, 1)), pd.DataFrame({"a": [1, 2, 3]}), [1, {}, 2]])
def test_what_are_no_ids_is_refused(ids: Any) -> None:
    with pytest.raises(DataError, match=r"^groups must be"):
        SubsampleAggregate(entropy=0).fit(X[:3], Y[:3], groups=ids)


def test_another_length_is_refused_without_saying_which() -> None:
    for labels, groups in ((Y, GROUPS[:-1]), (Y[:-1], GROUPS), (Y, [*GROUPS, 3])):
        with pytest.raises(DataError, match="as long as X; received another number of rows") as caught:
            SubsampleAggregate(entropy=0).fit(X, labels, groups=groups)
        assert not re.search(r"\d", str(caught.value))


def test_what_has_no_proof_for_persons_takes_no_groups() -> None:
    release = IndividualKNN(queries=5, entropy=0)
    for call in (
        lambda: release.fit(X, Y, public=PUBLIC, groups=GROUPS),
        lambda: release.plan(1_000, public=PUBLIC, user_level=True),
    ):
        with pytest.raises(ParameterError, match=r"^groups must be None for IndividualKNN: near rows have budgets"):
            call()


@pytest.mark.parametrize("unit", [USER, Unit.user(40)])
def test_an_account_of_persons_takes_it_and_refuses_records(tmp_path: Path, unit: Unit) -> None:
    account = Account.create(tmp_path / "clinic.account", 3.0, 1e-5, unit=unit, anchor=tmp_path / "anchor")
    PrivateClassifier(1.0, method="tree", classes=(0, 1), account=account).fit(X, Y, public=PUBLIC, groups=GROUPS)
    (charge,) = account.charges
    assert charge.facts["records"] == COUNT
    with pytest.raises(ParameterError, match="about the account's unit"):
        PrivateClassifier(1.0, method="tree", classes=(0, 1), account=account).fit(X, Y, public=PUBLIC)
    assert len(account.charges) == 1


def test_an_account_of_records_refuses_persons(tmp_path: Path) -> None:
    account = Account.create(tmp_path / "table.account", 3.0, 1e-5, anchor=tmp_path / "anchor")
    with pytest.raises(ParameterError, match="about the account's unit, 'replace one record'"):
        SubsampleAggregate(queries=5, account=account).fit(X, Y, groups=GROUPS)
    assert account.charges == ()


def test_more_rows_of_a_person_may_count_where_rows_are_weighed() -> None:
    """Two thirds of the persons have one row of label 0, and each of the others has three of label 1."""
    user_level = np.concatenate([np.arange(2_000), np.repeat(np.arange(2_000, 3_000), 3)])
    labels, points = (user_level >= 2_000).astype(int), np.ones((5_000, 1))
    public = np.array([[0.0], [1.5], [3.0]])
    said = []
    for rows in (1, 3):
        classifier = PrivateClassifier(1.0, method="tree", classes=(0, 1), entropy=0)
        fitted = classifier.fit(points, labels, public=public, groups=Groups(user_level, rows=rows))
        assert fitted.guarantee_.unit == USER
        said += fitted.predict([[1.0]]).tolist()
    assert said == [0, 1]
    wrong: tuple[Any, ...] = (0, 65, 1.5)
    for rows in wrong:
        with pytest.raises(ParameterError, match=r"^rows must be"):
            PrivateClassifier(entropy=0).fit(X, Y, public=PUBLIC, groups=Groups(GROUPS, rows=rows))
    for estimator in (ALL_ROWS[0], ONE_ROW[2]):
        with pytest.raises(ParameterError, match=r"^groups.rows must be 1 for \w+, which weighs no rows"):
            estimator.fit(X, Y, public=PUBLIC, groups=Groups(GROUPS, rows=2))


@pytest.mark.parametrize(
    ("vote", "said"),
    [
        ("auto", "all rows of one count at most as one record together"),
        ("stability", "count at most as one record together in the draw that relabels, and teachers get all of them"),
        ("noisy max", "all rows of one go to one teacher"),
    ],
)
def test_the_guarantee_says_whether_rows_are_weighed(vote: Any, said: str) -> None:
    """More rows of a person count where rows are weighed, and are refused where teachers see all of them anyway."""
    release = AgnosticRelease(DecisionTrees(depth=1), epsilon=4.0, queries=5, vote=vote, **COMMON)
    assert release.plan(COUNT, public=PUBLIC, user_level=True).guarantee.steps[-1].endswith(said)
    assert release.fit(X, Y, public=PUBLIC, groups=GROUPS).guarantee_.steps[-1].endswith(said)
    if vote == "noisy max":
        with pytest.raises(ParameterError, match=r"^groups.rows must be 1 for AgnosticRelease, which weighs no rows"):
            release.fit(X, Y, public=PUBLIC, groups=Groups(GROUPS, rows=2))
    else:
        release.fit(X, Y, public=PUBLIC, groups=Groups(GROUPS, rows=2))


def test_all_rows_of_a_person_go_to_one_teacher() -> None:
    """Each person has one x: a teacher that saw half of somebody's rows would see that x, too."""
    seen: list[set[float]] = []

    class Watching(Thresholds):
        def learn(self, X: Any, y: Any) -> Any:
            seen.append(set(np.asarray(X).ravel().tolist()))
            return super().learn(X, y)

    user_level = np.repeat(np.arange(50), 1 + np.arange(50) % 7)
    SubsampleAggregate(Watching(), epsilon=8.0, queries=5, teachers=9, entropy=0).fit(
        user_level.astype(float).reshape(-1, 1), user_level % 2, groups=user_level
    )
    assert sorted(len(part) for part in seen) == [5, 5, 5, 5, 6, 6, 6, 6, 6]
    assert set.union(*seen) == set(map(float, range(50)))


def test_a_classifier_hears_a_person_of_many_rows_once() -> None:
    """1,000 persons of label 0 at x = 1, and one with 20,000 rows of label 1 there: the tree says 0."""
    points = np.concatenate([np.ones(1_000), np.ones(20_000)]).reshape(-1, 1)
    labels = np.concatenate([np.zeros(1_000, dtype=int), np.ones(20_000, dtype=int)])
    user_level = np.concatenate([np.arange(1_000), np.full(20_000, 1_000)])
    public = np.array([[0.0], [1.5], [3.0]])
    for method in ("tree", "linear"):
        classifier = PrivateClassifier(1.0, method=method, classes=(0, 1), entropy=0)
        assert classifier.fit(points, labels, public=public, groups=user_level).predict([[1.0]]).tolist() == [0]
        assert classifier.fit(points, labels, public=public).predict([[1.0]]).tolist() == [1]


def test_a_release_of_persons_is_kept_and_found_again(tmp_path: Path) -> None:
    import pcqr.release

    for number, release in enumerate((ALL_ROWS[0], ONE_ROW[1])):
        fitted: Any = type(release)(**release.get_params() | {"entropy": None}).fit(X, Y, groups=GROUPS)
        fitted.save(tmp_path / str(number), anchor=tmp_path / f"anchor {number}").close()
        again = pcqr.release.open(tmp_path / str(number), anchor=tmp_path / f"anchor {number}")
        assert again.guarantee_.unit == USER
        assert again.n_records_ == COUNT
        again.close()
