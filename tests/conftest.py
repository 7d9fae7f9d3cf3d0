"""Fixtures of several folders. Property tests: no deadlines (machines are noisy); on CI the same examples always."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["support.shelves", "support.waiting", "support.served", "support.clusters"]

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

for _signal, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_signal) is signal.SIG_IGN:  # as nohup leaves them: tests of signals would see none
        signal.signal(_signal, _handler)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where accounts with a name, and the anchors of ledgers, are kept during a test."""
    monkeypatch.setenv("PCQR_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PCQR_STATE_DIR", str(tmp_path / "state"))
    return tmp_path
