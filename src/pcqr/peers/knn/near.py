"""What releases by near records share: nothing is learned, any number of labels, public rows that say what is near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.estimators.answering import Release
from pcqr.estimators.given import Given, Known
from pcqr.estimators.kept import V
from pcqr.hypotheses.base import MOST_LABELS, HypothesisClass, Points
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.plan import Aim, Budget
from pcqr.planning.request import Request
from pcqr.release.account import AccountLike

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

    def _class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:  # noqa: ARG002
        names = () if self.classes is None or isinstance(self.classes, str) else tuple(self.classes)
        # For its checks of points and labels: nothing is learned. Names that mean nothing are refused with the data.
        return DecisionTrees().with_labels(len(names)) if 2 <= len(names) <= MOST_LABELS else DecisionTrees()

    def _prepared(self, hypotheses: HypothesisClass, known: Known) -> HypothesisClass:
        if known.points is None:
            raise ParameterError("public", _WHAT_IS_NEAR, None)
        return hypotheses

    def _request(self, hypotheses: HypothesisClass, records: int, features: int, public: int | None) -> Request:
        return Request(
            records=records,
            features=features,
            hypotheses=hypotheses,
            budget=Budget(self.epsilon, self.delta),
            aim=Aim(self.queries, self.alpha, self.beta),
            public=public,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


def shown_rows(given: Given) -> Points:
    """The public rows."""
    if given.known.points is None:
        raise ParameterError("public", _WHAT_IS_NEAR, None)
    return given.known.points
