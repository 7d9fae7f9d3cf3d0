"""The exact law of a conversation: a release is prepared on a table, then asked one query after another.

What is computed for one table is P(a₁, …, a_r | q₁, …, q_r) for *every* sequence of queries from a menu. An adversary
who chooses each query by the answers so far meets these same probabilities, so the best of them is found afterwards,
from two such laws (adversary.py), and no strategy has to be run on its own.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.audit.exact.events import Floats, probability, smallest_epsilon
from pcqr.audit.exact.tape import Tape, intercepted, walk
from pcqr.privacy.entropy import Entropy

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

    def __init__(self, run: Callable[[G, Entropy], Hashable], data: G, entropy: Entropy) -> None:
        self._run, self._data, self._entropy = run, data, entropy

    def ask(self, query: None) -> Hashable:  # noqa: ARG002
        return self._run(self._data, self._entropy)


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


_Reached = tuple[History, float, Tape, Session[Any]]


def _prepared(start: Callable[[Entropy], Session[Q]], kind: type[Tape]) -> Iterator[tuple[Tape, Session[Q]]]:
    for tape, _ in walk(lambda: (kind(), None)):
        session = start(tape)
        yield tape, session


def _asked(node: _Node, menu: Sequence[Any]) -> Iterator[_Reached]:
    """Every answer, in every branch, to every query of the `menu`."""
    fork = partial(copy.deepcopy, node.state)  # both together: the copied session draws from the copied tape
    for number, query in enumerate(menu):
        for tape, session in walk(fork):
            answer = session.ask(query)
            yield (*node.history, (number, answer)), node.weight * tape.weight, tape, session


def _merged(steps: Iterable[_Reached]) -> list[_Node]:
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


# ---------------------------------------------------------------------------------------------------------------------
# The best adaptive adversary against two laws of conversations, by backward induction.
#
# The adversary picks the first query, sees the answer, picks the next, … and in the end says which table it was. Over
# all deterministic strategies the largest P(O) − e^ε·Q(O) is the value at the root of
#
#     V(end) = max(0, p − e^ε·q),    V(history) = max over queries of Σ over answers of V(history, query, answer),
#
# p and q being the two probabilities of the answers given the queries. A randomised strategy is a mixture of these, and
# stopping early is never better: the sum over answers is at least as large as max(0, p − e^ε·q) before them.


Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Round:
    """One round of all conversations: which question each answer belongs to, and which situation each question."""

    query_of_answer: Indices
    history_of_query: Indices


@dataclass(frozen=True, eq=False)
class _Step:
    """The values of one round, as the adversary counts them."""

    round: _Round
    of_answer: Floats
    of_query: Floats
    of_situation: Floats

    @property
    def root(self) -> float:
        return float(self.of_situation[0])


@dataclass(frozen=True, eq=False)
class Game:
    """What an adversary can do to tell `first` from `second`, in either direction."""

    first: Conversations
    second: Conversations

    @property
    def truncated(self) -> float:
        """What to add to a computed δ for it to be an upper bound (proofs/audit.md)."""
        return max(self.first.truncated, self.second.truncated)

    def delta_at(self, epsilon: float) -> float:
        """δ(ε): the value of the best adversary, the larger of the two directions."""
        return max(self._value(p, q, epsilon) for p, q in self._directions)

    def epsilon_at(self, delta: float, least: float = 0.0) -> float:
        """The smallest ε ≥ `least` with δ(ε) ≤ `delta`; infinite where there is none."""
        if delta == 0.0:
            return max(least, float(self._log_ratios.max()))
        return smallest_epsilon(self.delta_at, delta, least)

    def divergence(self, order: float) -> float:
        """The Rényi divergence of `order` α > 1, the larger of the two directions, where there is no query to choose.

        ln Σ p^α·q^{1−α} / (α − 1), over the outcomes that finite supports have kept.
        """
        return max(_renyi(p, q, order) for p, q in self._directions)

    def tell_tale(self, epsilon: float) -> History:
        """A conversation of the best adversary at ε: in each round its query, and the answer that gains it most.

        Where none gains anything, the conversation with the largest log-ratio.
        """
        values = max((self._values(p, q, epsilon) for p, q in self._directions), key=lambda steps: steps[-1].root)
        if values[-1].root <= 0.0:
            return self._ends[int(self._log_ratios.argmax())]
        place = 0
        for step in reversed(values):
            questions = np.flatnonzero(step.round.history_of_query == place)
            question = questions[step.of_query[questions].argmax()]
            answers = np.flatnonzero(step.round.query_of_answer == question)
            place = int(answers[step.of_answer[answers].argmax()])
        return self._ends[place]

    def _value(self, p: Floats, q: Floats, epsilon: float) -> float:
        return self._values(p, q, epsilon)[-1].root

    def _values(self, p: Floats, q: Floats, epsilon: float) -> list[_Step]:
        """Backward induction, the last round first."""
        steps: list[_Step] = []
        value: Floats = np.maximum(0.0, p - math.exp(epsilon) * q)
        for played in self._rounds:
            of_query: Floats = np.bincount(played.query_of_answer, weights=value).astype(np.float64)
            of_situation = np.zeros(int(played.history_of_query.max()) + 1)
            np.maximum.at(of_situation, played.history_of_query, of_query)
            steps.append(_Step(played, value, of_query, of_situation))
            value = of_situation
        return steps

    @cached_property
    def _ends(self) -> list[History]:
        return list(dict.fromkeys((*self.first.masses, *self.second.masses)))

    @cached_property
    def _directions(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        p, q = (np.array([law.masses.get(end, 0.0) for end in self._ends]) for law in (self.first, self.second))
        return (p, q), (q, p)

    @cached_property
    def _log_ratios(self) -> Floats:
        """|ln P − ln Q| of each conversation; 0 for one that has no mass on either side."""
        p, q = self._directions[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios: Floats = np.abs(np.log(p) - np.log(q))
        return np.where((p > 0) | (q > 0), ratios, 0.0)

    @cached_property
    def _rounds(self) -> list[_Round]:
        """All rounds, the last first. The answers of one are the situations of the next, in the same order."""
        rounds: list[_Round] = []
        histories = self._ends
        for _ in range(self.first.rounds):
            questions: dict[tuple[History, int], int] = {}
            of_answer = [questions.setdefault((past[:-1], past[-1][0]), len(questions)) for past in histories]
            situations: dict[History, int] = {}
            of_query = [situations.setdefault(before, len(situations)) for before, _ in questions]
            rounds.append(_Round(np.array(of_answer), np.array(of_query)))
            histories = list(situations)
        return rounds


def _renyi(p: Floats, q: Floats, order: float) -> float:
    with np.errstate(divide="ignore"):
        logs = order * np.log(p[p > 0]) - (order - 1.0) * np.log(q[p > 0])
    return float(np.logaddexp.reduce(logs)) / (order - 1.0)
