from __future__ import annotations

from dataclasses import dataclass, replace

from pcqr.privacy.composition import Sequence, Stage
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.plan import QueryPlan
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage, VotingPlan


@dataclass(frozen=True, kw_only=True)
class ClassifierPlan(QueryPlan):
    """The plan of a release that publishes a classifier at `fit` and answers every query by it.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries. Nothing depends on it: every query is answered.
    stage : Stage
        What publishes the classifier, as in `PublishedPlan`.

    Attributes
    ----------
    expected_answers : float
        The number of planned queries.

    Examples
    --------
    >>> from pcqr import UniversalRelease
    >>> from pcqr.releases.universal.plan import ClassifierPlan
    >>> plan = UniversalRelease(queries=20).plan(records=20_000, features=3)
    >>> isinstance(plan, ClassifierPlan), str(plan.remaining)
    (True, 'any number of queries')
    """

    stage: Stage

    @property
    def expected_answers(self) -> float:
        """How many of the planned queries get a label: all of them."""
        return float(self.queries)

    @property
    def stages(self) -> Stage:
        return self.stage


@dataclass(frozen=True, kw_only=True)
class UniversalPlan(VotingPlan):
    """The plan of UnvPrivCl: prepare, vote, publish.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    vote : VoteStage
        What happens before publication.
    publish : DrawStage
        The draw, after m_o votes.

    Examples
    --------
    >>> from pcqr import UniversalRelease
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.releases.universal.plan import UniversalPlan
    >>> plan = UniversalRelease(Thresholds(), queries=20, teachers=199).plan(records=10_000, features=1)
    >>> isinstance(plan, UniversalPlan), plan.votes == plan.publish.after_queries
    (True, True)
    """

    vote: VoteStage
    publish: DrawStage

    @property
    def stages(self) -> Stage:
        return Sequence((self.vote, self.publish))

    @property
    def remaining(self) -> Usage:
        """After the last vote it publishes: queries have no end."""
        return replace(super().remaining, queries=None)

    @property
    def votes(self) -> int:
        return self.publish.after_queries
