"""One conversation with a server: tries, waits, limits. A server is not trusted: it can neither hang nor flood us.

Every try has a deadline for the whole of it, from the first byte sent to the last one read, however slowly they drip:
a timer closes the connection. A reply has a largest size, compressed ones and redirects are refused. Whatever changes
something carries a token of its own (`Idempotency-Key`), so a try whose reply was lost is repeated without being
answered, or counted, twice.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import unquote, urlsplit

from pcqr.client.errors import BadReply, NotAdmitted, NotConfirmed, QuotaSpent, ServiceAway, ServiceError, quoted
from pcqr.compiled import this_process
from pcqr.data.schema import Schema
from pcqr.data.schema.column import column_from
from pcqr.errors import BudgetExhausted, DataError, MissingExtra, ParameterError, PcqrError, SecretError
from pcqr.hypotheses.base import MOST_LABELS
from pcqr.privacy.entropy import SystemEntropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import PRESENCE, RECORD, USER, Unit
from pcqr.releases.protocol.answers import Answer, BatchCost, Kind, Usage
from pcqr.serialization.reading import parse, read_count, read_flag, read_list, read_number, read_text

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


# ---------------------------------------------------------------------------------------------------------------------
# Where a release is served, and the key that opens it.


VARIABLE = "PCQR_KEY"
"""Where a key is looked for if nothing is said."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_KEY = re.compile(r"[!-~]{1,256}")
_MOST_KEY_BYTES = 4096
_ALLOWED = "http(s)://HOST[:PORT]/NAME, without a password, a key or a question mark"


@dataclass(frozen=True)
class Address:
    """One thing that a server has: the server's own address, `server`, and the `name` of the release or model.

    Examples
    --------
    >>> from pcqr.client.wire import Address
    >>> Address.read("https://data.example.org:8443/pcqr/hospital")
    Address(server='https://data.example.org:8443/pcqr', name='hospital')
    """

    server: str
    name: str

    @classmethod
    def read(cls, url: str) -> Address:
        """The address that is spelt so. What looks like a secret in it is refused, and not repeated."""
        if not isinstance(url, str) or any(ord(letter) <= 32 or ord(letter) == 127 for letter in url):
            raise ParameterError("url", _ALLOWED, "something else")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ParameterError("url", _ALLOWED, "something else") from None
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise ParameterError("url", _ALLOWED, "one with more in it (a key is named by key=…, or set as PCQR_KEY)")
        path, _, name = parts.path.rstrip("/").rpartition("/")
        name = unquote(name)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError("url", _ALLOWED, url)
        if name and not _NAME.fullmatch(name):
            raise ParameterError("url", f"{_ALLOWED}; a NAME has letters, digits, dots, dashes, underscores", url)
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return cls(f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{path}", name)

    def __str__(self) -> str:
        return f"{self.server}/{self.name}"

    @property
    def is_encrypted(self) -> bool:
        return self.server.startswith("https:")

    @property
    def is_loopback(self) -> bool:
        """Is it this machine?"""
        host = urlsplit(self.server).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")


def is_address(place: str) -> bool:
    """Is `place` spelt as an address, not as a directory?"""
    return place.lower().startswith(("http://", "https://"))


def read_api_key(source: str | None) -> str | None:
    """The key of a server, from the variable PCQR_KEY or from where `source` says: file:PATH or env:NAME."""
    if source is None:
        text = os.environ.get(VARIABLE)
        return None if text is None else _checked(text, f"env:{VARIABLE}")
    kind, _, where = source.partition(":") if isinstance(source, str) else ("", "", "")
    if kind not in ("file", "env") or not where:
        raise ParameterError("key", f"file:PATH, env:NAME or None (the variable {VARIABLE})", "something else")
    if kind == "env":
        text = os.environ.get(where)
        if text is None:
            raise SecretError(source, "is not set", "Set that variable, or name another one.", what="The key")
        return _checked(text, source)
    try:
        with Path(where).open("rb") as file:
            content = file.read(_MOST_KEY_BYTES)
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
        raise SecretError(source, why, "Name a file that holds the key.", what="The key") from None
    return _checked(content.decode("ascii", "replace"), source)


def _checked(text: str, source: str) -> str:
    key = text.strip()
    if not _KEY.fullmatch(key):
        raise SecretError(source, "is not one line of visible letters", "It was printed by: pcqr keys", what="The key")
    return key


# ---------------------------------------------------------------------------------------------------------------------
# What a server says, read strictly: a reply that is not what the contract has is refused and never half believed.


MOST_COLUMNS = 100_000
_KINDS: tuple[Kind, ...] = get_args(Kind)
_COLUMN = ("name", "kind", "categories", "bounds", "missing", "other")


@contextmanager
def believing(place: str) -> Iterator[None]:
    """Within, a value that the contract does not have becomes a `BadReply` of the server at `place`."""
    try:
        yield
    except ParameterError as error:
        told = quoted(str(error)).rstrip(".")
        raise BadReply(place, f"sent a reply that is none: {told}", "Is it a pcqr server of this version?") from None


@dataclass(frozen=True)
class Facts:
    """What is served, in public facts. `planned` is m; None for a model, which any number of rows may be put to.

    A request takes `most_rows`. The model of the planner expects `unstable_share` of the queries to be unstable, with
    `unstable_range` where it was measured; after `publishes_after` of them a classifier is published.
    """

    name: str
    kind: Literal["release", "model"]
    algorithm: str
    guarantee: Guarantee
    schema: Schema | None
    features: int
    classes: tuple[Any, ...]
    state: Literal["open", "published", "exhausted"]
    spent: Usage
    remaining: Usage
    planned: int | None
    on_unstable: Literal["abstain", "random"]
    shows_classifier: bool
    most_rows: int
    unstable_share: float | None
    unstable_range: tuple[float, float] | None
    publishes_after: int | None


@dataclass(frozen=True)
class RowAnswer:
    """One row of a reply: a label or none, the coin that stands in for none, and how it came about."""

    label: Any
    coin: Any
    kind: Kind


@dataclass(frozen=True)
class Batch:
    """A reply to several rows: their answers, and what was spent and left when the last one had been given."""

    answers: tuple[RowAnswer, ...]
    spent: Usage
    remaining: Usage


def facts_of(value: Any) -> Facts:
    """What `/v1/releases/NAME` says."""
    entries = _object(value, "the reply")
    kind = _choice(entries, "kind", ("release", "model"))
    is_release = kind == "release"
    columns = entries.get("columns")
    schema = None if columns is None else _schema(columns)
    features = read_count(_needed(entries, "features"), "features")
    if schema is not None:
        features = len(schema.features)
    planned = entries.get("planned_queries")
    expectation = _object(entries.get("expectation") or {}, "expectation")
    between = _two_numbers(expectation, "unstable_range")
    shares = _number(expectation, "unstable_share"), *(between or ())
    if any(share is not None and not 0 <= share <= 1 for share in shares):
        raise ParameterError("expectation", "shares from 0 to 1", "others")
    publish = _object(_object(entries.get("plan") or {}, "plan").get("publish") or {}, "plan.publish")
    return Facts(
        name=read_text(_needed(entries, "name"), "name"),
        kind=kind,
        algorithm=read_text(entries.get("algorithm") or "", "algorithm"),
        guarantee=_guarantee(_needed(entries, "guarantee")),
        schema=schema,
        features=features,
        classes=_classes(_needed(entries, "classes")),
        state=_choice(entries, "state", ("open", "published", "exhausted")),
        spent=usage_of(_needed(entries, "spent"), "spent") if is_release else Usage(0, 0),
        remaining=usage_of(_needed(entries, "remaining"), "remaining") if is_release else Usage(None, None),
        planned=None if planned is None else read_count(planned, "planned_queries"),
        on_unstable=_choice(entries, "on_unstable", ("abstain", "random")) if is_release else "abstain",
        shows_classifier=entries.get("shows_classifier") is not False,
        most_rows=max(1, read_count(_needed(entries, "most_rows"), "most_rows")),
        unstable_share=shares[0],
        unstable_range=between,
        publishes_after=read_count(publish["after_queries"], "after_queries") if "after_queries" in publish else None,
    )


def usage_of(value: Any, where: str) -> Usage:
    """Queries and unstable answers; null where there is no limit."""
    entries = _object(value, where)

    def count(name: str) -> int | None:
        found = entries.get(name)
        return None if found is None else read_count(found, f"{where}.{name}")

    return Usage(count("queries"), count("unstable"), count("labels"))


def batch_of(value: Any, rows: int, classes: Sequence[Any], *, is_release: bool) -> Batch:
    """What `/ask` says of so many rows."""
    entries = _object(value, "the reply")
    given = row_answers(_needed(entries, "answers"), "answers", classes)
    if len(given) != rows:
        raise ParameterError("answers", f"a list of {rows}", f"one of {len(given)}")
    if not is_release:
        return Batch(given, Usage(0, 0), Usage(None, None))
    return Batch(
        given, usage_of(_needed(entries, "spent"), "spent"), usage_of(_needed(entries, "remaining"), "remaining")
    )


def row_answers(value: Any, where: str, classes: Sequence[Any]) -> tuple[RowAnswer, ...]:
    """Answers, each with a label among `classes` or none."""
    return tuple(_row_answer(entry, f"{where}[{i}]", classes) for i, entry in enumerate(read_list(value, where)))


def cost_of(value: Any, rows: int | None = None) -> BatchCost:
    """Return the cost in a reply of `/preview`, which must be about so many rows (None: any number)."""
    entries = _object(value, "the reply")

    def count(name: str) -> int:
        return read_count(_needed(entries, name), name)

    cost = BatchCost(
        **{name: count(name) for name in ("requested", "repeated", "new", "published", "certain", "beyond_plan")},
        remaining=usage_of(_needed(entries, "remaining"), "remaining"),
        expected_unstable=_number(entries, "expected_unstable"),
        chance_of_halting=_number(entries, "chance_of_halting"),
        unstable_range=_two_numbers(entries, "unstable_range"),
        quota=None if entries.get("quota") is None else usage_of(entries["quota"], "quota"),
        chance_of_exhausting=_number(entries, "chance_of_exhausting"),
    )
    rows = cost.requested if rows is None else rows
    if cost.requested != rows or cost.certain > rows:
        raise ParameterError("requested", f"{rows}, the rows that were sent", cost.requested)
    return cost


def asked_before_of(value: Any, rows: int) -> list[bool]:
    """Which of so many rows `/preview` says were asked before."""
    asked_before = read_list(_needed(_object(value, "the reply"), "asked_before"), "asked_before")
    if len(asked_before) != rows or not all(isinstance(each, bool) for each in asked_before):
        raise ParameterError("asked_before", f"true or false for each of {rows} rows", "something else")
    return asked_before


def _row_answer(value: Any, where: str, classes: Sequence[Any]) -> RowAnswer:
    entries = _object(value, where)
    kind = _choice(entries, "kind", _KINDS, f"{where}.kind")
    label, coin = (_label(entries.get(name), f"{where}.{name}", classes) for name in ("label", "coin"))
    if label is None and kind in ("stable", "published"):
        raise ParameterError(f"{where}.label", f"a label, where the answer is {kind}", None)
    return RowAnswer(label, coin, kind)


def _label(value: Any, where: str, classes: Sequence[Any]) -> Any:
    """A name among the classes, of the same type (1 is not True), or none."""
    if value is None:
        return None
    for name in classes:
        if type(name) is type(value) and name == value:
            return name
    raise ParameterError(where, "one of the names of the labels", "another value")


def _classes(value: Any) -> tuple[Any, ...]:
    names = tuple(read_list(value, "classes"))
    if not 1 <= len(names) <= MOST_LABELS or any(not isinstance(name, str | int | float | bool) for name in names):
        raise ParameterError("classes", f"a list of 1 to {MOST_LABELS} names", "another list")
    return names


def _schema(value: Any) -> Schema:
    listed = read_list(value, "columns")
    if not 1 <= len(listed) <= MOST_COLUMNS:
        raise ParameterError("columns", f"1 to {MOST_COLUMNS:,} columns", f"{len(listed)}")
    told = [_object(entry, f"columns[{i}]") for i, entry in enumerate(listed)]
    return Schema(tuple(column_from(_column(entry)) for entry in told))


def _column(entry: dict[str, Any]) -> dict[str, Any]:
    """What declares a column. Any category may be missing: that is not declared."""
    kept = {name: entry[name] for name in _COLUMN if entry.get(name) is not None}
    if kept.get("kind") == "categorical":
        kept.pop("missing", None)
    return kept


def _guarantee(value: Any) -> Guarantee:
    entries = _object(value, "guarantee")

    def texts(name: str) -> tuple[str, ...]:
        return tuple(
            read_text(entry, f"guarantee.{name}") for entry in read_list(entries.get(name, []), f"guarantee.{name}")
        )

    charged = entries.get("is_charged")
    return Guarantee(
        epsilon=read_number(_needed(entries, "epsilon"), "guarantee.epsilon"),
        delta=read_number(_needed(entries, "delta"), "guarantee.delta"),
        proof=read_text(entries.get("proof", ""), "guarantee.proof"),
        assumptions=texts("assumptions"),
        is_private=read_flag(_needed(entries, "is_private"), "guarantee.is_private"),
        unit=_unit(read_text(_needed(entries, "unit"), "guarantee.unit")),
        steps=texts("steps"),
        is_charged=None if charged is None else read_flag(charged, "guarantee.is_charged"),
    )


def _unit(words: str) -> Unit:
    """The unit whose adjacency is said so."""
    for unit in (PRESENCE, USER):
        if words == unit.adjacency:
            return unit
    rows = re.search(r"at most ([0-9,]{1,20}) row", words)
    unit = RECORD if rows is None else Unit.user(int(rows[1].replace(",", "") or "0"))
    if unit.adjacency != words:
        raise ParameterError("guarantee.unit", f"{RECORD.adjacency!r} or another adjacency of pcqr", "something else")
    return unit


def _number(entries: dict[str, Any], name: str) -> float | None:
    return None if entries.get(name) is None else read_number(entries[name], name)


def _two_numbers(entries: dict[str, Any], name: str) -> tuple[float, float] | None:
    if entries.get(name) is None:
        return None
    found = [read_number(each, name) for each in read_list(entries[name], name)]
    if len(found) != 2:
        raise ParameterError(name, "a list of two numbers", f"{len(found)}")
    return found[0], found[1]


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ParameterError(where, "an object", type(value).__name__)
    return value


def _needed(entries: dict[str, Any], name: str) -> Any:
    if name not in entries:
        raise ParameterError(name, "there", "nothing")
    return entries[name]


def _choice(entries: dict[str, Any], name: str, among: Sequence[Any], where: str = "") -> Any:
    value = entries.get(name)
    if not isinstance(value, str) or value not in among:
        raise ParameterError(where or name, f"one of {', '.join(among)}", "something else")
    return value


# ---------------------------------------------------------------------------------------------------------------------
# What a server refuses, as what a local release would raise, or as a `ServiceError` with a remedy.


MIDWAY = ("budget_exhausted", "quota_spent")
"""Codes of refusals in whose details the rows are that were answered before."""
_MORE_KEYS = (
    "The data holder makes keys (pcqr keys create NAME); set yours as PCQR_KEY, or say where it is (--key, key=…)"
)


def refusal(
    reply: Reply,
    place: str,
    now: Callable[[], tuple[Usage, Usage]] | None = None,
    start: int = 0,
    rows: int = 0,
    answers: Sequence[Answer[Any]] = (),
) -> PcqrError:
    """The error for a `reply` that is no answer.

    `rows` from `start` on were asked for and got none; those before them are `answers`. Where labels were asked for,
    `now` says what is spent and left.
    """
    code, details = _code(reply), _details(reply)
    said = quoted(str(reply.content.get("error", ""))).rstrip(".") if isinstance(reply.content, dict) else ""
    told: dict[str, Any] = {"status": reply.status, "code": code}
    match code:
        case "budget_exhausted" if now is not None:
            spent, remaining = now()
            return BudgetExhausted(spent=spent, requested=rows, remaining=remaining, answers=answers)
        case "quota_spent" | "would_exhaust" if now is not None:
            with believing(place):
                if code == "quota_spent":
                    used, allowance = (usage_of(details.get(name), name) for name in ("used", "allowance"))
                    found: PcqrError = QuotaSpent(
                        place, used=used, allowance=allowance, requested=rows, answers=answers
                    )
                else:
                    found = NotConfirmed(place, cost_of(details.get("cost")))
            return found
        case "bad_value" | "too_many_rows" | "too_large":
            return DataError(_where(details, start), "what the server takes", f"something else: {said}")
        case "missing_key" | "wrong_key" | "not_allowed":
            return NotAdmitted(place, f"does not let us in: {said}", _MORE_KEYS, **told)
        case "":
            reason = f"replied with status {reply.status} as no pcqr server does"
            return BadReply(place, reason, "Is that the address of a pcqr server?", status=reply.status)
    return ServiceError(place, f"refused: {said} ({code})", "The data holder can tell more.", **told)


def answered_before(reply: Reply, rows: int, classes: Sequence[Any]) -> tuple[RowAnswer, ...]:
    """Of a batch of so many rows that was refused midway, those that were answered."""
    if _code(reply) not in MIDWAY:
        return ()
    return row_answers(_details(reply).get("answered", []), "details.answered", classes)[: rows - 1]


def _code(reply: Reply) -> str:
    code = reply.content.get("code") if isinstance(reply.content, dict) else None
    return code if isinstance(code, str) and code.isascii() and code.isprintable() and len(code) < 40 else ""


def _details(reply: Reply) -> dict[str, Any]:
    details = reply.content.get("details") if isinstance(reply.content, dict) else None
    return details if isinstance(details, dict) else {}


def _where(details: dict[str, Any], start: int) -> str:
    """The cell that was refused, as far as the server says; rows count from 0, as arrays do."""
    column, row = details.get("column"), details.get("row")
    named = f"column {quoted(column)!r}" if isinstance(column, str) else "X"
    return f"{named}, row {start + row}," if type(row) is int and 0 <= row < 2**31 else named
