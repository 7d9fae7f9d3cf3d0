"""The papers' releases: fit once on private records, then answer query by query, until the budget ends or for ever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sklearn.utils.validation import check_is_fitted

from pcqr.algorithms.ag_priv_cl import ag_priv_cl
from pcqr.algorithms.log import PrivLabel
from pcqr.algorithms.noisy_max import NoisyVotes, noisy_max
from pcqr.algorithms.priv_class import PrivClass
from pcqr.algorithms.sub_samp import StableVotes, sub_samp
from pcqr.algorithms.unv_priv_cl import UnvPrivCl, answered_by_draw, published_at_once, unv_priv_cl
from pcqr.checks import check_delta
from pcqr.entropy import Entropy, resolve_entropy
from pcqr.errors import ParameterError
from pcqr.estimators.answering import Release
from pcqr.estimators.base import PrivateEstimator
from pcqr.estimators.given import AssumePublic, Given, Known
from pcqr.estimators.kept import V, for_publication
from pcqr.estimators.persons import Hearing, weighs_rows
from pcqr.estimators.private_classifier import DryRun, PrivateClassifier
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.committees.base import Arrays
from pcqr.hypotheses.stumps import Stumps
from pcqr.plan import (
    Aim,
    Answer,
    ClassifierPlan,
    Mode,
    NoisyMaxStage,
    Pins,
    PublishedPlan,
    UniversalPlan,
    Vote,
    VoteStage,
    VotingPlan,
)
from pcqr.planning import Request, plan_agnostic, plan_subsample, plan_universal
from pcqr.planning.releases import plan_direct
from pcqr.schema import Schema
from pcqr.schema.raw import RawKind

if TYPE_CHECKING:
    from pcqr.release.durable.directory import Kept

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
class StableRelease(Release[V]):
    """A release whose plan either tests whether a vote is stable, and says ⊥ where it is not, or adds noise to it."""

    _: KW_ONLY
    mode: Mode = "calibrated"
    on_unstable: str = "abstain"
    unstable: int | None = None
    sampling_rate: float | None = None

    def _shown(self, answer: Answer[int], coin: int | None) -> Answer[Any]:
        if answer.label is None and self.on_unstable == "random":
            answer = Answer(coin, answer.kind, answer.spent, answer.remaining, answer.beyond_plan)
        return self._named(answer)

    def _request(self, hypotheses: HypothesisClass, records: int, features: int, public: int | None) -> Request:
        if self.on_unstable not in ("abstain", "random"):
            raise ParameterError("on_unstable", "'abstain' or 'random'", self.on_unstable)
        return super()._request(hypotheses, records, features, public)

    def _labeller(self, arrays: Arrays, plan: V, entropy: Entropy) -> PrivLabel:
        vote: VoteStage | NoisyMaxStage = plan.vote  # type: ignore[attr-defined]
        if isinstance(vote, NoisyMaxStage):
            return NoisyVotes.from_arrays(arrays, vote, entropy)
        return StableVotes.from_arrays(arrays, vote, entropy)

    def _pins(self) -> Pins:
        return replace(super()._pins(), unstable=self.unstable, sampling_rate=self.sampling_rate)


@dataclass(eq=False, repr=False)
class RelabellingRelease(StableRelease[V]):
    """A release that may relabel records by a privately drawn member of H before its teachers learn from them."""

    _: KW_ONLY
    inverse_temperature: float | None = None

    two_labels_because: ClassVar[str | None] = "what relabelling costs is proved for two"

    def _pins(self) -> Pins:
        return replace(super()._pins(), inverse_temperature=self.inverse_temperature)

    def _resumed(self, kept: Kept, plan: V, entropy: Entropy) -> PrivClass | UnvPrivCl:
        if isinstance(plan, ClassifierPlan):
            votes = self._resumed_votes(kept, plan, entropy, plan.queries)
            return UnvPrivCl(self.hypotheses_, votes, None, None, None, entropy)
        return super()._resumed(kept, plan, entropy)


@dataclass(eq=False, repr=False)
class SubsampleAggregate(StableRelease[VotingPlan]):
    """SubSamp [1]_: teachers learn from disjoint parts of the records, and answer by stable or by noisy votes.

    (ε, δ)-DP for all answers together, adaptively chosen queries included. The error may reach α + 3γ, γ the best error
    in H, so nothing is certified.

    Parameters
    ----------
    hypotheses : HypothesisClass, scikit-learn classifier or None, default None
        H, the class of the teachers: one of `pcqr.hypotheses`, or any classifier, of which every teacher is a clone
        (`pcqr.hypotheses.Estimators`). None is `Stumps()`.
    epsilon : float, default 1.0
        ε, the whole of the privacy loss, charged at `fit`: it covers every answer ever given.
    delta : float, default 1e-6
        δ of the same promise.
    queries : int, default 300
        m, how many queries to plan for. With noise on votes and in paper mode the release halts at m. With the test
        no privacy figure depends on m: the release goes on until the unstable answers are used up.
    alpha : float, default 0.1
        α, the excess error over the best member of H that is aimed at.
    beta : float, default 0.05
        β, the chance with which it may be missed.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, negative first; more than two (up to 127) for trees and for classifiers of scikit-learn. None:
        0 and 1; other names are then read from y, and `guarantee_.assumptions` says that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.
    teachers : int or None, default None
        k, odd. None lets the planner choose it.
    mode : {"calibrated", "paper"}, default "calibrated"
        Constants proved here, or those of the paper with their corrections.
    vote : {"auto", "stability", "noisy max"}, default "auto"
        What makes votes private. "stability": a test of each vote, as in the paper. "noisy max": noise on each vote, as
        in `NoisyMaxAggregate`. No answer is unstable then, and the release halts after m answers. "auto": noise, unless
        the test is expected to err less even where the planner is far too optimistic about the test. Where T, q or k is
        given, and in paper mode, "auto" is the test.
    on_unstable : {"abstain", "random"}, default "abstain"
        What `answer` says where the teachers disagree: no label, or a coin that is drawn once and logged.
    unstable : int or None, default None
        T, the unstable answers after which the release halts. None lets the planner choose it.
    sampling_rate : float or None, default None
        q, the share of the records in the secret sub-sample. None lets the planner choose it.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is promised.
    plan_ : VotingPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    hypotheses_ : HypothesisClass
        H as it was used.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_ : int
        n.
    queries_answered_, unstable_answers_, unstable_left_ : int
        What has been asked, how much of it was unstable, and how many unstable answers are left.

    References
    ----------
    .. [1] R. Bassily, O. Thakkar, A. Thakurta. Model-agnostic private learning. NeurIPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import SubsampleAggregate
    >>> from pcqr.hypotheses import Thresholds
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(5_000, 1))
    >>> y = (X[:, 0] > 6).astype(int)
    >>> release = SubsampleAggregate(Thresholds(), queries=20, entropy=0).fit(X, y)  # seeded: NOT PRIVATE
    >>> release.predict([[1.0], [9.0]])
    array([0, 1])
    >>> type(release.plan_.vote).__name__, release.answer([8.0]).remaining
    ('NoisyMaxStage', Usage(queries=17, unstable=None))

    The paper's test of stability pays for close votes alone.

    >>> tested = SubsampleAggregate(Thresholds(), queries=20, vote="stability", entropy=0).fit(X, y)  # NOT PRIVATE
    >>> tested.plan_.vote.teachers, tested.unstable_left_
    (1249, 5)

    Teachers may be classifiers of scikit-learn, and labels may be more than two.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> names = np.array(["low", "middle", "high"])
    >>> teacher = DecisionTreeClassifier(max_depth=2)
    >>> release = SubsampleAggregate(teacher, epsilon=4.0, queries=20, teachers=99, entropy=0, classes=names.tolist())
    >>> release.fit(X, names[np.digitize(X[:, 0], [3, 6])]).predict([[1.0], [4.5], [9.0]])  # seeded: NOT PRIVATE
    array(['low', 'middle', 'high'], dtype='<U6')
    """

    _: KW_ONLY
    vote: Vote = "auto"

    two_labels_because: ClassVar[str | None] = None
    takes_learners: ClassVar[bool] = True

    def _hears(self, hypotheses: HypothesisClass) -> Hearing:  # noqa: ARG002
        return "all rows"

    def _make_plan(self, request: Request, known: Known) -> VotingPlan:  # noqa: ARG002
        return plan_subsample(request, self.mode, self.vote)

    def _start(self, hypotheses: HypothesisClass, given: Given, plan: VotingPlan, entropy: Entropy) -> None:
        labeller: PrivLabel
        if isinstance(plan.vote, NoisyMaxStage):
            labeller = noisy_max(hypotheses, given.records, plan.vote, entropy)
        else:
            labeller = sub_samp(hypotheses, given.records, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)


@dataclass(eq=False, repr=False)
class AgnosticRelease(RelabellingRelease[Any]):
    """AgPrivCl [1]_: a privately drawn ĥ ∈ H relabels the records, then teachers answer by stable votes.

    (ε, δ)-DP for all answers together, adaptively chosen queries included. The average error is at most γ + α with
    probability 1 − β where `plan_.certified` is True, γ the best error in H.

    With vote="auto" the planner may choose noisy votes of teachers on the labels as they are instead. A class that is
    fixed before the records are seen needs no votes: trees over public or declared predicates, stumps with declared
    cuts, `Finite`. With vote="auto" ĥ is then drawn with all of ε and answers any number of queries. δ is 0, and trees
    may have several labels.

    Parameters
    ----------
    hypotheses : HypothesisClass or None, default None
        H, the class of the teachers and of ĥ. None is `Stumps()`.
    epsilon : float, default 1.0
        ε, the whole of the privacy loss, charged at `fit`: it covers every answer ever given.
    delta : float, default 1e-6
        δ of the same promise.
    queries : int, default 300
        m, how many queries to plan for. With noise on votes and in paper mode the release halts at m. With the test
        no privacy figure depends on m: the release goes on until the unstable answers are used up.
    alpha : float, default 0.1
        α, the excess error over the best member of H that is aimed at.
    beta : float, default 0.05
        β, the chance with which it may be missed.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, negative first; two for votes. None: 0 and 1; other names are then read from y, and
        `guarantee_.assumptions` says that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.
    teachers : int or None, default None
        k, odd. None lets the planner choose it.
    mode : {"calibrated", "paper"}, default "calibrated"
        Constants proved here, or those of the paper with their corrections.
    vote : {"auto", "stability", "noisy max"}, default "auto"
        What makes votes private. "stability": relabelling and a test of each vote, as in the paper. "noisy max": noise
        on each vote of teachers on the labels as they are, as in `NoisyMaxAggregate`. No answer is unstable then, and
        the release halts after m answers. "auto": no votes where the class is fixed; otherwise noise, unless (α, β) is
        proved for the test, or the test is expected to err less even where the planner is far too optimistic about it.
        Where T, q, η or k is given, and in paper mode, "auto" is the test.
    on_unstable : {"abstain", "random"}, default "abstain"
        What `answer` says where the teachers disagree: no label, or a coin that is drawn once and logged.
    unstable : int or None, default None
        T, the unstable answers after which the release halts. None lets the planner choose it.
    sampling_rate : float or None, default None
        q, the share of the records in the secret sub-sample. None lets the planner choose it.
    inverse_temperature : float or None, default None
        η of the relabelling. None lets the planner choose it.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is promised.
    plan_ : VotingPlan or ClassifierPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    hypotheses_ : HypothesisClass
        H as it was used.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_ : int
        n.
    queries_answered_, unstable_answers_, unstable_left_ : int
        What has been asked, how much of it was unstable, and how many unstable answers are left.

    References
    ----------
    .. [1] A. Nandi, R. Bassily. Privately answering classification queries in the agnostic PAC model. ALT 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import AgnosticRelease
    >>> from pcqr.hypotheses import Thresholds
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(10_000, 1))
    >>> y = (X[:, 0] > 6).astype(int)
    >>> release = AgnosticRelease(Thresholds(), queries=20, vote="stability", entropy=0).fit(X, y)  # NOT PRIVATE
    >>> release.answer([8.0])
    Answer(label=1, kind='stable', spent=Usage(queries=1, unstable=0), remaining=Usage(queries=None,
    unstable=6), beyond_plan=False)
    >>> print(release.preview([[2.0], [3.0], [8.0]]))
    3 rows: 2 new queries; 1 repeated, from the log at no cost.
    The batch adds nothing to ε and δ: all of it is charged once, at fit.
    Remaining: 6 unstable answers and any number of stable ones. Every row will be answered.
    The planner's model, an estimate and not a bound, expects about 0.2 unstable answers (0.0 to 0.3, as far off
    as it was on real tables).
    >>> release.guarantee_.within(1.0, 1e-6), release.guarantee_.is_private
    (True, False)
    """

    _: KW_ONLY
    vote: Vote = "auto"

    def _hears(self, hypotheses: HypothesisClass) -> Hearing:
        """Return "one row" unless the draw weighs rows. Noisy votes make no draw: teachers get all rows."""
        if not weighs_rows(hypotheses):
            return "one row"
        if self.vote == "noisy max":
            return "all rows"
        return "weights" if self._answers_by_draw(hypotheses) else "weights, then all rows"

    def _answers_by_draw(self, hypotheses: HypothesisClass) -> bool:
        """Is the class fixed, or will it be? Public rows or a schema fix a class that needs them, before the plan."""
        return self._is_free and (hypotheses.is_fixed or hypotheses.needs_public)

    @property
    def _is_free(self) -> bool:
        """May the planner do without votes?"""
        return self.mode == "calibrated" and self.vote == "auto" and self._pins() == Pins()

    def _make_plan(self, request: Request, known: Known) -> VotingPlan | ClassifierPlan:  # noqa: ARG002
        if request.hypotheses.is_fixed and self._is_free:
            return plan_direct(request)
        return plan_agnostic(request, self.mode, vote=self.vote)

    def _start(
        self, hypotheses: HypothesisClass, given: Given, plan: VotingPlan | ClassifierPlan, entropy: Entropy
    ) -> None:
        if isinstance(plan, ClassifierPlan):
            self._protocol = answered_by_draw(hypotheses, given.records, plan.draw, plan.queries, entropy)
            return
        labeller: PrivLabel
        if isinstance(plan.vote, NoisyMaxStage):
            labeller = noisy_max(hypotheses, given.records, plan.vote, entropy)
        else:
            labeller = ag_priv_cl(hypotheses, given.records, given.public, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)


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
    queries_answered_, unstable_answers_, unstable_left_ : int
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
        self, records: int, public: Any = None, schema: Schema | None = None, *, persons: bool = False
    ) -> DryRun:
        """Return what a `fit` that publishes at once would do, and what it would make predicates of. Spend nothing."""
        if not self.is_at_once:
            allowed = "None, without parameters that ask for votes; for a release that votes use `plan`"
            raise ParameterError("hypotheses", allowed, self.hypotheses)
        return self._classifier().dry_run(records, public, schema, persons=persons)

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
        self._request(Stumps(), 1, 1, None)  # checks parameters before data
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

    def _fitter(self) -> PrivateEstimator[Any]:
        if not self.is_at_once:
            return self
        self._let_go()
        self._forget()
        return self._classifier()

    def _take_over(self, fitter: PrivateEstimator[Any]) -> None:
        """Take over the classifier, if it was published at once. Answers need nothing else."""
        if isinstance(fitter, PrivateClassifier):
            self._answer_by(fitter)

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
        persons: bool = False,
        weights: bool = False,
    ) -> tuple[HypothesisClass, Any, Known]:
        if not self.is_at_once:
            return super()._planned(records, features, public, schema, persons=persons, weights=weights)
        hypotheses, plan, known = self._classifier()._planned(records, features, public, schema, persons=persons)
        return hypotheses, self._classifier_plan(plan), known

    def _shortfall(self, hypotheses: HypothesisClass, known: Known) -> str | None:
        return self._classifier()._shortfall(hypotheses, known) if self.is_at_once else None

    def _takes_several_labels(self) -> bool:
        return self.is_at_once or super()._takes_several_labels()

    def _request(self, hypotheses: HypothesisClass, records: int, features: int, public: int | None) -> Request:
        for name, allowed in (("vote", VOTES), ("shows", SHOWS)):
            if getattr(self, name) not in allowed:
                raise ParameterError(name, " or ".join(map(repr, allowed)), getattr(self, name))
        if self.types is not None and not self.is_at_once:
            raise ParameterError("types", "None where votes come first: give `public` rows or a `schema`", self.types)
        return super()._request(hypotheses, records, features, public)

    def _pins(self) -> Pins:
        return replace(super()._pins(), publish_share=self.publish_share)

    def _make_plan(self, request: Request, known: Known) -> UniversalPlan:  # noqa: ARG002
        return plan_universal(request, self.mode)

    def _start(self, hypotheses: HypothesisClass, given: Given, plan: UniversalPlan, entropy: Entropy) -> None:
        self._protocol = unv_priv_cl(hypotheses, given.records, given.public, plan.vote, plan.publish, entropy)

    def _resumed(self, kept: Kept, plan: UniversalPlan | ClassifierPlan, entropy: Entropy) -> PrivClass | UnvPrivCl:
        if isinstance(plan, ClassifierPlan):
            return super()._resumed(kept, plan, entropy)
        votes = self._resumed_votes(kept, plan, entropy, plan.publish.after_queries)
        records, public = (None, None) if kept.secret is None else for_publication(kept.secret)
        return UnvPrivCl(self.hypotheses_, votes, records, public, plan.publish, entropy)
