"""The entries and the state of a release in its ledger: all have the same length, whatever the answers were."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from pcqr.algorithms.log import Entry
from pcqr.hypotheses.base import Hypothesis
from pcqr.plan import Usage
from pcqr.release.ledger import Turn

ANSWER, PUBLISHED = "answer", "published"
PUBLISHED_KEY = PUBLISHED.encode()  # no SHA-256
_ANSWER = struct.Struct(">bbQQ")
_STATE = struct.Struct(">BQQqqB")
_STATE_VERSION = 1
_NONE = -1
_PAGE = 4_096


@dataclass(frozen=True)
class State:
    """The public counters of a release: what later answers depend on besides its secrets."""

    spent: Usage
    left: Usage
    is_published: bool = False

    def written(self) -> bytes:
        left = (_NONE if number is None else max(0, number) for number in (self.left.queries, self.left.unstable))
        return _STATE.pack(
            _STATE_VERSION, self.spent.queries or 0, self.spent.unstable or 0, *left, int(self.is_published)
        )

    @classmethod
    def read(cls, written: bytes) -> State:
        """The state that was `written`; raises ValueError for anything else."""
        try:
            version, asked, unstable, *left, published = _STATE.unpack(written)
        except struct.error:
            raise ValueError from None
        if version != _STATE_VERSION:
            raise ValueError
        queries_left, unstable_left = (None if number == _NONE else number for number in left)
        return cls(Usage(asked, unstable), Usage(queries_left, unstable_left), bool(published))


def append_answer(turn: Turn, key: bytes, digest: bytes, entry: Entry, asked: int, unstable: int) -> int:
    """Add an answer, with the counts after it; returns its number. `digest` is SHA-256 of the key."""
    label = _NONE if entry.label is None else entry.label
    coin = _NONE if entry.coin is None else entry.coin
    return turn.append(ANSWER, _ANSWER.pack(label, coin, asked, unstable) + key, key=digest)


def append_published(turn: Turn, hypothesis: Hypothesis) -> None:
    text = hypothesis.to_json().encode()
    turn.append(PUBLISHED, text.ljust(-(-len(text) // _PAGE) * _PAGE), key=PUBLISHED_KEY)


def entry_of(body: bytes) -> Entry:
    """The answer in the body of an entry."""
    label, coin, _, _ = _ANSWER.unpack_from(body)
    point = np.frombuffer(body, dtype="<f8", offset=_ANSWER.size)[None, :]
    return Entry(point, None if label == _NONE else label, None if coin == _NONE else coin)
