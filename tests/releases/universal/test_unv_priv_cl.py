"""Publication happens once, whoever asks: locks, and the moment at which it is due."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pcqr.data.records import InMemory, Records
from pcqr.hypotheses import Thresholds
from pcqr.hypotheses.base import Labels, Points
from pcqr.hypotheses.thresholds import Threshold
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Asked
from pcqr.releases.protocol.online import Lock
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.universal import run as unv_priv_cl
from pcqr.releases.universal.run import UnvPrivCl


def release(after: int = 2, unstable: int = 5, public: Points | None = None) -> UnvPrivCl:
    X = np.linspace(0.0, 1.0, 400)[:, None]
    y = (X[:, 0] > 0.5).astype(np.int8)
    vector = OneSidedSparseVector(threshold=3, threshold_scale=0.5, query_scale=0.5, unstable=unstable)
    vote = VoteStage(400, 300, 41, 5.0, vector, public=None if public is None else public.shape[0])
    publish = DrawStage(5.0, after_queries=after)
    return unv_priv_cl.unv_priv_cl(Thresholds(), InMemory(X, y), public, vote, publish, SeededEntropy(0))


def point(value: float) -> Points:
    return np.array([[value]])


def run_in_thread(act: Callable[[], object]) -> None:
    """What `act` raises there is raised here."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(act).result(60.0)


class Held(Exception):
    """A thread would have to wait."""


class Impatient(Lock):  # type: ignore[misc]  # final to typeshed alone
    """Raises where another thread has it: who must wait is told at once, and no test has to guess by the clock."""

    def __enter__(self) -> bool:  # type: ignore[override]
        if not self.acquire(blocking=False):
            raise Held
        return True


def impatient(universal: UnvPrivCl) -> UnvPrivCl:
    """With locks for which nobody waits, one of the release and one of its votes."""
    for asked in (universal, universal.protocol):
        asked._lock = Impatient()
    return universal


class Step:
    """A step in which the first thread that takes it stays until `leave`; `taken` counts."""

    def __init__(self, outcome: object) -> None:
        self.inside, self.leave, self.taken = threading.Event(), threading.Event(), 0
        self._outcome = outcome

    def __call__(self, *_: object) -> object:
        self.taken += 1
        if self.taken == 1:
            self.inside.set()
            assert self.leave.wait(60.0)
        return self._outcome

    @contextmanager
    def held_by(self, act: Callable[[], object]) -> Iterator[None]:
        """A thread is inside while this block lasts, and has ended after it."""
        thread = threading.Thread(target=act)
        thread.start()
        try:
            assert self.inside.wait(60.0)
            yield
        finally:
            self.leave.set()
            thread.join(60.0)
        assert not thread.is_alive()


def test_while_a_thread_publishes_nobody_else_gets_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second draw would be a second release that nobody has paid for."""
    universal, draw = impatient(release(after=1)), Step(Threshold(0.5))
    monkeypatch.setattr(unv_priv_cl, "sspp", draw)
    with draw.held_by(lambda: universal.answer(point(0.9))):
        for act in (universal.answer, universal.preview):
            with pytest.raises(Held):
                act(point(0.1))
        assert universal.published is None
    assert draw.taken == 1
    assert universal.answer(point(0.1)).kind == "published"
    assert universal.protocol.asked == 1


@pytest.mark.parametrize("whole", [True, False], ids=["universal", "votes"])
def test_while_a_thread_decides_nobody_else_gets_in(whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both could else be the last unstable answer; and what is spent and left must be of one moment."""
    universal, decide = impatient(release(after=9, unstable=1)), Step(1)
    votes = universal.protocol
    monkeypatch.setattr(votes.labeller, "decide", decide)
    with decide.held_by(lambda: (universal if whole else votes).answer(point(0.9))):
        acts: list[Callable[[], object]] = [
            votes.now,
            lambda: votes.preview(point(0.8)),
            lambda: votes.answer(point(0.8)),
            lambda: votes.ask_together([Asked(point(0.8))]),
            lambda: universal.answer(point(0.8)),
        ]
        for act in acts:
            with pytest.raises(Held):
                act()
    assert (decide.taken, votes.asked) == (1, 1)
    universal.answer(point(0.8))
    assert (decide.taken, votes.asked) == (2, 2)


def test_a_query_in_the_middle_of_publication_draws_no_second_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler runs in the thread that holds the lock."""
    universal, drawn = release(after=1), []

    def interrupted_sspp(*_: object) -> Threshold:
        drawn.append(1)
        if len(drawn) == 1:
            with pytest.raises(RuntimeError, match="in the middle"):
                universal.answer(point(0.1))
        return Threshold(0.5)

    monkeypatch.setattr(unv_priv_cl, "sspp", interrupted_sspp)
    assert universal.answer(point(0.9)).kind == "stable"
    assert universal.answer(point(0.1)).kind == "published"
    assert len(drawn) == 1


@pytest.mark.parametrize("copied", [False, True])
def test_a_lock_lets_its_owner_in_again_and_nobody_else(copied: bool) -> None:
    lock = copy.deepcopy(Lock()) if copied else Lock()
    entered: list[bool] = []

    def other() -> None:
        entered.append(lock.acquire(blocking=False))

    with lock:
        with lock:
            pass
        run_in_thread(other)
    run_in_thread(other)
    assert entered == [False, True]


def test_no_interruption_leaves_the_lock_held() -> None:
    """Signals are heard where a function of Python's begins: there must be none between the lock and its release."""
    for moment in range(4):
        lock, calls = Lock(), 0

        def interrupt(_frame: object, event: str, _argument: object) -> None:
            nonlocal calls
            calls += event == "call"
            if event == "call" and calls > moment:  # noqa: B023
                raise KeyboardInterrupt

        before = sys.getprofile()
        sys.setprofile(interrupt)
        try:
            with lock:
                pass
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(before)
        others = threading.Thread(target=lock.__enter__, daemon=True)
        others.start()
        others.join(10.0)
        assert not others.is_alive()


def test_a_copy_of_a_held_lock_is_free() -> None:
    lock = Lock()
    with lock:
        twin, entered = pickle.loads(pickle.dumps(lock)), threading.Event()  # noqa: S301

        def other() -> None:
            with twin:
                entered.set()

        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(10.0)
        thread.join(10.0)


def test_publication_is_due_after_the_planned_queries_and_uses_all_points(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = np.array([[0.2], [0.7]])
    seen: list[Points] = []
    genuine = sspp

    def watched(hypotheses: Thresholds, records: Records, public: Points, *rest: object) -> object:
        seen.append(public)
        assert (records.size, records.width) == (400, 1)
        return genuine(hypotheses, records, public, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(unv_priv_cl, "sspp", watched)
    universal = release(after=2, public=shown)
    shown[:] = -9.0  # the caller may reuse its arrays
    assert universal.answer(point(0.9)).kind == "stable"
    assert universal.answer(point(0.9)).kind == "repeated"
    assert not seen
    assert universal.answer(point(0.1)).kind == "stable"
    assert [table.tolist() for table in seen] == [[[0.2], [0.7], [0.9], [0.1]]]
    later = universal.answer(point(0.95))
    assert (later.kind, later.label, later.spent.queries) == ("published", 1, 2)
    assert universal._records is None, "the records are dropped"


def test_publication_comes_early_when_the_unstable_answers_are_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    universal = release(after=9, unstable=1)
    monkeypatch.setattr(universal.protocol.labeller, "counts", lambda X: np.full((X.shape[0], 2), 20))
    assert universal.answer(point(0.5)).kind == "unstable"
    assert universal.published is not None
    assert universal.answer(point(0.9)).kind == "published"


@pytest.mark.parametrize("act", ["answer", "preview"])
@pytest.mark.parametrize("whole", [True, False], ids=["universal", "votes"])
def test_what_reads_or_changes_the_spending_waits_for_the_lock(act: str, whole: bool) -> None:
    universal = impatient(release())
    asked = universal if whole else universal.protocol
    with asked._lock, pytest.raises(Held):
        run_in_thread(lambda: getattr(asked, act)(point(0.9)))
    assert asked.preview(point(0.9)).new == 1
    getattr(asked, act)(point(0.9))


def test_a_preview_tells_votes_from_published_answers() -> None:
    universal, table = release(after=2), np.array([[0.9], [0.9], [0.1], [0.3], [0.4]])
    before = universal.preview(table)
    assert (before.new, before.repeated, before.published, before.certain) == (2, 1, 2, 5)
    answers = list(universal.answers(table))
    assert [answer.kind for answer in answers] == ["stable", "repeated", "stable", "published", "published"]
    after = universal.preview(table)
    assert (after.new, after.repeated, after.published) == (0, 0, 5)


@pytest.mark.parametrize("asked_before", [0, 2])
def test_after_publication_the_rest_of_a_batch_is_predicted_at_once(
    asked_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    predicted: list[list[float]] = []

    class Watched(Threshold):
        def predict(self, X: ArrayLike) -> Labels:
            predicted.append(np.asarray(X)[:, 0].tolist())
            return super().predict(X)

    monkeypatch.setattr(unv_priv_cl, "sspp", lambda *_: Watched(0.5))
    universal, table = release(after=2), np.array([[0.9], [0.1], [0.9], [0.3], [0.8]])
    list(universal.answers(table[:asked_before]))
    answers = list(universal.answers(table))
    voted = 2 - asked_before
    assert predicted == [table[voted:, 0].tolist()]
    assert [answer.kind for answer in answers] == ["stable"] * voted + ["published"] * (5 - voted)
    assert [answer.label for answer in answers] == [1, 0, 1, 0, 1]
    assert all(answer.spent == Usage(2, 0) for answer in answers[voted:])
