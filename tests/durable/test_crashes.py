"""Killed at every point of the order of writes: nothing that was told is lost, nothing is decided or counted twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.kept import HARD, QUERIES, fitted, in_a_fork, kept, reopened
from support.ledgers import new_folder

from pcqr import BudgetExhausted, CopyCannotAnswer
from pcqr.durable.directory import FACTS, SECRET, UNFINISHED, dry_run_release, find
from pcqr.durable.ledger.store import CREATION, TURN
from pcqr.errors import LedgerError, LedgerRolledBack, ReleaseError, UnfinishedSave
from pcqr.server.service import Place

MIXED = np.concatenate([QUERIES[:6], HARD[:6]])


def answered(release: Any, rows: Any) -> list[tuple[str, int | None]]:
    """What the log says about the rows, one after the other; the release may halt in between."""
    found: list[tuple[str, int | None]] = []
    for x in rows:
        try:
            answer = release.answer(x)
        except BudgetExhausted:
            break
        found.append((answer.kind, answer.label))
    return found


@pytest.mark.parametrize("point", TURN)
@pytest.mark.parametrize("name", ["agnostic", "noisy max"])
def test_a_batch_that_is_killed_is_there_as_a_whole_or_not_at_all(name: str, point: str, tmp_path: Path) -> None:
    kept(tmp_path, name)

    def ask() -> None:
        release = reopened(tmp_path)
        release.predict(QUERIES[:2])
        release.predict(QUERIES[2:9])

    assert in_a_fork(ask, killed_at=point, time=2) == -signal.SIGKILL
    release = reopened(tmp_path)
    is_there = TURN.index(point) >= TURN.index("committed")
    assert release.queries_answered_ == (9 if is_there else 2)
    kinds = [kind for kind, _ in answered(release, QUERIES[2:9])]
    assert set(kinds) == {"repeated"} if is_there else "repeated" not in kinds
    assert release.queries_answered_ == 9
    release.close()


@pytest.mark.parametrize("point", ["secret written", *CREATION, "facts written", *TURN, "release recorded"])
def test_a_save_that_is_killed_is_whole_or_refused(point: str, tmp_path: Path) -> None:
    release = fitted()
    labels = release.predict(QUERIES[:3]).tolist()

    def save() -> None:
        twin = fitted()
        twin.predict(QUERIES[:3])
        twin.save(tmp_path / "release", anchor=tmp_path / "anchor")

    assert in_a_fork(save, killed_at=point) == -signal.SIGKILL
    if point in (*TURN[2:], "release recorded"):
        again = reopened(tmp_path)
        assert again.predict(QUERIES[:3]).tolist() == labels
        again.close()
        assert not (tmp_path / "release" / UNFINISHED).exists()
        with pytest.raises(ReleaseError, match="there is a release already"):
            release.save(tmp_path / "release", anchor=tmp_path / "anchor")
    else:
        with pytest.raises((ReleaseError, LedgerError)):
            reopened(tmp_path)
        assert_the_next_save_cleans_up(release, tmp_path)


def assert_the_next_save_cleans_up(release: Any, folder: Path, **where: Any) -> None:
    """What a killed save has left is told by status, with the secret in it, and removed by the next save."""
    where = {"anchor": folder / "anchor"} | where
    secrets = [path.read_bytes() for path in folder.rglob(SECRET)]
    assert len(secrets) == 1
    with pytest.raises(ReleaseError, match=r"was not finished.*secret\.pcqr there may hold private records.*again"):
        find(folder / "release", **where, read_only=True)
    with pytest.warns(UnfinishedSave, match=r"secret\.pcqr among them"):
        dry_run_release(folder / "release", **where)
    assert not list(folder.rglob("*secret*"))
    assert not [path for path in (folder, folder / "release") if list(path.glob(".*"))]
    release.save(folder / "release", **where)
    assert release.answer(QUERIES[0]).kind == "repeated"
    assert sorted(path.name for path in folder.rglob(SECRET)) == [SECRET]
    assert not list(folder.rglob(UNFINISHED))
    release.close()


@pytest.mark.parametrize(
    ("where", "point"),
    [
        ("a file", "draft made"),
        ("a file", "anchor made"),
        ("a file", "facts written"),
        ("PostgreSQL", "anchor made"),
        ("PostgreSQL", "ledger placed"),
        ("PostgreSQL", "entries written"),
    ],
)
def test_a_save_with_its_ledger_elsewhere_that_is_killed_is_cleaned_up(
    where: str, point: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    release = fitted()
    release.predict(QUERIES[:3])
    ledger = request.getfixturevalue("tables").place() if where == "PostgreSQL" else str(tmp_path / "log [1].sqlite")
    at = {"anchor": tmp_path / "anchor", "ledger": ledger}
    assert in_a_fork(lambda: fitted().save(tmp_path / "release", **at), killed_at=point) == -signal.SIGKILL
    assert_the_next_save_cleans_up(release, tmp_path, ledger=ledger)


def test_cleaning_up_leaves_what_others_have_beside_the_ledger(tmp_path: Path) -> None:
    where: dict[str, Any] = {"anchor": tmp_path / "anchor", "ledger": str(tmp_path / "log")}
    mine, draft = tmp_path / ".log.somebody", tmp_path / ".log.12345678"
    for folder, name in ((mine, "thesis"), (draft, "log-wal")):
        folder.mkdir()
        (folder / name).write_text("words")
    code = in_a_fork(lambda: fitted().save(tmp_path / "release", **where), killed_at="secret written")
    assert code == -signal.SIGKILL
    with pytest.warns(UnfinishedSave):
        dry_run_release(tmp_path / "release", **where)
    assert (mine / "thesis").read_text() == "words"
    assert not draft.exists()


def test_a_save_that_is_killed_while_it_writes_the_secret_is_cleaned_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = fitted("universal")
    release.predict(QUERIES[:3])
    replace = Path.replace

    def kill(self: Path, target: Path) -> Path:
        if self.name == SECRET:
            os.kill(os.getpid(), signal.SIGKILL)
        return replace(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", kill)
        code = in_a_fork(lambda: fitted("universal").save(tmp_path / "release", anchor=tmp_path / "anchor"))
    assert code == -signal.SIGKILL
    assert_the_next_save_cleans_up(release, tmp_path)


def test_what_is_not_surely_a_broken_save_is_left_alone(tmp_path: Path) -> None:
    """Without the mark it may be a release whose release.json was lost; a mark of another kind says nothing."""
    path, release = kept(tmp_path), fitted()
    (path / FACTS).unlink()
    for mark in (None, "{}", "no JSON"):
        if mark is not None:
            (path / UNFINISHED).write_text(mark)
        for refused in (lambda: dry_run_release(path), lambda: release.save(path)):
            with pytest.raises(ReleaseError, match=r"secret\.pcqr there may hold private records"):
                refused()
        assert (path / SECRET).exists()
    with pytest.raises(ReleaseError, match=r"secret\.pcqr there may hold private records"):
        reopened(tmp_path)
    with pytest.raises(ReleaseError):
        Place("ages", path).open()


def test_a_mark_beside_a_whole_release_does_not_have_it_removed(tmp_path: Path) -> None:
    path = kept(tmp_path)
    marked = {"ledger": None, "anchor": str(tmp_path / "anchor")}
    (path / UNFINISHED).write_text(json.dumps(marked))
    with pytest.raises(ReleaseError, match="there is a release already"):
        dry_run_release(path, anchor=tmp_path / "anchor")
    (tmp_path / "anchor").rename(tmp_path / "moved")
    with pytest.raises(ReleaseError, match="there is a release already"):  # which of both it is cannot be read
        dry_run_release(path, anchor=tmp_path / "anchor")
    (tmp_path / "moved").rename(tmp_path / "anchor")
    reopened(tmp_path).close()
    assert not (path / UNFINISHED).exists()


@pytest.mark.parametrize("point", [*TURN, "published"])
def test_a_publication_that_is_killed_is_drawn_once_for_all_to_see(point: str, tmp_path: Path) -> None:
    path = kept(tmp_path, "universal")
    after = reopened(tmp_path, read_only=True).plan_.publish.after_queries

    def ask() -> None:
        reopened(tmp_path).predict(QUERIES[:after])

    occurrence = 1 if point == "published" else 2  # the first turn votes
    assert in_a_fork(ask, killed_at=point, time=occurrence) == -signal.SIGKILL
    release = reopened(tmp_path)
    is_out = point == "published" or TURN.index(point) >= TURN.index("committed")
    assert release.is_published_ == is_out
    assert (path / SECRET).exists() == (not is_out), "removed at the next opening, if not before"
    assert release.queries_answered_ == after
    hypothesis = release.hypothesis_ if is_out else None
    assert release.answer([0.5]).kind == "published"
    assert hypothesis in (None, release.hypothesis_)
    assert release.queries_answered_ == after
    assert not (path / SECRET).exists()
    release.close()


REPLY = struct.Struct("<db")


def _ask_for_ever(folder: Path, pipe: int, seed: int) -> None:
    release, rng = reopened(folder), np.random.default_rng(seed)
    while True:
        rows = rng.choice(np.concatenate([QUERIES, HARD]), size=4)
        for row, label in zip(rows, release.predict(rows), strict=True):
            os.write(pipe, REPLY.pack(row[0], int(label)))


def test_kills_at_random_instants_lose_nothing_that_was_told() -> None:
    folder = new_folder()
    kept(folder, "noisy max")
    outcome: dict[float, int] = {}
    spent = 0
    for seed in range(6):
        receive, send = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                _ask_for_ever(folder, send, seed)
            finally:
                os._exit(1)
        os.close(send)
        time.sleep(0.05 + 0.05 * seed)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with os.fdopen(receive, "rb") as replies:
            content = replies.read()
        for x, label in REPLY.iter_unpack(content[: len(content) // REPLY.size * REPLY.size]):
            assert outcome.setdefault(x, label) == label, "a retry gets the same answer"
        release = reopened(folder)
        assert release.queries_answered_ >= max(spent, len(outcome))
        spent = release.queries_answered_
        assert spent <= release.plan_.vote.queries
        for x, label in outcome.items():
            answer = release.answer([x])
            assert (answer.kind, answer.label) == ("repeated", label)
        release.close()
    shutil.rmtree(folder)


class Crashes(RuleBasedStateMachine):
    """Ask, retry, kill, restore and copy a universal release in any order. The oracle: what was told stays true."""

    template: Path

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=self.template.parent))
        shutil.copytree(self.template, self.folder, dirs_exist_ok=True)
        self.outcome: dict[float, Any] = {}
        self.unstable, self.asked, self.published = 0, 0, None
        self.release = reopened(self.folder)
        self.older: Path | None = None

    @rule(x=st.sampled_from([0.1, 0.2, 0.399, 0.4, 0.401, 0.7, 0.8, 0.9]))
    def ask(self, x: float) -> None:
        answer = self.release.answer([x])
        if answer.kind == "published":
            assert self.release.is_published_
            return
        assert (answer.kind == "repeated") == (x in self.outcome)
        assert self.outcome.setdefault(x, answer.label) == answer.label

    @rule(x=st.sampled_from([0.15, 0.3995, 0.4005, 0.85]), point=st.sampled_from(TURN))
    def kill(self, x: float, point: str) -> None:
        self.release.close()
        in_a_fork(lambda: reopened(self.folder).answer([x]), killed_at=point)
        self.release = reopened(self.folder)
        entry = self.release._votes.logged(np.array([[x]]))
        if entry is not None:
            label = None if entry.label is None else int(self.release.classes_[entry.label])
            assert self.outcome.setdefault(x, label) == label

    @rule()
    def reopen(self) -> None:
        self.release.close()
        self.release = reopened(self.folder)

    @rule()
    def copy(self) -> None:
        self.release.close()
        self.older = Path(tempfile.mkdtemp(dir=self.template.parent))
        shutil.copytree(self.folder / "release", self.older / "release")
        self.copied_at = self.asked, self.published is not None
        self.release = reopened(self.folder)

    @precondition(lambda self: self.older is not None)
    @rule()
    def restore(self) -> None:
        assert self.older is not None
        self.release.close()
        shutil.move(self.folder / "release", self.folder / "newest")
        shutil.copytree(self.older / "release", self.folder / "release")
        was_older = (self.asked, self.published is not None) != self.copied_at
        try:
            reopened(self.folder).close()
            assert not was_older, "an older copy was taken"
        except LedgerRolledBack:
            assert was_older
        shutil.rmtree(self.folder / "release")
        shutil.move(self.folder / "newest", self.folder / "release")
        self.release = reopened(self.folder)

    @rule()
    def fork(self) -> None:
        def ask() -> None:
            try:
                assert self.release.answer([0.123]).kind == "published"
            except CopyCannotAnswer:
                assert not self.release.is_published_

        assert in_a_fork(ask) == 0

    @invariant()
    def nothing_goes_back(self) -> None:
        release = self.release
        assert release.queries_answered_ >= self.asked
        assert release.unstable_answers_ >= self.unstable
        assert release.queries_answered_ == len(self.outcome)
        assert release.unstable_answers_ == sum(label is None for label in self.outcome.values())
        assert release.unstable_answers_ <= release.plan_.vote.sparse_vector.unstable
        assert release.queries_answered_ <= release.plan_.publish.after_queries
        self.asked, self.unstable = release.queries_answered_, release.unstable_answers_
        if release.is_published_:
            assert self.published in (None, release.hypothesis_)
            self.published = release.hypothesis_

    def teardown(self) -> None:
        if hasattr(self, "release"):
            self.release.close()


def test_a_kept_release_against_an_oracle() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    base = new_folder()
    Crashes.template = base / "template"
    Crashes.template.mkdir()
    kept(Crashes.template, "universal", publish_share=0.5, unstable=3)
    try:
        run_state_machine_as_test(Crashes, settings=settings(max_examples=8, stateful_step_count=12))
    finally:
        shutil.rmtree(base)
