"""What releases by near records share: nothing is learned, any number of labels, public rows that say what is near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from pcqr.checks import check_idle
from pcqr.durable.account import AccountLike
from pcqr.errors import CopyCannotAnswer, ParameterError
from pcqr.hypotheses.base import MOST_LABELS, HypothesisClass
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.unit import PRESENCE, RECORD
from pcqr.releases.base.answering import Release
from pcqr.releases.base.inputs import FitContext, FitInputs
from pcqr.releases.base.kept import V
from pcqr.releases.knn.plan import IndividualPlan
from pcqr.releases.knn.planning import plan_individual
from pcqr.releases.knn.run import IndividualVotes, individual_votes, near_vectors
from pcqr.releases.knn.sampled import SampledPlan, plan_sampled, sampled_votes
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.plan import Aim, Budget

if TYPE_CHECKING:
    from pcqr.durable.directory import Secret


_WHAT_IS_NEAR = "public rows, which say what is near"


@dataclass(eq=False, repr=False)
class NearRelease(Release[V]):
    """A release by near records. What other releases are told about teachers and accuracy is no parameter here."""

    hypotheses: None = field(init=False, default=None)
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-6
    queries: int = 300
    alpha: float = field(init=False, default=0.1)
    beta: float = field(init=False, default=0.05)
    entropy: Entropy | int | None = None
    classes: Sequence[Any] | None = None
    account: AccountLike | None = None
    teachers: None = field(init=False, default=None)

    def _default_class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:  # noqa: ARG002
        names = () if self.classes is None or isinstance(self.classes, str) else tuple(self.classes)
        # For its checks of points and labels: nothing is learned. Names that mean nothing are refused with the data.
        return DecisionTrees().with_labels(len(names)) if 2 <= len(names) <= MOST_LABELS else DecisionTrees()

    def _prepare_class(self, context: FitContext) -> None:
        context.public_rows(_WHAT_IS_NEAR)

    def _request(self, context: FitContext) -> Request:
        return context.request(Budget(self.epsilon, self.delta), Aim(self.queries, self.alpha, self.beta))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


# ---------------------------------------------------------------------------------------------------------------------
# Nearest neighbours with a budget for each record, behind the same face as our releases.


Adjacency = Literal["replace", "remove"]
FORGOTTEN = "which records are forgotten, and when"


@dataclass(eq=False, repr=False)
class IndividualKNN(NearRelease[IndividualPlan]):
    """Votes of near records, each with a budget of its own (Ind-kNN [1]_ [2]_); for dense features and many classes.

    A record that is near a query votes for its label, the nearer the heavier. It pays for exactly what it adds, and is
    left out of what it cannot pay for. So regions that nobody asks about keep their budgets. Two noises a query: on the
    number of neighbours, and on the votes. Where too few neighbours seem to be left the answer is ⊥; after `unanswered`
    of these, or 16·m queries, it halts. How many records have anything left is never shown.

    **Adjacency.** By default the guarantee is for *replace one record*, as everywhere in pcqr. The papers state theirs
    for *remove or add one record*, which promises less: `adjacency="remove"` does so too, with less noise, and says so
    in `guarantee_`. Such a guarantee does not combine with others.

    Distances are taken in a public space: columns in standard units by the `public` rows, and through their principal
    directions if there are many. `public` rows are needed. They also say what is near: all that is at least as near as
    the k-th nearest public row.

    Parameters
    ----------
    epsilon : float, default 1.0
        ε, the whole of the privacy loss, charged at `fit`: it covers every answer ever given.
    delta : float, default 1e-6
        δ of the same promise.
    queries : int, default 300
        m, how many queries to plan for. More may be asked: by then some records have nothing left.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, in order, two or more. None: 0 and 1; other names are then read from y, and
        `guarantee_.assumptions` says that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.
    adjacency : {"replace", "remove"}, default "replace"
        What the guarantee is about. An account of records refuses "remove".
    neighbours : int or None, default None
        About how many records vote on a query. None lets the planner choose.
    unanswered : int or None, default None
        How often the answer may be ⊥ before it halts. None: m.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is promised.
    plan_ : IndividualPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_ : int
        n, forgotten ones included.
    queries_answered_, unstable_answers_, unstable_remaining_ : int
        What has been asked, how much of it got ⊥, and how many ⊥ are left.

    References
    ----------
    .. [1] Y. Zhu, X. Zhao, C. Guo, Y.-X. Wang. "Private prediction strikes back!" Private kernelized nearest neighbors
       with individual Rényi filter. UAI 2023.
    .. [2] V. Feldman, T. Zrnic. Individual privacy accounting via a Rényi filter. NeurIPS 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import IndividualKNN
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, size=20_000)
    >>> X = rng.normal(size=(20_000, 2)) + 4.0 * np.eye(3)[y][:, :2]
    >>> public = rng.normal(size=(2_000, 2)) + 4.0 * np.eye(3)[rng.integers(0, 3, size=2_000)][:, :2]
    >>> release = IndividualKNN(queries=50, classes=(0, 1, 2), entropy=0).fit(X, y, public=public)  # NOT PRIVATE
    >>> release.predict([[4.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    array([0, 1, 2])
    >>> release.forget([17, 18])
    >>> release.answer([4.0, 0.5]).label
    0
    """

    no_groups_because: ClassVar[str | None] = (
        "near rows have budgets of their own, and a person none yet; PrivateKNN takes groups"
    )

    _: KW_ONLY
    adjacency: Adjacency = "replace"
    neighbours: int | None = None
    unanswered: int | None = None

    def forget(self, positions: ArrayLike) -> None:
        """Leave records out of all later answers, and overwrite what is kept of them here. Costs nothing.

        Earlier answers stay as they are, and so do those of queries that are asked again: (ε, δ) was promised for
        these. The budgets of others do not change. Nothing tells whether a record still took part. *Which* records are
        forgotten is treated as public. Your own copy of the table is your own affair.

        Parameters
        ----------
        positions : int or array-like of int
            Rows of the table that `fit` got, from 0 on. One that was forgotten before may be named again.

        Raises
        ------
        ParameterError
            When a position is none of 0, …, n − 1.
        CopyCannotAnswer
            In a copy, which has no records.
        """
        self._check_fitted()
        rows = np.atleast_1d(np.asarray(positions))
        if rows.size == 0:
            return
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= self.n_records_:
            raise ParameterError("positions", f"integers from 0 to {self.n_records_ - 1}", "others")
        votes = self._votes
        with votes.guarded():
            check_idle(votes)
            if not isinstance(votes.labeller, IndividualVotes) or not votes.log.is_original:
                raise CopyCannotAnswer
            votes.labeller.forget(rows.astype(np.int64))

    def _prepare_class(self, context: FitContext) -> None:
        super()._prepare_class(context)
        context.assumptions += (FORGOTTEN,)

    def _request(self, context: FitContext) -> Request:
        if self.adjacency not in get_args(Adjacency):
            raise ParameterError("adjacency", "'replace' or 'remove'", self.adjacency)
        return super()._request(context)

    def _make_plan(self, context: FitContext, request: Request) -> IndividualPlan:  # noqa: ARG002
        unit = RECORD if self.adjacency == "replace" else PRESENCE
        return plan_individual(request, unit, self.neighbours, self.unanswered)

    def _start(self, context: FitContext, inputs: FitInputs, plan: IndividualPlan, entropy: Entropy) -> None:
        public = context.public_rows(_WHAT_IS_NEAR)
        labeller = individual_votes(near_vectors(public), inputs.records, public, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)

    def _secret(self) -> Secret | None:
        raise ParameterError(
            "release",
            "of a kind that can be saved: what each record has spent would have to be kept with every answer, for "
            "which a ledger has no place",
            type(self).__name__,
        )


# ---------------------------------------------------------------------------------------------------------------------
# The k nearest of a secret sample, behind the same face as our releases.


@dataclass(eq=False, repr=False)
class PrivateKNN(NearRelease[SampledPlan]):
    """The k nearest records of a secret sample vote (Private-kNN [1]_): every query gets a label, each is paid for.

    (ε, δ)-DP for m answers together, under *replace one record*. A new sample for every query. After m distinct
    queries `BudgetExhausted` is raised, while queries asked before are answered from the log. Distances are taken in
    the public space of `IndividualKNN`, which answers more queries by nearer records: this one is its yardstick.

    Parameters
    ----------
    epsilon : float, default 1.0
        ε, the whole of the privacy loss, charged at `fit`: it covers every answer ever given.
    delta : float, default 1e-6
        δ of the same promise.
    queries : int, default 300
        m. After m distinct ones it halts. Noise grows like √m.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, in order, two or more. None: 0 and 1; other names are then read from y, and
        `guarantee_.assumptions` says that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.
    neighbours : int or None, default None
        k. None lets the planner choose.
    rate : float or None, default None
        q, the chance that a record is in the sample of a query. None lets the planner choose.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is promised.
    plan_ : SampledPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_ : int
        n.
    queries_answered_ : int
        What has been asked.

    References
    ----------
    .. [1] Y. Zhu, X. Yu, M. Chandraker, Y.-X. Wang. Private-kNN: practical differential privacy for computer vision.
       CVPR 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import PrivateKNN
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, size=20_000)
    >>> X = rng.normal(size=(20_000, 2)) + 4.0 * np.eye(3)[y][:, :2]
    >>> public = rng.normal(size=(2_000, 2)) + 4.0 * np.eye(3)[rng.integers(0, 3, size=2_000)][:, :2]
    >>> release = PrivateKNN(queries=20, classes=(0, 1, 2), entropy=0).fit(X, y, public=public)  # NOT PRIVATE
    >>> release.predict([[4.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    array([0, 1, 2])
    """

    _: KW_ONLY
    neighbours: int | None = None
    rate: float | None = None

    def _make_plan(self, context: FitContext, request: Request) -> SampledPlan:  # noqa: ARG002
        return plan_sampled(request, self.neighbours, self.rate)

    def _start(self, context: FitContext, inputs: FitInputs, plan: SampledPlan, entropy: Entropy) -> None:
        labeller = sampled_votes(near_vectors(context.public_rows(_WHAT_IS_NEAR)), inputs.records, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)
