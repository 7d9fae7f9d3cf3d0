"""Confident answers behind the same face as our releases, to compare them with."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import ClassVar

from pcqr.hypotheses.committees import Arrays
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.releases.base.answering import Release
from pcqr.releases.base.contributions import ContributionBound
from pcqr.releases.base.inputs import FitContext, FitInputs
from pcqr.releases.confident.plan import ConfidentMaxPlan
from pcqr.releases.confident.planning import ConfidentPins, plan_confident_max
from pcqr.releases.confident.run import ConfidentVotes, confident_max, confident_max_guarantee
from pcqr.releases.noisy_max.dependent import NotReleasable, confident_cost, dependent_epsilon
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.plan import Pins


@dataclass(eq=False, repr=False)
class ConfidentMaxAggregate(Release[ConfidentMaxPlan]):
    """PATE's Confident-GNMax [1]_: a noisy majority where the teachers agree, ⊥ where they do not.

    (ε, δ)-DP for all answers together, ⊥ included. A noisy check whether the most votes reach a threshold is paid for
    in every query, a label only where the check is passed. How many are depends on the votes; so the release halts, and
    raises `BudgetExhausted`, after m distinct queries or `most_labels` labels, whichever comes first, and both were
    charged at `fit`. Queries asked before are answered from the log. ⊥ is an `Answer` of kind "unstable" without a
    label; `predict` tosses a coin for it.

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
        m, how many queries may be asked.
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
    most_labels : int or None, default None
        The labels that may be given, at most m. None: half of m.
    threshold : int or None, default None
        T, in votes. None: four fifths of k.
    check_scale : float or None, default None
        σ₁, the noise of the check. None: 3.75·σ₂.
    answer_scale : float or None, default None
        σ₂, the noise on every count. None: the smallest that ε and δ allow.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is promised.
    plan_ : ConfidentMaxPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    hypotheses_ : HypothesisClass
        H as it was used.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_ : int
        n.
    queries_answered_, unstable_answers_ : int
        What has been asked, and how much of it got ⊥.
    labels_remaining_ : int
        How many labels may still be given.
    unstable_remaining_ : None
        ⊥ has no limit of its own.

    References
    ----------
    .. [1] N. Papernot, S. Song, I. Mironov, A. Raghunathan, K. Talwar, Ú. Erlingsson. Scalable private learning with
       PATE. ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import ConfidentMaxAggregate
    >>> from pcqr.hypotheses import Thresholds
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(5_000, 1))
    >>> y = (X[:, 0] > 6).astype(int)
    >>> release = ConfidentMaxAggregate(Thresholds(), epsilon=4.0, queries=20, teachers=299, threshold=200, entropy=0)
    >>> release.fit(X, y).answer([9.0]).label  # seeded: NOT PRIVATE
    1
    >>> print(release.preview([[1.0], [2.0]]).remaining)
    19 queries and 9 labels
    """

    _: KW_ONLY
    most_labels: int | None = None
    threshold: int | None = None
    check_scale: float | None = None
    answer_scale: float | None = None

    two_labels_because: ClassVar[str | None] = None
    takes_learners: ClassVar[bool] = True
    contribution_bound: ClassVar[ContributionBound] = "all rows"

    @property
    def labels_remaining_(self) -> int:
        """How many labels may still be given before the release is exhausted."""
        return self._votes.remaining.labels or 0

    def data_dependent_epsilon(self, delta: float | None = None) -> NotReleasable:
        """What was asked so far has cost by the votes that there were: a **private** figure (proofs/dependent.md).

        Computed from the votes, for the holder of the data alone. `guarantee_` does not depend on it.

        Parameters
        ----------
        delta : float or None, default None
            δ; None is that of the release.

        Returns
        -------
        NotReleasable
            Whose `reveal_to_data_holder()` is ε.
        """
        self._check_fitted()
        vote, chance = self.plan_.vote, self.delta if delta is None else delta

        def worst(asked: int) -> float:
            fewer = replace(vote, asked=asked, answered=min(asked, vote.answered))
            return confident_max_guarantee(fewer, chance).epsilon

        return dependent_epsilon(self._votes, partial(confident_cost, vote.noise), worst, chance)

    def _make_plan(self, context: FitContext, request: Request) -> ConfidentMaxPlan:  # noqa: ARG002
        return plan_confident_max(request, pins=self._confident_pins())

    def _confident_pins(self) -> ConfidentPins:
        return ConfidentPins(self.most_labels, self.threshold, self.check_scale, self.answer_scale, self.teachers)

    def _pins(self) -> Pins:
        return Pins()  # its own are ConfidentPins: votes may tie, so that k may be even

    def _start(self, context: FitContext, inputs: FitInputs, plan: ConfidentMaxPlan, entropy: Entropy) -> None:
        labeller = confident_max(context.hypotheses, inputs.records, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)

    def _labeller(self, arrays: Arrays, plan: ConfidentMaxPlan, entropy: Entropy) -> ConfidentVotes:
        return ConfidentVotes.from_arrays(arrays, plan.vote, entropy)
