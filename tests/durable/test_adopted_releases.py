"""Adopted releases: what is shown of that, and how an older copy goes on with everything written off."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kept import ESTIMATORS, HARD, QUERIES, kept, reopened

from pcqr.durable.directory import SECRET
from pcqr.durable.facts import NOTHING, State
from pcqr.errors import BudgetExhausted, LedgerRolledBack, ParameterError
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Asked

EARLY, LATE, NEW = QUERIES[:6], QUERIES[6:12], QUERIES[12:18]


def restored(folder: Path, act: Callable[[Any], object], name: str = "agnostic", **how: Any) -> list[Any]:
    """A release that was asked `EARLY`, backed up, used by `act`, and brought back: the answers to `EARLY`."""
    path = kept(folder, name)
    release = reopened(folder, **how)
    early = release.predict(EARLY).tolist()
    release.close()
    shutil.copytree(path, folder / "backup")
    release = reopened(folder, **how)
    act(release)
    release.close()
    shutil.rmtree(path)
    shutil.move(folder / "backup", path)
    return list(early)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_an_older_copy_that_was_written_off_repeats_its_log_and_decides_nothing(name: str, tmp_path: Path) -> None:
    early = restored(tmp_path, lambda release: release.predict(LATE), name)
    with pytest.raises(LedgerRolledBack, match=r"--adopt --write-off.*write_off=True"):
        reopened(tmp_path)
    with pytest.raises(LedgerRolledBack):
        reopened(tmp_path, adopt=True)
    (tmp_path / "release" / SECRET).unlink()  # nothing of it is needed any more
    for how in ({"adopt": True, "write_off": True}, {}):
        release = reopened(tmp_path, **how)
        assert release._votes.is_exhausted
        assert release.predict(EARLY).tolist() == early
        for rows in (LATE, NEW, np.concatenate([EARLY, NEW])):
            assert not release.preview(rows).is_certain
            with pytest.raises(BudgetExhausted):
                release.predict(rows)
        assert release.queries_answered_ == len(EARLY)
        assert [entry.kind for entry in release._votes.log.ledger.entries()].count("adopted") == 1
        release.warm_up()
        release.close()


def test_a_universal_release_that_was_written_off_is_never_published(tmp_path: Path) -> None:
    """It may have been, after the copy was made: a second draw would spend ε₂ twice."""
    early = restored(tmp_path, lambda release: release.predict(QUERIES), "universal")
    release = reopened(tmp_path, adopt=True, write_off=True)
    assert release.predict(EARLY).tolist() == early
    with pytest.raises(BudgetExhausted):
        release.predict(QUERIES)
    asked = [Asked(release.points(rows), token=token) for rows, token in ((EARLY, b"1"), (QUERIES, b"2"))]
    outcome = release.ask_together(asked, release.quota_table())
    assert [(len(each.replies), each.stopped) for each in outcome] == [(6, None), (6, "exhausted")]
    assert not release.is_published_
    assert release._votes.log.published is None
    release.close()
    assert not reopened(tmp_path, read_only=True).is_published_


def test_a_published_classifier_goes_on_after_a_write_off(tmp_path: Path) -> None:
    path = kept(tmp_path, "universal")
    release = reopened(tmp_path)
    release.predict(QUERIES)
    labels = release.predict(HARD).tolist()
    release.close()
    (tmp_path / "anchor").unlink()
    again = reopened(tmp_path, adopt=True, write_off=True)
    assert again.predict(HARD).tolist() == labels
    assert again.answer([0.123]).kind == "published"
    again.close()
    assert path.exists()


def test_a_cautious_release_that_was_written_off_settles_nothing() -> None:
    state = State(Usage(3, 1), Usage(None, 5), is_cautious=True, announced=b"a" * 16)
    assert state.written_off() == replace(state, remaining=Usage(None, 0), announced=NOTHING, is_written_off=True)
    for remaining in (Usage(None, None), Usage(4, None, labels=7), Usage(9, 2)):
        found = State.read(replace(state, remaining=remaining).written_off().written())
        assert found.remaining.is_nothing
        assert found.is_written_off
        assert len(found.written()) == len(replace(state, remaining=found.remaining).written())


def test_adoptions_are_assumptions_of_the_guarantee_for_ever(tmp_path: Path) -> None:
    path = kept(tmp_path)
    release = reopened(tmp_path)
    before = release.guarantee_
    assert before.assumptions == release.plan_.guarantee.assumptions
    release.close()
    for how in ({"adopt": True}, {"adopt": True, "write_off": True}):
        (tmp_path / "anchor").unlink()
        reopened(tmp_path, **how).close()
    for how in ({}, {"read_only": True}):
        again = reopened(tmp_path, **how)
        *known, newest, older = again.guarantee_.assumptions
        assert tuple(known) == before.assumptions
        assert newest.startswith("the copy adopted on ")
        assert newest.endswith("without its anchor, was the newest one")
        assert "written off" in older
        assert again.plan_.guarantee == again.guarantee_
        assert f"Assumed: {newest}; {older}." in str(again.guarantee_)
        again.close()
    assert path.exists()


def test_nothing_is_written_off_that_is_not_adopted(tmp_path: Path) -> None:
    kept(tmp_path)
    with pytest.raises(ParameterError, match="write_off"):
        reopened(tmp_path, write_off=True)
    release = reopened(tmp_path, adopt=True, write_off=True)  # it has its anchor
    assert not release._votes.is_exhausted
    release.close()
