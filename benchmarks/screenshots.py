"""The page of `pcqr serve` as pictures for the documentation.

    python -m benchmarks.screenshots [--folder KEPT]

Needs Chromium (Debian's, or what PCQR_CHROMIUM says) and the extras server and dev. Makes a release and a tree on UCI
Adult, asks the release about people of the test part, as if over three days, serves both on this machine, and
draws docs/images/service-*.png. With --folder what is made is kept there, and found again.
"""

from __future__ import annotations

import argparse
import io
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from pcqr import AssumePublic, SemiPrivateLearner, UniversalRelease
from pcqr.cli.demo import Adult
from pcqr.datasets import adult_schema, write_table
from pcqr.datasets.adult import LABEL_NAMES, LEFT_OUT
from pcqr.durable.account import Account
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel
from pcqr.releases.protocol.log import Asked

IMAGES = Path("docs/images")
CHROMIUM = os.environ.get("PCQR_CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"),
    *("--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
)
DESK, PHONE = (1280, 860), (390, 844)
DAY = 86_400
ASKED_BEFORE = 120
COLOURS = 200
PATIENCE = 180_000
"""Milliseconds that the planner may take."""
USER = {
    "age": "44",
    "workclass": "Private",
    "education-num": "14",
    "marital-status": "Married-civ-spouse",
    "occupation": "Prof-specialty",
    "relationship": "Husband",
    "race": "White",
    "sex": "Male",
    "capital-gain": "0",
    "capital-loss": "0",
    "hours-per-week": "45",
    "native-country": "United-States",
}


def make(folder: Path) -> None:
    """A release with an account, asked for three days, and a tree."""
    adult, schema = Adult.load(), adult_schema().without(*LEFT_OUT)
    public = AssumePublic(adult.public)
    account = Account.create(folder / "hospital.sqlite", 4.0, 1e-5, anchor=folder / "hospital.anchor")
    votes = UniversalRelease(DecisionTrees(depth=2), epsilon=1.0, queries=300, classes=LABEL_NAMES, account=account)
    votes.fit(adult.private, adult.labels, public=public, schema=schema)
    votes.save(folder / "adult", anchor=folder / "adult.anchor")
    ask_over_days(votes, {name: cells[:ASKED_BEFORE] for name, cells in adult.asked.items()})
    votes.close()
    write_table(folder / "people.csv", {name: cells[60:180] for name, cells in adult.asked.items()})
    learner = SemiPrivateLearner(DecisionTrees(depth=3), epsilon=0.5, classes=LABEL_NAMES)
    learner.fit(adult.private, adult.labels, public=public, schema=schema)
    PublishedModel.from_learner(learner).save(folder / "adult-tree")


def ask_over_days(release: Any, table: dict[str, Any]) -> None:
    """Each row by itself, at some moment of the last three days: by day more often than by night."""
    points, draw = release.points(table), np.random.default_rng(0)
    ages = draw.integers(3, size=len(points)) + draw.beta(3, 3, size=len(points))
    for age, point in zip(sorted(ages, reverse=True), points, strict=True):
        quota_table = replace(release.quota_table(), clock=partial(float, time.time() - DAY * age))
        release.ask_together([Asked(point[None, :])], quota_table)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of `pcqr serve` with both, by its own command."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    line = (
        *(sys.executable, "-m", "pcqr", "serve", str(folder / "adult"), str(folder / "adult-tree")),
        *("--anchor", f"adult={folder / 'adult.anchor'}", "--port", str(port)),
    )
    where = os.environ | {"PCQR_DATA_DIR": str(folder / "data")}  # no keys of the user's
    server = subprocess.Popen(line, env=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        for _ in range(600):
            with socket.socket() as reached:
                if reached.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def shoot(browser: Browser, address: str, folder: Path) -> None:
    with tab(browser, DESK) as page:
        view(page, f"{address}/#/of/adult/overview")
        keep(page, "overview", height=1500)
        view(page, f"{address}/#/of/adult/ask")
        for name, value in USER.items():
            field = page.get_by_label(name, exact=True)
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
        page.get_by_role("button", name="Ask for the label").click()
        page.wait_for_selector(".answer")
        keep(page, "ask")
        view(page, f"{address}/#/of/adult/upload")
        page.get_by_label("CSV file").set_input_files(folder / "people.csv")
        page.wait_for_selector("[data-preview]")
        keep(page, "file")
        view(page, f"{address}/#/of/adult-tree/model")
        page.get_by_role("img").wait_for()
        keep(page, "model")
        view(page, f"{address}/#/plan")
        page.get_by_role("button", name="Show what to expect").click()
        expect(page.locator(".chart svg")).to_have_count(4, timeout=PATIENCE)
        keep(page, "planner")
    with tab(browser, PHONE, dark=True) as page:
        view(page, f"{address}/#/of/adult/overview")
        keep(page, "phone", height=1400)


@contextmanager
def tab(browser: Browser, size: tuple[int, int], *, dark: bool = False) -> Iterator[Page]:
    scheme: Any = "dark" if dark else "light"
    viewport: Any = {"width": size[0], "height": size[1]}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, device_scale_factor=1.5, locale="en-GB")
    try:
        yield context.new_page()
    finally:
        context.close()


def view(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("main h1")
    page.wait_for_selector(".waiting", state="detached")
    page.wait_for_timeout(300)


def keep(page: Page, name: str, height: int | None = None) -> None:
    """The whole view, or its upper part, in few colours."""
    page.evaluate("scrollTo(0, 0)")
    taken = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    if height is not None:
        taken = taken.crop((0, 0, taken.width, min(taken.height, round(1.5 * height))))
    path = IMAGES / f"service-{name}.png"
    taken.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where to keep what is served; made once")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = asked.folder or Path(temporary)
        if not (folder / "adult-tree").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make(folder)
        with served(folder) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
            shoot(browser, address, folder)
            browser.close()


if __name__ == "__main__":
    main()
