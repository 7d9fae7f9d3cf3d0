"""What can go wrong between a client and a server, beside what a release itself raises.

    ServiceError (RuntimeError)      a server refused, is away, or says what no pcqr server says: the remedy
    ├── ServiceAway (ConnectionError) nobody answers, the connection broke again and again, or the server is too busy
    ├── NotAdmitted                  the key is missing, unknown, or not allowed to do this
    ├── NotConfirmed                 the rows are expected to exhaust the release, and that was not confirmed
    ├── QuotaSpent                   the key has used up its queries or its unstable answers; carries the answers so far
    └── BadReply                     what came back is no reply of a pcqr server

    KeyInClear (PcqrWarning)         a key goes to another machine unencrypted

They are `PcqrError`s. What a server says in words is cut, stripped of control characters and quoted; a key is in no
message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pcqr.errors import PcqrError, PcqrWarning
from pcqr.releases.protocol.answers import Answer, BatchCost, Usage, counted

MOST_QUOTED = 300
"""Characters of a server's own words that a message repeats."""


def quoted(text: str) -> str:
    """What a server said, fit for a terminal: one line, no control characters, not too long."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * MOST_QUOTED])
    line = " ".join(line.split())
    return line if len(line) <= MOST_QUOTED else line[: MOST_QUOTED - 1] + "…"


class ServiceError(PcqrError, RuntimeError):
    """A server did not do what it was asked.

    Parameters
    ----------
    place : str
        The server, or the release on it.
    reason : str
        What is wrong, after "The server PLACE …".
    remedy : str
        What to do about it: whole sentences.
    status : int or None, default None
        The status of HTTP, where one came.
    code : str, default ""
        The server's name for the error.

    Examples
    --------
    >>> from pcqr.client.errors import ServiceError
    >>> print(ServiceError("http://127.0.0.1:8000", "has nothing named 'x'", "It serves: hospital."))
    The server http://127.0.0.1:8000 has nothing named 'x'. It serves: hospital.
    """

    def __init__(self, place: str, reason: str, remedy: str, *, status: int | None = None, code: str = "") -> None:
        self.place = place
        self.reason = reason
        self.remedy = remedy
        self.status = status
        self.code = code
        super().__init__(f"The server {place} {reason}. {remedy}")


class ServiceAway(ServiceError, ConnectionError):
    """Nobody answers, or not now. What was asked may have been answered: to ask again costs nothing."""


class NotAdmitted(ServiceError):
    """The key is missing, unknown or of the wrong role. Keys are made by `pcqr keys create`."""


class BadReply(ServiceError):
    """What came back is not what a pcqr server says: another service, a proxy's page, a broken or hostile server."""


class QuotaSpent(ServiceError):
    """The key has used up what the data holder allowed it. The release goes on for others.

    Parameters
    ----------
    place : str
        The release.
    used, allowance : Usage
        What the key has used, and what it may use.
    requested : int
        The rows that got no answer.
    answers : sequence of Answer, default ()
        The answers to the rows of the same call before them.

    Examples
    --------
    >>> from pcqr.client.errors import QuotaSpent
    >>> from pcqr.releases.protocol.answers import Usage
    >>> print(QuotaSpent("http://127.0.0.1:8000/hospital", used=Usage(100, 3), allowance=Usage(100, None), requested=2))
    The server http://127.0.0.1:8000/hospital answers this key no more: it has used 100 queries and 3 unstable answers
    of 100 queries. Unanswered: 2 rows. Rows asked before are still answered at no cost; for more, ask the data holder.
    """

    def __init__(
        self, place: str, *, used: Usage, allowance: Usage, requested: int, answers: Sequence[Answer[Any]] = ()
    ) -> None:
        self.used = used
        self.allowance = allowance
        self.requested = requested
        self.answers = tuple(answers)
        rows = "1 row" if requested == 1 else f"{requested:,} rows"
        super().__init__(
            place,
            f"answers this key no more: it has used {used} of {allowance}. Unanswered: {rows}",
            "Rows asked before are still answered at no cost; for more, ask the data holder.",
            status=403,
            code="quota_spent",
        )


class NotConfirmed(ServiceError):
    """The rows are expected to exhaust the release for everybody, for ever. Nothing was asked.

    Parameters
    ----------
    place : str
        The release.
    cost : BatchCost
        What they would cost.

    Examples
    --------
    >>> from pcqr.client.errors import NotConfirmed
    >>> from pcqr.releases.protocol.answers import BatchCost, Usage
    >>> cost = BatchCost(
    ...     requested=900, repeated=0, new=900, published=0, certain=6, remaining=Usage(None, 6), beyond_plan=600,
    ...     expected_unstable=6.0, chance_of_halting=1.0, chance_of_exhausting=1.0,
    ... )
    >>> print(NotConfirmed("http://127.0.0.1:8000/hospital", cost))
    The server http://127.0.0.1:8000/hospital was not asked: 900 new queries are expected to exhaust the release, for
    everybody and for ever (remaining: 6 unstable answers and any number of stable ones). Ask fewer rows (preview says
    what they cost), or confirm all of them: confirm=True.
    """

    def __init__(self, place: str, cost: BatchCost) -> None:
        self.cost = cost
        super().__init__(
            place,
            f"was not asked: {counted(cost.new, 'new query', 'new queries')} are expected to exhaust the release, for "
            f"everybody and for ever (remaining: {cost.remaining})",
            "Ask fewer rows (preview says what they cost), or confirm all of them: confirm=True.",
            status=409,
            code="would_exhaust",
        )


class KeyInClear(PcqrWarning):
    """A key is sent to another machine over a connection that everybody in between can read."""
