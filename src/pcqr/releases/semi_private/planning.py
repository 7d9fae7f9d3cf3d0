from __future__ import annotations

import numpy as np

from pcqr.planner import certificate
from pcqr.planner import search as calibrated
from pcqr.planner.request import Request
from pcqr.privacy.composition import account
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.plan import PublishedPlan
from pcqr.releases.subsample.planning import finite_or_none


@np.errstate(all="ignore")
def plan_semi_private(request: Request) -> PublishedPlan:
    """A plan for SSPP: one draw over a public class, published at once. Pure ε.

    Parameters
    ----------
    request : Request
        What is asked for. `public` is the number of public points at hand; None: the class is fixed by declaration.

    Returns
    -------
    PublishedPlan

    Raises
    ------
    ParameterError
        When the class is neither fixed nor made of public points.

    Examples
    --------
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.releases.protocol.plan import Aim, Budget
    >>> from pcqr.planner.request import Request
    >>> from pcqr.releases.semi_private.planning import plan_semi_private
    >>> request = Request(
    ...     records=100_000, features=1, hypotheses=Thresholds(), public=1_000,
    ...     budget=Budget(1.0), aim=Aim(None, 0.1, 0.05),
    ... )
    >>> plan = plan_semi_private(request)
    >>> plan.guarantee.is_pure, plan.certified, round(plan.proved, 3)
    (True, True, 0.031)
    """
    request.check_epsilon()
    features, hypotheses, public = request.features, request.hypotheses, request.public
    publish = DrawStage(calibrated.publish_temperature(request, request.epsilon, public))
    guarantee = account(publish, request.context)
    proved = None
    if request.aim is not None:
        beta = request.aim.beta
        proved = finite_or_none(
            certificate.publish_excess(publish, hypotheses, request.records, features, public or 1, beta)
        )
    return PublishedPlan(**request.promise(guarantee), stage=publish, proved=proved)
