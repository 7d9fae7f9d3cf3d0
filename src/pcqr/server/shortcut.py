"""Straight to the handlers of what is asked most: routing would take longer than the answer.

FastAPI compares a path with every route before it, and enters several context managers a request. The few routes that
answer rows need neither: their handlers take a request and give a response, and the door tells what they raise.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send


class Shortcut:
    """The innermost layer: requests to `routes`, all of them of plain handlers, end here; others go on."""

    def __init__(self, app: ASGIApp, routes: Sequence[APIRoute]) -> None:
        self.app = app
        self.routes = [(route.path_regex.fullmatch, route, route.endpoint) for route in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            for match, route, handler in self.routes:
                if found := match(scope["path"]):
                    scope["route"], scope["path_params"] = route, found.groupdict()
                    response = await handler(Request(scope, receive, send))
                    await response(scope, receive, send)
                    return
        await self.app(scope, receive, send)
