"""The per-query noisy majority behind the same face as our releases, to compare them with."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import ClassVar

from pcqr.checks import check_integer
from pcqr.errors import ParameterError
from pcqr.hypotheses.committees import Arrays
from pcqr.mechanisms.noisy_max import GaussianMax, NoisyMax
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.releases.base.answering import Release
from pcqr.releases.base.contributions import ContributionBound
from pcqr.releases.base.inputs import FitContext, FitInputs
from pcqr.releases.noisy_max.dependent import NotReleasable, dependent_epsilon, gaussian_cost
from pcqr.releases.noisy_max.plan import NoisyMaxPlan
from pcqr.releases.noisy_max.planning import plan_noisy_max
from pcqr.releases.noisy_max.run import NoisyVotes, noisy_max, noisy_max_guarantee
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.plan import Pins


@dataclass(eq=False, repr=False)
class NoisyMaxAggregate(Release[NoisyMaxPlan]):
    """Noisy majorities of teachers [1]_ [2]_ [3]_: every query gets a label, and every label is paid for.

    (ε, δ)-DP for m answers together. After m distinct queries `BudgetExhausted` is raised, while queries asked before
    are answered from the log. `plan_.vote.noise` is discrete Gaussian noise on the counts of votes or an exponential
    mechanism, whichever the planner expects to err less, unless `noise` says which. In an `Answer` the kind "stable"
    says no more than that the label is a vote's; `unstable_remaining_` is None.

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
        m, how many queries to plan for. After m distinct ones it halts. Noise grows like √m.
    alpha : float, default 0.1
        α, kept in `plan_`; no accuracy is certified for this release.
    beta : float, default 0.05
        β, kept in `plan_`.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, negative first. None: 0 and 1; other names are then read from y, and `guarantee_.assumptions`
        says that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.
    teachers : int or None, default None
        k. It may be even. None lets the planner choose it.
    noise : {"gaussian", "exponential", "laplace"}, GaussianMax, ExponentialMax, LaplaceMax or None, default None
        The form of the noise: PATE's GNMax, that of Dwork and Feldman, PATE's LNMax; the planner finds its scale. Or
        the noise itself (`pcqr.mechanisms.noisy_max`), refused where ε and δ do not allow it. None: the planner
        chooses.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is promised.
    plan_ : NoisyMaxPlan
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
        What has been asked, how much of it was unstable, and how many unstable answers are left.

    References
    ----------
    .. [1] N. Papernot, M. Abadi, Ú. Erlingsson, I. Goodfellow, K. Talwar. Semi-supervised knowledge transfer for deep
       learning from private training data. ICLR 2017.
    .. [2] N. Papernot, S. Song, I. Mironov, A. Raghunathan, K. Talwar, Ú. Erlingsson. Scalable private learning with
       PATE. ICLR 2018.
    .. [3] C. Dwork, V. Feldman. Privacy-preserving prediction. COLT 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import NoisyMaxAggregate
    >>> from pcqr.hypotheses import Thresholds
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(5_000, 1))
    >>> y = (X[:, 0] > 6).astype(int)
    >>> release = NoisyMaxAggregate(Thresholds(), queries=20, entropy=0).fit(X, y)  # seeded: NOT PRIVATE
    >>> release.predict([[1.0], [9.0]])
    array([0, 1])
    >>> release.answer([8.0]).remaining
    Usage(queries=17, unstable=None)
    """

    _: KW_ONLY
    noise: str | NoisyMax | None = None

    two_labels_because: ClassVar[str | None] = None
    takes_learners: ClassVar[bool] = True
    contribution_bound: ClassVar[ContributionBound] = "all rows"

    def data_dependent_epsilon(self, delta: float | None = None) -> NotReleasable:
        """What was asked so far has cost by the votes that there were: a **private** figure (proofs/dependent.md).

        Computed from the votes, for the holder of the data alone, where noise is Gaussian. `guarantee_` does not depend
        on it.

        Parameters
        ----------
        delta : float or None, default None
            δ; None is that of the release.

        Returns
        -------
        NotReleasable
            Whose `reveal_to_data_holder()` is ε.

        Raises
        ------
        ParameterError
            When the noise is not Gaussian.
        """
        self._check_fitted()
        vote, chance = self.plan_.vote, self.delta if delta is None else delta
        if not isinstance(vote.noise, GaussianMax):
            raise ParameterError("noise", "Gaussian, for a figure that depends on the votes", vote.noise)

        def worst(asked: int) -> float:
            return noisy_max_guarantee(replace(vote, queries=asked), chance).epsilon

        return dependent_epsilon(self._votes, partial(gaussian_cost, vote.noise), worst, chance)

    def _make_plan(self, context: FitContext, request: Request) -> NoisyMaxPlan:  # noqa: ARG002
        return plan_noisy_max(request, noise=self.noise, teachers=self.teachers)

    def _pins(self) -> Pins:
        if self.teachers is not None:
            check_integer("teachers", self.teachers, least=1)
        return Pins()  # votes may tie, so that k may be even

    def _start(self, context: FitContext, inputs: FitInputs, plan: NoisyMaxPlan, entropy: Entropy) -> None:
        labeller = noisy_max(context.hypotheses, inputs.records, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)

    def _labeller(self, arrays: Arrays, plan: NoisyMaxPlan, entropy: Entropy) -> NoisyVotes:
        return NoisyVotes.from_arrays(arrays, plan.vote, entropy)
