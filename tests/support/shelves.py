"""Fixtures: the ledgers that tests get. Every contract test runs on every store."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.ledgers import SqliteShelf


@pytest.fixture(params=["sqlite"])
def shelf(tmp_path: Path) -> SqliteShelf:
    return SqliteShelf(tmp_path)


@pytest.fixture
def files(tmp_path: Path) -> SqliteShelf:
    """A shelf whose ledgers are files: what may happen to them is tested on SQLite alone."""
    return SqliteShelf(tmp_path)


@pytest.fixture
def open_files() -> Iterator[SqliteShelf]:
    """The same in a directory that every user can get to: pytest's own is for its owner."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield SqliteShelf(folder)
    shutil.rmtree(folder)
