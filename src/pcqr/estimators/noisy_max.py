"""The per-query noisy majority behind the same face as our releases, to compare them with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pcqr.algorithms.peers.noisy_max import noisy_max
from pcqr.algorithms.priv_class import PrivClass
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.estimators.base import Records
from pcqr.estimators.releases import Release
from pcqr.hypotheses.base import HypothesisClass
from pcqr.plan import Answer, BatchCost, NoisyMaxPlan, Usage
from pcqr.planning.noisy_max import plan_noisy_max
from pcqr.planning.request import Request


class NoisyMaxAggregate(Release[NoisyMaxPlan]):
    """Noisy majorities of teachers (PATE 2017, 2018; Dwork and Feldman 2018). (ε, δ)-DP for m = `queries` answers.

    Every query gets a label, however the teachers vote, and every label is paid for: after m distinct queries
    `BudgetExhausted` is raised, while queries asked before are answered from the log. `plan_.vote.noise` is a discrete
    Gaussian on the count of votes or an exponential mechanism, whichever the planner expects to err less. In an
    `Answer` the kind "stable" says no more than that the label is a vote's.

    Parameters
    ----------
    hypotheses : the class H of the teachers; None is `Stumps()`.
    epsilon, delta : the whole of the privacy loss, charged at `fit`: it covers all m answers.
    queries : m, how many distinct queries are answered. Noise grows like √m.
    alpha, beta : kept in `plan_`, as the other releases do; no accuracy is certified for this one.
    entropy, classes : as for the other releases.
    teachers : k, odd; None lets the planner choose.
    """

    def __init__(
        self,
        hypotheses: HypothesisClass | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        queries: int = 300,
        alpha: float = 0.1,
        beta: float = 0.05,
        entropy: Entropy | int | None = None,
        classes: Sequence[Any] | None = None,
        teachers: int | None = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.epsilon = epsilon
        self.delta = delta
        self.queries = queries
        self.alpha = alpha
        self.beta = beta
        self.entropy = entropy
        self.classes = classes
        self.teachers = teachers

    @np.errstate(all="ignore")
    def preview(self, X: Any) -> BatchCost:
        """What it would cost to ask for the rows of `X`, in order: one of the m answers for each new one."""
        cost = super().preview(X)
        return replace(cost, left=_answers_left(cost.left), chance_of_halting=float(not cost.is_certain))

    @property
    def unstable_left_(self) -> int:
        """0: no answer is ever unstable."""
        return _answers_left(self._votes.left).unstable

    def _named(self, answer: Answer[int]) -> Answer[Any]:
        return replace(super()._named(answer), remaining=_answers_left(answer.remaining))

    def _request(self, hypotheses: HypothesisClass, records: int, features: int, public: int | None) -> Request:
        if getattr(hypotheses, "labels", 2) != 2:
            raise ParameterError("classes", "two label names: votes are between two labels", self.classes)
        return Request(
            records=records,
            features=features,
            hypotheses=hypotheses,
            epsilon=self.epsilon,
            delta=self.delta,
            queries=self.queries,
            alpha=self.alpha,
            beta=self.beta,
            teachers=self.teachers,
            public=public,
        )

    def _make_plan(self, request: Request) -> NoisyMaxPlan:
        return plan_noisy_max(request)

    def _start(self, hypotheses: HypothesisClass, records: Records, plan: NoisyMaxPlan, entropy: Entropy) -> None:
        labeller = noisy_max(hypotheses, records.X, records.y, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy, hard_stop=True)


def _answers_left(left: Usage) -> Usage:
    """What is left as a caller should read it: there is no ⊥, and the bound on it that `PrivClass` halts by is the
    number of decisions left. A decision that was broken off before it was logged has used one up, too.
    """
    return Usage(left.unstable, 0)
