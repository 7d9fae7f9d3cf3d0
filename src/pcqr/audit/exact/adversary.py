"""The best adaptive adversary against two laws of conversations, by backward induction.

The adversary picks the first query, sees the answer, picks the next, … and in the end says which table it was. Over all
deterministic strategies the largest P(O) − e^ε·Q(O) is the value at the root of

    V(end) = max(0, p − e^ε·q),    V(history) = max over queries of Σ over answers of V(history, query, answer),

p and q being the two probabilities of the answers given the queries. A randomised strategy is a mixture of these, and
stopping early is never better: the sum over answers is at least as large as max(0, p − e^ε·q) before them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pcqr.audit.exact.curves import smallest_epsilon
from pcqr.audit.exact.integers import Floats
from pcqr.audit.exact.sessions import Conversations, History

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Round:
    """One round of all conversations: which question each answer belongs to, and which situation each question."""

    question_of_answer: Indices
    situation_of_question: Indices


@dataclass(frozen=True, eq=False)
class _Step:
    """The values of one round, as the adversary counts them."""

    round: _Round
    of_answer: Floats
    of_question: Floats
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
            questions = np.flatnonzero(step.round.situation_of_question == place)
            question = questions[step.of_question[questions].argmax()]
            answers = np.flatnonzero(step.round.question_of_answer == question)
            place = int(answers[step.of_answer[answers].argmax()])
        return self._ends[place]

    def _value(self, p: Floats, q: Floats, epsilon: float) -> float:
        return self._values(p, q, epsilon)[-1].root

    def _values(self, p: Floats, q: Floats, epsilon: float) -> list[_Step]:
        """Backward induction, the last round first."""
        steps: list[_Step] = []
        value: Floats = np.maximum(0.0, p - math.exp(epsilon) * q)
        for played in self._rounds:
            of_question: Floats = np.bincount(played.question_of_answer, weights=value).astype(np.float64)
            of_situation = np.zeros(int(played.situation_of_question.max()) + 1)
            np.maximum.at(of_situation, played.situation_of_question, of_question)
            steps.append(_Step(played, value, of_question, of_situation))
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
            of_question = [situations.setdefault(before, len(situations)) for before, _ in questions]
            rounds.append(_Round(np.array(of_answer), np.array(of_question)))
            histories = list(situations)
        return rounds


def _renyi(p: Floats, q: Floats, order: float) -> float:
    with np.errstate(divide="ignore"):
        logs = order * np.log(p[p > 0]) - (order - 1.0) * np.log(q[p > 0])
    return float(np.logaddexp.reduce(logs)) / (order - 1.0)
