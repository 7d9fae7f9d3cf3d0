"""Interactive answers behind the same face as our releases, to compare them with."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

from pcqr.errors import ParameterError
from pcqr.hypotheses.estimators import is_estimator
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.releases.base.inputs import FitContext, FitInputs
from pcqr.releases.confident.estimator import ConfidentMaxAggregate
from pcqr.releases.confident.plan import ConfidentMaxPlan
from pcqr.releases.interactive.plan import InteractiveMaxPlan
from pcqr.releases.interactive.planning import plan_interactive_max
from pcqr.releases.interactive.run import interactive_max
from pcqr.releases.noisy_max.dependent import NotReleasable
from pcqr.releases.protocol.online import PrivClass

if TYPE_CHECKING:
    from pcqr.durable.directory import Secret


PUBLIC_LEARNER = "the student's learner with its parameters"


@dataclass(eq=False, repr=False)
class InteractiveMaxAggregate(ConfidentMaxAggregate):
    """PATE's Interactive-GNMax [1]_: noisy majorities where a student of the answers so far is wrong.

    (ε, δ)-DP for all answers together, as for `ConfidentMaxAggregate`, and at the same price. While there is no
    student, it is the same. Then the check asks whether some label has `lead` votes more than the student expects,
    k·p(x): where it has, the teachers answer, and a label is paid for; else the student's own label is the answer, if
    it is sure enough of it, and costs only the check; else ⊥. The student learns from all labels that were answered,
    its own included, and is a function of them: `pcqr.transfer` trains the last one. It lives in memory alone.

    Parameters
    ----------
    hypotheses : HypothesisClass, scikit-learn classifier or None, default None
        H, the class of the teachers, as for `ConfidentMaxAggregate`.
    epsilon, delta, queries, alpha, beta, entropy, classes, account, teachers, most_labels : see ConfidentMaxAggregate
        As there.
    threshold, check_scale, answer_scale : see ConfidentMaxAggregate
        As there; the threshold is for queries before there is a student.
    student : scikit-learn classifier or None, default None
        What is cloned and trained, with `predict_proba`. It must not have been chosen, nor tuned, by the private
        records. None: `LogisticRegression()`.
    lead : int or None, default None
        T', in votes. None: seven tenths of k, as in the paper.
    confidence : float, default 0.9
        γ, the probability from which on the student's own label is an answer.
    refresh : int, default 20
        r: it is trained anew whenever so many more labels were answered.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is promised.
    plan_ : InteractiveMaxPlan
        What was decided from public numbers.
    classes_, hypotheses_, n_features_in_, n_records_, queries_answered_, unstable_answers_, labels_remaining_ : see
    there
        As for `ConfidentMaxAggregate`; `labels_remaining_` counts labels of the teachers.

    References
    ----------
    .. [1] N. Papernot, S. Song, I. Mironov, A. Raghunathan, K. Talwar, Ú. Erlingsson. Scalable private learning with
       PATE. ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import InteractiveMaxAggregate
    >>> from pcqr.hypotheses import Thresholds
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, size=(5_000, 1))
    >>> y = (X[:, 0] > 6).astype(int)
    >>> release = InteractiveMaxAggregate(Thresholds(), epsilon=4.0, queries=60, teachers=299, refresh=10, entropy=0)
    >>> release = release.fit(X, y)  # seeded: NOT PRIVATE
    >>> _ = release.predict(rng.uniform(0, 10, size=(60, 1)))
    >>> release.queries_answered_ - release.unstable_answers_ > 30 - release.labels_remaining_  # the student has spoken
    True
    """

    _: KW_ONLY
    student: Any = None
    lead: int | None = None
    confidence: float = 0.9
    refresh: int = 20

    def data_dependent_epsilon(self, delta: float | None = None) -> NotReleasable:  # noqa: ARG002
        """Not for interactive answers: what a check costs by the votes depends on the student of that moment."""
        raise ParameterError("release", "a ConfidentMaxAggregate or a NoisyMaxAggregate", type(self).__name__)

    def _learner(self) -> Any:
        learner = LogisticRegression() if self.student is None else self.student
        if not is_estimator(learner) or not is_classifier(learner) or not hasattr(learner, "predict_proba"):
            raise ParameterError("student", "a scikit-learn classifier with predict_proba", self.student)
        return learner

    def _request(self, context: FitContext) -> Request:
        self._learner()  # parameters are judged first
        return super()._request(context)

    def _prepare_class(self, context: FitContext) -> None:
        super()._prepare_class(context)
        context.assumptions += (PUBLIC_LEARNER,)

    def _make_plan(self, context: FitContext, request: Request) -> InteractiveMaxPlan:  # noqa: ARG002
        return plan_interactive_max(request, self._confident_pins(), self.lead, self.confidence, self.refresh)

    def _start(self, context: FitContext, inputs: FitInputs, plan: ConfidentMaxPlan, entropy: Entropy) -> None:
        if not isinstance(plan, InteractiveMaxPlan):
            raise ParameterError("plan", "an InteractiveMaxPlan", type(plan).__name__)
        labeller = interactive_max(context.hypotheses, inputs.records, plan.vote, plan.pupil, self._learner(), entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)

    def _secret(self) -> Secret | None:
        raise ParameterError(
            "release",
            "of a kind that can be saved: whoever opens it would have to train the student again, to the last bit",
            type(self).__name__,
        )
