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
    from pcqr.entropy import SeededEntropy, SystemEntropy
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
    from pcqr.estimators import (
        AgnosticRelease,
        AssumePublic,
        Groups,
        PrivateClassifier,
        SemiPrivateLearner,
        SubsampleAggregate,
        UniversalRelease,
        fitted_on_public,
        private_score,
    )
    from pcqr.guarantee import Guarantee
    from pcqr.peers.confident.estimator import ConfidentMaxAggregate
    from pcqr.peers.gibbs.estimator import GibbsPrediction
    from pcqr.peers.interactive.estimator import InteractiveMaxAggregate
    from pcqr.peers.knn.estimator import IndividualKNN
    from pcqr.peers.knn.sampled_estimator import PrivateKNN
    from pcqr.peers.noisy_max.estimator import NoisyMaxAggregate
    from pcqr.peers.parties.estimator import MultipartyClassifier
    from pcqr.peers.transfer.student import Student, transfer
    from pcqr.plan import Answer, Plan
    from pcqr.schema import Schema

__version__ = "0.1.0"

_HOME = {
    "AgnosticRelease": "pcqr.estimators",
    "Answer": "pcqr.plan",
    "AssumePublic": "pcqr.estimators",
    "BudgetExhausted": "pcqr.errors",
    "ConfidentMaxAggregate": "pcqr.peers.confident.estimator",
    "CopyCannotAnswer": "pcqr.errors",
    "DataError": "pcqr.errors",
    "GibbsPrediction": "pcqr.peers.gibbs.estimator",
    "Groups": "pcqr.estimators",
    "Guarantee": "pcqr.guarantee",
    "IndividualKNN": "pcqr.peers.knn.estimator",
    "InfeasiblePlan": "pcqr.errors",
    "InteractiveMaxAggregate": "pcqr.peers.interactive.estimator",
    "MultipartyClassifier": "pcqr.peers.parties.estimator",
    "NoisyMaxAggregate": "pcqr.peers.noisy_max.estimator",
    "ParameterError": "pcqr.errors",
    "PcqrError": "pcqr.errors",
    "Plan": "pcqr.plan",
    "PrivateClassifier": "pcqr.estimators",
    "PrivateKNN": "pcqr.peers.knn.sampled_estimator",
    "Schema": "pcqr.schema",
    "SeededEntropy": "pcqr.entropy",
    "SemiPrivateLearner": "pcqr.estimators",
    "Student": "pcqr.peers.transfer.student",
    "SubsampleAggregate": "pcqr.estimators",
    "SystemEntropy": "pcqr.entropy",
    "UnansweredWarning": "pcqr.errors",
    "UniversalRelease": "pcqr.estimators",
    "WeakGuarantee": "pcqr.errors",
    "connect": "pcqr.client",
    "fitted_on_public": "pcqr.estimators",
    "private_score": "pcqr.estimators",
    "transfer": "pcqr.peers.transfer.student",
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
