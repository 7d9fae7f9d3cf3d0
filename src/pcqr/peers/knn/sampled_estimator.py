"""The k nearest of a secret sample, behind the same face as our releases."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from pcqr.algorithms.priv_class import PrivClass
from pcqr.entropy import Entropy
from pcqr.estimators.given import Given, Known
from pcqr.hypotheses.base import HypothesisClass
from pcqr.peers.knn.near import NearRelease, shown_rows
from pcqr.peers.knn.sampled import sampled_votes
from pcqr.peers.knn.sampled_plan import SampledPlan, plan_sampled
from pcqr.peers.knn.surroundings import near_vectors
from pcqr.planning.request import Request


@dataclass(eq=False, repr=False)
class PrivateKNN(NearRelease[SampledPlan]):
    """The k nearest records of a secret sample vote (Private-kNN [1]_): every query gets a label, each is paid for.

    (ε, δ)-DP for m answers together, under *replace one record*. A new sample for every query. After m distinct
    queries `BudgetExhausted` is raised, while queries asked before are answered from the log. Distances are taken in
    the public space of `IndividualKNN`, which answers more queries by nearer records: this one is its yardstick.

    Parameters
    ----------
    epsilon : float, default 1.0
        ε, the whole of the privacy loss, charged at `fit`: it covers every answer ever given.
    delta : float, default 1e-6
        δ of the same promise.
    queries : int, default 300
        m. After m distinct ones it halts. Noise grows like √m.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, in order, two or more. None: 0 and 1; other names are then read from y, and
        `guarantee_.assumptions` says that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.
    neighbours : int or None, default None
        k. None lets the planner choose.
    rate : float or None, default None
        q, the chance that a record is in the sample of a query. None lets the planner choose.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is promised.
    plan_ : SampledPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_ : int
        n.
    queries_answered_ : int
        What has been asked.

    References
    ----------
    .. [1] Y. Zhu, X. Yu, M. Chandraker, Y.-X. Wang. Private-kNN: practical differential privacy for computer vision.
       CVPR 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import PrivateKNN
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, size=20_000)
    >>> X = rng.normal(size=(20_000, 2)) + 4.0 * np.eye(3)[y][:, :2]
    >>> public = rng.normal(size=(2_000, 2)) + 4.0 * np.eye(3)[rng.integers(0, 3, size=2_000)][:, :2]
    >>> release = PrivateKNN(queries=20, classes=(0, 1, 2), entropy=0).fit(X, y, public=public)  # NOT PRIVATE
    >>> release.predict([[4.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    array([0, 1, 2])
    """

    _: KW_ONLY
    neighbours: int | None = None
    rate: float | None = None

    def _make_plan(self, request: Request, known: Known) -> SampledPlan:  # noqa: ARG002
        return plan_sampled(request, self.neighbours, self.rate)

    def _start(self, hypotheses: HypothesisClass, given: Given, plan: SampledPlan, entropy: Entropy) -> None:  # noqa: ARG002
        labeller = sampled_votes(near_vectors(shown_rows(given)), given.records, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)
