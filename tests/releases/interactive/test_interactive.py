"""Interactive answers: when the teachers speak, when the student does, what is charged, and what the student sees."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Perceptron

from pcqr import BudgetExhausted, ConfidentMaxAggregate, InteractiveMaxAggregate, ParameterError, transfer
from pcqr.audit.exact.cases.peers import Polled
from pcqr.data.records import InMemory
from pcqr.hypotheses import Thresholds
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.confident import plan as mechanism
from pcqr.releases.confident.plan import ConfidentMax, ConfidentMaxStage
from pcqr.releases.interactive.plan import InteractiveMaxPlan, PupilStage
from pcqr.releases.interactive.run import InteractiveVotes, interactive_max, interactive_max_guarantee
from pcqr.releases.protocol.answers import Usage

X = np.random.default_rng(0).uniform(0.0, 10.0, size=(5_000, 1))
Y = (X[:, 0] > 6.0).astype(np.int64)
GRID = 4
NOISE = ConfidentMax(8, 1.0, 1.0, grid=GRID)


class Taught(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A student that notes its lessons, and expects label 0 with a chance of .9, or of what it is told."""

    lessons: list[tuple[list[float], list[int]]]

    def __init__(self, sure: float = 0.9, lessons: Any = None) -> None:
        self.sure, self.lessons = sure, lessons

    def __sklearn_clone__(self) -> Taught:
        return self

    def fit(self, points: NDArray[Any], labels: NDArray[Any]) -> Taught:
        self.classes_ = np.unique(labels)
        if self.lessons is not None:
            self.lessons.append((points[:, 0].tolist(), labels.tolist()))
        return self

    def predict_proba(self, points: NDArray[Any]) -> NDArray[np.float64]:
        return np.tile([self.sure, 1.0 - self.sure], (len(points), 1))


def labeller(
    polls: list[tuple[int, int]], learner: Any, *, asked: int = 9, answered: int = 5, lead: int = 5, refresh: int = 2
) -> InteractiveVotes:
    """Ten teachers with these votes on the queries 0, 1, …"""
    plan = ConfidentMaxStage(10, 10, asked, answered, NOISE)
    return InteractiveVotes(Polled(polls), plan, PupilStage(lead, 0.9, refresh), learner, SeededEntropy(0))


def ask(votes: InteractiveVotes, *queries: float) -> list[int | None]:
    return [votes.decide(ballot) for ballot in votes.counts(np.array([[query] for query in queries]))]


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Noise of 0, or of what is put here for checks."""
    check = [0]
    monkeypatch.setattr(mechanism, "discrete_gaussian", lambda *_: check[0])
    monkeypatch.setattr(mechanism, "discrete_gaussians", lambda _, size, __: np.zeros(size, dtype=np.int64))
    return check


@pytest.mark.usefixtures("silent")
def test_teachers_first_then_the_student_where_it_is_right() -> None:
    votes = labeller([(10, 0), (0, 10), (9, 1), (3, 7), (7, 3)], Taught(0.9))
    assert ask(votes, 0, 4, 1) == [0, None, 1], "without a student: where ten teachers have eight votes"
    assert votes.remaining == Usage(6, None, 3)
    assert ask(votes, 2) == [0], "nine votes, nine expected: the student's own label, at the price of a check"
    assert votes.remaining == Usage(5, None, 3)
    assert ask(votes, 3) == [1], "seven votes, one expected: a lead of six, so the teachers speak"
    assert votes.remaining == Usage(4, None, 2)
    unsure = labeller([(10, 0), (0, 10), (8, 2)], Taught(0.85))
    assert ask(unsure, 0, 1, 2) == [0, 1, None], "right, but not sure enough"
    assert unsure.remaining == Usage(6, None, 3)


@pytest.mark.parametrize("ones", range(11))
def test_the_check_is_of_the_largest_lead_for_every_value_of_its_noise(ones: int, silent: list[int]) -> None:
    for noise in range(-40, 41):
        votes = labeller([(10, 0), (0, 10), (10 - ones, ones)], Taught(0.9))
        silent[0] = 0
        assert ask(votes, 0, 1) == [0, 1]
        silent[0] = noise
        ahead = max(GRID * (10 - ones) - 36, GRID * ones - 4)
        said = (0 if ones <= 5 else 1) if ahead + noise >= 5 * GRID else 0
        assert ask(votes, 2) == [said]
        assert votes.remaining == Usage(6, None, 2 if ahead + noise >= 5 * GRID else 3)


@pytest.mark.usefixtures("silent")
def test_the_student_sees_the_answers_alone_and_is_trained_anew_when_there_are_enough() -> None:
    lessons: list[Any] = []
    polls = [(10, 0), (5, 5), (0, 10), (9, 1), (10, 0), (4, 6)]
    votes = labeller(polls, Taught(0.9, lessons), lead=4)
    assert ask(votes, 0, 1, 2, 3, 4, 5) == [0, None, 1, 0, 0, 1]
    assert lessons == [([0.0, 2.0], [0, 1]), ([0.0, 2.0, 3.0, 4.0], [0, 1, 0, 0])], "no ⊥, its own labels included"


@pytest.mark.usefixtures("silent")
def test_one_label_alone_teaches_nothing() -> None:
    lessons: list[Any] = []
    votes = labeller([(10, 0), (9, 1), (0, 10)], Taught(0.9, lessons))
    assert ask(votes, 0, 1, 2, 0) == [0, 0, 1, 0]
    assert lessons == []
    assert ask(votes, 0) == [0]
    assert len(lessons) == 1


@pytest.mark.usefixtures("silent")
def test_a_student_that_cannot_speak_of_a_query_is_not_heard() -> None:
    class Silent(Taught):
        def predict_proba(self, _: object) -> NDArray[np.float64]:
            raise ZeroDivisionError

    votes = labeller([(10, 0), (0, 10)], Silent())
    ask(votes, 0, 1)
    before = votes.remaining
    assert ask(votes, 0, 1) == [0, 1], "as the teachers say, who are paid for it"
    assert (before.queries or 0) - (votes.remaining.queries or 0) == 2


@pytest.mark.usefixtures("silent")
def test_a_query_that_no_student_can_be_taught_does_not_stop_a_release() -> None:
    """Whoever asks it would make what is paid for useless to everybody."""
    fits = []

    class Picky(Taught):
        def fit(self, points: NDArray[Any], labels: NDArray[Any]) -> Taught:
            fits.append(len(points))
            if len(points) > 2:
                raise ValueError("Input X contains NaN.")
            return super().fit(points, labels)

    votes = labeller([(10, 0), (0, 10), (10, 0)], Picky(), lead=20)
    answers = [answer for query in (0, 1, 2, 0, 1, 2) for answer in ask(votes, query)]
    assert answers.count(None) == 0
    assert fits == [2, 4], "each lesson once; the last student that could be trained stays"


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("sure", [float("nan"), float("inf"), -5.0, 1e300])
def test_whatever_a_student_says_is_a_probability(sure: float) -> None:
    votes = labeller([(10, 0), (0, 10)], Taught(sure))
    assert all(label in (0, 1, None) for label in ask(votes, 0, 1, 0, 1))


@pytest.mark.usefixtures("silent")
def test_it_halts_when_checks_or_labels_are_used_up() -> None:
    votes = labeller([(10, 0), (0, 10), (9, 1)], Taught(0.9), asked=4, answered=4)
    ask(votes, 0, 1, 2, 2)
    assert votes.remaining == Usage(0, None, 2)
    with pytest.raises(RuntimeError, match="paid for"):
        ask(votes, 2)
    few = labeller([(10, 0), (0, 10)], Taught(0.9), answered=2)
    ask(few, 0, 1)
    with pytest.raises(RuntimeError, match="paid for"):
        ask(few, 0)


def test_a_plan_for_another_table_is_refused() -> None:
    plan, records = ConfidentMaxStage(299, 31, 4, 2, NOISE), InMemory(np.zeros((300, 1)), np.zeros(300, dtype=np.int8))
    with pytest.raises(ParameterError, match="300 records"):
        interactive_max(Thresholds(), records, plan, PupilStage(20, 0.9, 5), Taught(), SeededEntropy(0))


def release(**given: Any) -> InteractiveMaxAggregate:
    usual = {"epsilon": 4.0, "queries": 200, "teachers": 299, "refresh": 10, "entropy": 0}
    return InteractiveMaxAggregate(Thresholds(), **(usual | given)).fit(X, Y)


def test_a_release_answers_more_than_it_pays_labels_for() -> None:
    online = release()
    queries = np.random.default_rng(1).uniform(0.0, 10.0, size=(200, 1))
    said = online.predict(queries)
    assert (said == (queries[:, 0] > 6.0)).mean() > 0.8
    given = online.queries_answered_ - online.unstable_answers_
    assert given > online.plan_.vote.answered - online.labels_remaining_ + 20
    assert transfer(online, LogisticRegression()).n_queries_used_ == given
    with pytest.raises(BudgetExhausted):
        online.answer([3.3])
    assert online.answer(queries[0]).kind == "repeated"


def test_it_costs_what_confident_answers_cost() -> None:
    online = release()
    confident = ConfidentMaxAggregate(Thresholds(), epsilon=4.0, queries=200, teachers=299, entropy=0).fit(X, Y)
    assert online.plan_.vote == confident.plan_.vote
    assert (online.guarantee_.epsilon, online.guarantee_.delta) == (
        confident.guarantee_.epsilon,
        confident.guarantee_.delta,
    )
    assert online.guarantee_.proof == "interactive"
    assert any("student's learner" in each for each in online.guarantee_.assumptions)
    assert interactive_max_guarantee(online.plan_.vote, 1e-6).epsilon == confident.guarantee_.epsilon
    assert isinstance(online.plan_, InteractiveMaxPlan)
    assert online.plan_.pupil == PupilStage(210, 0.9, 10)


def test_what_is_refused(tmp_path: Path) -> None:
    for given, message in (
        ({"student": Perceptron()}, "predict_proba"),
        ({"student": "yes"}, "student"),
        ({"lead": -1}, "lead"),
        ({"confidence": 0.0}, "confidence"),
        ({"confidence": 1.5}, "confidence"),
        ({"refresh": 0}, "refresh"),
        ({"most_labels": 201}, "most_labels"),
    ):
        with pytest.raises(ParameterError, match=message):
            release(**given)
    online = release()
    with pytest.raises(ParameterError, match="can be saved"):
        online.save(tmp_path / "kept")
    with pytest.raises(ParameterError, match="ConfidentMaxAggregate"):
        online.data_dependent_epsilon()


def test_a_copy_holds_no_student_and_no_teacher() -> None:
    online = release(entropy=None)
    online.predict(X[:60])
    copy = pickle.loads(pickle.dumps(online))  # noqa: S301
    assert copy.answer(X[0]).kind == "repeated"
    assert not isinstance(copy._protocol.labeller, InteractiveVotes)


def test_a_preview_expects_nothing_that_is_said_of_other_answers() -> None:
    """The model of confident answers knows no student, which answers where the teachers do not."""
    release = InteractiveMaxAggregate(Thresholds(), epsilon=4.0, queries=60, teachers=299, entropy=0)
    assert release.plan(4_000, 1).prediction is None
    X = np.linspace(0.0, 1.0, 4_000)[:, None]
    told = str(release.fit(X, (X[:, 0] > 0.5).astype(int)).preview([[0.1], [0.2]]))
    assert "expects" not in told
    assert "2 new queries" in told
