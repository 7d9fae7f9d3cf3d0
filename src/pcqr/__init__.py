"""Private classification-query release.

A data holder has labelled records that must stay private; others ask for the label of an x. The releases here answer
one query at a time so that the whole run is (ε, δ)-differentially private, and publish a classifier after enough of
them. Names are loaded when first used, so that importing `pcqr` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pcqr.client import connect
    from pcqr.data.schema import Schema
    from pcqr.errors import (
        BudgetExhausted,
        CopyCannotAnswer,
        DataError,
        InfeasiblePlan,
        ParameterError,
        PcqrError,
        UnansweredWarning,
        WeakGuarantee,
    )
    from pcqr.models.scoring import private_score
    from pcqr.privacy.entropy import SeededEntropy, SystemEntropy
    from pcqr.privacy.guarantee import Guarantee
    from pcqr.releases.agnostic.estimator import AgnosticRelease
    from pcqr.releases.base.contributions import Groups
    from pcqr.releases.base.inputs import AssumePublic
    from pcqr.releases.base.kept import fitted_on_public
    from pcqr.releases.classifier.estimator import PrivateClassifier
    from pcqr.releases.confident.estimator import ConfidentMaxAggregate
    from pcqr.releases.gibbs.estimator import GibbsPrediction
    from pcqr.releases.interactive.estimator import InteractiveMaxAggregate
    from pcqr.releases.knn.estimator import IndividualKNN, PrivateKNN
    from pcqr.releases.multiparty.estimator import MultipartyClassifier
    from pcqr.releases.noisy_max.estimator import NoisyMaxAggregate
    from pcqr.releases.protocol.answers import Answer
    from pcqr.releases.protocol.plan import Plan
    from pcqr.releases.semi_private.estimator import SemiPrivateLearner
    from pcqr.releases.subsample.estimator import SubsampleAggregate
    from pcqr.releases.transfer import Student, transfer
    from pcqr.releases.universal.estimator import UniversalRelease

__version__ = "0.1.0"

_HOME = {
    "AgnosticRelease": "pcqr.releases.agnostic.estimator",
    "Answer": "pcqr.releases.protocol.answers",
    "AssumePublic": "pcqr.releases.base.inputs",
    "BudgetExhausted": "pcqr.errors",
    "ConfidentMaxAggregate": "pcqr.releases.confident.estimator",
    "CopyCannotAnswer": "pcqr.errors",
    "DataError": "pcqr.errors",
    "GibbsPrediction": "pcqr.releases.gibbs.estimator",
    "Groups": "pcqr.releases.base.contributions",
    "Guarantee": "pcqr.privacy.guarantee",
    "IndividualKNN": "pcqr.releases.knn.estimator",
    "InfeasiblePlan": "pcqr.errors",
    "InteractiveMaxAggregate": "pcqr.releases.interactive.estimator",
    "MultipartyClassifier": "pcqr.releases.multiparty.estimator",
    "NoisyMaxAggregate": "pcqr.releases.noisy_max.estimator",
    "ParameterError": "pcqr.errors",
    "PcqrError": "pcqr.errors",
    "Plan": "pcqr.releases.protocol.plan",
    "PrivateClassifier": "pcqr.releases.classifier.estimator",
    "PrivateKNN": "pcqr.releases.knn.estimator",
    "Schema": "pcqr.data.schema",
    "SeededEntropy": "pcqr.privacy.entropy",
    "SemiPrivateLearner": "pcqr.releases.semi_private.estimator",
    "Student": "pcqr.releases.transfer",
    "SubsampleAggregate": "pcqr.releases.subsample.estimator",
    "SystemEntropy": "pcqr.privacy.entropy",
    "UnansweredWarning": "pcqr.errors",
    "UniversalRelease": "pcqr.releases.universal.estimator",
    "WeakGuarantee": "pcqr.errors",
    "connect": "pcqr.client",
    "fitted_on_public": "pcqr.releases.base.kept",
    "private_score": "pcqr.models.scoring",
    "transfer": "pcqr.releases.transfer",
}

__all__ = [
    "AgnosticRelease",
    "Answer",
    "AssumePublic",
    "BudgetExhausted",
    "ConfidentMaxAggregate",
    "CopyCannotAnswer",
    "DataError",
    "GibbsPrediction",
    "Groups",
    "Guarantee",
    "IndividualKNN",
    "InfeasiblePlan",
    "InteractiveMaxAggregate",
    "MultipartyClassifier",
    "NoisyMaxAggregate",
    "ParameterError",
    "PcqrError",
    "Plan",
    "PrivateClassifier",
    "PrivateKNN",
    "Schema",
    "SeededEntropy",
    "SemiPrivateLearner",
    "Student",
    "SubsampleAggregate",
    "SystemEntropy",
    "UnansweredWarning",
    "UniversalRelease",
    "WeakGuarantee",
    "connect",
    "fitted_on_public",
    "private_score",
    "transfer",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name == "release":
        return import_module("pcqr.release")
    raise AttributeError(f"module 'pcqr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
