"""Clients that wait between their tries, in no time."""

from __future__ import annotations

import pytest

from pcqr.client import wire


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that clients would have waited."""
    found: list[float] = []
    monkeypatch.setattr(wire, "wait", found.append)
    return found
