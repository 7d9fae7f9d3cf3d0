"""Warming up tells and keeps nothing: neither the ledger nor a counter nor the noise of the release is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kept import ESTIMATORS, HARD, kept, reopened
from support.releases import Forbidden
from support.serving import clinic_place

import pcqr
from pcqr.durable.ledger import Ledger


def touched(release: Any) -> tuple[object, ...]:
    """All that a query would change."""
    votes = release._votes
    ledger = votes.log.ledger
    return list(ledger.entries()), ledger.state, votes.spent, votes.labeller.remaining


def refuse(*_: object) -> None:
    raise AssertionError("a turn was taken")


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_nothing_is_spent_recorded_or_drawn(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path, name)
    release = reopened(tmp_path)
    release.predict(HARD[:3])
    before = touched(release)
    labeller = release._votes.labeller
    secrets = labeller.arrays()
    source = getattr(labeller, "_sparse_vector", labeller)
    with monkeypatch.context() as patched:
        patched.setattr(source, "_entropy", Forbidden())
        patched.setattr(release._votes, "_entropy", Forbidden())
        patched.setattr(Ledger, "transaction", refuse)
        release.warm_up()
    assert touched(release) == before
    after = labeller.arrays()
    assert all(np.array_equal(secrets[name], after[name]) for name in secrets | after)
    assert release.predict(HARD[:4]).shape == (4,)
    release.close()


def test_a_table_with_a_schema_is_warmed_up_too(tmp_path: Path) -> None:
    place = clinic_place(tmp_path)
    release = pcqr.release.open(place.path, anchor=place.anchor)
    before = touched(release)
    release.warm_up()
    assert touched(release) == before
    release.close()


def test_a_published_release_has_nothing_to_warm_up(tmp_path: Path) -> None:
    kept(tmp_path, "universal")
    release = reopened(tmp_path)
    release.predict(np.linspace(0, 1, 1_000)[:, None])
    assert release.is_published_
    release.close()
    again = reopened(tmp_path)
    again.warm_up()
    again.close()
