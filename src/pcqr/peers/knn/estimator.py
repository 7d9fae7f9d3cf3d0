"""Nearest neighbours with a budget for each record, behind the same face as our releases."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from pcqr.algorithms.priv_class import PrivClass
from pcqr.alone import check_idle
from pcqr.entropy import Entropy
from pcqr.errors import CopyCannotAnswer, ParameterError
from pcqr.estimators.given import Given, Known
from pcqr.hypotheses.base import HypothesisClass
from pcqr.peers.knn.algorithm import IndividualVotes, individual_votes
from pcqr.peers.knn.near import NearRelease, shown_rows
from pcqr.peers.knn.plan import IndividualPlan
from pcqr.peers.knn.planning import plan_individual
from pcqr.peers.knn.surroundings import near_vectors
from pcqr.planning.request import Request
from pcqr.unit import PRESENCE, RECORD

if TYPE_CHECKING:
    from pcqr.release.durable.directory import Secret

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
    queries_answered_, unstable_answers_, unstable_left_ : int
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

    not_for_persons_because: ClassVar[str | None] = (
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

    def _assumed(self, known: Known) -> tuple[str, ...]:  # noqa: ARG002
        return (FORGOTTEN,)

    def _request(self, hypotheses: HypothesisClass, records: int, features: int, public: int | None) -> Request:
        if self.adjacency not in get_args(Adjacency):
            raise ParameterError("adjacency", "'replace' or 'remove'", self.adjacency)
        return super()._request(hypotheses, records, features, public)

    def _make_plan(self, request: Request, known: Known) -> IndividualPlan:  # noqa: ARG002
        unit = RECORD if self.adjacency == "replace" else PRESENCE
        return plan_individual(request, unit, self.neighbours, self.unanswered)

    def _start(self, hypotheses: HypothesisClass, given: Given, plan: IndividualPlan, entropy: Entropy) -> None:  # noqa: ARG002
        public = shown_rows(given)
        labeller = individual_votes(near_vectors(public), given.records, public, plan.vote, entropy)
        self._protocol = PrivClass(labeller, plan.queries, entropy)

    def _secret(self) -> Secret | None:
        raise ParameterError(
            "release",
            "of a kind that can be kept: what each record has spent would have to be kept with every answer, for which "
            "a ledger has no place",
            type(self).__name__,
        )
