"""Kept releases whose classifier is there from the start: whole or not there, without secrets, and the same answers."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kept import AT_FIT, HARD, QUERIES, fitted, in_a_fork, reopened
from support.ledgers import Shelf
from support.release_crashes import PUBLICATIONS, publications

import pcqr.release
from pcqr import BudgetExhausted
from pcqr.durable.directory import LEDGER, SECRET, UNFINISHED, find
from pcqr.durable.ledger.store import CREATION, TURN
from pcqr.errors import LedgerError, ReleaseError, UnfinishedSave

NAMES = list(AT_FIT)
MIXED = np.concatenate([HARD[:7], QUERIES[::3], HARD[:3], HARD[7:]])


@pytest.mark.parametrize("name", NAMES)
def test_it_is_found_again_and_no_secret_is_ever_written(name: str, tmp_path: Path) -> None:
    release = fitted(name)
    labels = release.predict(MIXED).tolist()
    release.save(tmp_path / "release", anchor=tmp_path / "anchor", cautious=True).close()
    assert sorted(path.name for path in (tmp_path / "release").iterdir()) == [LEDGER, f"{LEDGER}.lock", "release.json"]
    again = reopened(tmp_path)
    assert again.predict(MIXED).tolist() == labels
    assert (again.plan_, again.guarantee_, again.get_params()) == (
        release.plan_,
        release.guarantee_,
        release.get_params(),
    )
    assert {answer.kind for answer in again.answers(MIXED)} == {"published"}
    assert (again.queries_answered_, again.unstable_answers_) == (0, 0)
    assert getattr(again, "is_published_", False) == (name == "published at fit")
    again.close()


@pytest.mark.parametrize("point", ["secret written", *CREATION, "facts written", *TURN, "release recorded"])
@pytest.mark.parametrize("name", NAMES)
def test_a_save_that_is_killed_leaves_a_release_that_answers_or_none(name: str, point: str, tmp_path: Path) -> None:
    release = fitted(name)
    where: dict[str, Any] = {"anchor": tmp_path / "anchor"}
    assert in_a_fork(lambda: fitted(name).save(tmp_path / "release", **where), killed_at=point) == -signal.SIGKILL
    assert not list(tmp_path.rglob("*secret*"))
    if point in (*TURN[2:], "release recorded"):
        again = reopened(tmp_path)
        assert {answer.kind for answer in again.answers(MIXED)} == {"published"}
        assert again.score(QUERIES, QUERIES[:, 0] > 0.4) == 1.0
        again.close()
        return
    with pytest.raises((ReleaseError, LedgerError)) as refused:
        reopened(tmp_path)
    assert SECRET not in str(refused.value), "there is none"
    with pytest.raises(ReleaseError, match="was not finished"):
        find(tmp_path / "release", **where, read_only=True)
    with pytest.warns(UnfinishedSave, match="save that was stopped. They were removed"):
        release.save(tmp_path / "release", **where)
    assert not (tmp_path / "release" / UNFINISHED).exists()
    release.close()


@pytest.mark.parametrize("where", ["SQLite", "PostgreSQL"])
def test_kills_around_publication(where: str, request: pytest.FixtureRequest) -> None:
    """A few of those of `make crash`, at points of the order of writes and at random instants."""
    shelf: Shelf | None = request.getfixturevalue("tables") if where == "PostgreSQL" else None
    kills = publications(6, lambda number: None if shelf is None else shelf.place(f"p{number}"))
    assert kills == dict.fromkeys(PUBLICATIONS, 3)


def outcome(release: Any, rows: Any) -> Iterator[object]:
    """All that an asker gets who chooses each query by the answers so far."""
    yield release.preview(rows)
    lead = 0
    for row in rows:
        try:
            answer = release.answer(row + 1e-6 * lead)
        except BudgetExhausted as halted:
            yield str(halted)
            return
        lead += 1 if answer.label else -1
        yield answer, release.queries_answered_, release.unstable_answers_, release.unstable_remaining_
    yield release.preview(rows), release.asked_before(rows).tolist()
    yield [part.tolist() for part in release.answered()]


@pytest.mark.parametrize("where", ["files", "tables"])
@pytest.mark.parametrize("name", [*NAMES, "universal", "agnostic by noise", "agnostic", "subsamp"])
def test_the_transcript_in_a_ledger_is_that_in_memory(name: str, where: str, request: pytest.FixtureRequest) -> None:
    """With the same seed, whatever is asked: every answer, count and preview, in SQLite and in PostgreSQL."""
    shelf: Shelf = request.getfixturevalue(where)
    in_memory, kept = fitted(name, entropy=7), fitted(name, entropy=7)
    kept.save(shelf.folder / "release", ledger=shelf.place(), anchor=shelf.anchor)
    assert list(outcome(in_memory, MIXED)) == list(outcome(kept, MIXED))
    if getattr(in_memory, "is_published_", False):
        assert kept.hypothesis_ == in_memory.hypothesis_
    kept.close()
    again = pcqr.release.open(shelf.folder / "release", ledger=shelf.place(), anchor=shelf.anchor)
    assert [part.tolist() for part in again.answered()] == [part.tolist() for part in in_memory.answered()]
    assert again._votes.remaining == in_memory._votes.remaining
    again.close()


def test_what_a_directory_holds_is_said_and_answers_alone_are_still_a_classifier(tmp_path: Path) -> None:
    """shows="answers" hides the classifier from askers, and not from who can read the directory."""
    release = fitted("answers alone").save(tmp_path / "release", anchor=tmp_path / "anchor")
    hypothesis = release._protocol.published
    release.close()
    facts = json.loads((tmp_path / "release" / "release.json").read_text())
    assert facts["parameters"]["shows"] == "answers"
    kept = find(tmp_path / "release", anchor=tmp_path / "anchor", read_only=True)
    assert kept.log.published == hypothesis
    kept.log.close()
