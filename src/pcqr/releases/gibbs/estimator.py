"""Answers by fresh draws from a posterior, behind the same face as our releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from pcqr.durable.account import AccountLike
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.releases.base.answering import Release
from pcqr.releases.base.inputs import FitContext, FitInputs
from pcqr.releases.gibbs.plan import GibbsPlan
from pcqr.releases.gibbs.planning import plan_gibbs
from pcqr.releases.gibbs.run import gibbs_labels
from pcqr.releases.protocol.online import PrivClass

if TYPE_CHECKING:
    from pcqr.durable.directory import Secret


@dataclass(eq=False, repr=False)
class GibbsPrediction(Release[GibbsPlan]):
    """Gibbs prediction [1]_ [2]_: a label for a single query, or for a few, each drawn from the posterior of a class.

    For query x the label is h(x) of an h that is drawn for it: P(y) ∝ Σ over h with h(x) = y of e^{−η·mistakes(h)}.
    (ε, δ)-DP for m answers together, pure for one. Then `BudgetExhausted` is raised, while queries asked before are
    answered from the log.

    Without public points the members are the dichotomies of the private points and x, and each draw sees a secret
    sub-sample of the records. So it can predict where no classifier can be published: thresholds on the real line, for
    instance. With `public` points, or a class that is fixed, the draw itself could be published at the same price
    (`SemiPrivateLearner`), and a release that does so answers for ever: take that. The other single-query prediction
    of [1]_, by models on disjoint records, is `NoisyMaxAggregate(noise="exponential")`.

    Parameters
    ----------
    hypotheses : HypothesisClass or None, default None
        H: one of `pcqr.hypotheses` that can be drawn from. None is `Stumps()`.
    epsilon : float, default 1.0
        ε, the whole of the privacy loss, charged at `fit`: it covers every answer ever given.
    delta : float, default 1e-6
        δ of the same promise. One answer is pure.
    queries : int, default 1
        m, the answers that are paid for. Each further one makes all of them worse.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, negative first. None: 0 and 1; other names are then read from y, and `guarantee_.assumptions`
        says that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is promised.
    plan_ : GibbsPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    hypotheses_ : HypothesisClass
        H as it was used.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_ : int
        n.
    queries_answered_, unstable_answers_, unstable_remaining_ : int or None
        What has been asked; no answer is ever unstable.

    References
    ----------
    .. [1] C. Dwork, V. Feldman. Privacy-preserving prediction. COLT 2018.
    .. [2] Y. Dagan, V. Feldman. PAC learning with stable and private predictions. COLT 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import GibbsPrediction
    >>> from pcqr.hypotheses import Thresholds
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(5_000, 1))
    >>> y = (X[:, 0] > 6).astype(int)
    >>> release = GibbsPrediction(Thresholds(), epsilon=0.5, entropy=0).fit(X, y)  # seeded: NOT PRIVATE
    >>> release.answer([9.0]).label
    1
    >>> release.guarantee_.is_pure, release.answer([9.0]).kind
    (True, 'repeated')
    """

    hypotheses: HypothesisClass | None = None
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-6
    queries: int = 1
    alpha: float = field(init=False, default=0.1)
    beta: float = field(init=False, default=0.05)
    entropy: Entropy | int | None = None
    classes: Sequence[Any] | None = None
    account: AccountLike | None = None
    teachers: None = field(init=False, default=None)

    two_labels_because: ClassVar[str | None] = None

    def _make_plan(self, context: FitContext, request: Request) -> GibbsPlan:  # noqa: ARG002
        return plan_gibbs(request)

    def _start(self, context: FitContext, inputs: FitInputs, plan: GibbsPlan, entropy: Entropy) -> None:
        labeller = gibbs_labels(context.hypotheses, inputs.records, context.points, plan.draws, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)

    def _secret(self) -> Secret | None:
        raise ParameterError(
            "release",
            "of a kind that can be saved: every answer is drawn from the private records themselves, which a directory "
            "would have to hold",
            type(self).__name__,
        )
