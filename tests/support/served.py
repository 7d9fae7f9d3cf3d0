"""Fixtures: one server for all tests that only ask: a release without a schema, one with every kind of column, a model.

What it needs is imported when a test asks for it: most test runs start no server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import httpx


@pytest.fixture(scope="session")
def served_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address. It serves ages, clinic and tree."""
    from support.kept import kept
    from support.serving import clinic_place, model_place, release_place, serving

    ages = tmp_path_factory.mktemp("ages")
    kept(ages)
    places = (
        release_place(ages),
        clinic_place(tmp_path_factory.mktemp("clinic")),
        model_place(tmp_path_factory.mktemp("models")),
    )
    with serving(*places) as address:
        yield address


@pytest.fixture
def client(served_address: str) -> Iterator[httpx.Client]:
    """A client of it."""
    import httpx

    with httpx.Client(base_url=served_address) as client:
        yield client
