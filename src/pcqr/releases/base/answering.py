"""What everything that answers by votes shares: planning, previews, answers one query at a time, predictions, scores.

What a batch of queries costs can be asked before it is sent: `Release.preview`, or `first_batch_cost` before any fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from pcqr.data.schema.cells import weights
from pcqr.data.schema.labels import places_among
from pcqr.durable.account import AccountLike
from pcqr.errors import BudgetExhausted, Exhausted, ParameterError
from pcqr.hypotheses.base import HypothesisClass, Labels, Points
from pcqr.hypotheses.committees import Arrays
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.releases.base.inputs import FitContext, LabelArray, label_cells, plain_name
from pcqr.releases.base.kept import KeptRelease, V
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.noisy_max.run import NoisyVotes
from pcqr.releases.protocol.answers import Answer, BatchCost, batch_cost, keys, new_rows, with_range
from pcqr.releases.protocol.log import Answered, Asked, PrivLabel, QuotaTable
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.plan import Aim, Budget, Mode, Pins, Plan, QueryPlan
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.subsample.run import StableVotes
from pcqr.releases.universal.plan import ClassifierPlan, UniversalPlan
from pcqr.releases.universal.run import UnvPrivCl

if TYPE_CHECKING:
    from pcqr.durable.directory import Kept


@dataclass(eq=False, repr=False)
class Release(KeptRelease[V]):
    """Answers by votes: the parameters, `plan`, `preview`, `answer` and `predict` that all releases share.

    A dataclass, so that each parameter is declared once: a subclass adds its own, and scikit-learn reads them all off
    the constructor that is made of them. Every release documents all of its parameters.
    """

    hypotheses: HypothesisClass | None = None
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-6
    queries: int = 300
    alpha: float = 0.1
    beta: float = 0.05
    entropy: Entropy | int | None = None
    classes: Sequence[Any] | None = None
    account: AccountLike | None = None
    teachers: int | None = None

    two_labels_because: ClassVar[str | None] = "its votes are between two"
    """Why labels must be two. None for a release that takes any number of them."""

    @np.errstate(all="ignore")
    def preview(self, X: Any) -> BatchCost:
        """What it would cost to ask for rows, in order. Asks for nothing and costs nothing.

        A function of the transcript, the plan and the rows: no vote is counted and no noise is drawn. A caller who
        wants all of a batch or none of it tests `preview(X).is_certain` before `predict(X)`.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            The queries, as in `fit`.

        Returns
        -------
        BatchCost
            What is new, what is repeated, what is certain, and what the planner's model expects.

        Raises
        ------
        DataError
            When the rows cannot be read as those of `fit`.
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "plan_")
        cost = self._protocol.preview(self._table(X, self.schema_), _unstable_share(self.plan_))
        return with_range(cost, _unstable_range(self.plan_))

    @np.errstate(all="ignore")
    def cost(self, asked: Asked, quota_table: QuotaTable) -> tuple[BatchCost, NDArray[np.bool_]]:
        """Return what a request would cost its asker, and which of its rows the asker has asked before. Asks nothing.

        As `preview`, with the asker's allowance. Where the asker shares nothing with others, a row that somebody else
        has asked is a new one.

        Parameters
        ----------
        asked : Asked
            The request; its points by `points`.
        quota_table : QuotaTable
            That of this release (`quota_table()`).

        Returns
        -------
        cost : BatchCost
        known : ndarray of bool, shape (rows,)

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        self._check_fitted()
        these = keys(asked.points)
        asked_before, quota = quota_table.asked_before(asked, these), quota_table.quota(asked)
        cost = self._protocol.preview(asked.points, _unstable_share(self.plan_), asked_before=asked_before, quota=quota)
        is_known = np.array([this in asked_before for this in these], dtype=np.bool_)
        return with_range(cost, _unstable_range(self.plan_)), is_known

    @np.errstate(all="ignore")
    def asked_before(self, X: Any) -> NDArray[np.bool_]:
        """Which rows were asked before, bit for bit: their answers are in the log and cost nothing. Asks for nothing.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            The queries, as in `fit`.

        Returns
        -------
        ndarray of bool, shape (rows,)
        """
        these = keys(self.points(X))
        found = self._votes.log.find(these)
        return np.array([this in found for this in these], dtype=np.bool_)

    def answered(self) -> tuple[Points, Labels]:
        """The distinct queries that got a label, in order, and their labels. Costs nothing: all of it was released.

        Those that got ⊥ are left out, and so are those that a published classifier answered. `pcqr.transfer` trains a
        student on them.

        Returns
        -------
        points : ndarray of shape (queries, encoded columns)
            The queries as the release has encoded them.
        labels : ndarray of int8, shape (queries,)
            Places in `classes_`.
        """
        self._check_fitted()
        told = [entry for entry in self._votes.log.entries() if entry.label is not None]
        points = np.concatenate([np.empty((0, self.n_features_in_)), *(entry.point for entry in told)])
        return points, np.array([entry.label for entry in told], dtype=np.int8)

    @np.errstate(all="ignore")
    def answer(self, x: Any) -> Answer[Any]:
        """The label of one query, or ⊥ (label None) where the vote is unstable and `on_unstable` is "abstain".

        A query asked before, bit for bit, gets its logged answer at no cost.

        Parameters
        ----------
        x : vector, one-row table or, with a schema, mapping of column to value
            The query.

        Returns
        -------
        Answer
            The label, how it came about, and what has been spent and is left.

        Raises
        ------
        BudgetExhausted
            When the release is exhausted and the query is new.
        DataError
            When it is not one query like the rows of `fit`.
        NotFittedError
            Before `fit`.
        """
        point = self._query(x)
        reply = self._protocol.reply(point)
        return self._shown(reply.answer, reply.coin)

    @np.errstate(all="ignore")
    def answers(self, X: Any) -> Iterator[Answer[Any]]:
        """As `answer`, for every row in order. The rows of a block are decided before the first of them is given.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            The queries, as in `fit`.

        Yields
        ------
        Answer
            One for each row.

        Raises
        ------
        BudgetExhausted
            At the first new row after the release is exhausted.
        DataError
            When the rows cannot be read as those of `fit`.
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "plan_")
        points = self._table(X, self.schema_)
        return (self._shown(reply.answer, reply.coin) for reply in self._protocol.replies(points))

    @np.errstate(all="ignore")
    def predict(self, X: Any) -> LabelArray:
        """A label for every row, asked in order; unstable rows get a coin, drawn once and logged.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            The queries, as in `fit`.

        Returns
        -------
        ndarray of shape (rows,)
            Label names.

        Raises
        ------
        BudgetExhausted
            When the release halts midway; it carries the answers so far. `preview` says beforehand whether it can.
        DataError
            When the rows cannot be read as those of `fit`.
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "plan_")
        labels, halted = self._asked(self._table(X, self.schema_))
        if halted is not None:
            raise halted
        return labels

    @np.errstate(all="ignore")
    def points(self, X: Any) -> Points:
        """Rows as `ask_together` takes them, read and checked as `predict` does. Asks for nothing.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            The queries, as in `fit`.

        Returns
        -------
        ndarray of shape (rows, encoded columns)

        Raises
        ------
        DataError
            When the rows cannot be read as those of `fit`.
        NotFittedError
            Before `fit`.
        """
        self._check_fitted()
        return self._table(X, self.schema_)

    @np.errstate(all="ignore")
    def ask_together(self, asked: Sequence[Asked], quota_table: QuotaTable | None = None) -> list[Answered[Any]]:
        """Answer many requests at once: what each would get if asked alone, in this order, and on disk in one go.

        A request that stops (`Answered.stopped`) has the replies to its first rows, and does not stop the others. All
        rows are decided in one turn: whoever wants short turns asks for few rows.

        Parameters
        ----------
        asked : sequence of Asked
            The requests; their points by `points`.
        quota_table : QuotaTable or None, default None
            That of this release (`quota_table()`), where askers have allowances or tokens.

        Returns
        -------
        list of Answered
            One for each request. Labels and coins are label names; the label of an unstable answer is None.

        Raises
        ------
        NotFittedError
            Before `fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from pcqr import SubsampleAggregate
        >>> from pcqr.releases.protocol.log import Asked
        >>> X = np.random.default_rng(0).uniform(0, 10, size=(5_000, 1))
        >>> release = SubsampleAggregate(queries=20, entropy=0).fit(X, X[:, 0] > 6)  # seeded: NOT PRIVATE
        >>> first, second = release.ask_together([Asked(release.points([[x]])) for x in (9.0, 9.0)])
        >>> first.replies[0].label, first.replies[0].kind, second.replies[0].kind
        (1, 'stable', 'repeated')
        """
        self._check_fitted()
        names: dict[int | None, Any] = {None: None}
        names |= {number: plain_name(name) for number, name in enumerate(self.classes_)}
        return [
            Answered([reply.named(names) for reply in told.replies], told.stopped, told.is_replay)
            for told in self._protocol.ask_together(asked, quota_table)
        ]

    @np.errstate(all="ignore")
    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> float:
        """The share of rows of `X` that `predict` gives the label in `y`. Always a number: see below.

        Rows are asked in order. Those that get no answer, because the release halts before them, count as 1/C right, as
        a coin of so many sides would be on average, and `Exhausted` is warned of. Of private labels a score is a
        release of its own, which no ε covers.
        """
        check_is_fitted(self, "plan_")
        points, truth = self._table(X, self.schema_), places_among(self.classes_, label_cells(y))
        by_row = weights(sample_weight)
        check_consistent_length(points, truth, by_row)  # before anything is asked
        labels, halted = self._asked(points)
        answered = labels.shape[0]
        right = np.full(truth.shape[0], 1.0 / self.classes_.shape[0])
        right[:answered] = places_among(self.classes_, labels) == truth[:answered]
        if halted is not None:
            share = "half" if self.classes_.shape[0] == 2 else f"1/{self.classes_.shape[0]}"
            words = f"The release was exhausted after {answered:,} of {truth.shape[0]:,} rows."
            message = f"{words} The others count as {share} right."
            warnings.warn(message, Exhausted, stacklevel=3)  # errstate stands between
        return float(np.average(right, weights=by_row))

    def _asked(self, points: Points) -> tuple[LabelArray, BudgetExhausted | None]:
        """The labels of the rows that were answered, asked in order, and what stopped it, if anything did."""
        labels: list[int] = []
        stopped = None
        try:
            for reply in self._protocol.replies(points):
                labels.append((reply.coin or 0) if reply.label is None else reply.label)
        except BudgetExhausted as halted:
            shown = [self._shown(*each) for each in zip(halted.answers, labels, strict=True)]
            stopped = BudgetExhausted(
                spent=halted.spent, requested=halted.requested, remaining=halted.remaining, answers=shown
            )
        return self.classes_[np.array(labels, dtype=np.int8)], stopped

    @property
    def queries_answered_(self) -> int:
        """Distinct queries asked so far, unstable ones included, published ones not."""
        return self._votes.asked

    @property
    def unstable_answers_(self) -> int:
        """How many of these were unstable."""
        return self._votes.unstable

    @property
    def unstable_remaining_(self) -> int | None:
        """Unstable answers that may still be given before the release halts or publishes. None: they have no limit."""
        return self._votes.remaining.unstable

    def _prepare_class(self, context: FitContext) -> None:
        super()._prepare_class(context)
        if not self._answers_by_draw(context.hypotheses):
            context.hypotheses = context.hypotheses.for_votes(context.public.records)

    def _answers_by_draw(self, hypotheses: HypothesisClass) -> bool:  # noqa: ARG002
        """Does one member of the class, drawn once, answer every query, without votes?"""
        return False

    def _shown(self, answer: Answer[int], coin: int | None) -> Answer[Any]:
        """An answer as the caller gets it: with the name of its label, or of the coin that stands in for ⊥."""
        label = answer.label
        if label is None and getattr(self, "on_unstable", None) == "random":
            label = coin
        name = None if label is None else self.classes_.item(label)
        return Answer(name, answer.kind, answer.spent, answer.remaining, answer.beyond_plan)

    def _request(self, context: FitContext) -> Request:
        hypotheses = context.hypotheses
        if hypotheses.labels != 2 and self.two_labels_because is not None and not self._answers_by_draw(hypotheses):
            raise ParameterError("classes", f"two label names: {self.two_labels_because}", self.classes)
        aim = Aim(self.queries, self.alpha, self.beta)
        return context.request(Budget(self.epsilon, self.delta), aim, self._pins())

    def _takes_several_labels(self) -> bool:
        hypotheses = self._class(has_public=False, has_schema=False)
        takes_them = self.two_labels_because is None or self._answers_by_draw(hypotheses)
        return takes_them and hypotheses.several_labels

    def _pins(self) -> Pins:
        """What the user fixed of that which the planner would choose."""
        return Pins(**{each.name: getattr(self, each.name, None) for each in fields(Pins)})


@dataclass(eq=False, repr=False)
class StableRelease(Release[V]):
    """A release whose plan either tests whether a vote is stable, and says ⊥ where it is not, or adds noise to it."""

    _: KW_ONLY
    mode: Mode = "calibrated"
    on_unstable: str = "abstain"
    unstable: int | None = None
    sampling_rate: float | None = None

    def _request(self, context: FitContext) -> Request:
        if self.on_unstable not in ("abstain", "random"):
            raise ParameterError("on_unstable", "'abstain' or 'random'", self.on_unstable)
        return super()._request(context)

    def _labeller(self, arrays: Arrays, plan: V, entropy: Entropy) -> PrivLabel:
        vote: VoteStage | NoisyMaxStage = plan.vote  # type: ignore[attr-defined]
        if isinstance(vote, NoisyMaxStage):
            return NoisyVotes.from_arrays(arrays, vote, entropy)
        return StableVotes.from_arrays(arrays, vote, entropy)


@dataclass(eq=False, repr=False)
class RelabellingRelease(StableRelease[V]):
    """A release that may relabel records by a privately drawn member of H before its teachers learn from them."""

    _: KW_ONLY
    inverse_temperature: float | None = None

    two_labels_because: ClassVar[str | None] = "what relabelling costs is proved for two"

    def _resumed(self, kept: Kept, plan: V, entropy: Entropy) -> PrivClass | UnvPrivCl:
        if isinstance(plan, ClassifierPlan):
            votes = self._resumed_votes(kept, plan, entropy, plan.queries)
            return UnvPrivCl(self.hypotheses_, votes, None, None, None, entropy)
        return super()._resumed(kept, plan, entropy)


def first_batch_cost(plan: QueryPlan, X: Points) -> BatchCost:
    """What the rows of `X` would cost a release that has been fitted with `plan` and has answered nothing yet."""
    votes_remaining = max(1, plan.publish.after_queries) if isinstance(plan, UniversalPlan) else None
    votes_remaining = 0 if isinstance(plan, ClassifierPlan) else votes_remaining
    cost = batch_cost(
        new_rows(X, ()),
        remaining=plan.remaining,
        planned=plan.queries,
        unstable_share=_unstable_share(plan),
        votes_remaining=votes_remaining,
    )
    return with_range(cost, _unstable_range(plan))


def _unstable_share(plan: Plan) -> float | None:
    return None if plan.prediction is None else plan.prediction.unstable_share


def _unstable_range(plan: Plan) -> tuple[float, float] | None:
    return None if plan.prediction is None else plan.prediction.unstable_range
