"""A real Chromium for the tests of the page. It can reach this machine and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

CHROMIUM = os.environ.get("PCQR_CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
)
DESK, PHONE = 1280, 390
PATIENCE = 30_000
"""Milliseconds, for a busy machine."""
REFUSED = "Failed to load resource: the server responded with a status of "
"""How Chromium reports every reply above 399, whatever the page makes of it."""
WITHIN_THE_PAGE = ("data", "blob")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of a module of tests; they are skipped where there is none."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"There is no Chromium at {CHROMIUM}: install it, or say where it is with PCQR_CHROMIUM.")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """One tab. What went wrong in it is collected and looked at in the end."""

    page: Page
    address: str
    errors: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._sent)

    def go(self, view: str = "") -> Page:
        """Open a view, and wait until it is there."""
        self.page.goto(f"{self.address}/{view}")
        self.settle()
        return self.page

    def settle(self) -> None:
        self.page.wait_for_selector("main h1, main h2")
        self.page.wait_for_selector(".waiting", state="detached")

    def violations(self) -> list[str]:
        """What axe-core objects to in the view as it is."""
        found: Any = Axe().run(self.page).response["violations"]
        return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]

    @property
    def is_wider_than_its_window(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            (self.refused if message.text.startswith(REFUSED) else self.errors).append(message.text)

    def _sent(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in WITHIN_THE_PAGE and f"{parts.scheme}://{parts.netloc}" != self.address:
            self.foreign.append(request.url)


def upload(page: Page, text: str | bytes, name: str = "people.csv") -> None:
    """Choose a file with this content in the view *Ask with a file*."""
    content = text.encode() if isinstance(text, str) else text
    page.get_by_label("CSV file").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})


@contextmanager
def visiting(
    browser: Browser, address: str, *, width: int = DESK, dark: bool = False, **options: Any
) -> Iterator[Visit]:
    """A tab of its own, with storage of its own. In the end: no error, and no request to another host."""
    scheme: Any = "dark" if dark else "light"
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
    try:
        visit = Visit(context.new_page(), address)
        yield visit
        assert visit.errors == []
        assert visit.foreign == []
    finally:
        context.close()
