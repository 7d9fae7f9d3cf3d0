"""PrivClass: the online protocol. One query at a time, answered before the next is seen (Algorithm PrivClass).

The protocol owns the transcript: it recognises repeated queries, counts what is spent, and refuses when nothing is
left. All of that is a function of the transcript, so it costs no privacy. The procedure behind it only decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.algorithms.lock import Lock
from pcqr.algorithms.preview import batch_cost, key, keys, new_rows
from pcqr.entropy import Entropy
from pcqr.errors import BudgetExhausted
from pcqr.hypotheses.base import Points
from pcqr.plan import Answer, BatchCost, Kind, Usage

_BLOCK = 256

_Said = tuple[int | None, Kind, int, int, int | None, int | None]
"""An answer in atoms, of which a long batch keeps many: label, kind, queries and ⊥ spent, queries and ⊥ left."""


class PrivLabel(Protocol):
    """The paper's generic procedure behind the protocol, for votes that can be counted ahead in one pass."""

    @property
    def left(self) -> Usage:
        """The decisions that may still be made, a function of those made: public. No limit, or no ⊥: None."""

    def counts(self, X: Points) -> NDArray[np.int64]:
        """The votes on each row of `X`, one column a label: a fixed function of secrets. Private."""

    def decide(self, counts: NDArray[np.int64]) -> int | None:
        """The label that a vote ends in, None for ⊥: the only thing about the votes that may be shown."""


@dataclass(frozen=True)
class Entry:
    """What the log keeps of a query: the point, the answer, and the coin that stands in for ⊥ where one is wanted."""

    point: Points
    label: int | None
    coin: int | None


class PrivClass:
    """Answers queries through a `PrivLabel` until nothing is left of what it may decide.

    `queries` is the planned number m, past which answers are marked as beyond the plan. Queries are told apart by their
    bits: the same point asked again gets its logged answer and costs nothing. `labeller` holds secrets.
    """

    def __init__(self, labeller: PrivLabel, queries: int, entropy: Entropy) -> None:
        self.labeller = labeller
        self._queries = queries
        self._entropy = entropy
        self._log: dict[bytes, Entry] = {}
        self._unstable = 0
        self._lock = Lock()

    @property
    def transcript(self) -> tuple[Entry, ...]:
        """Every distinct query with its answer, in order. Public."""
        return tuple(self._log.values())

    @property
    def asked(self) -> int:
        """The number of distinct queries so far."""
        return len(self._log)

    @property
    def unstable(self) -> int:
        """The number of these that got ⊥."""
        return self._unstable

    @property
    def spent(self) -> Usage:
        return Usage(len(self._log), self._unstable)

    @property
    def left(self) -> Usage:
        return self.labeller.left

    @property
    def is_halted(self) -> bool:
        return self.left.is_nothing

    def logged(self, x: Points) -> Entry | None:
        """The entry of a query asked before, bit for bit, else None."""
        return self._log.get(key(x))

    def preview(self, X: Points, unstable_share: float | None = None, *, votes_left: int | None = None) -> BatchCost:
        """What the rows of `X` would cost, asked in order: a function of the transcript and of the rows alone.

        `unstable_share` is the planner's guess at the share of unstable answers, None where it has none; after
        `votes_left` new queries a published classifier answers.
        """
        with self._lock:  # the log and what is left, of one moment
            return batch_cost(
                new_rows(X, self._log),
                left=self.left,
                planned=max(0, self._queries - len(self._log)),
                unstable_share=unstable_share,
                votes_left=votes_left,
            )

    def answer(self, x: Points) -> Answer[int]:
        """Answer the query in the one-row table `x`."""
        return next(self.answers(x))

    def answers(self, X: Points) -> Iterator[Answer[int]]:
        """Answer the rows of `X` in order; raises `BudgetExhausted` at the first new row that cannot be answered.

        The votes on the new rows of a block are counted ahead, which is faster and changes nothing: they are fixed
        functions.
        """
        said: list[_Said] = []
        for start in range(0, X.shape[0], _BLOCK):
            block = X[start : start + _BLOCK]
            block_keys = keys(block)
            votes = self._new_votes(block, block_keys)
            for row, this in enumerate(block_keys):
                found = self._answer_row(block[row : row + 1], this, votes)
                if found is None:
                    requested, given = X.shape[0] - len(said), [self._worded(each) for each in said]
                    raise BudgetExhausted(spent=self.spent, requested=requested, left=self.left, answers=given)
                said.append(found)
                yield self._worded(found)

    def _new_votes(self, block: Points, block_keys: Sequence[bytes]) -> Mapping[bytes, NDArray[np.int64]]:
        """The votes on the rows that have to be decided, each counted once. What is in the log stays there."""
        new: dict[bytes, int] = {}
        for row, this in enumerate(block_keys):
            if this not in self._log:
                new.setdefault(this, row)
        if not new or self.is_halted:
            return {}
        rows = block if len(new) == len(block) else block[list(new.values())]
        return dict(zip(new, self.labeller.counts(rows), strict=True))

    def _answer_row(self, x: Points, this: bytes, votes: Mapping[bytes, NDArray[np.int64]]) -> _Said | None:
        # One at a time: two queries in flight at the last unstable answer could both be unstable.
        with self._lock:
            entry = self._log.get(this)
            if entry is not None:
                return self._said(entry, "repeated")
            if self.is_halted:
                return None
            counts = votes[this]
            label = self.labeller.decide(counts)
            self._unstable += label is None
            coin = int(self._entropy.below(counts.size, 1)[0]) if label is None else None
            entry = self._log[this] = Entry(x.copy(), label, coin)  # the caller may reuse its array
            return self._said(entry, "unstable" if label is None else "stable")

    def _said(self, entry: Entry, kind: Kind) -> _Said:
        left = self.left
        return entry.label, kind, len(self._log), self._unstable, left.queries, left.unstable

    def _worded(self, said: _Said) -> Answer[int]:
        label, kind, asked, unstable, queries_left, unstable_left = said
        left = Usage(queries_left, unstable_left)
        return Answer(label, kind, Usage(asked, unstable), left, beyond_plan=asked > self._queries)
