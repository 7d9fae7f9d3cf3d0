"""The semi-private learner: one draw over a public class, published at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pcqr.durable.account import AccountLike
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.stumps import Stumps
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.planner.expectation import nothing_learned
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.releases.base.contributions import ContributionBound, weighs_rows
from pcqr.releases.base.fitting import PublishedEstimator
from pcqr.releases.base.inputs import FitContext, FitInputs
from pcqr.releases.protocol.plan import Aim, Budget
from pcqr.releases.semi_private.plan import PublishedPlan
from pcqr.releases.semi_private.planning import plan_semi_private
from pcqr.releases.semi_private.run import sspp

_DECADES = tuple(digit * 10.0**power for power in range(-3, 6) for digit in (1, 2, 5))
DECIMAL_CUTS = tuple(sorted({0.0, *_DECADES, *(-cut for cut in _DECADES)}))
"""Cuts that suit no table in particular and need no public points: 0, ±0.001, ±0.002, ±0.005, …, ±500,000."""
NOTHING_KNOWN = "cuts at powers of ten, which suit no table in particular"


@dataclass(eq=False, repr=False)
class SemiPrivateLearner(PublishedEstimator[PublishedPlan]):
    """SSPP [1]_: one draw of the exponential mechanism over a class made of public points alone, published at once.

    Pure ε-DP. The published hypothesis answers any number of queries.

    Parameters
    ----------
    hypotheses : HypothesisClass or None, default None
        H. Unless its members are declared (`Stumps(cuts=…)`, `Finite(…)`), `fit` needs `public=` points: one member for
        each way in which H labels them. None: `Stumps()` on the public points; without them trees of depth 1 on what
        the schema says; without either stumps cut at `DECIMAL_CUTS`, with a warning.
    epsilon : float, default 1.0
        ε, the privacy loss, charged whole at `fit`. The draw has η = ε/2, less what rounding may cost.
    alpha : float, default 0.1
        α, the excess error over the best member of H by which `plan_.certified` is judged.
    beta : float, default 0.05
        β, the chance with which it may be missed.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, in order. None: 0 and 1; other names are then read from y, and `guarantee_.assumptions` says
        that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.

    Attributes
    ----------
    hypothesis_ : Hypothesis
        The published classifier, free to be shown.
    guarantee_ : Guarantee
        What is promised: δ = 0.
    plan_ : PublishedPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    hypotheses_ : HypothesisClass
        H as it was used.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_, n_public_ : int
        n, and the number of public points; None without any.

    References
    ----------
    .. [1] N. Alon, R. Bassily, S. Moran. Limits of private learning with access to public data. NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import SemiPrivateLearner
    >>> from pcqr.hypotheses import Thresholds
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(2_000, 1))
    >>> y = (X[:, 0] > 6).astype(int)
    >>> public = np.arange(0.5, 10.0).reshape(-1, 1)  # points that are nobody's secret
    >>> learner = SemiPrivateLearner(Thresholds(), epsilon=0.5, entropy=0)  # seeded: NOT PRIVATE
    >>> learner = learner.fit(X, y, public=public)
    >>> learner.hypothesis_
    Threshold(cut=6.0, up=True)
    >>> learner.predict([[1.0], [9.0]])
    array([0, 1])
    >>> learner.guarantee_.is_pure, round(learner.guarantee_.epsilon, 6)
    (True, 0.5)
    """

    hypotheses: HypothesisClass | None = None
    epsilon: float = 1.0
    _: KW_ONLY
    alpha: float = 0.1
    beta: float = 0.05
    entropy: Entropy | int | None = None
    classes: Sequence[Any] | None = None
    account: AccountLike | None = None

    def _request(self, context: FitContext) -> Request:
        return context.request(Budget(self.epsilon), Aim(None, self.alpha, self.beta))

    def _default_class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:
        if has_public:
            return Stumps()
        return DecisionTrees(depth=1) if has_schema else Stumps(cuts=DECIMAL_CUTS)

    def _prepare_class(self, context: FitContext) -> None:
        super()._prepare_class(context)
        if context.public.is_nothing and self.hypotheses is None:
            context.assume_of_columns(NOTHING_KNOWN)

    def _bound(self, hypotheses: HypothesisClass) -> ContributionBound:
        return "weights" if weighs_rows(hypotheses) else "one row"

    def _make_plan(self, context: FitContext, request: Request) -> PublishedPlan:
        trees = context.hypotheses
        if isinstance(trees, DecisionTrees):
            predicates = len(trees.predicates or ())
            context.shortfall = nothing_learned(request.records, self.epsilon, predicates, trees.labels)
        return plan_semi_private(request)

    def _start(self, context: FitContext, inputs: FitInputs, plan: PublishedPlan, entropy: Entropy) -> None:
        self.hypothesis_ = sspp(context.hypotheses, inputs.records, context.points, plan.draw, entropy)
