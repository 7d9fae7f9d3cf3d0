"""What is asked and what is told: requests that share one turn, each with its own answer (proofs/priv_class.md)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.plan import Answer, Kind, Usage

if TYPE_CHECKING:
    from pcqr.algorithms.log import Entry

L = TypeVar("L")
UNLIMITED = Usage(None, None)
Stopped = Literal["halted", "quota", "reused"]
"""Why a request has fewer answers than rows: the release has halted, nothing is left of the asker's allowance, or its
token belongs to another request (then it has none at all)."""


class Reply(NamedTuple, Generic[L]):
    """An answer in atoms, of which a long batch keeps many, and the coin that stands in for ⊥ where one is wanted."""

    label: L | None
    coin: L | None
    kind: Kind
    asked: int
    unstable: int
    queries_left: int | None
    unstable_left: int | None
    is_beyond_plan: bool
    labels_left: int | None = None

    @property
    def answer(self) -> Answer[L]:
        return Answer(self.label, self.kind, self.spent, self.left, beyond_plan=self.is_beyond_plan)

    @property
    def spent(self) -> Usage:
        return Usage(self.asked, self.unstable)

    @property
    def left(self) -> Usage:
        return Usage(self.queries_left, self.unstable_left, self.labels_left)

    def named(self, names: Mapping[L | None, Any]) -> Reply[Any]:
        """The same with other labels."""
        return Reply(names[self.label], names[self.coin], *self[2:])

    def without_end(self) -> Reply[L]:
        """The same, where other answers follow when the votes are over."""
        return self._replace(queries_left=None)


@dataclass(frozen=True, eq=False)
class Asked:
    """A request: rows to be answered in order.

    Parameters
    ----------
    points : Points
        The rows, as `release.points(X)` reads them.
    asker : str or None, default None
        Who asks, for the book; None: nobody in particular.
    allowance : Usage
        The new queries, and the unstable answers, that this asker may have in all, over all its requests; None: any
        number. Needs a book.
    token : bytes or None, default None
        What the asker calls this request: sent again within 24 hours, it gets the same response. Needs a book.
    is_shared : bool, default True
        Does what others have asked count as asked before? False: a row that is new to this asker counts against its
        allowance and is told as it was decided, although its answer is in the log. Needs a book.
    """

    points: Points
    asker: str | None = None
    allowance: Usage = UNLIMITED
    token: bytes | None = None
    is_shared: bool = True

    @property
    def content(self) -> bytes:
        """What tells requests with one token apart."""
        return sha256((self.points + 0.0).tobytes()).digest()

    @property
    def needs_book(self) -> bool:
        return self.token is not None or self.allowance != UNLIMITED or not self.is_shared


@dataclass(frozen=True)
class Told(Generic[L]):
    """What a request got: the replies to its first rows, and why there are no more.

    `is_replay`: they were given before, to a request with the same token.
    """

    replies: Sequence[Reply[L]]
    stopped: Stopped | None = None
    is_replay: bool = False


class Page(Protocol):
    """The book during one turn. All that it decides is a function of the transcript and of public requests."""

    def replayed(self, asked: Asked, these: Sequence[bytes], known: Mapping[bytes, Entry]) -> Told[int] | None:
        """Return what a request with this token got before; None for a new token, or none.

        `these` are the keys of its rows, and `known` has the entries of the log with these keys.
        """

    def allows(self, asked: Asked) -> bool:
        """Is anything left of what this asker may have?"""

    def is_first(self, asked: Asked, key: bytes) -> bool:
        """Is a row that is in the log new to an asker who shares nothing with others?"""

    def answered(self, asked: Asked, key: bytes, kind: Kind, *, is_logged: bool) -> None:
        """Record that a row was answered, from the log or by a decision of this transaction."""

    def end(self, asked: Asked, these: Sequence[bytes], told: Told[int]) -> None:
        """Record that a request, whose rows have the keys `these`, is finished."""


class Book(Protocol):
    """Who asked what, kept beside the transcript (`pcqr.release.durable.book`). The log that it belongs to opens it."""

    def usage(self, asker: str | None) -> Usage:
        """What an asker has had."""

    def quota(self, asked: Asked) -> Usage | None:
        """Return what remains of the asker's allowance, None if it has no limit."""

    def known(self, asked: Asked, these: Sequence[bytes]) -> Collection[bytes]:
        """Return those of the keys `these` whose rows the asker, or anybody if it shares, has asked before."""


def check_book(asked: Sequence[Asked], book: Book | None) -> None:
    """Raise where somebody counts on a book that is not there."""
    if book is None and any(each.needs_book for each in asked):
        raise ParameterError("book", "given, for whoever asks with an allowance or a token, or shares nothing", None)
