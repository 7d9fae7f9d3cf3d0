"""Published classifiers that people can read, check and carry away: rules, JSON, pictures, ONNX, a model card."""

from pcqr.models.importance import Importance, Importances, importances
from pcqr.models.kind import with_prior
from pcqr.models.kinds import in_words
from pcqr.models.provenance import Provenance
from pcqr.models.published import PublishedModel
from pcqr.models.scoring import Estimate, PrivateScore

__all__ = [
    "Estimate",
    "Importance",
    "Importances",
    "PrivateScore",
    "Provenance",
    "PublishedModel",
    "importances",
    "in_words",
    "with_prior",
]
