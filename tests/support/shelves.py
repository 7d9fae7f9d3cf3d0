"""Fixtures: the ledgers that tests get. Every contract test runs on every store."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from support import postgres
from support.ledgers import Shelf, new_folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """One server for all tests of a process, or a skip that says why."""
    with postgres.server() as running:
        if running is None:
            pytest.skip(postgres.MISSING)
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    made = new_folder()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def tables(folder: Path, postgres_server: postgres.Server) -> Shelf:
    """A shelf whose ledgers are in PostgreSQL, in a schema of their own."""
    schema = f"s{uuid4().hex}"
    postgres_server.run(f"CREATE SCHEMA {schema}")
    return Shelf(folder, postgres_server.address(schema) + "&ledger={}")


@pytest.fixture
def files(folder: Path) -> Shelf:
    """A shelf whose ledgers are files of SQLite."""
    return Shelf(folder, f"{folder}/{{}}")


@pytest.fixture(params=["files", "tables"], ids=["sqlite", "postgresql"])
def shelf(request: pytest.FixtureRequest) -> Shelf:
    found: Shelf = request.getfixturevalue(request.param)
    return found
