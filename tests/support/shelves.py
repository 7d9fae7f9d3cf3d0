"""Fixtures: the ledgers that tests get. Every contract test runs on every store."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from support import postgres
from support.ledgers import Shelf


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """One server for all tests of a process, or a skip that says why."""
    with postgres.server() as running:
        if running is None:
            pytest.skip(postgres.MISSING)
        yield running


@pytest.fixture
def tables(tmp_path: Path, postgres_server: postgres.Server) -> Shelf:
    """A shelf whose ledgers are in PostgreSQL, in a schema of their own."""
    schema = f"s{uuid4().hex}"
    postgres_server.run(f"CREATE SCHEMA {schema}")
    return Shelf(tmp_path, postgres_server.address(schema) + "&ledger={}")


@pytest.fixture
def files(tmp_path: Path) -> Shelf:
    """A shelf whose ledgers are files of SQLite."""
    return Shelf(tmp_path, f"{tmp_path}/{{}}")


@pytest.fixture(params=["files", "tables"], ids=["sqlite", "postgresql"])
def shelf(request: pytest.FixtureRequest) -> Shelf:
    found: Shelf = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def open_files() -> Iterator[Shelf]:
    """Files in a directory that every user can get to: pytest's own is for its owner."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield Shelf(folder, f"{folder}/{{}}")
    shutil.rmtree(folder)
