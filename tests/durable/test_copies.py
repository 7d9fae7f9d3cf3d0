"""Copies, forks and readers of a release answer from its log, and hold no secret."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from pathlib import Path

import pytest
from support.kept import ESTIMATORS, QUERIES, fitted, in_a_fork, reopened

from pcqr import CopyCannotAnswer
from pcqr.errors import LedgerClosed, LedgerInUse


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_copies_in_memory_answer_from_their_log_and_hold_no_secret(name: str) -> None:
    release = fitted(name)
    labels = release.predict(QUERIES[:4])
    for twin in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release), copy.copy(release)):  # noqa: S301
        assert twin.predict(QUERIES[:4]).tolist() == labels.tolist()
        assert (twin.queries_answered_, twin._votes.remaining) == (4, release._votes.remaining)
        assert twin.preview(QUERIES[:5]).new == 1
        with pytest.raises(CopyCannotAnswer):
            twin.answer(QUERIES[5])
        with pytest.raises(CopyCannotAnswer):
            twin.save("nowhere")
        again = pickle.loads(pickle.dumps(twin))  # noqa: S301
        assert again.queries_answered_ == 4
    assert release.queries_answered_ == 4
    secret = release._votes.labeller.arrays()
    largest = max(secret.values(), key=lambda array: array.nbytes)
    assert largest.tobytes() not in pickle.dumps(release)
    assert release.answer(QUERIES[5]).kind in ("stable", "unstable"), "confident max refuses one query in six"
    assert release.queries_answered_ == 5


def test_copies_of_a_seeded_release_which_is_not_private_go_on_alike() -> None:
    """scikit-learn pickles an estimator, and then compares what both of them predict."""
    release = fitted(entropy=0)
    twin = pickle.loads(pickle.dumps(release))  # noqa: S301
    assert twin.predict(QUERIES).tolist() == release.predict(QUERIES).tolist()
    assert twin.queries_answered_ == len(QUERIES)


@pytest.mark.parametrize("is_kept", [False, True], ids=["in memory", "kept"])
@pytest.mark.parametrize("name", ["agnostic", "universal"])
def test_a_forked_release_answers_from_its_log(name: str, is_kept: bool, tmp_path: Path) -> None:
    release = fitted(name)
    release.predict(QUERIES[:3])
    if is_kept:
        release.save(tmp_path / "release", anchor=tmp_path / "anchor")

    def ask() -> None:
        assert release.answer(QUERIES[2]).kind == "repeated"
        with pytest.raises(CopyCannotAnswer):
            release.answer(QUERIES[7])
        assert release.queries_answered_ == 3

    held = threading.Event(), threading.Event()

    def hold() -> None:
        with release._protocol.guarded(), release._votes.guarded():
            held[0].set()
            held[1].wait(20.0)

    thread = threading.Thread(target=hold)  # a fork must not wait for a thread that it has not
    thread.start()
    held[0].wait(20.0)
    try:
        assert in_a_fork(ask) == 0
    finally:
        held[1].set()
        thread.join()
    assert release.answer(QUERIES[7]).kind == "stable"
    release.close()


@pytest.mark.parametrize("is_kept", [False, True], ids=["in memory", "kept"])
def test_a_forked_release_decides_nothing_where_the_system_gives_it_the_process_id_of_its_owner(
    is_kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a grandchild may get it, once the process that made the release has ended."""
    release = fitted()
    release.predict(QUERIES[:3])
    if is_kept:
        release.save(tmp_path / "release", anchor=tmp_path / "anchor")
    owner = os.getpid()
    monkeypatch.setattr("os.getpid", lambda: owner)

    def ask() -> None:
        assert not release._votes.log.is_original
        assert release.answer(QUERIES[2]).kind == "repeated"
        for x in QUERIES[3:]:
            with pytest.raises(CopyCannotAnswer):
                release.answer(x)

    assert in_a_fork(ask) == 0
    assert in_a_fork(lambda: in_a_fork(ask) and os._exit(2)) == 0
    assert release.answer(QUERIES[7]).kind == "stable"
    release.close()


def test_copies_and_readers_of_a_kept_release_answer_from_the_ledger(tmp_path: Path) -> None:
    release = fitted().save(tmp_path / "release", anchor=tmp_path / "anchor")
    labels = release.predict(QUERIES[:4]).tolist()
    reader = reopened(tmp_path, read_only=True)
    for twin in (reader, copy.deepcopy(release), pickle.loads(pickle.dumps(release)), copy.copy(release)):  # noqa: S301
        assert twin.predict(QUERIES[:4]).tolist() == labels
        with pytest.raises(CopyCannotAnswer):
            twin.predict(QUERIES[:5])
    assert release.answer(QUERIES[4]).kind == "stable"
    assert reader.queries_answered_ == 4, "a reader shows one moment"
    reader.close()
    with pytest.raises(LedgerInUse):
        reopened(tmp_path)
    release.close()
    with pytest.raises(LedgerClosed):
        release.answer(QUERIES[5])
