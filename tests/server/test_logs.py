"""Logs and metrics: one line a request, nothing private in any, nothing that an asker wrote."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from support.asgi import HOST, ask, guarded
from support.kept import table
from support.serving import release_place, serving

from pcqr import AgnosticRelease
from pcqr.hypotheses import Thresholds
from pcqr.releases.protocol.answers import Usage
from pcqr.server.keys import KeyFile
from pcqr.server.logs import REQUESTS, JsonLines, Line, configure
from pcqr.server.requests import Request, Response

SENTINELS = ("SENTINEL", "0.12345", "0.40012", "stable", "pcqr_key", "evil")
"""Labels, queries, kinds, tokens: what no line may hold."""


@dataclass
class Log:
    """What was logged, as it would be written."""

    stream: io.StringIO

    @property
    def lines(self) -> list[dict[str, Any]]:
        REQUESTS.flush()
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def log() -> Iterator[Log]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    root, ours = logging.getLogger(), logging.getLogger("pcqr")
    level = ours.level
    REQUESTS.flush()  # those of other tests
    root.addHandler(handler)
    ours.setLevel(logging.INFO)
    yield Log(stream)
    root.removeHandler(handler)
    ours.setLevel(level)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logged")
    X, y = table()
    names = np.array(["SENTINEL-well", "SENTINEL-ill"])
    release = AgnosticRelease(Thresholds(), epsilon=4.0, queries=30, classes=tuple(names))
    release.fit(X, names[y]).save(folder / "release", anchor=folder / "anchor").close()
    return folder


def test_no_line_and_no_metric_holds_what_was_asked_or_answered(place: Path, tmp_path: Path, log: Log) -> None:
    file = KeyFile(tmp_path / "keys.json")
    holder = file.create("boss", "holder", Usage(None, None))
    key = file.create("ward-7", "asker", Usage(None, None))
    rows = [0.12345, 0.40012, 0.40013]
    x = {"name": "x", "datatype": "FP64", "shape": [3, 1], "data": rows}
    good = {"authorization": f"Bearer {key}"}
    with serving(release_place(place), keys=file.path) as address, httpx.Client(base_url=address) as client:
        paths = client.get("/openapi.json", headers=good).json()["paths"]
        for path, operations in paths.items():
            real = path.replace("{name}", "ages").replace("{version}", "1")
            for method in operations:
                for headers in (good, {"authorization": f"Bearer {holder}"}, {"authorization": "Bearer SENTINEL"}, {}):
                    for address_of in (real, path.replace("{name}", "SENTINEL"), f"{real}?x=SENTINEL&key={key}"):
                        body = json.dumps({"inputs": [x], "rows": [{"x": "SENTINEL"}]})
                        client.request(method, address_of, content=body, headers=headers)
        told = client.post("/v2/models/ages/infer", json={"inputs": [x]}, headers=good)
        assert "SENTINEL" in told.text
        strange = {"host": "evil.example", "origin": "http://evil.example", "idempotency-key": "SENTINEL"}
        for name, value in strange.items():
            client.post("/v2/models/ages/infer", json={"inputs": [x]}, headers=good | {name: value})
        client.get("/SENTINEL%0d%0a%7B%22status%22:200", headers=good)
        client.post("/v2/models/ages/infer", content=b"SENTINEL\xff", headers=good)
        metrics = client.get("/metrics", headers={"authorization": f"Bearer {holder}"})
    assert metrics.status_code == 200
    assert 'pcqr_queries_spent_total{release="ages"} 3.0' in metrics.text
    assert len(log.lines) > 50
    written = log.stream.getvalue()
    assert "/v2/models/{name}/infer" in written
    for found in (written, metrics.text.replace("pcqr_unstable_spent", "").replace("pcqr_unstable_remaining", "")):
        lower = found.replace("Unstable answers of a release", "")
        assert [word for word in (*SENTINELS, key, holder, key[5:15]) if word in lower] == []
    allowed = {"time", "level", "event", "method", "route", "status", "ms", "key"}
    for line in log.lines:
        if line["event"] == "request":
            assert set(line) == allowed | ({"client"} if line["status"] == 401 else set())
            assert line["key"] in ("ward-7", "boss", None)
            assert line["route"] in {"-", "/openapi.json", *paths}


async def fine(_: Request) -> Response:
    return Response(b"", 204)


def test_whoever_has_no_good_key_is_told_by_its_address(tmp_path: Path, log: Log) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.create("ward-7", "asker", Usage(None, None))
    app, _ = guarded(fine, keys=file.path)
    for given in (b"Bearer " + key.encode(), b"Bearer guess", None):
        ask(app, headers=[HOST, *([(b"authorization", given)] if given else [])], path="/v2")
    assert [(line["status"], line.get("client")) for line in log.lines] == [
        (204, None),
        (401, "127.0.0.1"),
        (401, "127.0.0.1"),
    ]


def test_a_failure_is_told_by_its_type_and_place(log: Log) -> None:
    async def broken(_: Request) -> Response:
        raise ValueError("SENTINEL in the message")

    assert ask(guarded(broken)[0]).status == 500
    told = [line["message"] for line in log.lines if line["event"] != "request"]
    assert told == ["a request failed: ValueError in server/requests.py, line " + told[0].split()[-1]]
    assert "SENTINEL" not in log.stream.getvalue()


def test_other_libraries_are_written_without_what_they_fill_in(log: Log) -> None:
    other = logging.getLogger("uvicorn.error")
    try:
        raise ValueError("SENTINEL")
    except ValueError:
        other.error("returned '%s'\nnew line", "SENTINEL", exc_info=True)
    (line,) = log.lines
    assert line["message"] == "returned '%s'\nnew line"
    assert line["failure"] == "ValueError"
    assert "SENTINEL" not in log.stream.getvalue()


@pytest.mark.parametrize("name", ["a\nb", "a\r\n{}", '"}', "ä", "\x1b[31m", "\u2028"])
def test_a_line_stays_one_line(log: Log, name: str) -> None:
    logging.getLogger("pcqr.x").warning("%s", name)
    (line,) = log.lines
    assert line["message"] == name
    assert log.stream.getvalue().isascii()


def test_milliseconds_are_rounded_up_to_the_schedule(log: Log) -> None:
    ask(guarded(fine, reply_every=0.02)[0])
    (line,) = log.lines
    assert line["ms"] % 20 == 0
    assert line["ms"] >= 20


async def _logged(line: Line) -> None:
    REQUESTS.add(line)


def test_configured_once_for_all(capsys: pytest.CaptureFixture[str]) -> None:
    root, ours = logging.getLogger(), logging.getLogger("pcqr")
    before = root.handlers[:], root.level, ours.level
    try:
        configure()
        asyncio.run(_logged(Line(0.25, "GET", "/v2", 200, 3, None, None)))
        logging.getLogger("pcqr.server").info("here")
        logging.getLogger("elsewhere").info("not this")
        logging.getLogger("elsewhere").warning("this")
    finally:
        root.handlers, root.level, ours.level = before
        logging.captureWarnings(capture=False)
    written = capsys.readouterr()
    request, *messages = map(json.loads, written.err.splitlines())
    assert (request["time"], request["route"], request["ms"]) == ("1970-01-01T00:00:00.250Z", "/v2", 3)
    assert [line["message"] for line in messages] == ["here", "this"], "after the request before them"
    assert written.out == ""
