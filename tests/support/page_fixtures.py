"""One browser and one server for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from pcqr.server.service import Place
from support import wards
from support.browser import Visit, chromium, visiting
from support.serving import serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:  # noqa: ARG001 (skips first)
    """A server with an open release, one that is all but spent, a published tree, and models with odd names."""
    folder = tmp_path_factory.mktemp("wards")
    wards.keep_release(folder / "wards", wards.agnostic())
    wards.keep_release(folder / "spent", wards.agnostic(unstable=1))
    wards.publish_model(folder / "tree")
    wards.publish_wide_model(folder / "wide")
    wards.publish_odd_model(folder / "constructor")
    releases = [Place(name, folder / name / "release", anchor=folder / name / "anchor") for name in ("wards", "spent")]
    models = [Place(name, folder / name) for name in ("tree", "wide", "constructor")]
    with serving(*releases, *models) as found:
        yield found


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as found:
        yield found
