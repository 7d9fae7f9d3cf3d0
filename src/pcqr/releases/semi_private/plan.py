from __future__ import annotations

from dataclasses import dataclass

from pcqr.privacy.composition import Stage
from pcqr.releases.protocol.plan import Plan


@dataclass(frozen=True, kw_only=True)
class PublishedPlan(Plan):
    """The plan of a classifier that is published at once.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        As for every plan.
    stage : Stage
        One draw (`DrawStage`), noisy sums (`LinearStage`), or a `Sequence` of them.

    Examples
    --------
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.releases.protocol.plan import Budget
    >>> from pcqr.releases.semi_private.plan import PublishedPlan
    >>> from pcqr.planner.request import Request
    >>> from pcqr.releases.semi_private.planning import plan_semi_private
    >>> request = Request(records=10_000, features=1, hypotheses=Stumps(cuts=[0.5]), budget=Budget(1.0))
    >>> plan = plan_semi_private(request)
    >>> isinstance(plan, PublishedPlan), round(plan.stage.inverse_temperature, 6)  # ε/2
    (True, 0.5)
    """

    stage: Stage

    @property
    def stages(self) -> Stage:
        return self.stage
