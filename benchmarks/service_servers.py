"""The servers that `benchmarks.service` puts its load on, each in a process of its own that says its port.

    python -m benchmarks.service_servers durable|memory|bare|starlette|echo FOLDER

durable    `pcqr serve` with a release in FOLDER, on disk, with full sync: what a user runs
memory     the same application, the same release, no ledger: answers are lost with the process
bare       one FastAPI endpoint that reads a query by pydantic and says a label
starlette  the same without FastAPI and pydantic, which read and check it
echo       a few bytes to whoever writes: the ceiling of the load
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import uvicorn
import uvloop
from fastapi import FastAPI
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import pcqr
from pcqr.cli.main import app as command
from pcqr.hypotheses import Thresholds
from pcqr.server import logs
from pcqr.server.app import make_app
from pcqr.server.batcher import Batcher
from pcqr.server.run import Server, without_pauses
from pcqr.server.service import ServedRelease, Service
from pcqr.server.state import ServerState, Settings

NAME = "release"
_REPLY = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 14\r\n\r\n{"label": "1"}'


def fitted() -> Any:
    """A class on the line, border at 6."""
    X = np.random.default_rng(0).uniform(0.0, 10.0, size=(20_000, 1))
    return pcqr.AgnosticRelease(Thresholds(), epsilon=2.0, queries=30).fit(X, (X[:, 0] > 6.0).astype(int))


def durable(folder: Path) -> None:
    fitted().save(folder / NAME, anchor=folder / "anchor").close()
    command(["serve", f"{NAME}={folder / NAME}", "--anchor", f"{NAME}={folder / 'anchor'}", "--port", "0", "--json"])


class Unkept:
    """A release in memory where a batcher expects a kept one."""

    def __init__(self) -> None:
        self._release = fitted()

    def quota_table(self) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._release, name)


def memory(_: Path) -> None:
    logs.configure()
    state = ServerState(Settings(), Service([ServedRelease(NAME, Batcher(Unkept))]))
    server = Server(make_app(state), state, None)
    with bound() as listening, without_pauses():
        server.run(sockets=[listening])


class Query(BaseModel):
    x: list[list[float]]


class Said(BaseModel):
    labels: list[int]


def bare(_: Path) -> None:
    app = FastAPI()

    @app.post("/ask")
    async def ask(query: Query) -> Said:
        return Said(labels=[int(x > 6.0) for (x,) in query.x])

    with bound() as listening:
        uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning")).run(sockets=[listening])


async def _plain(request: Request) -> JSONResponse:
    return JSONResponse({"labels": [int(x > 6.0) for (x,) in (await request.json())["x"]]})


def starlette(_: Path) -> None:
    app = Starlette(routes=[Route("/ask", _plain, methods=["POST"])])
    with bound() as listening:
        uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning")).run(sockets=[listening])


class Echo(asyncio.Protocol):
    """Answers whatever comes, in one piece as it does here, with the same bytes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are no subclass

    def data_received(self, _: bytes) -> None:
        self._transport.write(_REPLY)


def echo(_: Path) -> None:
    async def serve() -> None:
        await (await asyncio.get_running_loop().create_server(Echo, sock=bound())).serve_forever()

    uvloop.run(serve())


def bound() -> socket.socket:
    """A socket at a port of its own, which it says as `pcqr serve --json` does."""
    found = socket.create_server(("127.0.0.1", 0))
    print(json.dumps({"url": f"http://127.0.0.1:{found.getsockname()[1]}"}), flush=True)
    return found


SERVERS = {"durable": durable, "memory": memory, "bare": bare, "starlette": starlette, "echo": echo}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](Path(sys.argv[2]))
