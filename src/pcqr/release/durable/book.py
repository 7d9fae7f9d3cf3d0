"""The book of a release: who asked what, beside the chain and in the same commit (proofs/release.md).

It limits what askers get and remembers what they were told. No hash covers it and no privacy rests on it: the counts of
the release itself are in the chain. Whatever is written has the same length whatever the answers were.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

from sqlalchemy import BindParameter, Executable, bindparam, func, insert, select, update

from pcqr.algorithms.asking import Asked, Reply, Stopped, Told
from pcqr.algorithms.log import Entry
from pcqr.hypotheses.base import Points
from pcqr.plan import Kind, Usage
from pcqr.release.durable.entries import answer_in, answers_in
from pcqr.release.durable.history import History, Moment
from pcqr.release.ledger import Ledger, Turn
from pcqr.release.ledger.store import AT_ONCE
from pcqr.release.ledger.tables import ASKED, ENTRIES, REQUESTS, USAGE

_COUNTS = struct.Struct(">QQQ")
_REPLY = struct.Struct(">bbBQQqqB")
_REPLY_WITH_LABELS = struct.Struct(">bbBQQqqBq")
_LABELS_FLAG = 1 << 7
"""In the byte that says why a request stopped: its replies say how many labels were left."""
_KINDS: tuple[Kind, ...] = get_args(Kind)
_STOPPED: tuple[Stopped | None, ...] = (None, *get_args(Stopped))
_NONE = -1
_REPEATED = bytes([_KINDS.index("repeated")])
_UNSTABLE = bytes([_KINDS.index("unstable")])

_number: BindParameter[int] = bindparam("number")
_askers: BindParameter[str] = bindparam("askers", expanding=True)
_USAGES = select(USAGE.c.asker, USAGE.c.counts).where(USAGE.c.ledger == _number)
_USAGES_OF = _USAGES.where(USAGE.c.asker.in_(_askers))
_NEW_USAGE = insert(USAGE).values(ledger=_number, asker=bindparam("who"), counts=bindparam("now"))
_USAGE = (
    update(USAGE).where(USAGE.c.ledger == _number, USAGE.c.asker == bindparam("who")).values(counts=bindparam("now"))
)
_TOLD = select(REQUESTS.c.asker, REQUESTS.c.token, REQUESTS.c.content, REQUESTS.c.told).where(
    REQUESTS.c.ledger == _number,
    REQUESTS.c.asker.in_(_askers),
    REQUESTS.c.token.in_(bindparam("tokens", expanding=True)),
)
_NEW_TOLD = insert(REQUESTS).values(
    ledger=_number,
    asker=bindparam("who"),
    token=bindparam("token"),
    content=bindparam("content"),
    told=bindparam("told"),
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
    ASKED.c.kind != _REPEATED,
)
"""Read by itself: joined with the answers, SQLite would look through the whole book for each of them."""
_TIMED = (
    select(ASKED.c.time, ASKED.c.kind, func.count())
    .where(ASKED.c.ledger == _number, ASKED.c.seq > bindparam("after"), ASKED.c.seq <= bindparam("until"))
    .where(ASKED.c.seq <= bindparam("final"), ASKED.c.kind != _REPEATED)
    .group_by(ASKED.c.time, ASKED.c.kind)
)


class Line(NamedTuple):
    """An answer that somebody was told. `time` and `asker` are None where the book does not know."""

    number: int
    time: int | None
    asker: str | None
    point: Points
    label: int | None
    coin: int | None
    kind: Kind


@dataclass(frozen=True)
class Book:
    """Who asked what of the release in `ledger`. Reading works beside a writer, and never blocks it.

    Labels are those of the class, 0 and 1. Answers of a published classifier are not in it: they cost nothing.
    """

    ledger: Ledger
    clock: Callable[[], float] = time.time

    def usage(self, asker: str | None) -> Usage:
        """The new queries that an asker has put, and the unstable answers that it got to them."""
        return self._usages(_USAGES_OF, askers=[asker or ""]).get(asker, Usage(0, 0))

    def usages(self) -> dict[str | None, Usage]:
        """The same for everybody who has asked for something."""
        return self._usages(_USAGES)

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
            _line(number, told_at, asker, kind, answer_in(entries[holder], seq - entries[holder].before - 1))
            for number, told_at, kind, seq, holder in rows
        ]

    def history(self, buckets: int = 200) -> list[Moment]:
        """What was spent by when: at most `buckets` moments, and all that nobody timed before the first of them.

        It reads the whole book. Whoever looks again and again keeps a `History`.
        """
        return History().moments(self, buckets)

    def timed(self, after: int, until: int) -> list[Moment]:
        """What was asked for the first time in the entries past `after`, up to `until`: how much, second by second."""
        return [
            Moment(told_at, count, count * (kind == _UNSTABLE))
            for told_at, kind, count in self.ledger.read(_TIMED, after=after, until=until)
        ]

    def open(self, turn: Turn, asked: Sequence[Asked], seqs: Mapping[bytes, int]) -> WrittenPage:
        """The page of a turn. `seqs` are the numbers of the answers that the turn has found or added, by key."""
        return WrittenPage(turn, asked, seqs, int(self.clock()))

    def _all_answers(self, after: int, limit: int) -> list[Line]:
        found: list[tuple[int, Entry]] = []
        entries = self.ledger.entries(after)
        while len(found) < limit and (kept := next(entries, None)) is not None:
            found += ((number, answer) for number, answer in answers_in(kept) if number > after)
        if not found:
            return []
        told = self.ledger.read(_FIRST, first=found[0][0], last=found[-1][0])
        first = {seq: (told_at, who, kind) for seq, told_at, who, kind in told}
        return [_line(number, *first.get(number, (None, None, None)), answer) for number, answer in found[:limit]]

    def _usages(self, statement: Executable, **values: object) -> dict[str | None, Usage]:
        rows = self.ledger.read(statement, **values)
        return {who or None: Usage(*_COUNTS.unpack(counts)[:2]) for who, counts in rows}


class WrittenPage:
    """What the book holds of some askers, and what a turn adds."""

    def __init__(self, turn: Turn, asked: Sequence[Asked], seqs: Mapping[bytes, int], now: int) -> None:
        self._turn, self._seqs, self._now = turn, seqs, now
        askers = sorted({_name(each) for each in asked})
        self._before = {who: _COUNTS.unpack(counts) for who, counts in turn.read(_USAGES_OF, askers=askers)}
        self._counts = {who: list(self._before.get(who, (0, 0, 0))) for who in askers}
        self._asked: dict[tuple[str, bytes], bytes] = {}
        tokens = sorted({each.token for each in asked if each.token is not None})
        rows = turn.read(_TOLD, askers=askers, tokens=tokens) if tokens else ()
        self._told = {(who, token): (content, told) for who, token, content, told in rows}
        self._new_told: list[dict[str, object]] = []

    def replayed(self, asked: Asked) -> Told[int] | None:
        found = None if asked.token is None else self._told.get((_name(asked), asked.token))
        if found is None:
            return None
        content, told = found
        return _read_told(told) if content == asked.content else Told((), "reused")

    def allows(self, asked: Asked) -> bool:
        queries, unstable, _ = self._counts[_name(asked)]
        most = asked.allowance
        return (most.queries is None or queries < most.queries) and (most.unstable is None or unstable < most.unstable)

    def answered(self, asked: Asked, key: bytes, kind: Kind) -> None:
        who = _name(asked)
        self._asked.setdefault((who, key), bytes([_KINDS.index(kind)]))
        if kind != "repeated":
            counts = self._counts[who]
            counts[0] += 1
            counts[1] += kind == "unstable"

    def end(self, asked: Asked, told: Told[int]) -> None:
        if asked.token is not None:
            written = _written_told(told)
            self._told[_name(asked), asked.token] = asked.content, written
            row: dict[str, object] = {
                "who": _name(asked),
                "token": asked.token,
                "content": asked.content,
                "told": written,
            }
            self._new_told.append(row)

    def write(self) -> None:
        """Hand everything to the turn."""
        had = self._had()
        lines = []
        for (who, key), kind in self._asked.items():
            seq = self._seqs[key]
            if (who, seq) not in had:
                counts = self._counts[who]
                counts[2] += 1
                lines.append(
                    {"new_asker": who, "new_number": counts[2], "new_seq": seq, "new_kind": kind, "new_time": self._now}
                )
        changed = {who: tuple(counts) for who, counts in self._counts.items()}
        rows = [
            (who in self._before, {"who": who, "now": _COUNTS.pack(*counts)})
            for who, counts in changed.items()
            if counts != self._before.get(who, (0, 0, 0))
        ]
        self._turn.note(_NEW_ASKED, lines)
        self._turn.note(_USAGE, [row for is_there, row in rows if is_there])
        self._turn.note(_NEW_USAGE, [row for is_there, row in rows if not is_there])
        self._turn.note(_NEW_TOLD, self._new_told)

    def _had(self) -> set[tuple[str, int]]:
        """Which of the repeated rows an asker has asked before."""
        repeated = [(who, self._seqs[key]) for (who, key), kind in self._asked.items() if kind == _REPEATED]
        askers, seqs = sorted({who for who, _ in repeated}), sorted({seq for _, seq in repeated})
        found: set[tuple[str, int]] = set()
        for start in range(0, len(seqs), AT_ONCE):
            found |= {
                (who, seq) for who, seq in self._turn.read(_HAD, askers=askers, seqs=seqs[start : start + AT_ONCE])
            }
        return found


def _name(asked: Asked) -> str:
    return asked.asker or ""


def _line(number: int, told_at: int | None, asker: str | None, kind: bytes | None, entry: Entry) -> Line:
    first: Kind = "unstable" if entry.label is None else "stable"
    return Line(
        number, told_at, asker or None, entry.point, entry.label, entry.coin, first if kind is None else _KINDS[kind[0]]
    )


def _written_told(told: Told[int]) -> bytes:
    """As bytes, of a length that depends on the number of replies, and on whether labels are counted, alone."""
    counts_labels = any(reply.labels_left is not None for reply in told.replies)
    form = _REPLY_WITH_LABELS if counts_labels else _REPLY
    replies = (
        form.pack(
            *(_NONE if each is None else each for each in (reply.label, reply.coin)),
            _KINDS.index(reply.kind),
            reply.asked,
            reply.unstable,
            *(_NONE if each is None else max(0, each) for each in (reply.queries_left, reply.unstable_left)),
            reply.is_beyond_plan,
            *((max(0, reply.labels_left or 0),) if counts_labels else ()),
        )
        for reply in told.replies
    )
    return bytes([_STOPPED.index(told.stopped) | _LABELS_FLAG * counts_labels]) + b"".join(replies)


def _read_told(written: bytes) -> Told[int]:
    form = _REPLY_WITH_LABELS if written[0] & _LABELS_FLAG else _REPLY
    replies = [_read_reply(*fields) for fields in form.iter_unpack(written[1:])]
    return Told(replies, _STOPPED[written[0] & ~_LABELS_FLAG], is_replay=True)


def _read_reply(label: int, coin: int, kind: int, asked: int, unstable: int, *rest: int) -> Reply[int]:
    queries_left, unstable_left, is_beyond_plan, *labels_left = rest
    return Reply(
        _or_none(label),
        _or_none(coin),
        _KINDS[kind],
        asked,
        unstable,
        _or_none(queries_left),
        _or_none(unstable_left),
        bool(is_beyond_plan),
        *labels_left,
    )


def _or_none(number: int) -> int | None:
    return None if number == _NONE else number
