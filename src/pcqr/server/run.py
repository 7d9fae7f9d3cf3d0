"""`pcqr serve` as a process: everything is opened and checked, then served until a signal comes."""

from __future__ import annotations

import asyncio
import errno
import gc
import ipaddress
import json
import logging
import os
import shutil
import signal
import socket
import ssl
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from prometheus_client.multiprocess import mark_process_dead

from pcqr.durable.directory import FACTS
from pcqr.errors import ParameterError, PcqrError
from pcqr.releases.protocol.answers import counted
from pcqr.server import logs
from pcqr.server.app import make_app
from pcqr.server.connections import Connections
from pcqr.server.keys import check_keys
from pcqr.server.requests import is_loopback, own_names
from pcqr.server.service import Place, ServedRelease, Service
from pcqr.server.state import ServerState, Settings

resource: Any
try:
    import resource
except ImportError:  # Windows
    resource = None

logger = logging.getLogger(__name__)


def serve(places: Sequence[Place], settings: Settings, say: Callable[[str], None]) -> None:
    """Serve until a signal ends it. `say` is called once, with the address, when requests are answered there.

    Raises
    ------
    PcqrError
        Nothing was served: an option, a release, a certificate or the file of keys cannot be used.
    """
    if settings.keys is not None:
        check_keys(settings.keys)
    own_names(settings)
    _check_names(settings)
    tls(settings)
    if settings.workers > 1:
        _check_ledgers(places)
    with bind(settings) as bound:
        logs.configure()
        if settings.certificate is None and not is_loopback(bound.getsockname()[0]):
            logger.warning("keys and answers travel in plain text: --certificate, or a proxy before this, must do TLS")
        address = address_of(bound, settings)
        places = [place.adopted() for place in places]
        if settings.workers > 1:
            work = _Worker(tuple(places), settings)
            watch(work, bound, settings.workers, lambda: say(address))
        else:
            service = Service.open(places)
            _warn_if_together(service)
            _serve(service, settings, bound, lambda _: say(address))


def _warn_if_together(service: Service) -> None:
    """Warn of each release whose anchor is on the volume of its ledger, so that both would be restored together."""
    for each in service.all:
        if isinstance(each, ServedRelease) and not each.release.quota_table().ledger.is_apart:
            logger.warning(
                "the anchor of %s is on the volume of its ledger: restored together, both are old, and nothing "
                "notices. Keep it on another volume (--anchor, PCQR_STATE_DIR)",
                each.name,
            )


def _check_names(settings: Settings) -> None:
    """A name for others means that a proxy lets others in: each of them would be the holder where there are no keys."""
    others = [name for name in settings.host_names if not is_loopback(name)]
    if settings.keys is None and others:
        allowed = "left out while there are no keys (make some: pcqr keys create NAME --role asker)"
        raise ParameterError("--host-name", allowed, others[0])


def _check_ledgers(places: Sequence[Place]) -> None:
    """Several processes can write to one log in PostgreSQL alone."""
    for place in places:
        facts = place.path / FACTS
        if facts.exists() and "://" not in (place.ledger or str(json.loads(facts.read_text()).get("ledger"))):
            allowed = f"1 for {place.name}, whose log is a file: several share a log in PostgreSQL (pcqr fit --ledger)"
            raise ParameterError("--workers", allowed, "more")


@dataclass(frozen=True)
class _Worker:
    """One of several processes. A value, so that it can be sent to a new one."""

    places: tuple[Place, ...]
    settings: Settings

    def __call__(self, bound: socket.socket, line: Connection) -> None:
        def started(server: Server) -> None:
            server.stop_with(line.fileno())
            line.send(True)

        logs.configure()
        try:
            _serve(Service.open(self.places), self.settings, bound, started)
        except PcqrError as error:
            logger.error("this worker cannot serve: %s", error)
            sys.exit(1)


def _serve(service: Service, settings: Settings, bound: socket.socket, started: Callable[[Server], None]) -> None:
    state = ServerState(settings, service)
    server = Server(make_app(state), state, tls(settings))
    server.on_start = lambda: started(server)
    try:
        with without_pauses():
            server.run(sockets=[bound])
    finally:
        service.close()  # once more, where an impatient end has not waited for the application
        logger.info("ended: %s and every release is closed", _in_the_end(server))


def _in_the_end(server: Server) -> str:
    remaining = server.requests_in_flight
    return f"{counted(remaining, 'request was', 'requests were')} not answered" if remaining else "all was answered"


@contextmanager
def without_pauses() -> Iterator[None]:
    """Keep Python's search for cycles away from what was there before.

    Every request that waits while younger objects are looked through counts as old, so under load all objects are
    looked through every few thousand requests. Most of them belong to libraries and live as long as the process;
    without them the search takes milliseconds, and with them a tenth of a second in which nobody is answered.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


# ---------------------------------------------------------------------------------------------------------------------
# Where the server listens: a bound socket, TLS, and the address that a person opens.


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


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_OWN_FILES = 128
"""Descriptors that are kept for everything but connections."""
_BACKLOG = 2048
_THREADS = 32
"""For what would hold up the event loop. One asker has a few of them at a time (`state.Share`)."""


class Server(uvicorn.Server):
    """uvicorn's. A signal ends it: nothing new is begun, what is in flight is answered, the application closes."""

    def __init__(self, app: Any, state: ServerState, context: ssl.SSLContext | None) -> None:
        settings = state.settings
        self._state, self._context = state, context
        state.most_connections = _room(settings.most_connections)
        self._connections = Connections(state)
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
        """As uvicorn's, with connections of our own."""
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

        seconds = None if self._context is None else self._state.settings.header_seconds
        return await asyncio.get_running_loop().create_server(
            connection, sock=bound, backlog=_BACKLOG, ssl=self._context, ssl_handshake_timeout=seconds
        )

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
        self._state.is_closing = True
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


# ---------------------------------------------------------------------------------------------------------------------
# Several processes that serve one address, for releases whose log is in PostgreSQL.
#
# Each worker is a new process (spawned: a forked release answers nothing). The first one only watches: it starts a
# worker anew that died, passes a signal on, and ends when all have ended. Workers whose watcher is gone end, too.


Work = Callable[[socket.socket, Connection], None]
"""Serve at the socket; send a word through the connection when that has begun, and end when its other end is closed."""

_STEP = 0.2
"""Seconds between two looks at workers and signals."""


class WorkersFailed(PcqrError, RuntimeError):
    """A worker ended before it could serve; its own message says why."""


@dataclass
class _Process:
    process: SpawnProcess
    line: Connection
    is_ready: bool = False


def watch(work: Work, bound: socket.socket, number: int, on_start: Callable[[], None]) -> None:
    """Run `work`, which a new process can import, in so many processes until a signal comes."""
    shared = Path(tempfile.mkdtemp(prefix="pcqr-metrics-"))
    os.environ[logs.SHARED] = str(shared)
    try:
        _Watch(work, bound, number, on_start).run()
    finally:
        del os.environ[logs.SHARED]
        shutil.rmtree(shared, ignore_errors=True)


class _Watch:
    def __init__(self, work: Work, bound: socket.socket, number: int, on_start: Callable[[], None]) -> None:
        self._work = work
        self._bound = bound
        self._number = number
        self._on_start = on_start
        self._is_ending = False

    def run(self) -> None:
        before = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        workers: list[_Process] = []
        try:
            workers = [self._started() for _ in range(self._number)]
            self._watch(workers)
        finally:
            _end_all(workers)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, *_: object) -> None:
        self._is_ending = True

    def _started(self) -> _Process:
        here, there = get_context("spawn").Pipe()
        process = get_context("spawn").Process(target=self._work, args=(self._bound, there))
        process.start()
        there.close()
        return _Process(process, here)

    def _watch(self, workers: list[_Process]) -> None:
        is_told = False
        while not self._is_ending:
            silent = [worker.line for worker in workers if not worker.is_ready]
            wait([*silent, *(worker.process.sentinel for worker in workers)], _STEP)
            for place, worker in enumerate(workers):
                if not worker.is_ready and worker.line.poll():
                    with suppress(EOFError):
                        worker.line.recv()
                        worker.is_ready = True
                if not worker.process.is_alive() and not self._is_ending:
                    if not worker.is_ready:
                        raise WorkersFailed("A worker could not begin to serve: all of them are ended.")
                    worker.line.close()
                    mark_process_dead(worker.process.pid)  # type: ignore[no-untyped-call]
                    workers[place] = self._started()
            if not is_told and all(worker.is_ready for worker in workers):
                is_told = True
                self._on_start()


def _end_all(workers: Sequence[_Process]) -> None:
    """Ask all to end, and wait: each has a limit of its own."""
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join()
        worker.line.close()
