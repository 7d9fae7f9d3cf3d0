"""What is served is ready when it says so: the first asker does not wait for anything to be compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.kept import kept
from support.serving import release_place

from pcqr.mechanisms.sparse_vector import RunningSparseVector
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.subsample.run import StableVotes
from pcqr.server.service import Service


def test_a_release_is_warm_before_it_is_served_and_nothing_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def noted(owner: type, name: str) -> None:
        real = getattr(owner, name)

        def call(*arguments: Any) -> Any:
            done.append(name)
            return real(*arguments)

        monkeypatch.setattr(owner, name, call)

    noted(StableVotes, "counts")
    noted(RunningSparseVector, "is_stable")
    kept(tmp_path)
    service = Service.open([release_place(tmp_path)])
    served = service.release("ages")
    assert done == ["counts", "is_stable"]
    assert served.now().spent == Usage(0, 0)
    assert served.now().remaining == served.release.plan_.remaining
    assert [entry.kind for entry in served.release.quota_table().ledger.entries()] == ["release"]
    service.close()
