"""Limits on one request and on all together: bytes, time, how many at once. Connections are in `connections`.

A body is read whole before anything else happens. So a slow or endless body costs its sender's connection and no place
among the requests in flight, and nothing is spent on a request that never arrives. Nobody can take all of the memory:
an asker has a share of it (`shares`), and the first bytes of a body are not counted, so that short requests are let in
however many long ones there are. The number of connections limits them.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from collections.abc import Iterable

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pcqr.errors import LedgerError, ParameterError, SecretError
from pcqr.server.errors import Refusal, refusal
from pcqr.server.keys import ASKER, NOBODY, Asker, Keyring, holds_key
from pcqr.server.logs import REFUSED, Observed, log_failure
from pcqr.server.schedule import PART, BegunOnTicks, RepliesOnTicks, Share
from pcqr.server.shapes import LONG
from pcqr.server.state import ServerState, Settings

IS_READ = "pcqr.is_read"
"""Where the scope says that the body was read to its end."""
_ALWAYS = "/v2/health/live"
BODIES = 16
"""Bodies of full size that may be held at once, by all requests together; of each, what is beyond the first `LONG`."""
_LINGER_SECONDS, _LINGER_BYTES = 1.0, 1 << 26
"""How long and how much of a refused body is still read: senders look for a reply only when they have sent."""


class Gone(Exception):
    """The client left before its request had arrived."""


class Limits:
    """Read the body, within its limits; then let in as many at once as may be."""

    def __init__(self, app: ASGIApp, gate: ServerState) -> None:
        self.app = app
        self.gate = gate
        self.most_bytes = gate.settings.most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        gate = self.gate
        if gate.is_closing and scope["path"] != _ALWAYS:
            raise Refusal("closing", "The server is ending.")
        with gate.shares.of(scope) as share:
            if share.is_limited and share.requests > max(1, gate.most_connections // PART):
                raise _too_many_of_one()
            await self._within(share, scope, receive, send)

    async def _within(self, share: Share, scope: Scope, receive: Receive, send: Send) -> None:
        gate, length = self.gate, _length(scope)
        if length == 0:
            scope[IS_READ] = True
            await self._let_in(share, scope, receive, send)
            return
        if length is not None and length > self.most_bytes:
            raise self._too_large()
        held = _Held(gate, share, self.most_bytes)
        try:
            try:
                async with asyncio.timeout(gate.settings.read_seconds):
                    body = await self._read(scope, held, receive)
            except TimeoutError:
                raise Refusal("too_slow", "The request did not arrive in time.") from None
            except Gone:
                return
            await self._let_in(share, scope, _replaying(body, receive), send)
        finally:
            held.give_back()

    async def _read(self, scope: Scope, held: _Held, receive: Receive) -> bytes:
        """Return the whole body. Whoever calls gives its bytes back, however this ends."""
        body = bytearray()
        while not scope.get(IS_READ):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            body += message.get("body", b"")
            scope[IS_READ] = not message.get("more_body", False)
            if len(body) > self.most_bytes:
                raise self._too_large()
            held.hold(len(body))
        return bytes(body)

    async def _let_in(self, share: Share, scope: Scope, receive: Receive, send: Send) -> None:
        gate, most = self.gate, self.gate.settings.most_requests
        if gate.in_flight >= most:
            raise Refusal("overloaded", "Too many requests at once.")
        if share.is_limited and share.in_flight >= max(1, most // PART):
            raise _too_many_of_one()
        gate.in_flight += 1
        share.in_flight += 1
        try:
            await self.app(scope, receive, send)
        finally:
            gate.in_flight -= 1
            share.in_flight -= 1

    def _too_large(self) -> Refusal:
        return Refusal("too_large", f"A body may have {self.most_bytes:,} bytes.", {"most": self.most_bytes})


class _Held:
    """The bytes of one body that count: those beyond the first `LONG`."""

    def __init__(self, gate: ServerState, share: Share, most_bytes: int) -> None:
        self._gate, self._share, self._most_bytes = gate, share, most_bytes
        self._bytes = 0

    def hold(self, length: int) -> None:
        """Count the bytes of a body. Refuse it if all bodies, or those of its asker, are too long together."""
        self._add(max(0, length - LONG) - self._bytes)
        if self._bytes and self._gate.held_bytes > BODIES * self._most_bytes:
            raise Refusal("overloaded", "Too many long requests at once.")
        if self._bytes and self._share.held_bytes > BODIES // PART * self._most_bytes:
            words = f"One asker may have {BODIES // PART} bodies of full size under way, or more that are shorter."
            raise Refusal("overloaded", words)

    def give_back(self) -> None:
        self._add(-self._bytes)

    def _add(self, more: int) -> None:
        self._bytes += more
        self._gate.held_bytes += more
        self._share.held_bytes += more


def _too_many_of_one() -> Refusal:
    return Refusal("overloaded", "Too many requests of one asker at once.")


def _length(scope: Scope) -> int | None:
    """The bytes of the body, as its headers have it; None: they do not say. The parser has checked these headers."""
    length: int | None = 0
    for name, value in scope["headers"]:
        if name == b"transfer-encoding":
            return None
        if name == b"content-length":
            length = int(value) if value.isdigit() and len(value) < 20 else None
    return length


def _replaying(body: bytes, receive: Receive) -> Receive:
    is_given = False

    async def replayed() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


async def is_read_to_its_end(scope: Scope, receive: Receive) -> bool:
    """Read the rest of a refused body and forget it, for a moment: its sender looks for a reply only when it has sent.

    Whoever asks first whether to send the body (Expect) has not sent it.
    """
    if scope.get(IS_READ) or _length(scope) == 0:
        return True
    remaining, until = _LINGER_BYTES, time.monotonic() + _LINGER_SECONDS
    if any(name == b"expect" for name, _ in scope["headers"]):
        remaining = 0
    try:
        async with asyncio.timeout(_LINGER_SECONDS):
            while remaining > 0 and time.monotonic() < until:
                message = await receive()
                remaining -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return True
    except TimeoutError:
        pass
    return False


# ---------------------------------------------------------------------------------------------------------------------
# What every request passes before an endpoint sees it: pure ASGI middleware, the first of the list outermost.
#
# observed    a line in the log and the metrics for every request, refused ones too
# on ticks    with --reply-every: every reply leaves at a moment that has nothing to do with its content
# refusing    whatever is raised within becomes the one JSON shape of errors; security headers on every reply
# door        who asks: Host, Origin, key
# limits      the body, read whole within its limits, before anything else happens
# begun       with --reply-every: begin at a tick


LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_OPEN = frozenset({"/v2/health/live", "/v2/health/ready"})
"""What is shown without a key beside the page that asks for it: that the server lives."""
_HOLDERS = frozenset({"/metrics"})
_AUTHORITY = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{0,5}))?")
_ORIGIN = re.compile(r"(https?)://([^/?#@\s]+)")
_PORTS = {"http": "80", "https": "443"}
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
_EVERYWHERE = (*SECURITY_HEADERS, (b"cache-control", b"no-store"))


def middleware(gate: ServerState) -> list[Middleware]:
    """The layers, outermost first."""
    layers = [Middleware(Refusing), Middleware(Authentication, settings=gate.settings), Middleware(Limits, gate=gate)]
    if gate.schedule is not None:
        replies, begun = (Middleware(layer, schedule=gate.schedule) for layer in (RepliesOnTicks, BegunOnTicks))
        layers = [replies, *layers, begun]
    return [Middleware(Observed, gate=gate), *layers]


class Refusing:
    """Tell whatever is raised within as a reply, and put the security headers on every reply."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_started = False

        async def secured(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                given = message.get("headers", ())
                names = {name for name, _ in given}
                message["headers"] = [*given, *(header for header in _EVERYWHERE if header[0] not in names)]
            await send(message)

        try:
            await self.app(scope, receive, secured)
        except Exception as error:
            if not isinstance(error, Refusal | LedgerError):  # a ledger that is away is told once, and not here
                log_failure(error)
            if has_started:  # nothing better can be said: the connection is closed in the middle of the reply
                raise
            scope[REFUSED] = refusal(error)
            await _refuse(scope[REFUSED], scope, receive, secured)


async def _refuse(told: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a refusal. A body that nobody has read ends the connection: what follows must not be taken for a request."""
    headers = [(b"content-type", b"application/json")]
    headers += [(name.lower().encode(), value.encode()) for name, value in told.headers.items()]
    if told.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="pcqr"'))
    if told.code == "too_slow" or not await is_read_to_its_end(scope, receive):
        headers.append((b"connection", b"close"))
    body = told.body
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": told.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Authentication:
    """Let in whoever asks for this server by one of its names, not from a page elsewhere, with a good key."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.keys = None if settings.keys is None else Keyring(settings.keys)
        self.names = own_names(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "http":
            scope[ASKER] = self._asker(scope)
        await self.app(scope, receive, send)

    def _asker(self, scope: Scope) -> Asker:
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            if name in _LOOKED_AT:
                headers.setdefault(name, []).append(value.decode("latin-1"))
        host = _host(headers.get(b"host", []), self.names)
        _check_origin(headers, host, scope)
        for name in _ONCE:
            if len(headers.get(name, ())) > 1:
                raise Refusal("bad_http", f"The header {name.decode().title()} may come once.")
        return self._found(headers.get(b"authorization", []), scope)

    def _found(self, given: list[str], scope: Scope) -> Asker:
        path, query = scope["path"], scope["query_string"].decode("latin-1")
        if holds_key(query) or holds_key(path):
            raise Refusal(
                "wrong_key",
                "A key belongs into the header Authorization, never into an address: addresses are kept in histories "
                "and logs. Have this key revoked.",
            )
        if self.keys is None:
            return NOBODY
        if not given:
            if _is_open(path, scope["method"]):
                return _STRANGER
            raise Refusal("missing_key", "A key is needed: Authorization: Bearer KEY.")
        scheme, _, key = given[0].partition(" ")
        asker = self._known(key.strip(" ")) if len(given) == 1 and scheme.lower() == "bearer" else None
        if asker is None:
            raise Refusal("wrong_key", "This key is not known here, or was revoked: Authorization: Bearer KEY.")
        if path in _HOLDERS and not asker.is_holder:
            raise Refusal("not_allowed", "Only a key with the role holder may see this.")
        return asker

    def _known(self, key: str) -> Asker | None:
        if self.keys is None:
            raise AssertionError
        try:
            return self.keys.asker(key)
        except SecretError:  # said in the log when the file changed
            raise Refusal("internal", "The server cannot check keys now. Its log has more.") from None


_ONCE = frozenset(
    {b"content-type", b"content-encoding", b"content-length", b"idempotency-key", b"inference-header-content-length"}
)
"""Headers that say how a request is to be read: of two, a proxy or a library may believe the other one."""
_LOOKED_AT = frozenset({b"host", b"origin", b"authorization", b"sec-fetch-site", b"sec-fetch-mode"}) | _ONCE
_STRANGER = Asker(None, "asker")
"""Whoever looks at the page without a key."""


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


def _host(given: list[str], names: Iterable[str]) -> tuple[str, str | None]:
    """The name and port that the request is addressed to; refused unless it is one of the server's own."""
    parsed = _authority(given[0]) if len(given) == 1 else None
    if parsed is None or parsed[0] not in names:
        raise Refusal(
            "wrong_host",
            "This server is not known under the name that the header Host gives. It may be given one: --host-name.",
        )
    return parsed


def _authority(text: str) -> tuple[str, str | None] | None:
    """The name, in its plain spelling, and the port of NAME, NAME:PORT, [V6] or [V6]:PORT; None: something else."""
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    try:
        return _plain_name(found[1]), found[2].lstrip("0") if found[2] else None
    except ValueError:
        return None


def _check_origin(headers: dict[bytes, list[str]], host: tuple[str, str | None], scope: Scope) -> None:
    """Refuse what a web page of another origin has sent.

    Browsers say where a request comes from: by Origin, wherever it could change something, and by Sec-Fetch-Site. The
    server's own origin is the host that it was asked for; behind a proxy the scheme may differ, with TLS here it may
    not. Other pages may link to the page itself and to its files, and to nothing that computes: a frame is a link, too.
    """
    origins = headers.get(b"origin", [])
    sites, modes = headers.get(b"sec-fetch-site", []), headers.get(b"sec-fetch-mode", [])
    is_link = modes == ["navigate"] and scope["method"] in ("GET", "HEAD") and _is_page(scope["path"])
    is_foreign = any(site not in ("same-origin", "none") for site in sites) and not is_link
    if origins:
        found = _ORIGIN.fullmatch(origins[0]) if len(origins) == 1 else None
        authority = _authority(found[2]) if found else None
        if found is None or authority is None or (scope["scheme"] == "https" and found[1] != "https"):
            is_foreign = True
        else:
            usual = _PORTS[found[1]]
            is_foreign |= (authority[0], authority[1] or usual) != (host[0], host[1] or usual)
    if is_foreign:
        raise Refusal("wrong_origin", "Web pages of other origins cannot use this server.")


def _is_open(path: str, method: str) -> bool:
    return method in ("GET", "HEAD") and (path in _OPEN or _is_page(path))


def _is_page(path: str) -> bool:
    """Is it the page, or one of its files: text that is the same for everybody?"""
    return path == "/" or path.startswith("/static/")
