"""The class H that a user names: one of pcqr.hypotheses or, where teachers are all that is wanted, any classifier."""

from __future__ import annotations

import inspect
import reprlib
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from html import escape
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from pcqr import registry
from pcqr.addresses import hidden
from pcqr.checks import check_integer
from pcqr.data.records import GroupedRecords, Records
from pcqr.data.schema import Schema
from pcqr.data.schema.matrix import one_row
from pcqr.data.schema.raw import RawColumn, RawInMemory, RawTable
from pcqr.durable.account import Account, AccountLike, resolve_account
from pcqr.errors import DataError, FittedAgain, NothingPublic, ParameterError
from pcqr.hypotheses.base import HypothesisClass, Points
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
    Given,
    Known,
    LabelArray,
    check_public,
    check_width,
    declared,
    handed,
    in_order,
    plain_name,
    read_points,
    schema_for,
    schema_known,
    width_of,
)
from pcqr.releases.classifier.predicates import schema_of_kinds
from pcqr.releases.protocol.answers import Answer
from pcqr.releases.protocol.plan import Plan


def as_class(given: Any, *, takes_learners: bool) -> HypothesisClass:
    """`given` as a hypothesis class; with `takes_learners`, a scikit-learn classifier becomes one that only learns."""
    found = Estimators(given) if takes_learners and is_estimator(given) else given
    if isinstance(found, HypothesisClass) and (takes_learners or not found.only_learns):
        return found
    if takes_learners:
        raise ParameterError("hypotheses", "a class from pcqr.hypotheses or a scikit-learn classifier", given)
    allowed = "a class from pcqr.hypotheses"
    if isinstance(found, HypothesisClass) or is_estimator(given):
        allowed += f" that can be drawn from; teachers that only learn are for {_takers()}"
    raise ParameterError("hypotheses", allowed, given)


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
Bought = tuple[HypothesisClass, Schema | None]
"""The class and the schema that take the place of those that the plan was made with."""
NOTHING_KNOWN = "cuts at powers of ten, which suit no table in particular"


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
    """The common part of every pcqr classifier. Subclasses say how to plan and how to start."""

    hypotheses: HypothesisClass | None
    epsilon: float
    entropy: Entropy | int | None
    classes: Sequence[Any] | None
    account: AccountLike | None

    classes_: LabelArray
    n_features_in_: int
    hypotheses_: HypothesisClass
    plan_: P
    guarantee_: Guarantee

    _has_spent: bool | None = False
    _charged_as: tuple[str, str] | None = None
    """The names of estimator and plan that an account gets, where this estimator fits on behalf of another one."""

    takes_learners: ClassVar[bool] = False
    """May H be a class that only learns, such as any scikit-learn classifier?"""

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
            fitter = self._fitter()
            try:
                fitter._fit(X, y, public, schema, groups, verbose)
            finally:
                self._has_spent = fitter._has_spent
            self._take_over(fitter)
            return self

    def _fitter(self) -> PrivateEstimator[Any]:
        """Return the estimator that does the work of `fit`: this one, or another one on its behalf."""
        return self

    def _take_over(self, fitter: PrivateEstimator[Any]) -> None:
        """Take over what another estimator has fitted on behalf of this one."""

    def _is_fitted_by(self, fitter: PrivateEstimator[Any], plan: type[Plan]) -> None:
        """Let accounts and warnings see a fit of another estimator as one of this estimator, with this plan class."""
        self._share_fits(fitter)
        fitter._charged_as = (type(self).__name__, plan.__name__)

    def _fit(
        self,
        X: Any,
        y: ArrayLike | None,
        public: Any,
        schema: Schema | AssumePublic | None,
        groups: Any,
        verbose: bool,
        sample_weight: Any = None,
    ) -> Self:
        """`fit`, with a weight for each row where a subclass takes weights."""
        self._let_go()
        self._forget()
        assume_public, public = (True, public.rows) if isinstance(public, AssumePublic) else (False, public)
        hypotheses = self._class(has_public=public is not None, has_schema=schema is not None)
        self._request(hypotheses, 1, 1, None)  # parameters are judged before data
        if groups is not None:
            self._check_groups(hypotheses, groups)
        entropy = resolve_entropy(self.entropy)
        account = self._account(entropy)
        schema = schema_for(X, schema, public, hypotheses)
        with showing() if verbose else nullcontext():
            raw, X, schema = self._by_kinds(X, public, schema, hypotheses)
            table = handed(self, X, y, schema, groups, self._row_shares(sample_weight))
            if public is not None and schema is None:
                check_width(public, table.width)
            shown = None if public is None else hypotheses.check_points(self._table(public, schema), name="public")
            known = Known(table.size, table.width, shown, schema, has_row_weights=sample_weight is not None)
            typed = self._of_types(X, known) if raw is None else raw.assumptions
            known = self._supposed(known if raw is None else known.of(raw.columns))
            hypotheses = self._prepared(hypotheses, known)
            hypotheses.check_width(known.features)
            names, records, assumptions = table.named(self.classes, hypotheses, known.texts)
            records = self._weighed(records, names)
            if shown is not None and not assume_public:
                check_public(shown, records)
            if shown is not None and (hypotheses.needs_public or not hypotheses.is_fixed):
                assumptions += (PUBLIC_POINTS,)
            assumptions += (*self._assumed(known), *self._guessed(known), *typed, *(schema.cost if schema else ()))
            hypotheses = hypotheses.with_labels(names.shape[0])
            known = self._with_maps(hypotheses, known)
            given = Given(
                records,
                None if hypotheses.is_fixed else shown,
                known,
                self._find_gpu(weighed=groups is not None or sample_weight is not None),
                raw,
            )

            n, p = records.size, records.width
            request = self._request(hypotheses, n, p, None if given.public is None else given.public.shape[0])
            plan = self._make_plan(request, known)
            hypotheses.check_work(plan.stages.work(n), p)
            is_private = entropy.is_private and (schema is None or schema.is_private)
            guarantee = plan.guarantee.drawn_with(private_entropy=is_private).assuming(*assumptions)
            if groups is not None:
                guarantee = self._user_level_guarantee(guarantee, hypotheses, known)
            warn_if_weak(guarantee, n)
            warn_if_unanswered(plan)
            warn_if_nothing_learned(self._shortfall(hypotheses, known))
            self._check_room(given)
            self._charge(account, guarantee, hypotheses, plan, n)
            hypotheses, schema = self._begin(hypotheses, given, plan, entropy) or (hypotheses, schema)
        self.schema_, self.classes_, self.hypotheses_ = schema, names, hypotheses
        self.n_records_, self.n_public_ = n, None if shown is None else shown.shape[0]
        self.guarantee_ = self._final_guarantee(guarantee.charged(to_account=account is not None), names)
        self.plan_ = replace(plan, guarantee=self.guarantee_)
        return self

    def _forget(self) -> None:
        """Drop what an earlier fit has left: one that fails must not leave it behind, half replaced."""
        self._has_spent = False
        for name in _FITTED & vars(self).keys():
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
        hypotheses, plan, known = self._planned(records, features, public, schema, user_level=user_level)
        warn_if_nothing_learned(self._shortfall(hypotheses, known))
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
    ) -> tuple[HypothesisClass, P, Known]:
        """The class, the plan and the feature maps of a `fit` of which so much is public."""
        check_integer("records", records, least=1)
        public = public.rows if isinstance(public, AssumePublic) else public
        hypotheses = self._class(has_public=public is not None, has_schema=schema is not None)
        self._request(hypotheses, records, 1, None)  # parameters are judged first
        if user_level:
            self._check_groups(hypotheses)
        schema = schema_known(schema, public, hypotheses)
        shown = None
        if public is not None:  # read by a clone: nothing is set on an estimator that may be fitted
            shown = hypotheses.check_points(read_points(clone(self), public, schema, reset=True), name="public")
        columns = self._declared(hypotheses) if public is None and schema is None else ()
        schema = schema_of_kinds(columns) if columns else schema
        known = Known(records, width_of(features, shown, schema), shown, schema, has_row_weights=weights)
        known = self._supposed(known.of(columns))
        width = known.features
        hypotheses = self._prepared(hypotheses, known)
        hypotheses.check_points(np.zeros((1, width)))  # a class may need a certain width
        if self.classes is not None:
            hypotheses = hypotheses.with_labels(len(declared(self.classes)))
        points = None if shown is None or hypotheses.is_fixed else shown.shape[0]
        known = self._with_maps(hypotheses, known)
        plan = self._make_plan(self._request(hypotheses, records, width, points), known)
        hypotheses.check_work(plan.stages.work(records), width)
        if user_level:
            plan = replace(plan, guarantee=self._user_level_guarantee(plan.guarantee, hypotheses, known))
        return hypotheses, plan, known

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep a password in the address of an account out of all that shows or writes parameters."""
        super().__setattr__(name, hidden(value) if name == "account" else value)

    @property
    def has_spent(self) -> bool | None:
        """Has the last `fit` spent ε and δ, with or without an account? True also if it failed later.

        None: the fit was interrupted while it charged an account, and the account alone knows.
        """
        return self._has_spent

    def _final_guarantee(self, guarantee: Guarantee, names: LabelArray) -> Guarantee:  # noqa: ARG002
        """The guarantee with what else there is to say of a release, once it is there."""
        return guarantee

    def _let_go(self) -> None:
        """Close what an earlier fit has left open."""

    def _find_gpu(self, *, weighed: bool) -> str | None:  # noqa: ARG002
        """Return the GPU that this fit uses, or None for the CPU. `weighed`: rows have weights, as those of persons."""
        return None

    def _shortfall(self, hypotheses: HypothesisClass, known: Known) -> str | None:  # noqa: ARG002
        """Return why nothing can be learned, by public numbers, and what would change it; None where something can."""
        return None

    def _row_shares(self, sample_weight: Any) -> NDArray[np.float64] | None:  # noqa: ARG002
        """What each row counts, from 0 to 1."""
        return None

    def _weighed(self, records: Records, names: LabelArray) -> Records:  # noqa: ARG002
        """The records, with weights of labels where there are declared ones."""
        return records

    def _check_room(self, given: Given) -> None:
        """Raise where what is kept of the records would not fit, before anything is charged."""

    def _account(self, entropy: Entropy) -> Account | None:
        """The account that this release is charged to."""
        return account_for(self.account, entropy)

    def _charge(
        self, account: Account | None, guarantee: Guarantee, hypotheses: HypothesisClass, plan: P, records: int
    ) -> None:
        """Before anything is drawn."""
        if account is not None:
            self._has_spent = None
            what, plan_name = self._charged_as or (type(self).__name__, type(plan).__name__)
            account.charge(
                guarantee,
                what,
                hypotheses=type(hypotheses).__name__,
                plan=plan_name,
                records=records,
            )
        elif guarantee.is_private:
            self._count_fit()
        self._has_spent = True

    @abstractmethod
    def _request(self, hypotheses: HypothesisClass, records: int, features: int, public: int | None) -> Request:
        """The parameters, checked, together with the class and the public size of the data."""

    @abstractmethod
    def _make_plan(self, request: Request, known: Known) -> P: ...

    @abstractmethod
    def _start(self, hypotheses: HypothesisClass, given: Given, plan: P, entropy: Entropy) -> Bought | None:
        """Touch the private records for the first time. Return what was bought in the place of public things."""

    def _begin(self, hypotheses: HypothesisClass, given: Given, plan: P, entropy: Entropy) -> Bought | None:
        """`_start`, on one row of each person where all their rows are too much."""
        if isinstance(given.records, GroupedRecords) and self._contribution_bound(hypotheses) == "one row":
            given = replace(given, records=given.records.one_each(entropy))
        return self._start(hypotheses, given, plan, entropy)

    def _contribution_bound(self, hypotheses: HypothesisClass) -> ContributionBound:  # noqa: ARG002
        """Return how the rows of a person are bounded (proofs/user_level.md). By default one row of each is sampled."""
        return "one row"

    def _user_level_guarantee(
        self,
        guarantee: Guarantee,
        hypotheses: HypothesisClass,
        known: Known,  # noqa: ARG002
    ) -> Guarantee:
        return guarantee.at_user_level(BOUNDED[self._contribution_bound(hypotheses)])

    def _check_groups(self, hypotheses: HypothesisClass, groups: Any = None) -> None:
        if self.no_groups_because is not None:
            raise ParameterError("groups", f"None for {type(self).__name__}: {self.no_groups_because}", "ids")
        if isinstance(groups, Groups) and groups.rows != 1 and self._contribution_bound(hypotheses) not in WEIGHED:
            allowed = f"1 for {type(self).__name__}, which weighs no rows with these parameters"
            raise ParameterError("groups.rows", allowed, groups.rows)

    def _class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:
        """`hypotheses`, or the default where that is None."""
        if self.hypotheses is None:
            return self._default_class(has_public=has_public, has_schema=has_schema)
        return as_class(self.hypotheses, takes_learners=self.takes_learners)

    def _default_class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:  # noqa: ARG002
        return Stumps()

    def _by_kinds(
        self, X: Any, public: Any, schema: Schema | None, hypotheses: HypothesisClass
    ) -> tuple[RawTable | None, Any, Schema | None]:
        """Return `X` as read by a schema of the kinds of its columns, where nothing is public, and that schema.

        A table in parts is read later.
        """
        if public is not None or schema is not None or (found := self._raw(X, hypotheses)) is None:
            return None, X, schema
        schema = schema_of_kinds(found.columns)
        return found, found.compact(schema) if isinstance(found, RawInMemory) else X, schema

    def _raw(self, X: Any, hypotheses: HypothesisClass) -> RawTable | None:  # noqa: ARG002
        """Return `X` as columns of kinds, for an estimator that can do with nothing public, if its columns have any."""
        return None

    def _of_types(self, X: Any, known: Known) -> tuple[str, ...]:  # noqa: ARG002
        """Return the assumptions about the types of the columns of `X`, which was not read by kinds."""
        return ()

    def _declared(self, hypotheses: HypothesisClass) -> tuple[RawColumn, ...]:  # noqa: ARG002
        """Return the columns whose kinds are declared, for such an estimator."""
        return ()

    def _supposed(self, known: Known) -> Known:
        """Return `known` with what takes the place of public things where there are none."""
        return known

    def _is_uninformed(self, known: Known) -> bool:  # noqa: ARG002
        """Is the class made of questions that suit no table, for want of public rows, a schema or a declaration?"""
        return False

    def _guess(self, known: Known) -> str:  # noqa: ARG002
        """What is done to columns of which nothing is known. Costs accuracy, not privacy."""
        return NOTHING_KNOWN

    def _guessed(self, known: Known) -> tuple[str, ...]:
        """What is assumed where nothing is known of the columns, with a warning."""
        if not self._is_uninformed(known):
            return ()
        guess = self._guess(known)
        warnings.warn(
            f"Nothing is known of the columns. They get {guess}: give `public` rows or a `schema`.",
            NothingPublic,
            stacklevel=4,  # errstate stands between
        )
        return (guess,)

    def _assumed(self, known: Known) -> tuple[str, ...]:  # noqa: ARG002
        """What else is treated as public."""
        return ()

    def _prepared(self, hypotheses: HypothesisClass, known: Known) -> HypothesisClass:
        """The class for a table of which so much is `known`: its questions fixed, what was left open decided."""
        found = hypotheses.prepared(known.points, known.schema)
        if found.needs_public and not found.is_fixed:
            raise ParameterError("public", f"public rows or a schema for {type(found).__name__}", None)
        return found

    def _with_maps(self, hypotheses: HypothesisClass, known: Known) -> Known:  # noqa: ARG002
        """Return `known` with the public feature maps that this estimator needs."""
        return known

    def _table(self, X: Any, schema: Schema | None) -> Points:
        """Public points or queries as the table of numbers that `fit` was given."""
        return read_points(self, X, schema, reset=False)

    def _check_fitted(self) -> None:
        if not hasattr(self, "plan_"):  # what scikit-learn looks at in the end, too
            check_is_fitted(self, "plan_")

    def _named(self, answer: Answer[int]) -> Answer[Any]:
        label = None if answer.label is None else plain_name(self.classes_[answer.label])
        return Answer(label, answer.kind, answer.spent, answer.remaining, answer.beyond_plan)

    def _query(self, x: Any) -> Points:
        """Return a query (vector, one-row table or, if columns have names, mapping or Series) as a one-row table."""
        self._check_fitted()
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
