"""The semi-private learner: one draw over a public class, published at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pcqr.algorithms.sspp import sspp
from pcqr.entropy import Entropy
from pcqr.estimators.base import Known, PrivateEstimator, Records
from pcqr.estimators.labels import LabelArray
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.stumps import Stumps
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.plan import Aim, Budget, DrawPlan
from pcqr.planning import Request, plan_semi_private

_DECADES = tuple(digit * 10.0**power for power in range(-3, 6) for digit in (1, 2, 5))
DECIMAL_CUTS = tuple(sorted({0.0, *_DECADES, *(-cut for cut in _DECADES)}))
"""Cuts that suit no table in particular and need no public points: 0, ±0.001, ±0.002, ±0.005, …, ±500,000."""


@dataclass(eq=False, repr=False)
class SemiPrivateLearner(PrivateEstimator[DrawPlan]):
    """SSPP (Alon, Bassily, Moran 2019): an exponential mechanism over a class made of public points alone.

    Pure ε-DP. `hypothesis_` may be published and answers any number of queries.

    Parameters
    ----------
    hypotheses : the class H. Unless its members are declared (`Stumps(cuts=…)`, `Finite(…)`), `fit` needs `public=`
        points: one member for each way in which H labels them. None: `Stumps()` on the public points; without them
        trees of depth 1 on what the schema says; without either stumps cut at `DECIMAL_CUTS`, with a warning.
    epsilon : the privacy loss, charged whole at `fit`.
    alpha, beta : what `plan_.certified` is judged by.
    entropy, classes : as for the releases.
    """

    hypotheses: HypothesisClass | None = None
    epsilon: float = 1.0
    _: KW_ONLY
    alpha: float = 0.1
    beta: float = 0.05
    entropy: Entropy | int | None = None
    classes: Sequence[Any] | None = None

    hypothesis_: Hypothesis = field(init=False)

    @np.errstate(all="ignore")
    def predict(self, X: Any) -> LabelArray:
        """The published hypothesis on the rows of `X`. Costs nothing."""
        check_is_fitted(self, "plan_")
        return self.classes_[self.hypothesis_.predict(self._table(X, self.schema_))]

    def _request(self, hypotheses: HypothesisClass, records: int, features: int, public: int | None) -> Request:
        return Request(
            records=records,
            features=features,
            hypotheses=hypotheses,
            budget=Budget(self.epsilon),
            aim=Aim(None, self.alpha, self.beta),
            public=public,
        )

    def _default_class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:
        if has_public:
            return Stumps()
        return DecisionTrees(depth=1) if has_schema else Stumps(cuts=DECIMAL_CUTS)

    def _is_uninformed(self, known: Known) -> bool:
        return known.is_nothing and self.hypotheses is None

    def _make_plan(self, request: Request) -> DrawPlan:
        return plan_semi_private(request)

    def _start(self, hypotheses: HypothesisClass, records: Records, plan: DrawPlan, entropy: Entropy) -> None:
        self.hypothesis_ = sspp(hypotheses, records.X, records.y, records.public, plan.publish, entropy)
