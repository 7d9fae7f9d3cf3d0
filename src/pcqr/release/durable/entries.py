"""The entries and the state of a release in its ledger: all have the same length, whatever the answers were."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from pcqr.algorithms.log import Entry
from pcqr.hypotheses.base import Hypothesis
from pcqr.plan import Usage
from pcqr.release.ledger import Entry as Kept
from pcqr.release.ledger import Turn

ANSWERS, ANNOUNCED, PUBLISHED = "answers", "announced", "published"
ANSWER = "answer"
"""One answer, as ledgers of table version 2 have them."""
PUBLISHED_KEY = PUBLISHED.encode()  # no SHA-256
_ANSWER = struct.Struct(">bbQQ")
_DECISION = struct.Struct(">bb")
_MOST_ANSWERS, _MOST_BYTES = 256, 1 << 14
"""In one entry: whoever looks for one of its answers reads it whole."""
_STATE = struct.Struct(">BQQqqB16s")
_STATE_VERSION = 2
_LABELS = struct.Struct(">q")
_LABELS_VERSION = 3
"""Of a state that counts labels, which comes after all that the others have."""
_PUBLISHED_FLAG, _CAUTIOUS_FLAG, _WRITTEN_OFF_FLAG = 1, 2, 4
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
    is_written_off: bool = False
    """Does an older copy go on in which everything counts as used? Nothing is then decided or published any more."""

    def written(self) -> bytes:
        left = (_NONE if number is None else max(0, number) for number in (self.left.queries, self.left.unstable))
        flags = _PUBLISHED_FLAG * self.is_published | _CAUTIOUS_FLAG * self.is_cautious
        flags |= _WRITTEN_OFF_FLAG * self.is_written_off
        spent = self.spent.queries or 0, self.spent.unstable or 0
        if self.left.labels is None:
            return _STATE.pack(_STATE_VERSION, *spent, *left, flags, self.announced)
        written = _STATE.pack(_LABELS_VERSION, *spent, *left, flags, self.announced)
        return written + _LABELS.pack(max(0, self.left.labels))

    @classmethod
    def read(cls, written: bytes) -> State:
        """The state that was `written`; raises ValueError for anything else."""
        labels_left = None
        try:
            if written[:1] == bytes([_LABELS_VERSION]):
                (labels_left,) = _LABELS.unpack(written[_STATE.size :])
                written = written[: _STATE.size]
            version, asked, unstable, *left, flags, announced = _STATE.unpack(written)
        except struct.error:
            raise ValueError from None
        if version != (_STATE_VERSION if labels_left is None else _LABELS_VERSION):
            raise ValueError
        queries_left, unstable_left = (None if number == _NONE else number for number in left)
        marks = bool(flags & _PUBLISHED_FLAG), bool(flags & _CAUTIOUS_FLAG)
        counts = Usage(asked, unstable), Usage(queries_left, unstable_left, labels_left)
        return cls(*counts, *marks, announced, bool(flags & _WRITTEN_OFF_FLAG))

    def written_off(self) -> State:
        """Return the state with nothing remaining and nothing announced: only logged answers are repeated."""
        numbers = (self.left.queries, self.left.unstable, self.left.labels)
        nothing = Usage(*(None if number is None else 0 for number in numbers))
        return replace(
            self, left=nothing if nothing.is_nothing else Usage(0, None), announced=NOTHING, is_written_off=True
        )


def is_earlier(written: bytes) -> bool:
    """Was a state that cannot be read written by an earlier pcqr? Every version begins with its number."""
    return written[:1] in [bytes([version]) for version in range(1, _STATE_VERSION)]


def append_answers(turn: Turn, answers: Mapping[bytes, Entry], digests: Mapping[bytes, bytes]) -> None:
    """Add answers to points of one width, by the bits of the points, of which `digests` are the SHA-256.

    Many are in one entry: first what was decided, then the points.
    """
    keys = list(answers)
    size = max(1, min(_MOST_ANSWERS, _MOST_BYTES // max(1, len(keys[0])))) if keys else 1
    for start in range(0, len(keys), size):
        these = keys[start : start + size]
        these_answers = [answers[key] for key in these]
        decided = [_NONE if each is None else each for one in these_answers for each in (one.label, one.coin)]
        decisions = struct.pack(f">{len(decided)}b", *decided)
        turn.append(ANSWERS, decisions + b"".join(these), *(digests[key] for key in these))


def append_announced(turn: Turn, name: bytes, keys: Sequence[bytes]) -> None:
    """Add which rows are going to be decided, all of one width."""
    turn.append(ANNOUNCED, _WIDTH.pack(len(keys[0])) + b"".join(keys), name)


def announced_in(body: bytes) -> list[bytes]:
    """The rows of such an entry."""
    (width,) = _WIDTH.unpack_from(body)
    return [body[start : start + width] for start in range(_WIDTH.size, len(body), width)]


def append_published(turn: Turn, hypothesis: Hypothesis) -> None:
    text = hypothesis.to_json().encode()
    turn.append(PUBLISHED, text.ljust(-(-len(text) // _PAGE) * _PAGE), PUBLISHED_KEY)


def answer_in(kept: Kept, position: int) -> Entry:
    """The answer at a `position` of an entry with answers, from 0 on."""
    decision, points = (_ANSWER, _ANSWER.size) if kept.kind == ANSWER else (_DECISION, kept.size * _DECISION.size)
    label, coin = decision.unpack_from(kept.body, position * decision.size)[:2]
    width = (len(kept.body) - points) // kept.size
    key = kept.body[points + position * width : points + (position + 1) * width]
    point = np.frombuffer(key, dtype="<f8")[None, :]
    return Entry(point, None if label == _NONE else label, None if coin == _NONE else coin)


def answers_in(kept: Kept) -> Iterator[tuple[int, Entry]]:
    """All answers of an entry, each with its number. None of an entry of another kind."""
    if kept.kind in (ANSWER, ANSWERS):
        yield from ((kept.before + 1 + position, answer_in(kept, position)) for position in range(kept.size))


def digests(keys: Iterable[bytes]) -> dict[bytes, bytes]:
    """Return the keys of the ledger: digests of those of the protocol, which may be long."""
    return {key: sha256(key).digest() for key in keys}


def located(
    digests: Mapping[bytes, bytes], find: Callable[[Sequence[bytes]], Mapping[bytes, Kept]]
) -> dict[bytes, tuple[Kept, int]]:
    """Return the entries of the ledger, and the positions in them, by the keys of the protocol."""
    found = find(list(digests.values()))
    wanted = ((key, digest) for key, digest in digests.items() if digest in found) if found else ()
    return {key: (found[digest], found[digest].position(digest) or 0) for key, digest in wanted}
