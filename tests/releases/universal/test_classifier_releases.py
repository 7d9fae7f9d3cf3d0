"""`UniversalRelease` without a class of one's own: a private classifier answers from the first query on."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

import pcqr
from pcqr import AssumePublic, Groups, ParameterError, PrivateClassifier, Schema, UniversalRelease
from pcqr.data.records import ParquetTable
from pcqr.data.schema import Column
from pcqr.datasets import write_table
from pcqr.durable.account import Account
from pcqr.errors import AccountExhausted, CopyCannotAnswer, DataError, FittedAgain, NothingLearned, NothingPublic
from pcqr.hypotheses import Stumps
from pcqr.models import PublishedModel
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.plan import Aim
from pcqr.releases.universal.plan import ClassifierPlan, UniversalPlan
from pcqr.releases.universal.run import UnvPrivCl

RNG = np.random.default_rng(0)
ROWS = 6_000
FRAME = pd.DataFrame(
    {"age": RNG.integers(18, 90, ROWS).astype(float), "job": RNG.choice(["cook", "nurse", "pilot"], ROWS)}
)
Y = ((FRAME["age"] > 50) ^ (FRAME["job"] == "nurse")).astype(int).to_numpy()
THREE = np.array(["low", "middle", "high"])[np.digitize(FRAME["age"], [40, 60])]
NUMBERS = RNG.normal(30.0, 5.0, size=(ROWS, 3))
ABOVE = (NUMBERS[:, 0] > 32.0).astype(int)
SHOWN = pd.DataFrame({"age": RNG.uniform(18, 90, 60), "job": RNG.choice(["cook", "nurse", "pilot"], 60)})
PUBLIC = AssumePublic(SHOWN)  # beyond their bounds all rows are alike
SCHEMA = Schema((Column("age", bounds=(18, 90)), Column("job", "categorical", ["cook", "nurse", "pilot"])))
PERSONS = np.arange(ROWS) // 3

TABLES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "nothing public": ((FRAME, Y), {}),
    "numbers, nothing public": ((NUMBERS, ABOVE), {}),
    "public rows": ((FRAME, Y, PUBLIC), {}),
    "a schema": ((FRAME, Y), {"schema": SCHEMA}),
    "persons": ((FRAME, Y, PUBLIC, None, Groups(PERSONS, rows=2)), {}),
    "three labels": ((FRAME, THREE, PUBLIC), {"classes": ("low", "middle", "high")}),
    "types": ((FRAME.astype(object), Y), {"types": {"age": "numeric", "job": "categorical"}}),
}


def released(epsilon: float = 2.0, **parameters: Any) -> UniversalRelease:
    return UniversalRelease(epsilon=epsilon, **parameters)


def both(table: str, epsilon: float = 2.0) -> tuple[UniversalRelease, PrivateClassifier]:
    """The release and the classifier, fitted alike."""
    given, more = TABLES[table]
    parameters = {"entropy": 5} | {name: value for name, value in more.items() if name != "schema"}
    schema = {name: value for name, value in more.items() if name == "schema"}
    release = released(epsilon, **parameters).fit(*given, **schema)
    return release, PrivateClassifier(epsilon, 1e-6, **parameters).fit(*given, **schema)


@pytest.mark.parametrize("table", TABLES)
def test_the_classifier_is_that_of_a_private_classifier_bit_for_bit(table: str) -> None:
    release, classifier = both(table)
    assert release.hypothesis_.to_json() == classifier.hypothesis_.to_json()
    assert release.guarantee_ == classifier.guarantee_ == release.plan_.guarantee
    assert release.plan_.stage == classifier.plan_.stage
    for name in ("schema_", "hypotheses_", "n_records_", "n_public_", "n_features_in_"):
        assert getattr(release, name) == getattr(classifier, name)
    asked = TABLES[table][0][0][:200]
    assert release.predict(asked).tolist() == classifier.predict(asked).tolist()
    assert {answer.kind for answer in release.answers(asked)} == {"published"}
    assert PublishedModel.from_learner(release) == PublishedModel.from_learner(classifier)


def test_so_it_is_of_a_table_in_parts(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pcqr[data]")
    for number, part in enumerate(np.array_split(np.arange(ROWS), 3)):
        write_table(tmp_path / f"{number}.parquet", dict(FRAME.assign(y=Y).iloc[part]))
    parted = released(entropy=5).fit(ParquetTable(tmp_path, label="y"))
    assert parted.hypothesis_ == released(entropy=5).fit(FRAME, Y).hypothesis_
    assert parted.answer({"age": 70.0, "job": "cook"}).label == 1


def test_every_query_is_answered_without_end() -> None:
    release = released(entropy=0, queries=1).fit(FRAME, Y)
    cost = release.preview(FRAME)
    assert (cost.published, cost.new, cost.is_certain, cost.is_exhausting) == (ROWS, 0, True, False)
    assert len(list(release.answers(FRAME))) == ROWS
    assert release.answer(FRAME.iloc[[0]]) == release.answer(FRAME.iloc[[0]])
    assert (release.queries_answered_, release.unstable_answers_, release.unstable_remaining_) == (0, 0, None)
    assert release.plan_.remaining == Usage(None, None)
    assert not release.asked_before(FRAME[:3]).any()
    assert release.score(FRAME, Y) > 0.9


def test_nothing_private_is_left_in_it() -> None:
    release = released(entropy=0).fit(FRAME, Y)
    protocol = release._protocol
    assert isinstance(protocol, UnvPrivCl)
    assert protocol.kept() == (None, None)
    with pytest.raises(CopyCannotAnswer):
        protocol.protocol.labeller.counts(np.zeros((1, 2)))
    assert {"hypothesis_", "_by_label"}.isdisjoint(vars(release))


def test_copies_answer_as_well() -> None:
    release = released().fit(FRAME, Y)
    copy = pickle.loads(pickle.dumps(release))  # noqa: S301
    assert copy.predict(FRAME[:50]).tolist() == release.predict(FRAME[:50]).tolist()
    assert copy.hypothesis_ == release.hypothesis_


@pytest.mark.parametrize(
    "votes",
    [
        {"hypotheses": Stumps()},
        {"vote": "stability"},
        {"teachers": 51},
        {"unstable": 3},
        {"sampling_rate": 0.5},
        {"inverse_temperature": 0.1},
        {"publish_share": 0.2},
    ],
    ids=lambda votes: next(iter(votes)),
)
def test_a_class_a_pin_or_the_vote_ask_for_the_papers_algorithm(votes: dict[str, Any]) -> None:
    asked = UniversalRelease(epsilon=4.0, queries=5, **votes)
    assert not asked.is_at_once
    assert isinstance(asked.plan(100_000, 1), UniversalPlan)
    assert not asked.__sklearn_tags__().classifier_tags.multi_class
    with pytest.raises(ParameterError, match="for a release that votes use `plan`"):
        asked.dry_run(100_000)


def test_so_does_paper_mode() -> None:
    assert not UniversalRelease(mode="paper").is_at_once
    assert isinstance(UniversalRelease(epsilon=0.9, queries=50, mode="paper").plan(10**13, 1), UniversalPlan)


def test_the_plan_is_that_of_fit_and_remembers_what_was_asked_for() -> None:
    asked = released(queries=20, alpha=0.2, entropy=0, types={"age": "numeric", "job": "categorical"})
    plan = asked.plan(ROWS)
    assert isinstance(plan, ClassifierPlan)
    assert plan.aim == Aim(20, 0.2, 0.05)
    assert asked.fit(FRAME, Y).plan_.stage == plan.stage
    assert asked.dry_run(ROWS).plan.stage == plan.stage
    with pytest.warns(NothingLearned) as caught:
        UniversalRelease(epsilon=0.02).plan(1_500, public=NUMBERS[:200])
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"vote": "noise"}, "vote"),
        ({"shows": "nothing"}, "shows"),
        ({"on_unstable": "guess"}, "on_unstable"),
        ({"queries": 0}, "queries"),
        ({"alpha": 2.0}, "alpha"),
        ({"delta": 0.0}, "delta"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"teachers": 51, "types": {"age": "numeric"}}, "types"),
    ],
)
def test_parameters_are_judged_before_data(parameters: dict[str, Any], named: str) -> None:
    release = UniversalRelease(**parameters)
    with pytest.raises(ParameterError) as refused:
        release.fit(FRAME, Y)
    assert refused.value.name.startswith(named)
    assert release.has_spent is False


def test_a_fit_is_one_charge_under_its_own_name(tmp_path: Path) -> None:
    account = Account.create(tmp_path / "table", 2.5, 1e-5)
    release = released(account=account).fit(FRAME, Y)
    (charge,) = account.charges
    assert (charge.what, charge.epsilon) == ("UniversalRelease", release.guarantee_.epsilon)
    assert release.has_spent
    with pytest.raises(AccountExhausted):
        release.fit(FRAME, Y)
    assert len(account.charges) == 1
    assert not hasattr(release, "plan_"), "nothing of the earlier fit is left"


def test_fits_of_copies_are_counted() -> None:
    release = released().fit(FRAME, Y)
    with pytest.warns(FittedAgain):
        clone(release).fit(FRAME, Y)


def test_what_fails_after_the_charge_has_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account.create(tmp_path / "table", 2.5, 1e-5)
    release = released(account=account)
    monkeypatch.setattr(PrivateClassifier, "_start", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        release.fit(FRAME, Y)
    assert release.has_spent
    assert len(account.charges) == 1
    assert not hasattr(release, "plan_")


def test_warnings_are_those_of_the_classifier_and_point_at_the_caller() -> None:
    said = []
    for estimator in (UniversalRelease(epsilon=0.02, entropy=0), PrivateClassifier(0.02, entropy=0)):
        with pytest.warns() as caught:
            estimator.fit(FRAME[:1_500], Y[:1_500])
        assert {each.filename for each in caught} == {__file__}
        said.append([(each.category, str(each.message)) for each in caught])
    assert said[0] == said[1]
    assert {category for category, _ in said[0]} == {NothingPublic, NothingLearned}


class TestAnswersAlone:
    """shows="answers": the classifier stays inside."""

    release = released(entropy=5, shows="answers").fit(FRAME, Y)

    def test_answers_and_guarantee_are_the_same(self) -> None:
        shown = released(entropy=5).fit(FRAME, Y)
        assert self.release.predict(FRAME).tolist() == shown.predict(FRAME).tolist()
        assert self.release.guarantee_ == shown.guarantee_
        assert self.release.answer(FRAME.iloc[[0]]).kind == "published"

    def test_the_classifier_is_not_shown(self) -> None:
        assert not self.release.is_published_
        assert not hasattr(self.release, "hypothesis_")
        for show in (lambda: self.release.hypothesis_, lambda: PublishedModel.from_learner(self.release)):
            with pytest.raises(
                AttributeError, match=r"does not show.*Ask it for answers, or fit a new release with shows="
            ):
                show()

    def test_votes_and_then_a_classifier_keep_it_inside_too(self) -> None:
        release = UniversalRelease(Stumps(), epsilon=8.0, queries=3, shows="answers", entropy=0)
        release.fit(NUMBERS, ABOVE).predict(NUMBERS[:5])
        assert release.answer(NUMBERS[9]).kind == "published"
        assert not release.is_published_
        with pytest.raises(AttributeError, match="does not show"):
            _ = release.hypothesis_


def test_there_is_nothing_to_transfer() -> None:
    """The classifier is there already, and its answers are in no transcript."""
    release = released(entropy=0).fit(FRAME, Y)
    release.predict(FRAME[:20])
    points, labels = release.answered()
    assert (len(points), len(labels)) == (0, 0)
    with pytest.raises(DataError, match="no answer with a label"):
        pcqr.transfer(release, DummyClassifier())
