"""The parameters of a run of draws, one a query, and the whole plan."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.checks import check_integer, check_inverse_temperature, keep_plain
from pcqr.privacy.composition import Stage
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.plan import QueryPlan


@dataclass(frozen=True)
class GibbsStage(Stage):
    """Answer m queries, each by a member of the class that is drawn for it: P(h) ∝ e^{−η·mistakes(h)}.

    Parameters
    ----------
    records : int
        n.
    subsample : int
        n' ≤ n, the records that each draw sees, chosen anew and secretly for each. n over a class that is fixed or made
        of public points.
    queries : int
        m, the answers that are paid for.
    inverse_temperature : float
        η.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.releases.gibbs.plan import GibbsStage
    >>> GibbsStage(records=5_000, subsample=800, queries=1, inverse_temperature=0.7).rate
    0.16
    """

    records: int
    subsample: int
    queries: int
    inverse_temperature: float

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_integer("subsample", self.subsample, least=1, most=self.records)
        check_integer("queries", self.queries, least=1)
        check_inverse_temperature(self.inverse_temperature)
        keep_plain(self, floats=("inverse_temperature",), integers=("records", "subsample", "queries"))

    @property
    def rate(self) -> float:
        """q = n'/n."""
        return self.subsample / self.records

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        return ((self.subsample, self.queries),)


@dataclass(frozen=True, kw_only=True)
class GibbsPlan(QueryPlan):
    """The plan of answers by fresh draws.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    draws : GibbsStage
        How each answer is drawn.

    Examples
    --------
    >>> from pcqr import GibbsPrediction
    >>> plan = GibbsPrediction(queries=1).plan(records=5_000, features=1)
    >>> type(plan).__name__, plan.queries, plan.guarantee.is_pure
    ('GibbsPlan', 1, True)
    """

    draws: GibbsStage

    @property
    def remaining(self) -> Usage:
        """What is left before the first query."""
        return Usage(self.draws.queries, None)

    @property
    def stages(self) -> Stage:
        return self.draws
