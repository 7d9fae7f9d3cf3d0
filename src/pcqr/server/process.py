"""Where the server listens: a bound socket, TLS, and the address that a person opens."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from pcqr.errors import ParameterError
from pcqr.releases.protocol.answers import counted
from pcqr.server.connections import Connections, Handshakes
from pcqr.server.state import ServerState, Settings

_NEVER_ASKED = "-"
"""For a private key that wants a password: OpenSSL would ask for it on the terminal, and wait."""


def bind(settings: Settings) -> socket.socket:
    """A socket at `host` and `port`, not listening yet. Anything but loopback needs keys, whatever its name."""
    host = "127.0.0.1" if settings.host.lower() == "localhost" else settings.host.strip("[]")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise ParameterError("--host", "an address or a name of this machine", settings.host) from None
    if settings.keys is None and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise ParameterError(
            "--host",
            "this machine alone (127.0.0.1) while there are no keys (make some: pcqr keys create NAME --role asker)",
            settings.host,
        )
    bound = socket.socket(family, kind)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        return bound
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise ParameterError("--port", "one that no other program uses", settings.port) from None
        if error.errno == errno.EACCES:
            raise ParameterError("--port", "one that this user may use, from 1024 on", settings.port) from None
        raise ParameterError("--host", "an address of this machine", settings.host) from None


def tls(settings: Settings) -> ssl.SSLContext | None:
    """The certificate and its key as TLS wants them; None where neither is given."""
    if settings.certificate is None and settings.certificate_key is None:
        return None
    if settings.certificate is None:
        raise ParameterError("--certificate", "given with --key-file", None)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.certificate, settings.certificate_key, password=lambda: _NEVER_ASKED)
    except OSError as error:  # SSLError is one: the files do not fit together, or are no PEM
        reason = error.strerror if not isinstance(error, ssl.SSLError) and error.strerror else "not such files"
        allowed = "a certificate, and --key-file its private key without a password, both in PEM"
        raise ParameterError("--certificate", allowed, f"{settings.certificate} ({reason})") from None
    return context


def address_of(bound: socket.socket, settings: Settings) -> str:
    """What a person opens, with the port that was really taken."""
    host, port = bound.getsockname()[:2]
    if ipaddress.ip_address(host.partition("%")[0]).is_unspecified:
        host = settings.host_names[0] if settings.host_names else "localhost"
    scheme = "http" if settings.certificate is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


# ---------------------------------------------------------------------------------------------------------------------
# One process that serves: uvicorn, with our limits on connections and an end that loses nothing.


resource: Any
try:
    import resource
except ImportError:  # Windows
    resource = None

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_OWN_FILES = 128
"""Descriptors that are kept for everything but connections."""
_BACKLOG = 2048
_THREADS = 32
"""For what would hold up the event loop. One asker has a few of them at a time (`shares`)."""

logger = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """uvicorn's. A signal ends it: nothing new is begun, what is in flight is answered, the application closes."""

    def __init__(
        self, app: ASGIApp, gate: ServerState, headers: tuple[tuple[bytes, bytes], ...], context: ssl.SSLContext | None
    ) -> None:
        settings = gate.settings
        self._gate = gate
        self._context = context
        gate.most_connections = _room(settings.most_connections)
        self._connections = Connections(gate, headers)
        config = uvicorn.Config(
            app,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            workers=1,
            timeout_keep_alive=settings.keep_alive_seconds,
            timeout_graceful_shutdown=round(settings.close_seconds),
        )
        super().__init__(config)
        self.on_start: Callable[[], None] = lambda: None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, and with limits on TLS handshakes."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "pcqr aside"))
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(1)
        self.servers = [await self._listen(each) for each in sockets or []]
        self.started = True
        self.on_start()

    async def _listen(self, bound: socket.socket) -> Any:
        """What accepts connections at the socket, until its `close`."""

        def connection() -> asyncio.Protocol:
            make = self._connections.protocol
            return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

        if self._context is None:
            return await asyncio.get_running_loop().create_server(connection, sock=bound, backlog=_BACKLOG)
        seconds = self._gate.settings.header_seconds
        handshakes = Handshakes(bound, self._context, seconds, self._connections, connection)
        handshakes.start(_BACKLOG)
        return handshakes

    @property
    def requests_in_flight(self) -> int:
        """Requests whose headers have come and whose reply has not left yet."""
        return len(self.server_state.tasks)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, and the log says that it begins: here, since a handler of signals must not write."""
        logger.info("ending: %s", _first(self.requests_in_flight))
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, but the signal is not raised once more: an end that was asked for is a good one."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """From now on nothing new is begun; a second Ctrl-C does not wait for what is in flight."""
        self._gate.is_closing = True
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """End as a signal would."""
        self.handle_exit(signal.SIGTERM, None)

    def stop_with(self, descriptor: int) -> None:
        """End when the other end of this pipe is closed. For the running loop."""
        loop = asyncio.get_running_loop()

        def closed() -> None:
            loop.remove_reader(descriptor)
            self.stop()

        loop.add_reader(descriptor, closed)


def _first(requests: int) -> str:
    if not requests:
        return "no request is in flight"
    return f"{counted(requests, 'request in flight is', 'requests in flight are')} answered first"


def _room(wanted: int) -> int:
    """As many connections as are wanted, or as the system allows files to be open."""
    if resource is None:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = wanted + _OWN_FILES
    if soft != resource.RLIM_INFINITY and soft < enough:
        soft = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft - _OWN_FILES))
