"""The files of the page: served with their types and tags, from fixed names, and all of them in the package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.serving import serving

from pcqr import server
from pcqr.plotting import axes as drawing
from pcqr.server.endpoints import parts

FOLDER = Path(server.__file__).parent / "page"
MODULES = sorted(FOLDER.glob("*.js"))
MOST_LINES = 400


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving() as address, httpx.Client(base_url=address) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/static/page.css", "text/css; charset=utf-8"),
        ("/static/main.js", "text/javascript; charset=utf-8"),
        ("/static/icon.svg", "image/svg+xml"),
    ],
)
def test_a_part_has_its_type_and_is_asked_for_anew(client: httpx.Client, path: str, media_type: str) -> None:
    reply = client.get(path)
    assert reply.status_code == 200
    assert reply.headers["content-type"] == media_type
    assert reply.headers["cache-control"] == "no-cache"
    again = client.get(path, headers={"If-None-Match": f'"other", W/{reply.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    assert client.head(path).status_code == 200


@pytest.mark.parametrize("name", ["..%2Fapp.py", "app.py", "%2e%2e/app.py", "none.js", "", "main.js/"])
def test_nothing_but_the_page_can_be_asked_for(client: httpx.Client, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_every_part_that_is_named_is_there() -> None:
    """Modules, the style sheet and the icon: what one names, the package has."""
    named = re.findall(r'(?:href|src)="/static/([^"]+)"', (FOLDER / "index.html").read_text(encoding="utf-8"))
    imported = {name for path in MODULES for name in re.findall(r'from "\./([^"]+)"', path.read_text(encoding="utf-8"))}
    assert {*named, *imported} <= parts().keys()
    assert {path.name for path in MODULES} == imported | {"main.js"}


def test_nothing_is_loaded_from_elsewhere_and_nothing_is_inline() -> None:
    """What the content security policy forbids is not even there; and no text can become HTML."""
    for path in (*MODULES, FOLDER / "index.html", FOLDER / "page.css"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.|@import|\bstyle=|<style|\son[a-z]+=|javascript:", text), path.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function", text), (
            path.name
        )
    assert not re.search(r"<script(?![^>]*\ssrc=)", (FOLDER / "index.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_modules_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_the_page_has_the_colours_of_the_pictures() -> None:
    light = (FOLDER / "page.css").read_text(encoding="utf-8").split("@media")[0]
    for name in ("INK", "MUTED", "LINE", "GRID", "PAPER", "PUBLISHED", "VOTES", "SUBSAMP", "OTHERS", "WARNING"):
        assert f"--{name.lower()}: {getattr(drawing, name)};" in light
