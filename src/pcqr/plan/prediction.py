"""What is expected of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.documents import Document


@dataclass(frozen=True)
class Prediction(Document):
    """What the planner expects, from public numbers: a model's estimate, not a bound and not a measurement.

    Parameters
    ----------
    unanswered_share : float
        The share of the planned queries that get no label, those after a halt included.
    excess_error : float
        The error beyond γ, a coin counted where there is no label.
    unstable_share : float
        The chance that one query is unstable while the release goes on.
    unanswered_range, unstable_range : (float, float) or None, default None
        The shares with the model as far off, to either side, as it was on real tables (docs/planning.md). None: nobody
        measured.

    Examples
    --------
    >>> from pcqr import SubsampleAggregate
    >>> from pcqr.plan import Prediction
    >>> plan = SubsampleAggregate(queries=20, teachers=499).plan(records=5_000, features=1)
    >>> isinstance(plan.prediction, Prediction), 0 <= plan.prediction.unstable_share <= 1
    (True, True)
    """

    unanswered_share: float
    excess_error: float
    unstable_share: float
    unanswered_range: tuple[float, float] | None = None
    unstable_range: tuple[float, float] | None = None
