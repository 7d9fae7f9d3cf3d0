"""Serves the page and its parts from the package: fixed names, right types, and a tag by which a browser asks again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_INDEX = "index.html"

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class Part:
    """A file of the page."""

    content: bytes
    media_type: str

    @property
    def tag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


@cache
def parts() -> dict[str, Part]:
    """Every file of the page by its name. Nothing else can be asked for, whatever is in an address."""
    found = {}
    for file in resources.files(__package__).iterdir():
        suffix = file.name[file.name.rfind(".") :]
        if suffix in _TYPES:
            found[file.name] = Part(file.read_bytes(), _TYPES[suffix])
    return found


@router.api_route("/", methods=["GET", "HEAD"])
async def index(request: Request) -> Response:
    """The page."""
    return _answer(request, _INDEX)


@router.api_route("/static/{name}", methods=["GET", "HEAD"])
async def part(request: Request, name: str) -> Response:
    """A part of it."""
    return _answer(request, name)


def _answer(request: Request, name: str) -> Response:
    found = parts().get(name)
    if found is None:
        raise HTTPException(404)
    headers = {"ETag": found.tag, "Cache-Control": "no-cache"}  # kept, but asked for anew: a new version shows at once
    known = (tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(","))
    if found.tag in known:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)
