"""Requests and responses, and what every request passes before an endpoint sees it.

`Application` is the ASGI application. For each request, in this order:

observed       a line in the log and the metrics for every request, refused ones too
on a tick      with --reply-every: every reply leaves at a moment that has nothing to do with its content
refused        whatever is raised within becomes the one JSON shape of errors; security headers on every reply
authenticated  who asks: Host, Origin, key
limited        the body, read whole within its limits, before anything else happens; so many requests at once
begun          with --reply-every: begin at a tick

A body is read whole before anything else happens. So a slow or endless body costs its sender's connection and no place
among the requests in flight, and nothing is spent on a request that never arrives. Nobody can take all of the memory:
an asker has a share of it, and the first bytes of a body are not counted, so that short requests are let in however
many long ones there are. The number of connections limits them.
"""

from __future__ import annotations

import asyncio
import inspect
import ipaddress
import re
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import parse_qs

from pydantic import BaseModel, ValidationError

from pcqr.errors import LedgerError, ParameterError, SecretError
from pcqr.server.bodies import LONG
from pcqr.server.errors import Refusal, refusal
from pcqr.server.keys import NOBODY, Asker, Keyring, holds_key
from pcqr.server.logs import EPISODES, REQUESTS, Line, log_failure
from pcqr.server.schedule import SECOND, Arrival
from pcqr.server.state import PART, ServerState, Settings, Share

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

MANY = 256
"""Rows whose reply is written, or that a model predicts, in a thread."""
BODIES = 16
"""Bodies of full size that may be held at once, by all requests together; of each, what is beyond the first `LONG`."""
_LINGER_SECONDS, _LINGER_BYTES = 1.0, 1 << 26
"""How long and how much of a refused body is still read: senders look for a reply only when they have sent."""
LIVE = "/v2/health/live"
JSON = b"application/json"


_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", _CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


def header_lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The headers as HTTP/1.1 has them."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


_SECURITY_LINES = header_lines(SECURITY_HEADERS)
WHOLE = "pcqr.whole"
"""The extension of ASGI by which a `Connection` takes a whole response: twice as fast as by two messages."""


class Response(NamedTuple):
    """A status, a body, and the headers that not every response has."""

    body: bytes
    status: int = 200
    media_type: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()
    cache: bytes = b"no-store"
    is_last: bool = False
    """Is the connection closed after it?"""

    @property
    def own_headers(self) -> tuple[tuple[bytes, bytes], ...]:
        length = (b"content-length", b"%d" % len(self.body))
        length_of_what_is_sent = () if self.status == 304 else (length,)  # RFC 9110, section 8.6
        return (
            *((b"content-type", self.media_type), *length_of_what_is_sent, (b"cache-control", self.cache)),
            *self.headers,
        )

    @property
    def header_lines(self) -> bytes:
        """All headers but those of the connection."""
        return header_lines(self.own_headers) + _SECURITY_LINES

    async def send(self, send: Send) -> None:
        """Send it as any server of ASGI takes it."""
        headers = [*self.own_headers, *SECURITY_HEADERS, *([(b"connection", b"close")] if self.is_last else ())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class Request:
    """One request. `body`, `asker` and `share` are set before an endpoint sees it, `names` are those in its path."""

    def __init__(self, scope: Scope, receive: Receive, state: ServerState) -> None:
        self.scope, self.receive, self.state = scope, receive, state
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers: dict[bytes, bytes] = {}
        self.repeated: set[bytes] = set()
        """Headers that came more than once: `headers` has the first of each."""
        for name, value in scope["headers"]:
            if name in self.headers:
                self.repeated.add(name)
            else:
                self.headers[name] = value
        self.asker = NOBODY
        self.body = b""
        self.is_read = False
        """Was the body read to its end?"""
        self.route: Route | None = None
        self.names: dict[str, str] = {}
        self.arrival: Arrival | None = None
        """On the grid of --reply-every."""
        self.refusal: Refusal | None = None

    @property
    def who(self) -> tuple[str, str]:
        """What tells askers apart: the name of a key, or an address where there are no keys."""
        if self.asker.name is not None:
            return "key", self.asker.name
        client = self.scope.get("client")
        return "address", str(client[0]) if client else ""

    @property
    def share(self) -> Share:
        return self.state.shares[self.who]

    @property
    def length(self) -> int | None:
        """The bytes of the body; None: its headers, which the parser has checked, do not say."""
        if b"transfer-encoding" in self.headers:
            return None
        value = self.headers.get(b"content-length", b"0")
        return int(value) if value.isdigit() and len(value) < 20 else None

    def header(self, name: str) -> str | None:
        found = self.headers.get(name.encode())
        return None if found is None else found.decode("latin-1")

    def takes_rows(self, rows: int) -> None:
        """Say how many rows the request has, once, before anything is asked of a release or a model."""
        if self.arrival is not None:
            self.arrival.takes(rows, self.who)

    def values(self, name: str) -> list[str]:
        """All values that the address has for a parameter."""
        return parse_qs(self.query, keep_blank_values=True).get(name, []) if self.query else []

    def parameters(self, model: type[M]) -> M:
        """What the address asks for, as `model` has it; others are refused."""
        given = {name: values[-1] for name, values in parse_qs(self.query, keep_blank_values=True).items()}
        try:
            return model.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][-1]) if first["loc"] else ""
            raise Refusal("bad_value", f"{name}: {first['msg']}.", {"parameter": name}) from None

    def check_holder(self) -> None:
        """Refuse whoever is not the holder."""
        if not self.asker.is_holder:
            raise Refusal("not_allowed", "Only a key with the role holder may see this.")

    async def in_thread(self, act: Callable[[], T], *, is_long: bool = False) -> T:
        """Return what `act` returns, run in a thread: long work of one asker one at a time, few threads for short."""
        share = self.share
        async with share.long if is_long else share.short:
            return await asyncio.to_thread(act)

    async def for_rows(self, act: Callable[[], T], rows: int) -> T:
        """Return what `act` returns, run at once for few rows, and in a thread for many."""
        return act() if rows <= MANY else await self.in_thread(act)


@dataclass(frozen=True)
class Route:
    """An endpoint, and what /openapi.json says of it. An endpoint that is no coroutine waits for disks: it runs in a
    thread."""

    method: str
    path: str
    endpoint: Callable[[Request], Response] | Callable[[Request], Awaitable[Response]]
    reply: type[BaseModel] | str | None = None
    """The shape of its JSON, or the type of its content; None: a part of the page, which is not documented."""
    refusals: tuple[str, ...] = ()
    parameters: tuple[dict[str, Any], ...] = ()
    query: type[BaseModel] | None = None
    body: dict[str, Any] | None = None
    pattern: re.Pattern[str] = field(init=False)
    waits: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path))))
        object.__setattr__(self, "waits", not inspect.iscoroutinefunction(self.endpoint))


Find = Callable[[Request], Route]
"""Return the route of a request and set its names, or refuse it."""


def finding(routes: Iterable[Route]) -> Find:
    """Return what finds the route of a request. Those of POST, which rows are sent to, are tried first."""
    ordered = sorted(routes, key=lambda route: (route.method != "POST", "{" in route.path))

    def find(request: Request) -> Route:
        others = []
        for route in ordered:
            found = route.pattern.fullmatch(request.path)
            if found is None:
                continue
            if request.method in (route.method, *(("HEAD",) if route.reply is None else ())):
                request.names = found.groupdict()
                return route
            others += [route.method, *(("HEAD",) if route.reply is None else ())]
        if not others:
            raise Refusal("unknown_path", "There is nothing at this path.")
        told = Refusal("wrong_method", "This path takes another method.")
        told.headers["Allow"] = ", ".join(others)
        raise told

    return find


class _Gone(Exception):
    """The client left before its request had arrived."""


class Application:
    """The ASGI application: every request goes through `__call__`, and to the route that `find` has for it."""

    def __init__(self, state: ServerState, find: Find) -> None:
        self.state = state
        self._find = find
        self._authentication = Authentication(state.settings)
        self._step = 1_000_000 if state.schedule is None else state.schedule.period
        """Nanoseconds that logged times are rounded up to, a multiple of: a millisecond, or the period of replies."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        begun, status = time.monotonic_ns(), None
        request = Request(scope, receive, self.state)
        self.state.metrics.begin()
        try:
            response = await self._scheduled(request)
            if response is not None:
                whole = scope.get("extensions", {}).get(WHOLE)
                await (response.send(send) if whole is None else whole(response))
                status = response.status
        finally:
            self._note(request, status, -(-(time.monotonic_ns() - begun) // self._step) * self._step)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await asyncio.to_thread(self.state.service.close)
        REQUESTS.flush()
        await send({"type": "lifespan.shutdown.complete"})

    def _note(self, request: Request, status: int | None, taken: int) -> None:
        """One line, and its part in the metrics."""
        route = "-" if request.route is None else request.route.path  # a path may hold anything
        client = request.scope.get("client")
        who = client[0] if status == 401 and client else None
        self.state.metrics.end(request.method, route, status, taken / SECOND)
        REQUESTS.add(Line(time.time(), request.method, route, status, taken // 1_000_000, request.asker.name, who))
        if status == 503 and request.refusal is not None:
            EPISODES.note(request.refusal)

    async def _scheduled(self, request: Request) -> Response | None:
        """Hold the reply until its tick has come, refused or not."""
        schedule = self.state.schedule
        if schedule is None:
            return await self._replied(request)
        request.arrival = schedule.arrived()
        try:
            response = await self._replied(request)
            await schedule.reply(request.arrival)
        finally:
            schedule.replied(request.arrival)
        return response

    async def _replied(self, request: Request) -> Response | None:
        """Return the response, whatever is raised within; None where the client has left."""
        try:
            request.asker = self._authentication.asker(request)
            if self.state.is_closing and request.path != LIVE:
                raise Refusal("closing", "The server is ending.")
            return await self._shared(request)
        except _Gone:
            return None
        except Exception as error:
            if not isinstance(error, Refusal | LedgerError):  # a ledger that is away is told once, and not here
                log_failure(error)
            request.refusal = refusal(error)
            return await _refused(request)

    async def _shared(self, request: Request) -> Response:
        """Count the request among those of its asker."""
        state, who = self.state, request.who
        share = state.shares.get(who)
        if share is None:
            share = state.shares[who] = Share()
        share.requests += 1
        try:
            if request.asker is not NOBODY and share.requests > max(1, state.most_connections // PART):
                raise _too_many_of_one()
            if request.length == 0:
                request.is_read = True
                return await self._let_in(request, share)
            return await self._with_body(request, share)
        finally:
            share.requests -= 1
            if not share.requests:
                state.shares.pop(who, None)

    async def _with_body(self, request: Request, share: Share) -> Response:
        length = request.length
        held = None if length is not None and length <= LONG else _Held(self.state, share)
        if length is not None and length > self.state.settings.most_bytes:
            raise _too_large(self.state.settings.most_bytes)
        try:
            try:
                async with asyncio.timeout(self.state.settings.read_seconds):
                    request.body = await _read(request, held)
            except TimeoutError:
                raise Refusal("too_slow", "The request did not arrive in time.") from None
            return await self._let_in(request, share)
        finally:
            if held is not None:
                held.give_back()

    async def _let_in(self, request: Request, share: Share) -> Response:
        """Have so many requests at once, of all and of one asker, and have the endpoint answer."""
        state, most = self.state, self.state.settings.most_requests
        if state.in_flight >= most:
            raise Refusal("overloaded", "Too many requests at once.")
        if request.asker is not NOBODY and share.in_flight >= max(1, most // PART):
            raise _too_many_of_one()
        state.in_flight += 1
        share.in_flight += 1
        try:
            if state.schedule is not None:
                request.arrival = state.schedule.arrived()
                await state.schedule.begin(request.arrival)
            route = request.route = self._find(request)
            if route.waits:
                return await request.in_thread(lambda: cast("Response", route.endpoint(request)))
            return await cast("Awaitable[Response]", route.endpoint(request))
        finally:
            state.in_flight -= 1
            share.in_flight -= 1


class _Held:
    """The bytes of one body that count: those beyond the first `LONG`."""

    def __init__(self, state: ServerState, share: Share) -> None:
        self._state, self._share = state, share
        self._most_bytes = state.settings.most_bytes
        self._bytes = 0

    def hold(self, length: int) -> None:
        """Count the bytes of a body. Refuse it if it is too long, or all bodies, or those of its asker, together."""
        if length > self._most_bytes:
            raise _too_large(self._most_bytes)
        if length <= LONG:
            return
        self._add(length - LONG - self._bytes)
        if self._state.held_bytes > BODIES * self._most_bytes:
            raise Refusal("overloaded", "Too many long requests at once.")
        if self._share.held_bytes > BODIES // PART * self._most_bytes:
            words = f"One asker may have {BODIES // PART} bodies of full size under way, or more that are shorter."
            raise Refusal("overloaded", words)

    def give_back(self) -> None:
        self._add(-self._bytes)

    def _add(self, more: int) -> None:
        self._bytes += more
        self._state.held_bytes += more
        self._share.held_bytes += more


async def _read(request: Request, held: _Held | None) -> bytes:
    """Return the whole body, which is counted unless it is short. Whoever calls gives its bytes back."""
    parts, length = [], 0
    while not request.is_read:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        part = message.get("body", b"")
        parts.append(part)
        length += len(part)
        request.is_read = not message.get("more_body", False)
        if held is not None:
            held.hold(length)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(most: int) -> Refusal:
    return Refusal("too_large", f"A body may have {most:,} bytes.", {"most": most})


def _too_many_of_one() -> Refusal:
    return Refusal("overloaded", "Too many requests of one asker at once.")


async def _refused(request: Request) -> Response:
    """Return a refusal. A body that nobody has read ends the connection: what follows it is no request."""
    told = request.refusal
    if told is None:
        raise AssertionError
    headers = told.headers
    if told.status == 401:
        headers |= {"WWW-Authenticate": 'Bearer realm="pcqr"'}
    is_last = told.code == "too_slow" or not await _is_read_to_its_end(request)
    written = tuple((name.lower().encode(), value.encode()) for name, value in headers.items())
    return Response(told.body, told.status, headers=written, is_last=is_last)


async def _is_read_to_its_end(request: Request) -> bool:
    """Read the rest of a refused body and forget it, for a moment: its sender looks for a reply only when it has sent.

    Whoever asks first whether to send the body (Expect) has not sent it.
    """
    if request.is_read or request.length == 0:
        return True
    remaining = 0 if b"expect" in request.headers else _LINGER_BYTES
    try:
        async with asyncio.timeout(_LINGER_SECONDS):
            while remaining > 0:
                message = await request.receive()
                remaining -= max(1, len(message.get("body", b"")))
                if not message.get("more_body", False):
                    return True
    except TimeoutError:
        pass
    return False


# ---------------------------------------------------------------------------------------------------------------------
# Who asks: by which name, from which page, with which key.


LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_OPEN = frozenset({LIVE, "/v2/health/ready"})
"""What is shown without a key beside the page that asks for it: that the server lives."""
_AUTHORITY = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{0,5}))?")
_ORIGIN = re.compile(r"(https?)://([^/?#@\s]+)")
_PORTS = {"http": "80", "https": "443"}
_ONCE = frozenset(
    {b"content-type", b"content-encoding", b"content-length", b"idempotency-key", b"inference-header-content-length"}
)
"""Headers that say how a request is to be read: of two, a proxy or a library may believe the other one."""
_STRANGER = Asker(None, "asker")
"""Whoever looks at the page without a key."""
_Authority = tuple[str, str | None]


class Authentication:
    """Let in whoever asks for this server by one of its names, not from a page elsewhere, with a good key."""

    def __init__(self, settings: Settings) -> None:
        self._keys = None if settings.keys is None else Keyring(settings.keys)
        self._names = own_names(settings)

    def asker(self, request: Request) -> Asker:
        """Return who asks, or refuse the request."""
        self._check_origin(request, self._host(request))
        if request.repeated:
            for name in _ONCE & request.repeated:
                raise Refusal("bad_http", f"The header {name.decode().title()} may come once.")
        if holds_key(request.query) or holds_key(request.path):
            raise Refusal(
                "wrong_key",
                "A key belongs into the header Authorization, never into an address: addresses are kept in histories "
                "and logs. Have this key revoked.",
            )
        return NOBODY if self._keys is None else self._by_key(request, self._keys)

    def _host(self, request: Request) -> _Authority:
        """The name and port that the request is addressed to; refused unless it is one of the server's own."""
        given = request.header("host")
        parsed = None if given is None or b"host" in request.repeated else _authority(given)
        if parsed is None or parsed[0] not in self._names:
            raise Refusal(
                "wrong_host",
                "This server is not known under the name that the header Host gives. It may be given one: --host-name.",
            )
        return parsed

    def _check_origin(self, request: Request, host: _Authority) -> None:
        """Refuse what a web page of another origin has sent.

        Browsers say where a request comes from: by Origin, wherever it could change something, and by Sec-Fetch-Site.
        The server's own origin is the host that it was asked for; behind a proxy the scheme may differ, with TLS here
        it may not. Other pages may link to the page itself and to its files, and to nothing that computes: a frame is a
        link, too.
        """
        origin, site = request.header("origin"), request.header("sec-fetch-site")
        if origin is None and site is None:
            return
        once = not {b"origin", b"sec-fetch-site", b"sec-fetch-mode"} & request.repeated
        is_link = request.headers.get(b"sec-fetch-mode") == b"navigate" and request.method in ("GET", "HEAD")
        is_own = once and (site in (None, "same-origin", "none") or (is_link and _is_page(request.path)))
        if is_own and origin is not None:
            found = _ORIGIN.fullmatch(origin)
            authority = _authority(found[2]) if found else None
            is_own = False
            if found and authority and (request.scope["scheme"] != "https" or found[1] == "https"):
                usual = _PORTS[found[1]]
                is_own = (authority[0], authority[1] or usual) == (host[0], host[1] or usual)
        if not is_own:
            raise Refusal("wrong_origin", "Web pages of other origins cannot use this server.")

    def _by_key(self, request: Request, keys: Keyring) -> Asker:
        given = request.header("authorization")
        if given is None:
            if request.method in ("GET", "HEAD") and (request.path in _OPEN or _is_page(request.path)):
                return _STRANGER
            raise Refusal("missing_key", "A key is needed: Authorization: Bearer KEY.")
        scheme, _, key = given.partition(" ")
        try:
            is_bearer = scheme.lower() == "bearer" and b"authorization" not in request.repeated
            asker = keys.asker(key.strip(" ")) if is_bearer else None
        except SecretError:  # said in the log when the file changed
            raise Refusal("internal", "The server cannot check keys now. Its log has more.") from None
        if asker is None:
            raise Refusal("wrong_key", "This key is not known here, or was revoked: Authorization: Bearer KEY.")
        return asker


def own_names(settings: Settings) -> frozenset[str]:
    """The names, without ports, that a request may be addressed to."""
    for name in settings.host_names:
        if (_authority(name) or (None, ""))[1] is not None:
            raise ParameterError("--host-name", "a name or an address, without a port", name)
    address = _address(settings.host)
    is_every = address is not None and address.is_unspecified
    return frozenset(map(_plain_name, (*LOOPBACK, *(() if is_every else (settings.host,)), *settings.host_names)))


def is_loopback(host: str) -> bool:
    """Does nobody but this machine reach a server that listens there?"""
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _plain_name(name: str) -> str:
    """One spelling for each name: small letters, no dot at the end, brackets around an address with colons."""
    name = name.lower().strip("[]").removesuffix(".")
    return f"[{ipaddress.IPv6Address(name).compressed}]" if ":" in name else name


@lru_cache(maxsize=64)
def _authority(text: str) -> _Authority | None:
    """The name, in its plain spelling, and the port of NAME, NAME:PORT, [V6] or [V6]:PORT; None: something else."""
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    try:
        return _plain_name(found[1]), found[2].lstrip("0") if found[2] else None
    except ValueError:
        return None


def _is_page(path: str) -> bool:
    """Is it the page, or one of its files: text that is the same for everybody?"""
    return path == "/" or path.startswith("/static/")
