"""A published student of soft votes behind the same face as our classifiers, to compare them with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pcqr.checks import check_delta
from pcqr.data.records.feature_map import FeatureMap
from pcqr.durable.account import AccountLike
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.growth import LogisticTeachers
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.mechanisms.exponential import PUBLIC_POINTS
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.releases.base.contributions import ContributionBound
from pcqr.releases.base.fitting import PublishedEstimator
from pcqr.releases.base.inputs import FitContext, FitInputs, PublicInfo
from pcqr.releases.classifier.feature_maps import dense_features, is_dense, linear_predicates, make_feature_map
from pcqr.releases.classifier.rule import rarest_for, recipe_for
from pcqr.releases.multiparty.plan import PartiesPlan
from pcqr.releases.multiparty.planning import PartiesPins, plan_parties
from pcqr.releases.multiparty.run import published_student, unit_vectors
from pcqr.releases.protocol.plan import Budget

_VOTED_ON = "public rows, which the parties vote on"


@dataclass(eq=False, repr=False)
class MultipartyClassifier(PublishedEstimator[PartiesPlan]):
    """Soft votes of parties, and a student of them that is published [1]_: (ε, δ)-DP as a whole.

    The records are dealt out to P parties at random. A teacher learns from each party's records, all of them vote on
    the public rows, and a linear student with weights w learns from the shares v_i of the votes: it minimises

        mean over public rows i of  ln(1 + e^{w·φ_i}) − v_i·w·φ_i,   plus (λ/2)·‖w‖²,        ‖φ_i‖ ≤ 1,

    for more than two labels the same with softmax. One replaced record moves w by at most √g/(λP), g the largest
    eigenvalue of the mean of φφᵀ, so Gaussian noise on w makes it private: publish it, apply it for ever.
    The paper has 2/(λP), for any loss. φ is a feature map of the public rows, as linear classifiers have it
    (`PrivateClassifier`).

    Parameters
    ----------
    hypotheses : HypothesisClass, scikit-learn classifier or None, default None
        The class of the teachers: one of `pcqr.hypotheses`, or any classifier, of which every teacher is a clone. None
        is `LogisticTeachers()`.
    epsilon : float, default 1.0
        ε, the whole of the privacy loss, charged at `fit`.
    delta : float, default 1e-6
        δ of the same promise.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, negative first. None: 0 and 1; other names are then read from y, and `guarantee_.assumptions`
        says that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.
    parties : int or None, default None
        P. None: about 7·n^⅓/√μ, μ the Gaussian-DP parameter that ε and δ allow (`pcqr.releases.multiparty.planning`).
    penalty : float or None, default None
        λ. None: so large that a margin has noise of a tenth.

    Attributes
    ----------
    hypothesis_ : LinearClassifier
        The published student, free to be shown; `pcqr.models.PublishedModel.from_learner` makes files of it.
    guarantee_ : Guarantee
        What is promised.
    plan_ : PartiesPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    hypotheses_ : HypothesisClass
        The class of the teachers as it was used.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_, n_public_ : int
        n, and the number of public rows.

    See Also
    --------
    PrivateClassifier : learns from the records themselves, and needs no teachers.
    transfer : a student of answers that were released one by one.

    References
    ----------
    .. [1] J. Hamm, Y. Cao, M. Belkin. Learning privately from multiparty data. ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import MultipartyClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, public = rng.normal(size=(5_000, 2)), rng.normal(size=(200, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> classifier = MultipartyClassifier(epsilon=1.0, entropy=0).fit(X, y, public=public)  # seeded: NOT PRIVATE
    >>> classifier.predict([[2.0, 0.0], [-2.0, 0.0]])
    array([1, 0])
    >>> classifier.plan_.student.parties, classifier.guarantee_.within(1.0, 1e-6)
    (246, True)
    """

    hypotheses: HypothesisClass | None = None
    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    entropy: Entropy | int | None = None
    classes: Sequence[Any] | None = None
    account: AccountLike | None = None
    parties: int | None = None
    penalty: float | None = None

    takes_learners: ClassVar[bool] = True
    contribution_bound: ClassVar[ContributionBound] = "all rows"

    @np.errstate(all="ignore")
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """How far, and to which side, each row of `X` is from the boundary: positive for the second class.

        With more than two classes one column for each, and the largest decides.
        """
        check_is_fitted(self, "plan_")
        if not isinstance(self.hypothesis_, LinearClassifier):
            raise AssertionError("A student is a linear classifier.")
        return self.hypothesis_.decision_function(self._table(X, self.schema_))

    def _default_class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:  # noqa: ARG002
        return LogisticTeachers()

    def _takes_several_labels(self) -> bool:
        return True

    def _request(self, context: FitContext) -> Request:
        check_delta(self.delta)  # Gaussian noise is not pure
        PartiesPins(self.parties, self.penalty)
        return context.request(Budget(self.epsilon, self.delta))

    def _prepare_class(self, context: FitContext) -> None:
        context.public_rows(_VOTED_ON)
        super()._prepare_class(context)
        context.assumptions += (PUBLIC_POINTS,)

    def _make_plan(self, context: FitContext, request: Request) -> PartiesPlan:
        features = _map_of(context.public, self.epsilon)
        context.public = replace(context.public, maps={"plain": features})
        pins = PartiesPins(self.parties, self.penalty)
        return plan_parties(request, unit_vectors(features, context.public_rows(_VOTED_ON)), pins)

    def _start(self, context: FitContext, inputs: FitInputs, plan: PartiesPlan, entropy: Entropy) -> None:
        features, points = context.public.maps["plain"], context.public_rows(_VOTED_ON)
        self.hypothesis_ = published_student(
            context.hypotheses, features, inputs.records, points, plan.student, entropy
        )


def _map_of(public: PublicInfo, epsilon: float) -> FeatureMap:
    """The feature map of a linear classifier without ferns, by what is public."""
    if is_dense(public.features, public.schema, public.points):
        return dense_features(public.features, public.points, public.schema)
    recipe = recipe_for("plain", public.records, epsilon)
    predicates = linear_predicates(rarest_for(public.records, epsilon), public.records, public.points, public.schema)
    return make_feature_map(recipe, predicates, public.features, public.points, public.schema)
