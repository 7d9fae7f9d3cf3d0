"""What a release has spent over time. A look reads what was asked since the last one, so it costs no more later."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from pcqr.plan import Usage
from pcqr.release.durable.entries import State

if TYPE_CHECKING:
    from pcqr.release.durable.book import Book

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

    def look(self, book: Book, buckets: int = 200) -> tuple[Usage, list[Moment]]:
        """Return what nobody timed, and what was spent by when, that included: at most `buckets` moments."""
        spent = State.read(book.ledger.state).spent
        last = book.ledger.last.seq  # after what was spent: what is asked meanwhile must not seem to be nobody's
        with self._lock:
            while self._seen < last:
                until = min(last, self._seen + _AT_ONCE)
                self._add(book.timed(self._seen, until))
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
