"""The entries and the state of a release in its ledger: all have the same length, whatever the answers were."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pcqr.algorithms.log import Entry
from pcqr.hypotheses.base import Hypothesis
from pcqr.plan import Usage
from pcqr.release.ledger import Turn

ANSWER, ANNOUNCED, PUBLISHED = "answer", "announced", "published"
PUBLISHED_KEY = PUBLISHED.encode()  # no SHA-256
_ANSWER = struct.Struct(">bbQQ")
_STATE = struct.Struct(">BQQqqB16s")
_STATE_VERSION = 2
_PUBLISHED_FLAG, _CAUTIOUS_FLAG = 1, 2
NOTHING = bytes(16)
"""The name of an announcement that there is none."""
_WIDTH = struct.Struct(">I")
_NONE = -1
_PAGE = 4_096


@dataclass(frozen=True)
class State:
    """The public counters of a release: what later answers depend on besides its secrets."""

    spent: Usage
    left: Usage
    is_published: bool = False
    is_cautious: bool = False
    """Is what will be decided announced first? Fixed when the release is kept."""
    announced: bytes = NOTHING
    """The key of the entry that announces what is being decided."""

    def written(self) -> bytes:
        left = (_NONE if number is None else max(0, number) for number in (self.left.queries, self.left.unstable))
        flags = _PUBLISHED_FLAG * self.is_published | _CAUTIOUS_FLAG * self.is_cautious
        spent = self.spent.queries or 0, self.spent.unstable or 0
        return _STATE.pack(_STATE_VERSION, *spent, *left, flags, self.announced)

    @classmethod
    def read(cls, written: bytes) -> State:
        """The state that was `written`; raises ValueError for anything else."""
        try:
            version, asked, unstable, *left, flags, announced = _STATE.unpack(written)
        except struct.error:
            raise ValueError from None
        if version != _STATE_VERSION:
            raise ValueError
        queries_left, unstable_left = (None if number == _NONE else number for number in left)
        marks = bool(flags & _PUBLISHED_FLAG), bool(flags & _CAUTIOUS_FLAG)
        return cls(Usage(asked, unstable), Usage(queries_left, unstable_left), *marks, announced)


def is_earlier(written: bytes) -> bool:
    """Was a state that cannot be read written by an earlier pcqr? Every version begins with its number."""
    return written[:1] in [bytes([version]) for version in range(1, _STATE_VERSION)]


def append_answer(turn: Turn, key: bytes, digest: bytes, entry: Entry, asked: int, unstable: int) -> int:
    """Add an answer, with the counts after it; returns its number. `digest` is SHA-256 of the key."""
    label = _NONE if entry.label is None else entry.label
    coin = _NONE if entry.coin is None else entry.coin
    return turn.append(ANSWER, _ANSWER.pack(label, coin, asked, unstable) + key, key=digest)


def append_announced(turn: Turn, name: bytes, keys: Sequence[bytes]) -> None:
    """Add which rows are going to be decided, all of one width."""
    turn.append(ANNOUNCED, _WIDTH.pack(len(keys[0])) + b"".join(keys), key=name)


def announced_in(body: bytes) -> list[bytes]:
    """The rows of such an entry."""
    (width,) = _WIDTH.unpack_from(body)
    return [body[start : start + width] for start in range(_WIDTH.size, len(body), width)]


def append_published(turn: Turn, hypothesis: Hypothesis) -> None:
    text = hypothesis.to_json().encode()
    turn.append(PUBLISHED, text.ljust(-(-len(text) // _PAGE) * _PAGE), key=PUBLISHED_KEY)


def entry_of(body: bytes) -> Entry:
    """The answer in the body of an entry."""
    label, coin, _, _ = _ANSWER.unpack_from(body)
    point = np.frombuffer(body, dtype="<f8", offset=_ANSWER.size)[None, :]
    return Entry(point, None if label == _NONE else label, None if coin == _NONE else coin)
