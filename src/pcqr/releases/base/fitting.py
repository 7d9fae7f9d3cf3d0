"""What every estimator shares: the class it is given, its texts, and the steps of `fit` and `plan`."""

from __future__ import annotations

import inspect
import reprlib
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from html import escape
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from pcqr import registry
from pcqr.addresses import hidden
from pcqr.checks import check_integer
from pcqr.data.records import GroupedRecords
from pcqr.data.schema import Schema
from pcqr.data.schema.cells import weights
from pcqr.data.schema.labels import places_among
from pcqr.data.schema.raw import RawColumn, RawInMemory, RawKind, RawTable, raw_columns
from pcqr.data.schema.table import one_row
from pcqr.durable.account import Account, AccountLike, resolve_account
from pcqr.errors import AccountExhausted, DataError, FittedAgain, NothingPublic, ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Points
from pcqr.hypotheses.estimators import Estimators, is_estimator
from pcqr.hypotheses.stumps import Stumps
from pcqr.mechanisms.exponential import PUBLIC_POINTS
from pcqr.planner.expectation import warn_if_nothing_learned, warn_if_unanswered
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy, resolve_entropy
from pcqr.privacy.guarantee import Guarantee, warn_if_weak
from pcqr.progress import showing
from pcqr.releases.base.contributions import BOUNDED, WEIGHED, ContributionBound, Groups
from pcqr.releases.base.inputs import (
    AssumePublic,
    FitContext,
    FitInputs,
    LabelArray,
    PrivateParts,
    PrivateTable,
    PublicInfo,
    check_public,
    check_width,
    declared,
    has_names,
    in_order,
    label_cells,
    plan_schema,
    private_table,
    raw_table,
    read_points,
    schema_for,
    width_of,
)
from pcqr.releases.classifier.predicates import schema_of_kinds
from pcqr.releases.protocol.plan import Plan


def as_class(hypotheses: Any, *, takes_learners: bool) -> HypothesisClass:
    """`hypotheses` as a class; with `takes_learners`, a scikit-learn classifier becomes one that only learns."""
    found = Estimators(hypotheses) if takes_learners and is_estimator(hypotheses) else hypotheses
    if isinstance(found, HypothesisClass) and (takes_learners or not found.only_learns):
        return found
    if takes_learners:
        raise ParameterError("hypotheses", "a class from pcqr.hypotheses or a scikit-learn classifier", hypotheses)
    allowed = "a class from pcqr.hypotheses"
    if isinstance(found, HypothesisClass) or is_estimator(hypotheses):
        allowed += f" that can be drawn from; teachers that only learn are for {_takers()}"
    raise ParameterError("hypotheses", allowed, hypotheses)


def _takers() -> str:
    """The estimators that take a class that only learns."""
    entries = registry.algorithms()
    names = [e.estimator_name for e in entries if getattr(registry.resolve(e.estimator), "takes_learners", False)]
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


# ---------------------------------------------------------------------------------------------------------------------
# How often an estimator and its clones were fitted: all that can be seen of a search or a cross-validation.
#
# A search clones an estimator and fits every clone, each time a release of its own. Clones and their original share one
# counter, and nothing else: no table is remembered, and nothing is counted across estimators or processes.


@dataclass
class _Fits:
    count: int = 0


class CountedCopies(BaseEstimator):  # type: ignore[misc]
    """An estimator that knows how often it and its clones were fitted."""

    _fits: _Fits

    def __sklearn_clone__(self) -> Self:
        copy: Self = super().__sklearn_clone__()
        copy._fits = self._shared_fits()
        return copy

    def _count_fit(self) -> None:
        """One more release is about to be drawn. Says so, once, when it is the second."""
        fits = self._shared_fits()
        fits.count += 1
        if fits.count == 2:
            warnings.warn(
                "This estimator, or a copy of it, was fitted before. Every fit is a release of its own: where two of "
                "them share records, their ε and δ add up. Cross-validation, parameter searches and "
                "CalibratedClassifierCV fit many: an account (account=NAME) counts all of them, and public rows can "
                "choose parameters at no cost. What a search, a calibrator or a threshold learns from the labels "
                "beside these fits has no noise: give it labels that are public. "
                "Bagging also repeats records: one that is k times in what a fit gets has k·ε by that fit alone.",
                FittedAgain,
                stacklevel=4,
            )

    def _share_fits(self, other: CountedCopies) -> None:
        """Count fits of another estimator as fits of this one."""
        other._fits = self._shared_fits()

    def _shared_fits(self) -> _Fits:
        if "_fits" not in vars(self):
            self._fits = _Fits()
        return self._fits


# ---------------------------------------------------------------------------------------------------------------------
# Texts of estimators: one line, and HTML with the guarantee for notebooks.


_ALWAYS = ("epsilon", "delta")
"""Parameters that are shown although they have their defaults."""
_values = reprlib.Repr()
_values.maxother = _values.maxstring = _values.maxlong = 80
_values.maxlist = _values.maxtuple = 6


def line_of(estimator: Any) -> str:
    """Return the class with ε, δ and all parameters that differ from their defaults, long values cut."""
    defaults = {name: each.default for name, each in inspect.signature(type(estimator)).parameters.items()}
    only_changed = get_config()["print_changed_only"]
    given = estimator.get_params(deep=False)
    shown = {
        name: _values.repr(given[name])
        for name in sorted(given, key=lambda name: _ALWAYS.index(name) if name in _ALWAYS else len(_ALWAYS))
        if (name in _ALWAYS and given[name] is not None)
        or not only_changed
        or repr(given[name]) != repr(defaults.get(name))
    }
    return f"{type(estimator).__name__}({', '.join(f'{name}={value}' for name, value in shown.items())})"


def html_of(estimator: Any) -> str:
    """Return the guarantee, or that nothing was spent yet, above scikit-learn's diagram."""
    guarantee: Guarantee | None = getattr(estimator, "guarantee_", None)
    said = "Not fitted: nothing was released, and nothing was spent." if guarantee is None else f"{guarantee}"
    said = said[:1].upper() + said[1:]
    end = "" if said.endswith(".") else "."
    return f'<p class="pcqr-guarantee">{escape(said)}{end}</p>{estimator_html_repr(estimator)}'


class Displayed:
    """An estimator with these texts, as notebooks ask for them."""

    def __repr__(self) -> str:
        return line_of(self)

    def _repr_html_(self) -> str | None:
        return html_of(self) if get_config()["display"] == "diagram" else None

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = self._repr_html_()
        return {"text/plain": repr(self)} | ({} if html is None else {"text/html": html})


# ---------------------------------------------------------------------------------------------------------------------
# What all estimators share: parameters checked, data checked, labels named, then a plan, and only then entropy.


P = TypeVar("P", bound=Plan)
BOUGHT_OF_PERSONS = "predicates are bought from one row of each person, chosen by a secret coin"


_FITTED = {
    *("plan_", "guarantee_", "classes_", "schema_", "hypotheses_", "hypothesis_", "n_records_", "n_public_"),
    *("n_features_in_", "feature_names_in_", "_protocol", "_by_label"),
}


def account_for(account: AccountLike | None, entropy: Entropy) -> Account | None:
    """Return the account that a release with this `entropy` is charged to."""
    found = resolve_account(account)
    if found is not None and not entropy.is_private:
        raise ParameterError("account", "None with a seed: what is not private is not charged", found)
    return found


class PrivateEstimator(Displayed, ClassifierMixin, CountedCopies, Generic[P]):  # type: ignore[misc]
    """The common part of every pcqr classifier: `fit` and `plan`, in steps that a subclass may override.

    `_request` checks parameters, `_prepare_class` fixes the class, `_make_plan` plans, `_check_inputs` judges the
    records, `_start` draws. All of them read what they need from a `FitContext`, and leave there what they find.
    """

    hypotheses: HypothesisClass | None
    epsilon: float
    entropy: Entropy | int | None
    classes: Sequence[Any] | None
    account: AccountLike | None
    types: Mapping[str, RawKind] | None

    classes_: LabelArray
    n_features_in_: int
    hypotheses_: HypothesisClass
    schema_: Schema | None
    n_records_: int
    n_public_: int | None
    plan_: P
    guarantee_: Guarantee

    _has_spent: bool | None = False
    _charged_as: tuple[str, str] | None = None
    """The names of estimator and plan that an account gets, where this estimator fits on behalf of another one."""

    takes_learners: ClassVar[bool] = False
    """May H be a class that only learns, such as any scikit-learn classifier?"""

    plans_without_public: ClassVar[bool] = False
    """Are columns read by their kinds, those of `types` or of a frame, where nothing is public?"""

    contribution_bound: ClassVar[ContributionBound] = "one row"
    """How the rows of a person are bounded (proofs/user_level.md), unless it depends on the class."""

    no_groups_because: ClassVar[str | None] = None
    """Why `fit` takes no `groups`, where it does not."""

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        public: Any = None,
        schema: Schema | AssumePublic | None = None,
        groups: Any = None,
        verbose: bool = False,
    ) -> Self:
        """Charge ε and δ whole, and prepare the release. Each `fit` is a new release, charged anew.

        Everything is checked before any noise is drawn, and an account is charged in between: a fit that is refused
        costs nothing, and one that fails after that is not refunded.

        Parameters
        ----------
        X : table or array-like of shape (n, columns)
            The private records. Without a schema, numbers, or a table that a schema has read: `schema.compact(table)`.
            A table in files that need not fit into memory: `pcqr.data.records.ParquetTable`.
        y : array-like of shape (n,)
            Their labels; None for a table in files, which has them in a column.
        public : table or array-like, AssumePublic or None, default None
            Public rows without labels. A public frame that is not all numbers gives a schema by itself
            (`Schema.from_public`). Rows of which more than half are rows of `X` are refused, see `AssumePublic`.
        schema : Schema, AssumePublic or None, default None
            The declared columns. With it, `X`, `public` and later queries are tables with named columns.
        groups : array-like of shape (n,), Groups or None, default None
            Whose each row is: the id of a person, which must not be missing. The guarantee is then about persons, all
            rows of one together, and n counts persons, whose number is public; that of rows is not
            (docs/user-level.md). None: each row is a record of its own.
        verbose : bool, default False
            Write progress, stage by stage, on standard error. For the data holder alone: how long a stage takes may
            depend on the records.

        Returns
        -------
        PrivateEstimator
            This estimator.

        Raises
        ------
        ParameterError
            When a parameter of the estimator is not allowed. Parameters are judged before data.
        DataError
            When records, labels, ids of persons or public rows cannot be used.
        InfeasiblePlan
            When no plan keeps to ε and δ with so few records.
        AccountExhausted
            When the account has no room for the release. Nothing was drawn or charged then.

        Warns
        -----
        WeakGuarantee
            When ε or δ is so large that the guarantee says little.
        UnansweredWarning
            When most of the planned queries are expected to get no label.
        NothingLearned
            When n·ε is so small that no more than the most common label can be expected.
        """
        with np.errstate(all="ignore"):  # whether a float underflows depends on the records
            run_fit(self, X, y, public, schema, groups, verbose)
        return self

    def _is_fitted_by(self, other: PrivateEstimator[Any], plan: type[Plan]) -> None:
        """Let accounts and warnings see a fit of another estimator as one of this estimator, with this plan class."""
        self._share_fits(other)
        other._charged_as = (type(self).__name__, plan.__name__)

    def _forget(self) -> None:
        """Drop what an earlier fit has left: one that fails must not leave it behind, half replaced."""
        self._has_spent = False
        for name in ("plan_", *_FITTED):  # first what says that it is fitted: an interruption may come between
            if name in vars(self):
                delattr(self, name)

    @np.errstate(all="ignore")
    def plan(
        self,
        records: int,
        features: int | None = None,
        public: Any = None,
        schema: Schema | AssumePublic | None = None,
        *,
        user_level: bool = False,
    ) -> P:
        """The plan that `fit` would make. From public things alone: nothing private is touched and nothing is spent.

        Parameters
        ----------
        records : int
            n, the number of private records.
        features : int or None, default None
            The number of columns. Needed where there are neither public rows nor a schema to count it.
        public : table or array-like, AssumePublic or None, default None
            Public rows, as for `fit`.
        schema : Schema, AssumePublic or None, default None
            The declared columns, as for `fit`.
        user_level : bool, default False
            Is n a number of persons, as with `groups` of `fit`?

        Returns
        -------
        Plan
            What `fit` would keep as `plan_`.

        Raises
        ------
        ParameterError
            When a parameter is not allowed.
        InfeasiblePlan
            When no plan keeps to ε and δ with so few records.

        Warns
        -----
        NothingLearned
            When n·ε is so small that no more than the most common label can be expected.
        """
        context, plan = self._planned(records, features, public, schema, user_level=user_level)
        warn_if_nothing_learned(context.shortfall)
        return plan

    def _planned(
        self,
        records: int,
        features: int | None,
        public: Any,
        schema: Schema | AssumePublic | None,
        *,
        user_level: bool = False,
        weights: bool = False,
    ) -> tuple[FitContext, P]:
        """Return the plan of a `fit` of which so much is public, and the context that it was made in."""
        check_integer("records", records, least=1)
        public = public.rows if isinstance(public, AssumePublic) else public
        context = self._check_parameters(records, public, schema, user_level or None)
        hypotheses, schema = context.hypotheses, plan_schema(schema, public, context.hypotheses)
        shown, columns = None, tuple[RawColumn, ...]()
        if public is not None:  # read by a clone: nothing is set on an estimator that may be fitted
            shown = hypotheses.check_points(read_points(clone(self), public, schema, reset=True), name="public")
        elif schema is None and self.plans_without_public and self.types is not None and not hypotheses.is_fixed:
            columns = raw_columns(dict.fromkeys(self.types, ""), self.types, "types")[0]
            schema = schema_of_kinds(columns)
        context.schema, context.width = schema, width_of(features, shown, schema)
        context.public = PublicInfo(records, context.width, shown, schema, has_row_weights=weights, columns=columns)
        self._prepare_class(context)
        context.width = context.public.features
        context.hypotheses.check_points(np.zeros((1, context.width)))  # a class may need a certain width
        if self.classes is not None:
            context.hypotheses = context.hypotheses.with_labels(len(declared(self.classes)))
        plan = self._plan_for(context)
        if user_level:
            plan = replace(plan, guarantee=self._at_user_level(plan.guarantee, context))
        return context, plan

    # ---- the steps of `fit` and `plan`

    def _check_parameters(self, records: int, public: Any, schema: Any, groups: Any) -> FitContext:
        """Return a context with the class alone. Raise where a parameter is not allowed."""
        hypotheses = self._class(has_public=public is not None, has_schema=schema is not None)
        context = FitContext(hypotheses, PublicInfo(records, 1, None, None), is_user_level=groups is not None)
        self._request(context)
        if not context.is_user_level:
            return context
        if self.no_groups_because is not None:
            raise ParameterError("groups", f"None for {type(self).__name__}: {self.no_groups_because}", "ids")
        if isinstance(groups, Groups) and groups.rows != 1 and self._bound(hypotheses) not in WEIGHED:
            allowed = f"1 for {type(self).__name__}, which weighs no rows with these parameters"
            raise ParameterError("groups.rows", allowed, groups.rows)
        return context

    def _class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:
        """Return `hypotheses`, or the default where that is None."""
        if getattr(self, "hypotheses", None) is None:
            return self._default_class(has_public=has_public, has_schema=has_schema)
        return as_class(self.hypotheses, takes_learners=self.takes_learners)

    def _read_inputs(
        self,
        context: FitContext,
        X: Any,
        y: ArrayLike | None,
        public: Any,
        schema: Schema | AssumePublic | None,
        groups: Any,
        shares: Callable[[], NDArray[np.float64] | None] | None,
    ) -> tuple[PrivateTable | PrivateParts, RawTable | None]:
        """Read the private table, also as columns of kinds where that is wanted, and what is public of it."""
        hypotheses, raw, schema = context.hypotheses, None, schema_for(X, schema, public, context.hypotheses)
        if public is None and schema is None:
            raw = raw_table(X, self.types, hypotheses) if self.plans_without_public else None
            context.has_column_names = raw is None and has_names(X)
        columns = () if raw is None else raw.columns
        if raw is not None:  # a table in parts is read later
            schema, context.assumptions = schema_of_kinds(columns), raw.assumptions
            X = raw.compact(schema) if isinstance(raw, RawInMemory) else X
        by_row = None if shares is None else shares()
        table = private_table(self, X, y, schema, groups, by_row)
        if public is not None and schema is None:
            check_width(public, table.width)
        shown = None if public is None else hypotheses.check_points(self._table(public, schema), name="public")
        context.schema, context.width = schema, table.width
        context.public = PublicInfo(
            table.size, table.width, shown, schema, has_row_weights=by_row is not None, columns=columns
        )
        return table, raw

    def _read_records(
        self, context: FitContext, table: PrivateTable | PrivateParts, raw: RawTable | None, *, is_assumed: bool
    ) -> FitInputs:
        """Read the records, whose labels get names, and judge the public rows by them unless these are assumed."""
        hypotheses, shown = context.hypotheses, context.public.points
        hypotheses.check_width(context.public.features)
        context.names, records, assumptions = table.named(self.classes, hypotheses, context.public.texts)
        if shown is not None and not is_assumed:
            check_public(shown, records)
        if shown is not None and (hypotheses.needs_public or not hypotheses.is_fixed):
            assumptions += (PUBLIC_POINTS,)
        if context.uninformed is not None:
            warnings.warn(context.uninformed, NothingPublic, stacklevel=4)
        cost = () if context.schema is None else context.schema.cost
        context.assumptions = (*assumptions, *context.assumptions, *cost)
        context.hypotheses = hypotheses.with_labels(context.names.shape[0])
        return FitInputs(records, raw)

    def _plan_for(self, context: FitContext) -> P:
        plan = self._make_plan(context, self._request(context))
        context.hypotheses.check_work(plan.stages.work(context.public.records), context.width)
        return plan

    def _charge(self, account: Account | None, guarantee: Guarantee, context: FitContext, plan: P) -> None:
        """Charge the account, before anything is drawn."""
        if account is not None:
            self._has_spent = None
            what, plan_name = self._charged_as or (type(self).__name__, type(plan).__name__)
            try:
                account.charge(
                    guarantee,
                    what,
                    hypotheses=type(context.hypotheses).__name__,
                    plan=plan_name,
                    records=context.public.records,
                )
            except AccountExhausted:
                self._has_spent = False
                raise
        elif guarantee.is_private:
            self._count_fit()
        self._has_spent = True

    def _at_user_level(self, guarantee: Guarantee, context: FitContext) -> Guarantee:
        found = guarantee.at_user_level(BOUNDED[self._bound(context.hypotheses)])
        return found if context.public.recipe is None else found.explained(BOUGHT_OF_PERSONS)

    # ---- what a subclass may override

    def _default_class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:  # noqa: ARG002
        """Return the class where `hypotheses` is None."""
        return Stumps()

    @abstractmethod
    def _request(self, context: FitContext) -> Request:
        """Return the parameters, checked, with the class and the public size of the data (`context.request`)."""

    def _prepare_class(self, context: FitContext) -> None:
        """Fix the predicates of the class and what was left open, by public things. Add what that assumes."""
        found = context.hypotheses.prepared(context.public.points, context.public.schema)
        if found.needs_public and not found.is_fixed:
            raise ParameterError("public", f"public rows or a schema for {type(found).__name__}", None)
        context.hypotheses = found

    @abstractmethod
    def _make_plan(self, context: FitContext, request: Request) -> P:
        """Return the plan, from public numbers alone."""

    def _check_inputs(self, context: FitContext, inputs: FitInputs) -> FitInputs:  # noqa: ARG002
        """Return the records as `_start` takes them. Refuse what cannot be done with them: nothing is charged yet."""
        return inputs

    @abstractmethod
    def _start(self, context: FitContext, inputs: FitInputs, plan: P, entropy: Entropy) -> None:
        """Draw what the plan says: touch the private records for the first time."""

    def _bound(self, hypotheses: HypothesisClass) -> ContributionBound:  # noqa: ARG002
        """Return how the rows of a person are bounded."""
        return self.contribution_bound

    # ---- what it says once it is fitted

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep a password in the address of an account out of all that shows or writes parameters."""
        super().__setattr__(name, hidden(value) if name == "account" else value)

    @property
    def has_spent(self) -> bool | None:
        """Has the last `fit` spent ε and δ, with or without an account? True also if it failed later.

        None: the fit was interrupted while it charged an account, and the account alone knows.
        """
        return self._has_spent

    def _table(self, X: Any, schema: Schema | None) -> Points:
        """Public points or queries as the table of numbers that `fit` was given."""
        return read_points(self, X, schema, reset=False)

    def _check_fitted(self) -> None:
        if not hasattr(self, "plan_"):  # what scikit-learn looks at in the end, too
            check_is_fitted(self, "plan_")

    def _query(self, x: Any) -> Points:
        """Return a query (vector, one-row table or, if columns have names, mapping or Series) as a one-row table."""
        self._check_fitted()
        if type(x) is list and self.schema_ is None and len(x) == self.n_features_in_ and set(map(type, x)) == {float}:
            numbers = np.array([x])  # a plain vector needs no reading. What is wrong with another one is said below
            if np.isfinite(numbers).all() and not hasattr(self, "feature_names_in_"):
                return numbers
        names = getattr(self, "feature_names_in_", None) if self.schema_ is None else self.schema_.names
        row = one_row(x, None if names is None else list(names))
        point = in_order(row) if self.schema_ is None and isinstance(row, Mapping) else self._table(row, self.schema_)
        if point.shape[0] != 1:
            raise DataError("x", "one query", f"{point.shape[0]} rows; use predict for many")
        return point

    def _takes_several_labels(self) -> bool:
        """May there be more than two labels, with the parameters as they are?"""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_several_labels()
        tags.classifier_tags.poor_score = True  # a stump is the default class, and unstable answers are coins
        tags.non_deterministic = self.entropy is None
        return tags


def run_fit(
    estimator: PrivateEstimator[Any],
    X: Any,
    y: ArrayLike | None,
    public: Any,
    schema: Schema | AssumePublic | None,
    groups: Any,
    verbose: bool,
    shares: Callable[[], NDArray[np.float64] | None] | None = None,
) -> None:
    """Do what `fit` says. `shares` reads what each row counts, from 0 to 1, once parameters are judged."""
    estimator._forget()
    is_assumed, public = (True, public.rows) if isinstance(public, AssumePublic) else (False, public)
    context = estimator._check_parameters(1, public, schema, groups)  # parameters are judged before data
    entropy = resolve_entropy(estimator.entropy)
    account = account_for(estimator.account, entropy)
    with showing() if verbose else nullcontext():
        table, raw = estimator._read_inputs(context, X, y, public, schema, groups, shares)
        estimator._prepare_class(context)
        inputs = estimator._read_records(context, table, raw, is_assumed=is_assumed)
        plan = estimator._plan_for(context)
        inputs, n = estimator._check_inputs(context, inputs), context.public.records
        is_private = entropy.is_private and (context.schema is None or context.schema.is_private)
        guarantee = plan.guarantee.drawn_with(private_entropy=is_private).assuming(*context.assumptions)
        if context.is_user_level:
            guarantee = estimator._at_user_level(guarantee, context)
        warn_if_weak(guarantee, n)
        warn_if_unanswered(plan)
        warn_if_nothing_learned(context.shortfall)
        estimator._charge(account, guarantee, context, plan)
        context.guarantee = guarantee.charged(to_account=account is not None)
        if isinstance(inputs.records, GroupedRecords) and estimator._bound(context.hypotheses) == "one row":
            inputs = replace(inputs, records=inputs.records.one_each(entropy))
        estimator._start(context, inputs, plan, entropy)
    estimator.schema_, estimator.classes_, estimator.hypotheses_ = context.schema, context.names, context.hypotheses
    points = context.public.points
    estimator.n_records_, estimator.n_public_ = n, None if points is None else points.shape[0]
    estimator.guarantee_ = context.guarantee
    estimator.plan_ = replace(plan, guarantee=estimator.guarantee_)


class PublishedEstimator(PrivateEstimator[P]):
    """Publishes one hypothesis at `fit`, and predicts by it from then on."""

    hypothesis_: Hypothesis

    @np.errstate(all="ignore")
    def predict(self, X: Any) -> LabelArray:
        """The published classifier on rows. Costs nothing, however often.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            As in `fit`.

        Returns
        -------
        ndarray of shape (rows,)
            Label names.

        Raises
        ------
        DataError
            When the rows cannot be read as those of `fit`.
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "plan_")
        return self.classes_[self.hypothesis_.predict(self._table(X, self.schema_))]

    @np.errstate(all="ignore")
    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> float:
        """Return the share of rows of `X` that `predict` gives the label in `y`. With private labels that is a release.

        Labels are compared by what they mean, as `fit` does, and no error quotes one.
        """
        check_is_fitted(self, "plan_")
        found = self.hypothesis_.predict(self._table(X, self.schema_))
        truth = places_among(self.classes_, label_cells(y))
        by_row = weights(sample_weight)
        check_consistent_length(found, truth, by_row)
        return float(np.average(found == truth, weights=by_row))
