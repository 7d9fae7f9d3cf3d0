"""One request to an ASGI application, made by hand: any header, any body, in any number of parts."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pcqr.server.requests import Application, Request, Response, Route
from pcqr.server.state import ServerState, Settings

Endpoint = Callable[[Request], Response] | Callable[[Request], Awaitable[Response]]
HOST = (b"host", b"127.0.0.1:8080")
Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: str) -> str | None:
        found = [value.decode() for each, value in self.headers if each == name.encode()]
        assert len(found) <= 1, found
        return found[0] if found else None

    @property
    def code(self) -> str:
        """Of a refusal, whose shape is checked."""
        told = json.loads(self.body)
        assert set(told) == {"error", "code", "status", "details"}
        assert told["status"] == self.status
        return str(told["code"])


def scope(method: str = "GET", path: str = "/", headers: Headers = (HOST,), query: bytes = b"") -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query,
        "headers": list(headers),
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8080),
        "state": {},
    }


async def asked(
    app: Callable[..., Awaitable[None]], of: dict[str, Any], parts: Sequence[bytes | None] = (b"",)
) -> Reply | None:
    """The reply to one request whose body comes in `parts`. After a None nothing more comes: the sender hangs.

    None: there was no reply.
    """
    sent: list[Any] = []
    waiting = list(parts)

    async def receive() -> Any:
        if not waiting:
            return {"type": "http.disconnect"}
        part = waiting.pop(0)
        if part is None:
            await asyncio.sleep(3600)
        return {"type": "http.request", "body": part, "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(of, receive, send)
    if not sent:
        return None
    body = b"".join(message["body"] for message in sent[1:])
    return Reply(sent[0]["status"], list(sent[0]["headers"]), body)


def ask(app: Application, *args: Any, parts: Sequence[bytes | None] = (b"",), **kwargs: Any) -> Reply:
    """The reply to `scope(*args, **kwargs)`."""
    found = asyncio.run(asked(app, scope(*args, **kwargs), parts))
    assert found is not None
    return found


def guarded(endpoint: Endpoint, **settings: Any) -> tuple[Application, ServerState]:
    """The application with one endpoint for whatever is let in, and its state."""
    instance: Any = endpoint
    called = endpoint if inspect.isfunction(endpoint) else instance.__call__
    state, route = ServerState(Settings(**settings)), Route("GET", "/", called)
    return Application(state, lambda _: route), state
