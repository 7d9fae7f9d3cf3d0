"""Who is let in: by whose name, from which page, with which key."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import asgi
from support.asgi import HOST, Reply, ask, asked, scope

from pcqr.errors import ParameterError
from pcqr.releases.protocol.answers import Usage
from pcqr.server.endpoints import metrics
from pcqr.server.keys import KeyFile
from pcqr.server.requests import SECURITY_HEADERS, Application, Request, Response, is_loopback, own_names
from pcqr.server.state import Settings

BODY_HEADERS = (HOST, (b"content-length", b"2"))


async def endpoint(request: Request) -> Response:
    """Says who asks."""
    who = request.asker
    told = {"name": who.name, "role": who.role, "queries": who.allowance.queries, "unstable": who.allowance.unstable}
    return Response(json.dumps(told).encode())


def guarded(inner: asgi.Endpoint = endpoint, **settings: Any) -> Application:
    return asgi.guarded(inner, **settings)[0]


def host(value: bytes, app: Application | None = None) -> Reply:
    return ask(app or guarded(), headers=[(b"host", value)])


@pytest.mark.parametrize(
    "value",
    (
        b"localhost localhost:8080 LOCALHOST:1 localhost. localhost.:8080 127.0.0.1 127.0.0.1:8080 "
        b"[::1] [::1]:8080 [0:0:0:0:0:0:0:1]:8080 localhost:"
    ).split(),
)
def test_loopback_is_known_under_its_names(value: bytes) -> None:
    assert host(value).status == 200


@pytest.mark.parametrize(
    "value",
    [
        *(
            b"evil.example evil.example:8080 localhost.evil.example evil.example.localhost "
            b"localhost@evil.example localhost:8080@evil.example localhost:80:80 localhost:x "
            b"localhost:999999 localhost,evil.example http://localhost localhost/ localhost.. 127.1 "
            b"2130706433 0.0.0.0 127.0.0.2 ::1 [::1 [::ffff:127.0.0.1] [:::] [localhost] *"
        ).split(),
        b"",
        b"localhost evil.example",
        b" localhost",
        b"l\xf6calhost",
        b"localhost\x00",
        b"localhost\n",
    ],
)
def test_other_names_are_misdirected(value: bytes) -> None:
    told = host(value)
    assert (told.status, told.code) == (421, "wrong_host")
    assert b"evil" not in told.body


@pytest.mark.parametrize("headers", [[], [HOST, HOST], [HOST, (b"host", b"evil.example")]])
def test_one_host_and_no_more(headers: list[tuple[bytes, bytes]]) -> None:
    assert ask(guarded(), headers=headers).code == "wrong_host"


def test_names_can_be_added_and_an_address_is_its_own_name() -> None:
    app = guarded(host_names=("Answers.Hospital.Example",), host="10.1.2.3", keys=Path("none"))
    assert [host(name, app).status for name in (b"answers.hospital.example.:443", b"10.1.2.3:8080")] == [200, 200]
    assert host(b"hospital.example", app).code == "wrong_host"
    assert "0.0.0.0" not in own_names(Settings(host="0.0.0.0"))  # noqa: S104
    assert "[::]" not in own_names(Settings(host="::"))
    for wrong in ("http://x", "x:8080", "", "x y", "*", "ä.example"):
        with pytest.raises(ParameterError, match="--host-name"):
            own_names(Settings(host_names=(wrong,)))
    assert [is_loopback(each) for each in ("127.9.9.9", "::1", "Localhost", "10.0.0.1", "::", "evil.example")] == [
        *(True, True, True),
        *(False, False, False),
    ]


@given(st.binary(max_size=40))
def test_whatever_host_says_there_is_a_documented_reply(value: bytes) -> None:
    assert host(value).status in (200, 421)


def origin(*values: bytes, at: bytes = b"127.0.0.1:8080", app: Application | None = None, **more: bytes) -> Reply:
    extra = [(name.replace("_", "-").encode(), value) for name, value in more.items()]
    headers = [(b"host", at), *((b"origin", value) for value in values), *extra, (b"content-length", b"2")]
    return ask(app or guarded(), "POST", "/v2/models/a/infer", headers=headers, parts=[b"{}"])


@pytest.mark.parametrize(
    ("value", "at"),
    [
        (b"http://127.0.0.1:8080", b"127.0.0.1:8080"),
        (b"http://LOCALHOST:8080", b"localhost:8080"),
        (b"http://[::1]:8080", b"[::1]:8080"),
        (b"http://localhost", b"localhost:80"),
        (b"https://localhost", b"localhost"),
        (b"https://localhost:443", b"localhost"),
    ],
)
def test_the_servers_own_page_may_ask(value: bytes, at: bytes) -> None:
    assert origin(value, at=at).status == 200


@pytest.mark.parametrize(
    "value",
    [
        *(
            b"null http://evil.example http://127.0.0.1 http://127.0.0.1:3000 http://localhost:8080 "
            b"http://127.0.0.1:8080.evil.example http://127.0.0.1:8080@evil.example "
            b"http://evil.example@127.0.0.1:8080 http://127.0.0.1:8080/ http://127.0.0.1:8080# "
            b"ftp://127.0.0.1:8080 file:// chrome-extension://127.0.0.1:8080 127.0.0.1:8080"
        ).split(),
        b"",
        b"http://127.0.0.1:8080 http://evil.example",
    ],
)
def test_pages_elsewhere_may_not(value: bytes) -> None:
    told = origin(value)
    assert (told.status, told.code) == (403, "wrong_origin")


def test_with_tls_a_page_without_it_is_another_origin() -> None:
    of = scope("GET", "/", [(b"host", b"localhost"), (b"origin", b"http://localhost")]) | {"scheme": "https"}
    told = asyncio.run(asked(guarded(), of))
    assert told is not None
    assert told.code == "wrong_origin"


@pytest.mark.parametrize("site", [b"cross-site", b"same-site"])
def test_what_a_page_elsewhere_loads_without_an_origin_is_refused(site: bytes) -> None:
    """Images, scripts and forms of other pages send no Origin with GET; other ports of localhost are the same site."""
    app = guarded()
    images = ask(app, headers=[HOST, (b"sec-fetch-site", site), (b"sec-fetch-mode", b"no-cors")])
    assert images.code == "wrong_origin"
    followed = [HOST, (b"sec-fetch-site", site), (b"sec-fetch-mode", b"navigate")]
    assert [ask(app, path=path, headers=followed).status for path in ("/", "/static/main.js")] == [200, 200]
    for path in ("/v1/plan", "/v1/releases", "/v2", "/v2/health/ready", "/openapi.json", "/metrics", "/static"):
        frame = ask(app, path=path, headers=[*followed, (b"sec-fetch-dest", b"iframe")])
        assert frame.code == "wrong_origin", f"a frame of another page has {path} computed"
    form = ask(app, "POST", headers=[HOST, (b"sec-fetch-site", site), (b"sec-fetch-mode", b"navigate")])
    assert form.code == "wrong_origin", "a form of another page, of a browser that sends no Origin with it"
    for own in (b"same-origin", b"none"):
        assert ask(app, headers=[HOST, (b"sec-fetch-site", own), (b"sec-fetch-mode", b"cors")]).status == 200


@pytest.mark.parametrize(
    ("name", "values"),
    [
        (b"idempotency-key", (b"one", b"two")),
        (b"idempotency-key", (b"one", b"one")),
        (b"content-type", (b"application/json", b"text/plain")),
        (b"content-encoding", (b"identity", b"gzip")),
        (b"content-length", (b"2", b"3")),
        (b"inference-header-content-length", (b"2", b"1")),
    ],
)
def test_a_header_that_says_how_to_read_a_request_comes_once(name: bytes, values: tuple[bytes, ...]) -> None:
    """Whoever stands in between may believe the other one."""
    told = ask(guarded(), "POST", headers=[HOST, *((name, value) for value in values)], parts=[b"{}"])
    assert (told.status, told.code) == (400, "bad_http")
    assert values[0] not in told.body


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    file = KeyFile(path)
    return path, file.create("ward-7", "asker", Usage(100, 5)), file.create("boss", "holder", Usage(None, None))


def with_key(app: Application, *values: str, path: str = "/v1/budget", **more: Any) -> Reply:
    given = [(b"authorization", value.encode("latin-1")) for value in values]
    return ask(app, path=path, headers=[HOST, *given], **more)


def test_a_key_says_who_asks(keys: tuple[Path, str, str]) -> None:
    app = guarded(keys=keys[0])
    asker = {"name": "ward-7", "role": "asker", "queries": 100, "unstable": 5}
    for spelling in ("Bearer", "bearer", "BEARER", "Bearer  "):
        assert json.loads(with_key(app, f"{spelling} {keys[1]}").body) == asker
    assert json.loads(with_key(app, f"Bearer {keys[2]}").body)["role"] == "holder"


def test_without_keys_everybody_here_is_the_holder() -> None:
    told = json.loads(ask(guarded(), path="/v1/budget").body)
    assert told == {"name": None, "role": "holder", "queries": None, "unstable": None}


@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "Basic {}",
        "Token {}",
        "Bearer{}",
        "Bearer",
        "Bearer {}x",
        "Bearer {} {}",
        "Bearer\t{}",
        ":{}",
        'Bearer "{}"',
    ],
)
def test_wrong_schemes_are_wrong_keys(keys: tuple[Path, str, str], form: str) -> None:
    told = with_key(guarded(keys=keys[0]), form.replace("{}", keys[1]))
    assert (told.status, told.code) == (401, "wrong_key")
    assert told.header("www-authenticate") == 'Bearer realm="pcqr"'
    assert keys[1].encode() not in told.body


def test_what_is_open_without_a_key(keys: tuple[Path, str, str]) -> None:
    app = guarded(keys=keys[0])
    for path in ("/", "/static/page.css", "/v2/health/live", "/v2/health/ready"):
        assert ask(app, path=path).status == 200
        assert json.loads(ask(app, path=path).body)["role"] == "asker"
        assert ask(app, "POST", path).code == "missing_key"
    closed = (
        *(
            "/v2",
            "/v2/models/a",
            "/v2/models/a/ready",
            "/v1/releases",
            "/openapi.json",
            "/metrics",
            "/docs",
            "/nowhere",
        ),
        *("//", "/static", "/static%2f", "/v2/health", "/v2/health/live/", "/v2/health/live/../x", "/STATIC/x", ""),
    )
    for path in closed:
        told = ask(app, path=path)
        assert (path, told.status, told.code) == (path, 401, "missing_key")


def test_metrics_are_for_the_holder(keys: tuple[Path, str, str]) -> None:
    app = guarded(metrics, keys=keys[0])
    assert with_key(app, f"Bearer {keys[1]}", path="/metrics").code == "not_allowed"
    assert with_key(app, f"Bearer {keys[2]}", path="/metrics").status == 200


def test_a_key_in_an_address_is_refused_even_beside_a_good_one(keys: tuple[Path, str, str]) -> None:
    app = guarded(keys=keys[0])
    for told in (
        with_key(app, f"Bearer {keys[1]}", query=f"key={keys[1]}".encode()),
        with_key(app, query=f"a=1&x={keys[1]}&b=2".encode()),
        with_key(app, path=f"/v1/{keys[1]}"),
        ask(guarded(), query=f"key={keys[1]}".encode()),
    ):
        assert (told.status, told.code) == (401, "wrong_key")
        assert keys[1].encode() not in told.body


def test_revoked_keys_and_damaged_files(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key, other = (file.create(name, "asker", Usage(None, None)) for name in "ab")
    app = guarded(keys=file.path)
    assert with_key(app, f"Bearer {key}").status == 200
    file.revoke("a")
    assert with_key(app, f"Bearer {key}").code == "wrong_key"
    file.path.write_text("{")
    told = with_key(app, f"Bearer {other}")
    assert (told.status, told.code) == (500, "internal")
    assert with_key(app).code == "missing_key"


def test_every_reply_has_the_security_headers() -> None:
    async def page(_: Request) -> Response:
        return Response(b"", cache=b"max-age=60")

    async def broken(_: Request) -> Response:
        raise ZeroDivisionError("a secret")

    good, refused, failed = (ask(guarded(page)), host(b"evil.example"), ask(guarded(broken)))
    for told in (good, refused, failed):
        assert {name: told.header(name.decode()) for name, _ in SECURITY_HEADERS} == {
            name: value.decode() for name, value in SECURITY_HEADERS
        }
    assert good.header("cache-control") == "max-age=60"
    assert refused.header("cache-control") == failed.header("cache-control") == "no-store"
    assert (failed.status, failed.code) == (500, "internal")
    assert b"secret" not in failed.body
    policy = good.header("content-security-policy") or ""
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_websockets_are_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(guarded()({"type": "websocket", "path": "/", "headers": []}, partial(asyncio.sleep, 0), send))  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]
