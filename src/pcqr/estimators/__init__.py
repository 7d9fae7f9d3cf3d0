"""The scikit-learn face: `fit` on private records, `answer` or `predict`, `guarantee_`, `plan_`."""

from pcqr.estimators.frozen import fitted_on_public
from pcqr.estimators.given import AssumePublic
from pcqr.estimators.persons import Groups
from pcqr.estimators.private_classifier import PrivateClassifier
from pcqr.estimators.releases import AgnosticRelease, SubsampleAggregate, UniversalRelease
from pcqr.estimators.scoring import private_score
from pcqr.estimators.semi_private import SemiPrivateLearner

__all__ = [
    "AgnosticRelease",
    "AssumePublic",
    "Groups",
    "PrivateClassifier",
    "SemiPrivateLearner",
    "SubsampleAggregate",
    "UniversalRelease",
    "fitted_on_public",
    "private_score",
]
