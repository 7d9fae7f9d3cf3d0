"""The process: uvicorn around the application."""

from __future__ import annotations

from collections.abc import Callable

import uvicorn

from pcqr.server.app import make_app
from pcqr.server.service import Service
from pcqr.server.settings import Settings


def serve(service: Service, settings: Settings, say: Callable[[str], None]) -> None:
    """Serve until a signal ends it. `say` is called once, with the address."""
    config = uvicorn.Config(
        make_app(service, settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
    )
    say(f"http://{settings.host}:{settings.port}")
    uvicorn.Server(config).run()
