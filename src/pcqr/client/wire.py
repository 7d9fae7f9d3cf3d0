"""One conversation with a server: tries, waits, limits. A server is not trusted: it can neither hang nor flood us.

Every try has a deadline for the whole of it, from the first byte sent to the last one read, however slowly they drip:
a timer closes the connection. A reply has a largest size, compressed ones and redirects are refused. Whatever changes
something carries a token of its own (`Idempotency-Key`), so a try whose reply was lost is repeated without being
answered, or counted, twice.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pcqr.client.address import Address
from pcqr.client.errors import BadReply, ServiceAway, quoted
from pcqr.documents.reading import parse
from pcqr.entropy import SystemEntropy
from pcqr.errors import MissingExtra, ParameterError
from pcqr.forks import this_process

if TYPE_CHECKING:
    import httpx

TRIES = 5
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
"""Seconds between tries: twice as many each time, or as many as the server says, and never more than the longest."""
MOST_BYTES = 32 << 20
"""Of a reply."""
LATER = (408, 429, 502, 503, 504)
"""Statuses that may be others the next time."""


@dataclass(frozen=True)
class Reply:
    """A status, and the JSON that came with it."""

    status: int
    content: Any


def new_token() -> str:
    """A token for one request, which all its tries carry."""
    return SystemEntropy().bytes(16).hex()


class Wire:
    """Requests to one server, one at a time. `open_client` makes the client of httpx that a process uses."""

    def __init__(self, address: Address, open_client: Callable[[], httpx.Client], timeout: float) -> None:
        self.address = address
        self._open_client = open_client
        self._timeout = timeout
        self._turn = threading.Lock()
        self._client: httpx.Client | None = None
        self._owner = this_process()
        self._stream: Any = None
        self._was_there = False
        """Has the server ever replied? Until then nobody waits for one that is not there."""

    def call(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> Reply:
        """What the server says in the end: a reply of status 200, or one that trying again would not change.

        Raises `ServiceAway` when the tries are used up, `BadReply` for what no pcqr server says.
        """
        headers = {} if body is None else {"Content-Type": "application/json"}
        if token is not None:
            headers["Idempotency-Key"] = token
        why = ""
        self._part_from_parent()
        for attempt in range(TRIES):
            try:
                with self._turn:
                    reply, pause = self._tried(method, path, headers, body)
                self._was_there = True
            except _Dropped as dropped:
                why, pause = str(dropped), None
            else:
                if reply.status not in LATER:
                    return reply
                why = f"said {reply.status}: {_words(reply)}"
            if attempt < TRIES - 1:
                wait(min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt if pause is None else pause))
        scheme = "" if self._was_there or self.address.is_encrypted else "Is it https:// there? "
        raise ServiceAway(
            self.address.server,
            f"does not answer after {TRIES} tries; the last one {why}",
            f"{scheme}Is it running there (pcqr serve), and can this machine reach it? Ask again later: what was "
            "answered meanwhile is in its log and is given again at no cost.",
        )

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._owner == this_process():
            client.close()

    def _tried(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[Reply, float | None]:
        """One try: the reply, and the seconds after which the server wants to be asked again."""
        import httpx  # noqa: PLC0415 - an extra

        client = self._client = self._client or self._open_client()
        with self._deadline() as is_over:
            try:
                with client.stream(
                    method,
                    f"{self.address.server}{path}",
                    headers=headers,
                    content=body,
                    extensions={"trace": self._traced},
                ) as response:
                    content = self._read(response, is_over)
            except httpx.TransportError as error:
                raise self._lost(error, is_over) from None
            except httpx.HTTPError as error:
                raise self._bad(f"sent what is no HTTP ({type(error).__name__})") from None
            finally:
                client.cookies.clear()
        if is_over.is_set():
            raise _Dropped("took too long")
        return Reply(response.status_code, self._parsed(response, content)), _seconds(response)

    def _read(self, response: httpx.Response, is_over: threading.Event) -> bytes:
        if 300 <= response.status_code < 400:
            raise self._bad(f"sends us elsewhere (status {response.status_code}), where we do not go")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise self._bad("sent a compressed reply, which was not asked for")
        read = bytearray()
        for chunk in response.iter_raw():
            read += chunk
            if len(read) > MOST_BYTES:
                raise self._bad(f"sent more than {MOST_BYTES >> 20} MiB")
            if is_over.is_set():
                raise _Dropped("took too long")
        return bytes(read)

    def _parsed(self, response: httpx.Response, content: bytes) -> Any:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            if response.status_code in LATER:  # a proxy in between says so in a page of its own
                return None
            raise self._bad(f"replied with status {response.status_code} and no JSON")
        try:
            return parse(content.decode(), "the reply")
        except (UnicodeDecodeError, ParameterError):
            raise self._bad(f"replied with status {response.status_code} and broken JSON") from None

    def _lost(self, error: Exception, is_over: threading.Event) -> Exception:
        """Why a try had no reply, without the words of the network library, which may repeat what a server sent."""
        import httpx  # noqa: PLC0415

        cause: BaseException | None = error
        while cause is not None:  # httpx wraps httpcore wraps ssl
            if isinstance(cause, ssl.SSLCertVerificationError):
                reason = f"cannot prove who it is ({quoted(cause.verify_message)})"
                return BadReply(
                    self.address.server, reason, "Trust its authority by verify=PATH (pcqr ask: --ca PATH)."
                )
            if not self._was_there and not is_over.is_set():
                if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
                    return BadReply(self.address.server, "does not speak TLS as we do", "Is it http:// there?")
                if isinstance(cause, socket.gaierror | ConnectionRefusedError):
                    return self._away(cause)
            cause = cause.__cause__ or cause.__context__
        if is_over.is_set() or isinstance(error, httpx.TimeoutException):
            return _Dropped("took too long")
        return _Dropped("found nobody there" if isinstance(error, httpx.ConnectError) else "lost the connection")

    def _away(self, cause: OSError) -> Exception:
        """There is nobody at an address where nobody ever was: it is wrong, and trying again would not help."""
        if isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_AGAIN:
            return _Dropped("could not look its name up")
        is_refused = isinstance(cause, ConnectionRefusedError)
        nobody = "nobody listens at this port" if is_refused else "no machine of this name is known"
        remedy = "Is the address right, and is pcqr serve running there?"
        return ServiceAway(self.address.server, f"cannot be reached: {nobody}", remedy)

    def _bad(self, reason: str) -> BadReply:
        return BadReply(self.address.server, reason, "Is that the address of a pcqr server?")

    def _part_from_parent(self) -> None:
        """A forked process must share no connection, nor wait for a thread that it has not."""
        if self._owner != this_process():
            self._client, self._turn, self._owner = None, threading.Lock(), this_process()

    def _traced(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._stream = info["return_value"]

    @contextmanager
    def _deadline(self) -> Iterator[threading.Event]:
        """Close the connection, and set the event, if the block takes longer than it may."""
        is_over = threading.Event()

        def end() -> None:
            is_over.set()
            with suppress(OSError, AttributeError):
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self._timeout, end)
        timer.daemon = True
        timer.start()
        try:
            yield is_over
        finally:
            timer.cancel()


def wait(seconds: float) -> None:
    """Between two tries."""
    time.sleep(seconds)


def client_of(address: Address, key: str | None, timeout: float, verify: str | None) -> Callable[[], httpx.Client]:
    """What makes the client of httpx: verified TLS, one connection, no redirects, no compression."""
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("A client of a pcqr server", "client") from None
    try:
        context = ssl.create_default_context(cafile=verify)
    except (OSError, ssl.SSLError):
        raise ParameterError("verify", "a file of certificates (PEM) to trust, or None", verify) from None
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "pcqr"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"

    def opened() -> httpx.Client:
        return httpx.Client(
            headers=headers,
            timeout=timeout,
            verify=context,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=1),
            trust_env=not address.is_loopback,  # a proxy of the environment is for other machines
        )

    return opened


class _Dropped(Exception):
    """A try without a reply."""


def _words(reply: Reply) -> str:
    said = reply.content.get("error") if isinstance(reply.content, dict) else None
    return quoted(said) if isinstance(said, str) else "nothing that a pcqr server says"


def _seconds(response: httpx.Response) -> float | None:
    """What Retry-After asks for, in seconds. A date is not looked at."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
