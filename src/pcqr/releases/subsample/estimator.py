from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar

from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.releases.base.answering import StableRelease
from pcqr.releases.base.contributions import ContributionBound
from pcqr.releases.base.inputs import FitContext, FitInputs
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.noisy_max.run import noisy_max
from pcqr.releases.protocol.log import PrivLabel
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.plan import Vote
from pcqr.releases.subsample.plan import VotingPlan
from pcqr.releases.subsample.planning import plan_subsample
from pcqr.releases.subsample.run import sub_samp

if TYPE_CHECKING:
    pass


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
    queries_answered_, unstable_answers_, unstable_remaining_ : int
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
    >>> tested.plan_.vote.teachers, tested.unstable_remaining_
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
    contribution_bound: ClassVar[ContributionBound] = "all rows"

    def _make_plan(self, context: FitContext, request: Request) -> VotingPlan:  # noqa: ARG002
        return plan_subsample(request, self.mode, self.vote)

    def _start(self, context: FitContext, inputs: FitInputs, plan: VotingPlan, entropy: Entropy) -> None:
        labeller: PrivLabel
        if isinstance(plan.vote, NoisyMaxStage):
            labeller = noisy_max(context.hypotheses, inputs.records, plan.vote, entropy)
        else:
            labeller = sub_samp(context.hypotheses, inputs.records, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)
