"""The quota table of a release: who asked what, beside the chain and in the same commit (proofs/release.md).

It limits what askers get and remembers what they were told. No hash covers it and no privacy rests on it: the counts of
the release itself are in the chain. Whatever is written has the same length whatever the answers were.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

from sqlalchemy import BindParameter, Executable, bindparam, delete, func, insert, select, update

from pcqr.durable.facts import State, answer_in, answers_in, digests, located
from pcqr.durable.ledger import Ledger, Transaction
from pcqr.durable.ledger.store import ASKED, AT_ONCE, ENTRIES, REQUESTS, USAGE
from pcqr.hypotheses.base import Points
from pcqr.releases.protocol.answers import Kind, Usage
from pcqr.releases.protocol.log import Answered, Asked, Entry, Reply, Stopped

TOKEN_SECONDS = 24 * 60 * 60
"""How long a token is kept. After that the request is as good as new: its rows are in the log, and cost nothing."""
_COUNTS = struct.Struct(">QQQ")
_RECEIPT = struct.Struct(">QIIIBQQqqq")
_KINDS: tuple[Kind, ...] = get_args(Kind)
_STOPPED: tuple[Stopped | None, ...] = (None, *get_args(Stopped))
_NONE = -1
_REPEATED = bytes([_KINDS.index("repeated")])
_STABLE, _UNSTABLE = (bytes([_KINDS.index(kind)]) for kind in ("stable", "unstable"))
_LOGGED = 1 << 7
"""Beside a kind: the answer was new to this asker, and in the log already, since somebody else had asked."""

_number: BindParameter[int] = bindparam("number")
_askers: BindParameter[str] = bindparam("askers", expanding=True)
_USAGES = select(USAGE.c.asker, USAGE.c.counts).where(USAGE.c.ledger == _number)
_USAGES_OF = _USAGES.where(USAGE.c.asker.in_(_askers))
_NEW_USAGE = insert(USAGE).values(ledger=_number, asker=bindparam("who"), counts=bindparam("now"))
_USAGE = (
    update(USAGE).where(USAGE.c.ledger == _number, USAGE.c.asker == bindparam("who")).values(counts=bindparam("now"))
)
_RECEIPTS = select(REQUESTS.c.asker, REQUESTS.c.token, REQUESTS.c.content, REQUESTS.c.receipt).where(
    REQUESTS.c.ledger == _number,
    REQUESTS.c.asker.in_(_askers),
    REQUESTS.c.token.in_(bindparam("tokens", expanding=True)),
    REQUESTS.c.time > bindparam("since"),
)
_EXPIRED = delete(REQUESTS).where(REQUESTS.c.ledger == _number, REQUESTS.c.time <= bindparam("since"))
_REPLACED = delete(REQUESTS).where(
    REQUESTS.c.ledger == _number, REQUESTS.c.asker == bindparam("who"), REQUESTS.c.token == bindparam("token")
)
_NEW_RECEIPT = insert(REQUESTS).values(
    ledger=_number,
    **{name: bindparam(f"new_{name}") for name in ("asker", "token", "content", "receipt", "time")},
)
_HAD = select(ASKED.c.asker, ASKED.c.seq).where(
    ASKED.c.ledger == _number, ASKED.c.seq.in_(bindparam("seqs", expanding=True)), ASKED.c.asker.in_(_askers)
)
_NEW_ASKED = insert(ASKED).values(
    ledger=_number,
    **{name: bindparam(f"new_{name}") for name in ("asker", "number", "seq", "kind", "time")},
)
_HOLDER = select(func.min(ENTRIES.c.seq)).where(ENTRIES.c.ledger == ASKED.c.ledger, ENTRIES.c.seq >= ASKED.c.seq)
"""The entry that has the number of an answer: its own number is its last."""
_LINES = select(ASKED.c.seq, ASKED.c.kind).where(
    ASKED.c.ledger == _number,
    ASKED.c.asker == bindparam("who"),
    ASKED.c.number.between(bindparam("first"), bindparam("last")),
)
_OWN = (
    select(ASKED.c.number, ASKED.c.time, ASKED.c.kind, ASKED.c.seq, _HOLDER.scalar_subquery())
    .where(ASKED.c.ledger == _number, ASKED.c.asker == bindparam("who"), ASKED.c.number > bindparam("after"))
    .where(ASKED.c.seq <= bindparam("final"))
    .order_by(ASKED.c.number)
    .limit(bindparam("most"))
)
_FIRST = select(ASKED.c.seq, ASKED.c.time, ASKED.c.asker, ASKED.c.kind).where(
    ASKED.c.ledger == _number,
    ASKED.c.seq.between(bindparam("first"), bindparam("last")),
    ASKED.c.kind.in_((_STABLE, _UNSTABLE)),
)
"""Read by itself: joined with the answers, SQLite would look through the whole table for each of them."""
_TIMED = (
    select(ASKED.c.time, ASKED.c.kind, func.count())
    .where(ASKED.c.ledger == _number, ASKED.c.seq > bindparam("after"), ASKED.c.seq <= bindparam("until"))
    .where(ASKED.c.seq <= bindparam("final"), ASKED.c.kind.in_((_STABLE, _UNSTABLE)))
    .group_by(ASKED.c.time, ASKED.c.kind)
)


class Line(NamedTuple):
    """An answer that somebody was told. `time` and `asker` are None where the quota table does not know."""

    number: int
    time: int | None
    asker: str | None
    point: Points
    label: int | None
    coin: int | None
    kind: Kind


@dataclass(frozen=True)
class QuotaTable:
    """Who asked what of the release in `ledger`. Reading works beside a writer, and never blocks it.

    Labels are those of the class, 0 and 1. Answers of a published classifier are not in it: they cost nothing.
    """

    ledger: Ledger
    clock: Callable[[], float] = time.time

    def usage(self, asker: str | None) -> Usage:
        """Return how many queries were new to an asker, and how many of these got an unstable answer."""
        return self._usages(_USAGES_OF, askers=[asker or ""]).get(asker, Usage(0, 0))

    def usages(self) -> dict[str | None, Usage]:
        """The same for everybody who has asked for something."""
        return self._usages(_USAGES)

    def quota(self, asked: Asked) -> Usage | None:
        """Return what remains of the asker's allowance, None if it has no limit."""
        most = asked.allowance
        if most.queries is None and most.unstable is None:
            return None
        used = self.usage(asked.asker)
        pairs = ((most.queries, used.queries), (most.unstable, used.unstable))
        return Usage(*(None if limit is None else max(0, limit - (had or 0)) for limit, had in pairs))

    def asked_before(self, asked: Asked, these: Sequence[bytes]) -> set[bytes]:
        """Return those of the keys `these` whose rows the asker, or anybody if it shares, has asked before."""
        found = located(digests(these), self.ledger.find)
        seqs = {key: kept.before + 1 + position for key, (kept, position) in found.items()}
        if asked.is_shared:
            return set(seqs)
        had = _had(self.ledger.read, [_name(asked)], seqs.values())
        return {key for key, seq in seqs.items() if (_name(asked), seq) in had}

    def has_answered(self, asked: Asked) -> bool:
        """Was this request answered before, under the token that it has?"""
        if asked.token is None:
            return False
        since = int(self.clock()) - TOKEN_SECONDS
        rows = self.ledger.read(_RECEIPTS, askers=[_name(asked)], tokens=[asked.token], since=since)
        return any(content == asked.content for _, _, content, _ in rows)

    def answers(self, asker: str | None, after: int = 0, limit: int = 100) -> list[Line]:
        """What an asker was told, each answer once, in order; for None all answers of the release, in order.

        At most `limit` lines with numbers past `after`: the last number of one call is the `after` of the next. The
        numbers of an asker's own list are not those of the release's.
        """
        if asker is None:
            return self._all_answers(after, limit)
        rows = self.ledger.read(_OWN, after=after, most=limit, who=asker)
        entries = self.ledger.at([holder for *_, holder in rows])
        return [
            _line(number, second, asker, kind, answer_in(entries[holder], seq - entries[holder].before - 1))
            for number, second, kind, seq, holder in rows
        ]

    def history(self, buckets: int = 200) -> list[Moment]:
        """What was spent by when: at most `buckets` moments, and all that nobody timed before the first of them.

        It reads the whole table. Whoever looks again and again keeps a `History`.
        """
        return History().look(self, buckets)[1]

    def timed(self, after: int, until: int) -> list[Moment]:
        """What was asked for the first time in the entries past `after`, up to `until`: how much, second by second."""
        return [
            Moment(second, count, count * (kind == _UNSTABLE))
            for second, kind, count in self.ledger.read(_TIMED, after=after, until=until)
        ]

    def open(self, transaction: Transaction, asked: Sequence[Asked], seqs: Mapping[bytes, int]) -> QuotaRows:
        """The quota rows of a transaction. `seqs` are the numbers of the answers that it has found or added, by key."""
        return QuotaRows(transaction, asked, seqs, int(self.clock()))

    def _all_answers(self, after: int, limit: int) -> list[Line]:
        found: list[tuple[int, Entry]] = []
        entries = self.ledger.entries(after)
        while len(found) < limit and (kept := next(entries, None)) is not None:
            found += ((number, answer) for number, answer in answers_in(kept) if number > after)
        if not found:
            return []
        response = self.ledger.read(_FIRST, first=found[0][0], last=found[-1][0])
        first = {seq: (second, who, kind) for seq, second, who, kind in response}
        return [_line(number, *first.get(number, (None, None, None)), answer) for number, answer in found[:limit]]

    def _usages(self, statement: Executable, **values: object) -> dict[str | None, Usage]:
        rows = self.ledger.read(statement, **values)
        return {who or None: Usage(*_COUNTS.unpack(counts)[:2]) for who, counts in rows}


class QuotaRows:
    """What the quota table holds of some askers, and what a turn adds."""

    def __init__(self, transaction: Transaction, asked: Sequence[Asked], seqs: Mapping[bytes, int], now: int) -> None:
        self._transaction, self._seqs, self._now = transaction, seqs, now
        askers = sorted({_name(each) for each in asked})
        self._before = {who: _COUNTS.unpack(counts) for who, counts in transaction.read(_USAGES_OF, askers=askers)}
        self._counts = {who: list(self._before.get(who, (0, 0, 0))) for who in askers}
        self._asked: dict[tuple[str, bytes], bytes] = {}
        self._asked_before: set[tuple[str, int]] | None = None
        """Who has asked before for which entry of the log that is asked for now. None: nobody wanted to know yet."""
        tokens = sorted({each.token for each in asked if each.token is not None})
        self._since = now - TOKEN_SECONDS
        rows = transaction.read(_RECEIPTS, askers=askers, tokens=tokens, since=self._since) if tokens else ()
        self._receipts = {(who, token): (content, _Receipt.read(receipt)) for who, token, content, receipt in rows}
        self._ended: dict[tuple[str, bytes], _Ended] = {}

    def replayed(
        self, asked: Asked, these: Sequence[bytes], asked_before: Mapping[bytes, Entry]
    ) -> Answered[int] | None:
        if asked.token is None:
            return None
        this = _name(asked), asked.token
        if (ended := self._ended.get(this)) is not None:
            return replace(ended.response, is_replay=True) if ended.content == asked.content else Answered((), "reused")
        if this not in self._receipts:
            return None
        content, receipt = self._receipts[this]
        if content != asked.content:
            return Answered((), "reused")
        lines = self._transaction.read(_LINES, who=this[0], first=receipt.first, last=receipt.first + receipt.lines - 1)
        return receipt.replayed(
            these, asked_before, self._seqs, {seq: kind[0] for seq, kind in lines if kind != _REPEATED}
        )

    def allows(self, asked: Asked) -> bool:
        queries, unstable, _ = self._counts[_name(asked)]
        most = asked.allowance
        return (most.queries is None or queries < most.queries) and (most.unstable is None or unstable < most.unstable)

    def is_first(self, asked: Asked, key: bytes) -> bool:
        who = _name(asked)
        if asked.is_shared or (who, key) in self._asked:
            return False
        if self._asked_before is None:
            self._asked_before = _had(self._transaction.read, list(self._counts), self._seqs.values())
        return (who, self._seqs.get(key)) not in self._asked_before  # no number yet: it was decided in this turn

    def answered(self, asked: Asked, key: bytes, kind: Kind, *, is_logged: bool) -> None:
        who = _name(asked)
        is_from_log = is_logged and kind != "repeated"
        self._asked.setdefault((who, key), bytes([_KINDS.index(kind) | _LOGGED * is_from_log]))
        if kind != "repeated":
            counts = self._counts[who]
            counts[0] += 1
            counts[1] += kind == "unstable"

    def end(self, asked: Asked, these: Sequence[bytes], response: Answered[int]) -> None:
        """Keep the token of a request that got a new answer: all others cost nothing, whenever they are sent again."""
        if asked.token is None:
            return
        new = [key for key, reply in zip(these, response.replies, strict=False) if reply.kind != "repeated"]
        if new:
            self._ended[_name(asked), asked.token] = _Ended(asked.content, new[0], new[-1], response)

    def write(self) -> None:
        """Hand everything to the turn."""
        if self._asked_before is None:
            repeated = [(who, self._seqs[key]) for (who, key), kind in self._asked.items() if kind == _REPEATED]
            self._asked_before = _had(
                self._transaction.read, {who for who, _ in repeated}, {seq for _, seq in repeated}
            )
        lines = []
        numbers: dict[tuple[str, bytes], int] = {}
        for (who, key), kind in self._asked.items():
            seq = self._seqs[key]
            if (who, seq) not in self._asked_before:
                counts = self._counts[who]
                counts[2] += 1
                numbers[who, key] = counts[2]
                lines.append(
                    {"new_asker": who, "new_number": counts[2], "new_seq": seq, "new_kind": kind, "new_time": self._now}
                )
        changed = {who: tuple(counts) for who, counts in self._counts.items()}
        rows = [
            (who in self._before, {"who": who, "now": _COUNTS.pack(*counts)})
            for who, counts in changed.items()
            if counts != self._before.get(who, (0, 0, 0))
        ]
        self._transaction.note(_NEW_ASKED, lines)
        self._transaction.note(_USAGE, [row for is_there, row in rows if is_there])
        self._transaction.note(_NEW_USAGE, [row for is_there, row in rows if not is_there])
        if self._ended:
            tokens = [{"who": who, "token": token} for who, token in self._ended]
            self._transaction.note(_EXPIRED, [{"since": self._since}])
            self._transaction.note(_REPLACED, tokens)  # of a token that is not looked at any more
            self._transaction.note(_NEW_RECEIPT, [self._written(who, token, numbers) for who, token in self._ended])

    def _written(self, who: str, token: bytes, numbers: Mapping[tuple[str, bytes], int]) -> dict[str, object]:
        ended = self._ended[who, token]
        first, last = numbers[who, ended.first], numbers[who, ended.last]
        receipt = _Receipt.of(ended.response, first, last - first + 1).written()
        row = {"asker": who, "token": token, "content": ended.content, "receipt": receipt, "time": self._now}
        return {f"new_{name}": value for name, value in row.items()}


def _had(
    read: Callable[..., Sequence[tuple[str, int]]], askers: Iterable[str], seqs: Iterable[int]
) -> set[tuple[str, int]]:
    """Return which of these askers have asked before for which of these entries."""
    who, which = sorted(askers), sorted(seqs)
    parts = (which[start : start + AT_ONCE] for start in range(0, len(which), AT_ONCE))
    return {(asker, seq) for part in parts for asker, seq in read(_HAD, askers=who, seqs=part)}


def _name(asked: Asked) -> str:
    return asked.asker or ""


def _line(number: int, second: int | None, asker: str | None, kind: bytes | None, entry: Entry) -> Line:
    first: Kind = "unstable" if entry.label is None else "stable"
    return Line(
        *(number, second, asker or None, entry.point, entry.label, entry.coin),
        first if kind is None else _KINDS[kind[0] & ~_LOGGED],
    )


class _Ended(NamedTuple):
    """A request with a token, answered in this transaction: its content, the keys of its first and last new row."""

    content: bytes
    first: bytes
    last: bytes
    response: Answered[int]


class _Receipt(NamedTuple):
    """What the log does not say about a request: which of its answers were new, and what was spent and left by then.

    Its new answers are among the `lines` lines of its asker from the number `first` on, which say how each came about.
    It got `answered` in all, the last of them `beyond` the plan.
    """

    first: int
    lines: int
    answered: int
    beyond: int
    stopped: Stopped | None
    asked: int
    unstable: int
    remaining: Usage

    @classmethod
    def of(cls, response: Answered[int], first: int, lines: int) -> _Receipt:
        replies, last = response.replies, response.replies[-1]
        beyond = sum(each.is_beyond_plan for each in replies)
        return cls(first, lines, len(replies), beyond, response.stopped, last.asked, last.unstable, last.remaining)

    @classmethod
    def read(cls, written: bytes) -> _Receipt:
        first, lines, answered, beyond, stopped, asked, unstable, *remaining = _RECEIPT.unpack(written)
        usage = Usage(*(None if each == _NONE else each for each in remaining))
        return cls(first, lines, answered, beyond, _STOPPED[stopped], asked, unstable, usage)

    def written(self) -> bytes:
        remaining = (self.remaining.queries, self.remaining.unstable, self.remaining.labels)
        return _RECEIPT.pack(
            *(self.first, self.lines, self.answered, self.beyond),
            _STOPPED.index(self.stopped),
            *(self.asked, self.unstable),
            *(_NONE if each is None else max(0, each) for each in remaining),
        )

    def replayed(
        self,
        these: Sequence[bytes],
        asked_before: Mapping[bytes, Entry],
        seqs: Mapping[bytes, int],
        kinds: Mapping[int, int],
    ) -> Answered[int] | None:
        """Return the reply once more, from the log; None where the log has lost an answer.

        `kinds` are those of its new answers, by their numbers in the log. Every answer that was decided then took one
        query, and one unstable answer or one label, of what is left: so the counts after each row follow from those
        after the last.
        """
        rows = these[: self.answered]
        if not all(key in asked_before for key in rows):
            return None
        new = {key: row for row, key in reversed(list(enumerate(rows))) if seqs[key] in kinds}
        replies: list[Reply[int]] = []
        asked, unstable, remaining = self.asked, self.unstable, self.remaining
        for row, key in reversed(list(enumerate(rows))):
            entry, is_new = asked_before[key], new.get(key) == row
            is_unstable = entry.label is None
            kind: Kind = "repeated" if not is_new else "unstable" if is_unstable else "stable"
            numbers = (
                asked,
                unstable,
                remaining.queries,
                remaining.unstable,
                row >= self.answered - self.beyond,
                remaining.labels,
            )
            replies.append(Reply(entry.label, entry.coin, kind, *numbers))
            if is_new and not kinds[seqs[key]] & _LOGGED:
                asked, unstable = asked - 1, unstable - is_unstable
                remaining = Usage(
                    _more(remaining.queries, 1),
                    _more(remaining.unstable, is_unstable),
                    _more(remaining.labels, not is_unstable),
                )
        return Answered(replies[::-1], self.stopped, is_replay=True)


def _more(remaining: int | None, number: int) -> int | None:
    return None if remaining is None else remaining + number


_MOST_SPANS = 1_024


_AT_ONCE = 50_000
"""Answers that are read in one piece, where there is much to catch up with."""


class Moment(NamedTuple):
    """How many new queries, and unstable answers among them, there were at a time, or by a time."""

    time: int
    queries: int
    unstable: int


class History:
    """The history of one release, whose book may be opened anew between two looks. Threads may share it.

    Time is cut into spans of 1, 2, 4, 8, … seconds, as long as it takes for them to be few. What is kept of each is the
    last time at which something was asked, and how much was.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds = 1
        self._spans: dict[int, Moment] = {}
        self._seen = 0
        """The last entry that is in it."""

    def look(self, quota_table: QuotaTable, buckets: int = 200) -> tuple[Usage, list[Moment]]:
        """Return what nobody timed, and what was spent by when, that included: at most `buckets` moments."""
        spent = State.read(quota_table.ledger.state).spent
        last = quota_table.ledger.last.seq  # after what was spent: what is asked meanwhile must not seem to be nobody's
        with self._lock:
            while self._seen < last:
                until = min(last, self._seen + _AT_ONCE)
                self._add(quota_table.timed(self._seen, until))
                self._seen = until
            _, spans = merged(self._seconds, self._spans, buckets)
        timed = [spans[number] for number in sorted(spans)]
        queries = max(0, (spent.queries or 0) - sum(each.queries for each in timed))
        unstable = max(0, (spent.unstable or 0) - sum(each.unstable for each in timed))
        untimed, moments = Usage(queries, unstable), []
        for each in timed:
            queries, unstable = queries + each.queries, unstable + each.unstable
            moments.append(Moment(each.time, queries, unstable))
        return untimed, moments

    def _add(self, asked: Iterable[Moment]) -> None:
        for each in asked:
            number = each.time // self._seconds
            self._spans[number] = _together(self._spans.get(number), each)
        self._seconds, self._spans = merged(self._seconds, self._spans, _MOST_SPANS)


def merged(seconds: int, spans: dict[int, Moment], most: int) -> tuple[int, dict[int, Moment]]:
    """The same in spans twice, four times, … as long, so that there are at most `most`."""
    while len(spans) > most:
        wider: dict[int, Moment] = {}
        for number, each in spans.items():
            wider[number // 2] = _together(wider.get(number // 2), each)
        seconds, spans = 2 * seconds, wider
    return seconds, spans


def _together(one: Moment | None, other: Moment) -> Moment:
    if one is None:
        return other
    return Moment(max(one.time, other.time), one.queries + other.queries, one.unstable + other.unstable)
