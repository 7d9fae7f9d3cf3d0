"""Servers that are not there: a client of httpx that gets canned replies, and a release of which it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from pcqr.client import Remote
from pcqr.client.wire import Address, Wire

SERVER = "http://127.0.0.1:8080"
FACTS: dict[str, Any] = {
    "name": "hospital",
    "kind": "release",
    "algorithm": "agnostic",
    "guarantee": {
        **{"epsilon": 1.0, "delta": 1e-6, "is_private": True, "proof": "proofs/stab.md", "words": "…"},
        **{"unit": "replace one record", "assumptions": ["n"], "steps": []},
    },
    "columns": [
        {"name": "age", "kind": "numeric", "categories": None, "bounds": [0, 100], "missing": False, "other": False},
        {
            **{"name": "sex", "kind": "categorical", "categories": ["female", "male"]},
            **{"bounds": None, "missing": True, "other": True},
        },
        {"name": "seen", "kind": "date", "categories": None, "bounds": None, "missing": True, "other": False},
    ],
    "features": 7,
    "classes": ["well", "ill"],
    "state": "open",
    "spent": {"queries": 3, "unstable": 1},
    "remaining": {"queries": None, "unstable": 9},
    "planned_queries": 300,
    "on_unstable": "abstain",
    "most_rows": 10_000,
}
ROW = {"age": 61, "sex": "male", "seen": "2014-05-03"}

Handler = Callable[[httpx.Request], httpx.Response]


def said(content: Any, status: int = 200, **headers: str) -> httpx.Response:
    """A reply with JSON."""
    return httpx.Response(
        status, content=json.dumps(content).encode(), headers={"content-type": "application/json", **headers}
    )


def refused(code: str, status: int, details: Any = None, **headers: str) -> httpx.Response:
    """The one shape of errors."""
    told = {"error": f"No: {code}.", "code": code, "status": status, "details": details or {}}
    return said(told, status, **headers)


def remote(handler: Handler, *, facts: Any = None, name: str = "hospital", key: str | None = None) -> Remote:
    """Connected to a server that says its `facts`, and what `handler` says to all other requests."""

    def reply(request: httpx.Request) -> httpx.Response:
        if request.method == "GET" and request.url.path == f"/v1/releases/{name}":
            return streamed(said(FACTS if facts is None else facts))
        return streamed(handler(request))

    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    transport = httpx.MockTransport(reply)
    address = Address(SERVER, name)
    return Remote(Wire(address, lambda: httpx.Client(transport=transport, headers=headers), 5.0))


def streamed(response: httpx.Response) -> httpx.Response:
    """As it comes from a network: not read yet."""
    try:
        content = response.content
    except httpx.ResponseNotRead:
        return response
    return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(content))


def answered(request: httpx.Request, kind: str = "stable", label: Any = "ill") -> httpx.Response:
    """An answer to each row of the request."""
    rows = rows_in(request)
    given = {"label": label, "coin": None, "kind": kind}
    spent = {"queries": 3 + rows * (kind in ("stable", "unstable")), "unstable": 1 + rows * (kind == "unstable")}
    return said({"answers": [given] * rows, "spent": spent, "remaining": FACTS["remaining"]})


def rows_in(request: httpx.Request) -> int:
    sent = json.loads(request.content)
    return len(sent["x"]) if "x" in sent else len(next(iter(sent["columns"].values())))
