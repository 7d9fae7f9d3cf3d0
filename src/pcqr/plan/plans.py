"""Whole plans: what was asked for, the stages that will run, the guarantee that they have and what is expected."""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import ClassVar, Literal, get_args, get_type_hints

from pcqr.checks import keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.plan.answers import Usage
from pcqr.plan.asked import Aim, Budget
from pcqr.plan.composition import Sequence, Stage
from pcqr.plan.prediction import Prediction
from pcqr.plan.stages import DrawStage, NoisyMaxStage, VoteStage
from pcqr.unit import PERSON, Unit, check_proved

Mode = Literal["paper", "calibrated"]
Vote = Literal["auto", "stability", "noisy max"]


@cache
def _parts(plan: type[Plan]) -> dict[str, tuple[type, ...]]:
    """Return the fields that hold the budget, the guarantee or a stage, and the classes that each may have."""
    hints = get_type_hints(plan).items()
    kinds = {name: get_args(hint) if isinstance(hint, UnionType) else (hint,) for name, hint in hints}
    return {name: parts for name, parts in kinds.items() if all(map(_is_part, parts))}


def _is_part(kind: object) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or kind is Stage)


@dataclass(frozen=True, kw_only=True)
class Plan(Document):
    """What was decided before the private data was touched. Every whole plan is one.

    Parameters
    ----------
    mode : {"paper", "calibrated"}
        Whose constants it has.
    budget : Budget
        (ε, δ) as asked for.
    guarantee : Guarantee
        What the stages really cost. It is within the budget: no other plan can be made.
    aim : Aim or None, default None
        The accuracy that was aimed at; None where nobody aimed at one.
    prediction : Prediction or None, default None
        What is expected. None in paper mode and for what is published at once.
    proved : float or None, default None
        A bound on the excess error but for a chance β. None: nothing is proved at this n. Privacy is proved always.

    Attributes
    ----------
    certified : bool
        Is the proved bound at most α?
    epsilon, delta : float
        Those of the budget.

    Raises
    ------
    ParameterError
        When the guarantee exceeds the budget or is about another unit than the record or the person, or a part is none
        of what it should be.

    Examples
    --------
    >>> from pcqr import Guarantee, Plan
    >>> from pcqr.plan import Budget
    >>> plan = Plan(mode="calibrated", budget=Budget(1.0, 1e-6), guarantee=Guarantee(0.9))
    >>> plan.epsilon, plan.certified
    (1.0, False)
    >>> Plan(mode="calibrated", budget=Budget(0.5), guarantee=Guarantee(0.9))
    Traceback (most recent call last):
        ...
    pcqr.errors.ParameterError: guarantee must be within ε = 0.5, δ = 0.0; received "pure differential privacy
    with ε = 0.9 under 'replace one record'".
    """

    mode: Mode
    budget: Budget
    guarantee: Guarantee
    aim: Aim | None = None
    prediction: Prediction | None = None
    proved: float | None = None
    certified: bool = field(init=False)
    units: ClassVar[tuple[Unit, ...]] = (PERSON,)
    """Units other than the record that plans of this kind have a proof for."""

    def __post_init__(self) -> None:
        for name, kinds in _parts(type(self)).items():  # type: ignore[arg-type]  # a class can be hashed
            if not isinstance(getattr(self, name), kinds):
                raise ParameterError(name, " or ".join(f"a {kind.__name__}" for kind in kinds), getattr(self, name))
        if self.mode not in get_args(Mode):
            raise ParameterError("mode", f"one of {', '.join(map(repr, get_args(Mode)))}", self.mode)
        check_proved(self.guarantee.unit, *self.units)
        if not self.guarantee.within(self.epsilon, self.delta):
            raise ParameterError("guarantee", f"within {self.budget}", str(self.guarantee))
        if self.proved is not None and (self.aim is None or not self.proved >= 0):
            raise ParameterError("proved", "a number ≥ 0 with an aim, else None", self.proved)
        keep_plain(self, floats=("proved",))
        is_certified = self.aim is not None and self.proved is not None and self.proved <= self.aim.alpha
        object.__setattr__(self, "certified", is_certified)

    @property
    def epsilon(self) -> float:
        """ε of the budget."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """δ of the budget."""
        return self.budget.delta

    @property
    def stages(self) -> Stage:
        """All that will look at the private records: a stage, or a `Sequence` or `Branch` of stages."""
        raise NotImplementedError

    @property
    def draw(self) -> DrawStage:
        """The draw of a plan that is one draw; ParameterError for other plans."""
        if not isinstance(self.stages, DrawStage):
            raise ParameterError("plan", "one draw", type(self.stages).__name__)
        return self.stages


@dataclass(frozen=True, kw_only=True)
class QueryPlan(Plan):
    """A plan for answers to queries, one by one. It cannot be made without a number of them.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.

    Attributes
    ----------
    queries : int
        m, the planned number of queries.

    Examples
    --------
    >>> from pcqr import Guarantee
    >>> from pcqr.plan import Aim, Budget, QueryPlan
    >>> plan = QueryPlan(
    ...     mode="calibrated", budget=Budget(1.0, 1e-6), guarantee=Guarantee(0.9), aim=Aim(300, 0.1, 0.05)
    ... )
    >>> plan.queries
    300
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        _planned(self.aim)

    @property
    def queries(self) -> int:
        """m, the planned number of queries."""
        return _planned(self.aim)

    @property
    def left(self) -> Usage:
        """What a release with this plan may answer before it halts, at first. None: without end, without ⊥."""
        return Usage(None, None)


@dataclass(frozen=True, kw_only=True)
class VotingPlan(QueryPlan):
    """The plan of a release that answers by votes alone: prepare, then test votes for stability or add noise to them.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    vote : VoteStage or NoisyMaxStage
        The sub-sample, the relabelling, the teachers and the sparse vector; or teachers and the noise on their votes.

    Attributes
    ----------
    tested : VoteStage
        The vote, where its stability is tested.
    votes : int
        How many of the planned queries are put to the vote.
    expected_answers : float or None
        How many of them are expected to end in a label.

    Examples
    --------
    >>> from pcqr import SubsampleAggregate
    >>> from pcqr.plan import VotingPlan
    >>> plan = SubsampleAggregate(queries=20, teachers=499).plan(records=5_000, features=1)
    >>> isinstance(plan, VotingPlan), plan.votes, plan.vote.teachers
    (True, 20, 499)
    >>> plan.guarantee.within(plan.epsilon, plan.delta)
    True
    """

    vote: VoteStage | NoisyMaxStage

    @property
    def tested(self) -> VoteStage:
        """The vote of a plan that tests votes for stability; ParameterError for a plan that adds noise to votes."""
        if not isinstance(self.vote, VoteStage):
            raise ParameterError("plan", "a test of stability", type(self.vote).__name__)
        return self.vote

    @property
    def left(self) -> Usage:
        return self.vote.left

    @property
    def votes(self) -> int:
        """How many of the planned queries are put to the vote: all of them, unless a classifier is published."""
        return self.queries

    @property
    def expected_answers(self) -> float | None:
        """The expected number of labels from these `votes`. With the same records, ε, δ and kind of vote it never falls
        as more queries are planned.
        """
        return None if self.prediction is None else self.votes * (1.0 - self.prediction.unanswered_share)

    @property
    def stages(self) -> Stage:
        return self.vote


@dataclass(frozen=True, kw_only=True)
class NoisyMaxPlan(QueryPlan):
    """The plan of the per-query noisy majority: vote, each answer paid for.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    vote : NoisyMaxStage
        The teachers and the noise.

    Examples
    --------
    >>> from pcqr import NoisyMaxAggregate
    >>> from pcqr.plan import NoisyMaxPlan
    >>> plan = NoisyMaxAggregate(queries=20).plan(records=5_000, features=1)
    >>> isinstance(plan, NoisyMaxPlan), plan.queries, plan.left.queries
    (True, 20, 20)
    """

    vote: NoisyMaxStage

    @property
    def left(self) -> Usage:
        return self.vote.left

    @property
    def stages(self) -> Stage:
        return self.vote


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
    >>> from pcqr.plan import Budget, PublishedPlan
    >>> from pcqr.planning import Request, plan_semi_private
    >>> request = Request(records=10_000, features=1, hypotheses=Stumps(cuts=[0.5]), budget=Budget(1.0))
    >>> plan = plan_semi_private(request)
    >>> isinstance(plan, PublishedPlan), round(plan.stage.inverse_temperature, 6)  # ε/2
    (True, 0.5)
    """

    stage: Stage

    @property
    def stages(self) -> Stage:
        return self.stage


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
    >>> from pcqr.plan import ClassifierPlan
    >>> plan = UniversalRelease(queries=20).plan(records=20_000, features=3)
    >>> isinstance(plan, ClassifierPlan), str(plan.left)
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
    >>> from pcqr.plan import UniversalPlan
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
    def left(self) -> Usage:
        """After the last vote it publishes: queries have no end."""
        return replace(super().left, queries=None)

    @property
    def votes(self) -> int:
        return self.publish.after_queries


def _planned(aim: Aim | None) -> int:
    if aim is None or aim.queries is None:
        raise ParameterError("aim", "one with a number of queries", aim)
    return aim.queries
