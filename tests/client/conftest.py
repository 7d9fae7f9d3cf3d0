"""Waiting takes no time here."""

from __future__ import annotations

import pytest

from pcqr.client import wire


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between tries."""
    found: list[float] = []
    monkeypatch.setattr(wire, "wait", found.append)
    return found
