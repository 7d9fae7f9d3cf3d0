"""Saving a release: in a place of its own, with its anchor apart, and without a trace where it fails."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from support.kept import QUERIES, fitted, kept, reopened

import pcqr
from pcqr.durable import directory
from pcqr.durable.directory import dry_run_release
from pcqr.durable.ledger.store import watched
from pcqr.durable.secrets import write_secret
from pcqr.errors import LedgerError, ParameterError, ReleaseError


class Stopped(Exception):
    pass


def stop_at(point: str) -> Any:
    def watcher(reached: str) -> None:
        if reached == point:
            raise Stopped

    return watched(watcher)


@pytest.mark.parametrize("rehearses", [False, True])
def test_of_two_that_save_to_one_place_one_is_refused_and_harms_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rehearses: bool
) -> None:
    """The second one begins when the first has seen that the place is empty, and has written nothing yet."""
    first, second = fitted(), fitted()
    outcome: list[str] = []

    def interleaved(*args: Any) -> str:
        if not outcome:
            outcome.append("begun")
            try:
                if rehearses:
                    dry_run_release(tmp_path / "release", anchor=tmp_path / "other")
                else:
                    second.save(tmp_path / "release", anchor=tmp_path / "other")
            except ReleaseError as refusal:
                outcome.append(str(refusal))
        return write_secret(*args)

    monkeypatch.setattr(directory, "write_secret", interleaved)
    first.save(tmp_path / "release", anchor=tmp_path / "anchor").close()
    assert "is being made by another process" in outcome[-1]
    assert not (tmp_path / "other").exists()
    again = reopened(tmp_path)
    assert again.answer(QUERIES[0]).kind in ("stable", "unstable")
    again.close()
    assert second.answer(QUERIES[0]).kind in ("stable", "unstable")


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("point", ["secret written", "anchor made", "facts written", "entries written"])
def test_a_save_that_fails_leaves_nothing_and_can_be_tried_again(tmp_path: Path, point: str, elsewhere: bool) -> None:
    release = fitted()
    where = {"anchor": tmp_path / "anchors" / "anchor"} | ({"ledger": tmp_path / "log.sqlite"} if elsewhere else {})
    with stop_at(point), pytest.raises(Stopped):
        release.save(tmp_path / "release", **where)
    assert not [path for path in tmp_path.rglob("*") if path.name != "anchors"]
    release.save(tmp_path / "release", **where)
    assert release.answer(QUERIES[0]).kind in ("stable", "unstable")
    release.close()


def test_a_disk_that_does_not_take_the_names_fails_the_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose files may be gone after a power cut is not said to be kept."""
    release, sync = fitted(), os.fsync

    def failing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(ReleaseError, match="cannot be made"):
        release.save(tmp_path / "release", anchor=tmp_path / "anchor")
    monkeypatch.setattr(os, "fsync", sync)
    assert not list(tmp_path.iterdir())
    release.save(tmp_path / "release", anchor=tmp_path / "anchor").close()


def test_an_anchor_in_the_directory_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever brings back an older copy of the directory would bring back the anchor, too."""
    place, release = tmp_path / "release", fitted()
    (tmp_path / "alias").symlink_to(place)
    for anchor in (place / "anchor", place / "deeper" / "anchor", tmp_path / "alias" / "anchor"):
        for refused in (lambda at: release.save(place, anchor=at), lambda at: dry_run_release(place, anchor=at)):
            with pytest.raises(ParameterError, match="outside the directory"):
                refused(anchor)
    monkeypatch.setenv("PCQR_STATE_DIR", str(place / "state"))
    with pytest.raises(ParameterError, match="outside the directory"):
        release.save(place)
    assert not place.exists()
    release.save(place, anchor=tmp_path / "release anchor").close()
    (tmp_path / "release anchor").unlink()
    with pytest.raises(ParameterError, match="outside the directory"):
        pcqr.release.open(place, adopt=True)


def test_what_has_entries_is_not_discarded(tmp_path: Path) -> None:
    kept(tmp_path)
    release = reopened(tmp_path)
    ledger = release._votes.log.ledger
    assert not ledger.discard()
    release.close()
    with pytest.raises(LedgerError):
        ledger.discard()
    reopened(tmp_path).close()
