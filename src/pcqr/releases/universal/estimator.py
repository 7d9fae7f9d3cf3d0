from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pcqr.checks import check_delta
from pcqr.data.schema import Schema
from pcqr.data.schema.raw import RawKind
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.stumps import Stumps
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy, resolve_entropy
from pcqr.releases.base.answering import RelabellingRelease
from pcqr.releases.base.fitting import run_fit
from pcqr.releases.base.inputs import AssumePublic, FitContext, FitInputs, PublicInfo
from pcqr.releases.base.kept import for_publication
from pcqr.releases.classifier.estimator import DryRun, PrivateClassifier
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.plan import Aim, Pins
from pcqr.releases.semi_private.plan import PublishedPlan
from pcqr.releases.universal.plan import ClassifierPlan, UniversalPlan
from pcqr.releases.universal.planning import plan_universal
from pcqr.releases.universal.run import UnvPrivCl, published_at_once, unv_priv_cl

if TYPE_CHECKING:
    from pcqr.durable.directory import Kept


VOTES, SHOWS = ("auto", "stability"), ("classifier", "answers")


STAYS_INSIDE = (
    "This release does not show its classifier, since it was made with shows='answers'. Ask it for answers, or fit a "
    "new release with shows='classifier', which costs ε and δ anew."
)


_TAKEN_OVER = {
    *("classes_", "schema_", "hypotheses_", "guarantee_", "n_records_", "n_public_", "n_features_in_"),
    "feature_names_in_",
}


@dataclass(eq=False, repr=False)
class UniversalRelease(RelabellingRelease[Any]):
    """Answers any number of queries, from the first one on, by a private classifier that `fit` publishes.

    It is the classifier of `PrivateClassifier`, bit for bit, at the same ε and δ. Nothing has to be public but the
    columns and their kinds, and labels may be more than two. No query halts it.

    With `hypotheses`, with mode="paper", with vote="stability", or where `teachers`, `unstable`, `sampling_rate`,
    `inverse_temperature` or `publish_share` is given, it is UnvPrivCl [1]_ instead: it answers the first queries by
    votes, then publishes a classifier that answers all others. It publishes after `plan_.publish.after_queries`
    distinct queries, or when the unstable answers are used up. Until then the estimator holds the private records.

    Parameters
    ----------
    hypotheses : HypothesisClass or None, default None
        H, the class of the teachers, of ĥ and of the classifier of UnvPrivCl. None: no votes, or `Stumps()` where
        another parameter asks for UnvPrivCl.
    epsilon : float, default 1.0
        ε, the whole of the privacy loss, charged at `fit`: it covers every answer ever given, and the published
        classifier.
    delta : float, default 1e-6
        δ of the same promise.
    queries : int, default 300
        m, how many queries UnvPrivCl plans for. In calibrated mode privacy does not depend on m. Without votes m has no
        effect.
    alpha : float, default 0.1
        α, the excess error over the best member of H that UnvPrivCl aims at.
    beta : float, default 0.05
        β, the chance with which it may be missed.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, in order; two for UnvPrivCl. None: 0 and 1; other names are then read from y, and
        `guarantee_.assumptions` says that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.
    teachers : int or None, default None
        k, odd. None lets the planner choose it.
    mode : {"calibrated", "paper"}, default "calibrated"
        Constants proved here, or those of the paper with their corrections.
    on_unstable : {"abstain", "random"}, default "abstain"
        What `answer` says where the teachers disagree: no label, or a coin that is drawn once and logged.
    unstable : int or None, default None
        T, the unstable answers after which UnvPrivCl publishes. None lets the planner choose it.
    sampling_rate : float or None, default None
        q, the share of the records in the secret sub-sample. None lets the planner choose it.
    inverse_temperature : float or None, default None
        η of the relabelling. None lets the planner choose it.
    publish_share : float or None, default None
        The share of ε that the classifier of UnvPrivCl gets. None lets the planner choose it.
    vote : {"auto", "stability"}, default "auto"
        "auto": no votes, unless another parameter asks for UnvPrivCl. "stability": UnvPrivCl.
    shows : {"classifier", "answers"}, default "classifier"
        "answers": the release gives the same answers, and does not show its classifier. That adds no privacy for
        records, only discretion about the model. Whoever can read the memory of this process, a pickle of this object
        or the directory of a kept release can read the classifier.
    types : mapping of str to {"numeric", "categorical", "date", "boolean"} or None, default None
        The kinds of columns, where nothing else is public, as for `PrivateClassifier`. Must be None for UnvPrivCl.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is promised.
    plan_ : ClassifierPlan or UniversalPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    hypotheses_ : HypothesisClass
        H as it was used; without votes the class of decision trees with the predicates of the classifier.
    schema_ : Schema or None
        How the columns are read: as declared, as the public rows say, or as bought.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_ : int
        n.
    queries_answered_, unstable_answers_, unstable_remaining_ : int
        How many queries were put to the vote, how many of them were unstable, and how many unstable answers are left.
    is_published_ : bool
        Has the classifier been published?
    hypothesis_ : Hypothesis
        The published classifier, free to be shown, once there is one.

    See Also
    --------
    PrivateClassifier : the same classifier, with all that can be chosen about it.

    References
    ----------
    .. [1] A. Nandi, R. Bassily. Privately answering classification queries in the agnostic PAC model. ALT 2020.
    .. [2] N. Alon, R. Bassily, S. Moran. Limits of private learning with access to public data. NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import UniversalRelease
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(10_000, 1))
    >>> y = (X[:, 0] > 6).astype(int)
    >>> release = UniversalRelease(epsilon=1.0, entropy=0).fit(X, y, public=[[x] for x in range(11)])  # NOT PRIVATE
    >>> release.answer([9.0])
    Answer(label=1, kind='published', spent=Usage(queries=0, unstable=0), remaining=Usage(queries=None,
    unstable=0), beyond_plan=False)
    >>> release.preview([[2.0], [9.0]]).published, release.is_published_
    (2, True)

    With a class of your own it votes first.

    >>> from pcqr.hypotheses import Thresholds
    >>> release = UniversalRelease(Thresholds(), queries=20, entropy=0).fit(X, y)  # seeded: NOT PRIVATE
    >>> release.is_published_
    False
    >>> labels = release.predict(np.linspace(0.25, 9.75, 20).reshape(-1, 1))
    >>> release.is_published_, release.answer([9.0]).kind
    (True, 'published')
    >>> release.hypothesis_
    Threshold(cut=6.0, up=True)
    """

    _: KW_ONLY
    publish_share: float | None = None
    vote: Literal["auto", "stability"] = "auto"
    shows: Literal["classifier", "answers"] = "classifier"
    types: Mapping[str, RawKind] | None = None

    @property
    def is_at_once(self) -> bool:
        """Does `fit` publish the classifier, with the current parameters? UnvPrivCl votes first."""
        is_free = self.hypotheses is None and self.mode == "calibrated" and self.vote == "auto"
        return is_free and self._pins() == Pins()

    def dry_run(
        self, records: int, public: Any = None, schema: Schema | None = None, *, user_level: bool = False
    ) -> DryRun:
        """Return what a `fit` that publishes at once would do, and what it would make predicates of. Spend nothing."""
        if not self.is_at_once:
            allowed = "None, without parameters that ask for votes; for a release that votes use `plan`"
            raise ParameterError("hypotheses", allowed, self.hypotheses)
        return self._classifier().dry_run(records, public, schema, user_level=user_level)

    @property
    def is_published_(self) -> bool:
        """Has the classifier been published? Always False with shows="answers"."""
        return self._published() is not None and self.shows == "classifier"

    @property
    def hypothesis_(self) -> Hypothesis:
        """The published classifier. AttributeError before publication, and with shows="answers"."""
        published = self._published()
        if self.shows == "answers":
            raise AttributeError(STAYS_INSIDE)
        if published is None:
            raise AttributeError("hypothesis_ exists once the release has published; see is_published_.")
        return published

    def _published(self) -> Hypothesis | None:
        check_is_fitted(self, "plan_")
        return self._protocol.published if isinstance(self._protocol, UnvPrivCl) else None

    def _classifier(self) -> PrivateClassifier:
        """Return the estimator that publishes at once. An account sees its charge as one of this estimator."""
        self._request(FitContext(Stumps(), PublicInfo(1, 1, None, None)))  # checks parameters before data
        check_delta(self.delta)
        classifier = PrivateClassifier(
            self.epsilon,
            self.delta,
            entropy=self.entropy,
            classes=self.classes,
            account=self.account,
            types=self.types,
        )
        self._is_fitted_by(classifier, ClassifierPlan)
        return classifier

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        public: Any = None,
        schema: Schema | AssumePublic | None = None,
        groups: Any = None,
        verbose: bool = False,
    ) -> Self:
        """Charge ε and δ whole, and publish the classifier or prepare the votes. Each `fit` is charged anew.

        Parameters
        ----------
        X, y, public, schema, groups, verbose : see `pcqr.SubsampleAggregate.fit`
            The private records and their labels, what is public, and whose each row is.

        Returns
        -------
        UniversalRelease
            This estimator.

        Raises
        ------
        ParameterError, DataError, InfeasiblePlan, AccountExhausted
            As there. Nothing was drawn or charged then.

        Warns
        -----
        WeakGuarantee, UnansweredWarning, NothingLearned
            As there.
        """
        if not self.is_at_once:
            return super().fit(X, y, public, schema, groups, verbose)
        self._forget()
        classifier = self._classifier()
        with np.errstate(all="ignore"):
            try:
                run_fit(classifier, X, y, public, schema, groups, verbose)
            finally:
                self._has_spent = classifier.has_spent
            self._answer_by(classifier)
        return self

    def _answer_by(self, classifier: PrivateClassifier) -> None:
        for name in _TAKEN_OVER & vars(classifier).keys():
            setattr(self, name, getattr(classifier, name))
        hypothesis, entropy = classifier.hypothesis_, resolve_entropy(self.entropy)
        self._protocol = published_at_once(self.hypotheses_, hypothesis, self.queries, entropy)
        self.plan_ = self._classifier_plan(classifier.plan_)

    def _classifier_plan(self, plan: PublishedPlan) -> ClassifierPlan:
        aim = Aim(self.queries, self.alpha, self.beta)
        return ClassifierPlan(mode=plan.mode, budget=plan.budget, guarantee=plan.guarantee, aim=aim, stage=plan.stage)

    def _planned(
        self,
        records: int,
        features: int | None,
        public: Any,
        schema: Schema | AssumePublic | None,
        *,
        user_level: bool = False,
        weights: bool = False,
    ) -> tuple[FitContext, Any]:
        if not self.is_at_once:
            return super()._planned(records, features, public, schema, user_level=user_level, weights=weights)
        context, plan = self._classifier()._planned(records, features, public, schema, user_level=user_level)
        return context, self._classifier_plan(plan)

    def _takes_several_labels(self) -> bool:
        return self.is_at_once or super()._takes_several_labels()

    def _request(self, context: FitContext) -> Request:
        for name, allowed in (("vote", VOTES), ("shows", SHOWS)):
            if getattr(self, name) not in allowed:
                raise ParameterError(name, " or ".join(map(repr, allowed)), getattr(self, name))
        if self.types is not None and not self.is_at_once:
            raise ParameterError("types", "None where votes come first: give `public` rows or a `schema`", self.types)
        return super()._request(context)

    def _make_plan(self, context: FitContext, request: Request) -> UniversalPlan:  # noqa: ARG002
        return plan_universal(request, self.mode)

    def _start(self, context: FitContext, inputs: FitInputs, plan: UniversalPlan, entropy: Entropy) -> None:
        self._protocol = unv_priv_cl(
            context.hypotheses, inputs.records, context.points, plan.vote, plan.publish, entropy
        )

    def _resumed(self, kept: Kept, plan: UniversalPlan | ClassifierPlan, entropy: Entropy) -> PrivClass | UnvPrivCl:
        if isinstance(plan, ClassifierPlan):
            return super()._resumed(kept, plan, entropy)
        votes = self._resumed_votes(kept, plan, entropy, plan.publish.after_queries)
        records, public = (None, None) if kept.secret is None else for_publication(kept.secret)
        return UnvPrivCl(self.hypotheses_, votes, records, public, plan.publish, entropy)
