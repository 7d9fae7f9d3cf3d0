"""The per-query noisy majority behind the same face as our releases, to compare them with."""

from __future__ import annotations

from pcqr.algorithms.peers.noisy_max import noisy_max
from pcqr.algorithms.priv_class import PrivClass
from pcqr.entropy import Entropy
from pcqr.estimators.answering import Release
from pcqr.estimators.base import Records
from pcqr.hypotheses.base import HypothesisClass
from pcqr.plan import NoisyMaxPlan
from pcqr.planning.noisy_max import plan_noisy_max
from pcqr.planning.request import Request


class NoisyMaxAggregate(Release[NoisyMaxPlan]):
    """Noisy majorities of teachers (PATE 2017, 2018; Dwork and Feldman 2018). (ε, δ)-DP for m = `queries` answers.

    Every query gets a label, however the teachers vote, and every label is paid for: after m distinct queries
    `BudgetExhausted` is raised, while queries asked before are answered from the log. `plan_.vote.noise` is a discrete
    Gaussian on the count of votes or an exponential mechanism, whichever the planner expects to err less. In an
    `Answer` the kind "stable" says no more than that the label is a vote's; `unstable_left_` is None.

    Parameters
    ----------
    hypotheses : the class H of the teachers; None is `Stumps()`.
    epsilon, delta : the whole of the privacy loss, charged at `fit`: it covers all m answers.
    queries : m, how many distinct queries are answered. Noise grows like √m.
    alpha, beta : kept in `plan_`, as the other releases do; no accuracy is certified for this one.
    entropy, classes : as for the other releases.
    teachers : k, odd; None lets the planner choose.
    """

    def _make_plan(self, request: Request) -> NoisyMaxPlan:
        return plan_noisy_max(request)

    def _start(self, hypotheses: HypothesisClass, records: Records, plan: NoisyMaxPlan, entropy: Entropy) -> None:
        labeller = noisy_max(hypotheses, records.X, records.y, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)
