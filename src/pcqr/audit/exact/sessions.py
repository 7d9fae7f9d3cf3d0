"""The exact law of a conversation: a release is prepared on a table, then asked one query after another.

What is computed for one table is P(a₁, …, a_r | q₁, …, q_r) for *every* sequence of queries from a menu. An adversary
who chooses each query by the answers so far meets these same probabilities, so the best of them is found afterwards,
from two such laws (adversary.py), and no strategy has to be run on its own.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from pcqr.audit.exact.events import probability
from pcqr.audit.exact.tape import Tape
from pcqr.audit.exact.walk import intercepted, walk
from pcqr.entropy import Entropy

G = TypeVar("G")
Q = TypeVar("Q")

History = tuple[tuple[int, Hashable], ...]
"""(number of the query in the menu, what the answer showed), one pair a round."""


class Session(ABC, Generic[Q]):
    """One prepared release, as the world meets it. It is copied (`copy.deepcopy`) before every question."""

    @abstractmethod
    def ask(self, query: Q) -> Hashable:
        """Everything that the answer to `query` shows. Asked again after halting, it says that it has halted."""

    def secret(self) -> Hashable | None:
        """All of the secret state, the noise excepted, that later answers can depend on, given the answers so far.

        Sessions with the same answers, the same noise and the same secret are then counted as one. None: not known,
        never merged. It must be read off the state through which the shipped code itself answers.
        """
        return None


class Once(Session[None]):
    """A mechanism without queries: everything is shown in one round, to the query None."""

    def __init__(self, run: Callable[[G, Entropy], Hashable], given: G, entropy: Entropy) -> None:
        self._run, self._given, self._entropy = run, given, entropy

    def ask(self, query: None) -> Hashable:  # noqa: ARG002
        return self._run(self._given, self._entropy)


@dataclass(frozen=True)
class Conversations:
    """P(answers | queries) for every sequence of `rounds` queries: `masses` of histories.

    `truncated` bounds, for each sequence, the mass that the finite supports of the noise leave out.
    """

    masses: dict[History, float]
    rounds: int
    truncated: float


@dataclass(frozen=True)
class _Node:
    """A state that the walk has reached between two rounds: how likely, noise left out, and the state itself."""

    history: History
    weight: float
    state: tuple[Tape, Session[Any]]


def conversations(
    start: Callable[[Entropy], Session[Q]], menu: Sequence[Q], rounds: int, kind: type[Tape] = Tape
) -> Conversations:
    """Walk the shipped code through every branch of its preparation and of every conversation of so many `rounds`."""
    masses: defaultdict[History, float] = defaultdict(float)
    truncated = 0.0
    with intercepted():
        nodes = _merged(((), tape.weight, tape, session) for tape, session in _prepared(start, kind))
        for _ in range(rounds - 1):
            nodes = _merged(step for node in nodes for step in _asked(node, menu))
        for node in nodes:
            for history, weight, tape, _ in _asked(node, menu):
                masses[history] += weight * probability(tuple(tape.laws), tape.events)
                truncated = max(truncated, tape.truncated)
    return Conversations(dict(masses), rounds, truncated)


_Step = tuple[History, float, Tape, Session[Any]]


def _prepared(start: Callable[[Entropy], Session[Q]], kind: type[Tape]) -> Iterator[tuple[Tape, Session[Q]]]:
    for tape, _ in walk(lambda: (kind(), None)):
        session = start(tape)
        yield tape, session


def _asked(node: _Node, menu: Sequence[Any]) -> Iterator[_Step]:
    """Every answer, in every branch, to every query of the `menu`."""
    fork = partial(copy.deepcopy, node.state)  # both together: the copied session draws from the copied tape
    for number, query in enumerate(menu):
        for tape, session in walk(fork):
            answer = session.ask(query)
            yield (*node.history, (number, answer)), node.weight * tape.weight, tape, session


def _merged(steps: Iterable[_Step]) -> list[_Node]:
    """One node for all states with the same history, noise and secret."""
    found: dict[Hashable, _Node] = {}
    for history, weight, tape, session in steps:
        secret = session.secret()
        key = len(found) if secret is None else (history, secret, tuple(tape.laws), tuple(tape.events))
        if key in found:
            found[key] = replace(found[key], weight=found[key].weight + weight)
        else:
            found[key] = _Node(history, weight, (tape, session))
    return list(found.values())
