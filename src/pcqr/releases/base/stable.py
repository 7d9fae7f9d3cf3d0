from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from pcqr.data.schema.cells import weights
from pcqr.data.schema.labels import places_among
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.committees import Arrays
from pcqr.planner.request import Request
from pcqr.privacy.entropy import Entropy
from pcqr.releases.base.answering import Release
from pcqr.releases.base.fitting import P, PrivateEstimator
from pcqr.releases.base.inputs import FitContext, LabelArray, label_cells
from pcqr.releases.base.kept import V
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.noisy_max.run import NoisyVotes
from pcqr.releases.protocol.log import PrivLabel
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.plan import Mode
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.subsample.run import StableVotes
from pcqr.releases.universal.plan import ClassifierPlan
from pcqr.releases.universal.run import UnvPrivCl

if TYPE_CHECKING:
    from pcqr.durable.directory import Kept


@dataclass(eq=False, repr=False)
class StableRelease(Release[V]):
    """A release whose plan either tests whether a vote is stable, and says ⊥ where it is not, or adds noise to it."""

    _: KW_ONLY
    mode: Mode = "calibrated"
    on_unstable: str = "abstain"
    unstable: int | None = None
    sampling_rate: float | None = None

    def _request(self, context: FitContext) -> Request:
        if self.on_unstable not in ("abstain", "random"):
            raise ParameterError("on_unstable", "'abstain' or 'random'", self.on_unstable)
        return super()._request(context)

    def _labeller(self, arrays: Arrays, plan: V, entropy: Entropy) -> PrivLabel:
        vote: VoteStage | NoisyMaxStage = plan.vote  # type: ignore[attr-defined]
        if isinstance(vote, NoisyMaxStage):
            return NoisyVotes.from_arrays(arrays, vote, entropy)
        return StableVotes.from_arrays(arrays, vote, entropy)


@dataclass(eq=False, repr=False)
class RelabellingRelease(StableRelease[V]):
    """A release that may relabel records by a privately drawn member of H before its teachers learn from them."""

    _: KW_ONLY
    inverse_temperature: float | None = None

    two_labels_because: ClassVar[str | None] = "what relabelling costs is proved for two"

    def _resumed(self, kept: Kept, plan: V, entropy: Entropy) -> PrivClass | UnvPrivCl:
        if isinstance(plan, ClassifierPlan):
            votes = self._resumed_votes(kept, plan, entropy, plan.queries)
            return UnvPrivCl(self.hypotheses_, votes, None, None, None, entropy)
        return super()._resumed(kept, plan, entropy)


# ---------------------------------------------------------------------------------------------------------------------
# Estimators that publish one hypothesis at `fit`.


class PublishedEstimator(PrivateEstimator[P]):
    """Publishes one hypothesis at `fit`, and predicts by it from then on."""

    hypothesis_: Hypothesis

    @np.errstate(all="ignore")
    def predict(self, X: Any) -> LabelArray:
        """The published classifier on rows. Costs nothing, however often.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            As in `fit`.

        Returns
        -------
        ndarray of shape (rows,)
            Label names.

        Raises
        ------
        DataError
            When the rows cannot be read as those of `fit`.
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "plan_")
        return self.classes_[self.hypothesis_.predict(self._table(X, self.schema_))]

    @np.errstate(all="ignore")
    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> float:
        """Return the share of rows of `X` that `predict` gives the label in `y`. With private labels that is a release.

        Labels are compared by what they mean, as `fit` does, and no error quotes one.
        """
        check_is_fitted(self, "plan_")
        found = self.hypothesis_.predict(self._table(X, self.schema_))
        truth = places_among(self.classes_, label_cells(y))
        by_row = weights(sample_weight)
        check_consistent_length(found, truth, by_row)
        return float(np.average(found == truth, weights=by_row))
