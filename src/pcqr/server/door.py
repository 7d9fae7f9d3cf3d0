"""What every request passes before an endpoint sees it: pure ASGI middleware, the first of the list outermost."""

from __future__ import annotations

from starlette.middleware import Middleware

from pcqr.server.service import Service
from pcqr.server.settings import Settings


def middleware(service: Service, settings: Settings) -> list[Middleware]:  # noqa: ARG001
    """Nothing yet."""
    return []
