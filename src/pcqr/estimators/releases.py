"""The papers' releases: fit once on private records, then answer query by query, until the budget ends or for ever."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from pcqr.algorithms.ag_priv_cl import ag_priv_cl
from pcqr.algorithms.priv_class import PrivClass
from pcqr.algorithms.sub_samp import sub_samp
from pcqr.algorithms.unv_priv_cl import UnvPrivCl
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.estimators.answering import Release, V
from pcqr.estimators.base import Records
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Points
from pcqr.plan import Answer, Mode, Pins, UniversalPlan, VotingPlan
from pcqr.planning import Request, plan_agnostic, plan_subsample, plan_universal


@dataclass(eq=False, repr=False)
class StableRelease(Release[V]):
    """Releases that test whether a vote is stable, and say ⊥ where it is not. Parameters as for `Release`, and

    Parameters
    ----------
    queries : calibrated mode goes on past it (no privacy figure depends on m) until the unstable answers are used up;
        paper mode stops there.
    mode : "calibrated", or "paper" for the paper's constants with their corrections.
    on_unstable : "abstain" (label None) or "random" (a coin) for a query on which the teachers disagree.
    unstable, sampling_rate, inverse_temperature : T, q and η; None lets the planner choose them.
    """

    _: KW_ONLY
    mode: Mode = "calibrated"
    on_unstable: str = "abstain"
    unstable: int | None = None
    sampling_rate: float | None = None
    inverse_temperature: float | None = None

    def _shown(self, answer: Answer[int], point: Points) -> Answer[Any]:
        if answer.label is None and self.on_unstable == "random":
            answer = Answer(self._coin(point), answer.kind, answer.spent, answer.remaining, answer.beyond_plan)
        return self._named(answer)

    def _request(self, hypotheses: HypothesisClass, records: int, features: int, public: int | None) -> Request:
        if self.on_unstable not in ("abstain", "random"):
            raise ParameterError("on_unstable", "'abstain' or 'random'", self.on_unstable)
        return super()._request(hypotheses, records, features, public)

    def _pins(self) -> Pins:
        return replace(
            super()._pins(),
            unstable=self.unstable,
            sampling_rate=self.sampling_rate,
            inverse_temperature=self.inverse_temperature,
        )


class SubsampleAggregate(StableRelease[VotingPlan]):
    """SubSamp (Bassily, Thakkar, Thakurta 2018): plain teachers, stable votes. (ε, δ)-DP; accuracy α + 3γ."""

    def _make_plan(self, request: Request) -> VotingPlan:
        return plan_subsample(request, self.mode)

    def _start(self, hypotheses: HypothesisClass, records: Records, plan: VotingPlan, entropy: Entropy) -> None:
        labeller = sub_samp(hypotheses, records.X, records.y, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)


class AgnosticRelease(StableRelease[VotingPlan]):
    """AgPrivCl (Nandi, Bassily 2020): records relabelled by a privately drawn ĥ ∈ H, then stable votes.

    (ε, δ)-DP for all answers together, adaptively chosen queries included; average error at most γ + α with
    probability 1 − β where `plan_.certified` is True, γ the best error in H.
    """

    def _make_plan(self, request: Request) -> VotingPlan:
        return plan_agnostic(request, self.mode)

    def _start(self, hypotheses: HypothesisClass, records: Records, plan: VotingPlan, entropy: Entropy) -> None:
        labeller = ag_priv_cl(hypotheses, records.X, records.y, records.public, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)


@dataclass(eq=False, repr=False)
class UniversalRelease(StableRelease[UniversalPlan]):
    """UnvPrivCl (Nandi, Bassily 2020): votes for the first queries, then a published classifier for ever.

    `publish_share` is the share of ε that the published classifier gets; None lets the planner choose. Publication
    comes after `plan_.publish.after_queries` distinct queries or when the unstable answers are used up; until then
    the estimator holds the private records. `hypothesis_` is the published classifier, free to be shown.
    """

    _: KW_ONLY
    publish_share: float | None = None

    _universal: UnvPrivCl = field(init=False)

    @property
    def is_published_(self) -> bool:
        check_is_fitted(self, "plan_")
        return self._universal.published is not None

    @property
    def hypothesis_(self) -> Hypothesis:
        """The published classifier (labels 0 and 1). AttributeError before publication."""
        check_is_fitted(self, "plan_")
        published = self._universal.published
        if published is None:
            raise AttributeError("hypothesis_ exists once the release has published; see is_published_.")
        return published

    def _pins(self) -> Pins:
        return replace(super()._pins(), publish_share=self.publish_share)

    def _make_plan(self, request: Request) -> UniversalPlan:
        return plan_universal(request, self.mode)

    def _start(self, hypotheses: HypothesisClass, records: Records, plan: UniversalPlan, entropy: Entropy) -> None:
        self._protocol = self._universal = UnvPrivCl(
            hypotheses, records.X, records.y, records.public, plan.vote, plan.publish, entropy
        )
