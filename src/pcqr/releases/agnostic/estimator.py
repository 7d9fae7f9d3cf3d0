from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from pcqr.hypotheses.base import HypothesisClass
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.releases.agnostic.planning import plan_agnostic, plan_direct
from pcqr.releases.agnostic.run import ag_priv_cl
from pcqr.releases.base.answering import RelabellingRelease
from pcqr.releases.base.contributions import ContributionBound, weighs_rows
from pcqr.releases.base.inputs import FitContext, FitInputs
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.noisy_max.run import noisy_max
from pcqr.releases.protocol.log import PrivLabel
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.plan import Pins, Vote
from pcqr.releases.subsample.plan import VotingPlan
from pcqr.releases.universal.plan import ClassifierPlan
from pcqr.releases.universal.run import answered_by_draw

if TYPE_CHECKING:
    pass


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
    queries_answered_, unstable_answers_, unstable_remaining_ : int
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

    def _bound(self, hypotheses: HypothesisClass) -> ContributionBound:
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

    def _make_plan(self, context: FitContext, request: Request) -> VotingPlan | ClassifierPlan:  # noqa: ARG002
        if request.hypotheses.is_fixed and self._is_free:
            return plan_direct(request)
        return plan_agnostic(request, self.mode, vote=self.vote)

    def _start(
        self, context: FitContext, inputs: FitInputs, plan: VotingPlan | ClassifierPlan, entropy: Entropy
    ) -> None:
        if isinstance(plan, ClassifierPlan):
            self._protocol = answered_by_draw(context.hypotheses, inputs.records, plan.draw, plan.queries, entropy)
            return
        labeller: PrivLabel
        if isinstance(plan.vote, NoisyMaxStage):
            labeller = noisy_max(context.hypotheses, inputs.records, plan.vote, entropy)
        else:
            labeller = ag_priv_cl(context.hypotheses, inputs.records, context.points, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)
