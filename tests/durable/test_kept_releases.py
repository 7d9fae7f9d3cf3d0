"""A release in a directory is the same estimator, in this process and in the next."""

from __future__ import annotations

import copy
import json
import os
import resource
import shutil
import signal
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kept import ESTIMATORS, HARD, QUERIES, fitted, in_a_fork, kept, reopened, table
from support.releases import Forbidden

import pcqr
from pcqr import BudgetExhausted, CopyCannotAnswer, ParameterError, Schema
from pcqr.data.schema import Column
from pcqr.durable.directory import FACTS, LEDGER, SECRET
from pcqr.durable.ledger.store import watched
from pcqr.errors import (
    AnchorMissing,
    FittedAgain,
    LedgerClosed,
    LedgerInUse,
    LedgerRolledBack,
    LedgerUnwritable,
    NotALedger,
    ReleaseError,
    SecretError,
)
from pcqr.hypotheses import DecisionTrees, Finite, HypothesisClass, Stumps, Thresholds, UnionsOfIntervals
from pcqr.hypotheses.thresholds import Threshold
from pcqr.privacy.entropy import Entropy
from pcqr.releases.subsample.run import StableVotes

NAMES = list(ESTIMATORS)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_release_goes_on_and_is_found_again(name: str, tmp_path: Path) -> None:
    release = fitted(name)
    before = release.predict(QUERIES[:5])
    assert release.save(tmp_path / "release", anchor=tmp_path / "anchor") is release
    later = release.predict(QUERIES[5:12])
    spent, remaining = release.queries_answered_, release._votes.remaining
    assert spent == 12
    release.close()
    again = reopened(tmp_path)
    assert type(again) is type(release)
    assert again.get_params() == release.get_params()
    assert again.plan_ == release.plan_
    assert again.guarantee_ == release.guarantee_
    assert again.hypotheses_ == release.hypotheses_
    assert (again.n_records_, again.n_features_in_) == (release.n_records_, release.n_features_in_)
    assert (again.queries_answered_, again._votes.remaining) == (spent, remaining)
    assert again.predict(QUERIES[:12]).tolist() == [*before, *later]
    assert {again.answer(x).kind for x in QUERIES[:12]} == {"repeated"}
    assert again.queries_answered_ == spent
    assert again.answer(QUERIES[12]).spent.queries == spent + 1
    again.close()


@pytest.mark.parametrize("name", NAMES)
def test_the_counts_of_a_kept_release_are_those_of_one_in_memory(name: str, tmp_path: Path) -> None:
    """Whatever the answers are, halting and publication follow from them."""
    release = fitted(name).save(tmp_path / "release", anchor=tmp_path / "anchor")
    T, m = release.plan_.remaining.unstable, release.plan_.remaining.queries
    unstable = asked = 0
    for x in np.concatenate([HARD, QUERIES, np.linspace(0.3, 0.5, 200)[:, None]]):
        try:
            answer = release.answer(x)
        except BudgetExhausted:
            assert unstable == T or asked == m
            break
        if answer.kind == "published":
            assert unstable == T or asked == release.plan_.publish.after_queries
            break
        asked, unstable = asked + (answer.kind != "repeated"), unstable + (answer.kind == "unstable")
        assert (answer.spent.queries, answer.spent.unstable) == (asked, unstable)
    assert (release.queries_answered_, release.unstable_answers_) == (asked, unstable)
    release.close()


def test_a_universal_release_publishes_once_and_forgets_its_secret(tmp_path: Path) -> None:
    path = kept(tmp_path, "universal")
    release = reopened(tmp_path)
    assert (path / SECRET).exists()
    release.predict(QUERIES)
    assert release.is_published_
    assert not (path / SECRET).exists()
    hypothesis = release.hypothesis_
    release.close()
    again = reopened(tmp_path)
    assert again.hypothesis_ == hypothesis
    assert again.answer([0.123]).kind == "published"
    again.close()
    with pytest.raises(ReleaseError, match="there is a release already"):
        fitted().save(path)


def test_a_release_that_has_published_can_be_saved_without_secrets(tmp_path: Path) -> None:
    release = fitted("universal")
    release.predict(QUERIES)
    hypothesis = release.hypothesis_
    release.save(tmp_path / "release", anchor=tmp_path / "anchor").close()
    assert not (tmp_path / "release" / SECRET).exists()
    again = reopened(tmp_path)
    assert again.hypothesis_ == hypothesis
    again.close()


@pytest.mark.parametrize(
    "hypotheses",
    [Stumps(cuts=((0.25, 0.5), (1.0,))), UnionsOfIntervals(2), DecisionTrees(depth=1)],
    ids=["stumps", "unions", "trees"],
)
def test_classes_and_schemas_come_back_as_they_were(hypotheses: HypothesisClass, tmp_path: Path) -> None:
    wide = not isinstance(hypotheses, UnionsOfIntervals)
    columns = (Column("age", bounds=(0.0, 1.0)), Column("job", "categorical", ["nurse", "cook"]))
    schema = Schema(columns if wide else columns[:1])
    X, y = table(4_000)
    data: dict[str, Any] = {"age": X[:, 0], "job": ["nurse", "cook"] * 2_000}
    if isinstance(hypotheses, Stumps):
        hypotheses = Stumps(cuts=((0.25, 0.5), (0.5,), (0.5,), (0.5,)))
    names = np.array(["well", "ill"])
    release = pcqr.UniversalRelease(hypotheses, epsilon=8.0, queries=10, classes=("well", "ill"))
    release.fit({name: data[name] for name in schema.names}, names[y], schema=schema)
    release.save(tmp_path / "release", anchor=tmp_path / "anchor").close()
    again = reopened(tmp_path)
    assert (again.hypotheses_, again.schema_) == (release.hypotheses_, schema)
    assert again.hypotheses == hypotheses
    queries = {"age": np.linspace(0.0, 1.0, 30), "job": ["cook"] * 30}
    assert set(again.predict({name: queries[name] for name in schema.names})) <= {"well", "ill"}
    assert again.is_published_, "from the records that were kept"
    again.close()


def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path: Path) -> None:
    X, y = table()
    for release in (
        pcqr.SubsampleAggregate(Finite([Threshold(0.4), Threshold(0.6)]), epsilon=8.0, queries=5).fit(X, y),
        pcqr.SubsampleAggregate(Thresholds(), epsilon=8.0, queries=5, entropy=_Own()).fit(X, y),
    ):
        with pytest.raises(ParameterError, match="for a release that is kept"):
            release.save(tmp_path / "release")
        assert not (tmp_path / "release").exists()
        assert release.answer([0.9]).kind == "stable"


class _Own(Entropy):
    is_private = True

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)


def test_the_files_of_a_release_are_for_their_owner(tmp_path: Path) -> None:
    path = kept(tmp_path)
    for name in (SECRET, LEDGER):
        assert stat.S_IMODE((path / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    facts = json.loads((path / FACTS).read_text())
    assert (facts["format"], facts["version"], facts["algorithm"]) == ("pcqr release", 1, "AgPrivCl")
    assert facts["plan"]["guarantee"]["epsilon"] <= 4.0


def edit_facts(path: Path, **changes: object) -> None:
    facts = json.loads((path / FACTS).read_text())
    (path / FACTS).write_text(json.dumps(facts | changes))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


REFUSALS: dict[str, tuple[Any, type[Exception], str]] = {
    "newer": (lambda path: edit_facts(path, version=2), ReleaseError, "another version"),
    "edited facts": (lambda path: edit_facts(path, records=7), ReleaseError, "not the one that its ledger knows"),
    "no facts": (lambda path: (path / FACTS).unlink(), ReleaseError, "it was lost.*Bring it back"),
    "no ledger": (lambda path: (path / LEDGER).unlink(), NotALedger, "does not exist. Bring back the newest copy"),
    "an empty ledger": (lambda path: (path / LEDGER).write_bytes(b""), NotALedger, "is empty.*Bring back the newest"),
    "half of the facts": (lambda path: (path / FACTS).write_bytes(b'{"format"'), ReleaseError, "damaged"),
    "facts in latin-1": (lambda path: (path / FACTS).write_bytes(b"\xe9" * 9), ReleaseError, "damaged"),
    "edited secret": (lambda path: flip(path / SECRET), SecretError, "edited"),
    "no secret": (lambda path: (path / SECRET).unlink(), SecretError, "missing"),
    "open secret": (lambda path: (path / SECRET).chmod(0o644), SecretError, "chmod 600"),
    "no anchor": (lambda path: (path.parent / "anchor").unlink(), AnchorMissing, "adopt"),
    "nothing": (shutil.rmtree, ReleaseError, "does not exist"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_what_does_not_belong_together_is_refused(what: str, tmp_path: Path) -> None:
    harm, error, words = REFUSALS[what]
    path = kept(tmp_path)
    harm(path)
    with pytest.raises(error, match=words):
        reopened(tmp_path)


def test_a_copy_and_its_original_do_not_both_go_on(tmp_path: Path) -> None:
    path = kept(tmp_path)
    original = reopened(tmp_path)
    shutil.copytree(path, tmp_path / "copy")
    with pytest.raises(LedgerInUse):
        pcqr.release.open(tmp_path / "copy", anchor=tmp_path / "anchor")
    original.close()
    twin = pcqr.release.open(tmp_path / "copy", anchor=tmp_path / "anchor")
    twin.answer(QUERIES[0])
    twin.close()
    for adopt in (False, True):
        with pytest.raises(LedgerRolledBack):
            reopened(tmp_path, adopt=adopt)


def test_a_disk_that_is_full_closes_the_release_and_loses_nothing_that_was_told(tmp_path: Path) -> None:
    kept(tmp_path, "noisy max")

    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        release = reopened(tmp_path)
        release.predict(QUERIES[:2])
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        with pytest.raises(LedgerUnwritable, match="disk is full"):
            [release.answer(x) for x in QUERIES[2:]]
        with pytest.raises(LedgerClosed):
            release.answer(QUERIES[0])

    assert in_a_fork(fill) == 0
    release = reopened(tmp_path)
    assert {release.answer(x).kind for x in QUERIES[:2]} == {"repeated"}
    assert release.answer(QUERIES[-1]).kind == "stable"
    release.close()


def test_parts_of_another_release_are_refused(tmp_path: Path) -> None:
    places = tmp_path / "first", tmp_path / "second"
    for place in places:
        place.mkdir()
        fitted().save(place / "release", anchor=place / "anchor").close()
    shutil.copy(places[1] / "release" / SECRET, places[0] / "release" / SECRET)
    with pytest.raises(SecretError, match="not the one"):
        reopened(places[0])
    for name in (FACTS, SECRET):
        shutil.copy(places[1] / "release" / name, places[0] / "release" / name)
    with pytest.raises(ReleaseError, match="not the one that its ledger knows"):
        reopened(places[0])


def test_an_older_copy_is_refused_and_a_copy_that_was_adopted_goes_on(tmp_path: Path) -> None:
    path = kept(tmp_path)
    shutil.copytree(path, tmp_path / "older")
    release = reopened(tmp_path)
    labels = release.predict(QUERIES[:3])
    release.close()
    shutil.copytree(path, tmp_path / "newest")
    shutil.rmtree(path)
    (tmp_path / "older").rename(path)
    with pytest.raises(LedgerRolledBack):
        reopened(tmp_path)
    shutil.rmtree(path)
    (tmp_path / "newest").rename(path)
    (tmp_path / "anchor").unlink()  # moved to another machine, say
    with pytest.raises(AnchorMissing):
        reopened(tmp_path)
    again = reopened(tmp_path, adopt=True)
    assert again.predict(QUERIES[:3]).tolist() == labels.tolist()
    assert "adopted" in [entry.kind for entry in again._votes.log.ledger.entries()]
    again.close()


def test_an_older_ledger_under_a_newer_secret_does_not_bring_the_records_back(tmp_path: Path) -> None:
    """After publication the secret is gone: an older ledger finds none, whatever the anchor says."""
    path = kept(tmp_path, "universal")
    shutil.copytree(path, tmp_path / "older")
    release = reopened(tmp_path)
    release.predict(QUERIES)
    release.close()
    for name in (LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm"):
        (path / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "older" / LEDGER, path / LEDGER)
    with pytest.raises(LedgerRolledBack):
        reopened(tmp_path)


def test_secrets_can_be_encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography")
    monkeypatch.setenv("RELEASE_KEY", "ab" * 32)
    fitted().save(tmp_path / "release", anchor=tmp_path / "anchor", key="env:RELEASE_KEY").close()
    with pytest.raises(SecretError, match="encrypted"):
        reopened(tmp_path)
    release = reopened(tmp_path, key="env:RELEASE_KEY")
    assert release.answer(QUERIES[0]).kind == "stable"
    release.close()
    assert reopened(tmp_path, read_only=True).queries_answered_ == 1, "to read, no key is needed"


def test_a_second_save_is_refused(tmp_path: Path) -> None:
    release = fitted().save(tmp_path / "release", anchor=tmp_path / "anchor")
    with pytest.raises(ReleaseError, match="kept already"):
        release.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()
    release.close()


def test_a_save_that_fails_leaves_the_release_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = fitted()
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(ReleaseError, match="other files are there"):
        release.save(tmp_path / "taken")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pcqr.durable.directory.write_whole", full)
        with pytest.raises(ReleaseError, match="No space left"):
            release.save(tmp_path / "deep" / "release", anchor=tmp_path / "anchor")
    assert not (tmp_path / "deep").exists()
    assert release.answer(QUERIES[0]).kind == "stable"


def test_a_release_that_may_have_been_saved_does_not_decide_any_more(tmp_path: Path) -> None:
    """Whether the first turn was recorded is not known: two that decide would be one too many."""
    release = fitted()
    labels = release.predict(QUERIES[:2]).tolist()

    def full(point: str) -> None:
        if point == "committed":
            raise OSError(28, "No space left on device")

    with watched(full), pytest.raises(LedgerUnwritable, match="not known"):
        release.save(tmp_path / "release", anchor=tmp_path / "anchor")
    assert release.predict(QUERIES[:2]).tolist() == labels
    with pytest.raises(CopyCannotAnswer):
        release.answer(QUERIES[3])
    again = reopened(tmp_path)
    assert again.predict(QUERIES[:2]).tolist() == labels
    assert again.answer(QUERIES[3]).kind == "stable"
    again.close()


def test_a_save_whose_turn_surely_failed_leaves_the_release_as_it_was(tmp_path: Path) -> None:
    """What is paid for is not lost because a disk was full: nothing was recorded, and it can be saved again."""
    release = fitted()
    labels = release.predict(QUERIES[:2]).tolist()

    def full(point: str) -> None:
        if point == "entries written":
            raise OSError(28, "No space left on device")

    with watched(full), pytest.raises(LedgerUnwritable):
        release.save(tmp_path / "release", anchor=tmp_path / "anchor")
    assert not (tmp_path / "release").exists()
    assert release.answer(QUERIES[3]).kind == "stable"
    release.save(tmp_path / "release", anchor=tmp_path / "other anchor").close()
    again = pcqr.release.open(tmp_path / "release", anchor=tmp_path / "other anchor")
    assert again.predict(QUERIES[:2]).tolist() == labels
    again.close()


def test_a_release_that_is_fitted_anew_lets_go_of_its_directory(tmp_path: Path) -> None:
    release = fitted().save(tmp_path / "release", anchor=tmp_path / "anchor")
    copy.copy(release).close()
    assert release.answer(QUERIES[0]).kind == "stable", "a copy does not close its original"
    with pytest.warns(FittedAgain):
        release.fit(*table())
    assert release.queries_answered_ == 0
    again = reopened(tmp_path)
    assert again.queries_answered_ == 1
    again.close()


def test_to_read_draws_nothing_and_a_saved_release_needs_no_entropy_of_the_caller(tmp_path: Path) -> None:
    release = fitted().save(tmp_path / "release", anchor=tmp_path / "anchor")
    release._votes._entropy = Forbidden()
    assert release.preview(QUERIES).new == len(QUERIES)
    release.close()


def test_a_signal_handler_cannot_save_in_the_middle_of_a_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is being decided would be answered, and be in no ledger."""
    release, refused = fitted(), []
    labeller = release._votes.labeller
    decide = labeller.decide

    def interrupted(counts: Any) -> int | None:
        with pytest.raises(RuntimeError, match="in the middle"):
            release.save(tmp_path / "release", anchor=tmp_path / "anchor")
        refused.append(1)
        decided: int | None = decide(counts)
        return decided

    monkeypatch.setattr(labeller, "decide", interrupted)
    release.predict(QUERIES[:2])
    assert len(refused) == 2
    monkeypatch.setattr(labeller, "decide", decide)
    assert not (tmp_path / "release").exists()
    assert release.save(tmp_path / "release", anchor=tmp_path / "anchor").queries_answered_ == 2
    release.close()


@pytest.mark.parametrize("name", ["subsamp", "agnostic"])
def test_a_signal_handler_that_reads_figures_in_the_middle_of_a_decision_gives_no_unstable_answer_back(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a handler of SIGALRM would that logs how much is left: it runs in the thread that holds the lock."""
    kept(tmp_path, name)
    release = reopened(tmp_path)
    budget, decide = release.unstable_remaining_, StableVotes.decide

    def decided(labeller: StableVotes, counts: Any) -> int | None:
        label = decide(labeller, counts)
        assert release.unstable_remaining_ is not None
        assert release.preview(HARD[:1]).requested == 1
        with pytest.raises(RuntimeError, match="in the middle of a query"):
            release.answer(HARD[0])
        return label

    monkeypatch.setattr(StableVotes, "decide", decided)
    unstable = 0
    for point in np.linspace(0.395, 0.405, 400)[:, None]:
        try:
            unstable += release.answer(point).kind == "unstable"
        except BudgetExhausted:
            break
    assert unstable == release.unstable_answers_ == budget
    assert release.unstable_remaining_ == 0
    release.close()


def test_a_ledger_elsewhere_is_found_from_another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fitted().save("release", ledger="elsewhere.sqlite", anchor="anchor").close()
    (tmp_path / "another").mkdir()
    monkeypatch.chdir(tmp_path / "another")
    reopened(tmp_path).close()
