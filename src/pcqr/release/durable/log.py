"""The log of a release in a ledger: every entry and every state has the same length, whatever the answer was."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from pcqr.algorithms.log import Entry, MemoryLog, PrivLabel
from pcqr.errors import CopyCannotAnswer, LedgerDamaged
from pcqr.hypotheses.base import Hypothesis
from pcqr.plan import Usage
from pcqr.release.ledger import Entry as Kept
from pcqr.release.ledger import Ledger
from pcqr.release.ledger import Turn as LedgerTurn

ANSWER, PUBLISHED = "answer", "published"
_ANSWER = struct.Struct(">bbQQ")
_STATE = struct.Struct(">BQQqqB")
_STATE_VERSION = 1
_NONE = -1
_PAGE = 4_096
_PUBLISHED_KEY = PUBLISHED.encode()  # no SHA-256


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


class LedgerLog:
    """A log that is in a ledger alone: nothing of it is held in memory. `forget` is called once a classifier is out."""

    def __init__(self, ledger: Ledger, *, is_copy: bool = False, forget: Callable[[], None] | None = None) -> None:
        self.ledger = ledger
        self._forget = forget
        self._owner = None if is_copy or ledger.is_read_only else os.getpid()
        self._published: Hypothesis | None = None

    @property
    def is_original(self) -> bool:
        return self._owner == os.getpid()

    @property
    def state(self) -> State:
        return self._read(self.ledger.state)

    @property
    def published(self) -> Hypothesis | None:
        if self._published is None and self.state.is_published:
            (entry,) = self.ledger.find([_PUBLISHED_KEY]).values()
            self._published = Hypothesis.from_json(entry.body.decode())
        return self._published

    def refresh(self, labeller: PrivLabel) -> Usage:
        state = self.state
        labeller.left = state.left
        return state.spent

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Entry]:
        return _found(keys, self.ledger.find)

    def entries(self) -> Iterator[Entry]:
        return (_entry(entry.body) for entry in self.ledger.entries() if entry.kind == ANSWER)

    @contextmanager
    def turn(self, labeller: PrivLabel) -> Iterator[Turn]:
        if not self.is_original:
            raise CopyCannotAnswer
        with self.ledger.turn() as ledger_turn:
            before = self._read(ledger_turn.state)
            labeller.left = before.left
            turn = Turn(ledger_turn, before, self)
            yield turn
            after = turn.after(labeller.left)
            ledger_turn.state = after.written()
        if after.is_published and not before.is_published and self._forget is not None:
            self._forget()

    def close(self) -> None:
        """Let another process write; all that was said is on disk. A copy leaves that to its original."""
        if self.is_original or self.ledger.is_read_only:
            self.ledger.close()

    def copied(self) -> LedgerLog:
        return LedgerLog(self.ledger, is_copy=True)

    def __getstate__(self) -> dict[str, object]:
        """A copy reads, and removes no files."""
        return vars(self) | {"_owner": None, "_forget": None}

    def _read(self, written: bytes) -> State:
        try:
            return State.read(written)
        except ValueError:
            raise LedgerDamaged(
                self.ledger.place, "holds no state of a release that this pcqr can read", "Install a newer pcqr."
            ) from None


class Turn:
    """An exclusive turn of the release's ledger."""

    def __init__(self, turn: LedgerTurn, before: State, log: LedgerLog) -> None:
        self._turn = turn
        self._log = log
        self._asked, self._unstable = before.spent.queries or 0, before.spent.unstable or 0
        self._is_published = before.is_published

    @property
    def spent(self) -> Usage:
        return Usage(self._asked, self._unstable)

    @property
    def published(self) -> Hypothesis | None:
        return self._log.published if self._is_published else None

    def after(self, left: Usage) -> State:
        """The state at the end of this turn, with what is `left` then."""
        return State(self.spent, left, self._is_published)

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Entry]:
        return _found(keys, self._turn.find)

    def add(self, key: bytes, entry: Entry) -> None:
        self._asked += 1
        self._unstable += entry.label is None
        append_answer(self._turn, key, entry, self._asked, self._unstable)

    def publish(self, hypothesis: Hypothesis) -> None:
        append_published(self._turn, hypothesis)
        self._is_published = True


def move(log: MemoryLog, left: Usage, turn: LedgerTurn) -> None:
    """Write all that a release has answered in memory into its ledger."""
    asked = unstable = 0
    for key, entry in log.keyed():
        asked, unstable = asked + 1, unstable + (entry.label is None)
        append_answer(turn, key, entry, asked, unstable)
    if log.published is not None:
        append_published(turn, log.published)
    turn.state = State(Usage(asked, unstable), left, log.published is not None).written()


def append_answer(turn: LedgerTurn, key: bytes, entry: Entry, asked: int, unstable: int) -> None:
    """Add an answer, with the counts after it."""
    label = _NONE if entry.label is None else entry.label
    coin = _NONE if entry.coin is None else entry.coin
    turn.append(ANSWER, _ANSWER.pack(label, coin, asked, unstable) + key, key=sha256(key).digest())


def append_published(turn: LedgerTurn, hypothesis: Hypothesis) -> None:
    text = hypothesis.to_json().encode()
    turn.append(PUBLISHED, text.ljust(-(-len(text) // _PAGE) * _PAGE), key=_PUBLISHED_KEY)


def _found(keys: Sequence[bytes], find: Callable[[Sequence[bytes]], Mapping[bytes, Kept]]) -> dict[bytes, Entry]:
    hashed = {sha256(key).digest(): key for key in keys}
    return {hashed[digest]: _entry(kept.body) for digest, kept in find(list(hashed)).items()}


def _entry(body: bytes) -> Entry:
    label, coin, _, _ = _ANSWER.unpack_from(body)
    point = np.frombuffer(body, dtype="<f8", offset=_ANSWER.size)[None, :]
    return Entry(point, None if label == _NONE else label, None if coin == _NONE else coin)
